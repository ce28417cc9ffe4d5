/* module_question.c: reads what /source/v1 and /asm/v1 are asked. */
#include "service/module_question.h"

#include "base/error.h"
#include "base/hex.h"
#include "base/json_reader.h"
#include "base/string.h"
#include "service/find.h"
#include "service/server.h"

#define ARENA_LIMIT ((size_t)1 << 20)

size_t sxt_module_ids(sxt_string debug_id, sxt_string code_id, struct sxt_catalog_id out[SXT_MODULE_IDS])
{
    size_t count = 0;
    if (code_id.size > 0)
        count += sxt_catalog_parse_build_id(code_id, &out[count]);
    if (debug_id.size > 0) {
        count += sxt_catalog_parse_debug_id(debug_id, &out[count]);
        count += sxt_catalog_parse_build_id(debug_id, &out[count]);
    }
    return count;
}

struct reading {
    struct sxt_json_reader json;
    struct sxt_module_question *out;
    enum sxt_code *code;
};

static int refuse(struct reading *reading, enum sxt_code code, const char *text)
{
    *reading->code = code;
    return sxt_json_read_fail(&reading->json, reading->json.position, "%s", text);
}

/* Numbers are strings here: "0x1234". */
static int read_address(struct reading *reading, uint64_t *value, bool *is_there)
{
    static const char problem[] = "an address or a size is not a string like \"0x1234\"";
    sxt_string text;
    if (sxt_json_read_peek(&reading->json) != '"')
        return refuse(reading, SXT_CODE_ADDRESS, problem);
    int status = sxt_json_read_string(&reading->json, "an address", &text);
    if (status != SXT_OK)
        return status;
    if (text.size < 3 || text.data[0] != '0' || (text.data[1] | 0x20) != 'x' ||
        !sxt_hex_parse((sxt_string){text.data + 2, text.size - 2}, value))
        return refuse(reading, SXT_CODE_ADDRESS, problem);
    *is_there = true;
    return SXT_OK;
}

static int read_flag(struct reading *reading, bool *flag)
{
    *flag = sxt_json_read_word(&reading->json, "true");
    if (*flag || sxt_json_read_word(&reading->json, "false"))
        return SXT_OK;
    return refuse(reading, SXT_CODE_JSON, "continueUntilFunctionEnd is neither true nor false");
}

/* A null says nothing, as if the key were not there. Names of modules are not needed: ids say which one is meant. */
static int read_member(struct reading *reading, sxt_string key)
{
    struct sxt_module_question *out = reading->out;
    if (sxt_json_read_word(&reading->json, "null"))
        return SXT_OK;
    if (sxt_string_is(key, "debugId"))
        return sxt_json_read_string(&reading->json, "debugId", &out->debug_id);
    if (sxt_string_is(key, "codeId"))
        return sxt_json_read_string(&reading->json, "codeId", &out->code_id);
    if (sxt_string_is(key, "file"))
        return sxt_json_read_string(&reading->json, "file", &out->file);
    if (sxt_string_is(key, "moduleOffset"))
        return read_address(reading, &out->offset, &out->has_offset);
    if (sxt_string_is(key, "startAddress"))
        return read_address(reading, &out->start, &out->has_start);
    if (sxt_string_is(key, "size"))
        return read_address(reading, &out->size, &out->has_size);
    if (sxt_string_is(key, "continueUntilFunctionEnd"))
        return read_flag(reading, &out->continues);
    return sxt_json_read_skip(&reading->json, NULL);
}

static int read_request(struct reading *reading)
{
    bool more = false;
    sxt_string key;
    int status = sxt_json_read_begin(&reading->json, '{', "the request");
    while (status == SXT_OK && (status = sxt_json_read_more(&reading->json, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&reading->json, &key, NULL);
        if (status == SXT_OK)
            status = read_member(reading, key);
    }
    return status == SXT_OK ? sxt_json_read_end(&reading->json) : status;
}

int sxt_module_question_read(struct sxt_module_question *out, const char *text, size_t size, enum sxt_code *code,
                             sxt_error *error)
{
    struct reading reading = {.out = out, .code = code};
    *out = (struct sxt_module_question){.offset = 0};
    *code = SXT_CODE_JSON;
    sxt_arena_init(&out->arena, ARENA_LIMIT, sxt_arena_separate_default);
    int status = sxt_json_reader_init(&reading.json, "the request", text, size, &out->arena, error);
    return status == SXT_OK ? read_request(&reading) : status;
}

void sxt_module_question_free(struct sxt_module_question *question)
{
    sxt_arena_free(&question->arena);
}

static enum sxt_handled find_and_answer(struct sxt_request *request, const struct sxt_module_question *question,
                                        const struct sxt_module_handler *handler)
{
    struct sxt_catalog_binary *binary = NULL;
    struct sxt_catalog_id ids[SXT_MODULE_IDS];
    size_t id_count = sxt_module_ids(question->debug_id, question->code_id, ids);
    sxt_error error;
    if (!request->may_wait)
        return SXT_WAIT;
    enum sxt_found found = id_count > 0 ? sxt_request_find(request, ids, id_count, &binary, &error) : SXT_FOUND_NOTHING;
    if (found == SXT_FOUND_LATER)
        return SXT_WAIT;
    if (found == SXT_FOUND_ERROR)
        sxt_reply_error(request, &error);
    else if (found == SXT_FOUND_NOTHING)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "nothing is known of this file");
    else
        handler->answer(request, question, ids, id_count, binary);
    sxt_catalog_release(request->service->catalog, &binary);
    return SXT_DONE;
}

enum sxt_handled sxt_module_question_handle(struct sxt_request *request, const struct sxt_module_handler *handler)
{
    struct sxt_module_question question;
    enum sxt_code code;
    enum sxt_handled handled = SXT_DONE;
    sxt_error error;
    int status =
        sxt_module_question_read(&question, (const char *)request->body.data, request->body.size, &code, &error);
    if (status == SXT_ERROR_MEMORY)
        sxt_reply_error(request, &error);
    else if (status != SXT_OK)
        sxt_reply_failure(request, 400, code, "%s", error.text);
    else if ((question.debug_id.data == NULL && question.code_id.data == NULL) || !handler->is_complete(&question))
        sxt_reply_failure(request, 400, SXT_CODE_JSON, "%s", handler->lacks);
    else
        handled = find_and_answer(request, &question, handler);
    sxt_module_question_free(&question);
    return handled;
}
