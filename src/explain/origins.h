/* origins.h: the files that the answers for a binary are read from. Private to this room. */
#ifndef SXT_EXPLAIN_ORIGINS_H
#define SXT_EXPLAIN_ORIGINS_H

#include "source/debug_file.h"
#include "source/dwarf/dwarf.h"
#include "source/elf/elf.h"

/* The files beside a binary that an extraction with all sources reads. */
struct sxt_origins {
    struct sxt_debug_file debug;
    struct sxt_dwarf *dwarf; /* NULL if there is none */
    const char *dwarf_path;  /* of the file that has it */
    sxt_error dwarf_problem; /* why it cannot be read; its code is SXT_OK if it can, or if there is none */
};

/* ELF was read from PATH. The arguments, with their strings, must outlive *OUT. On failure *OUT is empty. */
int sxt_origins_open(struct sxt_elf *elf, const char *path, const sxt_extract_options *options, struct sxt_origins *out,
                     sxt_error *error);
void sxt_origins_close(struct sxt_origins *origins);

#endif
