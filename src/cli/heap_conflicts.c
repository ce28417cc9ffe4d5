/* heap_conflicts.c: options of `sextant heap` that contradict each other. What would be ignored is refused. */
#include <string.h>

#include "cli/heap_request.h"

#define NAMES_MOST 10

/* No option of the first list goes with one of the second. */
struct conflict {
    const char *these[NAMES_MOST], *those[NAMES_MOST];
};

#define COSTS "peak", "leaks", "temporary", "top", "cost"

static const struct conflict conflicts[] = {
    /* What is counted: only one. */
    {{COSTS}, {COSTS}},
    {{"at", "churn"}, {COSTS}},
    {{"at"}, {"churn"}},
    /* These have figures of their own. */
    {{"timeline", "markers", "lifetimes", "stack", "address"}, {COSTS, "by"}},
    /* Trees and exports are of stacks. */
    {{"tree", "bottom-up", "folded", "pprof", "speedscope"}, {"by"}},
    /* A profile has what was allocated, and what was in use at the peak and at the end. */
    {{"pprof", "speedscope"}, {"leaks", "temporary", "cost", "top"}},
    {{"json"}, {"csv", "folded", "pprof", "speedscope"}},
    {{"csv"},
     {"tree", "bottom-up", "stack", "address", "lifetimes", "churn", "markers", "folded", "pprof", "speedscope"}},
    {{"address"}, {"focus", "ignore", "module", "thread", "depth", "at", "from", "until"}},
};

static int refuse(const struct cli_arguments *arguments, const char *first, const char *second)
{
    return cli_usage(arguments->verb, "--%s and --%s cannot be used together", first, second);
}

static int check(const struct cli_arguments *arguments, const struct conflict *conflict)
{
    for (size_t i = 0; i < NAMES_MOST && conflict->these[i] != NULL; i++)
        for (size_t k = 0; k < NAMES_MOST && conflict->those[k] != NULL && cli_given(arguments, conflict->these[i]);
             k++)
            if (cli_given(arguments, conflict->those[k]) && strcmp(conflict->these[i], conflict->those[k]) != 0)
                return refuse(arguments, conflict->these[i], conflict->those[k]);
    return CLI_DONE;
}

int cli_heap_check_conflicts(const struct cli_arguments *arguments)
{
    const char *exports[] = {cli_value(arguments, "pprof"), cli_value(arguments, "speedscope")};
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
        int status = check(arguments, &conflicts[i]);
        if (status != CLI_DONE)
            return status;
    }
    if (exports[0] != NULL && exports[1] != NULL && strcmp(exports[0], exports[1]) == 0)
        return cli_usage(arguments->verb, "--pprof and --speedscope need different files");
    return CLI_DONE;
}
