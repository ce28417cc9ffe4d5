/*
 * input.h: the bytes of a symbfile as messages, from memory or from a stream. Private to this room.
 *
 * A failure describes the first rule that is broken: verify reports the rule, a reader returns the error.
 */
#ifndef SXT_SYMBFILE_INPUT_H
#define SXT_SYMBFILE_INPUT_H

#include "base/error.h"
#include "symbfile/symbfile.h"

struct sxt_symbfile_failure {
    const char *rule; /* as verify reports it */
    sxt_error error;
};

/* Describes damage at OFFSET of the file; evaluates to SXT_ERROR_FORMAT. */
#define SXT_SYMBFILE_DAMAGED(failure, broken_rule, offset, ...)                                                        \
    ((failure)->rule = (broken_rule), sxt_fail(&(failure)->error, SXT_ERROR_FORMAT, (offset), __VA_ARGS__))

/* The same for an allocation that failed. */
static inline int sxt_symbfile_no_memory(struct sxt_symbfile_failure *failure, uint64_t size)
{
    failure->rule = "memory";
    return sxt_fail_memory(&failure->error, size);
}

struct sxt_symbfile_input {
    const uint8_t *data; /* the bytes of the file that are in memory */
    size_t size;
    size_t at;     /* the next byte to be read */
    uint64_t base; /* offset of data in the file */

    sxt_symbfile_source *source; /* NULL: data is all */
    void *context;
    uint8_t *buffer; /* holds data when there is a source */
    size_t capacity;
    bool ended; /* the source has no more */
};

struct sxt_symbfile_message {
    uint64_t offset;      /* of its length */
    uint64_t body_offset; /* of its body */
    uint64_t type;
    const uint8_t *body; /* valid until the next message */
    size_t size;
};

struct sxt_symbfile_input sxt_symbfile_input_memory(const uint8_t *data, size_t size);
struct sxt_symbfile_input sxt_symbfile_input_stream(sxt_symbfile_source *source, void *context);
void sxt_symbfile_input_free(struct sxt_symbfile_input *input);

/* Moves over the magic. */
int sxt_symbfile_input_begin(struct sxt_symbfile_input *input, struct sxt_symbfile_failure *failure);

/*
 * For bytes that are not the whole file: is the next message complete, or so damaged that sxt_symbfile_input_next says
 * so? False if more bytes are needed.
 */
bool sxt_symbfile_input_has_message(const struct sxt_symbfile_input *input);

/* The next message with its whole body, of any type; *FOUND is false at the end of the file. */
int sxt_symbfile_input_next(struct sxt_symbfile_input *input, struct sxt_symbfile_message *message, bool *found,
                            struct sxt_symbfile_failure *failure);

/* Checks that MESSAGE is of a type that may occur here; unknown types may. IS_FIRST: it is the first of the file. */
int sxt_symbfile_check_type(const struct sxt_symbfile_message *message, bool is_first,
                            struct sxt_symbfile_failure *failure);

#endif
