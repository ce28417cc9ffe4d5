/*
 * symbol_addresses.c: answers questions about addresses, as `lookup --explain --json` does. A question is an address,
 * or
 *
 *     +0x1136          counted from where the file is loaded, as backtraces print it
 *     main+0x12        counted from a symbol; "/0x90" after it, as the kernel prints it, is ignored
 *     main             the beginning of a symbol
 *
 * Digits are hexadecimal, with or without "0x".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/search.h"
#include "base/string.h"
#include "view/symbols.h"

/* The most questions of a request, and the most symbols of one name that are answered. */
#define QUESTIONS_MAX 200
#define PLACES_MAX    16

/* The most bytes of names in an answer. */
#define CHAIN_MAX ((size_t)8 << 20)

/* How many functions before an address are looked at: one may lie inside another. */
#define FUNCTIONS_BACK 64

/* Where a question leads to. */
struct places {
    uint64_t addresses[PLACES_MAX];
    uint64_t offset;
    size_t count; /* all that there are */
    char problem[256];
};

static sxt_string trim(sxt_string text)
{
    while (text.size > 0 && (unsigned char)text.data[0] <= ' ')
        text = (sxt_string){text.data + 1, text.size - 1};
    while (text.size > 0 && (unsigned char)text.data[text.size - 1] <= ' ')
        text.size--;
    return text;
}

/* The lowest address that the file loads something at. */
static uint64_t image_base(const sxt_archive *archive)
{
    uint64_t base = UINT64_MAX;
    sxt_segment segment;
    for (size_t i = 0; sxt_archive_segment(archive, i, &segment) == SXT_OK; i++)
        base = segment.address < base ? segment.address : base;
    return base != UINT64_MAX ? base : 0;
}

static bool add_place(void *data, const sxt_named *named)
{
    struct places *places = data;
    if (places->count < PLACES_MAX)
        places->addresses[places->count] = named->address + places->offset;
    places->count++;
    return true;
}

/* Divides "name+0x12/0x90" after the last plus sign; false if there is no offset. */
static bool divide(sxt_string text, sxt_string *name, uint64_t *offset)
{
    const char *plus = memrchr(text.data, '+', text.size);
    if (plus == NULL)
        return false;
    sxt_string digits = {plus + 1, text.size - (size_t)(plus + 1 - text.data)};
    const char *slash = memchr(digits.data, '/', digits.size);
    uint64_t ignored;
    if (slash != NULL) {
        sxt_string size = {slash + 1, digits.size - (size_t)(slash + 1 - digits.data)};
        digits.size = (size_t)(slash - digits.data);
        if (!sxt_hex_parse_address(trim(size), &ignored))
            return false;
    }
    *name = trim((sxt_string){text.data, (size_t)(plus - text.data)});
    return sxt_hex_parse_address(trim(digits), offset);
}

static int find_name(const struct sxt_view_symbols_state *state, sxt_string name, struct places *places,
                     sxt_error *error)
{
    char *terminated = strndup(name.data, name.size);
    if (terminated == NULL)
        return sxt_fail_memory(error, name.size);
    int status = sxt_archive_find_name(state->archive, terminated, add_place, places, NULL, error);
    if (status == SXT_OK && places->count == 0)
        snprintf(places->problem, sizeof places->problem, "no symbol named '%.*s'",
                 name.size < 160 ? (int)name.size : 160, name.data);
    free(terminated);
    return status;
}

/* Finds the addresses that a question means. */
static int resolve(const struct sxt_view_symbols_state *state, sxt_string text, struct places *places, sxt_error *error)
{
    sxt_string name = text;
    *places = (struct places){0};
    if (sxt_hex_parse_address(text, &places->addresses[0])) {
        places->count = 1;
        return SXT_OK;
    }
    bool has_offset = divide(text, &name, &places->offset);
    if (has_offset && name.size == 0) {
        places->addresses[0] = image_base(state->archive) + places->offset;
        places->count = 1;
        return SXT_OK;
    }
    int status = find_name(state, has_offset ? name : text, places, error);
    /* The name of an operator may have a plus sign. */
    if (status == SXT_OK && places->count == 0 && has_offset) {
        places->offset = 0;
        status = find_name(state, text, places, error);
    }
    return status;
}

size_t sxt_view_lookup(struct sxt_view_symbols_state *state, uint64_t address)
{
    for (;;) {
        size_t count = sxt_archive_lookup(state->archive, address, state->frames, state->frame_capacity);
        if (count <= state->frame_capacity)
            return count;
        sxt_frame *moved = realloc(state->frames, count * sizeof *moved);
        if (moved == NULL)
            return state->frame_capacity;
        state->frames = moved;
        state->frame_capacity = count;
    }
}

/* Rows can share names, so that a chain of a small file may have gigabytes of them. */
static bool is_too_long(const struct sxt_answer *answer)
{
    size_t size = 0;
    for (size_t i = 0; i < answer->count; i++)
        size += answer->frames[i].function.size + answer->frames[i].file.size;
    return size > CHAIN_MAX;
}

/* Prints the record of lookup. */
static int print_record(const struct sxt_answer *answer, char **text, size_t *size, sxt_error *error)
{
    FILE *stream = open_memstream(text, size);
    if (stream == NULL)
        return sxt_fail_memory(error, BUFSIZ);
    struct sxt_emit emit;
    sxt_emit_init(&emit, stream, true);
    sxt_answer_print(&emit, answer);
    int status = sxt_emit_finish(&emit, error);
    if (fclose(stream) != 0 && status == SXT_OK)
        status = sxt_fail_memory(error, *size);
    while (status == SXT_OK && *size > 0 && (*text)[*size - 1] == '\n')
        *size -= 1;
    return status;
}

/* The number of the function that has ADDRESS, if possible one that is called NAME; the count if there is none. */
static size_t function_at(const struct sxt_view_functions *functions, uint64_t address, sxt_string name)
{
    size_t above = SXT_SEARCH_ABOVE(functions->items, functions->count, address, address);
    size_t found = functions->count;
    for (size_t i = above; i > 0 && above - i < FUNCTIONS_BACK; i--) {
        const struct sxt_view_function *item = &functions->items[i - 1];
        if (address - item->address >= item->size)
            continue;
        if (sxt_string_equal(sxt_view_function_stored(functions, i - 1), name))
            return i - 1;
        found = found == functions->count ? i - 1 : found;
    }
    return found;
}

/* Writes an answer. ADDRESS is NULL for a text that is not an address, and PROBLEM for one without a problem. */
static int write_answer(struct sxt_view_symbols_state *state, sxt_string text, const uint64_t *address,
                        const char *problem, bool with_explanation, struct sxt_json_writer *json, sxt_error *error)
{
    struct sxt_answer answer = {.text = text, .is_address = address != NULL, .archive = state->archive};
    if (address != NULL) {
        answer.asked = answer.address = *address;
        answer.is_placed = true;
        answer.count = sxt_view_lookup(state, *address);
        answer.frames = state->frames;
    }
    if (is_too_long(&answer)) {
        answer.count = 0;
        problem = "the names of this answer are too long to show them";
    }
    for (size_t i = 0; i < answer.count; i++)
        sxt_archive_whole_range(state->archive, &answer.frames[i]);
    if (sxt_archive_kind(state->archive) == SXT_KIND_KSYM)
        answer.blob = state->archive;
    if (with_explanation && state->explain != NULL)
        answer.explanation = sxt_answer_explain(state->explain, state->path, &answer);
    if (answer.explanation != NULL && answer.explanation->failed_file != NULL)
        problem = answer.explanation->failure;
    size_t function = state->functions.count;
    if (answer.count > 0)
        function = function_at(&state->functions, *address, answer.frames[answer.count - 1].function);
    char *record = NULL;
    size_t size = 0;
    int status = print_record(&answer, &record, &size, error);
    if (status == SXT_OK) {
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "question", text);
        if (problem != NULL)
            sxt_json_write_string(json, "problem", sxt_string_of(problem));
        else
            sxt_json_write_null(json, "problem");
        if (function < state->functions.count)
            sxt_json_write_number(json, "function", function);
        else
            sxt_json_write_null(json, "function");
        sxt_json_write_text(json, "answer", (sxt_string){record, size});
        sxt_json_write_end(json, '}');
    }
    free(record);
    return status;
}

static int answer_question(struct sxt_view_symbols_state *state, sxt_string text, bool with_explanation,
                           struct sxt_json_writer *json, sxt_error *error)
{
    struct places places;
    int status = resolve(state, text, &places, error);
    if (status == SXT_OK && places.count == 0)
        return write_answer(state, text, NULL, places.problem, with_explanation, json, error);
    if (places.count > PLACES_MAX)
        snprintf(places.problem, sizeof places.problem, "%zu symbols have this name, of which %d are shown",
                 places.count, PLACES_MAX);
    for (size_t i = 0; status == SXT_OK && i < places.count && i < PLACES_MAX; i++)
        status = write_answer(state, text, &places.addresses[i], places.problem[0] != 0 ? places.problem : NULL,
                              with_explanation, json, error);
    return status;
}

int sxt_view_write_addresses(struct sxt_view_symbols_state *state, const char *text, bool with_explanation,
                             struct sxt_json_writer *json, sxt_error *error)
{
    size_t questions = 0;
    int status = SXT_OK;
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_begin(json, "answers", '[');
    for (const char *at = text; status == SXT_OK && *at != 0;) {
        size_t size = strcspn(at, "\n");
        sxt_string question = trim((sxt_string){at, size});
        at += size + (at[size] == '\n');
        if (question.size == 0)
            continue;
        if (++questions > QUESTIONS_MAX)
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a request has at most %d addresses", QUESTIONS_MAX);
        status = answer_question(state, question, with_explanation, json, error);
    }
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    return status;
}
