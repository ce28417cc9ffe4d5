/*
 * test_verify.c: every rule of the checker, with the byte where it is broken; no change of a single byte goes
 * unnoticed; good files of all shapes pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lidia/lidia.h"
#include "support/lidia_image.h"
#include "support/random.h"
#include "support/test.h"

#define PATIENCE_SECONDS 8.0

static struct sxt_test_strings strings;
static uint8_t *image;
static size_t image_size;

/* Offsets of strings in the file that make_image makes, and of the file's parts. */
static uint64_t f, f_c, g, g_h;
static size_t rows_at, strings_at, lines_at, index_at;

SET_UP()
{
    image = NULL;
}

TEAR_DOWN()
{
    free(image);
}

/*
 * Rows 0 to 2 are a function with a call in a call; row 3 is a function with an alias, row 4. Only the sizes and the
 * index of CONTENT count, and whether it has strings: then they end with NUL.
 */
static void make_image(struct sxt_test_lidia content)
{
    strings.size = 0;
    strings.nul = content.strings != NULL;
    sxt_test_put_string(&strings, "");
    if (!strings.nul)
        sxt_test_put_string(&strings, "[overflow]");
    f = sxt_test_put_string(&strings, "f");
    f_c = sxt_test_put_string(&strings, "f.c");
    g = sxt_test_put_string(&strings, "g");
    g_h = sxt_test_put_string(&strings, "g.h");
    const struct sxt_test_row rows[] = {
        {0x1000, 0x40, 0, f, f_c, 0, 2, 0, 0}, {0x1010, 0x20, 1, g, g_h, 2, 2, f_c, 11},
        {0x1010, 0x08, 2, f, 0, 0, 0, g_h, 3}, {0x1040, 0x10, 0, g, f_c, 4, 1, 0, 0},
        {0x1040, 0x00, 0, f, 0, 0, 0, 0, 0},
    };
    const uint32_t lines[][2] = {{0, 10}, {0x30, 12}, {0, 2}, {4, 3}, {0, 20}};
    const uint32_t parents[] = {0, 1, 1, 0, 0};
    content.rows = rows;
    content.row_count = 5;
    content.strings = &strings;
    content.lines = lines;
    content.line_count = 5;
    if (content.parents == NULL)
        content.parents = parents;
    free(image);
    image = sxt_test_lidia_image(&content, &image_size);
    rows_at = sxt_test_rows_at(image);
    strings_at = sxt_test_strings_at(image);
    lines_at = sxt_test_lines_at(image);
    index_at = sxt_test_index_at(image);
}

static void note(void *context, const sxt_problem *problem)
{
    FILE *out = context;
    assert_true(strlen(problem->message) > 5);
    assert_null(strchr(problem->message, '\n'));
    fprintf(out, "%s%s@%llx", ftell(out) > 0 ? " " : "", problem->rule, (unsigned long long)problem->offset);
}

/* The problems as "rule@offset", in the order they are reported; to be freed. */
static char *problems(void)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    uint64_t count = sxt_lidia_verify(image, image_size, note, out);
    assert_int_equal(fclose(out), 0);
    uint64_t listed = text[0] != 0;
    for (const char *at = text; (at = strchr(at, ' ')) != NULL; at++)
        listed++;
    assert_int_equal(count, listed);
    assert_int_equal(sxt_lidia_verify(image, image_size, NULL, NULL), count);
    return text;
}

static void assert_problems(const char *expected)
{
    char *text = problems();
    assert_string_equal(text, expected);
    free(text);
}

/* The file with VALUE at AT (all checksums right again) has one problem: RULE at OFFSET. */
static void assert_change(size_t at, uint64_t value, unsigned width, const char *rule, uint64_t offset)
{
    char expected[80];
    make_image((struct sxt_test_lidia){0});
    sxt_test_store(image + at, value, width);
    sxt_test_lidia_seal(image, image_size);
    snprintf(expected, sizeof expected, "%s@%llx", rule, (unsigned long long)offset);
    assert_problems(expected);
}

static size_t field_at(size_t row, unsigned field)
{
    return rows_at + (row * 8 + field) * 4;
}

TEST(good_files_of_all_shapes_pass)
{
    static const unsigned parent_sizes[] = {1, 2, 4};
    for (unsigned i = 0; i < 48; i++) {
        make_image((struct sxt_test_lidia){.address_size = i % 2 ? 8 : 4,
                                           .field_size = i / 2 % 2 ? 8 : 4,
                                           .line_size = i / 4 % 2 ? 4 : 2,
                                           .parent_size = parent_sizes[i / 16],
                                           .strings = i / 8 % 2 ? &strings : NULL});
        assert_problems("");
        image_size = index_at;
        assert_problems("");
    }
    free(image);
    image = sxt_test_lidia_image(&(struct sxt_test_lidia){.row_count = 0}, &image_size);
    assert_problems("");
}

TEST(a_file_that_cannot_be_opened_has_one_problem_in_its_header)
{
    make_image((struct sxt_test_lidia){0});
    image[0] = 'x';
    assert_problems("header@0");
    make_image((struct sxt_test_lidia){0});
    image[4] = 9;
    assert_problems("header@4");
    make_image((struct sxt_test_lidia){0});
    image[8] = 5;
    assert_problems("header@8");
    make_image((struct sxt_test_lidia){0});
    image[0x10] = 9;
    assert_problems("header@30");
    make_image((struct sxt_test_lidia){0});
    image[0x4f] = 0x80;
    assert_problems("header@48");
    make_image((struct sxt_test_lidia){0});
    image_size = 100;
    assert_problems("header@64");
    image_size = 0;
    assert_problems("header@0");
}

TEST(each_rule_of_the_layout_is_reported_where_it_is_broken)
{
    make_image((struct sxt_test_lidia){0});
    const unsigned reserved[] = {0x24, 0x44, 0x5c, 0x7c};
    for (size_t i = 0; i < 4; i++)
        assert_change(reserved[i], 1, 4, "reserved", reserved[i]);
    make_image((struct sxt_test_lidia){0});
    image_size++;
    image = realloc(image, image_size);
    assert_non_null(image);
    image[image_size - 1] = 0;
    char expected[80];
    snprintf(expected, sizeof expected, "trailing-bytes@%zx", image_size - 1);
    assert_problems(expected);
    image_size = index_at + 3;
    snprintf(expected, sizeof expected, "trailing-bytes@%zx", index_at);
    assert_problems(expected);
}

TEST(parts_with_gaps_or_overlaps_are_reported)
{
    /* Everything after the addresses is one byte later than it should be. */
    make_image((struct sxt_test_lidia){0});
    uint8_t *moved = malloc(image_size + 1);
    assert_non_null(moved);
    memcpy(moved, image, rows_at);
    moved[rows_at] = 0;
    memcpy(moved + rows_at + 1, image + rows_at, image_size - rows_at);
    free(image);
    image = moved;
    image_size++;
    const unsigned offsets[] = {0x38, 0x50, 0x70};
    for (unsigned i = 0; i < 3; i++)
        sxt_test_store(image + offsets[i], sxt_test_load(image + offsets[i], 8) + 1, 8);
    assert_problems("gap@38");
    /* The rows begin inside the addresses: they have moved, so their content is not what it was. */
    make_image((struct sxt_test_lidia){0});
    sxt_test_store(image + 0x38, rows_at - 4, 8);
    char *text = problems();
    assert_int_equal(strncmp(text, "overlap@38 gap@50 crc@40", 24), 0);
    free(text);
}

TEST(a_line_size_that_the_format_does_not_have_is_reported_even_without_lines)
{
    free(image);
    image = sxt_test_lidia_image(&(struct sxt_test_lidia){.row_count = 0}, &image_size);
    sxt_test_store(image + 0x60, 7, 8);
    assert_problems("line-size@60");
    sxt_test_store(image + 0x60, 2, 8);
    sxt_test_store(image + 0x70, (uint64_t)1 << 60, 8);
    assert_problems("gap@70");
}

TEST(each_checksum_is_compared)
{
    const unsigned sums[] = {0x20, 0x40, 0x58, 0x78};
    for (size_t i = 0; i < 4; i++) {
        char expected[16];
        make_image((struct sxt_test_lidia){0});
        image[sums[i] + 2] ^= 0x40;
        snprintf(expected, sizeof expected, "crc@%x", sums[i]);
        assert_problems(expected);
    }
    /* A change that breaks no other rule: the line number of the last entry. */
    make_image((struct sxt_test_lidia){0});
    image[index_at - 2] ^= 1;
    assert_problems("crc@78");
}

TEST(each_rule_of_the_rows_is_reported_where_it_is_broken)
{
    make_image((struct sxt_test_lidia){0});
    assert_change(field_at(0, 2), strings.size, 4, "string-reference", field_at(0, 2));
    assert_change(field_at(0, 2), f + 1, 4, "string-reference", field_at(0, 2));
    assert_change(field_at(3, 3), UINT32_MAX, 4, "string-reference", field_at(3, 3));
    assert_change(field_at(1, 6), f_c + 4, 4, "string-reference", field_at(1, 6));
    assert_change(field_at(3, 4), 5, 4, "line-reference", field_at(3, 4));
    assert_change(field_at(3, 4), UINT32_MAX, 4, "line-reference", field_at(3, 4));
    assert_change(field_at(3, 5), 2, 4, "line-reference", field_at(3, 4));
    assert_change(field_at(3, 5), UINT32_MAX, 4, "line-reference", field_at(3, 4));
    assert_change(lines_at + 1 * 4, 0x40, 2, "line-offset", lines_at + 1 * 4);
    assert_change(lines_at + 3 * 4, 0x20, 2, "line-offset", lines_at + 3 * 4);
    assert_change(lines_at + 1 * 4, 0, 2, "line-order", lines_at + 1 * 4);
    assert_change(lines_at + 0 * 4, 0x30, 2, "line-order", lines_at + 1 * 4);
    assert_change(field_at(1, 0), 0x31, 4, "nesting", field_at(1, 0));
    assert_change(field_at(2, 0), 0x21, 4, "nesting", field_at(2, 0));
    /* A call with nothing around it; the index would have to say something else too, so it is left out. */
    make_image((struct sxt_test_lidia){0});
    sxt_test_store(image + field_at(4, 1), 2, 4);
    image_size = index_at;
    sxt_test_lidia_seal(image, image_size);
    char expected[40];
    snprintf(expected, sizeof expected, "nesting@%zx", field_at(4, 1));
    assert_problems(expected);
}

TEST(rows_out_of_order_are_reported)
{
    make_image((struct sxt_test_lidia){0});
    assert_change(0x80 + 4 * 4, 0x103f, 4, "va-order", 0x80 + 4 * 4);
    /* Two calls at one address, the deeper one first. */
    const uint32_t parents[] = {0, 1, 2, 0, 0};
    make_image((struct sxt_test_lidia){.parents = parents});
    sxt_test_store(image + field_at(3, 1), 1, 4);
    sxt_test_store(image + 0x80 + 3 * 4, 0x1010, 4);
    sxt_test_lidia_seal(image, image_size);
    char *text = problems();
    char expected[40];
    snprintf(expected, sizeof expected, "depth-order@%zx", field_at(3, 1));
    assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
    free(text);
}

TEST(a_range_beyond_the_last_address_is_reported)
{
    free(image);
    /* One that ends with the last address is fine. */
    const struct sxt_test_row last = {UINT64_MAX - 7, 8, 0, 0, 0, 0, 0, 0, 0};
    image =
        sxt_test_lidia_image(&(struct sxt_test_lidia){.rows = &last, .row_count = 1, .address_size = 8}, &image_size);
    assert_problems("");
    free(image);
    const struct sxt_test_row row = {UINT64_MAX - 7, 9, 0, 0, 0, 0, 0, 0, 0};
    image =
        sxt_test_lidia_image(&(struct sxt_test_lidia){.rows = &row, .row_count = 1, .address_size = 8}, &image_size);
    char expected[40];
    snprintf(expected, sizeof expected, "length@%zx", sxt_test_rows_at(image));
    assert_problems(expected);
}

TEST(strings_that_do_not_add_up_are_reported)
{
    make_image((struct sxt_test_lidia){0});
    size_t last = strings_at + g_h;
    assert_change(last, 4, 4, "strings", last);
    assert_change(last, 2, 4, "strings", last + 6);
    make_image((struct sxt_test_lidia){.strings = &strings});
    image[lines_at - 1] = 'x';
    sxt_test_lidia_seal(image, image_size);
    char *text = problems();
    assert_non_null(strstr(text, "strings@"));
    free(text);
}

TEST(each_rule_of_the_index_is_reported_where_it_is_broken)
{
    make_image((struct sxt_test_lidia){0});
    const size_t entries = sxt_test_parents_at(image);
    assert_change(entries + 0, 1, 1, "index", entries + 0);
    assert_change(entries + 1, 0, 1, "index", entries + 1);
    assert_change(entries + 2, 2, 1, "index", entries + 2);
    assert_change(entries + 2, 3, 1, "index", entries + 2);
    assert_change(entries + 3, 3, 1, "index", entries + 3);
    assert_change(entries + 4, 255, 1, "index", entries + 4);
    assert_change(index_at + 0x20, 1, 4, "index", index_at + 0x20);
    assert_change(sxt_test_name_sizes_at(image), 0, 2, "index", sxt_test_name_sizes_at(image));
    char expected[40];
    make_image((struct sxt_test_lidia){0});
    image[index_at + 0x19] ^= 1; /* its own sum covers this one */
    snprintf(expected, sizeof expected, "index@%zx", index_at);
    assert_problems(expected);
    make_image((struct sxt_test_lidia){0});
    sxt_test_store(image + index_at + 0x18, 0, 4);
    sxt_test_store(image + index_at + 0x1c, sxt_test_crc32c(image + index_at, 0x1c), 4);
    snprintf(expected, sizeof expected, "crc@%zx", index_at + 0x18);
    assert_problems(expected);
    make_image((struct sxt_test_lidia){0});
    image[index_at] = 'S';
    snprintf(expected, sizeof expected, "trailing-bytes@%zx", index_at);
    assert_problems(expected);
}

TEST(no_change_of_a_single_byte_goes_unnoticed)
{
    for (unsigned nul = 0; nul < 2; nul++) {
        make_image((struct sxt_test_lidia){.strings = nul ? &strings : NULL});
        for (size_t i = 0; i < image_size; i++) {
            const uint8_t good = image[i];
            const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff, good ^ 1, good ^ 0x80, (uint8_t)(good + 1), good ^ 6};
            for (size_t k = 0; k < sizeof values; k++) {
                image[i] = values[k];
                uint64_t count = sxt_lidia_verify(image, image_size, NULL, NULL);
                if ((count > 0) != (values[k] != good))
                    fail_msg("byte 0x%zx from %02x to %02x: %llu problems", i, good, values[k],
                             (unsigned long long)count);
            }
            image[i] = good;
        }
    }
}

TEST(no_truncation_goes_unnoticed)
{
    make_image((struct sxt_test_lidia){0});
    for (size_t size = 0; size < image_size; size++) {
        uint8_t *cut = malloc(size + !size);
        assert_non_null(cut);
        memcpy(cut, image, size);
        /* What is cut off exactly before its index is a whole file without one. */
        assert_int_equal(sxt_lidia_verify(cut, size, NULL, NULL) > 0, size != index_at);
        free(cut);
    }
}

/* Whatever is damaged, checking and asking stay inside the file; a sanitizer watches. */
TEST(random_damage_never_leads_outside)
{
    struct sxt_test_random random = {99};
    for (unsigned trial = 0; trial < 20000; trial++) {
        make_image((struct sxt_test_lidia){.field_size = trial % 2 ? 8 : 4, .strings = trial % 3 ? NULL : &strings});
        size_t first = trial % 4 ? 0x80 : 8;
        for (unsigned i = 1 + sxt_test_below(&random, 6); i > 0; i--) {
            size_t at = first + sxt_test_below(&random, (uint32_t)(image_size - first));
            image[at] = (uint8_t)(sxt_test_below(&random, 2) ? sxt_test_next(&random) : (uint64_t)1 << trial % 8);
        }
        sxt_lidia_verify(image, image_size, NULL, NULL);
        struct sxt_lidia lidia;
        if (sxt_lidia_open(&lidia, image, image_size, false, NULL) != SXT_OK)
            continue;
        for (uint64_t address = 0xff0; address < 0x1060; address += 5) {
            sxt_frame frames[8];
            size_t count = sxt_lidia_lookup(&lidia, address, frames, 8);
            for (size_t i = 0; i < count && i < 8; i++)
                assert_true(frames[i].function.data != NULL && frames[i].function.size <= image_size);
        }
    }
}

TEST(rows_that_share_a_long_line_table_are_not_checked_over_and_over)
{
    enum { ROWS = 60000, LINES = 250000 };
    struct sxt_test_row *rows = calloc(ROWS, sizeof *rows);
    uint32_t(*lines)[2] = calloc(LINES, sizeof *lines);
    assert_true(rows != NULL && lines != NULL);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (struct sxt_test_row){.address = i, .length = LINES, .line_count = LINES};
    for (uint32_t i = 0; i < LINES; i++)
        lines[i][0] = lines[i][1] = i;
    free(image);
    image = sxt_test_lidia_image(
        &(struct sxt_test_lidia){
            .rows = rows, .row_count = ROWS, .lines = (const uint32_t(*)[2])lines, .line_count = LINES, .line_size = 4},
        &image_size);
    free(rows);
    free(lines);
    double before = sxt_test_seconds();
    assert_int_equal(sxt_lidia_verify(image, image_size, NULL, NULL), 0);
    assert_true(sxt_test_seconds() - before < PATIENCE_SECONDS);
}
