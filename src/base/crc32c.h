/*
 * crc32c.h: the Castagnoli CRC (reflected polynomial 0x82F63B78). The first call picks the processor's instruction
 * (SSE4.2, ARMv8) or, without one, the table. Each variant is in its own file.
 */
#ifndef SXT_BASE_CRC32C_H
#define SXT_BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CRC of what CRC is the CRC of, followed by SIZE bytes at DATA; begin with 0. Safe from any thread. */
uint32_t sxt_crc32c(uint32_t crc, const void *data, size_t size);

/* The CRC of two pieces of data, one after the other, from their CRCs and the size of the SECOND one. */
uint32_t sxt_crc32c_join(uint32_t first, uint32_t second, uint64_t second_size);

/* The variants, for tests and benchmarks. A variant that this processor or build lacks must not be called. */
uint32_t sxt_crc32c_table(uint32_t crc, const void *data, size_t size);
bool sxt_crc32c_hardware_available(void);
uint32_t sxt_crc32c_hardware(uint32_t crc, const void *data, size_t size);

#endif
