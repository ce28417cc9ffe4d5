/* heap_request.c: what the options of `sextant heap` ask for. */
#include "cli/heap_request.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"

#define SITES_IN_SUMMARY  5
#define FRAMES_IN_SUMMARY 4
#define FRAMES_IN_TABLE   8
#define PATTERN_MOST      1000 /* bytes of a pattern in which a mistake is searched */

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

static int choose_cost(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    sxt_heap_cost *cost = &request->table.cost;
    const char *texts[] = {cli_value(arguments, "top"), cli_value(arguments, "cost")};
    const struct {
        const char *name;
        sxt_heap_cost cost;
    } flags[] = {{"at", SXT_HEAP_COST_LIVE},     {"from", SXT_HEAP_COST_GROWTH},
                 {"churn", SXT_HEAP_COST_CHURN}, {"temporary", SXT_HEAP_COST_TEMPORARY},
                 {"peak", SXT_HEAP_COST_PEAK},   {"leaks", SXT_HEAP_COST_LEAKED}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (!cli_given(arguments, flags[i].name))
            continue;
        *cost = flags[i].cost;
        request->shape = CLI_HEAP_TABLE;
    }
    for (size_t i = 0; i < 2; i++) {
        if (texts[i] == NULL)
            continue;
        request->shape = CLI_HEAP_TABLE;
        if (!find_cost(texts[i], cost))
            return cli_usage(arguments->verb, "--%s takes bytes, count, live, peak, leaked or temporary, not '%s'",
                             i == 0 ? "top" : "cost", texts[i]);
    }
    return CLI_DONE;
}

static int choose_key(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    static const char *const keys[] = {"stack", "function", "file", "thread", "size"};
    const char *by = cli_value(arguments, "by");
    if (by == NULL)
        return CLI_DONE;
    request->shape = CLI_HEAP_TABLE;
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

static int choose_shape(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    const struct {
        const char *name;
        enum cli_heap_shape shape;
    } flags[] = {{"tree", CLI_HEAP_TREE},         {"bottom-up", CLI_HEAP_TREE},      {"stack", CLI_HEAP_STACK},
                 {"address", CLI_HEAP_ADDRESS},   {"lifetimes", CLI_HEAP_LIFETIMES}, {"churn", CLI_HEAP_CHURN},
                 {"timeline", CLI_HEAP_TIMELINE}, {"markers", CLI_HEAP_MARKERS},     {"folded", CLI_HEAP_FOLDED},
                 {"pprof", CLI_HEAP_EXPORT},      {"speedscope", CLI_HEAP_EXPORT}};
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
    if (cli_given(arguments, "csv") && request->shape == CLI_HEAP_SUMMARY)
        request->shape = CLI_HEAP_TABLE;
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

static int take_numbers(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    sxt_heap_options *options_of = &request->options;
    uint64_t points = 0, most;
    request->all = cli_given(arguments, "all");
    bool is_whole = request->all || request->table.form != CLI_TABLE;
    most = is_whole ? UINT64_MAX : request->shape == CLI_HEAP_SUMMARY ? SITES_IN_SUMMARY : 30;
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
    if (status == CLI_DONE && request->shape == CLI_HEAP_TIMELINE && (points < 2 || points > 1000000))
        return cli_usage(arguments->verb, "--timeline takes a number of points, from 2 to 1000000");
    if (status == CLI_DONE && request->shape == CLI_HEAP_CHURN && options_of->churn == 0)
        return cli_usage(arguments->verb, "--churn takes a time above 0");
    options_of->timeline = points;
    options_of->windows = request->table.limit < 100000 ? request->table.limit : 100000;
    return status;
}

/* How stacks are shown. */
static int take_look(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    uint64_t usual = request->shape == CLI_HEAP_SUMMARY ? FRAMES_IN_SUMMARY : FRAMES_IN_TABLE, frames, depth;
    int status = cli_count_option(arguments, "frames", request->all ? 0 : usual, &frames);
    if (status == CLI_DONE)
        status = cli_count_option(arguments, "depth", 0, &depth);
    if (status != CLI_DONE)
        return status;
    if ((cli_given(arguments, "frames") && frames == 0) || (cli_given(arguments, "depth") && depth == 0))
        return cli_usage(arguments->verb, "--%s takes a number of frames above 0",
                         cli_given(arguments, "frames") && frames == 0 ? "frames" : "depth");
    request->options.depth = depth < UINT32_MAX ? (uint32_t)depth : UINT32_MAX;
    request->look = (struct cli_heap_look){
        .view = {.depth = request->options.depth,
                 .frames = frames < UINT32_MAX ? (uint32_t)frames : UINT32_MAX,
                 .folds_library = !cli_given(arguments, "show-library"),
                 .shortens_names = !cli_given(arguments, "wide")},
        .width = cli_terminal_width(arguments),
        .is_wide = cli_given(arguments, "wide"),
    };
    return CLI_DONE;
}

/* After the "]" of the brackets that begin at AT; 0 if there is none. */
static size_t pass_brackets(const char *pattern, size_t at)
{
    size_t first = at + 1 + (pattern[at + 1] == '^');
    for (at = first; pattern[at] != 0 && (pattern[at] != ']' || at == first); at++) {
        if (pattern[at] != '[' || strchr(".:=", pattern[at + 1]) == NULL || pattern[at + 1] == 0)
            continue;
        const char end[] = {pattern[at + 1], ']', 0}, *found = strstr(pattern + at + 2, end);
        if (found != NULL)
            at = (size_t)(found - pattern) + 1;
    }
    return pattern[at] != 0 ? at + 1 : 0;
}

/* The place of what is opened last in PATTERN and not closed; SIZE_MAX: everything is closed. */
static size_t find_open(const char *pattern)
{
    size_t open[PATTERN_MOST], depth = 0;
    for (size_t at = 0; pattern[at] != 0;) {
        size_t next = at + 1 + (pattern[at] == '\\' && pattern[at + 1] != 0);
        if (pattern[at] == '[' && (next = pass_brackets(pattern, at)) == 0)
            return at;
        if (pattern[at] == '(')
            open[depth++] = at;
        depth -= pattern[at] == ')' && depth > 0;
        at = next;
    }
    return depth > 0 ? open[depth - 1] : SIZE_MAX;
}

/* The first place from which on no beginning of PATTERN is right, and all have this PROBLEM. */
static size_t find_first(const char *pattern, int problem)
{
    size_t size = strlen(pattern);
    for (; size > 1; size--) {
        char beginning[PATTERN_MOST + 1];
        regex_t compiled;
        memcpy(beginning, pattern, size - 1);
        beginning[size - 1] = 0;
        int found = regcomp(&compiled, beginning, REG_EXTENDED | REG_NOSUB);
        if (found == 0)
            regfree(&compiled);
        if (found != problem)
            break;
    }
    return size - 1;
}

/* The character of PATTERN that is wrong, from 1, which regcomp does not say; 0: unknown. */
static size_t find_mistake(const char *pattern, int problem)
{
    size_t size = strlen(pattern), place = SIZE_MAX, characters = 0;
    if (size == 0 || size > PATTERN_MOST)
        return 0;
    if (problem == REG_EPAREN || problem == REG_EBRACK || pattern[size - 1] == '[')
        place = find_open(pattern);
    if (place == SIZE_MAX)
        place = find_first(pattern, problem);
    for (size_t i = 0; i <= place; i++)
        characters += ((unsigned char)pattern[i] & 0xc0) != 0x80;
    return characters;
}

static int check_pattern(const struct cli_arguments *arguments, const char *option, const char *pattern)
{
    regex_t compiled;
    char why[128], where[40] = "";
    int problem = regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB);
    if (problem == 0) {
        regfree(&compiled);
        return CLI_DONE;
    }
    regerror(problem, &compiled, why, sizeof why);
    size_t place = find_mistake(pattern, problem);
    if (place > 0)
        snprintf(where, sizeof where, " at character %zu", place);
    return cli_usage(arguments->verb, "--%s: not a regular expression: '%.200s' (%s%s)", option, pattern, why, where);
}

/* Fills in the filter. Its lists are parts of one. */
static int take_filter(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    const struct {
        const char *name;
        const char *const **list;
        size_t *count;
    } lists[] = {{"focus", &request->filter.focus, &request->filter.focus_count},
                 {"ignore", &request->filter.ignore, &request->filter.ignore_count},
                 {"module", &request->filter.modules, &request->filter.module_count},
                 {"thread", &request->filter.threads, &request->filter.thread_count}};
    size_t used = 0;
    sxt_heap_filter_init(&request->filter);
    request->patterns = calloc(arguments->given_count + 1, sizeof *request->patterns);
    if (request->patterns == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *text;
        *lists[i].list = request->patterns + used;
        for (size_t k = 0; (text = cli_value_at(arguments, lists[i].name, k)) != NULL; k++) {
            if (text[0] == 0)
                return cli_usage(arguments->verb, "--%s needs a value that is not empty", lists[i].name);
            if (i < 2 && check_pattern(arguments, lists[i].name, text) != CLI_DONE)
                return CLI_USAGE;
            request->patterns[used++] = text;
            ++*lists[i].count;
        }
    }
    if (used > 0)
        request->options.filter = &request->filter;
    return CLI_DONE;
}

static int take_address(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    const char *text = cli_value(arguments, "address");
    if (text != NULL && !cli_parse_address(text, &request->address))
        return cli_usage(arguments->verb, "not a hexadecimal address: '%s'", text);
    return CLI_DONE;
}

int cli_heap_request_moments(const struct cli_arguments *arguments, const struct cli_heap *heap,
                             struct cli_heap_request *request)
{
    sxt_heap_options *options_of = &request->options;
    const char *at = cli_value(arguments, "at"), *from = cli_value(arguments, "from");
    const char *until = cli_value(arguments, "until");
    if (at != NULL && (from != NULL || until != NULL))
        return cli_usage(arguments->verb, "--at cannot be used with --from, --until or --between");
    if (request->table.cost == SXT_HEAP_COST_TEMPORARY && heap->info.is_sampled)
        return cli_fail_text(heap->path, "a sample does not show which allocations are temporary");
    request->is_state = at != NULL || (from != NULL && request->table.cost == SXT_HEAP_COST_GROWTH);
    request->table.only_live = at != NULL && request->shape == CLI_HEAP_TABLE &&
                               request->table.cost == SXT_HEAP_COST_LIVE && request->table.form != CLI_CSV &&
                               !heap->info.is_sampled;
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

static int check_symbolizing(const struct cli_arguments *arguments)
{
    static const char *const companions[] = {"search", "debug-dir", "output", "url", "api-key", "api-key-file", "ca"};
    const char *output = cli_value(arguments, "output");
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++)
        if (cli_given(arguments, companions[i]) && !cli_given(arguments, "symbolize"))
            return cli_usage(arguments->verb, "--%s needs --symbolize", companions[i]);
    if (output != NULL && strcmp(output, "-") == 0)
        return cli_usage(arguments->verb, "-o needs a file; standard output is used for the results");
    return CLI_DONE;
}

/* The summary has leaks too, but all of them. */
static int check_leaks(const struct cli_arguments *arguments, const struct cli_heap_request *request)
{
    static const char *const of_leaks[] = {"min-age", "suppressions", "no-default-suppressions"};
    bool is_leaks = request->table.cost == SXT_HEAP_COST_LEAKED;
    for (size_t i = 0; i < sizeof of_leaks / sizeof *of_leaks; i++)
        if (cli_given(arguments, of_leaks[i]) && !is_leaks && (i == 0 || request->shape != CLI_HEAP_SUMMARY))
            return cli_usage(arguments->verb, "--%s needs --leaks", of_leaks[i]);
    return CLI_DONE;
}

void cli_heap_request_free(struct cli_heap_request *request)
{
    free(request->patterns);
    request->patterns = NULL;
}

int cli_heap_request_parse(const struct cli_arguments *arguments, struct cli_heap_request *request)
{
    int (*const steps[])(const struct cli_arguments *, struct cli_heap_request *) = {
        choose_cost, choose_key, choose_shape, take_numbers, take_look, take_filter, take_address};
    unsigned threads; /* those of --symbolize, but a bad number is always an error */
    sxt_heap_options_init(&request->options);
    int status = cli_threads(arguments, &threads);
    if (status == CLI_DONE)
        status = cli_heap_check_conflicts(arguments);
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == CLI_DONE; i++)
        status = steps[i](arguments, request);
    if (status == CLI_DONE)
        status = check_symbolizing(arguments);
    if (status == CLI_DONE)
        status = check_leaks(arguments, request);
    if (status == CLI_DONE)
        status = cli_check_binary(arguments, "pprof", "--pprof");
    return status;
}
