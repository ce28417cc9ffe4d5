/*
 * module.c: the message with the facts about the binary, which only sextant reads.
 *
 * Readers have to skip a message of a type that they do not know. The reference does not: it goes on with the first
 * byte of the body, as if a message began there. So every byte of the content is written as two: each pair is then a
 * message without a body, of an unknown type, which the reference skips.
 */
#include "symbfile/module.h"

#include <stdlib.h>

#include "base/protobuf.h"
#include "symbfile/fields.h"

/* Added to the lower half of a byte. Types from 0x40 to 0x4f are unknown. */
#define LOWER 0x40

static void put_pairs(struct sxt_buffer *to, const uint8_t *data, size_t size)
{
    uint8_t *at = sxt_buffer_extend(to, 2 * size);
    for (size_t i = 0; i < size && at != NULL; i++) {
        *at++ = data[i] >> 4;
        *at++ = LOWER | (data[i] & 15);
    }
}

int sxt_symbfile_encode_module(const struct sxt_model_module *module, const struct sxt_path_maps *maps,
                               struct sxt_buffer *out, sxt_error *error)
{
    struct sxt_buffer content;
    sxt_buffer_init(&content, SXT_SYMBFILE_MESSAGE_MAX / 2);
    sxt_buffer_u8(&content, SXT_SYMBFILE_MODULE_VERSION);
    sxt_module_encode_mapped(module, maps, &content);
    int status = sxt_buffer_status(&content, error);
    if (status == SXT_OK) {
        sxt_buffer_varint(out, 2 * content.size);
        sxt_buffer_varint(out, SXT_SYMBFILE_TYPE_MODULE);
        put_pairs(out, content.data, content.size);
        status = sxt_buffer_status(out, error);
    }
    sxt_buffer_free(&content);
    return status;
}

/* The content of a body; NULL if it has none, or when memory is short. */
static uint8_t *take_pairs(const struct sxt_symbfile_message *message, struct sxt_symbfile_failure *failure)
{
    size_t size = message->size / 2;
    uint8_t *content = malloc(size + 1);
    if (content == NULL) {
        sxt_symbfile_no_memory(failure, size);
        return NULL;
    }
    bool fine = message->size % 2 == 0 && size > 0;
    for (size_t i = 0; i < size && fine; i++) {
        const uint8_t *pair = message->body + 2 * i;
        fine = pair[0] < 16 && (pair[1] & 0xf0) == LOWER;
        content[i] = (uint8_t)(pair[0] << 4 | (pair[1] & 15));
    }
    if (fine)
        return content;
    SXT_SYMBFILE_DAMAGED(failure, "module", message->body_offset, "facts about the module: not pairs of half bytes");
    free(content);
    return NULL;
}

int sxt_symbfile_decode_module(const struct sxt_symbfile_message *message, struct sxt_model_module *module,
                               bool *is_known, struct sxt_symbfile_failure *failure)
{
    *module = (struct sxt_model_module){0};
    *is_known = false;
    uint8_t *content = take_pairs(message, failure);
    if (content == NULL)
        return failure->error.code;
    *is_known = content[0] == SXT_SYMBFILE_MODULE_VERSION;
    failure->rule = "module";
    int status =
        *is_known ? sxt_module_decode(content + 1, message->size / 2 - 1, message->body_offset, module, &failure->error)
                  : SXT_OK;
    free(content);
    return status;
}
