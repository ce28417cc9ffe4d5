/* analysis_run.c: a pass over the events of a trace, from the first to the last. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "mlyze/analysis_private.h"

#define BATCH       1024
#define PASSED_STEP ((uint64_t)1 << 20) /* bytes of the file between two reports to the watcher */

static int fail_sites(const sxt_heap_usage *usage, sxt_error *error)
{
    return sxt_fail_memory(error, usage->sites.count * sizeof(struct sxt_heap_pair));
}

static int finish(struct heap_pass *pass, sxt_error *error)
{
    sxt_heap_usage *usage = pass->usage;
    const sxt_heap_options *options = &usage->options;
    if (!pass->has_begun && options->from.kind == SXT_HEAP_MOMENT_TIME)
        sxt_heap_begin_window(pass, options->from.time);
    const sxt_heap_moment *missing = !pass->has_begun                                                   ? &options->from
                                     : options->to.kind == SXT_HEAP_MOMENT_MARKER && !pass->has_stopped ? &options->to
                                                                                                        : NULL;
    if (missing != NULL && !usage->is_damaged)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no marker named '%.*s'%s",
                        (int)(missing->marker.size < 100 ? missing->marker.size : 100), missing->marker.data,
                        missing == &options->to && options->from.kind != SXT_HEAP_MOMENT_NONE ? " after the beginning"
                                                                                              : "");
    sxt_heap_end_cuts(pass);
    sxt_heap_end_phase(pass);
    sxt_heap_end_intervals(pass);
    for (size_t i = 0; i < usage->sites.count; i++) {
        struct sxt_heap_record *record = sxt_heap_record(&usage->sites, i);
        sxt_heap_sites_remember_peak(&usage->sites, record, i, usage->epoch);
        if (sxt_heap_frames(usage, record->stack) == NULL)
            usage->dangling += sxt_heap_sites_count(&usage->sites, i, SXT_HEAP_COST_COUNT);
    }
    for (size_t i = 0; i < SXT_HEAP_THREADS && usage->threads != NULL; i++)
        sxt_heap_remember_peak(usage, &usage->threads[i]);
    for (size_t i = 0; i < SXT_HEAP_POWERS && usage->sizes != NULL; i++)
        sxt_heap_remember_peak(usage, &usage->sizes[i]);
    if (usage->is_filtered)
        sxt_heap_remember_peak(usage, &usage->total);
    if (usage->bins != NULL)
        sxt_heap_bins_close(usage->bins, usage->end);
    sxt_heap_find_leaks(pass);
    if (usage->bins != NULL && !sxt_heap_bins_is_whole(usage->bins))
        return sxt_fail_memory(error, sxt_heap_bins_entry_count(usage->bins) * sizeof(struct sxt_heap_bin_entry));
    return usage->sites.no_memory ? fail_sites(usage, error) : sxt_heap_merge_sites(usage, error);
}

static void report_passed(struct heap_pass *pass, const struct sxt_mlyze_cursor *cursor)
{
    const struct sxt_heap_watcher *watcher = pass->watcher;
    uint64_t offset = watcher != NULL && watcher->passed != NULL ? sxt_mlyze_offset(cursor) : 0;
    if (offset < pass->passed || offset - pass->passed < PASSED_STEP)
        return;
    pass->passed = offset;
    watcher->passed(watcher->data, offset);
}

/* Adds blocks that cannot be read to the list, or a part of a plain file that is wrong. */
static void add_damage(sxt_heap_usage *usage, const struct sxt_mlyze_loss *loss, const sxt_error *why)
{
    usage->damaged_blocks += loss->blocks;
    usage->lost_events += loss->events;
    if (usage->damage_count == SXT_HEAP_DAMAGES_MOST)
        return;
    sxt_heap_damage *list =
        sxt_array_grow(usage->damages, &usage->damage_capacity, usage->damage_count + 1, sizeof *list);
    const char *end = strstr(why->text, " (offset 0x");
    size_t size = end != NULL ? (size_t)(end - why->text) : strlen(why->text);
    const char *text = sxt_arena_copy(&usage->damage_texts, why->text, size);
    if (list != NULL)
        usage->damages = list;
    /* The sums are right, whether or not there is memory for the details. */
    if (list != NULL && text != NULL)
        list[usage->damage_count++] = (sxt_heap_damage){loss->offset, loss->block, loss->blocks, loss->events, text};
}

/* Goes on after blocks that cannot be read. False if the rest of the trace is lost, and it is not known how much. */
static bool pass_damage(sxt_heap_usage *usage, struct sxt_mlyze_cursor *cursor)
{
    struct sxt_mlyze_loss loss;
    bool goes_on = sxt_mlyze_skip_damage(cursor, &loss);
    if (goes_on || (loss.is_bounded && loss.events != SXT_MLYZE_NOT_KNOWN))
        add_damage(usage, &loss, &usage->damage);
    else
        usage->is_damaged = true;
    return goes_on;
}

/* Adds what the checksums of a plain file say, up to the offset that the cursor has reached. */
static void check_parts(struct heap_pass *pass, const struct sxt_mlyze_cursor *cursor)
{
    struct sxt_mlyze_part part;
    uint64_t offset = sxt_mlyze_offset(cursor);
    while (pass->checked < offset) {
        sxt_error why;
        bool is_there = sxt_mlyze_check_part(pass->usage->trace, pass->part_count++, &part);
        pass->checked = is_there && part.end > part.offset ? part.end : UINT64_MAX;
        if (!is_there || part.is_right)
            continue;
        (void)sxt_mlyze_fail_part(&part, &why);
        add_damage(pass->usage, &(struct sxt_mlyze_loss){.offset = part.offset}, &why);
    }
}

static void check_beginning(sxt_heap_usage *usage)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(usage->trace);
    sxt_error why;
    if (header->is_header_wrong) {
        (void)sxt_fail(&why, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the checksum of the header is wrong");
        add_damage(usage, &(struct sxt_mlyze_loss){0}, &why);
    }
    if (header->is_metadata_wrong) {
        (void)sxt_fail(&why, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the checksum of the metadata is wrong");
        add_damage(usage, &(struct sxt_mlyze_loss){.offset = header->metadata_offset}, &why);
    }
}

static int read_all(struct heap_pass *pass, struct sxt_mlyze_cursor *cursor, sxt_error *error)
{
    sxt_heap_usage *usage = pass->usage;
    sxt_trace_event *events = malloc(BATCH * sizeof *events);
    size_t count = events == NULL ? 0 : 1;
    int status = events == NULL ? sxt_fail_memory(error, BATCH * sizeof *events) : SXT_OK;
    while (status == SXT_OK && count > 0 && !pass->has_stopped) {
        int read = sxt_mlyze_read(cursor, events, BATCH, &count, &usage->damage);
        if (read == SXT_ERROR_MEMORY) {
            if (error != NULL)
                *error = usage->damage;
            status = read;
        } else if (read != SXT_OK) {
            count = pass_damage(usage, cursor);
        } else {
            if (pass->checked < sxt_mlyze_offset(cursor))
                check_parts(pass, cursor);
            sxt_heap_take_batch(pass, events, count);
            report_passed(pass, cursor);
            if (pass->watcher != NULL && pass->watcher->save != NULL && count > 0)
                sxt_heap_checkpoints_save(pass, cursor, events[count - 1].time);
            if (usage->sites.no_memory)
                status = fail_sites(usage, error);
            else if (pass->no_memory)
                status = sxt_fail_memory(error, (pass->live.mask + 1) * sizeof(struct sxt_live_block));
        }
    }
    free(events);
    return status;
}

static bool prepare(struct heap_pass *pass)
{
    sxt_heap_usage *usage = pass->usage;
    const struct sxt_mlyze_header *header = sxt_mlyze_header(usage->trace);
    usage->start = usage->end = usage->peak_time = header->start_us;
    usage->is_sampled = (header->flags & SXT_MLYZE_SAMPLED) != 0 && header->period > 0;
    pass->period = (double)header->period;
    usage->is_filtered = pass->sieve != NULL;
    pass->threads = pass->sieve != NULL ? sxt_heap_sieve_threads(pass->sieve) : NULL;
    struct sxt_heap_bins *bins = pass->watcher != NULL ? pass->watcher->bins : NULL;
    pass->has_begun = usage->options.from.kind == SXT_HEAP_MOMENT_NONE;
    usage->bins = pass->has_begun ? bins : NULL;
    if (usage->bins != NULL)
        sxt_heap_bins_begin(usage->bins, usage->start);
    pass->is_unusual =
        usage->is_sampled || usage->is_filtered || usage->options.by_thread || usage->options.by_size || bins != NULL;
    pass->sequences = calloc(SXT_HEAP_THREADS, sizeof *pass->sequences);
    if (usage->options.by_thread)
        usage->threads = calloc(SXT_HEAP_THREADS, sizeof *usage->threads);
    if (usage->options.by_size)
        usage->sizes = calloc(SXT_HEAP_POWERS, sizeof *usage->sizes);
    return sxt_live_init(&pass->live) && (!usage->is_sampled || sxt_live_keep_weights(&pass->live)) &&
           sxt_live_init(&pass->far) && pass->sequences != NULL &&
           (usage->threads != NULL || !usage->options.by_thread) && (usage->sizes != NULL || !usage->options.by_size) &&
           sxt_heap_begin_intervals(pass);
}

/* Whether the pass goes on from a state of another one. */
static bool goes_on(const struct heap_pass *pass)
{
    return pass->watcher != NULL && pass->watcher->from != NULL &&
           pass->usage->options.from.kind == SXT_HEAP_MOMENT_TIME;
}

int sxt_heap_run_watched(const struct sxt_mlyze *trace, const sxt_heap_options *options, const bool *threads,
                         const struct sxt_heap_watcher *watcher, sxt_heap_usage *out, sxt_error *error)
{
    struct heap_pass pass = {.usage = out, .watcher = watcher, .other_site = SXT_HEAP_NO_SITE};
    struct sxt_mlyze_cursor *cursor = NULL;
    *out = (sxt_heap_usage){.trace = trace, .options = *options};
    sxt_arena_init(&out->damage_texts, 0, sxt_arena_separate_default);
    int status = sxt_heap_sieve_open(trace, options, threads, &pass.sieve, error);
    if (status == SXT_OK && !prepare(&pass))
        status = sxt_fail_memory(error, SXT_HEAP_THREADS * sizeof *out->threads);
    if (status == SXT_OK)
        status = sxt_mlyze_cursor_open(trace, &cursor, error);
    if (status == SXT_OK) {
        check_beginning(out);
        pass.checked = sxt_mlyze_header(trace)->has_sums && !goes_on(&pass) ? 0 : UINT64_MAX;
        status = goes_on(&pass) ? sxt_heap_checkpoints_restore(&pass, cursor, options->from.time, error) : SXT_OK;
    }
    if (status == SXT_OK) {
        status = read_all(&pass, cursor, error);
    }
    if (status == SXT_OK)
        status = finish(&pass, error);
    sxt_mlyze_cursor_close(&cursor);
    sxt_heap_sieve_close(&pass.sieve);
    sxt_heap_free_intervals(&pass);
    sxt_live_free(&pass.live);
    sxt_live_free(&pass.far);
    free(pass.near);
    free(pass.sequences);
    if (status != SXT_OK)
        sxt_heap_free(out);
    return status;
}

int sxt_heap_run(const struct sxt_mlyze *trace, const sxt_heap_options *options, sxt_heap_usage *out, sxt_error *error)
{
    return sxt_heap_run_watched(trace, options, NULL, NULL, out, error);
}

void sxt_heap_free(sxt_heap_usage *usage)
{
    sxt_heap_sites_free(&usage->sites);
    free(usage->threads);
    free(usage->sizes);
    free(usage->markers);
    free(usage->timeline.items);
    free(usage->windows.items);
    free(usage->damages);
    sxt_arena_free(&usage->damage_texts);
    *usage = (sxt_heap_usage){0};
}
