/* verify.c: the full check of files. */
#include <stdio.h>
#include <string.h>

#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"quiet", 'q', NULL, "print problems only, nothing about good files", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant verify app.lidia", "structure, checksums and references; exit status 1 when anything is wrong"},
    {"sextant verify --json *.lidia", "one JSON object per problem"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_verify = {
    .name = "verify",
    .synopsis = "[OPTION...] FILE...",
    .summary = "check files completely",
    .description = "Checks that every table lies inside the file, that checksums agree, that addresses are in order\n"
                   "and that every reference leads somewhere, and lists all problems with the byte where each is.\n"
                   "A part that this version does not know is noted; it is not a problem.",
    .options = options,
    .examples = examples,
    .run = run,
};

struct report {
    const char *file;
    bool quiet;
    struct sxt_emit emit;
};

/* The message, and what the user can do about a recording that was cut off. */
static const char *message_of(const sxt_problem *problem, char *room, size_t size)
{
    if (strcmp(problem->rule, "unclean") != 0)
        return problem->message;
    snprintf(room, size, "%s; %s", problem->message, cli_hint(SXT_REASON_CUT_OFF));
    return room;
}

static void print_problem(void *data, const sxt_problem *problem)
{
    struct report *report = data;
    struct sxt_emit *emit = &report->emit;
    bool is_note = problem->severity == SXT_SEVERITY_NOTE;
    char room[256];
    const char *message = message_of(problem, room, sizeof room);
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_cstring(emit, "file", report->file);
        if (problem->offset != SXT_NO_OFFSET)
            sxt_emit_number(emit, "offset", problem->offset);
        else
            sxt_emit_null(emit, "offset");
        sxt_emit_cstring(emit, "rule", problem->rule);
        sxt_emit_cstring(emit, "message", message);
        sxt_emit_cstring(emit, "severity", is_note ? "note" : "problem");
    }
    if (!is_note || !report->quiet)
        sxt_emit_text(emit, "%s: %s%s (offset 0x%llx, rule %s)\n", report->file, is_note ? "note: " : "", message,
                      (unsigned long long)problem->offset, problem->rule);
    sxt_emit_record_end(emit);
}

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    struct report report = {.quiet = cli_given(arguments, "quiet")};
    sxt_emit_init(&report.emit, stdout, cli_given(arguments, "json"));
    int status = CLI_DONE;
    for (size_t i = 0; i < arguments->word_count; i++) {
        uint64_t problems = 0;
        sxt_error error;
        report.file = arguments->words[i];
        if (sxt_verify_path(report.file, print_problem, &report, &problems, &error) != SXT_OK) {
            status = cli_fail(report.file, &error);
            if (sxt_emit_is_json(&report.emit))
                print_problem(&report,
                              &(sxt_problem){.offset = error.offset, .rule = "readable", .message = error.text});
        } else if (problems > 0) {
            status = CLI_NO;
        } else if (!report.quiet) {
            sxt_emit_text(&report.emit, "%s: good\n", report.file);
        }
    }
    return cli_finish(&report.emit, status);
}
