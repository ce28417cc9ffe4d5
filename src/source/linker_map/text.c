/* text.c: small things about the words of a map, and what the names of input sections tell. */
#include <string.h>

#include "source/linker_map/builder.h"

static uint8_t kind_of(const struct sxt_linker_map *map, sxt_string name, sxt_string object);
static bool ends_with_string_size(sxt_string name);
static size_t digits_at_end(sxt_string name);
static bool made_by_gnu_ld(sxt_string name);
static void find_stem(sxt_string name, struct sxt_linker_map_piece *piece);

bool sxt_map_begins(sxt_string string, const char *with)
{
    size_t size = strlen(with);
    return string.size >= size && memcmp(string.data, with, size) == 0;
}

bool sxt_map_ends(sxt_string string, const char *with)
{
    size_t size = strlen(with);
    return string.size >= size && memcmp(string.data + string.size - size, with, size) == 0;
}

bool sxt_map_equals(sxt_string string, const char *to)
{
    return string.size == strlen(to) && sxt_map_begins(string, to);
}

sxt_string sxt_map_trim(sxt_string string)
{
    while (string.size > 0 && string.data[0] == ' ')
        string = sxt_map_cut(string, 1);
    while (string.size > 0 && string.data[string.size - 1] == ' ')
        string.size--;
    return string;
}

sxt_string sxt_map_cut(sxt_string string, size_t count)
{
    return (sxt_string){string.data + count, string.size - count};
}

int sxt_map_number(sxt_string *text, unsigned base, uint64_t *value)
{
    const char *at = text->data;
    const char *end = at + text->size;
    while (at < end && *at == ' ')
        at++;
    if (base == 16 && end - at >= 2 && at[0] == '0' && at[1] == 'x')
        at += 2;
    const char *digits = at;
    uint64_t number = 0;
    bool overflow = false;
    for (; at < end && *at != ' '; at++) {
        unsigned digit = (unsigned char)*at - (unsigned)'0';
        if (digit > 9)
            digit = ((unsigned char)*at | 0x20U) - (unsigned)'a' + 10;
        if (digit >= base || (digit >= 10 && !((*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F'))))
            return 0;
        overflow = overflow || number > (UINT64_MAX - digit) / base;
        number = number * base + digit;
    }
    if (at == digits)
        return 0;
    *value = number;
    *text = (sxt_string){at, (size_t)(end - at)};
    return overflow ? -1 : 1;
}

void sxt_map_classify(const struct sxt_linker_map *map, sxt_string name, sxt_string object,
                      struct sxt_linker_map_piece *piece)
{
    piece->kind = kind_of(map, name, object);
    if (piece->kind == SXT_PIECE_PLAIN)
        find_stem(name, piece);
}

static uint8_t kind_of(const struct sxt_linker_map *map, sxt_string name, sxt_string object)
{
    if (sxt_map_ends(name, "COMMON") || sxt_map_equals(name, ".common") || sxt_map_equals(name, ".scommon") ||
        sxt_map_equals(name, ".tls_common") || sxt_map_equals(name, ".tcommon"))
        return SXT_PIECE_COMMON;
    enum sxt_linker_map_kind merged = sxt_map_merged_kind(name);
    if (merged != SXT_PIECE_PLAIN)
        return (uint8_t)merged;
    if (map->linker == SXT_LINKER_GNU_LD && (made_by_gnu_ld(name) || sxt_map_equals(object, "linker stubs")))
        return SXT_PIECE_INTERNAL;
    return SXT_PIECE_PLAIN;
}

enum sxt_linker_map_kind sxt_map_merged_kind(sxt_string name)
{
    if (ends_with_string_size(name) || sxt_map_equals(name, ".rodata.str") || sxt_map_equals(name, ".comment") ||
        sxt_map_equals(name, ".debug_str") || sxt_map_equals(name, ".debug_line_str"))
        return SXT_PIECE_MERGED_STRINGS;
    sxt_string constants = {name.data, name.size - digits_at_end(name)};
    return sxt_map_ends(constants, ".cst") ? SXT_PIECE_MERGED_CONSTANTS : SXT_PIECE_PLAIN;
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
    return width > 0 && sxt_map_ends(rest, ".str");
}

static size_t digits_at_end(sxt_string name)
{
    size_t count = 0;
    while (count < name.size && name.data[name.size - count - 1] >= '0' && name.data[name.size - count - 1] <= '9')
        count++;
    return count;
}

/* GNU ld needs an object to hang its own sections on, takes the first one, and names it in the map. */
static bool made_by_gnu_ld(sxt_string name)
{
    static const char *const whole[] = {
        ".plt",          ".plt.got",           ".plt.sec",           ".plt.bnd",    ".iplt",   ".got",      ".got.plt",
        ".igot",         ".igot.plt",          ".dynamic",           ".dynsym",     ".dynstr", ".hash",     ".gnu.hash",
        ".gnu.version",  ".gnu.version_d",     ".gnu.version_r",     ".relr.dyn",   ".interp", ".dynbss",   ".dynlbss",
        ".eh_frame_hdr", ".note.gnu.build-id", ".note.gnu.property", ".MIPS.stubs", ".glink",  ".branch_lt"};
    if (name.size < 2 || name.size > sizeof ".note.gnu.build-id" || memchr("pigdhrneMb", name.data[1], 10) == NULL)
        return sxt_map_begins(name, ".rela.") || sxt_map_begins(name, ".rel.");
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (sxt_map_equals(name, whole[i]))
            return true;
    }
    return sxt_map_begins(name, ".rela.") || sxt_map_begins(name, ".rel.");
}

/*
 * What is left of ".text.startup.main" without what compilers put in front. A function may have the name of such a
 * prefix ("startup"), but then not even the linker knows.
 */
static void find_stem(sxt_string name, struct sxt_linker_map_piece *piece)
{
    /* A longer prefix before its own beginning. */
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
        if (prefixes[i].prefix[1] != name.data[1] || !sxt_map_begins(name, prefixes[i].prefix) ||
            (name.size > size && name.data[size] != '.'))
            continue;
        piece->flags |= prefixes[i].flag;
        if (name.size > size + 1)
            piece->stem = (uint8_t)(size + 1);
        return;
    }
}
