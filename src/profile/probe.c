/* probe.c: the tables of an ELF file, looked at once. */
#include "profile/probe.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/string.h"
#include "source/elf/elf.h"

#define INFLATE_LIMIT ((uint64_t)256 << 20)

static void look_at_sections(const struct sxt_elf *elf, struct sxt_probe *probe);

/* A pipe that took the place of a file would keep us waiting. */
static bool is_regular(const char *path)
{
    struct stat attributes;
    return stat(path, &attributes) == 0 && S_ISREG(attributes.st_mode);
}

/* Only names of binaries: nobody wants every log of a directory inflated. */
static bool may_be_compressed(const char *path)
{
    static const char *const endings[] = {".ko.xz", ".ko.gz", ".ko.zst", ".debug.xz", ".debug.gz", ".debug.zst"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (size > strlen(endings[i]) && strcmp(path + size - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

void sxt_probe_path(const char *path, struct sxt_probe *probe, struct sxt_layout *layout)
{
    *probe = (struct sxt_probe){0};
    struct sxt_file file;
    struct sxt_elf elf;
    if (!is_regular(path) || sxt_file_open(&file, path, NULL) != SXT_OK)
        return;
    if ((!may_be_compressed(path) || sxt_file_inflate(&file, INFLATE_LIMIT, NULL) == SXT_OK) &&
        sxt_elf_is(file.data, file.size) && sxt_elf_open(&elf, file.data, file.size, INFLATE_LIMIT, NULL) == SXT_OK) {
        probe->is_elf = true;
        probe->build_id_size = sxt_elf_build_id(&elf, probe->build_id, sizeof probe->build_id);
        look_at_sections(&elf, probe);
        if (layout != NULL && !sxt_layout_of_elf(layout, &elf))
            probe->is_elf = false;
        sxt_elf_close(&elf);
    }
    sxt_file_close(&file);
}

static bool is_named(const struct sxt_elf_section *section, const char *name)
{
    return sxt_string_is(section->name, name);
}

static void look_at_sections(const struct sxt_elf *elf, struct sxt_probe *probe)
{
    probe->has_code = elf->section_count == 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if (section->type == SHT_NOBITS)
            continue;
        if (section->flags & SHF_EXECINSTR)
            probe->has_code = true;
        if (section->type == SHT_SYMTAB)
            probe->has_symbols = true;
        if (is_named(section, ".debug_info") || is_named(section, ".zdebug_info"))
            probe->has_dwarf = true;
    }
}
