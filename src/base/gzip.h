/* gzip.h: writing gzip streams. inflate.h reads them. */
#ifndef SXT_BASE_GZIP_H
#define SXT_BASE_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/buffer.h"

/* Appends DATA to OUT as one member, with the same bytes as Python's gzip module at its best compression. */
int sxt_gzip_stock(const uint8_t *data, size_t size, struct sxt_buffer *out, sxt_error *error);

/* The same in a tenth of the time and a quarter more bytes; every reader accepts it. */
int sxt_gzip_fast(const uint8_t *data, size_t size, struct sxt_buffer *out, sxt_error *error);

#endif
