/* live.c: the heap of one running recording, or of all in a folder. */
#include "trace/live.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"

#define DELAY_US 20000 /* events that are younger are not known */

struct sxt_watch {
    char *folder; /* NULL: only one recording */
    char *trace;  /* that the recording becomes */
    struct sxt_live_process **processes;
    size_t count, capacity;
    struct sxt_live_names *names;
    sxt_watch_figures figures;
    double updated;                /* seconds; 0: never */
    struct sxt_live_course course; /* of a folder */
};

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t real_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* --- opening --- */

static bool is_open(const sxt_watch *watch, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    for (size_t i = 0; i < watch->count; i++)
        if (watch->processes[i]->inode == status.st_ino && watch->processes[i]->device == status.st_dev)
            return true;
    return false;
}

static int add_process(sxt_watch *watch, const char *path, sxt_error *error)
{
    void *moved = sxt_array_grow(watch->processes, &watch->capacity, watch->count + 1, sizeof(void *));
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof(void *));
    watch->processes = moved;
    int status = sxt_live_process_open(path, &watch->processes[watch->count], error);
    watch->count += status == SXT_OK;
    return status;
}

/* A recording that has ended between the search and now is left out. */
static int add_new(sxt_watch *watch, const struct sxt_live_paths *paths, sxt_error *error)
{
    for (size_t i = 0; i < paths->count; i++) {
        int status = is_open(watch, paths->list[i]) ? SXT_OK : add_process(watch, paths->list[i], error);
        if (status != SXT_OK && (watch->folder == NULL || status == SXT_ERROR_MEMORY))
            return status;
    }
    return SXT_OK;
}

int sxt_watch_open(const char *name, sxt_watch **out, sxt_error *error)
{
    struct sxt_live_paths paths = {0};
    bool is_folder = false;
    *out = NULL;
    sxt_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return sxt_fail_memory(error, sizeof *watch);
    watch->names = sxt_live_names_new();
    int status = watch->names != NULL ? sxt_live_find(name, &paths, &watch->trace, &is_folder, error)
                                      : sxt_fail_memory(error, sizeof *watch);
    if (status == SXT_OK && is_folder && (watch->folder = strdup(name)) == NULL)
        status = sxt_fail_memory(error, strlen(name));
    if (status == SXT_OK)
        status = add_new(watch, &paths, error);
    if (status == SXT_OK && watch->count == 0)
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no recording is running in this folder");
    sxt_live_paths_free(&paths);
    if (status != SXT_OK)
        sxt_watch_close(&watch);
    *out = watch;
    return status;
}

void sxt_watch_close(sxt_watch **given)
{
    sxt_watch *watch = *given;
    if (watch == NULL)
        return;
    sxt_live_names_close(&watch->names);
    for (size_t i = 0; i < watch->count; i++)
        sxt_live_process_close(&watch->processes[i]);
    free(watch->processes);
    free(watch->folder);
    free(watch->trace);
    free(watch);
    *given = NULL;
}

/* --- updates --- */

/* What a process had is free when it has ended. Of a single recording, the end is shown. */
static bool is_shown(const sxt_watch *watch, size_t process)
{
    return watch->count == 1 || !watch->processes[process]->has_ended;
}

/* Everything but rates. */
static void add_up(sxt_watch *watch)
{
    sxt_watch_figures sum = {.process_count = watch->count};
    uint64_t live_parts = 0, allocated_parts = 0, last = 0;
    for (size_t i = 0; i < watch->count; i++) {
        const struct sxt_live_process *process = watch->processes[i];
        const struct sxt_live_totals *now = &process->now;
        sum.running_count += !process->has_ended;
        sum.is_behind |= process->is_behind;
        sum.allocated_bytes += now->sums.allocated_bytes;
        allocated_parts += now->sums.allocated_parts;
        sum.frees += now->frees;
        sum.events += now->events;
        sum.marker_count += now->markers;
        last = now->time > last ? now->time : last;
        if (process->facts != NULL) {
            sum.dropped += process->facts->dropped;
            sum.sample_period = process->facts->period;
            if (sum.start_us == 0 || process->facts->start_us < sum.start_us)
                sum.start_us = process->facts->start_us;
        }
        if (!is_shown(watch, i))
            continue;
        sum.live_bytes += now->sums.live_bytes;
        live_parts += now->sums.live_parts;
        for (size_t k = 0; k < process->stack_count; k++)
            sum.site_count += process->stacks[k].live_bytes > 0 || process->stacks[k].live_parts > 0;
    }
    sum.has_ended = sum.running_count == 0;
    sum.live_blocks = sxt_live_count_of(live_parts);
    sum.allocations = sxt_live_count_of(allocated_parts);
    uint64_t now = real_time(), before = watch->figures.time_us;
    sum.time_us = sum.has_ended ? (last > before ? last : before) : now > DELAY_US ? now - DELAY_US : 0;
    sum.peak_bytes = watch->count == 1 ? watch->processes[0]->now.peak_bytes : watch->figures.peak_bytes;
    sum.peak_time_us = watch->count == 1 ? watch->processes[0]->now.peak_time : watch->figures.peak_time_us;
    if (watch->count > 1 && sum.live_bytes > sum.peak_bytes) {
        sum.peak_bytes = sum.live_bytes;
        sum.peak_time_us = sum.time_us;
    }
    sum.pid = watch->count == 1 ? watch->processes[0]->pid : 0;
    watch->figures = sum;
}

/* Between the last two updates; at the first one, since the start. */
static void set_rates(sxt_watch *watch, const sxt_watch_figures *before)
{
    sxt_watch_figures *now = &watch->figures;
    double moment = seconds_now(), span = moment - watch->updated;
    if (watch->updated == 0)
        span = now->time_us > now->start_us ? (double)(now->time_us - now->start_us) * 1e-6 : 0;
    watch->updated = moment;
    if (span <= 0)
        return;
    bool is_more = now->allocations >= before->allocations && now->frees >= before->frees &&
                   now->allocated_bytes >= before->allocated_bytes;
    now->allocations_per_s = is_more ? (double)(now->allocations - before->allocations) / span : 0;
    now->frees_per_s = is_more ? (double)(now->frees - before->frees) / span : 0;
    now->allocated_bytes_per_s = is_more ? (double)(now->allocated_bytes - before->allocated_bytes) / span : 0;
}

int sxt_watch_update(sxt_watch *watch, sxt_error *error)
{
    struct sxt_live_paths paths = {0};
    const sxt_watch_figures before = watch->figures;
    int status = SXT_OK;
    if (before.has_ended)
        return SXT_OK;
    if (watch->folder != NULL && sxt_live_find_in_folder(watch->folder, &paths, NULL) == SXT_OK)
        status = add_new(watch, &paths, error);
    sxt_live_paths_free(&paths);
    for (size_t i = 0; i < watch->count && status == SXT_OK; i++) {
        status = sxt_live_process_update(watch->processes[i], error);
        if (status != SXT_OK && watch->count > 1 && status != SXT_ERROR_MEMORY) {
            watch->processes[i]->has_ended = true; /* the others go on */
            status = SXT_OK;
        }
    }
    if (status != SXT_OK)
        return status;
    add_up(watch);
    set_rates(watch, &before);
    if (watch->folder != NULL)
        sxt_live_course_add(&watch->course, watch->figures.time_us, watch->figures.live_bytes,
                            watch->figures.allocations);
    return SXT_OK;
}

bool sxt_watch_is_running(const sxt_watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        if (sxt_live_process_is_running(watch->processes[i]))
            return true;
    return false;
}

void sxt_watch_get_figures(const sxt_watch *watch, sxt_watch_figures *out)
{
    sxt_result_give(out, &watch->figures, sizeof watch->figures);
}

const char *sxt_watch_trace_path(const sxt_watch *watch)
{
    return watch->trace;
}

uint64_t sxt_watch_process_id(const sxt_watch *watch, uint32_t number)
{
    return number < watch->count ? watch->processes[number]->pid : 0;
}

sxt_string sxt_watch_last_marker(const sxt_watch *watch, uint64_t *time_us)
{
    sxt_string name = {NULL, 0};
    *time_us = 0;
    for (size_t i = 0; i < watch->count; i++) {
        const struct sxt_live_process *process = watch->processes[i];
        if (process->facts == NULL || process->now.markers == 0 ||
            process->now.marker >= process->facts->marker_count || process->now.marker_time < *time_us)
            continue;
        *time_us = process->now.marker_time;
        name = process->facts->markers[process->now.marker];
    }
    return name;
}

size_t sxt_watch_get_course(const sxt_watch *watch, sxt_watch_point *out, size_t capacity)
{
    const struct sxt_live_course *course = watch->folder != NULL ? &watch->course : &watch->processes[0]->course;
    size_t count = course->count < capacity ? course->count : capacity;
    if (count > 0)
        memcpy(out, course->points, count * sizeof *out);
    return count;
}

/* --- sites and threads --- */

static sxt_watch_site site_of(const struct sxt_live_sums *sums, size_t process, size_t stack)
{
    return (sxt_watch_site){
        .process = (uint32_t)process,
        .stack = (uint32_t)stack,
        .live_bytes = sums->live_bytes,
        .live_blocks = sxt_live_count_of(sums->live_parts),
        .allocations = sxt_live_count_of(sums->allocated_parts),
        .allocated_bytes = sums->allocated_bytes,
    };
}

static uint64_t value_of(const sxt_watch_site *site, sxt_watch_order order)
{
    switch (order) {
    case SXT_WATCH_BY_LIVE_BLOCKS:
        return site->live_blocks;
    case SXT_WATCH_BY_ALLOCATIONS:
        return site->allocations;
    case SXT_WATCH_BY_ALLOCATED_BYTES:
        return site->allocated_bytes;
    case SXT_WATCH_BY_LIVE_BYTES:
        break;
    }
    return site->live_bytes;
}

/* Above 0: A comes first. */
static int compare(const sxt_watch_site *a, const sxt_watch_site *b, sxt_watch_order order)
{
    uint64_t first = value_of(a, order), second = value_of(b, order);
    if (first != second)
        return first > second ? 1 : -1;
    if (a->process != b->process)
        return a->process < b->process ? 1 : -1;
    return a->stack < b->stack ? 1 : a->stack > b->stack ? -1 : 0;
}

/* A heap with the last of the chosen ones first. */
struct chosen {
    sxt_watch_site *list;
    size_t count, capacity;
    sxt_watch_order order;
};

static void sink(struct chosen *chosen, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= chosen->count)
            return;
        if (child + 1 < chosen->count && compare(&chosen->list[child + 1], &chosen->list[child], chosen->order) < 0)
            child++;
        if (compare(&chosen->list[at], &chosen->list[child], chosen->order) < 0)
            return;
        sxt_watch_site one = chosen->list[at];
        chosen->list[at] = chosen->list[child];
        chosen->list[child] = one;
        at = child;
    }
}

static void offer(struct chosen *chosen, const sxt_watch_site *site)
{
    if (chosen->count < chosen->capacity) {
        chosen->list[chosen->count++] = *site;
        if (chosen->count == chosen->capacity)
            for (size_t i = chosen->capacity / 2 + 1; i > 0; i--)
                sink(chosen, i - 1);
    } else if (chosen->capacity > 0 && compare(site, &chosen->list[0], chosen->order) > 0) {
        chosen->list[0] = *site;
        sink(chosen, 0);
    }
}

static int by_order(const void *a, const void *b, void *order)
{
    return -compare(a, b, *(sxt_watch_order *)order);
}

static size_t sort(struct chosen *chosen)
{
    if (chosen->count > 1)
        qsort_r(chosen->list, chosen->count, sizeof *chosen->list, by_order, &chosen->order);
    return chosen->count;
}

size_t sxt_watch_list_sites(const sxt_watch *watch, sxt_watch_order order, sxt_watch_site *out, size_t capacity)
{
    struct chosen chosen = {.list = out, .capacity = capacity, .order = order};
    for (size_t i = 0; i < watch->count; i++) {
        const struct sxt_live_process *process = watch->processes[i];
        for (size_t k = 0; k < process->stack_count && is_shown(watch, i); k++) {
            sxt_watch_site site = site_of(&process->stacks[k], i, k);
            if (value_of(&site, order) > 0 || (order == SXT_WATCH_BY_LIVE_BYTES && site.live_blocks > 0))
                offer(&chosen, &site);
        }
    }
    return sort(&chosen);
}

sxt_watch_site sxt_watch_get_site(const sxt_watch *watch, uint32_t process, uint32_t stack)
{
    bool is_there = process < watch->count && stack < watch->processes[process]->stack_count;
    return is_there ? site_of(&watch->processes[process]->stacks[stack], process, stack)
                    : (sxt_watch_site){.process = process, .stack = stack};
}

static sxt_string thread_name(const struct sxt_live_process *process, uint32_t number)
{
    for (size_t i = process->facts != NULL ? process->facts->thread_count : 0; i > 0; i--)
        if (process->facts->threads[i - 1].number == number)
            return process->facts->threads[i - 1].name;
    return (sxt_string){NULL, 0};
}

/* A thread is a site whose stack is its number. */
size_t sxt_watch_list_threads(const sxt_watch *watch, sxt_watch_order order, sxt_watch_thread *out, size_t capacity)
{
    struct chosen chosen = {.capacity = capacity, .order = order};
    chosen.list = calloc(capacity + 1, sizeof *chosen.list);
    if (chosen.list == NULL)
        return 0;
    for (size_t i = 0; i < watch->count; i++) {
        const struct sxt_live_process *process = watch->processes[i];
        for (size_t k = 0; k < SXT_LIVE_THREADS && is_shown(watch, i); k++) {
            sxt_watch_site site = site_of(&process->threads[k], i, k);
            if (site.allocations > 0)
                offer(&chosen, &site);
        }
    }
    size_t count = sort(&chosen);
    for (size_t i = 0; i < count; i++) {
        const sxt_watch_site *site = &chosen.list[i];
        out[i] = (sxt_watch_thread){
            .process = site->process,
            .number = site->stack,
            .name = thread_name(watch->processes[site->process], site->stack),
            .live_bytes = site->live_bytes,
            .live_blocks = site->live_blocks,
            .allocations = site->allocations,
            .allocated_bytes = site->allocated_bytes,
        };
    }
    free(chosen.list);
    return count;
}

/* --- names --- */

static void ask(sxt_watch *watch, uint32_t process, const sxt_watch_site *sites, size_t count, uint32_t *stacks)
{
    size_t of_process = 0;
    for (size_t i = 0; i < count; i++)
        if (sites[i].process == process)
            stacks[of_process++] = sites[i].stack;
    if (of_process > 0 && watch->processes[process]->facts != NULL)
        sxt_live_names_ask(watch->names, watch->processes[process]->facts, process, stacks, of_process);
}

size_t sxt_watch_name_sites(sxt_watch *watch, const sxt_watch_site *sites, size_t count, unsigned milliseconds)
{
    uint32_t *stacks = malloc((count + 1) * sizeof *stacks), number;
    size_t known = 0;
    for (uint32_t i = 0; i < watch->count && stacks != NULL; i++)
        ask(watch, i, sites, count, stacks);
    free(stacks);
    if (milliseconds > 0)
        sxt_live_names_wait(watch->names, milliseconds);
    for (size_t i = 0; i < count; i++)
        known += sxt_watch_find_names(watch, &sites[i], &number) != NULL;
    return known;
}

const sxt_trace *sxt_watch_find_names(const sxt_watch *watch, const sxt_watch_site *site, uint32_t *stack)
{
    if (site->process >= watch->count || watch->processes[site->process]->facts == NULL)
        return NULL;
    return sxt_live_names_find(watch->names, watch->processes[site->process]->facts, site->process, site->stack, stack);
}

/* --- equal sites --- */

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return (hash ^ size) * 0x9e3779b97f4a7c15u;
}

uint64_t sxt_watch_get_look(const sxt_watch *watch, const sxt_watch_site *site)
{
    uint32_t stack, count = 0;
    sxt_trace_frame frame;
    const sxt_trace *trace = sxt_watch_find_names(watch, site, &stack);
    if (trace == NULL || !sxt_trace_stack(trace, stack, &count) || count == 0)
        return 0;
    uint64_t hash = 0xcbf29ce484222325u ^ site->process;
    for (uint32_t i = 0; i < count && sxt_trace_get_frame(trace, stack, i, &frame); i++) {
        hash = mix(hash, frame.function.data, frame.function.size);
        hash = mix(hash, frame.file.data, frame.file.size);
        hash = mix(hash, &frame.line, sizeof frame.line);
    }
    return hash != 0 ? hash : 1;
}

struct look {
    uint64_t hash;
    size_t place;
};

static int by_look(const void *a, const void *b)
{
    const struct look *first = a, *second = b;
    if (first->hash != second->hash)
        return first->hash < second->hash ? -1 : 1;
    return first->place < second->place ? -1 : first->place > second->place;
}

static void add_site(sxt_watch_site *to, const sxt_watch_site *from)
{
    to->stack = from->stack < to->stack ? from->stack : to->stack;
    to->live_bytes += from->live_bytes;
    to->live_blocks += from->live_blocks;
    to->allocations += from->allocations;
    to->allocated_bytes += from->allocated_bytes;
}

size_t sxt_watch_merge_sites(const sxt_watch *watch, sxt_watch_order order, sxt_watch_site *sites, size_t count)
{
    struct look *looks = malloc((count + 1) * sizeof *looks);
    bool *is_gone = calloc(count + 1, sizeof *is_gone);
    if (looks == NULL || is_gone == NULL) {
        free(looks);
        free(is_gone);
        return count;
    }
    for (size_t i = 0; i < count; i++)
        looks[i] = (struct look){sxt_watch_get_look(watch, &sites[i]), i};
    qsort(looks, count, sizeof *looks, by_look);
    for (size_t i = 1, first = 0; i < count; i++) {
        if (looks[i].hash == 0 || looks[i].hash != looks[first].hash) {
            first = i;
            continue;
        }
        add_site(&sites[looks[first].place], &sites[looks[i].place]);
        is_gone[looks[i].place] = true;
    }
    struct chosen kept = {.list = sites, .capacity = count, .order = order};
    for (size_t i = 0; i < count; i++)
        if (!is_gone[i])
            sites[kept.count++] = sites[i];
    free(looks);
    free(is_gone);
    return sort(&kept);
}
