/*
 * unnamed.c: bytes of a section that no symbol claims. A linker map says what they are:
 *
 *   a section of an object         the symbols that the map has there; without any, a symbol of its own, named after
 * what the section is for: ".rodata._Z4picki" holds the jump tables of pick(int),
 *                                  ".text.startup" is "startup"
 *   merged strings                 a symbol for each literal
 *   merged constants               "** merge constants"
 *   fill                           padding of the next symbol
 *   what the linker made           "** NAME"
 *   anything else                  "** .text (unattributed)"
 *
 * Without a map, up to 64 bytes are padding.
 */
#include <elf.h>
#include <string.h>

#include "base/search.h"
#include "base/string.h"
#include "measure/binary.h"

/* The most bytes that a linker skips to align the next symbol. A larger gap is something without a name. */
#define PADDING_MAX 64

static bool is_padding(const struct sxt_linker_map_piece *piece, const struct measure_gap *gap, uint64_t size);
static void add_bytes(struct binary *binary, const struct measure_gap *gap, const struct sxt_linker_map_piece *piece,
                      uint64_t start, uint64_t end);
static uint64_t add_map_symbols(struct binary *binary, const struct measure_gap *gap,
                                const struct sxt_linker_map_piece *piece, uint64_t start, uint64_t end);
static bool add_literals(struct binary *binary, const struct measure_gap *gap, const struct sxt_linker_map_piece *piece,
                         uint64_t start, uint64_t end);
static uint32_t name_bytes(struct binary *binary, const struct measure_gap *gap,
                           const struct sxt_linker_map_piece *piece);
static sxt_string content_name(const struct measure_gap *gap, const struct sxt_linker_map_piece *piece);
static uint32_t name_content(struct binary *binary, sxt_string content);
static uint32_t name_switch_table(struct binary *binary, sxt_string function);
static uint32_t made_up_name(struct binary *binary, const char *before, sxt_string middle, const char *after);

void sxt_measure_add_gap(struct binary *binary, const struct measure_gap *gap)
{
    bool is_first = gap->is_first;
    uint64_t left_from = gap->start, at = gap->start;
    while (at < gap->end && !binary->no_memory && !binary->maker->no_memory) {
        const struct sxt_linker_map_piece *piece = sxt_measure_map_piece(binary, gap->section, at);
        uint64_t until =
            piece != NULL && piece->size < gap->end - piece->address ? piece->address + piece->size : gap->end;
        /* The first symbol has no padding: a reader would not know where it begins. */
        if (is_first || !is_padding(piece, gap, until - at)) {
            add_bytes(binary, gap, piece, at, until);
            left_from = until;
            is_first = false;
        }
        at = until;
    }
    if (gap->is_last && left_from < gap->end)
        add_bytes(binary, gap, NULL, left_from, gap->end);
}

/* PIECE is what the map says of SIZE bytes of the gap. */
static bool is_padding(const struct sxt_linker_map_piece *piece, const struct measure_gap *gap, uint64_t size)
{
    if (piece == NULL)
        return size < PADDING_MAX;
    switch (piece->kind) {
    case SXT_PIECE_FILL:
        return true;
    case SXT_PIECE_PLAIN:
        /* Nothing is aligned before the beginning of a section. */
        return piece->address < gap->start && size < PADDING_MAX;
    case SXT_PIECE_COMMON:
        return size < PADDING_MAX;
    default:
        return false;
    }
}

static void add_named(struct binary *binary, const struct measure_gap *gap, const struct sxt_linker_map_piece *piece,
                      uint64_t start, uint64_t end, uint32_t name)
{
    const struct measure_section *section = gap->section;
    sxt_measure_maker_add(
        binary->maker, gap->segment, section->address + (start - section->elf->address), end - start, name,
        binary->entry != NULL ? binary->package_path : sxt_measure_path_at(binary, section, piece, start),
        sxt_measure_map_flags(piece), false);
}

static void add_bytes(struct binary *binary, const struct measure_gap *gap, const struct sxt_linker_map_piece *piece,
                      uint64_t start, uint64_t end)
{
    if (piece != NULL && add_literals(binary, gap, piece, start, end))
        return;
    if (piece != NULL && (piece->kind == SXT_PIECE_PLAIN || piece->kind == SXT_PIECE_COMMON))
        start = add_map_symbols(binary, gap, piece, start, end);
    if (start < end)
        add_named(binary, gap, piece, start, end, name_bytes(binary, gap, piece));
}

/* The first symbol of a piece in the map at or after ADDRESS. */
static size_t first_symbol(const struct sxt_linker_map *map, uint32_t piece, uint64_t address)
{
    struct sxt_bisection search = {.high = map->symbol_count};
    while (sxt_bisect(&search)) {
        const struct sxt_linker_map_symbol *symbol = &map->symbols[search.middle];
        sxt_bisect_after(&search, symbol->piece < piece || (symbol->piece == piece && symbol->address < address));
    }
    return search.low;
}

/*
 * Adds the bytes up to the end of the last symbol that the map has there: those of a stripped binary, and labels of
 * data. Returns the end.
 */
static uint64_t add_map_symbols(struct binary *binary, const struct measure_gap *gap,
                                const struct sxt_linker_map_piece *piece, uint64_t start, uint64_t end)
{
    const struct sxt_linker_map *map = binary->map;
    uint32_t number = (uint32_t)(piece - map->pieces);
    uint64_t done = start;
    for (size_t i = first_symbol(map, number, start); i < map->symbol_count; i++) {
        const struct sxt_linker_map_symbol *symbol = &map->symbols[i];
        if (symbol->piece != number || symbol->address >= end)
            break;
        if (!symbol->preferred || symbol->address < done || sxt_string_begins(symbol->name, "__typeid_"))
            continue;
        size_t next = i + 1;
        while (next < map->symbol_count && map->symbols[next].piece == number &&
               map->symbols[next].address == symbol->address)
            next++;
        bool has_next = next < map->symbol_count && map->symbols[next].piece == number;
        uint64_t until = has_next && map->symbols[next].address < end ? map->symbols[next].address : end;
        /* A label inside a function is not a symbol; what follows a function up to the next one may be padding. */
        if (symbol->size > 0)
            until = symbol->size < end - symbol->address ? symbol->address + symbol->size : end;
        if (symbol->address > done && (symbol->address - done >= PADDING_MAX || done == start))
            add_named(binary, gap, piece, done, symbol->address, name_bytes(binary, gap, piece));
        add_named(binary, gap, piece, symbol->address, until, name_content(binary, symbol->name));
        done = until;
    }
    return done > start && end - done < PADDING_MAX && !(gap->is_last && end == gap->end) ? end : done;
}

/* False if PIECE has no literals. */
static bool add_literals(struct binary *binary, const struct measure_gap *gap, const struct sxt_linker_map_piece *piece,
                         uint64_t start, uint64_t end)
{
    bool is_guessed = piece->kind == SXT_PIECE_MERGED_CONSTANTS && (piece->flags & SXT_PIECE_GUESSED) != 0;
    if ((piece->kind != SXT_PIECE_MERGED_STRINGS && !is_guessed) || (gap->section->elf->flags & SHF_EXECINSTR))
        return false;
    struct measure_literals literals = {
        .elf = &binary->elf,
        .segment = gap->segment,
        .shift = gap->section->address - gap->section->elf->address,
        .object = sxt_linker_map_string(binary->map, piece->object),
        .start = start,
        .end = end,
        .width = sxt_measure_width_of(piece->input_section),
        .is_guessed = is_guessed,
    };
    sxt_measure_add_literals(binary->maker, &binary->literals, &literals);
    return true;
}

static uint32_t name_bytes(struct binary *binary, const struct measure_gap *gap,
                           const struct sxt_linker_map_piece *piece)
{
    enum sxt_linker_map_kind kind = piece != NULL ? piece->kind : SXT_PIECE_FILL;
    if (kind == SXT_PIECE_MERGED_CONSTANTS)
        return made_up_name(binary, "** merge constants", (sxt_string){"", 0}, "");
    if (kind == SXT_PIECE_INTERNAL && !(piece->flags & SXT_PIECE_IMPLIED) &&
        sxt_string_begins(piece->input_section, "."))
        return made_up_name(binary, "** ", piece->input_section, "");
    sxt_string content = kind == SXT_PIECE_PLAIN ? content_name(gap, piece) : (sxt_string){"", 0};
    if (content.size > 0)
        return name_content(binary, content);
    return made_up_name(binary, "** ", gap->section->name, " (unattributed)");
}

/* "f" of ".text.f" and of ".text.unlikely.f"; "startup" of ".text.startup"; "" of ".text". */
static sxt_string content_name(const struct measure_gap *gap, const struct sxt_linker_map_piece *piece)
{
    sxt_string input = piece->input_section, section = gap->section->elf->name;
    if (piece->stem > 0 && piece->stem < input.size)
        return (sxt_string){input.data + piece->stem, input.size - piece->stem};
    bool is_part =
        sxt_string_has_prefix(input, section) && input.size > section.size + 1 && input.data[section.size] == '.';
    if (is_part)
        return (sxt_string){input.data + section.size + 1, input.size - section.size - 1};
    return sxt_string_equal(input, section) ? (sxt_string){"", 0} : input;
}

/* The names of the reference: compilers name some sections after labels. */
static uint32_t name_content(struct binary *binary, sxt_string content)
{
    static const char *const tables[] = {".Lswitch.table.", "switch.table."};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (sxt_string_begins(content, tables[i]) && content.size > strlen(tables[i]))
            return name_switch_table(binary,
                                     (sxt_string){content.data + strlen(tables[i]), content.size - strlen(tables[i])});
    if (sxt_string_begins(content, ".L.str"))
        return made_up_name(binary, "string literal", (sxt_string){"", 0}, "");
    if (sxt_string_begins(content, "OUTLINED_FUNCTION_"))
        return made_up_name(binary, "** outlined function", (sxt_string){"", 0}, "");
    return sxt_measure_readable_name(binary, content);
}

/* "_Z4picki.67" is the table of pick(int) with the number 67: "Switch table for pick(int) (.67)". */
static uint32_t name_switch_table(struct binary *binary, sxt_string function)
{
    const char *dot = function.size > 1 ? memchr(function.data + 1, '.', function.size - 1) : NULL;
    bool is_numbered = dot != NULL && dot + 1 < function.data + function.size && dot[1] >= '0' && dot[1] <= '9';
    sxt_string number = {"", 0};
    if (is_numbered ||
        (dot != NULL && sxt_string_is((sxt_string){dot, (size_t)(function.data + function.size - dot)}, ".rel"))) {
        number = (sxt_string){dot, (size_t)(function.data + function.size - dot)};
        function.size -= number.size;
    }
    struct sxt_buffer text;
    sxt_buffer_init(&text, (size_t)1 << 20);
    sxt_string readable = sxt_strings_get(&binary->maker->names, sxt_measure_readable_name(binary, function));
    sxt_buffer_append(&text, readable.data, readable.size);
    if (number.size > 0) {
        sxt_buffer_append(&text, " (", 2);
        sxt_buffer_append(&text, number.data, number.size);
        sxt_buffer_append(&text, ")", 1);
    }
    binary->no_memory |= text.memory_was_short;
    uint32_t name = made_up_name(binary, "Switch table for ", (sxt_string){(const char *)text.data, text.size}, "");
    sxt_buffer_free(&text);
    return name;
}

static uint32_t made_up_name(struct binary *binary, const char *before, sxt_string middle, const char *after)
{
    struct sxt_buffer *text = &binary->text;
    sxt_buffer_clear(text);
    sxt_buffer_append(text, before, strlen(before));
    for (size_t i = 0; i < middle.size; i++)
        sxt_buffer_u8(text, middle.data[i] == '\t' || middle.data[i] == '\n' ? ' ' : (uint8_t)middle.data[i]);
    sxt_buffer_append(text, after, strlen(after));
    binary->no_memory |= text->memory_was_short;
    return sxt_measure_maker_name(binary->maker, (sxt_string){(const char *)text->data, text->size});
}

void sxt_measure_add_whole_section(struct binary *binary, const struct measure_section *section, uint64_t size)
{
    const struct sxt_elf_section *elf = section->elf;
    sxt_string object = binary->member.data != NULL ? binary->member : (sxt_string){"", 0};
    bool is_literals = (elf->flags & SHF_ALLOC) && (elf->flags & SHF_MERGE) && (elf->flags & SHF_STRINGS) &&
                       elf->entry_size <= 4 && elf->entry_size != 3 && size == elf->size;
    if (!is_literals) {
        sxt_measure_maker_add(
            binary->maker, binary->other, 0, size, made_up_name(binary, "** ELF Section: ", section->name, ""),
            binary->entry != NULL ? binary->package_path
                                  : sxt_measure_maker_path(binary->maker, object, (sxt_string){"", 0}),
            0, false);
        return;
    }
    const struct sxt_linker_map_piece *piece = sxt_measure_map_piece(binary, section, elf->address);
    struct measure_literals literals = {
        .elf = &binary->elf,
        .segment = binary->other,
        .shift = section->address - elf->address,
        .object = piece != NULL ? sxt_linker_map_string(binary->map, piece->object) : object,
        .start = elf->address,
        .end = elf->address + elf->size,
        .width = (unsigned)elf->entry_size,
    };
    sxt_measure_add_literals(binary->maker, &binary->literals, &literals);
}
