/*
 * decoder.h: libiberty's decoders of mangled names, within limits that it does not have. A few hundred bytes of back
 * references ask it for gigabytes of text, and its D decoder recurses once a letter.
 */
#ifndef SXT_DEMANGLE_DECODER_H
#define SXT_DEMANGLE_DECODER_H

#include "base/buffer.h"

/* The longest name that is decoded, and the longest text it may become. */
#define SXT_DECODER_NAME_MAX   ((size_t)64 << 10)
#define SXT_DECODER_RESULT_MAX ((size_t)1 << 20)
/* Decoders that recurse without a limit of their own take names up to this: some 150 bytes of stack a letter. */
#define SXT_DECODER_NESTED_MAX ((size_t)4 << 10)

enum sxt_decoder { SXT_DECODE_RUST, SXT_DECODE_CPLUSPLUS, SXT_DECODE_JAVA, SXT_DECODE_D, SXT_DECODE_ADA };

/*
 * Appends the readable form of NAME to OUT and returns true. Otherwise appends nothing; *TOO_LONG tells whether that is
 * because the text would be too long, and then another decoder is not worth asking. OPTIONS are libiberty's (DMGL_...).
 */
bool sxt_decode(enum sxt_decoder decoder, const char *name, int options, struct sxt_buffer *out, bool *too_long);

#endif
