/* report_profile.c: the summary of a profile as text: what its functions take. */
#include <string.h>

#include "cli/numbers.h"
#include "cli/report_text.h"
#include "cli/terminal.h"
#include "report/report.h"

#define MOST_FUNCTIONS 20
#define NUMBERS_WIDTH  46 /* of the columns before the function */

static bool has_name_of_profile(const char *path)
{
    static const char *const ends[] = {".pb", ".pb.gz", ".pprof", ".pprof.gz", ".prof"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (size > strlen(ends[i]) && strcmp(path + size - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

/* By its name, so that a damaged one is reported as such, or by what is in it. */
bool cli_is_profile(const char *path)
{
    return has_name_of_profile(path) || sxt_page_is_profile(path);
}

/* One value for a profile, and the change for two. */
static int64_t shown(const int64_t values[2], bool is_diff)
{
    return is_diff ? (int64_t)((uint64_t)values[1] - (uint64_t)values[0]) : values[0];
}

static void print_totals(struct sxt_emit *emit, const struct sxt_profile_totals *totals, bool is_diff)
{
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_cstring(emit, "kind", "total");
        sxt_emit_string(emit, "type", totals->type);
        sxt_emit_string(emit, "unit", totals->unit);
        sxt_emit_number(emit, "samples", totals->samples[is_diff]);
        cli_emit_signed(emit, "value", totals->values[is_diff]);
        if (is_diff)
            cli_emit_signed(emit, "change", shown(totals->values, true));
        sxt_emit_number(emit, "functions", totals->functions);
        sxt_emit_record_end(emit);
        return;
    }
    if (is_diff)
        sxt_emit_text(emit, "%s -> ", cli_thousands((double)totals->values[0]).text);
    sxt_emit_text(emit, "%s ", cli_thousands((double)totals->values[is_diff]).text);
    sxt_emit_name(emit, totals->unit);
    sxt_emit_text(emit, " of ");
    sxt_emit_name(emit, totals->type);
    sxt_emit_text(emit, " in %s samples, %s functions\n\n%15s  %7s  %15s  function\n",
                  cli_thousands((double)totals->samples[is_diff]).text, cli_thousands((double)totals->functions).text,
                  is_diff ? "self, change" : "self", "%", is_diff ? "total, change" : "total");
}

static void print_function(struct sxt_emit *emit, const struct sxt_profile_function *function, double whole,
                           bool is_diff, size_t width)
{
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_emit_string(emit, "function", function->function);
        sxt_emit_string(emit, "file", function->file);
        cli_emit_signed(emit, "self", shown(function->self, is_diff));
        cli_emit_signed(emit, "total", shown(function->total, is_diff));
        sxt_emit_record_end(emit);
        return;
    }
    double self = (double)shown(function->self, is_diff), total = (double)shown(function->total, is_diff);
    sxt_emit_text(emit, "%15s  %7s  %15s  ", cli_thousands(self).text, cli_percent(self, whole).text,
                  cli_thousands(total).text);
    cli_print_cut(emit, function->function, width > NUMBERS_WIDTH + 20 ? width - NUMBERS_WIDTH : width > 0 ? 20 : 0);
    sxt_emit_text(emit, "\n");
}

int cli_report_profile(const struct cli_arguments *arguments)
{
    const char *const paths[2] = {arguments->words[0], arguments->word_count == 2 ? arguments->words[1] : NULL};
    bool is_diff = paths[1] != NULL;
    const char *failed;
    struct sxt_profile_summary *summary;
    struct sxt_profile_totals totals;
    struct sxt_emit emit;
    sxt_error error;
    if (sxt_profile_summary_read(paths, &summary, &failed, &error) != SXT_OK)
        return cli_fail(failed, &error);
    sxt_profile_summary_totals(summary, &totals);
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    print_totals(&emit, &totals, is_diff);
    const struct sxt_profile_function *function;
    for (size_t i = 0; i < MOST_FUNCTIONS && (function = sxt_profile_summary_get(summary, i)) != NULL; i++)
        print_function(&emit, function, (double)totals.values[0], is_diff, cli_terminal_width(arguments));
    sxt_profile_summary_free(&summary);
    return cli_finish(&emit, CLI_DONE);
}
