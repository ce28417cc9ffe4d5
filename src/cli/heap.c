/* heap.c: where the memory of a program went, from a trace of its allocations. */
#include "cli/heap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"peak", 0, NULL, "what was live at the peak", NULL},
    {"leaks", 0, NULL, "what was never freed", NULL},
    {"min-age", 0, "TIME", "for --leaks: only blocks that lived at least this long", NULL},
    {"suppressions", 0, "FILE", "for --leaks: hide known leaks; lines leak:PATTERN match functions\nand files", NULL},
    {"temporary", 0, "[=N]", "what was freed after its thread had allocated at most N other\nblocks (default 0)", NULL},
    {"top", 0, "[=COST]", "the stacks with the highest cost (default bytes)", "bytes count live peak leaked temporary"},
    {"by", 0, "KEY", "sums by stack, function, file, thread or size", "stack function file thread size"},
    {"tree", 0, NULL, "a tree from main to the allocations", NULL},
    {"bottom-up", 0, NULL, "a tree from the allocations to their callers", NULL},
    {"stack", 0, "ID", "everything about one stack", NULL},
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
    {"symbolize", 0, NULL,
     "first find names for addresses that have none, and store them\nin FILE, or in the file given by -o", NULL},
    {"search", 0, "DIR", "for --symbolize: also search binaries, debug files and archives\nbelow DIR; may be repeated",
     NULL},
    {"debug-dir", 0, "DIR", "for --symbolize: search debug files below DIR instead of\n/usr/lib/debug", NULL},
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
    {"limit", 'n', "N", "print at most N rows (default: 10 in the summary, 30 otherwise)", NULL},
    {"all", 0, NULL, "print all rows", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant heap app.mlyze", "peak, totals, and the stacks that allocated the most"},
    {"sextant heap app.mlyze --leaks --min-age 1s", "leaks, without blocks of the last second"},
    {"sextant heap app.mlyze --peak --tree", "who held memory at the peak, from main down"},
    {"sextant heap app.mlyze --between loaded done", "what grew between two markers"},
    {"sextant heap app.mlyze --symbolize --search /srv/binaries", "names for a trace from another machine"},
    {"sextant heap app.mlyze --peak --folded | flamegraph.pl > peak.svg", "a flame graph"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);
static int run_words(int argc, char **argv);

const struct cli_verb cli_heap = {
    .name = "heap",
    .synopsis = "[OPTION...] FILE",
    .summary = "show where the memory of a program went",
    .description =
        "Reads a heap trace (.mlyze), plain or compressed, and prints its peak, its totals and its largest\n"
        "stacks. --peak, --leaks, --temporary and --cost choose what is counted; --by, --tree, --folded and\n"
        "others choose how it is shown. See docs/heap.md for the definitions.",
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

enum shape { SUMMARY, TABLE, TREE, STACK, LIFETIMES, CHURN, TIMELINE, MARKERS, FOLDED, EXPORT };

struct request {
    enum shape shape;
    struct cli_heap_table table;
    sxt_heap_options options;
    bool bottom_up, all, is_state;
    uint64_t stack;
};

static bool find_cost(const char *text, sxt_heap_cost *cost)
{
    for (sxt_heap_cost i = SXT_HEAP_COST_BYTES; i <= SXT_HEAP_COST_TEMPORARY; i++) {
        if (strcmp(text, cli_heap_cost_name(i)) == 0) {
            *cost = i;
            return true;
        }
    }
    return false;
}

static int choose_cost(const struct cli_arguments *arguments, struct request *request)
{
    sxt_heap_cost *cost = &request->table.cost;
    const char *texts[] = {cli_value(arguments, "top"), cli_value(arguments, "cost")};
    const struct {
        const char *name;
        sxt_heap_cost cost;
    } flags[] = {{"at", SXT_HEAP_COST_LIVE},     {"from", SXT_HEAP_COST_GROWTH},
                 {"churn", SXT_HEAP_COST_CHURN}, {"temporary", SXT_HEAP_COST_TEMPORARY},
                 {"peak", SXT_HEAP_COST_PEAK},   {"leaks", SXT_HEAP_COST_LEAKED}};
    if (cli_given(arguments, "peak") + cli_given(arguments, "leaks") + cli_given(arguments, "temporary") +
            (texts[0] != NULL) >
        1)
        return cli_usage(arguments->verb, "--peak, --leaks, --temporary and --top cannot be used together");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!cli_given(arguments, flags[i].name))
            continue;
        *cost = flags[i].cost;
        request->shape = TABLE;
    }
    for (size_t i = 0; i < 2; i++) {
        if (texts[i] == NULL)
            continue;
        request->shape = TABLE;
        if (!find_cost(texts[i], cost))
            return cli_usage(arguments->verb, "--%s takes bytes, count, live, peak, leaked or temporary, not '%s'",
                             i == 0 ? "top" : "cost", texts[i]);
    }
    return CLI_DONE;
}

static int choose_key(const struct cli_arguments *arguments, struct request *request)
{
    static const char *const keys[] = {"stack", "function", "file", "thread", "size"};
    const char *by = cli_value(arguments, "by");
    if (by == NULL)
        return CLI_DONE;
    request->shape = TABLE;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(by, keys[i]) != 0)
            continue;
        request->table.key = (sxt_heap_key)i;
        request->options.by_thread = i == SXT_HEAP_BY_THREAD;
        request->options.by_size = i == SXT_HEAP_BY_SIZE;
        return CLI_DONE;
    }
    return cli_usage(arguments->verb, "--by takes stack, function, file, thread or size, not '%s'", by);
}

static int choose_shape(const struct cli_arguments *arguments, struct request *request)
{
    const struct {
        const char *name;
        enum shape shape;
    } flags[] = {{"tree", TREE},    {"bottom-up", TREE},    {"stack", STACK},     {"lifetimes", LIFETIMES},
                 {"churn", CHURN},  {"timeline", TIMELINE}, {"markers", MARKERS}, {"folded", FOLDED},
                 {"pprof", EXPORT}, {"speedscope", EXPORT}};
    const char *first = NULL;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!cli_given(arguments, flags[i].name))
            continue;
        if (first != NULL && flags[i].shape != request->shape)
            return cli_usage(arguments->verb, "--%s and --%s cannot be used together", first, flags[i].name);
        first = flags[i].name;
        request->shape = flags[i].shape;
    }
    request->bottom_up = cli_given(arguments, "bottom-up");
    if (cli_given(arguments, "json") && cli_given(arguments, "csv"))
        return cli_usage(arguments->verb, "--json and --csv cannot be used together");
    if (cli_given(arguments, "csv")) {
        if (request->shape != TABLE && request->shape != SUMMARY)
            return cli_usage(arguments->verb, "--csv is for tables");
        request->shape = TABLE;
    }
    request->table.form = cli_given(arguments, "json") ? CLI_JSON : cli_given(arguments, "csv") ? CLI_CSV : CLI_TABLE;
    return CLI_DONE;
}

static int take_duration(const struct cli_arguments *arguments, const char *name, uint64_t *out)
{
    const char *text = cli_value(arguments, name);
    if (text != NULL && !sxt_heap_parse_duration(text, out))
        return cli_usage(arguments->verb, "--%s takes a time like 250ms or 1.5s, not '%s'", name, text);
    return CLI_DONE;
}

static int take_numbers(const struct cli_arguments *arguments, struct request *request)
{
    sxt_heap_options *options_of = &request->options;
    uint64_t points = 0, most;
    request->all = cli_given(arguments, "all");
    bool is_whole = request->all || request->table.form != CLI_TABLE;
    most = is_whole ? UINT64_MAX : request->shape == SUMMARY ? 10 : 30;
    int status = cli_count_option(arguments, "temporary", 0, &options_of->temporary);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "timeline", 0, &points);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "limit", most, &request->table.limit);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "stack", 0, &request->stack);
    if (status == CLI_DONE)
        status = take_duration(arguments, "min-age", &options_of->min_age);
    if (status == CLI_DONE)
        status = take_duration(arguments, "churn", &options_of->churn);
    if (status == CLI_DONE && request->shape == TIMELINE && (points < 2 || points > 1000000))
        return cli_usage(arguments->verb, "--timeline takes a number of points, from 2 to 1000000");
    if (status == CLI_DONE && request->shape == CHURN && options_of->churn == 0)
        return cli_usage(arguments->verb, "--churn takes a time above 0");
    options_of->timeline = points;
    options_of->windows = request->table.limit < 100000 ? request->table.limit : 100000;
    return status;
}

/* The options of the analysis are complete with these. */
static int take_moments(const struct cli_arguments *arguments, const struct cli_heap *heap, struct request *request)
{
    sxt_heap_options *options_of = &request->options;
    const char *at = cli_value(arguments, "at"), *from = cli_value(arguments, "from");
    const char *until = cli_value(arguments, "until");
    if (at != NULL && (from != NULL || until != NULL))
        return cli_usage(arguments->verb, "--at cannot be used with --from, --until or --between");
    request->is_state = at != NULL || (from != NULL && request->table.cost == SXT_HEAP_COST_GROWTH);
    request->table.only_live = at != NULL && request->shape == TABLE && request->table.cost == SXT_HEAP_COST_LIVE &&
                               request->table.form != CLI_CSV && !heap->info.is_sampled;
    options_of->only_live = request->table.only_live;
    if (from != NULL)
        sxt_trace_parse_moment(heap->trace, from, &options_of->from);
    if (at != NULL || until != NULL)
        sxt_trace_parse_moment(heap->trace, at != NULL ? at : until, &options_of->to);
    if (options_of->from.kind == SXT_HEAP_MOMENT_TIME && options_of->to.kind == SXT_HEAP_MOMENT_TIME &&
        options_of->from.time > options_of->to.time)
        return cli_usage(arguments->verb, "'%s' is later than '%s'", from, until);
    return CLI_DONE;
}

/* --- what is printed --- */

static int suppress(const struct cli_arguments *arguments, struct cli_heap *heap)
{
    const char *path;
    for (size_t i = 0; (path = cli_value_at(arguments, "suppressions", i)) != NULL; i++) {
        struct sxt_file file;
        sxt_error error;
        int status = sxt_file_open(&file, path, &error);
        if (status == SXT_OK)
            status = sxt_heap_suppress(heap->usage, (sxt_string){(const char *)file.data, file.size}, &error);
        sxt_file_close(&file);
        if (status != SXT_OK)
            return cli_fail(path, &error);
    }
    sxt_heap_get_summary(heap->usage, &heap->summary);
    return CLI_DONE;
}

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

static int print_table(struct sxt_emit *emit, const struct cli_heap *heap, const struct request *request)
{
    const sxt_heap_summary *summary = &heap->summary;
    if (request->is_state && request->table.form != CLI_CSV)
        cli_heap_print_state(emit, heap);
    int status = cli_heap_print_table(emit, heap, &request->table);
    if (request->table.cost == SXT_HEAP_COST_LEAKED && request->table.form == CLI_TABLE &&
        summary->suppressed_count > 0)
        sxt_emit_text(emit, "%s bytes in %s block%s are suppressed\n",
                      cli_thousands((double)summary->suppressed_bytes).text,
                      cli_thousands((double)summary->suppressed_count).text, summary->suppressed_count == 1 ? "" : "s");
    return status;
}

static int print(struct sxt_emit *emit, const struct cli_heap *heap, const struct request *request)
{
    switch (request->shape) {
    case SUMMARY:
        cli_heap_print_summary(emit, heap);
        if (sxt_emit_is_json(emit))
            return CLI_DONE;
        sxt_emit_text(emit, "\nstacks that allocated the most\n");
        return cli_heap_print_table(emit, heap, &request->table);
    case TABLE:
        return print_table(emit, heap, request);
    case TREE:
        return cli_heap_print_tree(emit, heap, request->table.cost, request->bottom_up, request->all);
    case STACK:
        return cli_heap_print_stack(emit, heap, request->stack);
    case LIFETIMES:
        cli_heap_print_lifetimes(emit, heap);
        return CLI_DONE;
    case CHURN:
        cli_heap_print_windows(emit, heap);
        sxt_emit_text(emit, "\nstacks whose blocks lived for less\n");
        return cli_heap_print_table(emit, heap, &request->table);
    case TIMELINE:
        cli_heap_print_timeline(emit, heap);
        return CLI_DONE;
    case MARKERS:
        cli_heap_print_markers(emit, heap);
        return CLI_DONE;
    case FOLDED:
        return print_folded(heap, request->table.cost);
    case EXPORT:
        return CLI_DONE;
    }
    return CLI_DONE;
}

static int analyse(const struct cli_arguments *arguments, struct cli_heap *heap, const struct request *request)
{
    struct sxt_emit emit;
    heap->options = request->options;
    int status = cli_heap_analyse(heap);
    if (status == CLI_DONE)
        status = suppress(arguments, heap);
    if (status == CLI_DONE)
        status = write_exports(arguments, heap);
    if (status == CLI_DONE) {
        sxt_emit_init(&emit, stdout, request->table.form == CLI_JSON);
        status = cli_finish(&emit, print(&emit, heap, request));
    }
    return status == CLI_DONE ? cli_heap_warn(heap) : status;
}

static int check_symbolizing(const struct cli_arguments *arguments)
{
    static const char *const companions[] = {"search", "debug-dir", "output"};
    const char *output = cli_value(arguments, "output");
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (cli_given(arguments, companions[i]) && !cli_given(arguments, "symbolize"))
            return cli_usage(arguments->verb, "--%s needs --symbolize", companions[i]);
    if (output != NULL && strcmp(output, "-") == 0)
        return cli_usage(arguments->verb, "-o needs a file; standard output is used for the results");
    return CLI_DONE;
}

static int check_leaks(const struct cli_arguments *arguments, sxt_heap_cost cost)
{
    static const char *const of_leaks[] = {"suppressions", "min-age"};
    for (size_t i = 0; i < sizeof of_leaks / sizeof *of_leaks; i++)
        if (cli_given(arguments, of_leaks[i]) && cost != SXT_HEAP_COST_LEAKED)
            return cli_usage(arguments->verb, "--%s needs --leaks", of_leaks[i]);
    return CLI_DONE;
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

static int parse_options(const struct cli_arguments *arguments, struct request *request)
{
    unsigned threads; /* those of --symbolize, but a bad number is always an error */
    sxt_heap_options_init(&request->options);
    int status = cli_threads(arguments, &threads);
    if (status == CLI_DONE)
        status = choose_cost(arguments, request);
    if (status == CLI_DONE)
        status = choose_key(arguments, request);
    if (status == CLI_DONE)
        status = choose_shape(arguments, request);
    if (status == CLI_DONE)
        status = take_numbers(arguments, request);
    if (status == CLI_DONE)
        status = check_symbolizing(arguments);
    if (status == CLI_DONE)
        status = check_leaks(arguments, request->table.cost);
    if (status == CLI_DONE)
        status = cli_check_binary(arguments, "pprof", "--pprof");
    return status;
}

static int run(const struct cli_arguments *arguments)
{
    struct request request = {.shape = SUMMARY};
    struct cli_heap heap;
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, arguments->word_count == 0 ? "no file given" : "one file at a time");
    int status = parse_options(arguments, &request);
    if (status != CLI_DONE)
        return status;
    status = open_trace(arguments, &heap);
    if (status == CLI_DONE)
        status = take_moments(arguments, &heap, &request);
    if (status == CLI_DONE)
        status = analyse(arguments, &heap, &request);
    cli_heap_close(&heap);
    return status;
}
