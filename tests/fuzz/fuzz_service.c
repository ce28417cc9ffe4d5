/*
 * fuzz_service.c: what a client of the service sends. The first byte picks what the rest is:
 *
 *     p  the path of a request                  h  headers, "name: value" on lines
 *     k  a key file, a zero byte, the value of an Authorization header
 *     r  a Range header                         g, z  a body in gzip or zstd, in pieces
 *     m, j  a request of Pyroscope's clients, in protobuf or JSON
 *     s  what /symbolicate/v5 is asked          a  what /source/v1 and /asm/v1 are asked
 *     q  what /api/symbolize is asked
 *     n  the name of a report                   c  a key file, a zero byte, the value of a Cookie header
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "base/string.h"
#include "catalog/private.h"
#include "property.h"
#include "service/byte_range.h"
#include "service/expand.h"
#include "service/framing.h"
#include "service/keys.h"
#include "service/module_question.h"
#include "service/pyroscope_message.h"
#include "service/question.h"
#include "service/routing.h"
#include "service/session.h"
#include "service/symbolicate.h"

#define EXPANDED ((uint64_t)1 << 20)

static void fuzz_path(char *text);
static void fuzz_headers(char *text);
static void fuzz_keys(char *text, size_t size);
static void fuzz_range(const char *text);
static void fuzz_symbolicate(const char *text, size_t size);
static void fuzz_module_question(const char *text, size_t size);
static void fuzz_questions(const char *text, size_t size);
static void fuzz_report_name(const char *text);
static void fuzz_cookie(char *text, size_t size);
static void fuzz_body(enum sxt_encoding encoding, const uint8_t *data, size_t size);
static void fuzz_message(bool is_json, const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 16)
        return 0;
    if (*data == 'g' || *data == 'z') {
        fuzz_body(*data == 'g' ? SXT_ENCODING_GZIP : SXT_ENCODING_ZSTD, data + 1, size - 1);
        return 0;
    }
    if (*data == 'm' || *data == 'j') {
        fuzz_message(*data == 'j', data + 1, size - 1);
        return 0;
    }
    char *text = malloc(size);
    SXT_HOLDS(text != NULL);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    if (*data == 'p')
        fuzz_path(text);
    else if (*data == 'h')
        fuzz_headers(text);
    else if (*data == 'k')
        fuzz_keys(text, size - 1);
    else if (*data == 'r')
        fuzz_range(text);
    else if (*data == 's')
        fuzz_symbolicate(text, size - 1);
    else if (*data == 'a')
        fuzz_module_question(text, size - 1);
    else if (*data == 'q')
        fuzz_questions(text, size - 1);
    else if (*data == 'n')
        fuzz_report_name(text);
    else if (*data == 'c')
        fuzz_cookie(text, size - 1);
    free(text);
    return 0;
}

/* A word that a colon matched can be used as a name; nothing has a control character. */
static void fuzz_path(char *text)
{
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"};
    size_t size = strlen(text);
    char *room = malloc(SXT_ROUTE_ROOM(size));
    SXT_HOLDS(room != NULL);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        struct sxt_route_match match;
        if (sxt_route_find(sxt_routes, methods[i], (sxt_string){text, size}, room, &match) != SXT_ROUTE_FOUND)
            continue;
        size_t count = 0;
        for (const char *at = match.route->pattern; *at != 0; at++) {
            if (*at != ':')
                continue;
            bool is_rest = at[1] == ':';
            const char *word = match.words[count++];
            for (const char *letter = word; *letter != 0; letter++)
                SXT_HOLDS((unsigned char)*letter >= 0x20);
            SXT_HOLDS(is_rest || (*word != 0 && strchr(word, '/') == NULL && strcmp(word, "..") != 0));
            at += is_rest;
        }
    }
    free(room);
}

/* A request that is not refused has at most one of Content-Length and Transfer-Encoding, once. */
static void fuzz_headers(char *text)
{
    struct sxt_header headers[SXT_HEADERS_MAX];
    size_t count = 0, framing_headers = 0;
    for (char *line = text; line != NULL && count < SXT_HEADERS_MAX;) {
        char *end = strchr(line, '\n'), *colon = strchr(line, ':');
        if (end != NULL)
            *end = 0;
        if (colon != NULL && (end == NULL || colon < end)) {
            *colon = 0;
            headers[count++] = (struct sxt_header){line, colon + 1};
            framing_headers +=
                strncasecmp(line, "content-length", 14) == 0 || strncasecmp(line, "transfer-encoding", 17) == 0;
        }
        line = end != NULL ? end + 1 : NULL;
    }
    struct sxt_framing framing = sxt_framing_of(headers, count);
    SXT_HOLDS(framing.status == 0 || framing.problem != NULL);
    SXT_HOLDS(framing.status != 0 || !(framing.has_length && framing.is_chunked));
    SXT_HOLDS(framing.status != 0 || framing_headers > 0 || !(framing.has_length || framing.is_chunked));
    enum sxt_encoding encoding;
    sxt_encoding_parse(sxt_header_find(headers, count, "Content-Encoding"), &encoding);
}

static void fuzz_keys(char *text, size_t size)
{
    struct sxt_keys *keys;
    sxt_error error;
    size_t file_size = strnlen(text, size);
    if (sxt_keys_parse((sxt_string){text, file_size}, &keys, &error) != SXT_OK) {
        SXT_HOLDS(keys == NULL && error.code != SXT_OK);
        return;
    }
    SXT_HOLDS(sxt_keys_count(keys) > 0);
    const struct sxt_key *key = file_size < size ? sxt_keys_find(keys, text + file_size + 1) : NULL;
    SXT_HOLDS(key == NULL || (*key->id != 0 && key->scopes != 0));
    sxt_keys_close(&keys);
}

static void fuzz_range(const char *text)
{
    static const uint64_t totals[] = {0, 1, 1000, UINT64_MAX};
    for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
        uint64_t start, size;
        if (sxt_byte_range_parse(text, totals[i], &start, &size) == SXT_RANGE_PART)
            SXT_HOLDS(size > 0 && start < totals[i] && size <= totals[i] - start);
    }
    sxt_etag_is_in(text, "\"tag\"");
}

/* Whatever is read is within its bounds. */
static void fuzz_symbolicate(const char *text, size_t size)
{
    struct sxt_symbolicate asked;
    enum sxt_code code;
    int status = sxt_symbolicate_read(&asked, text, size, &code, NULL);
    SXT_HOLDS(status == SXT_OK || code != 0);
    for (size_t i = 0; i < asked.job_count && status == SXT_OK; i++) {
        const struct sxt_symbolicate_job *job = &asked.jobs[i];
        for (size_t k = 0; k < job->entry_count; k++)
            SXT_HOLDS(asked.memory_map[job->first_entry + k] < asked.module_count);
        for (size_t k = 0; k < job->stack_count; k++)
            SXT_HOLDS(asked.stacks[job->first_stack + k].first + asked.stacks[job->first_stack + k].count <=
                      asked.frame_count);
    }
    for (size_t i = 0; i < asked.frame_count && status == SXT_OK; i++)
        SXT_HOLDS(asked.frames[i].module < asked.module_count || asked.frames[i].module == SXT_SYMBOLICATE_NO_MODULE);
    for (size_t i = 0; i < asked.module_count; i++) {
        struct sxt_catalog_id ids[SXT_MODULE_IDS];
        SXT_HOLDS(sxt_module_ids(asked.modules[i].id, asked.modules[i].name, ids) <= SXT_MODULE_IDS);
    }
    sxt_symbolicate_free(&asked);
}

static void fuzz_module_question(const char *text, size_t size)
{
    struct sxt_module_question question;
    struct sxt_catalog_id ids[SXT_MODULE_IDS];
    enum sxt_code code;
    if (sxt_module_question_read(&question, text, size, &code, NULL) == SXT_OK)
        SXT_HOLDS(sxt_module_ids(question.debug_id, question.code_id, ids) <= SXT_MODULE_IDS);
    sxt_module_question_free(&question);
}

static void fuzz_questions(const char *text, size_t size)
{
    struct sxt_questions questions;
    enum sxt_code code;
    int status = sxt_questions_read(&questions, text, size, &code, NULL);
    for (size_t i = 0; i < questions.count && status == SXT_OK; i++)
        SXT_HOLDS(questions.items[i].id_count > 0 && questions.items[i].first + questions.items[i].count <=
                                                         questions.addresses_memory.size / sizeof(uint64_t));
    sxt_questions_free(&questions);
}

/* A name is part of the names of objects: nothing in it leads elsewhere, and what a store lists is one again. */
static void fuzz_report_name(const char *text)
{
    struct sxt_catalog_report report;
    if (sxt_catalog_is_report_name(text)) {
        SXT_HOLDS(strlen(text) <= SXT_CATALOG_REPORT_NAME_MAX && *text != '/' && *text != '.');
        SXT_HOLDS(strstr(text, "//") == NULL && strstr(text, "/.") == NULL && strpbrk(text, "~\\ %<>\"'") == NULL);
    }
    if (sxt_catalog_parse_report(text, &report))
        SXT_HOLDS(sxt_catalog_is_report_name(report.name) && strlen(report.hash) == 64 && report.time_us >= 0);
}

/* Whoever does not know the secret is nobody, and what the server sealed is opened. */
static void fuzz_cookie(char *text, size_t size)
{
    struct sxt_keys *keys;
    struct sxt_sessions *sessions;
    char value[SXT_SESSION_SIZE], cookie[SXT_SESSION_SIZE + 32];
    size_t file_size = strnlen(text, size);
    if (sxt_keys_parse((sxt_string){text, file_size}, &keys, NULL) != SXT_OK)
        return;
    SXT_HOLDS(sxt_sessions_open(NULL, &sessions, NULL) == SXT_OK);
    if (file_size < size)
        SXT_HOLDS(sxt_session_find(sessions, keys, text + file_size + 1, 1000) == NULL);
    const struct sxt_key key = {.id = "a", .tenant = "", .hash = {1}};
    sxt_session_print(sessions, &key, 1000, value);
    snprintf(cookie, sizeof cookie, "x=y; " SXT_SESSION_COOKIE "=%s", value);
    const struct sxt_key *found = sxt_session_find(sessions, keys, cookie, 1000);
    SXT_HOLDS(found == NULL || memcmp(found->hash, key.hash, sizeof key.hash) == 0);
    sxt_sessions_close(&sessions);
    sxt_keys_close(&keys);
}

static int collect(void *context, const void *data, size_t size, sxt_error *error)
{
    sxt_buffer_append(context, data, size);
    return sxt_buffer_status(context, error);
}

static int expand(enum sxt_encoding encoding, const uint8_t *data, size_t size, size_t piece, struct sxt_buffer *out)
{
    struct sxt_expander *expander;
    int status = sxt_expander_open(encoding, EXPANDED, &expander, NULL);
    SXT_HOLDS(status == SXT_OK);
    for (size_t at = 0; at < size && status == SXT_OK; at += piece)
        status = sxt_expander_feed(expander, data + at, size - at < piece ? size - at : piece, collect, out, NULL);
    if (status == SXT_OK)
        status = sxt_expander_finish(expander, NULL);
    sxt_expander_close(&expander);
    return status;
}

/* The size of the pieces does not matter, and no more comes out than is allowed. */
static void fuzz_body(enum sxt_encoding encoding, const uint8_t *data, size_t size)
{
    struct sxt_buffer whole, pieces;
    sxt_buffer_init(&whole, SIZE_MAX);
    sxt_buffer_init(&pieces, SIZE_MAX);
    int status = expand(encoding, data, size, size, &whole);
    int again = expand(encoding, data, size, 1 + data[size - 1] % 64, &pieces);
    SXT_HOLDS(whole.size <= EXPANDED && pieces.size <= EXPANDED);
    /* libzstd does not compare the window of a frame with the limit if it gets the whole frame at once. */
    SXT_HOLDS((status == SXT_OK) == (again == SXT_OK) || encoding == SXT_ENCODING_ZSTD);
    bool are_good = status == SXT_OK && again == SXT_OK;
    SXT_HOLDS(!are_good || whole.size == pieces.size);
    SXT_HOLDS(!are_good || whole.size == 0 || memcmp(whole.data, pieces.data, whole.size) == 0);
    sxt_buffer_free(&whole);
    sxt_buffer_free(&pieces);
}

/* What is read is inside of the message, or a copy. */
static void fuzz_message(bool is_json, const uint8_t *data, size_t size)
{
    for (int has_file = 0; has_file < 2; has_file++) {
        struct sxt_pyroscope_message message;
        struct sxt_arena arena;
        sxt_arena_init(&arena, (size_t)1 << 20, sxt_arena_separate_default);
        if (sxt_pyroscope_read(data, size, is_json, has_file, &arena, &message, NULL) == SXT_OK) {
            SXT_HOLDS(message.build_id.size <= size);
            for (size_t i = 0; i < message.build_id.size; i++)
                SXT_HOLDS(is_json || (const uint8_t *)message.build_id.data + i < data + size);
        }
        sxt_arena_free(&arena);
    }
}
