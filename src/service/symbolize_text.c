/* symbolize_text.c: names the addresses in text: stack traces, sanitizer reports, kernel oopses, lists of addresses. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "profile/text_source.h"
#include "service/find.h"
#include "service/handlers.h"
#include "service/server.h"
#include "service/text_binaries.h"

#define TEXT_MAX      ((size_t)1 << 20)
#define LINE_MAX_SIZE ((size_t)32 << 10) /* of a longer one nothing is answered */
#define REPLY_LIMIT   ((size_t)64 << 20)
#define SECONDS_MAX   10
#define MEMORY        ((uint64_t)4 << 20) /* of the filter and its tables, roughly */

struct naming {
    struct sxt_request *request;
    struct sxt_text_binaries binaries;
    struct sxt_json_writer json;
    struct sxt_buffer out, answers;
    struct sxt_json_writer answers_json; /* of a line */
    uint64_t answered, in_line;          /* addresses that have names */
    const char *warning;                 /* the first one */
};

static const sxt_archive *find_archive(void *data, sxt_string name, sxt_string build_id)
{
    struct naming *naming = data;
    return sxt_text_find_binary(&naming->binaries, name, build_id);
}

/* --- answers --- */

static void write_text(struct sxt_json_writer *json, const char *key, sxt_string text)
{
    if (text.size > 0)
        sxt_json_write_string(json, key, text);
    else
        sxt_json_write_null(json, key);
}

static void begin_line(void *data)
{
    struct naming *naming = data;
    sxt_buffer_clear(&naming->answers);
    naming->answers_json = sxt_json_writer_make(&naming->answers, SXT_JSON_COMPACT);
    sxt_json_write_begin(&naming->answers_json, NULL, '[');
    naming->in_line = 0;
}

static void write_answer(void *data, sxt_string module, uint64_t address, const sxt_frame *frames, size_t count)
{
    struct naming *naming = data;
    struct sxt_json_writer *json = &naming->answers_json;
    sxt_json_write_begin(json, NULL, '{');
    write_text(json, "module", module);
    sxt_json_write_address(json, "address", address);
    sxt_json_write_begin(json, "frames", '[');
    for (size_t i = 0; i < count; i++) {
        sxt_json_write_begin(json, NULL, '{');
        write_text(json, "function", frames[i].function);
        write_text(json, "file", frames[i].file);
        if (frames[i].line != 0)
            sxt_json_write_number(json, "line", frames[i].line);
        else
            sxt_json_write_null(json, "line");
        sxt_json_write_bool(json, "inlined", frames[i].depth > 0);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
    sxt_json_write_end(json, '}');
    naming->in_line += count > 0;
}

static void end_line(void *data, const char *line, size_t size)
{
    struct naming *naming = data;
    sxt_json_write_end(&naming->answers_json, ']');
    sxt_json_write_begin(&naming->json, NULL, '{');
    sxt_json_write_string(&naming->json, "text", (sxt_string){line, size});
    sxt_json_write_text(&naming->json, "answers",
                        (sxt_string){(const char *)naming->answers.data, naming->answers.size});
    sxt_json_write_end(&naming->json, '}');
    naming->out.failed |= naming->answers.failed;
    naming->answered += naming->in_line;
}

static void pass_line(struct naming *naming, sxt_string line)
{
    begin_line(naming);
    end_line(naming, line.data, line.size);
}

static void note_warning(void *data, const char *text)
{
    struct naming *naming = data;
    if (naming->warning == NULL)
        naming->warning = sxt_text_keep(naming->request, sxt_string_of(text)).data;
}

/* --- addresses alone --- */

static size_t skip_separators(sxt_string line, size_t at)
{
    while (at < line.size && memchr(" \t,;", line.data[at], 4) != NULL)
        at++;
    return at;
}

/* The next address of a line; false if it is something else. */
static bool take_address(sxt_string line, size_t *at, uint64_t *address)
{
    size_t start = *at, end = start;
    bool is_marked = line.size - start > 2 && line.data[start] == '0' && (line.data[start + 1] | 0x20) == 'x';
    start += is_marked ? 2 : 0;
    for (end = start; end < line.size && sxt_hex_digit(line.data[end]) >= 0;)
        end++;
    *at = end;
    /* A word of letters alone is hardly an address: "add", "dead". */
    bool has_digit = false;
    for (size_t i = start; i < end; i++)
        has_digit |= line.data[i] >= '0' && line.data[i] <= '9';
    return end > start && end - start <= 16 && (is_marked || has_digit) &&
           (end == line.size || skip_separators(line, end) > end) &&
           sxt_hex_parse((sxt_string){line.data + start, end - start}, address);
}

static bool has_only_addresses(sxt_string line)
{
    uint64_t address;
    size_t at = skip_separators(line, 0), count = 0;
    for (; at < line.size; at = skip_separators(line, at), count++)
        if (!take_address(line, &at, &address))
            return false;
    return count > 0;
}

struct alone {
    struct naming *naming;
    uint64_t address;
};

static int take_frames(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    const struct alone *alone = data;
    (void)index;
    write_answer(alone->naming, (sxt_string){"", 0}, alone->address, frames, count);
    return SXT_OK;
}

static void answer_addresses(struct naming *naming, sxt_string line, bool are_returns)
{
    uint64_t address = 0;
    begin_line(naming);
    for (size_t at = skip_separators(line, 0); at < line.size; at = skip_separators(line, at)) {
        if (!take_address(line, &at, &address))
            break;
        struct alone alone = {naming, address};
        const struct sxt_catalog_question question = {.addresses = &address, .count = 1, .are_returns = are_returns};
        (void)sxt_catalog_lookup(naming->binaries.chosen, &question, take_frames, &alone, NULL);
    }
    end_line(naming, line.data, line.size);
}

/* --- the text --- */

static bool drop_output(void *data, const char *text, size_t size)
{
    (void)data;
    (void)text;
    (void)size;
    return true;
}

/* The next line, without its end. */
static sxt_string take_line(sxt_string *text)
{
    const char *newline = memchr(text->data, '\n', text->size);
    size_t size = newline != NULL ? (size_t)(newline - text->data) : text->size;
    sxt_string line = {text->data, size - (size > 0 && text->data[size - 1] == '\r')};
    size_t used = size + (newline != NULL);
    *text = (sxt_string){text->data + used, text->size - used};
    return line;
}

static int name_lines(struct naming *naming, sxt_text_filter *filter, bool are_returns, sxt_error *error)
{
    sxt_string text = {(const char *)naming->request->body.data, naming->request->body.size};
    int status = SXT_OK;
    while (text.size > 0 && status == SXT_OK && !naming->out.failed) {
        sxt_string line = take_line(&text);
        bool is_alone = naming->binaries.chosen != NULL && has_only_addresses(line);
        if (is_alone || line.size > LINE_MAX_SIZE || line.size == 0 || sxt_text_is_late(&naming->binaries)) {
            status = sxt_text_filter_flush(filter, error);
            if (is_alone && !naming->binaries.is_late)
                answer_addresses(naming, line, are_returns);
            else
                pass_line(naming, line);
            continue;
        }
        status = sxt_text_filter_feed(filter, line.data, line.size, error);
        if (status == SXT_OK)
            status = sxt_text_filter_feed(filter, "\n", 1, error);
        if (!sxt_request_count_memory(naming->request, MEMORY + naming->out.size))
            return SXT_OK;
    }
    return status == SXT_OK ? sxt_text_filter_end(filter, error) : status;
}

static void write_modules(struct naming *naming)
{
    struct sxt_json_writer *json = &naming->json;
    sxt_json_write_begin(json, "modules", '[');
    for (size_t i = 0; i < naming->binaries.module_count; i++) {
        const struct sxt_text_module *module = &naming->binaries.modules[i];
        sxt_string build_id = module->found_build_id[0] != 0 ? sxt_string_of(module->found_build_id) : module->build_id;
        sxt_json_write_begin(json, NULL, '{');
        write_text(json, "name", module->name);
        write_text(json, "build_id", build_id);
        write_text(json, "file_id", sxt_string_of(module->file_id));
        sxt_json_write_bool(json, "found", module->problem == NULL);
        write_text(json, "problem", sxt_string_of(module->problem != NULL ? module->problem : ""));
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
}

static int name_text(struct naming *naming, sxt_error *error)
{
    const struct sxt_text_source source = {
        .find = find_archive,
        .warn = note_warning,
        .begin = begin_line,
        .answer = write_answer,
        .end = end_line,
        .data = naming,
    };
    const char *returns = sxt_request_query(naming->request, "return_addresses");
    sxt_modules *modules = NULL;
    sxt_text_filter *filter = NULL;
    sxt_json_write_begin(&naming->json, NULL, '{');
    sxt_json_write_begin(&naming->json, "lines", '[');
    int status = sxt_modules_open_source(&source, &modules, error);
    if (status == SXT_OK)
        status = sxt_text_filter_open(modules, drop_output, NULL, &filter, error);
    if (status == SXT_OK)
        status = name_lines(naming, filter, returns != NULL && strcmp(returns, "true") == 0, error);
    sxt_text_filter_close(&filter);
    sxt_modules_close(&modules);
    sxt_json_write_end(&naming->json, ']');
    write_modules(naming);
    sxt_json_write_number(&naming->json, "answered", naming->answered);
    sxt_json_write_bool(&naming->json, "complete", !naming->binaries.is_late);
    write_text(&naming->json, "warning", sxt_string_of(naming->warning != NULL ? naming->warning : ""));
    sxt_json_write_end(&naming->json, '}');
    return status;
}

/* --- before that: what upstream servers have --- */

struct wanted {
    struct sxt_catalog_id ids[SXT_TEXT_MODULES_MAX];
    size_t count;
};

static void note_build_id(void *data, sxt_string module, sxt_string build_id)
{
    (void)module;
    struct wanted *wanted = data;
    struct sxt_catalog_id id;
    if (build_id.size == 0 || wanted->count == SXT_TEXT_MODULES_MAX || !sxt_catalog_parse_build_id(build_id, &id))
        return;
    for (size_t i = 0; i < wanted->count; i++)
        if (strcmp(wanted->ids[i].text, id.text) == 0)
            return;
    wanted->ids[wanted->count++] = id;
}

/* Asks for all binaries that the text names by their build ID, so that they are fetched at once. */
static bool is_fetching(struct sxt_request *request)
{
    struct wanted wanted = {.count = 0};
    sxt_string text = {(const char *)request->body.data, request->body.size};
    bool is_later = false;
    if (request->service->upstream == NULL)
        return false;
    while (text.size > 0) {
        sxt_string line = take_line(&text);
        if (line.size <= LINE_MAX_SIZE)
            sxt_text_visit_modules(line.data, line.size, note_build_id, &wanted);
    }
    for (size_t i = 0; i < wanted.count; i++) {
        struct sxt_catalog_binary *binary = NULL;
        sxt_error error;
        enum sxt_found found = sxt_request_find(request, &wanted.ids[i], 1, &binary, &error);
        is_later |= found == SXT_FOUND_LATER;
        if (found == SXT_FOUND)
            sxt_catalog_release(request->service->catalog, &binary);
    }
    return is_later;
}

static enum sxt_handled reply(struct naming *naming, int status, const sxt_error *error)
{
    struct sxt_request *request = naming->request;
    sxt_request_count(request, SXT_METRIC_LOOKUP_FOUND, naming->answered);
    if (sxt_request_is_answered(request))
        return SXT_DONE;
    if (status != SXT_OK)
        sxt_reply_error(request, error);
    else if (naming->out.failed && !naming->out.memory_was_short)
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "the answer is too long: send less text at once");
    else
        sxt_reply_buffer(request, 200, "application/json", &naming->out);
    return SXT_DONE;
}

enum sxt_handled sxt_handle_symbolize_text(struct sxt_request *request)
{
    enum sxt_handled handled;
    sxt_error error = {.code = SXT_OK};
    if (request->body.size > TEXT_MAX) {
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "a text of %zu bytes; the most is %zu", request->body.size,
                          TEXT_MAX);
        return SXT_DONE;
    }
    if (!request->may_wait || is_fetching(request))
        return SXT_WAIT;
    if (!sxt_request_count_memory(request, MEMORY))
        return SXT_DONE;
    struct naming *naming = calloc(1, sizeof *naming);
    if (naming == NULL) {
        sxt_fail_memory(&error, sizeof *naming);
        sxt_reply_error(request, &error);
        return SXT_DONE;
    }
    naming->request = request;
    sxt_text_binaries_init(&naming->binaries, request, SECONDS_MAX);
    sxt_buffer_init(&naming->out, REPLY_LIMIT);
    sxt_buffer_init(&naming->answers, REPLY_LIMIT);
    naming->json = sxt_json_writer_make(&naming->out, SXT_JSON_COMPACT);
    if (sxt_text_choose(&naming->binaries, &handled)) {
        int status = name_text(naming, &error);
        handled = reply(naming, status, &error);
    }
    sxt_text_binaries_close(&naming->binaries);
    sxt_buffer_free(&naming->answers);
    sxt_buffer_free(&naming->out);
    free(naming);
    return handled;
}
