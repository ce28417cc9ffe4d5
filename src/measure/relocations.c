/*
 * relocations.c: how many relocations a file has.
 *
 *   REL, RELA     one an entry
 *   RELR          an even word is the address of a relocation; in an odd one, each bit above the lowest is a relocation
 *                 of one of the words that follow
 *   Android       "APS2", then groups of relocations in LEB128
 *   CREL          the number is in the header, above three bits of flags
 */
#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cursor.h"
#include "measure/private.h"

#ifndef SHT_RELR
#define SHT_RELR 19
#endif
#define SHT_CREL         0x40000014U
#define SHT_ANDROID_REL  0x60000001U
#define SHT_ANDROID_RELA 0x60000002U
#define SHT_ANDROID_RELR 0x6fffff00U

/* What the relocations of a group of Android's have in common, so that it is stored once. */
enum { GROUPED_BY_INFO = 1, GROUPED_BY_OFFSET = 2, GROUPED_BY_ADDEND = 4, HAS_ADDENDS = 8 };

static uint64_t count_relr(struct sxt_cursor cursor, bool is_64)
{
    uint64_t count = 0;
    unsigned width = is_64 ? 8 : 4;
    while (sxt_cursor_left(&cursor) >= width) {
        uint64_t word = sxt_cursor_uint(&cursor, width);
        count += (word & 1) == 0 ? 1 : (uint64_t)__builtin_popcountll(word) - 1;
    }
    return count;
}

/* The number of relocations that the groups hold; those of a damaged group are left out. */
static uint64_t count_packed(struct sxt_cursor cursor, bool has_addends)
{
    const uint8_t *magic = sxt_cursor_bytes(&cursor, 4);
    if (magic == NULL || memcmp(magic, "APS2", 4) != 0)
        return 0;
    int64_t expected = sxt_cursor_sleb128(&cursor), count = 0;
    sxt_cursor_sleb128(&cursor); /* the first offset */
    while (!cursor.failed && count < expected) {
        int64_t in_group = sxt_cursor_sleb128(&cursor);
        uint64_t flags = (uint64_t)sxt_cursor_sleb128(&cursor);
        if (cursor.failed || in_group <= 0 || in_group > expected - count)
            break;
        bool each_addend = has_addends && (flags & HAS_ADDENDS) && !(flags & GROUPED_BY_ADDEND);
        unsigned values = !(flags & GROUPED_BY_OFFSET) + !(flags & GROUPED_BY_INFO) + each_addend;
        unsigned shared = ((flags & GROUPED_BY_OFFSET) != 0) + ((flags & GROUPED_BY_INFO) != 0) +
                          (has_addends && (flags & HAS_ADDENDS) && (flags & GROUPED_BY_ADDEND));
        for (unsigned i = 0; i < shared; i++)
            sxt_cursor_sleb128(&cursor);
        for (int64_t i = 0; values > 0 && i < in_group && !cursor.failed; i++)
            for (unsigned j = 0; j < values; j++)
                sxt_cursor_sleb128(&cursor);
        if (!cursor.failed)
            count += in_group;
    }
    return (uint64_t)count;
}

/* An entry takes a byte or more. */
static uint64_t count_crel(struct sxt_cursor cursor)
{
    uint64_t count = sxt_cursor_uleb128(&cursor) >> 3;
    return count <= sxt_cursor_left(&cursor) ? count : 0;
}

uint64_t sxt_measure_count_relocations(const struct sxt_elf *elf, const struct sxt_elf_section *section)
{
    if (!sxt_fits(section->offset, section->size, 1, elf->size))
        return 0;
    struct sxt_cursor cursor =
        sxt_cursor_make(elf->data + section->offset, section->size, section->offset, elf->big_endian);
    switch (section->type) {
    case SHT_REL:
    case SHT_RELA:
        return section->entry_size > 0 ? section->size / section->entry_size : 0;
    case SHT_RELR:
    case SHT_ANDROID_RELR:
        return count_relr(cursor, elf->is_64);
    case SHT_ANDROID_REL:
    case SHT_ANDROID_RELA:
        return count_packed(cursor, section->type == SHT_ANDROID_RELA);
    case SHT_CREL:
        return count_crel(cursor);
    default:
        return 0;
    }
}
