/*
 * unified_diff.c: what changed between two listings, in the form that `diff -u` and Python's difflib print.
 *
 * Listings are short, so the longest common subsequence is found by its table: exact, and bounded by the product of the
 * two numbers of lines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "code/disassemble.h"

_Static_assert(SXT_CODE_LINES_MAX < UINT16_MAX, "lengths of subsequences are stored in 16 bits");

/* A listing, split into lines. */
struct side {
    sxt_string lines[SXT_CODE_LINES_MAX]; /* with their line ends */
    uint32_t keys[SXT_CODE_LINES_MAX];    /* equal for lines that count as equal */
    size_t count;
};

/* A line of the result, before it is known which are shown. */
struct step {
    char sign; /* ' ', '-' or '+' */
    uint16_t before, after;
};

struct comparison {
    struct side before, after;
    struct sxt_strings keys;
    struct step steps[2 * SXT_CODE_LINES_MAX];
    size_t step_count;
};

static int split(struct comparison *comparison, sxt_string text, struct side *side, sxt_error *error);
static int compare(struct comparison *comparison, sxt_error *error);
static void print(const struct comparison *comparison, sxt_string name, size_t context, struct sxt_buffer *out);

int sxt_code_diff(sxt_string name, sxt_string before, sxt_string after, size_t context, struct sxt_buffer *out,
                  sxt_error *error)
{
    struct comparison *comparison = calloc(1, sizeof *comparison);
    if (comparison == NULL)
        return sxt_fail_memory(error, sizeof *comparison);
    int status = sxt_strings_init(&comparison->keys, 0, error);
    if (status == SXT_OK)
        status = split(comparison, before, &comparison->before, error);
    if (status == SXT_OK)
        status = split(comparison, after, &comparison->after, error);
    if (status == SXT_OK)
        status = compare(comparison, error);
    if (status == SXT_OK) {
        print(comparison, name, context, out);
        status = sxt_buffer_status(out, error);
    }
    sxt_strings_free(&comparison->keys);
    free(comparison);
    return status;
}

/* The parts of a line that count: not the offset before it, and not the place in the function that it jumps to. */
static sxt_string key_of(sxt_string line)
{
    const char *tab = memchr(line.data, '\t', line.size);
    size_t start = tab != NULL ? (size_t)(tab - line.data) : 0, end = line.size;
    for (size_t i = start; i + 4 < line.size; i++)
        if (memcmp(line.data + i, "<+0x", 4) == 0)
            end = i;
    return (sxt_string){line.data + start, end - start};
}

static int split(struct comparison *comparison, sxt_string text, struct side *side, sxt_error *error)
{
    for (size_t at = 0; at < text.size;) {
        const char *line_end = memchr(text.data + at, '\n', text.size - at);
        size_t size = line_end != NULL ? (size_t)(line_end - text.data) + 1 - at : text.size - at;
        if (side->count == SXT_CODE_LINES_MAX)
            return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a function with more than %d lines is not compared",
                            SXT_CODE_LINES_MAX);
        sxt_string line = {text.data + at, size}, key = key_of(line);
        uint32_t number = sxt_strings_add(&comparison->keys, key.data, key.size);
        if (number == SXT_STRINGS_FULL)
            return sxt_fail_memory(error, key.size);
        side->lines[side->count] = line;
        side->keys[side->count++] = number;
        at += size;
    }
    return SXT_OK;
}

static void add_step(struct comparison *comparison, char sign, size_t before, size_t after)
{
    comparison->steps[comparison->step_count++] = (struct step){sign, (uint16_t)before, (uint16_t)after};
}

/* TABLE[i][j], in rows of WIDTH, is how many lines before's lines from i on and after's from j on have in common. */
static void fill_table(uint16_t *table, size_t width, const uint32_t *before, size_t before_count,
                       const uint32_t *after, size_t after_count)
{
    for (size_t i = before_count; i-- > 0;)
        for (size_t j = after_count; j-- > 0;) {
            uint16_t below = table[(i + 1) * width + j], right = table[i * width + j + 1];
            table[i * width + j] = before[i] == after[j] ? (uint16_t)(table[(i + 1) * width + j + 1] + 1)
                                   : below >= right      ? below
                                                         : right;
        }
}

/* Finds the steps from one side to the other. The common beginning and end are left out of the table. */
static int compare(struct comparison *comparison, sxt_error *error)
{
    const struct side *before = &comparison->before, *after = &comparison->after;
    size_t head = 0, tail = 0;
    size_t shorter = before->count < after->count ? before->count : after->count;
    while (head < shorter && before->keys[head] == after->keys[head])
        head++;
    while (tail < shorter - head && before->keys[before->count - 1 - tail] == after->keys[after->count - 1 - tail])
        tail++;
    size_t rows = before->count - head - tail, columns = after->count - head - tail, width = columns + 1;
    uint16_t *table = calloc((rows + 1) * width, sizeof *table);
    if (table == NULL)
        return sxt_fail_memory(error, (rows + 1) * width * sizeof *table);
    fill_table(table, width, before->keys + head, rows, after->keys + head, columns);
    for (size_t i = 0; i < head; i++)
        add_step(comparison, ' ', i, i);
    for (size_t i = 0, j = 0; i < rows || j < columns;) {
        if (i < rows && j < columns && before->keys[head + i] == after->keys[head + j]) {
            add_step(comparison, ' ', head + i, head + j);
            i++, j++;
        } else if (j == columns || (i < rows && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
            add_step(comparison, '-', head + i, head + j);
            i++;
        } else {
            add_step(comparison, '+', head + i, head + j);
            j++;
        }
    }
    for (size_t i = 0; i < tail; i++)
        add_step(comparison, ' ', before->count - tail + i, after->count - tail + i);
    free(table);
    return SXT_OK;
}

/* "12,3": three lines from line 12 on; a range of one line has no count, and an empty range begins one line earlier. */
static void print_range(size_t first, size_t count, struct sxt_buffer *out)
{
    if (count == 1)
        sxt_buffer_print(out, "%zu", first + 1);
    else
        sxt_buffer_print(out, "%zu,%zu", count == 0 ? first : first + 1, count);
}

static void print_hunk(const struct comparison *comparison, size_t first, size_t end, struct sxt_buffer *out)
{
    size_t before = 0, after = 0;
    const struct step *steps = comparison->steps;
    for (size_t i = first; i < end; i++) {
        before += steps[i].sign != '+';
        after += steps[i].sign != '-';
    }
    sxt_buffer_print(out, "@@ -");
    print_range(steps[first].before, before, out);
    sxt_buffer_print(out, " +");
    print_range(steps[first].after, after, out);
    sxt_buffer_print(out, " @@\n");
    for (size_t i = first; i < end; i++) {
        sxt_string line =
            steps[i].sign == '-' ? comparison->before.lines[steps[i].before] : comparison->after.lines[steps[i].after];
        sxt_buffer_u8(out, (uint8_t)steps[i].sign);
        sxt_buffer_append(out, line.data, line.size);
        if (line.data[line.size - 1] != '\n')
            sxt_buffer_u8(out, '\n');
    }
}

static void print_name(const char *sign, sxt_string name, struct sxt_buffer *out)
{
    sxt_buffer_append(out, sign, strlen(sign));
    sxt_buffer_append(out, name.data, name.size);
    sxt_buffer_u8(out, '\n');
}

/* Changes that are no more than two times CONTEXT lines apart share a hunk. */
static void print(const struct comparison *comparison, sxt_string name, size_t context, struct sxt_buffer *out)
{
    const struct step *steps = comparison->steps;
    size_t count = comparison->step_count;
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (steps[i].sign == ' ')
            continue;
        size_t last = i;
        for (size_t j = i; j < count && j - last <= 2 * context + 1; j++)
            if (steps[j].sign != ' ')
                last = j;
        if (is_first) {
            print_name("--- ", name, out);
            print_name("+++ ", name, out);
        }
        is_first = false;
        print_hunk(comparison, i < context ? 0 : i - context, count - last > context ? last + context + 1 : count, out);
        i = last;
    }
}
