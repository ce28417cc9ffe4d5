/*
 * debug_id.c: the debug id of an ELF file, as Breakpad computes it: the first 16 bytes of its build ID or, without one,
 * those of the first page of .text, put together by exclusive or.
 */
#include <elf.h>

#include "base/error.h"
#include "catalog/private.h"
#include "source/elf/elf.h"

#define PAGE      4096
#define GUID_SIZE 16

/* Nothing that is needed here is compressed. */
#define INFLATE_LIMIT ((uint64_t)1 << 20)

static bool hash_text(const struct sxt_elf *elf, uint8_t hash[GUID_SIZE])
{
    const struct sxt_elf_section *text = sxt_elf_section_named(elf, ".text");
    if (text == NULL || text->type == SHT_NOBITS || text->size == 0 || text->offset > elf->size ||
        text->size > elf->size - text->offset)
        return false;
    for (size_t i = 0; i < PAGE && i < text->size; i++)
        hash[i % GUID_SIZE] ^= elf->data[text->offset + i];
    return true;
}

int sxt_catalog_debug_id_of_file(int fd, struct sxt_catalog_id *out, sxt_error *error)
{
    struct sxt_file file;
    struct sxt_elf elf;
    uint8_t build_id[64], hash[GUID_SIZE] = {0};
    out->text[0] = 0;
    int status = sxt_file_open_fd(&file, fd, error);
    if (status != SXT_OK)
        return status;
    status = sxt_elf_open(&elf, file.data, file.size, INFLATE_LIMIT, error);
    if (status == SXT_OK) {
        size_t size = sxt_elf_build_id(&elf, build_id, sizeof build_id);
        if (size > 0)
            sxt_catalog_debug_id_of(build_id, size, !elf.big_endian, out);
        else if (hash_text(&elf, hash))
            sxt_catalog_debug_id_of(hash, sizeof hash, !elf.big_endian, out);
        sxt_elf_close(&elf);
    }
    sxt_file_close(&file);
    return status;
}
