/* test_archive.c: the public API for reading: what opens and how, and every question that an archive answers. */
#include <ctype.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <sextant/sextant.h>

#include "support/elf_image.h"
#include "support/lidia_image.h"
#include "support/model.h"
#include "support/test.h"

#define PATIENCE_SECONDS 8.0

static const struct sxt_test_symbol symbols[] = {
    {"_ZN3foo3barEi", 0x401020, 0x20, 'F', 'G'}, {"helper", 0x401040, 0x10, 'F', 'L'},
    {"main", 0x401000, 0x20, 'F', 'G'},          {"table", 0x401080, 0x40, 'O', 'G'},
    {"helper", 0x401060, 0x08, 'F', 'L'},
};

static uint8_t *elf;
static size_t elf_size;
static uint64_t code_offset;
static sxt_archive *archive;

SET_UP()
{
    elf = sxt_test_elf_image(symbols, sizeof symbols / sizeof *symbols, &elf_size, &code_offset);
    archive = NULL;
}

TEAR_DOWN()
{
    sxt_archive_close(&archive);
    free(elf);
}

static void open_memory(const void *data, size_t size, const sxt_open_options *options)
{
    sxt_error error;
    sxt_archive_close(&archive);
    if (sxt_archive_open_memory(data, size, options, &archive, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_non_null(archive);
}

/* The Lidia file of the ELF file; to be freed with sxt_free. */
static void *make_lidia(size_t *size, const sxt_lidia_options *options)
{
    sxt_symbols *model;
    void *data;
    assert_int_equal(sxt_symbols_from_memory(elf, elf_size, NULL, &model, NULL), SXT_OK);
    assert_int_equal(sxt_lidia_write_memory(model, options, &data, size, NULL, NULL), SXT_OK);
    sxt_symbols_free(&model);
    return data;
}

/* A Lidia file with inlined calls and lines. */
static void *make_nested_lidia(size_t *size)
{
    struct sxt_symbols *model = sxt_test_model();
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, "f", 0x1000, 0x40, "f.c", NULL, 0);
    sxt_test_add_line(model, 0, "f.c", 10);
    sxt_test_add_line(model, 0x20, "f.c", 11);
    sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "g", 0x1010, 0x10, "g.h", "f.c", 12);
    sxt_test_finish(model);
    void *data;
    assert_int_equal(sxt_lidia_write_memory(model, NULL, &data, size, NULL, NULL), SXT_OK);
    sxt_symbols_free(&model);
    return data;
}

static void assert_name_at(uint64_t address, const char *expected)
{
    sxt_frame frame;
    assert_int_equal(sxt_archive_lookup(archive, address, &frame, 1), expected != NULL);
    if (expected != NULL)
        sxt_test_assert_text(frame.function, expected);
}

static void assert_answers(void)
{
    assert_name_at(0x400fff, NULL);
    assert_name_at(0x401000, "main");
    assert_name_at(0x40103f, "foo::bar(int)");
    assert_name_at(0x401040, "helper");
    assert_name_at(0x401050, NULL);
    assert_name_at(0x401080, NULL);
    const uint64_t addresses[] = {0x401000, 0x401050, 0x401067};
    sxt_frame frames[2];
    size_t first[4];
    assert_int_equal(sxt_archive_lookup_batch(archive, addresses, 3, frames, 2, first), 3);
    assert_true(first[1] == 1 && first[2] == 1 && first[3] == 2);
    sxt_test_assert_text(frames[1].function, "helper");
}

TEST(a_binary_and_the_archive_made_of_it_answer_alike)
{
    open_memory(elf, elf_size, NULL);
    assert_answers();
    size_t size;
    void *lidia = make_lidia(&size, NULL);
    open_memory(lidia, size, NULL);
    assert_answers();
    sxt_archive_close(&archive);
    assert_null(archive);
    sxt_free(lidia);
}

static size_t compress_gzip(const void *data, size_t size, uint8_t *to, size_t room)
{
    z_stream stream = {0};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, data, size);
    stream.next_in = copy;
    stream.avail_in = (uInt)size;
    stream.next_out = to;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    free(copy);
    return stream.total_out;
}

static size_t compress_xz(const void *data, size_t size, uint8_t *to, size_t room)
{
    size_t used = 0;
    assert_int_equal(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, NULL, data, size, to, &used, room), LZMA_OK);
    return used;
}

static size_t compress_zstd(const void *data, size_t size, uint8_t *to, size_t room)
{
    size_t used = ZSTD_compress(to, room, data, size, 3);
    assert_false(ZSTD_isError(used));
    return used;
}

TEST(compressed_binaries_and_archives_are_opened_by_content)
{
    size_t (*const compress[])(const void *, size_t, uint8_t *, size_t) = {compress_gzip, compress_xz, compress_zstd};
    size_t lidia_size;
    void *lidia = make_lidia(&lidia_size, NULL);
    for (size_t i = 0; i < 3; i++) {
        static uint8_t packed[16384];
        size_t size = compress[i](elf, elf_size, packed, sizeof packed);
        open_memory(packed, size, NULL);
        assert_answers();
        sxt_symbols *model;
        assert_int_equal(sxt_symbols_from_memory(packed, size, NULL, &model, NULL), SXT_OK);
        sxt_symbols_free(&model);
        size = compress[i](lidia, lidia_size, packed, sizeof packed);
        open_memory(packed, size, NULL);
        assert_answers();
        uint64_t count = 9;
        assert_int_equal(sxt_verify_memory(packed, size, NULL, NULL, &count, NULL), SXT_OK);
        assert_int_equal(count, 0);
        /* Half of it is an error, and so is more than the limit. */
        sxt_error error = {0};
        sxt_archive *none = archive;
        assert_int_not_equal(sxt_archive_open_memory(packed, size / 2, NULL, &none, &error), SXT_OK);
        assert_null(none);
        assert_int_not_equal(error.text[0], 0);
        sxt_open_options options;
        sxt_open_options_init(&options);
        sxt_extract_options extract;
        sxt_extract_options_init(&extract);
        options.extract = &extract;
        extract.inflate_limit = lidia_size - 1;
        assert_int_equal(sxt_archive_open_memory(packed, size, &options, &none, &error), SXT_ERROR_LIMIT);
        extract.inflate_limit = lidia_size;
        assert_int_equal(sxt_archive_open_memory(packed, size, &options, &none, &error), SXT_OK);
        sxt_archive_close(&none);
    }
    sxt_free(lidia);
}

TEST(what_is_neither_is_refused)
{
    const char *const inputs[] = {"", ".", ".di", "\177", "\177EL", "hello, world", "0000000000001000 T main\n"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        sxt_archive *none = (sxt_archive *)&none;
        sxt_error error = {0};
        uint64_t count = 9;
        assert_int_equal(sxt_archive_open_memory(inputs[i], strlen(inputs[i]), NULL, &none, &error),
                         SXT_ERROR_UNSUPPORTED);
        assert_null(none);
        assert_int_equal(error.code, SXT_ERROR_UNSUPPORTED);
        assert_int_not_equal(error.text[0], 0);
        assert_int_equal(sxt_archive_open_memory(inputs[i], strlen(inputs[i]), NULL, &none, NULL),
                         SXT_ERROR_UNSUPPORTED);
        assert_int_equal(sxt_verify_memory(inputs[i], strlen(inputs[i]), NULL, NULL, &count, &error),
                         SXT_ERROR_UNSUPPORTED);
    }
}

TEST(every_cut_of_a_binary_opens_or_fails_cleanly)
{
    for (size_t size = 0; size < elf_size; size++) {
        uint8_t *cut = malloc(size + !size);
        assert_non_null(cut);
        memcpy(cut, elf, size);
        sxt_archive *opened = NULL;
        sxt_error error = {0};
        int status = sxt_archive_open_memory(cut, size, NULL, &opened, &error);
        assert_int_equal(status == SXT_OK, opened != NULL);
        assert_int_equal(error.code, status);
        sxt_archive_close(&opened);
        uint64_t count = 0;
        status = sxt_verify_memory(cut, size, NULL, NULL, &count, NULL);
        assert_true(status != SXT_OK || count > 0);
        free(cut);
    }
}

/* The options of a caller that was compiled against a later version, which has one field more. */
struct later_options {
    sxt_open_options known;
    uint64_t unknown;
};

TEST(options_of_an_older_or_later_caller_work)
{
    /* An older caller has fewer fields. What lies after them is not read. */
    sxt_open_options older;
    memset(&older, 0xff, sizeof older);
    older.struct_size = offsetof(sxt_open_options, mangled);
    older.check_crc = false;
    open_memory(elf, elf_size, &older);
    assert_answers();
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    extract.struct_size = offsetof(sxt_extract_options, flags);
    extract.flags = UINT32_MAX;
    extract.inflate_limit = 0;
    sxt_symbols *model = NULL;
    assert_int_equal(sxt_symbols_from_memory(elf, elf_size, &extract, &model, NULL), SXT_OK);
    sxt_symbols_free(&model);
    /* A later caller has more, which must be 0. */
    struct later_options later = {.unknown = 0};
    sxt_open_options_init(&later.known);
    later.known.struct_size = sizeof later;
    open_memory(elf, elf_size, &later.known);
    assert_answers();
    later.unknown = 1;
    sxt_archive *none;
    sxt_error error = {0};
    assert_int_equal(sxt_archive_open_memory(elf, elf_size, &later.known, &none, &error), SXT_ERROR_USAGE);
    assert_null(none);
    assert_int_equal(error.code, SXT_ERROR_USAGE);
}

TEST(options_that_were_not_initialised_are_a_usage_error)
{
    sxt_open_options options;
    sxt_archive *none;
    sxt_extract_options extract;
    sxt_symbols *model = NULL;
    memset(&options, 0, sizeof options);
    assert_int_equal(sxt_archive_open_memory(elf, elf_size, &options, &none, NULL), SXT_ERROR_USAGE);
    assert_null(none);
    /* Nothing of such options is used, not even before the kind of the file is known. */
    static uint8_t packed[16384];
    size_t size = compress_gzip(elf, elf_size, packed, sizeof packed);
    memset(&extract, 0, sizeof extract);
    assert_int_equal(sxt_symbols_from_memory(packed, size, &extract, &model, NULL), SXT_ERROR_USAGE);
    assert_null(model);
    sxt_open_options_init(&options);
    options.extract = &extract;
    assert_int_equal(sxt_archive_open_memory(packed, size, &options, &none, NULL), SXT_ERROR_USAGE);
    assert_null(none);
}

TEST(names_stay_as_linked_when_asked)
{
    sxt_open_options options;
    sxt_open_options_init(&options);
    options.mangled = true;
    open_memory(elf, elf_size, &options);
    assert_name_at(0x401020, "_ZN3foo3barEi");
    assert_name_at(0x401000, "main");
}

TEST(checksums_are_compared_when_asked)
{
    size_t size;
    uint8_t *lidia = make_nested_lidia(&size);
    sxt_open_options options;
    sxt_open_options_init(&options);
    options.check_crc = true;
    open_memory(lidia, size, &options);
    lidia[sxt_test_lines_at(lidia) + 2] ^= 1;
    open_memory(lidia, size, NULL);
    sxt_error error = {0};
    sxt_archive *none;
    assert_int_equal(sxt_archive_open_memory(lidia, size, &options, &none, &error), SXT_ERROR_FORMAT);
    assert_null(none);
    assert_int_equal(error.offset, 0x78);
    uint64_t count = 0;
    assert_int_equal(sxt_verify_memory(lidia, size, NULL, NULL, &count, NULL), SXT_OK);
    assert_int_equal(count, 1);
    sxt_archive_close(&archive);
    sxt_free(lidia);
}

TEST(rows_and_lines_are_read_one_by_one)
{
    size_t size;
    void *lidia = make_nested_lidia(&size);
    open_memory(lidia, size, NULL);
    assert_int_equal(sxt_archive_row_count(archive), 2);
    sxt_range row;
    assert_int_equal(sxt_archive_row(archive, 1, &row), SXT_OK);
    assert_true(row.address == 0x1010 && row.length == 0x10 && row.depth == 1 && row.call_line == 12);
    sxt_test_assert_text(row.function, "g");
    sxt_test_assert_text(row.file, "g.h");
    sxt_test_assert_text(row.call_file, "f.c");
    assert_int_equal(row.line_count, 0);
    assert_int_equal(sxt_archive_row(archive, 0, &row), SXT_OK);
    sxt_test_assert_text(row.call_file, NULL);
    assert_int_equal(row.line_count, 2);
    sxt_line line;
    assert_int_equal(sxt_archive_line(archive, 0, 1, &line), SXT_OK);
    assert_true(line.offset == 0x20 && line.line == 11 && line.column == 0 && line.discriminator == 0);
    sxt_test_assert_text(line.file, "f.c");
    assert_int_equal(sxt_archive_row(archive, 2, &row), SXT_ERROR_USAGE);
    assert_int_equal(sxt_archive_row(archive, SIZE_MAX, &row), SXT_ERROR_USAGE);
    assert_int_equal(sxt_archive_line(archive, 0, 2, &line), SXT_ERROR_USAGE);
    assert_int_equal(sxt_archive_line(archive, 1, 0, &line), SXT_ERROR_USAGE);
    assert_int_equal(sxt_archive_line(archive, 2, 0, &line), SXT_ERROR_USAGE);
    assert_int_equal(sxt_archive_line(archive, SIZE_MAX, SIZE_MAX, &line), SXT_ERROR_USAGE);
    sxt_archive_close(&archive);
    sxt_free(lidia);
}

TEST(the_figures_of_a_binary_and_of_an_archive)
{
    sxt_info info = {.struct_size = sizeof info}, again = info;
    open_memory(elf, elf_size, NULL);
    sxt_archive_info(archive, &info);
    assert_string_equal(info.format, "elf");
    assert_string_equal(info.arch, "x86_64");
    assert_string_equal(info.build_id, "");
    assert_int_equal(info.version, 0);
    assert_int_equal(info.sources, SXT_SOURCE_SYMTAB);
    assert_true(info.symbols == 5 && info.functions == 4 && info.inlines == 0 && info.lines == 0);
    assert_int_equal(info.size, elf_size);
    assert_int_equal(info.section_base_count, 0);
    assert_int_equal(strlen(info.file_id), 32);
    for (unsigned i = 0; i < 32; i++)
        assert_true(isdigit((unsigned char)info.file_id[i]) || (info.file_id[i] >= 'a' && info.file_id[i] <= 'f'));
    elf[elf_size - 1] ^= 1;
    open_memory(elf, elf_size, NULL);
    sxt_archive_info(archive, &again);
    assert_string_not_equal(info.file_id, again.file_id);

    size_t size;
    void *lidia = make_nested_lidia(&size);
    open_memory(lidia, size, NULL);
    sxt_archive_info(archive, &info);
    assert_string_equal(info.format, "lidia");
    assert_null(info.arch);
    assert_true(info.version == 1 && info.functions == 1 && info.inlines == 1 && info.lines == 2);
    assert_true(info.indexed && !info.nul_strings && info.size == size);
    assert_true(info.address_size == 4 && info.field_size == 4 && info.line_field_size == 2);
    /* "" and "[overflow]", then f, f.c, g and g.h, each with its length. */
    assert_int_equal(info.strings_size, 18 + 5 + 7 + 5 + 7);
    sxt_archive_close(&archive);
    sxt_free(lidia);
}

struct found {
    unsigned count, most;
    sxt_named named[4];
};

static bool note_name(void *data, const sxt_named *named)
{
    struct found *found = data;
    found->named[found->count++] = *named;
    return found->count < found->most;
}

TEST(names_lead_to_all_their_places_in_order)
{
    open_memory(elf, elf_size, NULL);
    struct found found = {.most = 4};
    size_t count;
    assert_int_equal(sxt_archive_find_name(archive, "helper", note_name, &found, &count, NULL), SXT_OK);
    assert_int_equal(count, 2);
    assert_int_equal(found.count, 2);
    assert_true(found.named[0].address == 0x401040 && found.named[0].size == 0x10 && found.named[0].type == 'F');
    assert_true(found.named[1].address == 0x401060);
    found = (struct found){.most = 1};
    assert_int_equal(sxt_archive_find_name(archive, "helper", note_name, &found, &count, NULL), SXT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(found.count, 1);

    const char *const spellings[] = {"foo::bar(int)", "_ZN3foo3barEi"};
    for (unsigned i = 0; i < 2; i++) {
        found = (struct found){.most = 4};
        assert_int_equal(sxt_archive_find_name(archive, spellings[i], note_name, &found, &count, NULL), SXT_OK);
        assert_int_equal(count, 1);
        assert_int_equal(found.named[0].address, 0x401020);
    }
    found = (struct found){.most = 4};
    assert_int_equal(sxt_archive_find_name(archive, "table", note_name, &found, &count, NULL), SXT_OK);
    assert_int_equal(count, 1);
    assert_int_equal(found.named[0].type, 'O');
    assert_int_equal(sxt_archive_find_name(archive, "mai", note_name, &found, &count, NULL), SXT_OK);
    assert_int_equal(count, 0);
    assert_int_equal(sxt_archive_find_name(archive, "", note_name, &found, &count, NULL), SXT_OK);
    assert_int_equal(count, 0);

    size_t size;
    void *lidia = make_lidia(&size, NULL);
    open_memory(lidia, size, NULL);
    found = (struct found){.most = 4};
    assert_int_equal(sxt_archive_find_name(archive, "helper", note_name, &found, &count, NULL), SXT_OK);
    assert_int_equal(count, 2);
    assert_true(found.named[1].address == 0x401060 && found.named[1].size == 8 && found.named[1].type == 0);
    sxt_archive_close(&archive);
    sxt_free(lidia);
}

static bool count_name(void *data, const sxt_named *named)
{
    uint64_t *last = data;
    assert_true(named->address > *last);
    *last = named->address;
    return true;
}

TEST(a_name_of_very_many_places_is_not_quadratic)
{
    enum { COUNT = 200000 };
    struct sxt_test_symbol *many = calloc(COUNT, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < COUNT; i++)
        many[i] = (struct sxt_test_symbol){"same", 0x401000 + 4 * (uint64_t)i, 4, 'F', 'L'};
    size_t size;
    uint64_t offset;
    uint8_t *large = sxt_test_elf_image(many, COUNT, &size, &offset);
    free(many);
    open_memory(large, size, NULL);
    uint64_t last = 0;
    size_t count;
    double before = sxt_test_seconds();
    assert_int_equal(sxt_archive_find_name(archive, "same", count_name, &last, &count, NULL), SXT_OK);
    assert_int_equal(count, COUNT);
    assert_true(sxt_test_seconds() - before < PATIENCE_SECONDS);
    sxt_archive_close(&archive);
    free(large);
}

TEST(file_offsets_become_addresses_where_a_segment_is)
{
    uint64_t address = 0;
    sxt_error error = {0};
    open_memory(elf, elf_size, NULL);
    assert_int_equal(sxt_archive_address_of_offset(archive, code_offset, &address, NULL), SXT_OK);
    assert_int_equal(address, SXT_TEST_CODE_ADDRESS);
    assert_int_equal(sxt_archive_address_of_offset(archive, code_offset + 0xff, &address, NULL), SXT_OK);
    assert_int_equal(address, SXT_TEST_CODE_ADDRESS + 0xff);
    const uint64_t outside[] = {0, code_offset - 1, code_offset + 0x100, UINT64_MAX};
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(sxt_archive_address_of_offset(archive, outside[i], &address, &error), SXT_ERROR_NOT_FOUND);
    assert_int_equal(error.code, SXT_ERROR_NOT_FOUND);
    sxt_string name;
    assert_int_equal(sxt_archive_section_base(archive, 0, &name, &address), SXT_ERROR_USAGE);

    size_t size;
    void *lidia = make_lidia(&size, NULL);
    open_memory(lidia, size, NULL);
    assert_int_equal(sxt_archive_address_of_offset(archive, code_offset + 0xff, &address, NULL), SXT_OK);
    assert_int_equal(address, SXT_TEST_CODE_ADDRESS + 0xff);
    assert_int_equal(sxt_archive_address_of_offset(archive, UINT64_MAX, &address, &error), SXT_ERROR_NOT_FOUND);
    sxt_segment segment;
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(archive, &info);
    assert_true(info.has_offsets && info.segment_count > 0);
    assert_int_equal(sxt_archive_segment(archive, info.segment_count - 1, &segment), SXT_OK);
    assert_int_equal(sxt_archive_segment(archive, info.segment_count, &segment), SXT_ERROR_USAGE);
    /* Without the facts about the binary, as in an archive of another program. */
    for (size_t i = 0; i + 8 <= size; i++)
        if (memcmp((uint8_t *)lidia + i, "sxtcmodl", 8) == 0)
            size = i;
    open_memory(lidia, size, NULL);
    assert_int_equal(sxt_archive_address_of_offset(archive, code_offset, &address, &error), SXT_ERROR_USAGE);
    assert_int_equal(error.reason, SXT_REASON_NO_SEGMENTS);
    assert_int_equal(sxt_archive_segment(archive, 0, &segment), SXT_ERROR_USAGE);
    assert_int_equal(sxt_archive_section_base(archive, 0, &name, &address), SXT_ERROR_USAGE);
    sxt_archive_close(&archive);
    sxt_free(lidia);
}

TEST(closing_nothing_does_nothing)
{
    sxt_archive *none = NULL;
    sxt_archive_close(&none);
    sxt_symbols *no_symbols = NULL;
    sxt_symbols_free(&no_symbols);
    sxt_free(NULL);
    assert_true(strlen(sxt_version()) >= 5);
}
