/*
 * decoder.h: libiberty's decoders of mangled names, with limits, which libiberty does not have. A few hundred bytes of
 * back references make it write gigabytes of text, and its D decoder recurses once per letter.
 */
#ifndef SXT_DEMANGLE_DECODER_H
#define SXT_DEMANGLE_DECODER_H

#include "base/buffer.h"

/* The longest name that is decoded, and the longest text it may become. */
#define SXT_DECODER_NAME_MAX   ((size_t)64 << 10)
#define SXT_DECODER_RESULT_MAX ((size_t)1 << 20)
/* The longest name for decoders that recurse without a limit: they take about 150 bytes of stack per letter. */
#define SXT_DECODER_NESTED_MAX ((size_t)4 << 10)

enum sxt_decoder { SXT_DECODE_RUST, SXT_DECODE_CPLUSPLUS, SXT_DECODE_JAVA, SXT_DECODE_D, SXT_DECODE_ADA };

/*
 * Appends the readable form of NAME to OUT and returns true. Otherwise appends nothing. *TOO_LONG says whether the text
 * would be too long; then there is no point in trying another decoder. OPTIONS are libiberty's (DMGL_...).
 */
bool sxt_decode(enum sxt_decoder decoder, const char *name, int options, struct sxt_buffer *out, bool *too_long);

#endif
