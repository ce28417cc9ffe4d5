/*
 * expand.h: a body without its Content-Encoding, in pieces and with a limit. Private to this room.
 *
 * Several gzip members or zstd frames after each other are one body. Memory is bounded: 64 KiB for gzip, and for zstd a
 * window of at most 128 MiB, which grows with what is really expanded.
 */
#ifndef SXT_SERVICE_EXPAND_H
#define SXT_SERVICE_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

enum sxt_encoding { SXT_ENCODING_IDENTITY, SXT_ENCODING_GZIP, SXT_ENCODING_ZSTD };

/* What a Content-Encoding header says, in any case; NULL is identity. False if it is another encoding, or several. */
bool sxt_encoding_parse(const char *text, enum sxt_encoding *out);

struct sxt_expander;

/* Takes the bytes that come out; anything but SXT_OK ends the expansion, which returns it. */
typedef int sxt_expand_sink(void *context, const void *data, size_t size, sxt_error *error);

/* At most LIMIT bytes come out. */
int sxt_expander_open(enum sxt_encoding encoding, uint64_t limit, struct sxt_expander **out, sxt_error *error);
void sxt_expander_close(struct sxt_expander **expander);

/*
 * The next bytes. SXT_ERROR_FORMAT if they are damaged, SXT_ERROR_LIMIT if too much comes out, or what SINK returns;
 * see sxt_expander_sink_failed.
 */
int sxt_expander_feed(struct sxt_expander *expander, const void *data, size_t size, sxt_expand_sink *sink,
                      void *context, sxt_error *error);

/* SXT_ERROR_FORMAT if the body is cut off. An empty body is cut off, too. */
int sxt_expander_finish(struct sxt_expander *expander, sxt_error *error);

/* The bytes that the expander itself has in memory: a frame of zstd chooses the size of its window, up to 128 MiB. */
size_t sxt_expander_memory(const struct sxt_expander *expander);

/* Was the last failure that of the sink? */
bool sxt_expander_sink_failed(const struct sxt_expander *expander);

#endif
