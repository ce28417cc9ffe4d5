/* test_writers.c: the public writers of every format, what they report, and the records read back. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "support/elf_image.h"
#include "support/folder.h"
#include "support/model.h"
#include "support/test.h"

static const struct sxt_test_symbol symbols[] = {
    {"_ZN3foo3barEi", 0x401020, 0x20, 'F', 'G'},
    {"main", 0x401000, 0x20, 'F', 'G'},
};

static uint8_t *elf;
static size_t elf_size;
static sxt_symbols *model;

SET_UP()
{
    uint64_t code_offset;
    elf = sxt_test_elf_image(symbols, sizeof symbols / sizeof *symbols, &elf_size, &code_offset);
    assert_int_equal(sxt_symbols_from_memory(elf, elf_size, NULL, &model, NULL), SXT_OK);
}

TEAR_DOWN()
{
    sxt_symbols_free(&model);
    free(elf);
}

/* What a descriptor was given, in a file without a name. */
static int open_unnamed(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    int fd = dup(fileno(file));
    fclose(file);
    assert_true(fd >= 0);
    return fd;
}

static void assert_content(int fd, const void *data, size_t size)
{
    uint8_t *content = malloc(size + 1);
    assert_int_equal(pread(fd, content, size + 1, 0), size);
    assert_memory_equal(content, data, size);
    free(content);
    close(fd);
}

TEST(a_lidia_writer_reports_what_it_wrote)
{
    void *data;
    size_t size;
    sxt_written written = {.struct_size = sizeof written};
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &data, &size, &written, NULL), SXT_OK);
    assert_int_equal(written.size, size);
    assert_int_equal(written.functions, 2);
    assert_int_equal(written.inlines, 0);
    assert_int_equal(written.struct_size, sizeof written);
    sxt_free(data);
}

/* A caller that was compiled against an older header has a smaller struct. */
TEST(a_report_fits_into_a_smaller_struct)
{
    void *data;
    size_t size;
    sxt_written written;
    memset(&written, 0xff, sizeof written);
    written.struct_size = offsetof(sxt_written, functions);
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &data, &size, &written, NULL), SXT_OK);
    assert_int_equal(written.size, size);
    assert_true(written.functions == UINT64_MAX);
    sxt_free(data);
}

TEST(ranges_go_to_memory_and_to_a_descriptor)
{
    void *data;
    size_t size;
    sxt_written written = {.struct_size = sizeof written};
    assert_int_equal(sxt_symbfile_write_ranges_memory(model, NULL, &data, &size, &written, NULL), SXT_OK);
    assert_int_equal(written.size, size);
    assert_int_equal(written.functions, 2);
    int fd = open_unnamed();
    assert_int_equal(sxt_symbfile_write_ranges_fd(model, NULL, fd, &written, NULL), SXT_OK);
    assert_int_equal(written.size, size);
    assert_content(fd, data, size);
    sxt_free(data);
}

static bool count_range(void *data, const sxt_range *range, const sxt_line *lines)
{
    size_t *counts = data;
    (void)lines;
    assert_true(range->function.size > 0);
    return ++counts[0] < counts[1];
}

TEST(records_of_every_format_are_visited)
{
    void *images[2];
    size_t sizes[2];
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &images[0], &sizes[0], NULL, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_write_ranges_memory(model, NULL, &images[1], &sizes[1], NULL, NULL), SXT_OK);
    for (unsigned i = 0; i < 2; i++) {
        sxt_archive *archive;
        assert_int_equal(sxt_archive_open_memory(images[i], sizes[i], NULL, &archive, NULL), SXT_OK);
        for (size_t most = 1; most <= 3; most++) {
            size_t counts[] = {0, most};
            sxt_record_visitor visitor;
            sxt_record_visitor_init(&visitor);
            assert_int_equal(sxt_archive_visit(archive, &visitor, NULL), SXT_OK);
            visitor.range = count_range;
            visitor.data = counts;
            assert_int_equal(sxt_archive_visit(archive, &visitor, NULL), SXT_OK);
            assert_int_equal(counts[0], most < 2 ? most : 2);
        }
        sxt_archive_close(&archive);
        sxt_free(images[i]);
    }
}

static bool note_symbol(void *data, const sxt_named *symbol)
{
    sxt_named *named = data;
    *named = *symbol;
    sxt_test_assert_text(symbol->name, "load [ext4]");
    sxt_test_assert_text(symbol->module, "ext4");
    return true;
}

TEST(a_ksym_blob_is_made_of_symbols_text_and_blobs)
{
    sxt_ksym_writer *writer;
    static const char text[] = "2000 T _ZN3foo3barEi\n3000 D data\n";
    void *data;
    size_t size;
    sxt_written written = {.struct_size = sizeof written};
    assert_int_equal(sxt_ksym_writer_new(NULL, &writer, NULL), SXT_OK);
    assert_int_equal(sxt_ksym_writer_add(writer, 0x1000, 't', "load [ext4]", 11, NULL), SXT_OK);
    assert_int_equal(sxt_ksym_writer_add_text(writer, text, sizeof text - 1, NULL), SXT_OK);
    assert_int_equal(sxt_ksym_writer_add_symbols(writer, model, NULL), SXT_OK);
    assert_int_equal(sxt_ksym_writer_write_memory(writer, &data, &size, &written, NULL), SXT_OK);
    sxt_ksym_writer_free(&writer);
    assert_int_equal(written.symbols, 4);
    assert_int_equal(written.size, size);

    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_memory(data, size, NULL, &archive, NULL), SXT_OK);
    assert_int_equal(sxt_archive_kind(archive), SXT_KIND_KSYM);
    assert_string_equal(sxt_archive_format(archive), "ksym");
    sxt_named named;
    size_t count;
    assert_int_equal(sxt_archive_find_name(archive, "load", note_symbol, &named, &count, NULL), SXT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(named.address, 0x1000);
    sxt_archive_close(&archive);

    sxt_ksym ksym;
    void *again;
    size_t again_size;
    assert_null(sxt_ksym_open(&ksym, data, size, 0, 0, NULL));
    assert_int_equal(sxt_ksym_writer_new(NULL, &writer, NULL), SXT_OK);
    assert_int_equal(sxt_ksym_writer_add_ksym(writer, &ksym, NULL), SXT_OK);
    assert_int_equal(sxt_ksym_writer_write_memory(writer, &again, &again_size, NULL, NULL), SXT_OK);
    sxt_ksym_writer_free(&writer);
    assert_int_equal(again_size, size);
    assert_memory_equal(again, data, size);
    sxt_free(again);
    sxt_free(data);
}

TEST(a_ksym_writer_says_why_nothing_is_left)
{
    sxt_ksym_writer *writer;
    sxt_ksym_options options;
    sxt_error error;
    sxt_ksym_options_init(&options);
    options.types = "T,t";
    assert_int_equal(sxt_ksym_writer_new(&options, &writer, &error), SXT_ERROR_USAGE);
    assert_null(writer);
    options.types = "b";
    assert_int_equal(sxt_ksym_writer_new(&options, &writer, &error), SXT_OK);
    assert_int_equal(sxt_ksym_writer_add_symbols(writer, model, &error), SXT_ERROR_NOT_FOUND);
    assert_int_equal(error.reason, SXT_REASON_SYMBOL_TYPES);
    assert_int_equal(sxt_ksym_writer_add_text(writer, "1 T f\n", 6, &error), SXT_ERROR_NOT_FOUND);
    assert_int_equal(error.reason, SXT_REASON_SYMBOL_TYPES);
    sxt_ksym_writer_free(&writer);
    sxt_ksym_writer_free(&writer);
}

TEST(kinds_are_recognized_by_content)
{
    char folder[200], path[240];
    sxt_test_make_folder(folder);
    snprintf(path, sizeof path, "%s/file", folder);
    void *lidia, *symbfile;
    size_t lidia_size, symbfile_size;
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &lidia, &lidia_size, NULL, NULL), SXT_OK);
    assert_int_equal(sxt_symbfile_write_ranges_memory(model, NULL, &symbfile, &symbfile_size, NULL, NULL), SXT_OK);
    static const uint8_t empty_ksym[40];
    /* A stored block with "MTRC" and no end: what a compressed file is shows at its beginning. */
    static const uint8_t cut_trace[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0xfb, 0xff, 'M', 'T', 'R', 'C'};
    const struct {
        const void *data;
        size_t size;
        sxt_kind kind;
        const char *name;
    } cases[] = {
        {elf, elf_size, SXT_KIND_ELF, "elf"},
        {lidia, lidia_size, SXT_KIND_LIDIA, "lidia"},
        {symbfile, symbfile_size, SXT_KIND_SYMBFILE, "symbfile"},
        {empty_ksym, sizeof empty_ksym, SXT_KIND_UNKNOWN, "unknown"},
        {"MTRC", 4, SXT_KIND_TRACE, "mlyze"},
        {cut_trace, sizeof cut_trace, SXT_KIND_TRACE, "mlyze"},
        {"text", 4, SXT_KIND_UNKNOWN, "unknown"},
        {"", 0, SXT_KIND_UNKNOWN, "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sxt_kind kind = SXT_KIND_SIZE;
        sxt_test_put_file(path, cases[i].data, cases[i].size);
        assert_int_equal(sxt_identify_path(path, &kind, NULL), SXT_OK);
        assert_int_equal(kind, cases[i].kind);
        assert_string_equal(sxt_kind_name(kind), cases[i].name);
    }
    sxt_kind kind;
    sxt_error error;
    sxt_archive *archive;
    assert_int_equal(sxt_archive_open_memory(cut_trace, sizeof cut_trace, NULL, &archive, &error),
                     SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.reason, SXT_REASON_HEAP_TRACE);
    assert_int_equal(sxt_identify_path("-", &kind, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(error.reason, SXT_REASON_NOT_A_FILE);
    assert_int_equal(sxt_identify_path("/dev/null", &kind, &error), SXT_ERROR_UNSUPPORTED);
    assert_int_equal(sxt_identify_path(folder, &kind, &error), SXT_ERROR_IO);
    unlink(path);
    assert_int_equal(sxt_identify_path(path, &kind, &error), SXT_ERROR_IO);
    sxt_test_remove_folder(folder);
    sxt_free(lidia);
    sxt_free(symbfile);
}
