/*
 * symbols.c: the functions of a binary, a Lidia archive, a symbfile or a ksym blob.
 *
 *     data/functions?from&count&sort&descending&search&regex&case   a part of the table
 *     data/position?index&sort&descending&search&regex&case         where a function is in the table
 *     data/function?index                                           what is known of a function
 *     data/ranges, inlines, lines, pads?index&from&count            parts of its lists
 *     data/addresses?text&explain                                   answers of lookup; a line of the text is a question
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "view/kind.h"
#include "view/symbols.h"

/* The largest answer. */
#define ANSWER_MAX ((size_t)64 << 20)

/* The longest text that is searched for. */
#define SEARCH_MAX      1000

#define FRAMES_AT_FIRST 64

static bool recognises(const char *path, sxt_kind kind)
{
    (void)path;
    return kind == SXT_KIND_ELF || kind == SXT_KIND_LIDIA || kind == SXT_KIND_SYMBFILE || kind == SXT_KIND_KSYM;
}

static void warn(void *item, const sxt_error *problem)
{
    sxt_view_warn(item, "%s", problem->text);
}

static int open_archive(struct sxt_view_symbols_state *state, sxt_error *error)
{
    return state->archive != NULL ? SXT_OK : sxt_archive_open_path(state->path, &state->open, &state->archive, error);
}

/* A binary is read when its page is first looked at; of an archive, only the header is read here. */
static int open_item(struct sxt_view_item *item, sxt_error *error)
{
    struct sxt_view_symbols_state *state = calloc(1, sizeof *state);
    sxt_binary binary = {.struct_size = sizeof binary};
    sxt_kind kind;
    if (state == NULL)
        return sxt_fail_memory(error, sizeof *state);
    item->state = state;
    state->path = item->path;
    state->threads = item->options->threads;
    sxt_open_options_init(&state->open);
    sxt_extract_options_init(&state->extract);
    state->extract.warning = warn;
    state->extract.warning_data = item;
    state->extract.progress = sxt_view_progress;
    state->extract.progress_data = item;
    state->extract.threads = state->threads;
    if (item->options->inflate_limit != 0)
        state->extract.inflate_limit = item->options->inflate_limit;
    state->open.extract = &state->extract;
    int status = sxt_identify_path(item->path, &kind, error);
    if (status != SXT_OK)
        return status;
    return kind == SXT_KIND_ELF ? sxt_identify_binary(item->path, &binary, error) : open_archive(state, error);
}

static void close_item(struct sxt_view_item *item)
{
    struct sxt_view_symbols_state *state = item->state;
    if (state == NULL)
        return;
    sxt_answer_explain_free(state->explain);
    sxt_view_found_free(&state->found);
    if (state->is_read)
        sxt_view_functions_free(&state->functions);
    sxt_archive_close(&state->archive);
    free(state->frames);
    free(state);
    item->state = NULL;
}

/* Reads what all answers need, once. */
static int ensure(struct sxt_view_symbols_state *state, sxt_error *error)
{
    if (state->is_read)
        return SXT_OK;
    int status = open_archive(state, error);
    if (status == SXT_OK)
        status = sxt_view_functions_read(&state->functions, state->archive, state->threads, error);
    if (status != SXT_OK)
        return status;
    state->is_read = true;
    state->info.struct_size = sizeof state->info;
    sxt_archive_info(state->archive, &state->info);
    state->frame_capacity = FRAMES_AT_FIRST;
    state->frames = malloc(state->frame_capacity * sizeof *state->frames);
    state->explain = sxt_answer_explain_new(&state->open, NULL);
    return state->frames != NULL && state->explain != NULL ? SXT_OK : sxt_fail_memory(error, sizeof(sxt_frame));
}

/* The record of info. */
static int write_info(const struct sxt_view_symbols_state *state, struct sxt_json_writer *json, sxt_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return sxt_fail_memory(error, BUFSIZ);
    struct sxt_emit emit;
    sxt_emit_init(&emit, stream, true);
    sxt_emit_record(&emit);
    sxt_answer_print_info(&emit, state->path, state->archive, &state->info);
    sxt_emit_number(&emit, "size", state->info.size);
    if (state->info.section_base_count > 0)
        sxt_answer_print_section_bases(&emit, state->archive, &state->info);
    sxt_emit_record_end(&emit);
    int status = sxt_emit_finish(&emit, error);
    if (fclose(stream) != 0 && status == SXT_OK)
        status = sxt_fail_memory(error, size);
    if (status == SXT_OK)
        sxt_json_write_text(json, "info", (sxt_string){text, size > 0 ? size - 1 : 0});
    free(text);
    return status;
}

static int make(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error)
{
    struct sxt_view_symbols_state *state = item->state;
    int status = ensure(state, error);
    if (status != SXT_OK)
        return status;
    struct sxt_buffer text;
    sxt_buffer_init(&text, ANSWER_MAX);
    struct sxt_json_writer json = sxt_json_writer_make(&text, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "kind", sxt_string_of("symbols"));
    sxt_json_write_string(&json, "name", sxt_string_of(item->name));
    sxt_json_write_number(&json, "total", state->functions.count);
    sxt_json_write_bool(&json, "has_linkage_names", state->functions.linked != NULL);
    status = write_info(state, &json, error);
    sxt_json_write_end(&json, '}');
    if (status == SXT_OK)
        status = sxt_buffer_status(&text, error);
    if (status == SXT_OK)
        sxt_page_add_json(page, &text);
    sxt_buffer_free(&text);
    return status;
}

/* --- questions --- */

/* Takes a number from LEAST to MOST; *VALUE stays if none is given. */
static int take_number(const struct sxt_view_query *query, const char *name, uint64_t least, uint64_t most,
                       uint64_t *value, sxt_error *error)
{
    const char *text = sxt_view_query_get(query, name);
    uint64_t number;
    if (text == NULL)
        return SXT_OK;
    if (!sxt_view_query_number(query, name, &number) || number < least || number > most)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "%s takes a number from %llu to %llu, not '%.100s'",
                        name, (unsigned long long)least, (unsigned long long)most, text);
    *value = number;
    return SXT_OK;
}

static int take_flag(const struct sxt_view_query *query, const char *name, bool *value, sxt_error *error)
{
    uint64_t number = 0;
    int status = take_number(query, name, 0, 1, &number, error);
    *value = number == 1;
    return status;
}

static int take_window(const struct sxt_view_query *query, struct sxt_view_window *window, sxt_error *error)
{
    *window = (struct sxt_view_window){0, 100};
    int status = take_number(query, "from", 0, UINT64_MAX, &window->from, error);
    return status == SXT_OK ? take_number(query, "count", 1, SXT_VIEW_WINDOW_MAX, &window->count, error) : status;
}

static int take_order(const struct sxt_view_query *query, enum sxt_view_order *order, sxt_error *error)
{
    static const char *const names[SXT_VIEW_ORDERS] = {"address", "name", "size"};
    const char *text = sxt_view_query_get(query, "sort");
    *order = SXT_VIEW_BY_ADDRESS;
    if (text == NULL)
        return SXT_OK;
    for (unsigned i = 0; i < SXT_VIEW_ORDERS; i++)
        if (strcmp(text, names[i]) == 0) {
            *order = (enum sxt_view_order)i;
            return SXT_OK;
        }
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "sort takes address, name or size, not '%.100s'", text);
}

/* Which functions are listed, and in which order. */
struct listing {
    struct sxt_view_search search;
    enum sxt_view_order order;
    bool descending;
};

static int take_listing(const struct sxt_view_query *query, struct listing *listing, sxt_error *error)
{
    const char *text = sxt_view_query_get(query, "search");
    *listing = (struct listing){.search.text = text != NULL ? text : ""};
    int status = take_order(query, &listing->order, error);
    if (status == SXT_OK)
        status = take_flag(query, "descending", &listing->descending, error);
    if (status == SXT_OK)
        status = take_flag(query, "regex", &listing->search.is_pattern, error);
    if (status == SXT_OK)
        status = take_flag(query, "case", &listing->search.with_case, error);
    if (status == SXT_OK && strlen(listing->search.text) > SEARCH_MAX)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "search takes at most %d bytes", SEARCH_MAX);
    return status;
}

static int answer_functions(struct sxt_view_symbols_state *state, const struct sxt_view_query *query,
                            struct sxt_json_writer *json, sxt_error *error)
{
    struct listing listing;
    struct sxt_view_window window;
    int status = take_listing(query, &listing, error);
    if (status == SXT_OK)
        status = take_window(query, &window, error);
    return status == SXT_OK ? sxt_view_write_functions(state, &listing.search, listing.order, listing.descending,
                                                       window, json, error)
                            : status;
}

static int take_index(const struct sxt_view_symbols_state *state, const struct sxt_view_query *query, size_t *index,
                      sxt_error *error)
{
    uint64_t number;
    const char *text = sxt_view_query_get(query, "index");
    if (text == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "index is missing: the number of a function");
    if (!sxt_view_query_number(query, "index", &number) || number >= state->functions.count)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "no function has the number '%.100s': there are %zu",
                        text, state->functions.count);
    *index = (size_t)number;
    return SXT_OK;
}

static int answer_position(struct sxt_view_symbols_state *state, const struct sxt_view_query *query,
                           struct sxt_json_writer *json, sxt_error *error)
{
    struct listing listing;
    size_t index;
    int status = take_listing(query, &listing, error);
    if (status == SXT_OK)
        status = take_index(state, query, &index, error);
    return status == SXT_OK
               ? sxt_view_write_position(state, &listing.search, listing.order, listing.descending, index, json, error)
               : status;
}

static int answer_function(struct sxt_view_symbols_state *state, const struct sxt_view_query *query,
                           struct sxt_json_writer *json, sxt_error *error)
{
    size_t index;
    int status = take_index(state, query, &index, error);
    return status == SXT_OK ? sxt_view_write_function(state, index, json, error) : status;
}

static int answer_part(struct sxt_view_symbols_state *state, sxt_view_write_part *write,
                       const struct sxt_view_query *query, struct sxt_json_writer *json, sxt_error *error)
{
    struct sxt_view_window window;
    size_t index;
    int status = take_index(state, query, &index, error);
    if (status == SXT_OK)
        status = take_window(query, &window, error);
    return status == SXT_OK ? write(state, index, window, json, error) : status;
}

static int answer_addresses(struct sxt_view_symbols_state *state, const struct sxt_view_query *query,
                            struct sxt_json_writer *json, sxt_error *error)
{
    const char *text = sxt_view_query_get(query, "text");
    bool with_explanation;
    int status = take_flag(query, "explain", &with_explanation, error);
    if (status == SXT_OK && text == NULL)
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "text is missing: addresses, one on a line");
    return status == SXT_OK ? sxt_view_write_addresses(state, text, with_explanation, json, error) : status;
}

typedef int answer_question(struct sxt_view_symbols_state *state, const struct sxt_view_query *query,
                            struct sxt_json_writer *json, sxt_error *error);

static const struct {
    const char *name;
    answer_question *answer;
    sxt_view_write_part *part; /* of a function, in place of `answer` */
} questions[] = {
    {"functions", answer_functions, NULL},   {"position", answer_position, NULL},
    {"function", answer_function, NULL},     {"addresses", answer_addresses, NULL},
    {"ranges", NULL, sxt_view_write_ranges}, {"inlines", NULL, sxt_view_write_inlines},
    {"lines", NULL, sxt_view_write_lines},   {"pads", NULL, sxt_view_write_pads},
};

/* False if there is no such question. */
static bool write_answer(struct sxt_view_symbols_state *state, const char *name, const struct sxt_view_query *query,
                         struct sxt_json_writer *json, int *status, sxt_error *error)
{
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (strcmp(name, questions[i].name) == 0) {
            *status = questions[i].answer != NULL ? questions[i].answer(state, query, json, error)
                                                  : answer_part(state, questions[i].part, query, json, error);
            return true;
        }
    return false;
}

static int answer(struct sxt_view_item *item, const char *name, const struct sxt_view_query *query,
                  struct sxt_view_reply *reply, sxt_error *error)
{
    struct sxt_view_symbols_state *state = item->state;
    struct sxt_buffer text;
    int status = ensure(state, error);
    if (status != SXT_OK)
        return status;
    sxt_buffer_init(&text, ANSWER_MAX);
    struct sxt_json_writer json = sxt_json_writer_make(&text, SXT_JSON_COMPACT);
    bool is_known = write_answer(state, name, query, &json, &status, error);
    if (is_known && status == SXT_OK)
        status = sxt_buffer_status(&text, error);
    reply->type = "application/json";
    if (!is_known) {
        reply->status = 404;
    } else if (status == SXT_ERROR_USAGE || status == SXT_ERROR_LIMIT) {
        reply->status = 400;
        sxt_buffer_append(&reply->body, error->text, strlen(error->text));
        status = SXT_OK;
    } else if (status == SXT_OK) {
        sxt_buffer_append(&reply->body, text.data, text.size);
    }
    sxt_buffer_free(&text);
    return status;
}

const struct sxt_view_kind sxt_view_symbols = {
    .name = "symbols",
    .title = "Functions",
    .template = SXT_PAGE_SYMBOLS,
    .recognises = recognises,
    .open = open_item,
    .close = close_item,
    .make = make,
    .answer = answer,
};
