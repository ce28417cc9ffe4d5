/*
 * verify.c: finds everything that is wrong in a symbfile, with the offset of each problem.
 *
 * After a damaged message the check continues with the next one, unless its length cannot be trusted. The check is
 * stricter than reading: it also checks what no reader needs but every good file has. Files of the reference writer
 * pass: their ranges are in no order, and if a range was cut, inlined calls lie in any of the pieces before them.
 */
#include "base/bytes.h"
#include "base/problems.h"
#include "base/string.h"
#include "symbfile/decode.h"
#include "symbfile/fields.h"
#include "symbfile/module.h"

struct check {
    struct sxt_symbfile_decoder decoder;
    struct sxt_problems problems;
    /* The last function, joined from its pieces. */
    bool has_function;
    uint64_t start, end;
    struct sxt_buffer name;
};

static void check_messages(struct check *check, struct sxt_symbfile_input *input);
static void check_message(struct check *check, const struct sxt_symbfile_message *message);
static void check_range(struct check *check, const struct sxt_symbfile_message *message,
                        const struct sxt_symbfile_range *range);

uint64_t sxt_symbfile_verify(const uint8_t *data, size_t size,
                             void (*problem)(void *context, const sxt_problem *problem), void *context)
{
    struct check check = {.problems = {.found = problem, .context = context}};
    struct sxt_symbfile_input input = sxt_symbfile_input_memory(data, size);
    sxt_buffer_init(&check.name, SIZE_MAX);
    check_messages(&check, &input);
    sxt_symbfile_decoder_free(&check.decoder);
    sxt_buffer_free(&check.name);
    return check.problems.count;
}

static void report(struct check *check, const struct sxt_symbfile_failure *failure)
{
    sxt_problems_add_error(&check->problems, failure->rule, &failure->error);
}

static void check_messages(struct check *check, struct sxt_symbfile_input *input)
{
    struct sxt_symbfile_failure failure;
    struct sxt_symbfile_message message;
    bool found = true;
    int status = sxt_symbfile_input_begin(input, &failure);
    for (uint64_t count = 0; status == SXT_OK; count++) {
        status = sxt_symbfile_input_next(input, &message, &found, &failure);
        if (status != SXT_OK)
            break;
        if (!found) {
            if (count == 0)
                sxt_problems_add(&check->problems, SXT_SYMBFILE_MAGIC_SIZE, "truncated",
                                 "the file ends after the magic, without a header");
            return;
        }
        if (sxt_symbfile_check_type(&message, count == 0, &failure) != SXT_OK)
            report(check, &failure);
        check_message(check, &message);
    }
    report(check, &failure);
}

static void check_module(struct check *check, const struct sxt_symbfile_message *message)
{
    struct sxt_symbfile_failure failure;
    struct sxt_model_module module;
    bool is_known;
    if (sxt_symbfile_decode_module(message, &module, &is_known, &failure) != SXT_OK)
        report(check, &failure);
    else if (!is_known)
        sxt_problems_add_note(&check->problems, message->offset, "unknown-version",
                              "facts about the module in an unknown version, which are skipped");
    sxt_module_free(&module);
}

static void check_message(struct check *check, const struct sxt_symbfile_message *message)
{
    struct sxt_symbfile_decoder *decoder = &check->decoder;
    struct sxt_symbfile_failure failure;
    struct sxt_symbfile_range range;
    struct sxt_symbfile_pad pad;
    int status = SXT_OK;
    switch (message->type) {
    case SXT_SYMBFILE_TYPE_RANGE:
        status = sxt_symbfile_decode_range(decoder, message, &range, &failure);
        if (status == SXT_OK)
            check_range(check, message, &range);
        break;
    case SXT_SYMBFILE_TYPE_PAD:
        status = sxt_symbfile_decode_pad(decoder, message, &pad, &failure);
        if (status == SXT_OK && pad.frame_count == 0)
            sxt_problems_add(&check->problems, message->body_offset, "empty-pad", "return pad without a frame");
        break;
    case SXT_SYMBFILE_TYPE_STRINGS:
        status = sxt_symbfile_decode_strings(decoder, message, &failure);
        decoder->table_is_lost = status != SXT_OK;
        break;
    case SXT_SYMBFILE_TYPE_MODULE:
        check_module(check, message);
        break;
    default:
        if (message->type > SXT_SYMBFILE_TYPE_STRINGS && message->type <= INT32_MAX)
            sxt_problems_add_note(&check->problems, message->offset, "unknown-type",
                                  "message of unknown type %llu, which is skipped", (unsigned long long)message->type);
    }
    if (status == SXT_OK)
        return;
    report(check, &failure);
    /* From here on, addresses that are relative to this one have no meaning. */
    if (message->type != SXT_SYMBFILE_TYPE_STRINGS)
        decoder->has_address = decoder->address_is_lost = true;
}

/* Does RANGE, which is a function, continue where the last one ended, with the same name? */
static bool is_next_piece(const struct check *check, const struct sxt_symbfile_range *range)
{
    const sxt_string name = {(const char *)check->name.data, check->name.size};
    return check->has_function && range->address == check->end && sxt_string_equal(range->function, name);
}

static void check_nesting(struct check *check, uint64_t offset, const struct sxt_symbfile_range *range, uint64_t end)
{
    if (range->depth > 0) {
        if (!check->has_function)
            sxt_problems_add(&check->problems, offset, "nesting", "inlined call without a function before it");
        else if (range->address < check->start || end > check->end)
            sxt_problems_add(&check->problems, offset, "nesting",
                             "inlined call from 0x%llx to 0x%llx is outside the function before it",
                             (unsigned long long)range->address, (unsigned long long)end);
        return;
    }
    if (!is_next_piece(check, range)) {
        check->start = range->address;
        sxt_buffer_clear(&check->name);
        sxt_buffer_append(&check->name, range->function.data, range->function.size);
    }
    check->end = end;
    check->has_function = true;
}

static void check_range(struct check *check, const struct sxt_symbfile_message *message,
                        const struct sxt_symbfile_range *range)
{
    uint64_t offset = message->body_offset, end = UINT64_MAX;
    if (range->line_count > 0 && range->lines[range->line_count - 1].offset >= range->length)
        sxt_problems_add(&check->problems, offset, "line-offset", "line entry at offset %u of a range of %llu bytes",
                         range->lines[range->line_count - 1].offset, (unsigned long long)range->length);
    if (check->decoder.address_is_lost) {
        check->has_function = false;
        return;
    }
    /* The last byte may be the last of all addresses. */
    if (!sxt_add_u64(range->address, range->length, &end) && range->address + range->length != 0)
        sxt_problems_add(&check->problems, offset, "length",
                         "range of %llu bytes at 0x%llx goes beyond the last address",
                         (unsigned long long)range->length, (unsigned long long)range->address);
    check_nesting(check, offset, range, end);
}
