/*
 * disassembly.c: what changed in the code of the functions that changed most, kept with their symbols as the
 * reference keeps it: a unified diff with ten lines of context on the later symbol, for ten functions at most.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/error.h"
#include "code/code.h"
#include "measure/listing.h"
#include "measure/measure.h"

#define FUNCTIONS_MAX  10
#define TRIES_MAX      100 /* some functions give nothing; looking at all of them would take too long */
#define CHANGE_MIN     10  /* bytes */
#define CONTEXT        10  /* lines */
#define TEXT_MAX_BYTES ((size_t)64 << 20)

struct candidate {
    double change; /* its amount */
    const struct sxt_size_pair *pair;
    sxt_string name, object;
};

struct disassembling {
    const struct sxt_size_delta *delta;
    struct sxt_listing before, after;
    struct candidate *candidates; /* the largest first */
    size_t candidate_count;
    bool *has_group; /* by group of AFTER: is one of the candidates in it? */
    struct sxt_buffer before_text, after_text, text;
    struct sxt_size_disassembly made[FUNCTIONS_MAX];
    size_t made_count;
};

static int choose(struct disassembling *work, sxt_error *error);
static int disassemble_all(struct disassembling *work, struct sxt_arena *arena, const char **failed, sxt_error *error);
static int store(struct disassembling *work, struct sxt_size_info *after, sxt_error *error);

int sxt_size_disassemble(const struct sxt_size_delta *delta, struct sxt_size_info *after,
                         const struct sxt_size_disassembling *options, const char **failed, sxt_error *error)
{
    struct disassembling work = {.delta = delta};
    sxt_buffer_init(&work.before_text, TEXT_MAX_BYTES);
    sxt_buffer_init(&work.after_text, TEXT_MAX_BYTES);
    sxt_buffer_init(&work.text, TEXT_MAX_BYTES);
    *failed = options->before_binary;
    int status = sxt_listing_open(&work.before, options->before_binary, delta->before, options->objdump, error);
    if (status == SXT_OK) {
        *failed = options->after_binary;
        status = sxt_listing_open(&work.after, options->after_binary, delta->after, options->objdump, error);
    }
    if (status == SXT_OK)
        status = choose(&work, error);
    if (status == SXT_OK)
        status = disassemble_all(&work, &after->arena, failed, error);
    if (status == SXT_OK)
        status = store(&work, after, error);
    sxt_listing_close(&work.before);
    sxt_listing_close(&work.after);
    free(work.candidates);
    free(work.has_group);
    sxt_buffer_free(&work.before_text);
    sxt_buffer_free(&work.after_text);
    sxt_buffer_free(&work.text);
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

/* Bytes that no symbol owns ("** .text (unattributed)") are no function. */
static bool is_candidate(const struct disassembling *work, const struct sxt_size_pair *pair)
{
    if (pair->after == SXT_SIZE_NONE || pair->status == SXT_SIZE_UNCHANGED)
        return false;
    const struct sxt_size_info *after = work->delta->after;
    const struct sxt_size_model_symbol *symbol = &after->symbols[pair->after];
    const struct sxt_size_segment *segment = &after->segments[symbol->segment];
    sxt_string name = sxt_size_full_name(symbol);
    if (name.size > 1 && memcmp(name.data, "**", 2) == 0)
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

/* The listing of one side; empty where there is nothing to be listed. */
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

/* Is the earlier symbol in the binary that was given? */
static const struct sxt_size_model_symbol *before_of(const struct disassembling *work, const struct sxt_size_pair *pair)
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

static int disassemble(struct disassembling *work, const struct candidate *candidate, struct sxt_arena *arena,
                       const char **failed, sxt_error *error)
{
    const struct sxt_size_pair *pair = candidate->pair;
    *failed = work->after.path;
    int status = list(&work->after, &work->delta->after->symbols[pair->after], &work->after_text, error);
    if (status != SXT_OK || work->after_text.size == 0)
        return status;
    *failed = work->before.path;
    status = list(&work->before, before_of(work, pair), &work->before_text, error);
    sxt_buffer_clear(&work->text);
    if (status == SXT_OK)
        status = sxt_code_diff(candidate->name, text_of(&work->before_text), text_of(&work->after_text), CONTEXT,
                               &work->text, error);
    if (status == SXT_ERROR_LIMIT)
        return SXT_OK;
    if (status != SXT_OK || work->text.size == 0)
        return status;
    char *copy = sxt_arena_copy(arena, work->text.data, work->text.size);
    if (copy == NULL)
        return sxt_fail_memory(error, work->text.size);
    work->made[work->made_count++] = (struct sxt_size_disassembly){pair->after, {copy, work->text.size}};
    return SXT_OK;
}

/* Aliases are one function, which is shown once. */
static int disassemble_all(struct disassembling *work, struct sxt_arena *arena, const char **failed, sxt_error *error)
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
        status = disassemble(work, &work->candidates[i], arena, failed, error);
    }
    return status;
}

static int by_symbol(const void *left, const void *right)
{
    const struct sxt_size_disassembly *a = left, *b = right;
    return (a->symbol > b->symbol) - (a->symbol < b->symbol);
}

/* What was there stays, but where there is something new. */
static int store(struct disassembling *work, struct sxt_size_info *after, sxt_error *error)
{
    size_t room = after->disassembly_count + work->made_count, count = 0;
    struct sxt_size_disassembly *all = sxt_arena_calloc(&after->arena, room, sizeof *all);
    if (all == NULL)
        return sxt_fail_memory(error, room * sizeof *all);
    for (size_t i = 0; i < work->made_count; i++)
        all[count++] = work->made[i];
    for (size_t i = 0; i < after->disassembly_count; i++) {
        bool is_new = false;
        for (size_t j = 0; j < work->made_count; j++)
            is_new |= work->made[j].symbol == after->disassemblies[i].symbol;
        if (!is_new)
            all[count++] = after->disassemblies[i];
    }
    qsort(all, count, sizeof *all, by_symbol);
    after->disassemblies = all;
    after->disassembly_count = count;
    after->has_disassembly = true;
    return SXT_OK;
}
