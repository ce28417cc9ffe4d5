/*
 * relocate.h: the debug sections of object files and kernel modules.
 *
 * In a relocatable file the addresses in a debug section, and its offsets into other sections, are not in its bytes but
 * in its relocations. Here they are put in, with the addresses that sxt_elf_open gave to the sections.
 */
#ifndef SXT_SOURCE_RELOCATE_H
#define SXT_SOURCE_RELOCATE_H

#include "source/elf.h"

/*
 * The bytes of SECTION, one of ELF's own, as sxt_elf_section_bytes gives them, with its relocations applied when the
 * file is relocatable (ET_REL). In any other file they are as they stand: a vmlinux is an executable that still carries
 * .rela.debug_info, applied already, and they must never be applied again. Relocated bytes are a copy in ELF's arena.
 *
 * A relocation of an unknown kind, out of bounds, or of a symbol that is not there is left alone; *SKIPPED (may be
 * NULL) says how many. An undefined symbol is 0. Fails, with nothing in *OUT, where the bytes, the relocations or their
 * symbol table cannot be read: without them, addresses would be wrong and look right.
 */
int sxt_elf_relocated_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                            uint64_t *skipped, sxt_error *error);

#endif
