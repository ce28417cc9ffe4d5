/*
 * check_stream.c: checks a symbfile that arrives in pieces, with the decoder that readers use.
 *
 * Messages are decoded where they are, in the piece of the caller; only a message that is not complete yet is kept.
 */
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "symbfile/decode.h"
#include "symbfile/fields.h"
#include "symbfile/module.h"

struct sxt_symbfile_checker {
    struct sxt_symbfile_decoder decoder;
    struct sxt_symbfile_failure failure; /* its code is SXT_OK until something failed */
    struct sxt_symbfile_counts counts;
    struct sxt_buffer rest; /* the beginning of a message */
    uint64_t offset;        /* in the file, of what comes next: of the rest, if there is one */
    bool has_magic, has_header;
};

int sxt_symbfile_checker_open(struct sxt_symbfile_checker **out, sxt_error *error)
{
    struct sxt_symbfile_checker *checker = *out = calloc(1, sizeof *checker);
    if (checker == NULL)
        return sxt_fail_memory(error, sizeof *checker);
    checker->decoder.keeps_table = true;
    sxt_buffer_init(&checker->rest, SIZE_MAX);
    return SXT_OK;
}

void sxt_symbfile_checker_close(struct sxt_symbfile_checker **checker)
{
    if (*checker == NULL)
        return;
    sxt_symbfile_decoder_free(&(*checker)->decoder);
    sxt_buffer_free(&(*checker)->rest);
    free(*checker);
    *checker = NULL;
}

static int check_message(struct sxt_symbfile_checker *checker, const struct sxt_symbfile_message *message)
{
    struct sxt_symbfile_record record;
    if (!checker->has_header) {
        checker->has_header = true;
        return sxt_symbfile_check_type(message, true, &checker->failure);
    }
    int status = sxt_symbfile_decode_record(&checker->decoder, message, &record, &checker->failure);
    checker->counts.ranges += status == SXT_OK && record.kind == SXT_SYMBFILE_RANGE;
    checker->counts.pads += status == SXT_OK && record.kind == SXT_SYMBFILE_PAD;
    return status;
}

/* Takes what is complete in SIZE bytes at DATA: *TAKEN bytes. */
static int check_messages(struct sxt_symbfile_checker *checker, const uint8_t *data, size_t size, size_t *taken)
{
    struct sxt_symbfile_input input = sxt_symbfile_input_memory(data, size);
    struct sxt_symbfile_message message;
    int status = SXT_OK;
    input.base = checker->offset;
    if (!checker->has_magic) {
        if (size < SXT_SYMBFILE_MAGIC_SIZE && memcmp(data, SXT_SYMBFILE_MAGIC, size) == 0)
            return SXT_OK;
        status = sxt_symbfile_input_begin(&input, &checker->failure);
        checker->has_magic = true;
    }
    while (status == SXT_OK && sxt_symbfile_input_has_message(&input)) {
        bool found;
        status = sxt_symbfile_input_next(&input, &message, &found, &checker->failure);
        if (status == SXT_OK)
            status = check_message(checker, &message);
    }
    *taken = input.at;
    return status;
}

static int fail(struct sxt_symbfile_checker *checker, sxt_error *error)
{
    if (error != NULL)
        *error = checker->failure.error;
    return checker->failure.error.code;
}

int sxt_symbfile_checker_feed(struct sxt_symbfile_checker *checker, const void *data, size_t size, sxt_error *error)
{
    struct sxt_buffer *rest = &checker->rest;
    if (checker->failure.error.code != SXT_OK)
        return fail(checker, error);
    bool is_kept = rest->size > 0;
    const uint8_t *bytes = data;
    if (is_kept) {
        sxt_buffer_append(rest, data, size);
        bytes = rest->data;
        size = rest->size;
    }
    size_t taken = 0;
    if (rest->failed)
        sxt_symbfile_no_memory(&checker->failure, size);
    else if (size > 0)
        check_messages(checker, bytes, size, &taken);
    if (checker->failure.error.code != SXT_OK)
        return fail(checker, error);
    checker->offset += taken;
    if (is_kept) {
        if (taken > 0)
            memmove(rest->data, rest->data + taken, size - taken);
        rest->size = size - taken;
    } else {
        sxt_buffer_append(rest, bytes + taken, size - taken);
        if (rest->failed)
            sxt_symbfile_no_memory(&checker->failure, size);
    }
    return checker->failure.error.code == SXT_OK ? SXT_OK : fail(checker, error);
}

int sxt_symbfile_checker_finish(struct sxt_symbfile_checker *checker, struct sxt_symbfile_counts *counts,
                                sxt_error *error)
{
    if (checker->failure.error.code == SXT_OK && (checker->rest.size > 0 || !checker->has_header)) {
        /* The reader says what is missing. */
        struct sxt_symbfile_input input = sxt_symbfile_input_memory(checker->rest.data, checker->rest.size);
        struct sxt_symbfile_message message;
        bool found = false;
        input.base = checker->offset;
        int status = checker->has_magic ? SXT_OK : sxt_symbfile_input_begin(&input, &checker->failure);
        if (status == SXT_OK)
            status = sxt_symbfile_input_next(&input, &message, &found, &checker->failure);
        if (status == SXT_OK)
            SXT_SYMBFILE_DAMAGED(&checker->failure, "truncated", SXT_SYMBFILE_MAGIC_SIZE,
                                 "the file ends after the magic, without a header");
    }
    *counts = checker->counts;
    return checker->failure.error.code == SXT_OK ? SXT_OK : fail(checker, error);
}
