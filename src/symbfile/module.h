/* module.h: the message with the facts about the binary. Private to this room. */
#ifndef SXT_SYMBFILE_MODULE_H
#define SXT_SYMBFILE_MODULE_H

#include "symbfile/input.h"

#define SXT_SYMBFILE_MODULE_VERSION 1

/* Appends the whole message. */
int sxt_symbfile_encode_module(const struct sxt_model_module *module, const struct sxt_path_maps *maps,
                               struct sxt_buffer *out, sxt_error *error);

/*
 * Reads the message. *IS_KNOWN is false if its version is unknown; *MODULE is all zero then. The caller frees *MODULE
 * even after a failure.
 */
int sxt_symbfile_decode_module(const struct sxt_symbfile_message *message, struct sxt_model_module *module,
                               bool *is_known, struct sxt_symbfile_failure *failure);

#endif
