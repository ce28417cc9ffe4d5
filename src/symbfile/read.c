/* read.c: reads records from a stream of messages. */
#include <stdlib.h>

#include "base/search.h"
#include "symbfile/decode.h"
#include "symbfile/fields.h"
#include "symbfile/module.h"

struct sxt_symbfile_reader {
    struct sxt_symbfile_input input;
    struct sxt_symbfile_decoder decoder;
    struct sxt_symbfile_failure failure; /* its code is SXT_OK until something failed */
    struct sxt_model_module module;
};

static int open_reader(struct sxt_symbfile_reader **out, struct sxt_symbfile_input input, sxt_error *error);
static int begin(struct sxt_symbfile_reader *reader);
static int take_message(struct sxt_symbfile_reader *reader, const struct sxt_symbfile_message *message,
                        struct sxt_symbfile_record *record);

int sxt_symbfile_reader_open(struct sxt_symbfile_reader **out, const uint8_t *data, size_t size, sxt_error *error)
{
    return open_reader(out, sxt_symbfile_input_memory(data, size), error);
}

int sxt_symbfile_reader_open_stream(struct sxt_symbfile_reader **out, sxt_symbfile_source *source, void *context,
                                    sxt_error *error)
{
    return open_reader(out, sxt_symbfile_input_stream(source, context), error);
}

void sxt_symbfile_reader_close(struct sxt_symbfile_reader **reader)
{
    if (*reader == NULL)
        return;
    sxt_symbfile_decoder_free(&(*reader)->decoder);
    sxt_symbfile_input_free(&(*reader)->input);
    sxt_module_free(&(*reader)->module);
    free(*reader);
    *reader = NULL;
}

static void copy_failure(const struct sxt_symbfile_reader *reader, sxt_error *error)
{
    if (error != NULL)
        *error = reader->failure.error;
}

static int open_reader(struct sxt_symbfile_reader **out, struct sxt_symbfile_input input, sxt_error *error)
{
    *out = NULL;
    struct sxt_symbfile_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL)
        return sxt_fail_memory(error, sizeof *reader);
    reader->input = input;
    reader->decoder.keeps_table = input.source != NULL;
    int status = begin(reader);
    if (status != SXT_OK) {
        copy_failure(reader, error);
        sxt_symbfile_reader_close(&reader);
        return status;
    }
    *out = reader;
    return SXT_OK;
}

static int begin(struct sxt_symbfile_reader *reader)
{
    struct sxt_symbfile_message message;
    bool found = false;
    int status = sxt_symbfile_input_begin(&reader->input, &reader->failure);
    if (status == SXT_OK)
        status = sxt_symbfile_input_next(&reader->input, &message, &found, &reader->failure);
    if (status != SXT_OK)
        return status;
    if (!found)
        return SXT_SYMBFILE_DAMAGED(&reader->failure, "truncated", SXT_SYMBFILE_MAGIC_SIZE,
                                    "the file ends after the magic, without a header");
    return sxt_symbfile_check_type(&message, true, &reader->failure);
}

int sxt_symbfile_read(struct sxt_symbfile_reader *reader, struct sxt_symbfile_record *record, sxt_error *error)
{
    struct sxt_symbfile_message message;
    bool found = true;
    record->kind = SXT_SYMBFILE_END;
    int status = reader->failure.error.code;
    while (status == SXT_OK && found && record->kind == SXT_SYMBFILE_END) {
        status = sxt_symbfile_input_next(&reader->input, &message, &found, &reader->failure);
        if (status == SXT_OK && found)
            status = take_message(reader, &message, record);
    }
    if (status != SXT_OK) {
        record->kind = SXT_SYMBFILE_END;
        copy_failure(reader, error);
    }
    return status;
}

/* Records do not depend on it, so they are read even if it is damaged. */
static int take_module(struct sxt_symbfile_reader *reader, const struct sxt_symbfile_message *message)
{
    struct sxt_symbfile_failure failure;
    struct sxt_model_module module;
    bool is_known;
    bool fine = true;
    if (sxt_symbfile_decode_module(message, &module, &is_known, &failure) == SXT_OK)
        fine = sxt_module_merge(&reader->module, &module);
    sxt_module_free(&module);
    return fine ? SXT_OK : sxt_symbfile_no_memory(&reader->failure, message->size);
}

const struct sxt_model_module *sxt_symbfile_module(const struct sxt_symbfile_reader *reader)
{
    return &reader->module;
}

static int take_message(struct sxt_symbfile_reader *reader, const struct sxt_symbfile_message *message,
                        struct sxt_symbfile_record *record)
{
    if (message->type == SXT_SYMBFILE_TYPE_MODULE)
        return take_module(reader, message);
    return sxt_symbfile_decode_record(&reader->decoder, message, record, &reader->failure);
}

uint32_t sxt_symbfile_line_at(const struct sxt_symbfile_range *range, uint64_t address)
{
    if (address < range->address)
        return 0;
    size_t low = SXT_SEARCH_ABOVE(range->lines, range->line_count, offset, address - range->address);
    return low > 0 ? range->lines[low - 1].line : 0;
}
