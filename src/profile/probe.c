/* probe.c: the tables of an ELF file, looked at once. */
#include "profile/probe.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sha256.h"
#include "source/elf.h"

#define FILE_ID_BLOCK 4096
#define INFLATE_LIMIT ((uint64_t)1 << 30)

static void look_at_sections(const struct sxt_elf *elf, struct sxt_probe *probe);

/* FileID: the first and the last 4 KiB and the size, hashed. */
static void hash_file(const struct sxt_file *file, uint8_t id[16])
{
    size_t block = file->size < FILE_ID_BLOCK ? file->size : FILE_ID_BLOCK;
    uint8_t size[8], digest[SXT_SHA256_SIZE];
    for (unsigned i = 0; i < 8; i++)
        size[i] = (uint8_t)((uint64_t)file->size >> (56 - 8 * i));
    struct sxt_sha256 hash;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, file->data, block);
    sxt_sha256_add(&hash, file->data + file->size - block, block);
    sxt_sha256_add(&hash, size, sizeof size);
    sxt_sha256_end(&hash, digest);
    memcpy(id, digest, 16);
}

/* A pipe that took the place of a file would keep us waiting. */
static bool is_regular(const char *path)
{
    struct stat attributes;
    return stat(path, &attributes) == 0 && S_ISREG(attributes.st_mode);
}

void sxt_probe_path(const char *path, struct sxt_probe *probe, struct sxt_layout *layout)
{
    *probe = (struct sxt_probe){0};
    struct sxt_file file;
    struct sxt_elf elf;
    if (!is_regular(path) || sxt_file_open(&file, path, NULL) != SXT_OK)
        return;
    uint8_t file_id[16];
    hash_file(&file, file_id);
    if (sxt_file_inflate(&file, INFLATE_LIMIT, NULL) == SXT_OK && sxt_elf_is(file.data, file.size) &&
        sxt_elf_open(&elf, file.data, file.size, INFLATE_LIMIT, NULL) == SXT_OK) {
        probe->is_elf = true;
        memcpy(probe->file_id, file_id, sizeof file_id);
        probe->build_id_size = sxt_elf_build_id(&elf, probe->build_id, sizeof probe->build_id);
        look_at_sections(&elf, probe);
        if (layout != NULL && !sxt_layout_of_elf(layout, &elf))
            probe->is_elf = false;
        sxt_elf_close(&elf);
    }
    sxt_file_close(&file);
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
        if (section->name.size >= 11 && (memcmp(section->name.data, ".debug_info", 11) == 0 ||
                                         memcmp(section->name.data, ".zdebug_info", 11) == 0))
            probe->has_dwarf = true;
    }
}
