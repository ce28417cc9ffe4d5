/*
 * symbolicate.c: POST /symbolicate/v5, as the Firefox Profiler and samply ask it.
 *
 *     {"jobs":[{"memoryMap":[["libc.so.6","627B03B886604653802321DD2256B8AD0"]],"stacks":[[[0,1716093]]]}]}
 *     {"results":[{"stacks":[[{"frame":0,"module_offset":"0x1a2f7d","module":"libc.so.6","function":"f", … }]],
 *                  "found_modules":{"libc.so.6/627B03B886604653802321DD2256B8AD0":true}}]}
 *
 * Frames are looked up module by module, each offset once, in order. The text of each answer is kept and copied to
 * where the frame is in the reply.
 */
#include "service/symbolicate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/find.h"
#include "service/handlers.h"
#include "service/module_question.h"
#include "service/server.h"

#define REPLY_LIMIT ((size_t)512 << 20)

#define NO_TEXT     UINT32_MAX

#define COUNTED     ((size_t)1 << 20) /* memory is counted in steps of this size */

/* A frame of the request, to be put in order. */
struct wanted {
    uint64_t offset;
    uint32_t module, frame;
};

/* What is known of an offset of a module, in `texts`; empty: nothing. */
struct text {
    size_t start, size;
};

struct answer {
    struct sxt_request *request;
    const struct sxt_symbolicate *asked;
    struct wanted *wanted; /* by module and offset; frames that cannot be looked up are not there */
    size_t wanted_count;
    uint64_t *addresses; /* of one module */
    struct text *list;
    size_t text_count;
    uint32_t *text_of; /* by frame: its number in LIST, or NO_TEXT */
    bool *is_found;    /* by module */
    bool is_later;     /* files are being fetched: the handler begins anew when they are there */
    uint64_t found, nothing, unknown;
    struct sxt_buffer texts, out;
    size_t fixed_size; /* of the rest, in memory */
    size_t counted;    /* up to this, what is in memory is counted */
};

/* One module that is looked up. */
struct module {
    struct answer *answer;
    const struct sxt_catalog_binary *binary;
};

static void put(struct sxt_buffer *out, const char *text)
{
    sxt_buffer_append(out, text, strlen(text));
}

static void put_string(struct sxt_buffer *out, sxt_string text)
{
    sxt_buffer_u8(out, '"');
    sxt_escape_json(out, text);
    sxt_buffer_u8(out, '"');
}

static void put_address(struct sxt_buffer *out, const char *before, uint64_t value)
{
    char digits[SXT_DIGITS_MAX], *end = digits + sizeof digits, *start = sxt_address_before(end, value);
    put(out, before);
    sxt_buffer_append(out, start, (size_t)(end - start));
    sxt_buffer_u8(out, '"');
}

/* If it returns false, the reply is made: all requests together have too much in memory. */
static bool count_memory(struct answer *answer)
{
    size_t size = answer->fixed_size + answer->texts.size + answer->out.size;
    if (size <= answer->counted)
        return true;
    answer->counted = size + COUNTED;
    return sxt_request_count_memory(answer->request, answer->counted);
}

/* --- what is known of an offset --- */

static void put_place(struct sxt_buffer *out, const sxt_frame *frame)
{
    if (frame->file.data != NULL) {
        put(out, ",\"file\":");
        put_string(out, frame->file);
    }
    if (frame->line != 0)
        sxt_buffer_print(out, ",\"line\":%u", frame->line);
}

static void put_inlines(struct sxt_buffer *out, const sxt_frame *frames, size_t count)
{
    put(out, ",\"inlines\":[");
    for (size_t i = 0; i < count; i++) {
        put(out, i > 0 ? ",{\"function\":" : "{\"function\":");
        put_string(out, frames[i].function);
        put_place(out, &frames[i]);
        sxt_buffer_u8(out, '}');
    }
    sxt_buffer_u8(out, ']');
}

/* Where a function begins is not known if only return pads were pushed: then each pad counts as a function. */
static void put_function(struct sxt_buffer *out, const struct module *module, uint64_t address, const sxt_frame *outer)
{
    uint64_t start, size;
    put(out, ",\"function\":");
    put_string(out, outer->function);
    if (sxt_catalog_function_range(module->binary, address, outer, &start, &size) && start <= address) {
        put_address(out, ",\"function_offset\":\"", address - start);
        put_address(out, ",\"function_size\":\"", size);
    } else {
        put(out, ",\"function_offset\":\"0x0\"");
    }
}

static int take_chain(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    const struct module *module = data;
    struct answer *answer = module->answer;
    struct sxt_buffer *out = &answer->texts;
    struct text *text = &answer->list[answer->text_count++];
    text->start = out->size;
    if (count > 0) {
        put_function(out, module, answer->addresses[index], &frames[count - 1]);
        put_place(out, &frames[count - 1]);
        if (count > 1)
            put_inlines(out, frames, count - 1);
    }
    text->size = out->size - text->start;
    return out->failed || !count_memory(answer) ? SXT_ERROR_LIMIT : SXT_OK;
}

/* --- looking up --- */

static int by_offset(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static void collect_wanted(struct answer *answer)
{
    const struct sxt_symbolicate *asked = answer->asked;
    for (size_t i = 0; i < asked->frame_count; i++) {
        const struct sxt_symbolicate_frame *frame = &asked->frames[i];
        answer->text_of[i] = NO_TEXT;
        if (frame->module != SXT_SYMBOLICATE_NO_MODULE)
            answer->wanted[answer->wanted_count++] = (struct wanted){frame->offset, frame->module, (uint32_t)i};
    }
    if (answer->wanted_count > 0)
        qsort(answer->wanted, answer->wanted_count, sizeof *answer->wanted, by_offset);
}

/* Looks up the COUNT offsets at WANTED, all of one binary. */
static int look_up(struct answer *answer, struct sxt_catalog_binary *binary, const struct wanted *wanted, size_t count,
                   sxt_error *error)
{
    struct module module = {.answer = answer, .binary = binary};
    /* Whole ranges of functions are then fetched with everything else; otherwise they take nothing. */
    struct sxt_catalog_question question = {.addresses = answer->addresses, .are_whole = sxt_catalog_is_ranged(binary)};
    uint64_t base = sxt_catalog_base_address(binary);
    size_t first_text = answer->text_count;
    for (size_t i = 0; i < count; i++) {
        bool is_same = i > 0 && wanted[i].offset == wanted[i - 1].offset;
        if (!is_same && __builtin_add_overflow(base, wanted[i].offset, &answer->addresses[question.count++]))
            answer->addresses[question.count - 1] = UINT64_MAX; /* which nothing has */
        answer->text_of[wanted[i].frame] = (uint32_t)(first_text + question.count - 1);
    }
    return sxt_catalog_lookup(binary, &question, take_chain, &module, error);
}

static void count_answers(struct answer *answer, const struct wanted *wanted, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sxt_symbolicate_frame *frame = &answer->asked->frames[wanted[i].frame];
        bool is_found = answer->list[answer->text_of[wanted[i].frame]].size > 0 && !frame->is_negative;
        answer->found += is_found;
        answer->nothing += !is_found;
    }
}

/*
 * Looks up the frames of one module. SXT_WAIT if the store has to be asked; false in *GOES_ON after a reply. If one is
 * being fetched, the others are only looked for, so that they are fetched too.
 */
static enum sxt_handled look_up_module(struct answer *answer, const struct wanted *wanted, size_t count, bool *goes_on)
{
    struct sxt_request *request = answer->request;
    const struct sxt_symbolicate_module *module = &answer->asked->modules[wanted->module];
    struct sxt_catalog_binary *binary = NULL;
    struct sxt_catalog_id ids[SXT_MODULE_IDS];
    sxt_error error;
    size_t id_count = sxt_module_ids(module->id, (sxt_string){NULL, 0}, ids);
    enum sxt_found found = id_count > 0 ? sxt_request_find(request, ids, id_count, &binary, &error) : SXT_FOUND_NOTHING;
    *goes_on = found != SXT_FOUND_ERROR;
    if (found == SXT_FOUND_LATER) {
        answer->is_later = *goes_on = request->may_wait;
        return SXT_WAIT;
    }
    if (found == SXT_FOUND_ERROR)
        sxt_reply_error(request, &error);
    if (found == SXT_FOUND_NOTHING)
        answer->unknown += count;
    if (found != SXT_FOUND)
        return SXT_DONE;
    answer->is_found[wanted->module] = true;
    int status = answer->is_later ? SXT_OK : look_up(answer, binary, wanted, count, &error);
    sxt_catalog_release(request->service->catalog, &binary);
    *goes_on = status == SXT_OK;
    if (status == SXT_OK && !answer->is_later)
        count_answers(answer, wanted, count);
    else if (status != SXT_OK && !answer->texts.failed &&
             !sxt_request_is_answered(request)) /* otherwise the reply says why */
        sxt_reply_error(request, &error);
    return SXT_DONE;
}

/* False in *GOES_ON after a reply, and with SXT_WAIT. */
static enum sxt_handled look_up_all(struct answer *answer, bool *goes_on)
{
    enum sxt_handled handled = SXT_DONE;
    *goes_on = true;
    for (size_t at = 0, end; at < answer->wanted_count && *goes_on; at = end) {
        for (end = at + 1; end < answer->wanted_count && answer->wanted[end].module == answer->wanted[at].module;)
            end++;
        handled = look_up_module(answer, answer->wanted + at, end - at, goes_on);
    }
    if (answer->is_later && *goes_on) {
        *goes_on = false;
        return SXT_WAIT;
    }
    return handled;
}

/* --- the reply --- */

static void put_frame(struct answer *answer, size_t number, size_t index)
{
    const struct sxt_symbolicate_frame *frame = &answer->asked->frames[index];
    struct sxt_buffer *out = &answer->out;
    char digits[SXT_DIGITS_MAX], *end = digits + sizeof digits, *start = sxt_digits_before(end, number);
    put(out, number > 0 ? ",{\"frame\":" : "{\"frame\":");
    sxt_buffer_append(out, start, (size_t)(end - start));
    if (frame->is_negative)
        put(out, ",\"module_offset\":\"-0x1\"");
    else
        put_address(out, ",\"module_offset\":\"", frame->offset);
    put(out, ",\"module\":");
    put_string(out, frame->module != SXT_SYMBOLICATE_NO_MODULE ? answer->asked->modules[frame->module].name
                                                               : sxt_string_of("<unknown>"));
    if (answer->text_of[index] != NO_TEXT && !frame->is_negative) {
        const struct text *text = &answer->list[answer->text_of[index]];
        if (text->size > 0)
            sxt_buffer_append(out, answer->texts.data + text->start, text->size);
    }
    sxt_buffer_u8(out, '}');
}

static void put_stacks(struct answer *answer, const struct sxt_symbolicate_job *job)
{
    struct sxt_buffer *out = &answer->out;
    put(out, "{\"stacks\":[");
    for (size_t i = 0; i < job->stack_count; i++) {
        const struct sxt_symbolicate_stack *stack = &answer->asked->stacks[job->first_stack + i];
        put(out, i > 0 ? ",[" : "[");
        for (size_t k = 0; k < stack->count && !out->failed && count_memory(answer); k++)
            put_frame(answer, k, stack->first + k);
        sxt_buffer_u8(out, ']');
    }
    sxt_buffer_u8(out, ']');
}

static void put_module_key(struct sxt_buffer *out, const struct sxt_symbolicate_module *module)
{
    sxt_buffer_u8(out, '"');
    sxt_escape_json(out, module->name);
    sxt_buffer_u8(out, '/');
    sxt_escape_json(out, module->id);
    put(out, "\":");
}

/* What a job says of a module. A module may be in the map of a job twice, and is printed once. */
enum mention { MENTION_MAP = 1, MENTION_FRAME = 2, MENTION_PRINTED = 4 };

static void note_mentions(const struct answer *answer, const struct sxt_symbolicate_job *job, uint8_t *mentions)
{
    const struct sxt_symbolicate *asked = answer->asked;
    for (size_t i = 0; i < job->entry_count; i++)
        mentions[asked->memory_map[job->first_entry + i]] = MENTION_MAP;
    for (size_t i = 0; i < job->stack_count; i++) {
        const struct sxt_symbolicate_stack *stack = &asked->stacks[job->first_stack + i];
        for (size_t k = stack->first; k < stack->first + stack->count; k++)
            if (asked->frames[k].module != SXT_SYMBOLICATE_NO_MODULE)
                mentions[asked->frames[k].module] |= MENTION_FRAME;
    }
}

/* Modules that no frame of the job is in were not looked for: null. */
static void put_found(struct answer *answer, const struct sxt_symbolicate_job *job, uint8_t *mentions)
{
    struct sxt_buffer *out = &answer->out;
    put(out, ",\"found_modules\":{");
    size_t count = 0;
    for (size_t i = 0; i < job->entry_count; i++) {
        uint32_t number = answer->asked->memory_map[job->first_entry + i];
        if (mentions[number] & MENTION_PRINTED)
            continue;
        mentions[number] |= MENTION_PRINTED;
        if (count++ > 0)
            sxt_buffer_u8(out, ',');
        put_module_key(out, &answer->asked->modules[number]);
        put(out, !(mentions[number] & MENTION_FRAME) ? "null" : answer->is_found[number] ? "true" : "false");
    }
    sxt_buffer_u8(out, '}');
}

/* Clears the mentions, for the next job. */
static void put_errors(struct answer *answer, const struct sxt_symbolicate_job *job, uint8_t *mentions)
{
    struct sxt_buffer *out = &answer->out;
    size_t count = 0;
    for (size_t i = 0; i < job->entry_count; i++) {
        uint32_t number = answer->asked->memory_map[job->first_entry + i];
        const struct sxt_symbolicate_module *module = &answer->asked->modules[number];
        struct sxt_catalog_id ids[SXT_MODULE_IDS];
        bool has_frames = mentions[number] & MENTION_FRAME;
        mentions[number] = 0;
        if (!has_frames || answer->is_found[number])
            continue;
        put(out, count++ > 0 ? "," : ",\"module_errors\":{");
        put_module_key(out, module);
        put(out, sxt_module_ids(module->id, (sxt_string){NULL, 0}, ids) > 0
                     ? "[{\"name\":\"NotFound\",\"message\":\"nothing is known of this file\"}]"
                     : "[{\"name\":\"InvalidBreakpadId\",\"message\":\"not the debug id of an ELF file\"}]");
    }
    if (count > 0)
        sxt_buffer_u8(out, '}');
}

static void put_results(struct answer *answer, uint8_t *mentions)
{
    struct sxt_buffer *out = &answer->out;
    put(out, "{\"results\":[");
    for (size_t i = 0; i < answer->asked->job_count && !out->failed && !sxt_request_is_answered(answer->request); i++) {
        if (i > 0)
            sxt_buffer_u8(out, ',');
        put_stacks(answer, &answer->asked->jobs[i]);
        note_mentions(answer, &answer->asked->jobs[i], mentions);
        put_found(answer, &answer->asked->jobs[i], mentions);
        put_errors(answer, &answer->asked->jobs[i], mentions);
        sxt_buffer_u8(out, '}');
    }
    put(out, "]}");
}

static void reply(struct answer *answer)
{
    struct sxt_request *request = answer->request;
    uint8_t *mentions = calloc(answer->asked->module_count + 1, sizeof *mentions);
    sxt_error error;
    if (mentions == NULL) {
        sxt_fail_memory(&error, answer->asked->module_count + 1);
        sxt_reply_error(request, &error);
        return;
    }
    put_results(answer, mentions);
    free(mentions);
    sxt_request_count(request, SXT_METRIC_LOOKUP_FOUND, answer->found);
    sxt_request_count(request, SXT_METRIC_LOOKUP_NOTHING, answer->nothing);
    sxt_request_count(request, SXT_METRIC_LOOKUP_UNKNOWN, answer->unknown);
    if (sxt_request_is_answered(request))
        return;
    if (answer->out.failed && !answer->out.memory_was_short)
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "the answer is too long: ask for fewer frames at once");
    else
        sxt_reply_buffer(request, 200, "application/json", &answer->out);
}

static enum sxt_handled make_answer(struct answer *answer)
{
    bool goes_on;
    collect_wanted(answer);
    enum sxt_handled handled = look_up_all(answer, &goes_on);
    if (goes_on)
        reply(answer);
    else if (answer->texts.failed && !answer->texts.memory_was_short)
        sxt_reply_failure(answer->request, 413, SXT_CODE_TOO_LARGE,
                          "the answer is too long: ask for fewer frames at once");
    else if (answer->texts.failed)
        sxt_reply_failure(answer->request, 500, SXT_CODE_INTERNAL, "out of memory");
    return handled;
}

static enum sxt_handled answer_request(struct sxt_request *request, const struct sxt_symbolicate *asked)
{
    struct answer answer = {.request = request, .asked = asked};
    size_t count = asked->frame_count + 1;
    enum sxt_handled handled = SXT_DONE;
    sxt_error error;
    sxt_buffer_init(&answer.texts, REPLY_LIMIT);
    sxt_buffer_init(&answer.out, REPLY_LIMIT);
    answer.fixed_size = sxt_symbolicate_memory(asked) + count * (sizeof *answer.wanted + sizeof *answer.addresses +
                                                                 sizeof *answer.list + sizeof *answer.text_of);
    if (!count_memory(&answer))
        return SXT_DONE;
    answer.wanted = malloc(count * sizeof *answer.wanted);
    answer.addresses = malloc(count * sizeof *answer.addresses);
    answer.list = malloc(count * sizeof *answer.list);
    answer.text_of = malloc(count * sizeof *answer.text_of);
    answer.is_found = calloc(asked->module_count + 1, sizeof *answer.is_found);
    if (answer.wanted == NULL || answer.addresses == NULL || answer.list == NULL || answer.text_of == NULL ||
        answer.is_found == NULL) {
        sxt_fail_memory(&error, count * sizeof *answer.wanted);
        sxt_reply_error(request, &error);
    } else {
        handled = make_answer(&answer);
    }
    free(answer.wanted);
    free(answer.addresses);
    free(answer.list);
    free(answer.text_of);
    free(answer.is_found);
    sxt_buffer_free(&answer.texts);
    sxt_buffer_free(&answer.out);
    return handled;
}

enum sxt_handled sxt_handle_symbolicate(struct sxt_request *request)
{
    struct sxt_symbolicate asked;
    enum sxt_code code;
    enum sxt_handled handled = SXT_DONE;
    sxt_error error;
    int status = sxt_symbolicate_read(&asked, (const char *)request->body.data, request->body.size, &code, &error);
    if (status == SXT_OK)
        handled = answer_request(request, &asked);
    else if (status == SXT_ERROR_MEMORY)
        sxt_reply_error(request, &error);
    else
        sxt_reply_failure(request, code == SXT_CODE_TOO_LARGE ? 413 : 400, code, "%s", error.text);
    sxt_symbolicate_free(&asked);
    return handled;
}

/* Clients of this API show the string "error". */
void sxt_symbolicate_print_failure(struct sxt_buffer *out, const char *uuid, unsigned status, enum sxt_code code,
                                   const char *text)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)code);
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, "error", sxt_string_of(text));
    sxt_json_write_string(&json, "code", sxt_string_of(number));
    sxt_json_write_string(&json, "uuid", sxt_string_of(uuid));
    sxt_json_write_number(&json, "status", status);
    sxt_json_write_end(&json, '}');
}
