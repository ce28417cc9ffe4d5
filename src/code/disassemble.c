/* disassemble.c: listings of machine code, by the disassembler for the machine. */
#include "code/disassemble.h"

#include <elf.h>

#include "code/private.h"

int sxt_code_list(const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                  sxt_error *error)
{
    bool is_x86 = !piece->big_endian && (piece->machine == EM_X86_64 || (piece->machine == EM_386 && !piece->is_64));
    return is_x86 ? sxt_code_list_x86(piece, name, context, out, error)
                  : sxt_code_list_capstone(piece, name, context, out, error);
}

void sxt_code_begin_line(uint64_t offset, struct sxt_buffer *out)
{
    sxt_buffer_print(out, "%6llx:\t", (unsigned long long)offset);
}
