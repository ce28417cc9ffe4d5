/*
 * disassemble.h: listings of machine code, and what changed between two of them.
 *
 * A listing has one line for each instruction. It does not depend on the address of the function: lines begin with the
 * offset from its start, and addresses are given by name.
 *
 *          1a:     lea <table+0x8>(%rip), %rdi
 *          21:     call <puts@plt>
 *          26:     jnz <+0x30>
 */
#ifndef SXT_CODE_DISASSEMBLE_H
#define SXT_CODE_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/symbols.h>

#include "base/buffer.h"

struct sxt_code_piece {
    uint16_t machine; /* EM_... */
    bool is_64, big_endian;
    const uint8_t *bytes;
    size_t size;
    uint64_t address;
    bool is_thumb; /* ARM: Thumb instructions */
    bool is_intel; /* x86: in Intel's syntax, with names only for targets of branches; otherwise in that of AT&T */
    size_t stop;   /* instructions that begin before this offset are listed; 0: all */
    size_t *end;   /* gets the offset where the last one ends; may be NULL */
};

/* Appends what is at ADDRESS: "<puts@plt>", "<table+0x8>", and "<+0x30>" for a place in the function itself. */
typedef void sxt_code_name(void *context, uint64_t address, struct sxt_buffer *out);

/*
 * Appends the listing of a function: x86 by Zydis, other machines by libcapstone, which is loaded on first use.
 * SXT_ERROR_UNSUPPORTED for a machine that the library does not know, and when it cannot be loaded.
 */
int sxt_code_list(const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                  sxt_error *error);

/* The most lines of a listing that can be compared. */
#define SXT_CODE_LINES_MAX 2500

/*
 * Appends the unified diff of two listings, with CONTEXT lines around each change and NAME for both files; nothing when
 * they are the same. Offsets of lines and of jumps inside the function do not count: they move with every instruction
 * that is added. A line that differs only in them is shown as in AFTER. SXT_ERROR_LIMIT when a listing has too many
 * lines.
 */
int sxt_code_diff(sxt_string name, sxt_string before, sxt_string after, size_t context, struct sxt_buffer *out,
                  sxt_error *error);

#endif
