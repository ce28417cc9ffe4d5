/* file_id.h: the FileID of the OpenTelemetry profiler: an identity of a file that can be computed quickly. */
#ifndef SXT_BASE_FILE_ID_H
#define SXT_BASE_FILE_ID_H

#include <stddef.h>
#include <stdint.h>

#define SXT_FILE_ID_SIZE 16

/* The first and the last 4 KiB and the size, hashed. */
void sxt_file_id_compute(const uint8_t *data, size_t size, uint8_t id[SXT_FILE_ID_SIZE]);

#endif
