/*
 * symbolize.c: POST /api/symbolize.
 *
 *     {"file_id":"…","addresses":["0x1234"]}      {"frames":[[{"function":"f","file":"a.c","line":3}]]}
 *     {"files":[{…},{…}]}                         {"files":[{"frames":[…]},{"frames":null,"error":"…"}]}
 *
 * With "compact":true a frame is [function, file, line]: places in "strings", which is at the end; -1 is unknown.
 */
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/strings.h"
#include "service/find.h"
#include "service/handlers.h"
#include "service/question.h"
#include "service/server.h"

#define REPLY_LIMIT ((size_t)512 << 20)
#define STRING_COST 32                /* of a string in the table, besides its bytes */
#define COUNTED     ((size_t)1 << 20) /* memory is counted in steps of this size */
#define UNKNOWN     "nothing is known of this file"

struct answering {
    struct sxt_request *request;
    struct sxt_buffer out;
    size_t questions_size; /* in memory */
    size_t counted;        /* up to this, what is in memory is counted */
    bool is_compact;
    struct sxt_strings strings; /* of the compact form */
    uint64_t found, nothing, unknown;
    bool is_later; /* a file is being fetched: what is written is not the reply */
};

static void put(struct sxt_buffer *out, const char *text)
{
    sxt_buffer_append(out, text, strlen(text));
}

/* --- frames --- */

static char *copy(char *to, const void *from, size_t size)
{
    if (size > 0)
        memcpy(to, from, size);
    return to + size;
}

#define COPY(to, text) copy(to, text, sizeof(text) - 1)

/* The value of "file" or "function". */
static void put_string(struct sxt_buffer *out, sxt_string text)
{
    sxt_buffer_u8(out, '"');
    sxt_escape_json(out, text);
    sxt_buffer_u8(out, '"');
}

static bool is_plain(sxt_string text)
{
    return sxt_escape_plain_size(text.data, text.size) == text.size;
}

/* Almost every frame: nothing in it needs an escape, and its room is asked for once. */
static bool put_plain_frame(struct sxt_buffer *out, const sxt_frame *frame)
{
    char digits[SXT_DIGITS_MAX];
    bool has_file = frame->file.data != NULL;
    size_t file_size = has_file ? frame->file.size : 0;
    if (!is_plain(frame->function) || (has_file && !is_plain(frame->file)))
        return false;
    uint8_t *room = sxt_buffer_reserve(out, frame->function.size + file_size + 64);
    if (room == NULL)
        return true;
    char *to = COPY((char *)room, "{\"function\":\"");
    to = copy(to, frame->function.data, frame->function.size);
    if (has_file) {
        to = COPY(to, "\",\"file\":\"");
        to = copy(to, frame->file.data, file_size);
        to = COPY(to, "\",\"line\":");
    } else {
        to = COPY(to, "\",\"file\":null,\"line\":");
    }
    if (frame->line != 0) {
        char *number = sxt_digits_before(digits + sizeof digits, frame->line);
        to = copy(to, number, (size_t)(digits + sizeof digits - number));
        *to++ = '}';
    } else {
        to = COPY(to, "null}");
    }
    out->size += (size_t)(to - (char *)room);
    return true;
}

static void put_frame(struct sxt_buffer *out, const sxt_frame *frame)
{
    if (put_plain_frame(out, frame))
        return;
    put(out, "{\"function\":");
    put_string(out, frame->function);
    put(out, ",\"file\":");
    if (frame->file.data != NULL)
        put_string(out, frame->file);
    else
        put(out, "null");
    if (frame->line != 0)
        sxt_buffer_print(out, ",\"line\":%u}", frame->line);
    else
        put(out, ",\"line\":null}");
}

/* The place of a string in the table; -1 for one that is absent. */
static int place_of(struct answering *answering, sxt_string text)
{
    if (text.data == NULL)
        return -1;
    uint32_t number = sxt_strings_add(&answering->strings, text.data, text.size);
    if (number == SXT_STRINGS_FULL)
        answering->out.failed = true;
    return (int)number;
}

static void put_compact_frame(struct answering *answering, const sxt_frame *frame)
{
    int function = place_of(answering, frame->function), file = place_of(answering, frame->file);
    sxt_buffer_print(&answering->out, "[%d,%d,%d]", function, file, frame->line != 0 ? (int)frame->line : -1);
}

/* If it returns false, the reply is made: too much is in memory. */
static bool count_memory(struct answering *answering)
{
    size_t size = answering->questions_size + answering->out.size;
    if (answering->is_compact)
        size += answering->strings.bytes + answering->strings.capacity * STRING_COST;
    if (size <= answering->counted)
        return true;
    answering->counted = size + COUNTED;
    return sxt_request_count_memory(answering->request, answering->counted);
}

static int take_chain(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct answering *answering = data;
    struct sxt_buffer *out = &answering->out;
    put(out, index > 0 ? ",[" : "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            sxt_buffer_u8(out, ',');
        if (answering->is_compact)
            put_compact_frame(answering, &frames[i]);
        else
            put_frame(out, &frames[i]);
    }
    sxt_buffer_u8(out, ']');
    answering->found += count > 0;
    answering->nothing += count == 0;
    return out->failed || !count_memory(answering) ? SXT_ERROR_LIMIT : SXT_OK;
}

/* --- the reply --- */

static int put_answer(struct answering *answering, struct sxt_catalog_binary *binary,
                      const struct sxt_questions *questions, const struct sxt_question *question, sxt_error *error)
{
    struct sxt_catalog_question asked = {
        .addresses = questions->addresses + question->first,
        .count = question->count,
        .are_offsets = question->are_offsets,
        .are_returns = question->are_returns,
    };
    put(&answering->out, "\"frames\":[");
    int status = sxt_catalog_lookup(binary, &asked, take_chain, answering, error);
    sxt_buffer_u8(&answering->out, ']');
    /* The reply says that it is too long, or that there is too much already. */
    return answering->out.failed || sxt_request_is_answered(answering->request) ? SXT_OK : status;
}

static void put_strings(struct answering *answering)
{
    struct sxt_buffer *out = &answering->out;
    put(out, ",\"strings\":[");
    for (uint32_t i = 0; i < answering->strings.count; i++) {
        if (i > 0)
            sxt_buffer_u8(out, ',');
        put_string(out, answering->strings.views[i]);
    }
    sxt_buffer_u8(out, ']');
}

static enum sxt_handled fail(struct sxt_request *request, const sxt_error *error)
{
    sxt_reply_error(request, error);
    return SXT_DONE;
}

static void put_error(struct sxt_buffer *out, const char *reason)
{
    put(out, "\"frames\":null,\"error\":\"" UNKNOWN);
    if (reason != NULL)
        sxt_buffer_print(out, "; %s", reason);
    sxt_buffer_u8(out, '"');
}

static void put_missing(struct sxt_buffer *out, const char *reason)
{
    if (reason != NULL)
        sxt_buffer_print(out, ",\"missing\":\"%s\"", reason);
}

/*
 * What is known of one binary. A reply was made unless SXT_WAIT or *IS_DONE. If one is being fetched, the others are
 * only looked for, so that they are fetched too.
 */
static enum sxt_handled answer_one(struct sxt_request *request, struct answering *answering,
                                   const struct sxt_questions *questions, const struct sxt_question *question,
                                   bool *is_done)
{
    struct sxt_catalog_binary *binary = NULL;
    sxt_error error;
    enum sxt_found found = sxt_request_find(request, question->ids, question->id_count, &binary, &error);
    *is_done = false;
    if (found == SXT_FOUND_LATER) {
        answering->is_later = *is_done = request->may_wait;
        return SXT_WAIT;
    }
    if (found == SXT_FOUND_ERROR)
        return fail(request, &error);
    if (found == SXT_FOUND_NOTHING) {
        answering->unknown += question->count;
        if (!questions->is_list) {
            sxt_request_count(request, SXT_METRIC_LOOKUP_UNKNOWN, question->count);
            sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, UNKNOWN "%s%s", request->missing != NULL ? "; " : "",
                              request->missing != NULL ? request->missing : "");
            return SXT_DONE;
        }
        put_error(&answering->out, request->missing);
        *is_done = true;
        return SXT_DONE;
    }
    int status = answering->is_later ? SXT_OK : put_answer(answering, binary, questions, question, &error);
    put_missing(&answering->out, request->missing);
    sxt_catalog_release(request->service->catalog, &binary);
    *is_done = status == SXT_OK && !sxt_request_is_answered(request);
    return status == SXT_OK ? SXT_DONE : fail(request, &error);
}

static enum sxt_handled answer_all(struct sxt_request *request, struct answering *answering,
                                   const struct sxt_questions *questions)
{
    struct sxt_buffer *out = &answering->out;
    put(out, questions->is_list ? "{\"files\":[" : "{");
    for (size_t i = 0; i < questions->count; i++) {
        bool is_done;
        if (questions->is_list)
            put(out, i > 0 ? ",{" : "{");
        enum sxt_handled handled = answer_one(request, answering, questions, &questions->items[i], &is_done);
        if (!is_done)
            return handled;
        if (questions->is_list)
            sxt_buffer_u8(out, '}');
    }
    if (answering->is_later)
        return SXT_WAIT;
    if (questions->is_list)
        sxt_buffer_u8(out, ']');
    if (answering->is_compact)
        put_strings(answering);
    sxt_buffer_u8(out, '}');
    sxt_request_count(request, SXT_METRIC_LOOKUP_FOUND, answering->found);
    sxt_request_count(request, SXT_METRIC_LOOKUP_NOTHING, answering->nothing);
    sxt_request_count(request, SXT_METRIC_LOOKUP_UNKNOWN, answering->unknown);
    if (out->failed && !out->memory_was_short)
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "the answer is too long: ask for fewer addresses at once");
    else
        sxt_reply_buffer(request, 200, "application/json", out);
    return SXT_DONE;
}

static enum sxt_handled answer(struct sxt_request *request, const struct sxt_questions *questions)
{
    struct answering answering = {.request = request, .is_compact = questions->is_compact, .counted = COUNTED};
    sxt_error error;
    answering.questions_size = questions->items_memory.size + questions->addresses_memory.size;
    sxt_buffer_init(&answering.out, REPLY_LIMIT);
    if (!count_memory(&answering))
        return SXT_DONE;
    if (answering.is_compact && sxt_strings_init(&answering.strings, REPLY_LIMIT, &error) != SXT_OK)
        return fail(request, &error);
    enum sxt_handled handled = answer_all(request, &answering, questions);
    sxt_buffer_free(&answering.out);
    if (answering.is_compact)
        sxt_strings_free(&answering.strings);
    return handled;
}

enum sxt_handled sxt_handle_symbolize(struct sxt_request *request)
{
    struct sxt_questions questions;
    enum sxt_code code;
    enum sxt_handled handled = SXT_DONE;
    sxt_error error;
    if (!sxt_request_count_memory(request, sxt_questions_memory(request->body.size)))
        return SXT_DONE;
    int status = sxt_questions_read(&questions, (const char *)request->body.data, request->body.size, &code, &error);
    if (status == SXT_OK)
        handled = answer(request, &questions);
    else if (status == SXT_ERROR_MEMORY)
        sxt_reply_error(request, &error);
    else
        sxt_reply_failure(request, 400, code, "%s", error.text);
    sxt_questions_free(&questions);
    return handled;
}
