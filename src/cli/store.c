/* store.c: looks after the store of a symbol service. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/string.h"
#include "catalog/catalog.h"
#include "cli/numbers.h"
#include "cli/verbs.h"

static const struct cli_option options[] = {
    {"store", 0, "PLACE", "the store: a directory, or s3://BUCKET/PREFIX", NULL},
    {"tenant", 0, "NAME", "list, rm: the binaries of this tenant ('' for those of none)", NULL},
    {"retention", 0, "TIME", "gc: also remove what is older than this: 12h, 90d", NULL},
    {"stale", 0, "TIME", "gc: remove incomplete uploads that are older (default: 1d)", NULL},
    {"dry-run", 0, NULL, "gc, rm: remove nothing, only show what would be removed", NULL},
    {"quiet", 'q', NULL, "print no summary", NULL},
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant store list --store symbols", "what is there, its quality, and what is missing"},
    {"sextant store list --store symbols libc", "only what has that name, or an id that begins like that"},
    {"sextant store gc --store s3://bucket/symbols --retention 90d --dry-run", "what a clean-up would remove"},
    {"sextant store verify --store symbols", "read everything; exit status 1 when anything is wrong"},
    {"sextant store rm --store symbols 77efa716a912a49217445787329fd29a", "remove a binary by its FileID or build ID"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_store = {
    .name = "store",
    .synopsis = "gc|list|verify|rm --store PLACE [OPTION...] [ID...]",
    .summary = "look after the store of a symbol service",
    .description =
        "list shows the binaries of a store; WORDs select those whose name contains one of them or whose ids begin\n"
        "with it. rm removes binaries by FileID or build ID. gc removes incomplete uploads, symbols that better ones\n"
        "replaced, and files that nothing refers to any more. verify reads everything and checks it. All of them may\n"
        "run while servers use the store.",
    .options = options,
    .examples = examples,
    .run = run,
};

struct state {
    const struct cli_arguments *arguments;
    const char *place;
    struct sxt_store *store;
    struct sxt_catalog *catalog;
    struct sxt_emit emit;
    bool dry_run, is_quiet;
    uint64_t count; /* binaries that were listed, problems that were found */
    sxt_error *error;
};

/* --- list --- */

static void print_qualities(struct sxt_emit *emit, const struct sxt_catalog_listed *listed)
{
    const struct {
        bool is_there;
        const char *name;
    } qualities[] = {
        {listed->has_symtab, "symtab"},
        {listed->has_dwarf, "dwarf"},
        {listed->has_lines, "lines"},
        {listed->has_inlines, "inlines"},
        {listed->has_go, "go"},
        {listed->has_pads, "pads"},
        {listed->has_executable, "executable"},
        {listed->has_debuginfo, "debuginfo"},
    };
    const char *before = "";
    for (size_t i = 0; i < sizeof qualities / sizeof *qualities; i++) {
        if (!qualities[i].is_there)
            continue;
        sxt_emit_text(emit, "%s%s", before, qualities[i].name);
        before = ",";
    }
}

/* "BUILDID  program  1.2 MB  symtab,dwarf,lines" */
static int print_listed(void *data, const struct sxt_catalog_listed *listed)
{
    struct state *state = data;
    struct sxt_emit *emit = &state->emit;
    state->count++;
    if (sxt_emit_is_json(emit)) {
        sxt_emit_record(emit);
        sxt_catalog_write_listed(&emit->writer, listed);
        sxt_emit_record_end(emit);
        return emit->failed ? SXT_ERROR_IO : SXT_OK;
    }
    sxt_emit_record(emit);
    if (*listed->tenant != 0) {
        sxt_emit_name(emit, sxt_string_of(listed->tenant));
        sxt_emit_text(emit, "  ");
    }
    sxt_emit_text(emit, "%s  ", listed->build_id != NULL ? listed->build_id : listed->file_id);
    if (listed->name != NULL) {
        sxt_emit_name(emit, sxt_string_of(listed->name));
        sxt_emit_text(emit, "  ");
    }
    sxt_emit_text(emit, "%s  ", cli_bytes((double)listed->size).text);
    print_qualities(emit, listed);
    if (listed->missing != NULL)
        sxt_emit_text(emit, "  (%s)", listed->missing);
    if (listed->parts_wanted > 0)
        sxt_emit_text(emit, "  (%u of %u parts)", listed->parts_there, listed->parts_wanted);
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
    return emit->failed ? SXT_ERROR_IO : SXT_OK;
}

static int list_tenant(struct state *state, const char *tenant, sxt_error *error)
{
    const struct cli_arguments *arguments = state->arguments;
    int status = SXT_OK;
    for (size_t i = 1; (i < arguments->word_count || i == 1) && status == SXT_OK; i++)
        status = sxt_catalog_list(state->catalog, tenant, i < arguments->word_count ? arguments->words[i] : "", "",
                                  SIZE_MAX, print_listed, state, error);
    return status;
}

static int list_any(void *data, const char *tenant)
{
    return list_tenant(data, tenant, ((struct state *)data)->error);
}

static int list(struct state *state, sxt_error *error)
{
    const char *tenant = cli_value(state->arguments, "tenant");
    state->error = error;
    int status = tenant != NULL ? list_tenant(state, tenant, error)
                                : sxt_catalog_tenants(state->catalog, list_any, state, error);
    return status == SXT_OK ? CLI_DONE : CLI_NO;
}

/* --- rm --- */

/* An id may be a FileID or a build ID: what is there is removed. */
static int remove_one(struct state *state, const char *tenant, const char *word)
{
    struct sxt_catalog_id ids[2];
    size_t count;
    sxt_error error;
    if (!sxt_catalog_parse_id(sxt_string_of(word), ids, &count))
        return cli_usage(state->arguments->verb, "not a FileID or build ID: '%s'", word);
    int status = SXT_ERROR_NOT_FOUND;
    bool is_removed = false;
    for (size_t i = 0; i < count && (status == SXT_OK || status == SXT_ERROR_NOT_FOUND); i++) {
        status = state->dry_run ? sxt_catalog_has(state->catalog, tenant, &ids[i], &error)
                                : sxt_catalog_remove(state->catalog, tenant, &ids[i], &error);
        is_removed |= status == SXT_OK;
    }
    if (status != SXT_OK && !(status == SXT_ERROR_NOT_FOUND && is_removed))
        return cli_fail(word, &error);
    sxt_emit_record(&state->emit);
    if (sxt_emit_is_json(&state->emit)) {
        sxt_emit_cstring(&state->emit, "id", word);
        sxt_emit_bool(&state->emit, "removed", !state->dry_run);
    } else if (!state->is_quiet) {
        sxt_emit_text(&state->emit, "%s: %s\n", word, state->dry_run ? "would be removed" : "removed");
    }
    sxt_emit_record_end(&state->emit);
    return CLI_DONE;
}

static int remove_all(struct state *state, sxt_error *error)
{
    (void)error;
    const struct cli_arguments *arguments = state->arguments;
    const char *tenant = cli_value(arguments, "tenant");
    if (arguments->word_count < 2)
        return cli_usage(arguments->verb, "rm takes the ids of binaries");
    int status = CLI_DONE;
    for (size_t i = 1; i < arguments->word_count; i++) {
        int one = remove_one(state, tenant != NULL ? tenant : "", arguments->words[i]);
        if (one != CLI_DONE)
            status = one;
    }
    return status;
}

/* --- gc, verify --- */

static int collect(struct state *state, sxt_error *error)
{
    struct sxt_catalog_swept swept;
    uint64_t retention;
    int status = cli_time_option(state->arguments, "retention", &retention);
    if (status != CLI_DONE)
        return status;
    if (sxt_catalog_sweep(state->catalog, retention, state->dry_run, &swept, error) != SXT_OK)
        return CLI_NO;
    sxt_emit_record(&state->emit);
    if (sxt_emit_is_json(&state->emit)) {
        sxt_emit_number(&state->emit, "objects", swept.objects);
        sxt_emit_number(&state->emit, "bytes", swept.bytes);
        sxt_emit_bool(&state->emit, "removed", !state->dry_run);
    } else if (!state->is_quiet) {
        sxt_emit_text(&state->emit, "%s %s objects, %s\n", state->dry_run ? "would remove" : "removed",
                      cli_thousands((double)swept.objects).text, cli_bytes((double)swept.bytes).text);
    }
    sxt_emit_record_end(&state->emit);
    return CLI_DONE;
}

static void print_problem(void *data, const char *key, const char *text)
{
    struct state *state = data;
    state->count++;
    sxt_emit_record(&state->emit);
    if (sxt_emit_is_json(&state->emit)) {
        sxt_emit_cstring(&state->emit, "object", key);
        sxt_emit_cstring(&state->emit, "message", text);
    } else {
        sxt_emit_name(&state->emit, sxt_string_of(key));
        sxt_emit_text(&state->emit, ": ");
        sxt_emit_name(&state->emit, sxt_string_of(text));
        sxt_emit_text(&state->emit, "\n");
    }
    sxt_emit_record_end(&state->emit);
}

static int verify(struct state *state, sxt_error *error)
{
    uint64_t checked;
    if (sxt_catalog_verify(state->catalog, print_problem, state, &checked, error) != SXT_OK)
        return CLI_NO;
    if (!state->is_quiet && !sxt_emit_is_json(&state->emit)) {
        sxt_emit_record(&state->emit);
        sxt_emit_text(&state->emit, "%s objects, %s problems\n", cli_thousands((double)checked).text,
                      cli_thousands((double)state->count).text);
        sxt_emit_record_end(&state->emit);
    }
    error->code = SXT_OK;
    return state->count > 0 ? CLI_NO : CLI_DONE;
}

/* --- the verb --- */

static const struct action {
    const char *name;
    int (*run)(struct state *state, sxt_error *error);
    bool takes_words, takes_tenant, may_dry_run, takes_times;
} actions[] = {
    {"gc", collect, false, false, true, true},
    {"list", list, true, true, false, false},
    {"verify", verify, false, false, false, false},
    {"rm", remove_all, true, true, true, false},
};

static int check_options(const struct cli_arguments *arguments, const struct action *action)
{
    if (!action->takes_words && arguments->word_count > 1)
        return cli_usage(arguments->verb, "%s takes no words: '%s'", action->name, arguments->words[1]);
    if (!action->takes_tenant && cli_given(arguments, "tenant"))
        return cli_usage(arguments->verb, "--tenant is for list and rm");
    if (!action->may_dry_run && cli_given(arguments, "dry-run"))
        return cli_usage(arguments->verb, "--dry-run is for gc and rm");
    if (!action->takes_times && (cli_given(arguments, "retention") || cli_given(arguments, "stale")))
        return cli_usage(arguments->verb, "--retention and --stale are for gc");
    return CLI_DONE;
}

static int open_and_run(struct state *state, const struct action *action)
{
    struct sxt_catalog_options catalog_options = {.list_life_ms = 0};
    sxt_error error = {.code = SXT_OK};
    int status = cli_time_option(state->arguments, "stale", &catalog_options.stale_seconds);
    if (status != CLI_DONE)
        return status;
    /* Opening a store would make the directory. */
    if (!sxt_store_is_remote(state->place) && access(state->place, F_OK) != 0)
        return cli_fail_text(state->place, "%s", strerror(errno));
    if (sxt_store_open(state->place, NULL, &state->store, &error) != SXT_OK)
        return cli_fail(state->place, &error);
    if (sxt_catalog_open(state->store, &catalog_options, &state->catalog, &error) != SXT_OK) {
        sxt_store_close(&state->store);
        return cli_fail(state->place, &error);
    }
    status = action->run(state, &error);
    if (status == CLI_NO && error.code != SXT_OK)
        cli_fail(state->place, &error);
    sxt_catalog_close(&state->catalog);
    sxt_store_close(&state->store);
    return status;
}

static int run(const struct cli_arguments *arguments)
{
    const struct action *action = NULL;
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no action given: gc, list, verify or rm");
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(arguments->words[0], actions[i].name) == 0)
            action = &actions[i];
    if (action == NULL)
        return cli_usage(arguments->verb, "not an action: '%s'; gc, list, verify and rm are", arguments->words[0]);
    struct state state = {.arguments = arguments,
                          .place = cli_value(arguments, "store"),
                          .dry_run = cli_given(arguments, "dry-run"),
                          .is_quiet = cli_given(arguments, "quiet")};
    if (state.place == NULL)
        return cli_usage(arguments->verb, "no store given: use --store PLACE");
    int status = check_options(arguments, action);
    if (status != CLI_DONE)
        return status;
    sxt_emit_init(&state.emit, stdout, cli_given(arguments, "json"));
    return cli_finish(&state.emit, open_and_run(&state, action));
}
