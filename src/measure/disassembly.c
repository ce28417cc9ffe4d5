/*
 * disassembly.c: what changed in the code of the functions that changed most. As in the reference, it is a unified diff
 * with ten lines of context for the later symbol, of at most ten functions.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "code/code.h"
#include "measure/listing.h"

#define FUNCTIONS_MAX  10
#define TRIES_MAX      100 /* some functions give nothing; looking at all of them would take too long */
#define CHANGE_MIN     10  /* bytes */
#define CONTEXT        10  /* lines */
#define TEXT_MAX_BYTES ((size_t)64 << 20)

struct candidate {
    double change; /* its absolute value */
    const struct sxt_size_pair *pair;
    sxt_string name, object;
};

struct disassembling {
    const struct sxt_size_delta *delta;
    struct sxt_listing before, after;
    struct candidate *candidates; /* the largest first */
    size_t candidate_count;
    bool *has_group; /* by group of AFTER: whether one of the candidates is in it */
    struct sxt_buffer before_text, after_text, text;
    struct sxt_size_model_disassembly made[FUNCTIONS_MAX];
    size_t made_count;
    struct sxt_arena *arena; /* of the texts that are made */
};

static int disassemble_changes(struct disassembling *work, const char *before_binary, const char *after_binary,
                               const char **failed, sxt_error *error);
static int choose(struct disassembling *work, sxt_error *error);
static int disassemble_all(struct disassembling *work, const char **failed, sxt_error *error);
static int list_all(const struct disassembling *work, sxt_size_disassembly *out, sxt_error *error);

int sxt_size_diff_disassemble(const sxt_size_diff *diff, const char *before_binary, const char *after_binary,
                              sxt_size_disassembly **out, const char **failed, sxt_error *error)
{
    struct disassembling work = {.delta = &diff->delta};
    const char *nowhere;
    failed = failed != NULL ? failed : &nowhere;
    *failed = before_binary != NULL ? before_binary : after_binary;
    *out = NULL;
    if ((before_binary == NULL) != (after_binary == NULL))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "both binaries are needed to compare their code");
    sxt_size_disassembly *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sxt_fail_memory(error, sizeof *made);
    sxt_arena_init(&made->arena, 0, sxt_arena_separate_default);
    made->after = diff->delta.after;
    work.arena = &made->arena;
    int status =
        before_binary != NULL ? disassemble_changes(&work, before_binary, after_binary, failed, error) : SXT_OK;
    if (status == SXT_OK)
        status = list_all(&work, made, error);
    if (status != SXT_OK)
        sxt_size_disassembly_free(&made);
    *out = made;
    return status;
}

static int disassemble_changes(struct disassembling *work, const char *before_binary, const char *after_binary,
                               const char **failed, sxt_error *error)
{
    sxt_buffer_init(&work->before_text, TEXT_MAX_BYTES);
    sxt_buffer_init(&work->after_text, TEXT_MAX_BYTES);
    sxt_buffer_init(&work->text, TEXT_MAX_BYTES);
    int status = sxt_listing_open(&work->before, before_binary, work->delta->before, error);
    if (status == SXT_OK) {
        *failed = after_binary;
        status = sxt_listing_open(&work->after, after_binary, work->delta->after, error);
    }
    if (status == SXT_OK)
        status = choose(work, error);
    if (status == SXT_OK)
        status = disassemble_all(work, failed, error);
    sxt_listing_close(&work->before);
    sxt_listing_close(&work->after);
    free(work->candidates);
    free(work->has_group);
    sxt_buffer_free(&work->before_text);
    sxt_buffer_free(&work->after_text);
    sxt_buffer_free(&work->text);
    return status;
}

/* --- which --- */

/* The change of proportional size, padding left out. */
static double change_of(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair)
{
    const struct sxt_size_model_symbol *after = &delta->after->symbols[pair->after];
    if (pair->before != SXT_SIZE_NONE)
        return sxt_size_pair_pss(delta, pair);
    return ((double)after->size - (double)after->padding) / sxt_size_alias_count(delta->after, after);
}

/* Bytes that no symbol owns ("** .text (unattributed)") are not a function. */
static bool is_candidate(const struct disassembling *work, const struct sxt_size_pair *pair)
{
    if (pair->after == SXT_SIZE_NONE || pair->status == SXT_SIZE_UNCHANGED)
        return false;
    const struct sxt_size_info *after = work->delta->after;
    const struct sxt_size_model_symbol *symbol = &after->symbols[pair->after];
    const struct sxt_size_segment *segment = &after->segments[symbol->segment];
    sxt_string name = sxt_size_full_name(symbol);
    if (sxt_string_begins(name, "**"))
        return false;
    return segment->letter == 't' && segment->container == work->after.container && symbol->address != 0 &&
           fabs(change_of(work->delta, pair)) >= CHANGE_MIN;
}

static int compare_texts(sxt_string a, sxt_string b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_change(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->change != b->change)
        return a->change > b->change ? -1 : 1;
    int order = compare_texts(a->name, b->name);
    if (order == 0)
        order = compare_texts(a->object, b->object);
    return order != 0 ? order : (a->pair > b->pair) - (a->pair < b->pair);
}

static int choose(struct disassembling *work, sxt_error *error)
{
    const struct sxt_size_delta *delta = work->delta;
    const struct sxt_size_info *after = delta->after;
    size_t count = 0;
    for (size_t i = 0; i < delta->pair_count; i++)
        count += is_candidate(work, &delta->pairs[i]);
    work->candidates = malloc((count + 1) * sizeof *work->candidates);
    work->has_group = calloc(after->group_count + 1, sizeof *work->has_group);
    if (work->candidates == NULL || work->has_group == NULL)
        return sxt_fail_memory(error, (count + 1) * sizeof *work->candidates);
    for (size_t i = 0; i < delta->pair_count; i++) {
        const struct sxt_size_pair *pair = &delta->pairs[i];
        if (!is_candidate(work, pair))
            continue;
        const struct sxt_size_model_symbol *symbol = &after->symbols[pair->after];
        work->candidates[work->candidate_count++] = (struct candidate){
            fabs(change_of(delta, pair)), pair, sxt_size_full_name(symbol), after->paths[symbol->path].object};
    }
    qsort(work->candidates, work->candidate_count, sizeof *work->candidates, by_change);
    return SXT_OK;
}

/* --- the text --- */

/* The listing of one side; empty when the symbol has no bytes. */
static int list(struct sxt_listing *listing, const struct sxt_size_model_symbol *symbol, struct sxt_buffer *out,
                sxt_error *error)
{
    sxt_buffer_clear(out);
    int status = symbol != NULL ? sxt_listing_make(listing, symbol, out, error) : SXT_OK;
    if (status != SXT_ERROR_NOT_FOUND)
        return status;
    sxt_buffer_clear(out);
    return SXT_OK;
}

/* The earlier symbol, if it is in the binary that was given; otherwise NULL. */
static const struct sxt_size_model_symbol *find_before(const struct disassembling *work,
                                                       const struct sxt_size_pair *pair)
{
    if (pair->before == SXT_SIZE_NONE)
        return NULL;
    const struct sxt_size_info *before = work->delta->before;
    const struct sxt_size_model_symbol *symbol = &before->symbols[pair->before];
    return before->segments[symbol->segment].container == work->before.container ? symbol : NULL;
}

static sxt_string text_of(const struct sxt_buffer *buffer)
{
    return (sxt_string){buffer->size > 0 ? (const char *)buffer->data : "", buffer->size};
}

static int disassemble(struct disassembling *work, const struct candidate *candidate, const char **failed,
                       sxt_error *error)
{
    const struct sxt_size_pair *pair = candidate->pair;
    *failed = work->after.path;
    int status = list(&work->after, &work->delta->after->symbols[pair->after], &work->after_text, error);
    if (status != SXT_OK || work->after_text.size == 0)
        return status;
    *failed = work->before.path;
    status = list(&work->before, find_before(work, pair), &work->before_text, error);
    sxt_buffer_clear(&work->text);
    if (status == SXT_OK)
        status = sxt_code_diff(candidate->name, text_of(&work->before_text), text_of(&work->after_text), CONTEXT,
                               &work->text, error);
    if (status == SXT_ERROR_LIMIT)
        return SXT_OK;
    if (status != SXT_OK || work->text.size == 0)
        return status;
    char *copy = sxt_arena_copy(work->arena, work->text.data, work->text.size);
    if (copy == NULL)
        return sxt_fail_memory(error, work->text.size);
    work->made[work->made_count++] = (struct sxt_size_model_disassembly){pair->after, {copy, work->text.size}};
    return SXT_OK;
}

/* Aliases are one function, which is shown once. */
static int disassemble_all(struct disassembling *work, const char **failed, sxt_error *error)
{
    int status = SXT_OK;
    size_t tries = 0;
    for (size_t i = 0; i < work->candidate_count && status == SXT_OK; i++) {
        uint32_t group = work->delta->after->symbols[work->candidates[i].pair->after].group;
        if (group != 0 && work->has_group[group - 1])
            continue;
        if (group != 0)
            work->has_group[group - 1] = true;
        if (work->made_count == FUNCTIONS_MAX || tries++ == TRIES_MAX)
            break;
        status = disassemble(work, &work->candidates[i], failed, error);
    }
    return status;
}

static int by_symbol(const void *left, const void *right)
{
    const struct sxt_size_model_disassembly *a = left, *b = right;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* Lists what was made, and what is stored for other symbols. */
static int list_all(const struct disassembling *work, sxt_size_disassembly *out, sxt_error *error)
{
    const struct sxt_size_info *after = out->after;
    size_t room = after->disassembly_count + work->made_count;
    out->items = sxt_arena_calloc(&out->arena, room + 1, sizeof *out->items);
    if (out->items == NULL)
        return sxt_fail_memory(error, room * sizeof *out->items);
    for (size_t i = 0; i < work->made_count; i++)
        out->items[out->count++] = work->made[i];
    for (size_t i = 0; i < after->disassembly_count; i++) {
        bool is_new = false;
        for (size_t j = 0; j < work->made_count; j++)
            is_new |= work->made[j].symbol == after->disassemblies[i].symbol;
        if (!is_new)
            out->items[out->count++] = after->disassemblies[i];
    }
    qsort(out->items, out->count, sizeof *out->items, by_symbol);
    return SXT_OK;
}
