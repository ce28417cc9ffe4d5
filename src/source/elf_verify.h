/* elf_verify.h: what is wrong in an ELF file, as far as symbols are concerned. */
#ifndef SXT_SOURCE_ELF_VERIFY_H
#define SXT_SOURCE_ELF_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>

/* Reports every problem in tables of sections and segments and in symbol tables. Returns how many there are. */
uint64_t sxt_elf_verify(const uint8_t *data, size_t size, uint64_t inflate_limit,
                        void (*problem)(void *context, const sxt_problem *problem), void *context);

#endif
