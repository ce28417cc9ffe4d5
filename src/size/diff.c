/*
 * diff.c: the public view of a diff. It is made from two builds, which it borrows, or from a .sizediff file, which it
 * owns. diff_keys.c, diff_match.c and diff_pairs.c do the matching.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "size/private.h"
#include "size/query.h"

void sxt_size_diff_options_init(sxt_size_diff_options *options)
{
    *options = (sxt_size_diff_options){.struct_size = sizeof *options};
}

int sxt_size_diff_make(const sxt_size_info *before, const sxt_size_info *after, const sxt_size_diff_options *given,
                       sxt_size_diff **out, sxt_error *error)
{
    sxt_size_diff_options options;
    *out = NULL;
    sxt_size_diff_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_size_diff_options_init", error);
    if (status != SXT_OK)
        return status;
    sxt_size_diff *diff = calloc(1, sizeof *diff);
    if (diff == NULL)
        return sxt_fail_memory(error, sizeof *diff);
    status = sxt_size_delta_make(before, after, options.ignore_alias_only, options.threads, &diff->delta, error);
    if (status != SXT_OK)
        sxt_size_diff_free(&diff);
    *out = diff;
    return status;
}

int sxt_size_diff_from_stored(struct sxt_sizediff *stored, sxt_size_diff **out, sxt_error *error)
{
    int status = sxt_size_diff_make(stored->before, stored->after, NULL, out, error);
    if (status == SXT_OK)
        (*out)->stored = *stored;
    else
        sxt_sizediff_free(stored);
    return status;
}

void sxt_size_diff_free(sxt_size_diff **diff)
{
    if (*diff == NULL)
        return;
    sxt_size_delta_free(&(*diff)->delta);
    sxt_sizediff_free(&(*diff)->stored);
    free(*diff);
    *diff = NULL;
}

const sxt_size_info *sxt_size_diff_before(const sxt_size_diff *diff)
{
    return diff->delta.before;
}

const sxt_size_info *sxt_size_diff_after(const sxt_size_diff *diff)
{
    return diff->delta.after;
}

/* --- symbols --- */

size_t sxt_size_diff_symbol_count(const sxt_size_diff *diff)
{
    return diff->delta.pair_count + diff->delta.padding_count;
}

/* The symbol that a pair is shown as, with the sizes of both. */
static void view_pair(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair, sxt_size_symbol *out)
{
    if (pair->after != SXT_SIZE_NONE)
        sxt_size_view_symbol(delta->after, pair->after, out);
    else
        sxt_size_view_symbol(delta->before, pair->before, out);
    out->size_before = pair->before != SXT_SIZE_NONE ? delta->before->symbols[pair->before].size : 0;
    out->size_after = pair->after != SXT_SIZE_NONE ? delta->after->symbols[pair->after].size : 0;
}

int sxt_size_diff_disassembly(const sxt_size_diff *diff, size_t index, sxt_string *text)
{
    const struct sxt_size_delta *delta = &diff->delta;
    *text = (sxt_string){NULL, 0};
    if (index >= delta->pair_count || delta->pairs[index].after == SXT_SIZE_NONE)
        return SXT_ERROR_USAGE;
    return sxt_size_info_disassembly(delta->after, delta->pairs[index].after, text);
}

int sxt_size_diff_symbol(const sxt_size_diff *diff, size_t index, sxt_size_symbol *out)
{
    if (index >= sxt_size_diff_symbol_count(diff))
        return SXT_ERROR_USAGE;
    const struct sxt_size_query_subject subject = {.delta = &diff->delta};
    struct sxt_size_query_item item;
    sxt_size_query_get_item(&subject, index, &item);
    sxt_string nothing = {"", 0};
    sxt_size_symbol symbol = {.object_path = nothing, .source_path = nothing, .component = nothing};
    if (item.symbol != NULL)
        view_pair(&diff->delta, &diff->delta.pairs[index], &symbol);
    else
        symbol.size_after = item.size;
    symbol.container = item.container;
    symbol.section = item.section;
    symbol.full_name = item.full_name;
    symbol.size = item.size;
    symbol.padding = item.padding;
    symbol.pss = item.pss;
    symbol.aliases = item.aliases;
    symbol.status = (sxt_size_status)item.status;
    symbol.is_bss = item.is_bss;
    sxt_result_give(out, &symbol, sizeof symbol);
    return SXT_OK;
}

uint64_t sxt_size_diff_status_count(const sxt_size_diff *diff, sxt_size_status status)
{
    if ((unsigned)status > SXT_SIZE_REMOVED)
        return 0;
    return diff->delta.counts[status] + (status == SXT_SIZE_ADDED ? diff->delta.padding_count : 0);
}

/* --- disassembly --- */

void sxt_size_disassembly_free(sxt_size_disassembly **disassembly)
{
    if (*disassembly == NULL)
        return;
    sxt_arena_free(&(*disassembly)->arena);
    free(*disassembly);
    *disassembly = NULL;
}

size_t sxt_size_disassembly_count(const sxt_size_disassembly *disassembly)
{
    return disassembly->count;
}

int sxt_size_disassembly_get(const sxt_size_disassembly *disassembly, size_t index, sxt_size_symbol *symbol,
                             sxt_string *text)
{
    if (index >= disassembly->count)
        return SXT_ERROR_USAGE;
    *text = disassembly->items[index].text;
    return sxt_size_info_symbol(disassembly->after, disassembly->items[index].symbol, symbol);
}

/* --- writing --- */

/* A file that was loaded is written as it was read, unless something is added to it. */
static int write_diff(const sxt_size_diff *diff, const sxt_size_write_options *given, struct sxt_buffer *out,
                      sxt_error *error)
{
    sxt_size_write_options options;
    int status = sxt_size_write_options_take(given, &options, error);
    if (status == SXT_OK && options.disassembly != NULL && options.disassembly->after != diff->delta.after)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the disassembly belongs to another diff");
    if (status != SXT_OK)
        return status;
    enum sxt_size_deflate deflate = options.fast ? SXT_SIZE_DEFLATE_FAST : SXT_SIZE_DEFLATE_STOCK;
    if (diff->stored.after != NULL && options.disassembly == NULL)
        return sxt_sizediff_save(&diff->stored, deflate, out, error);
    struct sxt_sizediff made;
    status = sxt_size_make_sizediff(&diff->delta, options.disassembly, &made, error);
    if (status == SXT_OK)
        status = sxt_sizediff_save(&made, deflate, out, error);
    sxt_sizediff_free(&made);
    return status;
}

int sxt_size_diff_write_memory(const sxt_size_diff *diff, const sxt_size_write_options *options, void **data,
                               size_t *size, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    return sxt_size_give_memory(&buffer, write_diff(diff, options, &buffer, error), data, size);
}

int sxt_size_diff_write(const sxt_size_diff *diff, const char *path, const sxt_size_write_options *options,
                        uint64_t *bytes, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    return sxt_size_give_file(&buffer, write_diff(diff, options, &buffer, error), path, bytes, error);
}
