/* heap_processes.c: the traces of several processes: finding, opening and joining them, and the tree that they are. */
#include "cli/heap_processes.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "cli/verbs.h"

/* --- files --- */

static bool is_folder(const char *path)
{
    struct stat status;
    return strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool cli_heap_are_several(const struct cli_arguments *arguments)
{
    return arguments->word_count > 1 || (arguments->word_count == 1 && is_folder(arguments->words[0]));
}

/* The same file under another name, or given twice. */
static bool is_known(const struct cli_heap_processes *processes, const char *path)
{
    struct stat of;
    if (stat(path, &of) != 0)
        return false;
    for (size_t i = 0; i < processes->count; i++)
        if (processes->items[i].inode == of.st_ino && processes->items[i].device == of.st_dev)
            return true;
    return false;
}

/* PATH becomes that of PROCESSES. */
static int add_path(struct cli_heap_processes *processes, char *path)
{
    struct cli_heap_process *moved =
        path == NULL ? NULL
                     : sxt_array_grow(processes->items, &processes->capacity, processes->count + 1, sizeof *moved);
    if (moved == NULL) {
        free(path);
        return cli_fail_text(NULL, "out of memory");
    }
    struct stat of = {0};
    (void)stat(path, &of);
    processes->items = moved;
    moved[processes->count++] = (struct cli_heap_process){
        .path = path,
        .inode = of.st_ino,
        .device = of.st_dev,
        .process.struct_size = sizeof moved->process,
        .summary.struct_size = sizeof moved->summary,
    };
    return CLI_DONE;
}

/* All traces in the folder, by name. */
static int add_folder(struct cli_heap_processes *processes, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort), status = CLI_DONE;
    if (count < 0)
        return cli_fail_text(folder, "cannot read the folder: %s", strerror(errno));
    bool has_traces = false;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        struct stat of;
        if (status == CLI_DONE && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
            path = NULL;
        bool is_file = path != NULL && stat(path, &of) == 0 && S_ISREG(of.st_mode);
        bool is_trace = is_file && cli_is_trace(path);
        has_traces |= is_trace;
        if (is_trace && !is_known(processes, path)) {
            status = add_path(processes, path);
            path = NULL;
        }
        free(path);
        free(entries[i]);
    }
    free(entries);
    if (status == CLI_DONE && !has_traces)
        status = cli_fail_text(folder, "no heap traces in this folder");
    return status;
}

static int add_words(const struct cli_arguments *arguments, struct cli_heap_processes *processes)
{
    int status = CLI_DONE;
    for (size_t i = 0; i < arguments->word_count && status == CLI_DONE; i++) {
        const char *word = arguments->words[i];
        if (is_folder(word))
            status = add_folder(processes, word);
        else if (is_known(processes, word))
            status = cli_usage(arguments->verb, "'%s' is given twice", word);
        else
            status = add_path(processes, strdup(word));
    }
    return status;
}

/* --- traces --- */

/* The options of all processes for the analysis of one. */
static int analyse_one(struct cli_heap *one, const struct cli_heap *all, size_t number)
{
    struct cli_progress progress = {.phase = "reading events"};
    sxt_error error;
    one->options = all->options;
    one->options.progress = cli_progress_show;
    one->options.progress_data = &progress;
    sxt_heap_moment *to = &one->options.to, end = {.kind = SXT_HEAP_MOMENT_TIME, .time = all->summary.end};
    bool is_marker = to->kind == SXT_HEAP_MOMENT_MARKER, is_again = false;
    if (one->options.from.kind == SXT_HEAP_MOMENT_MARKER)
        one->options.from = (sxt_heap_moment){.kind = SXT_HEAP_MOMENT_TIME, .time = all->summary.start};
    int status = sxt_trace_analyse_process(all->trace, number, one->trace, &one->options, &one->usage, &error);
    if (status == SXT_OK) {
        sxt_heap_get_summary(one->usage, &one->summary);
        is_again = is_marker && one->summary.end > all->summary.end;
    }
    /* The marker that ends the window of all is in another process. */
    if (is_again || (is_marker && status == SXT_ERROR_NOT_FOUND)) {
        sxt_heap_usage_free(&one->usage);
        *to = end;
        status = sxt_trace_analyse_process(all->trace, number, one->trace, &one->options, &one->usage, &error);
    }
    cli_progress_end(&progress);
    return status == SXT_OK ? CLI_DONE : cli_fail(one->path, &error);
}

int cli_heap_processes_analyse(const struct cli_arguments *arguments, const struct cli_heap *all)
{
    struct cli_heap_processes *processes = all->processes;
    for (size_t i = 0; i < processes->count; i++) {
        struct cli_heap_process *process = &processes->items[i];
        struct cli_heap one = {.path = process->path,
                               .trace = process->trace,
                               .info.struct_size = sizeof one.info,
                               .summary.struct_size = sizeof one.summary};
        sxt_trace_get_info(one.trace, &one.info);
        int status = analyse_one(&one, all, i);
        if (status == CLI_DONE)
            status = cli_heap_suppress(arguments, &one, true);
        if (status == CLI_DONE) {
            process->summary = one.summary;
            process->summary.damage = NULL;
            process->total = *sxt_heap_total(one.usage);
            processes->is_filtered = sxt_heap_unfiltered(one.usage) != NULL;
            if (processes->is_filtered)
                process->whole = *sxt_heap_unfiltered(one.usage);
            processes->is_damaged |= cli_heap_warn(&one) != CLI_DONE;
        }
        sxt_heap_usage_free(&one.usage);
        if (status != CLI_DONE)
            return status;
    }
    return CLI_DONE;
}

/* The number of an earlier trace of the same process, or NUMBER: a recovered trace and what it was made from. */
static size_t find_same(const struct cli_heap_processes *processes, size_t number)
{
    const sxt_trace_process *process = &processes->items[number].process;
    for (size_t i = 0; i < number && process->pid != 0; i++) {
        const sxt_trace_process *other = &processes->items[i].process;
        if (other->pid == process->pid && other->start_us == process->start_us)
            return i;
    }
    return number;
}

/* Opens the traces and leaves out those of a process that another one is of. */
static int open_all(struct cli_heap_processes *processes, bool root_first)
{
    for (size_t i = 0; i < processes->count;) {
        struct cli_heap_process *this = &processes->items[i];
        struct cli_heap heap;
        int status = cli_heap_open(this->path, root_first, &heap);
        if (status != CLI_DONE)
            return status;
        cli_warn_state(this->path, heap.trace);
        this->trace = heap.trace;
        this->process.pid = heap.info.pid;
        this->process.start_us = heap.info.start_us;
        size_t same = find_same(processes, i);
        if (same == i++)
            continue;
        cli_warn(this->path, "left out: it is of the same process as %s", processes->items[same].path);
        sxt_trace_close(&this->trace);
        free(this->path);
        memmove(this, this + 1, (--processes->count - --i) * sizeof *this);
    }
    return CLI_DONE;
}

static int join(const struct cli_arguments *arguments, struct cli_heap_processes *processes, struct cli_heap *heap)
{
    sxt_error error;
    int status = open_all(processes, cli_given(arguments, "root-first"));
    if (status != CLI_DONE)
        return status;
    const sxt_trace **traces = calloc(processes->count + 1, sizeof *traces);
    if (traces == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < processes->count; i++)
        traces[i] = processes->items[i].trace;
    status = sxt_trace_join(traces, processes->count, &heap->trace, &error);
    free(traces);
    if (status != SXT_OK)
        return cli_fail(arguments->words[0], &error);
    sxt_trace_get_info(heap->trace, &heap->info);
    for (size_t i = 0; i < processes->count; i++)
        (void)sxt_trace_get_process(heap->trace, i, &processes->items[i].process);
    return CLI_DONE;
}

/* --- the tree --- */

static int by_start(const void *left, const void *right, void *of)
{
    const struct cli_heap_process *items = of;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t of_a = items[a].process.start_us, of_b = items[b].process.start_us;
    return of_a != of_b ? (of_a < of_b ? -1 : 1) : (a > b) - (a < b);
}

/* Puts the processes into the order of the tree. */
static void order_tree(struct cli_heap_processes *processes, const uint32_t *sorted)
{
    struct cli_heap_process *items = processes->items;
    uint32_t roots = SXT_TRACE_NO_ID;
    for (size_t i = 0; i < processes->count; i++)
        items[i].child = SXT_TRACE_NO_ID;
    for (size_t i = processes->count; i > 0; i--) {
        struct cli_heap_process *item = &items[sorted[i - 1]];
        uint32_t *first = item->process.parent == SXT_TRACE_NO_ID ? &roots : &items[item->process.parent].child;
        item->sibling = *first;
        *first = sorted[i - 1];
    }
    size_t count = 0;
    unsigned depth = 0;
    for (uint32_t at = roots; at != SXT_TRACE_NO_ID && count < processes->count;) {
        items[at].depth = depth;
        processes->order[count++] = at;
        if (items[at].child != SXT_TRACE_NO_ID) {
            at = items[at].child;
            depth++;
            continue;
        }
        while (at != SXT_TRACE_NO_ID && items[at].sibling == SXT_TRACE_NO_ID) {
            at = items[at].process.parent;
            depth -= depth > 0;
        }
        at = at != SXT_TRACE_NO_ID ? items[at].sibling : at;
    }
}

static int make_tree(struct cli_heap_processes *processes)
{
    uint32_t *sorted = calloc(processes->count, sizeof *sorted);
    processes->order = calloc(processes->count, sizeof *processes->order);
    if (sorted == NULL || processes->order == NULL) {
        free(sorted);
        return cli_fail_text(NULL, "out of memory");
    }
    for (size_t i = 0; i < processes->count; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, processes->count, sizeof *sorted, by_start, processes->items);
    order_tree(processes, sorted);
    free(sorted);
    return CLI_DONE;
}

/* --- all --- */

int cli_heap_processes_open(const struct cli_arguments *arguments, struct cli_heap_processes *processes,
                            struct cli_heap *heap)
{
    static const char *const of_one[] = {"symbolize", "index", "address"};
    *heap = (struct cli_heap){.path = arguments->words[0],
                              .info.struct_size = sizeof heap->info,
                              .summary.struct_size = sizeof heap->summary,
                              .processes = processes};
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        if (cli_given(arguments, of_one[i]))
            return cli_usage(arguments->verb, "--%s needs one file", of_one[i]);
    sxt_heap_options_init(&heap->options);
    int status = add_words(arguments, processes);
    if (status != CLI_DONE)
        return status;
    status = join(arguments, processes, heap);
    return status == CLI_DONE ? make_tree(processes) : status;
}

void cli_heap_processes_close(struct cli_heap_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        sxt_trace_close(&processes->items[i].trace);
        free(processes->items[i].path);
    }
    free(processes->items);
    free(processes->order);
    *processes = (struct cli_heap_processes){0};
}

/* --- output --- */

static void emit_number_or_null(struct sxt_emit *emit, const char *key, uint64_t value)
{
    if (value == 0)
        sxt_emit_null(emit, key);
    else
        sxt_emit_number(emit, key, value);
}

static uint64_t sum_of_peaks(const struct cli_heap_processes *processes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < processes->count; i++)
        if (__builtin_add_overflow(sum, processes->items[i].total.peak_bytes, &sum))
            return UINT64_MAX;
    return sum;
}

/* Which blocks of the parent a filter would keep, or what was live at another moment, is not known. */
static bool knows_inherited(const struct cli_heap *heap)
{
    return !heap->processes->is_filtered && heap->options.to.kind == SXT_HEAP_MOMENT_NONE;
}

static void emit_process(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_process *one)
{
    const struct cli_heap_totals totals = {
        .summary = &one->summary,
        .total = &one->total,
        .whole = heap->processes->is_filtered ? &one->whole : NULL,
        .sample_period = heap->info.sample_period,
    };
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "file", one->path);
    emit_number_or_null(emit, "pid", one->process.pid);
    emit_number_or_null(emit, "parent_pid", one->process.parent_pid);
    sxt_emit_string(emit, "command_line", one->process.command_line);
    sxt_emit_number(emit, "depth", one->depth);
    cli_heap_emit_totals(emit, &totals);
    if (knows_inherited(heap)) {
        sxt_emit_number(emit, "inherited_bytes", one->process.inherited_bytes);
        sxt_emit_number(emit, "inherited_allocations", one->process.inherited_count);
    } else {
        sxt_emit_null(emit, "inherited_bytes");
        sxt_emit_null(emit, "inherited_allocations");
    }
    sxt_emit_record_end(emit);
}

static void emit_processes(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const struct cli_heap_processes *processes = heap->processes;
    const struct cli_heap_totals totals = cli_heap_totals_of(heap);
    for (size_t i = 0; i < processes->count; i++)
        emit_process(emit, heap, &processes->items[processes->order[i]]);
    sxt_emit_record(emit);
    sxt_emit_object(emit, "summary");
    sxt_emit_number(emit, "processes", processes->count);
    cli_heap_emit_totals(emit, &totals);
    sxt_emit_number(emit, "sum_of_peaks", sum_of_peaks(processes));
    sxt_emit_object_end(emit);
    sxt_emit_record_end(emit);
}

static struct cli_number thousands(uint64_t value)
{
    return cli_thousands((double)value);
}

static void print_tree(struct sxt_emit *emit, const struct cli_heap *heap)
{
    const struct cli_heap_processes *processes = heap->processes;
    sxt_emit_text(emit, "%15s  %15s  %15s  %15s  process\n", "peak", "leaked", "allocated", "inherited");
    for (size_t i = 0; i < processes->count; i++) {
        const struct cli_heap_process *one = &processes->items[processes->order[i]];
        unsigned indent = one->depth < 20 ? 2 * one->depth : 40;
        bool has_inherited = one->process.parent != SXT_TRACE_NO_ID && knows_inherited(heap);
        sxt_emit_text(emit, "%15s  %15s  %15s  %15s  %*s", thousands(one->total.peak_bytes).text,
                      thousands(one->total.leaked_bytes).text, thousands(one->total.bytes).text,
                      has_inherited ? thousands(one->process.inherited_bytes).text : "", (int)indent, "");
        if (one->process.pid != 0)
            sxt_emit_text(emit, "%llu  ", (unsigned long long)one->process.pid);
        sxt_emit_name(emit, one->process.command_line.data != NULL ? one->process.command_line
                                                                   : (sxt_string){one->path, strlen(one->path)});
        sxt_emit_text(emit, "\n");
    }
    uint64_t sum = sum_of_peaks(processes);
    if (processes->count == 1)
        sxt_emit_text(emit, "\n1 process\n\n");
    else
        sxt_emit_text(emit, "\n%s processes; the sum of their peaks is %s byte%s\n\n", thousands(processes->count).text,
                      thousands(sum).text, sum == 1 ? "" : "s");
}

void cli_heap_print_processes(struct sxt_emit *emit, const struct cli_heap *heap)
{
    if (sxt_emit_is_json(emit))
        emit_processes(emit, heap);
    else
        print_tree(emit, heap);
}
