/*
 * lld_mold.c: reads the maps of lld and mold, which have columns. The indentation says what a line describes:
 *
 *              VMA              LMA     Size Align Out     In      Symbol       lld (hexadecimal; Align decimal)
 *             2120             2120       b9    16 .text
 *             2120             2120       22    16         dir/a.o:(.text.f)
 *             2120             2120       22     1                 f
 *
 *              VMA       Size Align Out     In      Symbol                      mold (VMA with 0x; the rest decimal)
 *     Address          Size             Align Out     In      Symbol            lld before 8 (as lld)
 *
 * Both print expressions of a linker script in the column of sections or input sections. lld calls what it generates
 * <internal>; mold does not print it.
 */
#include <string.h>

#include "base/string.h"
#include "source/linker_map/builder.h"

struct columns {
    bool has_load_address;
    unsigned size_base;
};

struct row {
    uint64_t address;
    uint64_t size;
    uint64_t alignment;
    size_t indent;
    sxt_string text;
};

static int read_row(struct sxt_map_builder *builder, const struct columns *columns, sxt_string line, struct row *row);
static int add_row(struct sxt_map_builder *builder, const struct row *row);
static int add_section(struct sxt_map_builder *builder, const struct row *row);
static int add_input(struct sxt_map_builder *builder, const struct row *row);
static int add_expression(struct sxt_map_builder *builder, const struct row *row);
static void classify_internal(const struct row *row, struct sxt_map_entry *entry);
static size_t find_parenthesis(sxt_string text);
static sxt_string without_offset(sxt_string name);
static bool is_mapping_symbol(sxt_string name);
static bool next_word(sxt_string *text, const char *wanted);

bool sxt_map_columns_header(sxt_string line, enum sxt_linker *linker)
{
    sxt_string text = line;
    *linker = SXT_LINKER_LLD;
    if (next_word(&text, "VMA")) {
        if (!next_word(&text, "LMA"))
            *linker = SXT_LINKER_MOLD;
    } else if (!next_word(&text, "Address")) {
        return false;
    }
    return next_word(&text, "Size") && next_word(&text, "Align") && next_word(&text, "Out") && next_word(&text, "In") &&
           next_word(&text, "Symbol") && sxt_map_trim(text).size == 0;
}

int sxt_map_read_columns(struct sxt_map_builder *builder)
{
    struct columns columns = {false, builder->map->linker == SXT_LINKER_MOLD ? 10 : 16};
    bool header_seen = false;
    sxt_string line;
    while (sxt_map_lines_next(&builder->lines, &line)) {
        if (line.size == 0)
            continue;
        enum sxt_linker linker;
        if (!header_seen && sxt_map_columns_header(line, &linker)) {
            sxt_string text = line;
            columns.has_load_address = next_word(&text, "VMA") && next_word(&text, "LMA");
            header_seen = true;
            continue;
        }
        struct row row;
        int status = read_row(builder, &columns, line, &row);
        if (status == SXT_OK)
            status = add_row(builder, &row);
        if (status != SXT_OK)
            return status;
    }
    sxt_map_close_section(builder);
    return SXT_OK;
}

static int read_row(struct sxt_map_builder *builder, const struct columns *columns, sxt_string line, struct row *row)
{
    uint64_t load_address;
    int found = sxt_map_number(&line, 16, &row->address);
    if (found > 0 && columns->has_load_address)
        found = sxt_map_number(&line, 16, &load_address);
    if (found > 0)
        found = sxt_map_number(&line, columns->size_base, &row->size);
    if (found > 0)
        found = sxt_map_number(&line, 10, &row->alignment);
    if (found < 0)
        return sxt_map_fail(builder, "a number does not fit in 64 bits");
    if (found == 0)
        return sxt_map_fail(builder, "not a number in a column of numbers");
    row->indent = 0;
    if (line.size > 0)
        line = sxt_map_cut(line, 1);
    while (row->indent < line.size && line.data[row->indent] == ' ')
        row->indent++;
    row->text = sxt_map_cut(line, row->indent);
    return SXT_OK;
}

static int add_row(struct sxt_map_builder *builder, const struct row *row)
{
    if (row->indent < 8)
        return add_section(builder, row);
    if (row->indent < 16)
        return add_input(builder, row);
    return is_mapping_symbol(row->text) ? SXT_OK : sxt_map_add_symbol(builder, row->text, row->address, row->size);
}

/* Skips ". = ALIGN ( 16 )" and "PROVIDE(x = .)" of a script, and the headers of the file. */
static int add_section(struct sxt_map_builder *builder, const struct row *row)
{
    sxt_string name = row->text;
    sxt_map_close_section(builder);
    if (name.size == 0 || memchr(name.data, '(', name.size) != NULL || memchr(name.data, '=', name.size) != NULL)
        return SXT_OK;
    if (builder->map->linker == SXT_LINKER_MOLD &&
        (sxt_string_is(name, "EHDR") || sxt_string_is(name, "PHDR") || sxt_string_is(name, "SHDR")))
        return SXT_OK;
    return sxt_map_open_section(builder, name, row->address, row->size);
}

/* "dir/liba.a(b.o):(.text.f)". The name of a file may contain any character, so the last ":(" counts. */
static int add_input(struct sxt_map_builder *builder, const struct row *row)
{
    size_t at = find_parenthesis(row->text);
    if (at == row->text.size)
        return add_expression(builder, row);
    sxt_string object = {row->text.data, at - 1};
    sxt_string name = sxt_map_cut(row->text, at + 1);
    name.size--;
    struct sxt_map_entry entry = {
        .address = row->address,
        .size = row->size,
        .object = object,
        .input_section = without_offset(name),
        .alignment = row->alignment > UINT32_MAX ? UINT32_MAX : (uint32_t)row->alignment,
        .kind = SXT_PIECE_PLAIN,
    };
    if (sxt_string_is(object, "<internal>")) {
        entry.object = (sxt_string){NULL, 0};
        classify_internal(row, &entry);
    }
    return sxt_map_add_piece(builder, &entry);
}

/* "BYTE ( 1 )" stores data, ". += 64" reserves space, "x = ." has no size. */
static int add_expression(struct sxt_map_builder *builder, const struct row *row)
{
    if (row->size == 0)
        return SXT_OK;
    struct sxt_map_entry entry = {.address = row->address, .size = row->size, .kind = SXT_PIECE_FILL};
    static const char *const data[] = {"BYTE", "SHORT", "LONG", "QUAD", "SQUAD"};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        if (sxt_string_begins(row->text, data[i])) {
            entry.kind = SXT_PIECE_INTERNAL;
            entry.input_section = (sxt_string){data[i], strlen(data[i])};
        }
    }
    return sxt_map_add_piece(builder, &entry);
}

/*
 * lld names a merged section after the first section in it; older versions, after the output section. Then the
 * alignment identifies constants: it is their size, so the total size is a multiple of it. That of strings rarely is.
 */
static void classify_internal(const struct row *row, struct sxt_map_entry *entry)
{
    entry->kind = sxt_map_merged_kind(entry->input_section);
    if (entry->kind != SXT_PIECE_PLAIN)
        return;
    entry->kind = SXT_PIECE_INTERNAL;
    if (!sxt_string_begins(entry->input_section, ".rodata"))
        return;
    bool constants = row->alignment > 1 && row->size % row->alignment == 0;
    entry->kind = constants ? SXT_PIECE_MERGED_CONSTANTS : SXT_PIECE_MERGED_STRINGS;
    if (constants)
        entry->flags = SXT_PIECE_GUESSED;
}

/*
 * Returns the position of the "(" of the last ":(" in a text that ends with ")", or the size of the text if there is
 * none.
 */
static size_t find_parenthesis(sxt_string text)
{
    if (!sxt_string_ends(text, ")"))
        return text.size;
    for (size_t at = text.size - 1; at >= 1; at--) {
        if (text.data[at] == '(' && text.data[at - 1] == ':')
            return at;
    }
    return text.size;
}

/* ".eh_frame+0x2c" is a part of .eh_frame. */
static sxt_string without_offset(sxt_string name)
{
    size_t at = name.size;
    while (at > 0 && ((name.data[at - 1] >= '0' && name.data[at - 1] <= '9') ||
                      (name.data[at - 1] >= 'a' && name.data[at - 1] <= 'f')))
        at--;
    if (at < name.size && at >= 3 && memcmp(name.data + at - 3, "+0x", 3) == 0)
        name.size = at - 3;
    return name;
}

/* Mapping symbols of ARM: $a, $d, $t and $x, also with a number: "$d.3". */
static bool is_mapping_symbol(sxt_string name)
{
    return name.size >= 2 && name.data[0] == '$' && memchr("adtx", name.data[1], 4) != NULL &&
           (name.size == 2 || name.data[2] == '.');
}

/* Removes the next word from TEXT if it is WANTED. */
static bool next_word(sxt_string *text, const char *wanted)
{
    sxt_string rest = *text;
    while (rest.size > 0 && rest.data[0] == ' ')
        rest = sxt_map_cut(rest, 1);
    size_t size = strlen(wanted);
    if (!sxt_string_begins(rest, wanted) || (rest.size > size && rest.data[size] != ' '))
        return false;
    *text = sxt_map_cut(rest, size);
    return true;
}
