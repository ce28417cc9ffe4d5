/* elf_summary.c: reads the section table of an ELF file once. */
#include "profile/elf_summary.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive.h"
#include "base/file.h"
#include "base/string.h"
#include "source/elf/elf.h"
#include "symbols/symbols.h"

#define INFLATE_LIMIT ((uint64_t)256 << 20)

static void summarise_archive(const struct sxt_file *file, struct sxt_elf_summary *summary);
static void summarise(struct sxt_elf *elf, struct sxt_elf_summary *summary, struct sxt_layout *layout);
static void note_sections(const struct sxt_elf *elf, struct sxt_elf_summary *summary);

/* Opening a pipe would block. */
static bool is_regular(const char *path)
{
    struct stat attributes;
    return stat(path, &attributes) == 0 && S_ISREG(attributes.st_mode);
}

/* Only names of binaries: logs and other files in a directory are not decompressed. */
static bool may_be_compressed(const char *path)
{
    static const char *const endings[] = {".ko.xz", ".ko.gz", ".ko.zst", ".debug.xz", ".debug.gz", ".debug.zst"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (size > strlen(endings[i]) && strcmp(path + size - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

void sxt_elf_summary_read(const char *path, struct sxt_elf_summary *summary, struct sxt_layout *layout)
{
    *summary = (struct sxt_elf_summary){0};
    struct sxt_file file;
    if (!is_regular(path) || sxt_file_open(&file, path, NULL) != SXT_OK)
        return;
    if (!may_be_compressed(path) || sxt_file_inflate(&file, INFLATE_LIMIT, NULL) == SXT_OK)
        sxt_elf_summary_of_memory(file.data, file.size, summary, layout);
    if (!summary->is_elf && layout == NULL)
        summarise_archive(&file, summary);
    sxt_file_close(&file);
}

static void summarise_archive(const struct sxt_file *file, struct sxt_elf_summary *summary)
{
    struct sxt_model_module module;
    summary->is_archive = sxt_archive_read_module(file, &module);
    memcpy(summary->build_id, module.build_id, module.build_id_size);
    summary->build_id_size = module.build_id_size;
    memcpy(summary->file_id, module.file_id, sizeof summary->file_id);
    summary->has_file_id = module.has_file_id;
    const char *slash = module.path != NULL ? strrchr(module.path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : module.path;
    if (name != NULL && strlen(name) < sizeof summary->name)
        memcpy(summary->name, name, strlen(name));
    sxt_module_free(&module);
}

void sxt_elf_summary_of_memory(const void *data, size_t size, struct sxt_elf_summary *summary,
                               struct sxt_layout *layout)
{
    *summary = (struct sxt_elf_summary){0};
    struct sxt_elf elf;
    if (!sxt_elf_is(data, size) || sxt_elf_open(&elf, data, size, INFLATE_LIMIT, NULL) != SXT_OK)
        return;
    summarise(&elf, summary, layout);
    sxt_elf_close(&elf);
}

static void summarise(struct sxt_elf *elf, struct sxt_elf_summary *summary, struct sxt_layout *layout)
{
    summary->is_elf = layout == NULL || sxt_layout_of_elf(layout, elf);
    summary->build_id_size = sxt_elf_build_id(elf, summary->build_id, sizeof summary->build_id);
    note_sections(elf, summary);
}

static bool is_named(const struct sxt_elf_section *section, const char *name)
{
    return sxt_string_is(section->name, name);
}

static void note_sections(const struct sxt_elf *elf, struct sxt_elf_summary *summary)
{
    summary->has_code = elf->section_count == 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if (section->type == SHT_NOBITS)
            continue;
        if (section->flags & SHF_EXECINSTR)
            summary->has_code = true;
        if (section->type == SHT_SYMTAB)
            summary->has_symbols = true;
        if (is_named(section, ".debug_info") || is_named(section, ".zdebug_info"))
            summary->has_dwarf = true;
    }
}
