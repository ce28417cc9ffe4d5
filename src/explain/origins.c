/* origins.c: the debug file and the DWARF of a binary, chosen as extract.c chooses them. */
#include "explain/origins.h"

#include <elf.h>
#include <string.h>

int sxt_origins_open(struct sxt_elf *elf, const char *path, const sxt_extract_options *options, struct sxt_origins *out,
                     sxt_error *error)
{
    memset(out, 0, sizeof *out);
    out->dwarf_path = path;
    if (options->debug_path != NULL || sxt_elf_section_typed(elf, SHT_SYMTAB) == NULL || !sxt_dwarf_is_in(elf)) {
        int status = sxt_debug_file_open(elf, path, options, &out->debug, error);
        if (status != SXT_OK)
            return status;
    }
    bool elsewhere = out->debug.found && sxt_dwarf_is_in(&out->debug.elf);
    if (elsewhere && (options->debug_path != NULL || !sxt_dwarf_is_in(elf))) {
        elf = &out->debug.elf;
        out->dwarf_path = out->debug.path;
    }
    struct sxt_dwarf_settings settings = {.path = out->dwarf_path, .options = options};
    if (sxt_dwarf_is_in(elf))
        (void)sxt_dwarf_open(elf, &settings, &out->dwarf, &out->dwarf_problem);
    return SXT_OK;
}

void sxt_origins_close(struct sxt_origins *origins)
{
    sxt_dwarf_close(&origins->dwarf);
    sxt_debug_file_close(&origins->debug);
}
