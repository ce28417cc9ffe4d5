/* heap.c: where the memory of a program went, from a trace of its allocations. */
#include "cli/heap_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/heap_live.h"
#include "cli/heap_processes.h"
#include "cli/server_options.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"peak", 0, NULL, "what was live at the peak", NULL},
    {"leaks", 0, NULL, "what was never freed", NULL},
    {"min-age", 0, "TIME", "for --leaks: only blocks that lived at least this long", NULL},
    {"suppressions", 0, "FILE",
     "hide known leaks, as LeakSanitizer does: lines leak:PATTERN match\nfunctions and files; may be repeated", NULL},
    {"no-default-suppressions", 0, NULL, "also show what libc and libstdc++ keep until the end", NULL},
    {"temporary", 0, "[=N]", "what was freed after its thread had allocated at most N other\nblocks (default 0)", NULL},
    {"top", 0, "[=COST]", "the stacks with the highest cost (default bytes)", "bytes count live peak leaked temporary"},
    {"by", 0, "KEY", "sums by stack, function, file, thread or size", "stack function file thread size"},
    {"tree", 0, NULL, "a tree from main to the allocations", NULL},
    {"bottom-up", 0, NULL, "a tree from the allocations to their callers", NULL},
    {"stack", 0, "ID", "everything about one stack", NULL},
    {"address", 0, "0xADDRESS", "the history of one address: each block that it was in", NULL},
    {"focus", 0, "RE",
     "only stacks in which a function or file matches RE, a POSIX\nextended regular expression; may be repeated", NULL},
    {"ignore", 0, "RE", "no stacks in which a function or file matches RE", NULL},
    {"module", 0, "NAME", "only allocations by code of this program or library", NULL},
    {"thread", 0, "THREAD", "only allocations by this thread: its number or name", NULL},
    {"depth", 0, "N", "cut stacks to their N innermost frames, and merge them", NULL},
    {"lifetimes", 0, NULL, "how long blocks lived", NULL},
    {"churn", 0, "WINDOW", "the busiest windows of that width (10ms, 1s), and blocks that\nlived for less", NULL},
    {"timeline", 0, "[=N]", "live bytes over time, in at most N points (default 64)", NULL},
    {"markers", 0, NULL, "the markers, what was live at each, and the peak after it", NULL},
    {"at", 0, "MOMENT",
     "what was live then: a time since the start (1.5s, 20ms), an\nabsolute time as dump prints it, or a marker", NULL},
    {"index", 0, NULL, "write FILE.live first, which makes --at fast", NULL},
    {"from", 0, "MOMENT", "leave out what happened before", NULL},
    {"until", 0, "MOMENT", "leave out what happened after", NULL},
    {"between", 0, "A B", "what grew between two moments: --from A --until B", NULL},
    {"live", 0, NULL,
     "the heap of a program that is being recorded, until it ends: FILE\n"
     "is the trace that record will write, its folder, or a process ID;\n"
     "in a pipe or with --json one object per second",
     NULL},
    {"interval", 0, "S", "for --live: refresh every S seconds (default 1)", NULL},
    {"symbolize", 0, NULL,
     "first find names for addresses that have none, and store them\nin FILE, or in the file given by -o", NULL},
    {"search", 0, "DIR", "for --symbolize: also search binaries, debug files and archives\nbelow DIR; may be repeated",
     NULL},
    {"debug-dir", 0, "DIR", "for --symbolize: search debug files below DIR instead of\n/usr/lib/debug", NULL},
    {"url", 0, "URL", "for --symbolize: ask the symbol service at URL for what is not\nfound", NULL},
    CLI_OPTIONS_SERVER,
    {"output", 'o', "FILE", "for --symbolize: write the trace with names to FILE", NULL},
    {"folded", 0, NULL, "stacks for flame graphs: main;f;g COST", NULL},
    {"pprof", 0, "FILE", "write a profile for pprof", NULL},
    {"speedscope", 0, "FILE", "write a profile for speedscope", NULL},
    {"cost", 0, "COST", "what counts: bytes, count, live, peak, leaked, temporary",
     "bytes count live peak leaked temporary"},
    {"root-first", 0, NULL, "stacks of FILE begin with main, whatever its metadata says", NULL},
    CLI_OPTION_JSON,
    {"csv", 0, NULL, "print CSV with a header line", NULL},
    CLI_OPTION_THREADS,
    {"limit", 'n', "N", "print at most N rows (default: 5 of each kind in the summary, 30\notherwise)", NULL},
    {"frames", 0, "N", "print at most N frames of a stack (default: 4 in the summary, 8\notherwise)", NULL},
    {"show-library", 0, NULL, "also print frames of libc, of the C++, Rust and Go libraries, and\nof CPython", NULL},
    {"wide", 0, NULL, "print whole names: with template arguments, not cut to the\nwidth of the terminal", NULL},
    {"all", 0, NULL, "print all rows, and all frames of each", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant heap app.mlyze", "peak, leaks, totals, and the stacks with the most of each"},
    {"sextant heap app.mlyze --leaks --min-age 1s", "leaks, without blocks of the last second"},
    {"sextant heap app.mlyze --peak --tree", "who held memory at the peak, from main down"},
    {"sextant heap app.mlyze --focus parse_config --thread worker", "what parse_config allocated on one thread"},
    {"sextant heap app.mlyze --between loaded done", "what grew between two markers"},
    {"sextant heap app.mlyze --timeline=1000 --csv > live.csv", "live bytes over time, for a chart"},
    {"sextant heap app.mlyze --address 0x55d0c0de", "who had this address, and when"},
    {"sextant heap app.mlyze --symbolize --search /srv/binaries", "names for a trace from another machine"},
    {"sextant record --follow-fork -o heap/app.mlyze -- make; sextant heap heap", "all processes of a build"},
    {"sextant heap --live 1234", "the heap of process 1234, which is being recorded, as top shows it"},
    {"sextant heap app.mlyze --peak --folded | flamegraph.pl > peak.svg", "a flame graph"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);
static int run_words(int argc, char **argv);

const struct cli_verb cli_heap = {
    .name = "heap",
    .synopsis = "[OPTION...] FILE|FOLDER...",
    .summary = "show where the memory of a program went",
    .description =
        "Reads a heap trace (.mlyze), plain or compressed, and prints peak, leaks and totals, each with the\n"
        "stacks that have the most. Stacks with the same frames are one row. --peak, --leaks, --temporary and\n"
        "--cost choose what is counted, --focus, --ignore, --module and --thread which allocations; --by,\n"
        "--tree, --folded and others choose how it is shown. kB is 1000 bytes. Several traces, or a\n"
        "folder of them, are those of processes: a tree of them is shown, and everything else is of all of\n"
        "them together. See docs/heap.md for the definitions.",
    .options = options,
    .examples = examples,
    .run_words = run_words,
};

/* --- the command line --- */

static const char *const implied[] = {"--temporary=0", "--top=bytes", "--timeline=64"};

/* "--temporary" is "--temporary=0"; also if it is shortened and no other option begins like it. */
static const char *with_argument(const char *word)
{
    size_t size = strlen(word), candidates = 0;
    const char *found = word;
    if (size < 3 || strchr(word, '=') != NULL)
        return word;
    for (size_t i = 0; options[i].name != NULL; i++) {
        if (strcmp(options[i].name, word + 2) == 0)
            candidates = 0;
        candidates += strncmp(options[i].name, word + 2, size - 2) == 0;
        if (strcmp(options[i].name, word + 2) == 0)
            break;
    }
    for (size_t i = 0; i < sizeof implied / sizeof *implied && candidates == 1; i++)
        if (strncmp(implied[i], word, size) == 0)
            found = implied[i];
    return found;
}

/* Options with two arguments, or with one that may be left out, are rewritten for the common parser. */
static int run_words(int argc, char **argv)
{
    struct cli_verb plain_verb = cli_heap;
    plain_verb.run_words = NULL;
    plain_verb.run = run;
    const char **words = calloc((size_t)argc * 2 + 1, sizeof *words);
    int count = 0, status = CLI_DONE;
    bool only_words = false;
    if (words == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (int i = 1; i < argc && status == CLI_DONE; i++) {
        bool is_between = !only_words && strcmp(argv[i], "--between") == 0;
        only_words |= strcmp(argv[i], "--") == 0;
        if (!is_between) {
            words[count++] = only_words || strncmp(argv[i], "--", 2) != 0 ? argv[i] : with_argument(argv[i]);
            continue;
        }
        if (i + 2 >= argc) {
            status = cli_usage(&plain_verb, "--between needs two moments");
            continue;
        }
        words[count++] = "--from";
        words[count++] = argv[++i];
        words[count++] = "--until";
        words[count++] = argv[++i];
    }
    if (status == CLI_DONE)
        status = cli_run(&plain_verb, count, (char **)(uintptr_t)words);
    free(words);
    return status;
}

/* --- what is printed --- */

static int write_exports(const struct cli_arguments *arguments, const struct cli_heap *heap)
{
    static const struct {
        const char *name;
        sxt_heap_format format;
    } exports[] = {{"pprof", SXT_HEAP_PPROF}, {"speedscope", SXT_HEAP_SPEEDSCOPE}};
    for (size_t i = 0; i < sizeof exports / sizeof *exports; i++) {
        const char *path = cli_value(arguments, exports[i].name);
        sxt_error error;
        if (path != NULL &&
            sxt_heap_write_path(heap->usage, exports[i].format, SXT_HEAP_COST_BYTES, path, &error) != SXT_OK)
            return cli_fail(path, &error);
    }
    return CLI_DONE;
}

static int print_folded(const struct cli_heap *heap, sxt_heap_cost cost)
{
    sxt_error error;
    if (sxt_heap_write_path(heap->usage, SXT_HEAP_FOLDED, cost, "-", &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    return CLI_DONE;
}

static int print_table(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_request *request)
{
    if (request->is_state && request->table.form != CLI_CSV)
        cli_heap_print_state(emit, heap);
    int status = cli_heap_print_table(emit, heap, &request->table);
    if (request->table.cost == SXT_HEAP_COST_LEAKED && request->table.form == CLI_TABLE)
        cli_heap_print_suppressed(emit, heap);
    if (request->table.form == CLI_TABLE)
        cli_heap_print_estimated(emit, heap);
    return status;
}

static int print_shape(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_request *request)
{
    switch (request->shape) {
    case CLI_HEAP_SUMMARY:
        if (heap->processes != NULL)
            cli_heap_print_processes(emit, heap);
        if (heap->processes != NULL && sxt_emit_is_json(emit))
            return CLI_DONE;
        return cli_heap_print_summary(emit, heap, request->table.limit);
    case CLI_HEAP_TABLE:
        return print_table(emit, heap, request);
    case CLI_HEAP_TREE:
        return cli_heap_print_tree(emit, heap, request->table.cost, request->bottom_up, request->all);
    case CLI_HEAP_STACK:
        return cli_heap_print_stack(emit, heap, request->stack);
    case CLI_HEAP_LIFETIMES:
        cli_heap_print_lifetimes(emit, heap);
        return CLI_DONE;
    case CLI_HEAP_CHURN:
        cli_heap_print_windows(emit, heap);
        sxt_emit_text(emit, "\nstacks whose blocks lived for less\n");
        return cli_heap_print_table(emit, heap, &request->table);
    case CLI_HEAP_TIMELINE:
        cli_heap_print_timeline(emit, heap, request->table.form);
        return CLI_DONE;
    case CLI_HEAP_MARKERS:
        cli_heap_print_markers(emit, heap);
        return CLI_DONE;
    case CLI_HEAP_FOLDED:
        return print_folded(heap, request->table.cost);
    case CLI_HEAP_ADDRESS:
    case CLI_HEAP_EXPORT:
        return CLI_DONE;
    }
    return CLI_DONE;
}

/* The summary says itself what the filter keeps. */
static int print(struct sxt_emit *emit, const struct cli_heap *heap, const struct cli_heap_request *request)
{
    bool is_text =
        request->table.form == CLI_TABLE && request->shape != CLI_HEAP_FOLDED && request->shape != CLI_HEAP_EXPORT;
    if (request->shape != CLI_HEAP_SUMMARY && is_text)
        cli_heap_print_filter(emit, heap);
    int status = print_shape(emit, heap, request);
    if (request->shape != CLI_HEAP_SUMMARY && !is_text)
        cli_heap_note_filter(heap);
    return status;
}

/* The history of an address needs no analysis. */
static int show_address(struct cli_heap *heap, const struct cli_heap_request *request)
{
    struct sxt_emit emit;
    heap->look = request->look;
    sxt_emit_init(&emit, stdout, request->table.form == CLI_JSON);
    return cli_finish(&emit, cli_heap_print_address(&emit, heap, request->address));
}

static int analyse(const struct cli_arguments *arguments, struct cli_heap *heap, const struct cli_heap_request *request)
{
    struct sxt_emit emit;
    heap->options = request->options;
    heap->look = request->look;
    int status = cli_heap_analyse(heap);
    if (status == CLI_DONE)
        status = cli_heap_suppress(arguments, heap, true);
    if (status == CLI_DONE && heap->processes != NULL)
        status = cli_heap_processes_analyse(arguments, heap);
    if (status == CLI_DONE)
        status = write_exports(arguments, heap);
    if (status == CLI_DONE) {
        sxt_emit_init(&emit, stdout, request->table.form == CLI_JSON);
        status = cli_finish(&emit, print(&emit, heap, request));
    }
    return status == CLI_DONE ? cli_heap_warn(heap) : status;
}

/* Opens the trace to analyse. The caller closes HEAP, also after a failure. */
static int open_trace(const struct cli_arguments *arguments, struct cli_heap *heap)
{
    const char *path = arguments->words[0];
    sxt_error error;
    bool is_indexed = cli_given(arguments, "index");
    int status = cli_heap_open(path, cli_given(arguments, "root-first"), heap);
    if (status != CLI_DONE)
        return status;
    /* A trace that was cut off cannot be indexed; the error says so, and a warning would repeat it. */
    if (!is_indexed || cli_given(arguments, "symbolize"))
        cli_warn_state(path, heap->trace);
    if (cli_given(arguments, "symbolize"))
        status = cli_heap_symbolize(arguments, heap);
    if (status == CLI_DONE && is_indexed && sxt_trace_save_caches(heap->trace, SXT_TRACE_LIVE, &error) != SXT_OK)
        status = cli_fail(heap->path, &error);
    return status;
}

static int run(const struct cli_arguments *arguments)
{
    struct cli_heap_request request = {.shape = CLI_HEAP_SUMMARY};
    struct cli_heap_processes processes = {0};
    struct cli_heap heap = {0};
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    if (cli_given(arguments, "live"))
        return cli_heap_live(arguments);
    if (cli_given(arguments, "interval"))
        return cli_usage(arguments->verb, "--interval needs --live");
    int status = cli_heap_request_parse(arguments, &request);
    if (status == CLI_DONE)
        status = cli_heap_are_several(arguments) ? cli_heap_processes_open(arguments, &processes, &heap)
                                                 : open_trace(arguments, &heap);
    if (status == CLI_DONE)
        status = cli_heap_request_moments(arguments, &heap, &request);
    if (status == CLI_DONE && request.shape == CLI_HEAP_ADDRESS)
        status = show_address(&heap, &request);
    else if (status == CLI_DONE)
        status = analyse(arguments, &heap, &request);
    cli_heap_close(&heap);
    cli_heap_request_free(&request);
    if (status == CLI_DONE && processes.is_damaged)
        status = CLI_NO;
    cli_heap_processes_close(&processes);
    return status;
}
