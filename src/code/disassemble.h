/*
 * disassemble.h: machine code as text, and what changed between two such texts.
 *
 * A listing has a line an instruction, in the syntax that objdump has by default. Where the function lies does not
 * show: lines begin with the offset from its start, and addresses are given by name.
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
};

/* Appends what is at ADDRESS: "<puts@plt>", "<table+0x8>", and "<+0x30>" for a place in the function itself. */
typedef void sxt_code_name(void *context, uint64_t address, struct sxt_buffer *out);

/* Is code of this kind known here? It is that of x86, 32 and 64 bit. */
bool sxt_code_can_list(uint16_t machine, bool is_64, bool big_endian);

/* Appends the listing of a function. SXT_ERROR_UNSUPPORTED where sxt_code_can_list says no. */
int sxt_code_list(const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                  sxt_error *error);

/* Appends how a line of a listing begins. */
void sxt_code_begin_line(uint64_t offset, struct sxt_buffer *out);

/* The most lines that a listing may have which is compared. */
#define SXT_CODE_LINES_MAX 2500

/*
 * Appends the unified diff of two listings, with CONTEXT lines around each change and NAME for both files; nothing when
 * they are the same. Offsets of lines and of jumps inside the function do not count: they move with every instruction
 * that is added. Where a line is the same but for them, it is shown as it stands in AFTER. SXT_ERROR_LIMIT when a
 * listing has too many lines.
 */
int sxt_code_diff(sxt_string name, sxt_string before, sxt_string after, size_t context, struct sxt_buffer *out,
                  sxt_error *error);

#endif
