/* question.c: reads what POST /api/symbolize is asked. A million addresses are usual, so nothing is copied but them. */
#include "service/question.h"

#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/json_reader.h"
#include "base/string.h"

#define QUESTIONS_MAX 65536 /* of one request */
#define ARENA_LIMIT   ((size_t)16 << 20)

struct reading {
    struct sxt_json_reader json;
    struct sxt_questions *questions;
    enum sxt_code *code;
};

static int refuse(struct reading *reading, enum sxt_code code, const char *text)
{
    *reading->code = code;
    return sxt_json_read_fail(&reading->json, reading->json.position, "%s", text);
}

/* --- one member --- */

static int read_id(struct reading *reading, struct sxt_question *question, bool is_build_id)
{
    sxt_string text;
    struct sxt_catalog_id ids[2];
    size_t count = 0;
    int status = sxt_json_read_string(&reading->json, is_build_id ? "build_id" : "file_id", &text);
    if (status != SXT_OK)
        return status;
    /* Clients that know only one id of a file put it into "file_id", whichever it is. */
    if (is_build_id)
        count = sxt_catalog_parse_build_id(text, &ids[0]);
    else if (!sxt_catalog_parse_id(text, ids, &count))
        count = 0;
    if (count == 0)
        return is_build_id ? refuse(reading, SXT_CODE_BUILD_ID, "build_id is not a build ID in hexadecimal")
                           : refuse(reading, SXT_CODE_FILE_ID, "file_id is not a FileID in hexadecimal or base64url");
    for (size_t i = 0; i < count; i++)
        if (question->id_count < sizeof question->ids / sizeof *question->ids)
            question->ids[question->id_count++] = ids[i];
    return SXT_OK;
}

static int read_address(struct reading *reading, uint64_t *address)
{
    sxt_string text;
    if (sxt_json_read_peek(&reading->json) != '"')
        return refuse(reading, SXT_CODE_ADDRESS, "an address is not a string like \"0x1234\"");
    int status = sxt_json_read_string(&reading->json, "an address", &text);
    if (status != SXT_OK)
        return status;
    if (text.size < 3 || text.data[0] != '0' || (text.data[1] | 0x20) != 'x' ||
        !sxt_hex_parse((sxt_string){text.data + 2, text.size - 2}, address))
        return refuse(reading, SXT_CODE_ADDRESS, "an address is not a string like \"0x1234\"");
    return SXT_OK;
}

static int read_addresses(struct reading *reading, struct sxt_question *question)
{
    struct sxt_buffer *addresses = &reading->questions->addresses_memory;
    bool more = false;
    uint64_t address = 0;
    question->first = addresses->size / sizeof address;
    int status = sxt_json_read_begin(&reading->json, '[', "addresses");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, ']', &more)) == SXT_OK && more) {
        status = read_address(reading, &address);
        sxt_buffer_append(addresses, &address, sizeof address);
    }
    question->count = addresses->size / sizeof address - question->first;
    return status == SXT_OK ? sxt_buffer_status(addresses, reading->json.error) : status;
}

static int read_kind(struct reading *reading, struct sxt_question *question)
{
    sxt_string text;
    int status = sxt_json_read_string(&reading->json, "kind", &text);
    if (status != SXT_OK)
        return status;
    question->are_offsets = sxt_string_is(text, "file_offset");
    if (!question->are_offsets && !sxt_string_is(text, "virtual"))
        return refuse(reading, SXT_CODE_JSON, "kind is neither \"virtual\" nor \"file_offset\"");
    return SXT_OK;
}

static int read_flag(struct reading *reading, const char *what, bool *flag)
{
    *flag = sxt_json_read_word(&reading->json, "true");
    if (*flag || sxt_json_read_word(&reading->json, "false"))
        return SXT_OK;
    return sxt_json_read_fail(&reading->json, reading->json.position, "%s is neither true nor false", what);
}

/* A null says nothing, as if the key were not there. */
static int read_member(struct reading *reading, struct sxt_question *question, sxt_string key)
{
    if (sxt_string_is(key, "addresses"))
        return read_addresses(reading, question);
    if (sxt_json_read_word(&reading->json, "null"))
        return SXT_OK;
    if (sxt_string_is(key, "file_id") || sxt_string_is(key, "build_id"))
        return read_id(reading, question, sxt_string_is(key, "build_id"));
    if (sxt_string_is(key, "kind"))
        return read_kind(reading, question);
    if (sxt_string_is(key, "return_addresses"))
        return read_flag(reading, "return_addresses", &question->are_returns);
    return sxt_json_read_skip(&reading->json, NULL);
}

/* --- the request --- */

static int add_question(struct reading *reading, const struct sxt_question *question, bool has_addresses)
{
    if (question->id_count == 0)
        return refuse(reading, SXT_CODE_FILE_ID, "file_id or build_id is missing");
    if (!has_addresses)
        return refuse(reading, SXT_CODE_JSON, "addresses are missing");
    struct sxt_buffer *items = &reading->questions->items_memory;
    sxt_buffer_append(items, question, sizeof *question);
    if (items->failed && !items->memory_was_short)
        return refuse(reading, SXT_CODE_JSON, "too many files in one request");
    return sxt_buffer_status(items, reading->json.error);
}

static int read_question(struct reading *reading)
{
    struct sxt_question question = {0};
    bool more = false, has_addresses = false;
    sxt_string key;
    int status = sxt_json_read_begin(&reading->json, '{', "a file");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&reading->json, &key, NULL);
        has_addresses |= status == SXT_OK && sxt_string_is(key, "addresses");
        if (status == SXT_OK)
            status = read_member(reading, &question, key);
    }
    return status == SXT_OK ? add_question(reading, &question, has_addresses) : status;
}

static int read_files(struct reading *reading)
{
    bool more = false;
    reading->questions->is_list = true;
    int status = sxt_json_read_begin(&reading->json, '[', "files");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, ']', &more)) == SXT_OK && more)
        status = read_question(reading);
    return status;
}

static int read_request(struct reading *reading)
{
    struct sxt_questions *questions = reading->questions;
    struct sxt_question question = {0};
    bool more = false, has_addresses = false, has_files = false;
    sxt_string key;
    int status = sxt_json_read_begin(&reading->json, '{', "the request");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&reading->json, &key, NULL);
        if (status != SXT_OK)
            break;
        has_addresses |= sxt_string_is(key, "addresses");
        if (sxt_string_is(key, "files")) {
            status = has_files ? refuse(reading, SXT_CODE_JSON, "files is there twice") : read_files(reading);
            has_files = true;
        } else if (sxt_string_is(key, "compact")) {
            status = read_flag(reading, "compact", &questions->is_compact);
        } else {
            status = read_member(reading, &question, key);
        }
    }
    if (status == SXT_OK)
        status = sxt_json_read_end(&reading->json);
    if (status == SXT_OK && has_files && (has_addresses || question.id_count > 0))
        return refuse(reading, SXT_CODE_JSON, "files, and addresses beside them");
    return status == SXT_OK && !has_files ? add_question(reading, &question, has_addresses) : status;
}

/* The shortest address in a request takes 6 bytes: "0x0", and the comma. */
static size_t addresses_size(size_t size)
{
    return (size / 6 + 1) * sizeof(uint64_t);
}

/* The shortest file in a request takes about 80 bytes. */
size_t sxt_questions_memory(size_t size)
{
    return addresses_size(size) + size / 80 * sizeof(struct sxt_question);
}

int sxt_questions_read(struct sxt_questions *questions, const char *text, size_t size, enum sxt_code *code,
                       sxt_error *error)
{
    struct reading reading = {.questions = questions, .code = code};
    *questions = (struct sxt_questions){0};
    *code = SXT_CODE_JSON;
    sxt_arena_init(&questions->arena, ARENA_LIMIT, sxt_arena_separate_default);
    sxt_buffer_init(&questions->items_memory, QUESTIONS_MAX * sizeof(struct sxt_question));
    sxt_buffer_init(&questions->addresses_memory, addresses_size(size));
    int status = sxt_json_reader_init(&reading.json, "the request", text, size, &questions->arena, error);
    if (status == SXT_OK)
        status = read_request(&reading);
    questions->items = (void *)questions->items_memory.data;
    questions->count = questions->items_memory.size / sizeof(struct sxt_question);
    questions->addresses = (const void *)questions->addresses_memory.data;
    return status;
}

void sxt_questions_free(struct sxt_questions *questions)
{
    sxt_buffer_free(&questions->items_memory);
    sxt_buffer_free(&questions->addresses_memory);
    sxt_arena_free(&questions->arena);
}
