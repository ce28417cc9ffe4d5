/* section_names.c: what the name of an input section says about its content. */
#include <string.h>

#include "base/string.h"
#include "source/linker_map/builder.h"

static uint8_t kind_of(const struct sxt_linker_map *map, sxt_string name, sxt_string object);
static bool ends_with_string_size(sxt_string name);
static size_t digits_at_end(sxt_string name);
static bool made_by_gnu_ld(sxt_string name);
static void find_stem(sxt_string name, struct sxt_linker_map_piece *piece);

void sxt_map_classify(const struct sxt_linker_map *map, sxt_string name, sxt_string object,
                      struct sxt_linker_map_piece *piece)
{
    piece->kind = kind_of(map, name, object);
    if (piece->kind == SXT_PIECE_PLAIN)
        find_stem(name, piece);
}

static uint8_t kind_of(const struct sxt_linker_map *map, sxt_string name, sxt_string object)
{
    if (sxt_string_ends(name, "COMMON") || sxt_string_is(name, ".common") || sxt_string_is(name, ".scommon") ||
        sxt_string_is(name, ".tls_common") || sxt_string_is(name, ".tcommon"))
        return SXT_PIECE_COMMON;
    enum sxt_linker_map_kind merged = sxt_map_merged_kind(name);
    if (merged != SXT_PIECE_PLAIN)
        return (uint8_t)merged;
    if (map->linker == SXT_LINKER_GNU_LD && (made_by_gnu_ld(name) || sxt_string_is(object, "linker stubs")))
        return SXT_PIECE_INTERNAL;
    return SXT_PIECE_PLAIN;
}

enum sxt_linker_map_kind sxt_map_merged_kind(sxt_string name)
{
    if (ends_with_string_size(name) || sxt_string_is(name, ".rodata.str") || sxt_string_is(name, ".comment") ||
        sxt_string_is(name, ".debug_str") || sxt_string_is(name, ".debug_line_str"))
        return SXT_PIECE_MERGED_STRINGS;
    sxt_string constants = {name.data, name.size - digits_at_end(name)};
    return sxt_string_ends(constants, ".cst") ? SXT_PIECE_MERGED_CONSTANTS : SXT_PIECE_PLAIN;
}

/* ".rodata.f.str1.8": strings of characters of one byte, aligned to eight. */
static bool ends_with_string_size(sxt_string name)
{
    size_t alignment = digits_at_end(name);
    if (alignment == 0 || alignment == name.size || name.data[name.size - alignment - 1] != '.')
        return false;
    sxt_string rest = {name.data, name.size - alignment - 1};
    size_t width = digits_at_end(rest);
    rest.size -= width;
    return width > 0 && sxt_string_ends(rest, ".str");
}

static size_t digits_at_end(sxt_string name)
{
    size_t count = 0;
    while (count < name.size && name.data[name.size - count - 1] >= '0' && name.data[name.size - count - 1] <= '9')
        count++;
    return count;
}

/* GNU ld attaches the sections that it generates to the first object, and prints that object in the map. */
static bool made_by_gnu_ld(sxt_string name)
{
    static const char *const whole[] = {
        ".plt",          ".plt.got",           ".plt.sec",           ".plt.bnd",    ".iplt",   ".got",      ".got.plt",
        ".igot",         ".igot.plt",          ".dynamic",           ".dynsym",     ".dynstr", ".hash",     ".gnu.hash",
        ".gnu.version",  ".gnu.version_d",     ".gnu.version_r",     ".relr.dyn",   ".interp", ".dynbss",   ".dynlbss",
        ".eh_frame_hdr", ".note.gnu.build-id", ".note.gnu.property", ".MIPS.stubs", ".glink",  ".branch_lt"};
    if (name.size < 2 || name.size > sizeof ".note.gnu.build-id" || memchr("pigdhrneMb", name.data[1], 10) == NULL)
        return sxt_string_begins(name, ".rela.") || sxt_string_begins(name, ".rel.");
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (sxt_string_is(name, whole[i]))
            return true;
    }
    return sxt_string_begins(name, ".rela.") || sxt_string_begins(name, ".rel.");
}

/*
 * Removes the prefixes that compilers add: ".text.startup.main" has the stem "main". If a function has the name of such
 * a prefix ("startup"), the two cannot be distinguished.
 */
static void find_stem(sxt_string name, struct sxt_linker_map_piece *piece)
{
    /* A longer prefix comes before a shorter one that it begins with. */
    static const struct {
        const char *prefix;
        uint8_t flag;
    } prefixes[] = {
        {".text.startup", SXT_PIECE_STARTUP},
        {".text.unlikely", SXT_PIECE_UNLIKELY},
        {".text.hot", SXT_PIECE_HOT},
        {".text.exit", 0},
        {".text", 0},
        {".data.rel.ro.local", 0},
        {".data.rel.ro", 0},
        {".data.rel.local", SXT_PIECE_REL_LOCAL},
        {".data.rel", SXT_PIECE_REL},
        {".data", 0},
        {".rodata", 0},
        {".bss.rel.ro", 0},
        {".bss", 0},
        {".tdata", 0},
        {".tbss", 0},
        {".gcc_except_table", 0},
        {".gnu.linkonce.t", 0},
        {".gnu.linkonce.r", 0},
        {".gnu.linkonce.d", 0},
        {".gnu.linkonce.b", 0},
    };
    if (name.size < 4 || name.data[0] != '.')
        return;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t size = strlen(prefixes[i].prefix);
        if (prefixes[i].prefix[1] != name.data[1] || !sxt_string_begins(name, prefixes[i].prefix) ||
            (name.size > size && name.data[size] != '.'))
            continue;
        piece->flags |= prefixes[i].flag;
        if (name.size > size + 1)
            piece->stem = (uint8_t)(size + 1);
        return;
    }
}
