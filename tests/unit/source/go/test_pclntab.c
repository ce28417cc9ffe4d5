/* Go functions, read from tables that gopclntab_image.h writes in every version of the format. */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "source/go/go.h"
#include "support/gopclntab_image.h"
#include "support/test.h"

/* The result of reading an image. */
struct result {
    int status;
    bool found;
    sxt_error error;
    struct sxt_symbols *symbols;
};

static struct result read_bytes(const uint8_t *bytes, size_t size, uint32_t flags, bool reference)
{
    struct result result = {.status = SXT_OK};
    struct sxt_elf elf;
    sxt_extract_options options = {.struct_size = sizeof options, .flags = flags};
    assert_int_equal(sxt_symbols_new(&result.symbols, NULL), SXT_OK);
    result.status = sxt_elf_open(&elf, bytes, size, 1 << 20, &result.error);
    if (result.status != SXT_OK)
        return result;
    if (reference)
        result.status = sxt_go_read_reference(&elf, result.symbols, &result.error);
    else
        result.status = sxt_go_read(&elf, &options, result.symbols, &result.found, &result.error);
    sxt_elf_close(&elf);
    return result;
}

static struct result read_image(const struct image *image, uint32_t flags)
{
    return read_bytes(image->bytes, sizeof image->bytes, flags, false);
}

static struct result read_as_reference(const struct image *image)
{
    return read_bytes(image->bytes, sizeof image->bytes, 0, true);
}

/* All rows as text, one per line: offset from the text start, length, depth, name, file, call site, lines. */
static char *describe(const struct sxt_symbols *symbols, uint64_t text_start)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        fprintf(out, "%llx+%llu d%u %s %s", (unsigned long long)(range->address - text_start),
                (unsigned long long)range->length, range->depth, sxt_symbols_view(symbols, range->function).data,
                sxt_symbols_view(symbols, range->file).data);
        if (range->depth > 0)
            fprintf(out, " called %s:%u", sxt_symbols_view(symbols, range->call_file).data, range->call_line);
        for (uint32_t j = 0; j < range->line_count; j++) {
            const struct sxt_model_line *line = &symbols->lines[range->first_line + j];
            fprintf(out, " %u=%s:%u", line->offset, sxt_symbols_view(symbols, line->file).data, line->line);
        }
        fputc('\n', out);
        assert_int_equal(range->source, SXT_SOURCE_GO);
    }
    fclose(out);
    return text;
}

static void expect_rows(struct result *result, uint64_t text_start, const char *expected)
{
    char *rows = describe(result->symbols, text_start);
    assert_string_equal(rows, expected);
    free(rows);
    sxt_symbols_free(&result->symbols);
}

#define GO_TEXT (IMAGE_BASE + IMAGE_GO_TEXT)

#define PLAIN_ROWS                                                                                                     \
    "40+32 d0 main.plain a.go 0=a.go:20 16=a.go:21\n"                                                                  \
    "60+32 d0 main.last a.go 0=a.go:30\n"
#define ALL_ROWS                                                                                                       \
    "0+64 d0 main.main a.go 0=a.go:10 32=a.go:11\n"                                                                    \
    "8+24 d1 lib.outer b.go called a.go:10 0=b.go:3 16=b.go:5\n"                                                       \
    "10+8 d2 lib.inner c.go called b.go:3 0=c.go:4\n" PLAIN_ROWS
/* If inlined calls cannot be read, their lines belong to the function. */
#define ROWS_WITHOUT_TREE "0+64 d0 main.main a.go 0=a.go:10 8=b.go:3 16=c.go:4 24=b.go:5 32=a.go:11\n" PLAIN_ROWS

static void expect_all(const struct image *image)
{
    struct result result = read_image(image, 0);
    if (result.status != SXT_OK)
        fail_msg("go 1.%d: %s", image->recipe.go, result.error.text);
    assert_true(result.found);
    expect_rows(&result, GO_TEXT, ALL_ROWS);
}

static const int versions[] = {9, 12, 13, 16, 18, 20, 27};
#define VERSION_COUNT (sizeof versions / sizeof versions[0])

TEST(reads_every_version_width_and_byte_order)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        for (int shape = 0; shape < 4; shape++) {
            image_make(&image, (struct image_recipe){.go = versions[i], .is_64 = shape & 1, .big_endian = shape & 2});
            expect_all(&image);
        }
}

TEST(finds_a_table_whose_section_was_renamed_or_has_none)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        for (int shape = 0; shape < 8; shape++) {
            image_make(&image, (struct image_recipe){.go = versions[i],
                                                     .is_64 = shape & 1,
                                                     .big_endian = shape & 2,
                                                     .sections = shape & 4 ? SECTIONS_NONE : SECTIONS_RENAMED});
            expect_all(&image);
        }
}

TEST(applies_the_relocations_of_a_position_independent_file)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        for (int shape = 0; shape < 6; shape++) {
            image_make(&image, (struct image_recipe){.go = versions[i],
                                                     .is_64 = true,
                                                     .big_endian = shape & 1,
                                                     .relocated = true,
                                                     .no_header_text = shape & 1,
                                                     .sections = (enum image_sections)(shape / 2)});
            expect_all(&image);
        }
}

TEST(takes_the_text_start_from_the_symbol_first)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .symbols = true});
    /* All other sources have a different value. */
    image_put(&image, IMAGE_TABLE + 24, 8, IMAGE_BASE + IMAGE_TEXT + 8);
    image_put(&image, IMAGE_MODULE + 22 * 8, 8, IMAGE_BASE + IMAGE_TEXT + 16);
    expect_all(&image);
}

TEST(takes_the_text_start_from_the_module_data_next)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image_put(&image, IMAGE_TABLE + 24, 8, IMAGE_BASE + IMAGE_TEXT + 8);
    expect_all(&image);
}

TEST(takes_the_text_start_from_the_header_if_no_other_source_has_it)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .no_module = true});
    struct result result = read_image(&image, 0);
    assert_int_equal(result.status, SXT_ERROR_FORMAT);
    assert_non_null(strstr(result.error.text, "inlined calls"));
    expect_rows(&result, GO_TEXT, ROWS_WITHOUT_TREE);
}

TEST(takes_the_start_of_text_when_the_header_is_empty_or_wrong)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .no_module = true, .no_header_text = true});
    struct result result = read_image(&image, 0);
    expect_rows(&result, IMAGE_BASE + IMAGE_TEXT, ROWS_WITHOUT_TREE);
    image_put(&image, IMAGE_TABLE + 24, 8, IMAGE_BASE + IMAGE_DATA); /* not code */
    result = read_image(&image, 0);
    expect_rows(&result, IMAGE_BASE + IMAGE_TEXT, ROWS_WITHOUT_TREE);
}

TEST(finds_inlined_calls_by_the_symbol_alone)
{
    static struct image image;
    for (int go = 18; go <= 20; go += 2) {
        image_make(&image, (struct image_recipe){.go = go, .is_64 = true, .symbols = true, .no_module = true});
        expect_all(&image);
    }
}

TEST(leaves_out_what_the_options_exclude)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        image_make(&image, (struct image_recipe){.go = versions[i], .is_64 = true});
        struct result result = read_image(&image, SXT_EXTRACT_NO_LINES);
        expect_rows(&result, GO_TEXT,
                    "0+64 d0 main.main a.go\n8+24 d1 lib.outer b.go called a.go:0\n"
                    "10+8 d2 lib.inner c.go called b.go:0\n40+32 d0 main.plain a.go\n60+32 d0 main.last a.go\n");
        result = read_image(&image, SXT_EXTRACT_NO_FILES);
        expect_rows(
            &result, GO_TEXT,
            "0+64 d0 main.main  0=:10 32=:11\n8+24 d1 lib.outer  called :10 0=:3 16=:5\n"
            "10+8 d2 lib.inner  called :3 0=:4\n40+32 d0 main.plain  0=:20 16=:21\n60+32 d0 main.last  0=:30\n");
        /* The code of inlined calls belongs to the line of the call. */
        result = read_image(&image, SXT_EXTRACT_NO_INLINES);
        expect_rows(&result, GO_TEXT, "0+64 d0 main.main a.go 0=a.go:10 32=a.go:11\n" PLAIN_ROWS);
        result = read_image(&image, SXT_EXTRACT_NO_INLINES | SXT_EXTRACT_NO_LINES | SXT_EXTRACT_NO_FILES);
        expect_rows(&result, GO_TEXT, "0+64 d0 main.main \n40+32 d0 main.plain \n60+32 d0 main.last \n");
    }
}

TEST(drops_functions_that_go_backwards_and_says_how_many)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image_put(&image, image.functab + 8, 4, 0x70); /* main.plain now begins after main.empty, its end */
    struct result result = read_image(&image, 0);
    assert_int_equal(result.status, SXT_ERROR_FORMAT);
    assert_non_null(strstr(result.error.text, "1 of 4 functions"));
    assert_int_equal(result.symbols->range_count, 4);
    sxt_symbols_free(&result.symbols);
}

TEST(drops_functions_without_a_readable_record_or_name)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 18});
    image_put(&image, image.functab + 12, 4, 0xFFFFFFF0u);
    image_put(&image, image.records[3] + 4, 4, 0x7FFFFFFF);
    struct result result = read_image(&image, 0);
    assert_int_equal(result.status, SXT_ERROR_FORMAT);
    assert_non_null(strstr(result.error.text, "2 of 4 functions"));
    assert_int_equal(result.symbols->range_count, 3);
    sxt_symbols_free(&result.symbols);
}

TEST(keeps_functions_and_lines_when_the_tree_is_damaged)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        image_make(&image, (struct image_recipe){.go = versions[i], .is_64 = true});
        memset(image.bytes + IMAGE_TREE, 0x7F, 40);
        struct result result = read_image(&image, 0);
        assert_int_equal(result.status, SXT_ERROR_FORMAT);
        expect_rows(&result, GO_TEXT, ROWS_WITHOUT_TREE);
    }
}

TEST(refuses_inlined_calls_that_contain_themselves)
{
    static struct image image;
    for (unsigned parent = 0; parent < 2; parent++) {
        image_make(&image, (struct image_recipe){.go = 16, .is_64 = true});
        image_put(&image, IMAGE_TREE, 2, parent);
        struct result result = read_image(&image, 0);
        assert_int_equal(result.status, SXT_ERROR_FORMAT);
        expect_rows(&result, GO_TEXT, ROWS_WITHOUT_TREE);

        image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
        image_put(&image, IMAGE_TREE + 8, 4, parent == 0 ? 8 : 16);
        result = read_image(&image, 0);
        assert_int_equal(result.status, SXT_ERROR_FORMAT);
        expect_rows(&result, GO_TEXT, ROWS_WITHOUT_TREE);
    }
}

TEST(ignores_a_section_whose_bytes_were_stripped)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image_put(&image, image_section_header(&image, SECTION_TABLE) + 4, 4, SHT_NOBITS);
    struct result result = read_image(&image, 0);
    assert_int_equal(result.status, SXT_OK);
    assert_false(result.found);
    assert_int_equal(result.symbols->range_count, 0);
    sxt_symbols_free(&result.symbols);
}

TEST(finds_nothing_in_files_without_go)
{
    static struct image image;
    uint32_t random = 1;
    for (int round = 0; round < 64; round++) {
        image_make(&image, (struct image_recipe){.go = 20, .is_64 = round & 1, .sections = SECTIONS_RENAMED});
        for (size_t at = IMAGE_RODATA; at < IMAGE_SYMBOLS; at++)
            image.bytes[at] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        /* Data that begins like a table is not necessarily one. */
        for (size_t at = IMAGE_RODATA; at < IMAGE_SYMBOLS && round & 2; at += 32) {
            static const uint8_t header[] = {0xF1, 0xFF, 0xFF, 0xFF, 0, 0, 1, 8, 2, 0, 0, 0, 0, 0, 0, 0};
            memcpy(image.bytes + at, header, sizeof header);
        }
        struct result result = read_image(&image, 0);
        assert_int_equal(result.status, SXT_OK);
        assert_false(result.found);
        sxt_symbols_free(&result.symbols);
    }
}

TEST(rejects_a_table_that_contradicts_itself)
{
    static struct image image;
    for (int kind = 0; kind < 3; kind++) {
        image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .sections = SECTIONS_RENAMED});
        if (kind == 0)
            image_put(&image, image.functab + 8, 4, 0x70); /* entries that are not ascending */
        else if (kind == 1)
            image_put(&image, image.records[0], 4, 4); /* a record with another entry */
        else
            image_put(&image, image.records[1] + 4, 4, 9); /* a function without a name */
        struct result result = read_image(&image, 0);
        assert_int_equal(result.status, SXT_OK);
        assert_false(result.found);
        sxt_symbols_free(&result.symbols);
    }
}

TEST(prefers_the_table_that_the_module_data_points_to)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .sections = SECTIONS_RENAMED});
    /* Another Go program, embedded as data, comes first. */
    assert_true(image.table_size < 0x300);
    memcpy(image.bytes + IMAGE_RODATA + 0x80, image.bytes + IMAGE_TABLE, image.table_size);
    memcpy(image.bytes + IMAGE_RODATA + 0x80 + 72, "evil.evil", 9);
    expect_all(&image);
}

TEST(reports_a_section_that_is_not_a_table)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image.bytes[IMAGE_TABLE] = 0x12;
    struct result result = read_image(&image, 0);
    assert_int_equal(result.status, SXT_ERROR_UNSUPPORTED);
    assert_true(result.found);
    assert_non_null(strstr(result.error.text, "unknown magic 12ffffff"));
    sxt_symbols_free(&result.symbols);

    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image_put(&image, IMAGE_TABLE + 8, 8, 0xFFFFFFFF);
    result = read_image(&image, 0);
    assert_int_equal(result.status, SXT_ERROR_FORMAT);
    assert_non_null(strstr(result.error.text, "4294967295 functions do not fit"));
    sxt_symbols_free(&result.symbols);
}

/* No crash and no large allocation; the model may contain anything that was readable. */
static void expect_bounded(const uint8_t *bytes, size_t size, bool whole)
{
    struct result result = read_bytes(bytes, size, 0, false);
    assert_true(result.symbols->range_count < 1000);
    assert_true(result.symbols->line_count < 10000);
    assert_true(result.status == SXT_OK || result.error.text[0] != '\0');
    assert_true(!whole || (result.status == SXT_OK && result.symbols->range_count == 5));
    sxt_symbols_free(&result.symbols);
    result = read_bytes(bytes, size, 0, true);
    assert_true(result.symbols->range_count < 1000);
    sxt_symbols_free(&result.symbols);
}

/* The table moves to the end of the file, so that a sanitizer detects reads beyond it. */
TEST(survives_every_truncation)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++)
        for (int is_64 = 0; is_64 < 2; is_64++) {
            image_make(&image, (struct image_recipe){.go = versions[i], .is_64 = is_64});
            size_t header = image_section_header(&image, SECTION_TABLE);
            image_put(&image, header + 8 + 2 * image.word, image.word, IMAGE_SIZE);
            for (size_t size = 0; size <= image.table_size; size++) {
                image_put(&image, header + 8 + 3 * image.word, image.word, size);
                uint8_t *bytes = malloc(IMAGE_SIZE + size);
                memcpy(bytes, image.bytes, IMAGE_SIZE);
                memcpy(bytes + IMAGE_SIZE, image.bytes + IMAGE_TABLE, size);
                expect_bounded(bytes, IMAGE_SIZE + size, size == image.table_size);
                free(bytes);
            }
        }
}

TEST(survives_every_changed_byte)
{
    static struct image image;
    static const uint8_t changes[] = {0x01, 0x80, 0xFF};
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        image_make(&image, (struct image_recipe){.go = versions[i],
                                                 .is_64 = true,
                                                 .relocated = versions[i] % 2 == 0,
                                                 .sections = i % 3 == 0 ? SECTIONS_RENAMED : SECTIONS_NAMED});
        size_t ends[] = {IMAGE_TREE + 48, IMAGE_TABLE + image.table_size, IMAGE_MODULE + 48 * 8, IMAGE_RELA + 512};
        size_t starts[] = {IMAGE_TREE, IMAGE_TABLE, IMAGE_MODULE, IMAGE_DYNAMIC};
        for (int part = 0; part < 4; part++)
            for (size_t at = starts[part]; at < ends[part]; at++)
                for (size_t change = 0; change < sizeof changes; change++) {
                    image.bytes[at] ^= changes[change];
                    expect_bounded(image.bytes, IMAGE_SIZE, false);
                    image.bytes[at] ^= changes[change];
                }
    }
}

/* A table of 1.20 with COUNT functions of 16 bytes that all have the same record, name and lines. */
static uint8_t *make_shared_table(size_t count, size_t line_bytes, size_t name_bytes, bool slide_names, size_t *size)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    size_t names = 72, values = names + name_bytes + 1, functab = (values + line_bytes + 8) & ~(size_t)7;
    size_t records = functab + (count * 2 + 1) * 4;
    *size = IMAGE_SIZE + records + count * 44;
    uint8_t *bytes = calloc(1, *size);
    memcpy(bytes, image.bytes, IMAGE_SIZE);
    struct image *patch = &image;
    image_put(patch, image_section_header(patch, SECTION_TABLE) + 24, 8, IMAGE_SIZE);
    image_set_table_size(patch, *size - IMAGE_SIZE);
    memcpy(bytes, image.bytes, IMAGE_SIZE);

    uint8_t *table = bytes + IMAGE_SIZE;
    memcpy(table, image.bytes + IMAGE_TABLE, 8);
    uint64_t words[] = {count, 0, IMAGE_BASE + IMAGE_TEXT, names, names, names, values, functab};
    for (size_t i = 0; i < 8; i++)
        sxt_store_u64le(table + 8 + i * 8, words[i]);
    memset(table + names, 'n', name_bytes);
    for (size_t i = 1; i + 1 < line_bytes; i += 2) {
        table[values + i] = 2;
        table[values + i + 1] = 1;
    }
    for (size_t i = 0; i <= count; i++) {
        sxt_store_u32le(table + functab + i * 8, (uint32_t)(i * 0x10000));
        if (i == count)
            break;
        size_t record = records - functab + i * 44;
        sxt_store_u32le(table + functab + i * 8 + 4, (uint32_t)record);
        sxt_store_u32le(table + functab + record, (uint32_t)(i * 0x10000));
        sxt_store_u32le(table + functab + record + 4, slide_names ? (uint32_t)(i % name_bytes) : 0);
        sxt_store_u32le(table + functab + record + 24, 1);
    }
    return bytes;
}

TEST(bounds_the_work_when_functions_share_their_lines)
{
    size_t size;
    uint8_t *bytes = make_shared_table(5000, 100000, 4, false, &size);
    struct result result = read_bytes(bytes, size, 0, false);
    assert_int_equal(result.status, SXT_ERROR_LIMIT);
    assert_int_equal(result.symbols->range_count, 5000);
    assert_true(result.symbols->line_count < 4 * size + 65536);
    sxt_symbols_free(&result.symbols);
    free(bytes);
}

TEST(bounds_the_memory_when_names_overlap)
{
    size_t size;
    uint8_t *bytes = make_shared_table(20000, 8, 20000, true, &size);
    struct result result = read_bytes(bytes, size, 0, false);
    assert_int_equal(result.status, SXT_ERROR_LIMIT);
    assert_true(result.symbols->range_count > 0);
    assert_true(result.symbols->strings.bytes < 3 * size);
    sxt_symbols_free(&result.symbols);
    result = read_bytes(bytes, size, 0, true);
    assert_int_equal(result.status, SXT_ERROR_LIMIT);
    sxt_symbols_free(&result.symbols);
    free(bytes);
}

/* main.main with calls inlined DEPTH deep: a file whose tree comes last. */
static struct result read_deep_tree(uint32_t depth)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 16, .is_64 = true});
    size_t size = IMAGE_SIZE + depth * 20;
    image_put(&image, 64 + 56 + 32, 8, size - IMAGE_RODATA); /* the second segment extends to the end */
    for (size_t at = IMAGE_TABLE; at < IMAGE_TABLE + image.table_size; at += 4)
        if (sxt_load_u64le(image.bytes + at) == IMAGE_BASE + IMAGE_TREE)
            image_put(&image, at, 8, IMAGE_BASE + IMAGE_SIZE);
    static const struct image_step outside = {8, -1};
    struct image_step steps[] = {outside, {32, (int)depth - 1}, {64, -1}, {0, 0}};
    image_steps(&image, image.main_nodes, steps, 0);

    uint8_t *bytes = calloc(1, size);
    memcpy(bytes, image.bytes, IMAGE_SIZE);
    for (size_t i = 0; i < depth; i++) {
        uint8_t *entry = bytes + IMAGE_SIZE + i * 20;
        sxt_store_u16le(entry, (uint16_t)(i - 1));
        sxt_store_u32le(entry + 8, 7);
        memcpy(entry + 12, image.bytes + IMAGE_TREE + 12, 4);
    }
    struct result result = read_bytes(bytes, size, 0, false);
    free(bytes);
    return result;
}

TEST(limits_the_depth_of_inlined_calls)
{
    struct result result = read_deep_tree(SXT_SYMBOLS_MAX_DEPTH - 1);
    assert_int_equal(result.status, SXT_OK);
    assert_int_equal(result.symbols->range_count, 3 + SXT_SYMBOLS_MAX_DEPTH - 1);
    assert_int_equal(result.symbols->ranges[999].depth, 999);
    assert_int_equal(result.symbols->ranges[999].call_line, 7);
    sxt_symbols_free(&result.symbols);
    result = read_deep_tree(SXT_SYMBOLS_MAX_DEPTH);
    assert_int_equal(result.status, SXT_ERROR_FORMAT);
    assert_int_equal(result.symbols->range_count, 3);
    sxt_symbols_free(&result.symbols);
}

TEST(reference_gives_every_function_in_table_order)
{
    static struct image image;
    for (size_t i = 0; i < VERSION_COUNT; i++) {
        image_make(&image, (struct image_recipe){.go = versions[i], .is_64 = true});
        struct result result = read_as_reference(&image);
        assert_int_equal(result.status, SXT_OK);
        expect_rows(&result, GO_TEXT,
                    "0+64 d0 main.main \n40+32 d0 main.plain \n60+0 d0 main.empty \n60+32 d0 main.last \n");
    }
}

TEST(reference_keeps_empty_names)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image_put(&image, image.records[1] + 4, 4, 9); /* the NUL after main.main */
    struct result result = read_as_reference(&image);
    expect_rows(&result, GO_TEXT, "0+64 d0 main.main \n40+32 d0  \n60+0 d0 main.empty \n60+32 d0 main.last \n");
}

TEST(reference_requires_four_fields_of_a_record)
{
    static struct image image;
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true});
    image_set_table_size(&image, image.records[3] - IMAGE_TABLE + 16);
    struct result result = read_as_reference(&image);
    assert_int_equal(result.symbols->range_count, 4);
    sxt_symbols_free(&result.symbols);
    image_set_table_size(&image, image.records[3] - IMAGE_TABLE + 15);
    result = read_as_reference(&image);
    assert_int_equal(result.status, SXT_OK);
    assert_int_equal(result.symbols->range_count, 0);
    sxt_symbols_free(&result.symbols);
}

TEST(reference_takes_the_start_of_text_for_a_zero_or_unread_header)
{
    static struct image image;
    const char *rows = "0+64 d0 main.main \n40+32 d0 main.plain \n60+0 d0 main.empty \n60+32 d0 main.last \n";
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .no_header_text = true});
    struct result result = read_as_reference(&image);
    expect_rows(&result, IMAGE_BASE + IMAGE_TEXT, rows);
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .big_endian = true});
    result = read_as_reference(&image);
    expect_rows(&result, IMAGE_BASE + IMAGE_TEXT, rows);
}

static void expect_reference_failure(struct image *image, const char *text)
{
    struct result result = read_as_reference(image);
    assert_int_not_equal(result.status, SXT_OK);
    assert_string_equal(result.error.text, text);
    assert_int_equal(result.symbols->range_count, 0);
    sxt_symbols_free(&result.symbols);
}

TEST(reference_fails_where_the_original_does)
{
    static struct image image;
    struct image_recipe recipe = {.go = 20, .is_64 = true};
    image_make(&image, (struct image_recipe){.go = 20, .is_64 = true, .sections = SECTIONS_RENAMED});
    expect_reference_failure(&image, "empty text");
    image_make(&image, recipe);
    image_put(&image, image_section_header(&image, SECTION_TABLE) + 4, 4, SHT_NOBITS);
    expect_reference_failure(&image, "unexpected read from SHT_NOBITS section");
    image_make(&image, recipe);
    image_set_table_size(&image, 63);
    expect_reference_failure(&image, "invalid .gopclntab header");
    image_make(&image, recipe);
    image_put(&image, IMAGE_TABLE + 24, 8, 0x500000);
    expect_reference_failure(&image, "runtime.text out of .text bounds 5242880 4198400 512");
    image_make(&image, (struct image_recipe){.go = 20}); /* 32 bit: the reference reads eight bytes instead of four */
    struct result result = read_as_reference(&image);
    assert_non_null(strstr(result.error.text, "runtime.text out of .text bounds"));
    sxt_symbols_free(&result.symbols);
}

TEST(reference_gives_nothing_for_a_malformed_table)
{
    static struct image image;
    struct image_recipe recipe = {.go = 20, .is_64 = true};
    for (int kind = 0; kind < 5; kind++) {
        image_make(&image, recipe);
        switch (kind) {
        case 0:
            image.bytes[IMAGE_TABLE + 4] = 1;
            break;
        case 1:
            image_put(&image, IMAGE_TABLE + 8, 8, 1000);
            break;
        case 2:
            image_put(&image, image.records[3] + 4, 4, 0xFFFFFF);
            break;
        case 3:
            image_put(&image, image.functab + 3 * 8 + 4, 4, 0xFFFFFF);
            break;
        case 4:
            image.bytes[IMAGE_NAMES + 16] = 'x'; /* rename .gopclntab */
            break;
        }
        struct result result = read_as_reference(&image);
        assert_int_equal(result.status, SXT_OK);
        assert_int_equal(result.symbols->range_count, 0);
        sxt_symbols_free(&result.symbols);
    }
}
