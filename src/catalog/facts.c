/*
 * facts.c: what the catalog keeps of an ELF file besides its symbols.
 *
 * The debug id is that of Breakpad: the first 16 bytes of the build ID or, without one, those of the first page of
 * .text, put together by exclusive or. The name is that of the shared library, or of its debug file.
 */
#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"
#include "source/elf/elf.h"

#define PAGE      4096
#define GUID_SIZE 16
#define NAME_SIZE 255 /* of the longest name */

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

static void find_debug_id(const struct sxt_elf *elf, struct sxt_catalog_id *out)
{
    uint8_t build_id[64], hash[GUID_SIZE] = {0};
    size_t size = sxt_elf_build_id(elf, build_id, sizeof build_id);
    if (size > 0)
        sxt_catalog_debug_id_of(build_id, size, !elf->big_endian, out);
    else if (hash_text(elf, hash))
        sxt_catalog_debug_id_of(hash, sizeof hash, !elf->big_endian, out);
}

/* --- names --- */

const char *sxt_catalog_file_name(sxt_string path, struct sxt_arena *arena)
{
    size_t start = path.size;
    if (start == 0)
        return NULL;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    sxt_string name = {path.data + start, path.size - start};
    bool is_good = name.size > 0 && name.size <= NAME_SIZE;
    for (size_t i = 0; i < name.size && is_good; i++)
        is_good = (unsigned char)name.data[i] >= ' ' && name.data[i] != 0x7f;
    return is_good ? sxt_arena_copy(arena, name.data, name.size) : NULL;
}

/* The name that the dynamic section gives the file, if it is a shared library. */
static sxt_string find_soname(struct sxt_elf *elf)
{
    const struct sxt_elf_section *dynamic = sxt_elf_section_typed(elf, SHT_DYNAMIC);
    struct sxt_elf_bytes entries, strings;
    unsigned width = elf->is_64 ? 8 : 4;
    if (dynamic == NULL || dynamic->link >= elf->section_count ||
        sxt_elf_section_bytes(elf, dynamic, &entries, NULL) != SXT_OK ||
        sxt_elf_section_bytes(elf, &elf->sections[dynamic->link], &strings, NULL) != SXT_OK)
        return (sxt_string){NULL, 0};
    struct sxt_cursor cursor = sxt_elf_cursor(elf, &entries), names = sxt_elf_cursor(elf, &strings);
    while (!cursor.failed && sxt_cursor_left(&cursor) > 0) {
        uint64_t tag = sxt_cursor_uint(&cursor, width), value = sxt_cursor_uint(&cursor, width);
        if (tag == DT_NULL)
            break;
        if (tag == DT_SONAME && !cursor.failed) {
            sxt_cursor_seek(&names, value);
            return sxt_cursor_cstring(&names);
        }
    }
    return (sxt_string){NULL, 0};
}

/* "gdb" of "gdb.debug". Many debug files have the build ID as their name, which says nothing. */
static sxt_string find_debug_link(struct sxt_elf *elf)
{
    static const char suffix[] = ".debug";
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gnu_debuglink");
    struct sxt_elf_bytes bytes;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return (sxt_string){NULL, 0};
    struct sxt_cursor cursor = sxt_elf_cursor(elf, &bytes);
    sxt_string name = sxt_cursor_cstring(&cursor);
    if (!sxt_string_ends(name, suffix))
        return (sxt_string){NULL, 0};
    name.size -= sizeof suffix - 1;
    size_t digits = 0;
    while (digits < name.size && sxt_hex_digit(name.data[digits]) >= 0)
        digits++;
    return digits < name.size || digits < GUID_SIZE ? name : (sxt_string){NULL, 0};
}

int sxt_catalog_read_facts(const uint8_t *data, size_t size, struct sxt_arena *arena, struct sxt_catalog_facts *out,
                           sxt_error *error)
{
    struct sxt_elf elf;
    *out = (struct sxt_catalog_facts){.name = NULL};
    int status = sxt_elf_open(&elf, data, size, INFLATE_LIMIT, error);
    if (status != SXT_OK)
        return status;
    find_debug_id(&elf, &out->debug_id);
    out->name = sxt_catalog_file_name(find_soname(&elf), arena);
    if (out->name == NULL)
        out->name = sxt_catalog_file_name(find_debug_link(&elf), arena);
    sxt_elf_close(&elf);
    return SXT_OK;
}
