/* identify.c: what identifies a binary, and what it has, without reading its symbols. */
#include <elf.h>
#include <string.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/options.h"
#include "source/dwarf/dwarf.h"
#include "source/elf/elf.h"

/* A debug file has its sections of code, but not their bytes. */
static bool has_code(const struct sxt_elf *elf)
{
    bool is_code = elf->section_count == 0;
    for (size_t i = 0; i < elf->section_count; i++)
        is_code |= elf->sections[i].type != SHT_NOBITS && (elf->sections[i].flags & SHF_EXECINSTR) != 0;
    return is_code;
}

static void describe(struct sxt_elf *elf, sxt_binary *out)
{
    uint8_t id[SXT_BUILD_ID_MAX], file_id[SXT_FILE_ID_SIZE];
    sxt_hex_encode(out->build_id, id, sxt_elf_build_id(elf, id, sizeof id));
    sxt_file_id_compute(elf->data, elf->size, file_id);
    sxt_hex_encode(out->file_id, file_id, sizeof file_id);
    out->arch = sxt_elf_arch(elf);
    out->has_code = has_code(elf);
    out->has_dwarf = sxt_dwarf_is_in(elf);
    out->has_symbols = sxt_elf_section_typed(elf, SHT_SYMTAB) != NULL;
}

int sxt_identify_binary(const char *path, sxt_binary *out, sxt_error *error)
{
    struct sxt_file file;
    struct sxt_elf elf;
    sxt_binary found = {.struct_size = sizeof found};
    int status = sxt_archive_open_file(&file, path, error);
    if (status != SXT_OK)
        return status;
    if (sxt_elf_is(file.data, file.size))
        status = sxt_elf_open(&elf, file.data, file.size, SXT_ARCHIVE_INFLATE_LIMIT, error);
    else
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not an ELF file");
    if (status == SXT_OK) {
        describe(&elf, &found);
        sxt_elf_close(&elf);
        sxt_result_give(out, &found, sizeof found);
    }
    sxt_file_close(&file);
    return status;
}
