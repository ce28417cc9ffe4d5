/* test_arsc.c: tables of Android resources, the names of their configurations, and damaged tables. */
#include "base/bytes.h"
#include "source/arsc.h"
#include "support/sample_file.h"

static char found[4000];
static uint64_t total;

static void add_chunk(void *data, sxt_string path, sxt_string name, uint64_t size, uint64_t placeholders)
{
    (void)data;
    size_t used = strlen(found);
    snprintf(found + used, sizeof found - used, "%.*s|%.*s %llu %llu\n", (int)path.size, path.data, (int)name.size,
             name.data, (unsigned long long)size, (unsigned long long)placeholders);
    total += size;
}

static void add_type(void *data, sxt_string name, uint64_t count)
{
    (void)data;
    size_t used = strlen(found);
    snprintf(found + used, sizeof found - used, "%.*s: %llu\n", (int)name.size, name.data, (unsigned long long)count);
}

static int read(const uint8_t *data, size_t size)
{
    struct sxt_arsc_reader reader = {add_chunk, add_type, NULL};
    sxt_error error;
    found[0] = 0;
    total = 0;
    return sxt_arsc_read(data, size, &reader, &error);
}

TEST(reads_chunks_types_and_placeholders)
{
    struct sample_file sample = sample_file_read("resources/seed-table");
    assert_int_equal(read(sample.data, sample.size), SXT_OK);
    assert_string_equal(found, "|STRING_POOL: root 40 0\n"
                               "org.a|STRING_POOL: types 48 0\n"
                               "org.a|STRING_POOL: keys 40 0\n"
                               "org.a/layout|TYPE_SPEC 24 0\n"
                               "layout: 2\n"
                               "org.a/layout|b+fr+Latn-land 100 4\n"
                               "org.a|LIBRARY 12 0\n");
    free(sample.data);
}

static void check_damaged(const uint8_t *data, size_t size)
{
    int status = read(data, size);
    assert_true(total <= size);
    if (status != SXT_OK)
        assert_string_equal(found, "");
}

TEST(survives_every_damage)
{
    struct sample_file sample = sample_file_read("resources/seed-table");
    sample_file_sweep(&sample, check_damaged);
    free(sample.data);
}

static void check_name(const char *expected, size_t at, const char *bytes, size_t size)
{
    uint8_t configuration[60] = {0};
    memcpy(configuration + at - 4, bytes, size);
    struct sxt_buffer name;
    sxt_buffer_init(&name, 1000);
    sxt_arsc_put_configuration(configuration, sizeof configuration, &name);
    sxt_buffer_u8(&name, 0);
    assert_string_equal((const char *)name.data, expected);
    sxt_buffer_free(&name);
}

TEST(configurations_have_the_names_of_their_directories)
{
    check_name("", 4, "", 0);
    check_name("mcc310-mnc4", 4, "\x36\x01\x04\0", 4);
    check_name("de-rCH", 8, "deCH", 4);
    check_name("fil", 8, "\xad\x05", 2);
    check_name("port-xxhdpi-finger", 12, "\x01\x03\xe0\x01", 4);
    check_name("anydpi", 14, "\xfe\xff", 2);
    check_name("100dpi", 14, "\x64\0", 2);
    check_name("keyssoft-qwerty-navhidden-wheel", 16, "\x02\x04\x0b", 3);
    check_name("480x800", 20, "\xe0\x01\x20\x03", 4);
    check_name("v21.1", 24, "\x15\0\x01\0", 4);
    check_name("ldrtl-sw600dp-xlarge-long-car-night", 28, "\xa4\x23\x58\x02", 4);
    check_name("w600dp-h800dp", 32, "\x58\x02\x20\x03", 4);
    check_name("round-widecg-highdr", 48, "\x02\x0a", 2);
    check_name("orientation=9", 12, "\x09", 1);
}
