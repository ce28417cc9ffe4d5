/* test_zip.c: zip files: where their parts are, what they expand to, and damaged files. */
#include "source/zip.h"
#include "support/sample_file.h"

static struct sample_file sample;
static struct sxt_zip zip;

TEAR_DOWN()
{
    sxt_zip_close(&zip);
    free(sample.data);
    sample.data = NULL;
}

static const struct sxt_zip_entry *entry_named(const char *name)
{
    for (size_t i = 0; i < zip.count; i++)
        if (zip.entries[i].name.size == strlen(name) && memcmp(zip.entries[i].name.data, name, strlen(name)) == 0)
            return &zip.entries[i];
    fail_msg("no entry '%s'", name);
    return NULL;
}

static void open_sample(const char *name)
{
    sxt_error error;
    sample = sample_file_read(name);
    assert_int_equal(sxt_zip_open(&zip, sample.data, sample.size, &error), SXT_OK);
}

TEST(lists_entries_and_expands_them)
{
    open_sample("size_make/seed-package-deflated");
    assert_int_equal(zip.count, 5);
    assert_int_equal(zip.signing_block, 0);
    const struct sxt_zip_entry *entry = entry_named("classes.dex");
    assert_int_equal(entry->method, SXT_ZIP_DEFLATED);
    assert_true(entry->expanded > entry->stored);
    struct sxt_file file;
    sxt_error error;
    assert_int_equal(sxt_zip_expand(&zip, entry, 1 << 20, &file, &error), SXT_OK);
    assert_int_equal(file.size, entry->expanded);
    assert_memory_equal(file.data, "dex\n035", 8);
    sxt_file_close(&file);
    uint8_t start[4];
    assert_int_equal(sxt_zip_peek(&zip, entry, start, sizeof start), 4);
    assert_memory_equal(start, "dex\n", 4);
}

TEST(does_not_expand_beyond_the_limit)
{
    open_sample("size_make/seed-package-deflated");
    const struct sxt_zip_entry *entry = entry_named("classes.dex");
    struct sxt_file file;
    sxt_error error;
    assert_int_equal(sxt_zip_expand(&zip, entry, entry->expanded - 1, &file, &error), SXT_ERROR_LIMIT);
    assert_int_equal(file.size, 0);
}

TEST(finds_the_signing_block)
{
    open_sample("size_make/seed-package-signed");
    assert_int_equal(zip.signing_block, 8 + 8 + 64 + 24);
}

static void check_damaged(const uint8_t *data, size_t size)
{
    struct sxt_zip damaged;
    sxt_error error;
    if (sxt_zip_open(&damaged, data, size, &error) != SXT_OK)
        return;
    uint64_t headers = 0;
    for (size_t i = 0; i < damaged.count; i++) {
        struct sxt_file file;
        if (sxt_zip_expand(&damaged, &damaged.entries[i], 1 << 16, &file, &error) == SXT_OK)
            assert_int_equal(file.size, damaged.entries[i].expanded);
        sxt_file_close(&file);
        headers += 30 + 46;
    }
    assert_true(damaged.stored + damaged.extra + damaged.signing_block + headers <= size);
    sxt_zip_close(&damaged);
}

TEST(survives_every_damage)
{
    sample = sample_file_read("size_make/seed-package-signed");
    sample_file_sweep(&sample, check_damaged);
}
