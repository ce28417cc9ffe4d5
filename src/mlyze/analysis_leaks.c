/*
 * analysis_leaks.c: leaks are the blocks that are live at the end, unless they are too young or were there before the
 * window; known ones are suppressed by patterns for functions and files. analysis_table.c makes a table of them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "mlyze/analysis_private.h"
#include "mlyze/frame_kind.h"
#include "mlyze/frame_names.h"

#define PATTERNS_MOST 100000

struct patterns {
    sxt_string *items;
    size_t count, capacity;
};

void sxt_heap_find_leaks(struct heap_pass *pass)
{
    sxt_heap_usage *usage = pass->usage;
    bool is_window = usage->options.from.kind != SXT_HEAP_MOMENT_NONE;
    for (size_t at = SXT_LIVE_NOWHERE; (at = sxt_live_next(&pass->live, at)) != SXT_LIVE_NOWHERE;) {
        const struct sxt_live_block *block = sxt_live_at(&pass->live, at);
        if (usage->end - block->time < usage->options.min_age || (is_window && block->is_old))
            continue;
        bool is_kept = !sxt_heap_record(&usage->sites, block->site)->is_left_out;
        uint32_t weight = sxt_live_weight(&pass->live, at);
        sxt_heap_sums *all[] = {
            &usage->whole, is_kept ? &usage->total : NULL,
            usage->threads == NULL || !is_kept ? NULL : &usage->threads[block->thread],
            usage->sizes == NULL || !is_kept ? NULL : &usage->sizes[sxt_heap_power_of_block(usage, block)]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (all[i] == NULL)
                continue;
            all[i]->leaked_bytes += block->size;
            all[i]->leaked_count += weight;
        }
        sxt_heap_sites_add_pair(&usage->sites, block->site, SXT_HEAP_LEAKED, block->size, weight);
        if (usage->bins != NULL && is_kept) {
            struct sxt_heap_bin_block leaked = sxt_heap_bin_block(usage, block, weight);
            sxt_heap_bins_leak(usage->bins, &leaked, block->time);
        }
    }
}

/*
 * Whether PATTERN, in which "*" matches anything, matches all of TEXT. Backtracks to the last star only, so it takes at
 * most the product of both sizes.
 */
static bool matches_all(sxt_string pattern, sxt_string text)
{
    size_t at = 0, in = 0, star = SIZE_MAX, resume = 0;
    while (in < text.size) {
        if (at < pattern.size && pattern.data[at] == '*') {
            star = at++;
            resume = in;
        } else if (at < pattern.size && pattern.data[at] == text.data[in]) {
            at++;
            in++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            in = ++resume;
        } else {
            return false;
        }
    }
    while (at < pattern.size && pattern.data[at] == '*')
        at++;
    return at == pattern.size;
}

static bool matches(const struct patterns *patterns, sxt_string text)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (matches_all(patterns->items[i], text))
            return true;
    return false;
}

/* Many frames have the same names, so the result for each name is kept: 1 if it matches, 2 if it does not. */
struct verdicts {
    uint8_t *functions, *files;
};

/* PLACE is that of the name in its table, or SIZE_MAX. */
static bool judge(uint8_t *verdicts, size_t place, sxt_string name, const struct patterns *patterns)
{
    if (place == SIZE_MAX)
        return matches(patterns, name);
    if (verdicts[place] == 0)
        verdicts[place] = matches(patterns, name) ? 1 : 2;
    return verdicts[place] == 1;
}

static bool is_suppressed(const sxt_heap_usage *usage, const struct sxt_mlyze_stack *stack,
                          const struct verdicts *verdicts, const struct patterns *patterns)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    for (uint32_t node = stack->node; node != SXT_MLYZE_NO_NODE; node = sxt_mlyze_node_at(metadata, node)->parent) {
        const struct sxt_mlyze_frame *frame = sxt_mlyze_node_frame(metadata, node);
        char room[24];
        if (judge(verdicts->functions,
                  sxt_mlyze_place(metadata->function_ids, metadata->function_count, frame->function),
                  sxt_mlyze_function(metadata, frame->function, room), patterns) ||
            judge(verdicts->files, sxt_mlyze_place(metadata->file_ids, metadata->file_count, frame->file),
                  sxt_mlyze_file(metadata, frame->file, room), patterns))
            return true;
    }
    return false;
}

/* "^f" is "f*", "f$" is "*f", and "f" is "*f*"; "$" alone is the empty name, as for LeakSanitizer. */
static bool add_pattern(struct patterns *patterns, struct sxt_arena *arena, sxt_string text)
{
    bool at_start = text.size > 0 && text.data[0] == '^';
    text.data += at_start;
    text.size -= at_start;
    bool at_end = text.size > 0 && text.data[text.size - 1] == '$';
    text.size -= at_end;
    char *made = sxt_arena_alloc(arena, text.size + 2);
    sxt_string *moved = sxt_array_grow(patterns->items, &patterns->capacity, patterns->count + 1, sizeof *moved);
    if (moved != NULL)
        patterns->items = moved;
    if (moved == NULL || made == NULL)
        return false;
    size_t size = 0;
    if (!at_start && !(at_end && text.size == 0))
        made[size++] = '*';
    memcpy(made + size, text.data, text.size);
    size += text.size;
    if (!at_end)
        made[size++] = '*';
    patterns->items[patterns->count++] = (sxt_string){made, size};
    return true;
}

static sxt_string trim(sxt_string line)
{
    while (line.size > 0 && strchr(" \t\r", line.data[line.size - 1]) != NULL)
        line.size--;
    while (line.size > 0 && (line.data[0] == ' ' || line.data[0] == '\t')) {
        line.data++;
        line.size--;
    }
    return line;
}

static int read_patterns(struct patterns *patterns, struct sxt_arena *arena, sxt_string text, sxt_error *error)
{
    size_t number = 0;
    for (size_t start = 0; start < text.size; number++) {
        const char *newline = memchr(text.data + start, '\n', text.size - start);
        size_t end = newline != NULL ? (size_t)(newline - text.data) : text.size;
        sxt_string line = trim((sxt_string){text.data + start, end - start});
        start = end + 1;
        if (line.size == 0 || line.data[0] == '#')
            continue;
        if (line.size <= 5 || !sxt_string_begins(line, "leak:") || patterns->count >= PATTERNS_MOST)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "line %zu is not of the form 'leak:PATTERN'",
                            number + 1);
        if (!add_pattern(patterns, arena, (sxt_string){line.data + 5, line.size - 5}))
            return sxt_fail_memory(error, line.size);
    }
    return SXT_OK;
}

/* A pattern may also match the loaded file that a function is in, as "leak:libfontconfig" does. */
static bool judge_modules(const struct sxt_mlyze_metadata *metadata, uint8_t *functions,
                          const struct patterns *patterns)
{
    sxt_string *paths = sxt_function_modules_paths(metadata), last = {NULL, 0};
    bool is_match = false, is_read = paths != NULL;
    for (size_t i = 0; is_read && i < metadata->function_count; i++) {
        if (paths[i].size == 0)
            continue;
        if (paths[i].data != last.data)
            is_match = matches(patterns, paths[i]);
        last = paths[i];
        if (is_match)
            functions[i] = 1;
    }
    free(paths);
    return is_read;
}

/* The stack of a site that leaked something; otherwise NULL. */
static const struct sxt_mlyze_stack *leaking_stack(const sxt_heap_usage *usage, size_t site)
{
    if (sxt_heap_sites_pair(&usage->sites, site, SXT_HEAP_LEAKED).count == 0)
        return NULL;
    return sxt_heap_frames(usage, sxt_heap_record(&usage->sites, site)->stack);
}

int sxt_heap_suppress(sxt_heap_usage *usage, sxt_string text, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    struct patterns patterns = {0};
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    struct verdicts verdicts = {calloc(metadata->function_count + 1, 1), calloc(metadata->file_count + 1, 1)};
    int status = read_patterns(&patterns, &arena, text, error);
    if (status == SXT_OK && (verdicts.functions == NULL || verdicts.files == NULL))
        status = sxt_fail_memory(error, metadata->function_count + metadata->file_count);
    if (status == SXT_OK && !judge_modules(metadata, verdicts.functions, &patterns))
        status = sxt_fail_memory(error, metadata->function_count * sizeof(sxt_string));
    for (size_t i = 0; i < usage->sites.count && status == SXT_OK; i++) {
        const struct sxt_mlyze_stack *stack = leaking_stack(usage, i);
        if (stack != NULL)
            sxt_heap_record(&usage->sites, i)->is_suppressed |= is_suppressed(usage, stack, &verdicts, &patterns);
    }
    free(verdicts.functions);
    free(verdicts.files);
    free(patterns.items);
    sxt_arena_free(&arena);
    return status;
}

/* --- leaks that every program has --- */

/*
 * Whether libc or libstdc++ keeps this memory for itself: one of the library frames up to the first frame of user code
 * is known for that. Of what the loader runs before and after main, all that is not the user's counts.
 */
static bool is_known_leak(struct sxt_frame_names *names, const struct sxt_mlyze_stack *stack)
{
    uint32_t node = stack->node;
    unsigned seen = 0;
    for (; node != SXT_MLYZE_NO_NODE; node = sxt_mlyze_node_at(names->metadata, node)->parent) {
        unsigned kind = sxt_frame_names_kind(names, sxt_mlyze_node_frame(names->metadata, node));
        if ((kind & (SXT_FRAME_C | SXT_FRAME_CXX)) == 0)
            return false;
        seen |= kind;
        if ((seen & SXT_FRAME_KEEPS) != 0)
            return true;
    }
    return (seen & SXT_FRAME_LOADER) != 0;
}

int sxt_heap_suppress_known(sxt_heap_usage *usage, sxt_error *error)
{
    struct sxt_frame_names names;
    int status = sxt_frame_names_init(&names, sxt_mlyze_metadata(usage->trace), false, error);
    if (status != SXT_OK)
        return status;
    for (size_t i = 0; i < usage->sites.count; i++) {
        const struct sxt_mlyze_stack *stack = leaking_stack(usage, i);
        if (stack != NULL && stack->count > 0)
            sxt_heap_record(&usage->sites, i)->is_suppressed |= is_known_leak(&names, stack);
    }
    sxt_frame_names_free(&names);
    return SXT_OK;
}

/* --- both --- */

void sxt_heap_suppressed(const sxt_heap_usage *usage, uint64_t *bytes, uint64_t *count)
{
    *bytes = *count = 0;
    for (size_t i = 0; i < usage->sites.count; i++) {
        if (!sxt_heap_record(&usage->sites, i)->is_suppressed)
            continue;
        struct sxt_heap_pair leaked = sxt_heap_sites_pair(&usage->sites, i, SXT_HEAP_LEAKED);
        *bytes += leaked.bytes;
        *count += leaked.count;
    }
}
