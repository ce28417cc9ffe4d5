/* test_pak.c: resource packs, and damaged ones. */
#include "source/pak.h"
#include "support/sample_file.h"

static char found[1000];
static uint64_t total;

static void add_resource(void *data, uint16_t id, const uint8_t *content, uint64_t size, uint64_t entry)
{
    (void)data;
    size_t used = strlen(found);
    snprintf(found + used, sizeof found - used, "%u %.*s+%llu\n", id, (int)size,
             content != NULL ? (const char *)content : "", (unsigned long long)entry);
    total += size + entry;
}

static int read(const uint8_t *data, size_t size)
{
    struct sxt_pak_reader reader = {add_resource, NULL};
    sxt_error error;
    found[0] = 0;
    total = 0;
    return sxt_pak_read(data, size, &reader, &error);
}

TEST(reads_resources_and_aliases)
{
    struct sample_file sample = sample_file_read("resources/seed-pack");
    assert_int_equal(read(sample.data, sample.size), SXT_OK);
    assert_string_equal(found, "12 text+6\n13 +6\n12 +4\n");
    assert_int_equal(sample.size - total, 18);
    free(sample.data);
    sample = sample_file_read("resources/seed-pack-4");
    assert_int_equal(read(sample.data, sample.size), SXT_OK);
    assert_string_equal(found, "12 text+6\n");
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
    struct sample_file sample = sample_file_read("resources/seed-pack");
    sample_file_sweep(&sample, check_damaged);
    free(sample.data);
}
