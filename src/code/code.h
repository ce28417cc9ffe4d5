/*
 * code.h: finds calls in machine code.
 *
 * A call is an instruction after which something returns, so that a return address in a stack trace identifies it:
 *
 *   x86      CALL near and far, direct and indirect, with any prefixes; SYSCALL; INT n; INTO (32 bit).
 *            Not INT3, INT1 and SYSENTER, and no jumps.
 *   AArch64  BL, BLR and its variants with pointer authentication (BLRAA, BLRAAZ, BLRAB, BLRABZ); SVC.
 *            Not HVC and SMC, and no jumps.
 *
 * Code is read from front to back, as `objdump -d` does, and the calls are those that it shows. Data between
 * instructions can look like a call, so do not pass bytes that are known to be data.
 */
#ifndef SXT_CODE_CODE_H
#define SXT_CODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "code/disassemble.h"

/* A call at ADDRESS; the instruction has LENGTH bytes. Returns false to stop. */
typedef bool sxt_call_found(void *context, uint64_t address, unsigned length);

/*
 * Whether calls can be found in files of this kind. MACHINE is one of EM_..., the others are the file's class and byte
 * order.
 */
bool sxt_code_knows(uint16_t machine, bool is_64, bool big_endian);

/*
 * Calls FOUND for every call in SIZE bytes of CODE that are loaded at ADDRESS, in order, until it returns false. CODE
 * must begin with an instruction: pass one function at a time, because the next one may follow some padding. Bytes that
 * are not an instruction are skipped one by one (x86) or word by word (AArch64), so data inside code does not end the
 * search. SXT_ERROR_UNSUPPORTED if sxt_code_knows is false.
 */
int sxt_code_find_calls(uint16_t machine, bool is_64, bool big_endian, const uint8_t *code, size_t size,
                        uint64_t address, sxt_call_found *found, void *context, sxt_error *error);

#endif
