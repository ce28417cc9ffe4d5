/*
 * gnu.c: the maps of GNU ld and gold, which look much alike.
 *
 *     common_x            0x190             a.o                    GNU ld and gold, before the first section
 *
 *     .text           0x0000000000001080      0x215
 *      *(.text.unlikely .text.*_unlikely)                          GNU ld: the line of the script
 *      .text.unlikely.f
 *                     0x0000000000001080        0xc dir/a.o
 *                     0x0000000000001080                f
 *      *fill*         0x000000000000108c        0x4 90
 *      .text.g        0x0000000000001090        0xe liba.a(b.o)
 *                                              0x1e (size before relaxing)
 *                     0x000000000000109e        0x1 BYTE 0x1
 *                     0x00000000000010a0                _etext = .
 *      ** merge strings                                            gold: made by the linker
 *                     0x00000000000010a0       0x34
 *
 * Names take 16 columns; a longer one has a line to itself, and the numbers follow on the next. Everything before the
 * first section and between sections is prose, in the language of whoever ran the linker, and none of it has a number
 * in column 16. Memory regions have it in column 17, common symbols in column 20.
 */
#include <string.h>

#include "source/linker_map/builder.h"

#define NAME_COLUMNS   16
#define COMMON_COLUMNS 20

/* A name whose numbers are on the next line. */
struct waiting {
    sxt_string name; /* empty for none */
    bool is_section;
};

static int read_line(struct sxt_map_builder *builder, sxt_string line, struct waiting *waiting);
static int read_section(struct sxt_map_builder *builder, sxt_string line, struct waiting *waiting);
static int read_input(struct sxt_map_builder *builder, sxt_string line, struct waiting *waiting);
static int read_numbers(struct sxt_map_builder *builder, sxt_string line, const struct waiting *waiting);
static int read_size(struct sxt_map_builder *builder, sxt_string *line, uint64_t *address, uint64_t *size, bool *sized);
static int add_input(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size,
                     sxt_string object);
static int add_statement(struct sxt_map_builder *builder, sxt_string text, uint64_t address, uint64_t size);
static int read_common(struct sxt_map_builder *builder, sxt_string name, sxt_string line);
static enum sxt_linker_map_kind gold_kind(const struct sxt_map_builder *builder, sxt_string name);
static bool has_number_at(sxt_string line, size_t column);
static bool is_assignment(sxt_string text);

int sxt_map_read_gnu(struct sxt_map_builder *builder)
{
    struct waiting waiting = {{NULL, 0}, false};
    sxt_string line;
    while (sxt_map_lines_next(&builder->lines, &line)) {
        if (line.size == 0) {
            waiting.name.size = 0;
            continue;
        }
        if (line.data[0] == 'C' && sxt_map_equals(line, "Cross Reference Table"))
            break;
        int status = read_line(builder, line, &waiting);
        if (status != SXT_OK)
            return status;
    }
    sxt_map_close_section(builder);
    return SXT_OK;
}

static int read_line(struct sxt_map_builder *builder, sxt_string line, struct waiting *waiting)
{
    if (line.data[0] != ' ')
        return read_section(builder, line, waiting);
    if (line.size > 1 && line.data[1] != ' ')
        return read_input(builder, line, waiting);

    int status = SXT_OK;
    if (has_number_at(line, NAME_COLUMNS))
        status = read_numbers(builder, line, waiting);
    else if (builder->map->section_count == 0 && waiting->is_section && waiting->name.size > 0 &&
             has_number_at(line, COMMON_COLUMNS))
        status = read_common(builder, waiting->name, line);
    waiting->name.size = 0;
    return status;
}

static int read_section(struct sxt_map_builder *builder, sxt_string line, struct waiting *waiting)
{
    *waiting = (struct waiting){{NULL, 0}, true};
    sxt_string name = {line.data, line.size < NAME_COLUMNS ? line.size : NAME_COLUMNS};
    if (has_number_at(line, NAME_COLUMNS)) {
        waiting->name = sxt_map_trim(name);
        int status = read_numbers(builder, line, waiting);
        waiting->name.size = 0;
        return status;
    }
    sxt_map_close_section(builder);
    if (builder->map->section_count == 0 && has_number_at(line, COMMON_COLUMNS)) {
        name.size = COMMON_COLUMNS;
        return read_common(builder, sxt_map_trim(name), line);
    }
    waiting->name = line;
    return SXT_OK;
}

static int read_input(struct sxt_map_builder *builder, sxt_string line, struct waiting *waiting)
{
    *waiting = (struct waiting){{NULL, 0}, false};
    sxt_string text = sxt_map_cut(line, 1);
    bool gold = builder->map->linker == SXT_LINKER_GOLD;
    if (text.data[0] == '*' && !sxt_map_begins(text, gold ? "** " : "*fill*"))
        return SXT_OK;
    if (has_number_at(line, NAME_COLUMNS)) {
        waiting->name = sxt_map_trim((sxt_string){text.data, NAME_COLUMNS - 1});
        int status = read_numbers(builder, line, waiting);
        waiting->name.size = 0;
        return status;
    }
    bool script = !gold && (memchr(text.data, '(', text.size) != NULL || sxt_map_begins(text, "FILL mask"));
    if (!script)
        waiting->name = text;
    return SXT_OK;
}

/* What a line means depends on what is in front of its numbers: a section, an input, or nothing. */
static int read_numbers(struct sxt_map_builder *builder, sxt_string line, const struct waiting *waiting)
{
    uint64_t address = 0, size = 0;
    bool sized = false;
    sxt_string rest = sxt_map_cut(line, NAME_COLUMNS);
    int status = read_size(builder, &rest, &address, &size, &sized);
    if (status != SXT_OK)
        return status;
    rest = sxt_map_trim(rest);
    bool named = waiting->name.size > 0;
    if (!sized)
        return named || is_assignment(rest) ? SXT_OK : sxt_map_add_symbol(builder, rest, address, 0);
    if (!named)
        return add_statement(builder, rest, address, size);
    if (waiting->is_section)
        return sxt_map_open_section(builder, waiting->name, address, size);
    return add_input(builder, waiting->name, address, size, rest);
}

static int read_size(struct sxt_map_builder *builder, sxt_string *line, uint64_t *address, uint64_t *size, bool *sized)
{
    int found = sxt_map_number(line, 16, address);
    if (found > 0 && sxt_map_begins(sxt_map_trim(*line), "0x")) {
        found = sxt_map_number(line, 16, size);
        *sized = found != 0;
    }
    return found < 0 ? sxt_map_fail(builder, "a number does not fit in 64 bits") : SXT_OK;
}

static int add_input(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size,
                     sxt_string object)
{
    struct sxt_map_entry entry = {
        .address = address,
        .size = size,
        .object = object,
        .input_section = name,
        .kind = SXT_PIECE_PLAIN,
    };
    if (sxt_map_begins(name, "** ")) {
        entry.object.size = 0;
        entry.input_section = sxt_map_cut(name, 3);
        entry.kind = gold_kind(builder, entry.input_section);
    } else if (sxt_map_equals(name, "*fill*")) {
        entry.kind = SXT_PIECE_FILL;
    }
    return sxt_map_add_piece(builder, &entry);
}

/* "BYTE 0x1" */
static int add_statement(struct sxt_map_builder *builder, sxt_string text, uint64_t address, uint64_t size)
{
    const char *space = text.size == 0 ? NULL : memchr(text.data, ' ', text.size);
    struct sxt_map_entry entry = {
        .address = address,
        .size = size,
        .input_section = {text.data, space == NULL ? text.size : (size_t)(space - text.data)},
        .kind = SXT_PIECE_INTERNAL,
    };
    return sxt_map_add_piece(builder, &entry);
}

static int read_common(struct sxt_map_builder *builder, sxt_string name, sxt_string line)
{
    uint64_t size = 0;
    sxt_string rest = sxt_map_cut(line, COMMON_COLUMNS);
    int found = sxt_map_number(&rest, 16, &size);
    if (found < 0)
        return sxt_map_fail(builder, "a number does not fit in 64 bits");
    return found == 0 ? SXT_OK : sxt_map_add_common(builder, name, size, sxt_map_trim(rest));
}

/* Gold also calls fill what it knows the bytes of: the name of the interpreter, and notes. */
static enum sxt_linker_map_kind gold_kind(const struct sxt_map_builder *builder, sxt_string name)
{
    if (sxt_map_equals(name, "merge strings"))
        return SXT_PIECE_MERGED_STRINGS;
    if (sxt_map_equals(name, "merge constants"))
        return SXT_PIECE_MERGED_CONSTANTS;
    if (sxt_map_ends(name, "common"))
        return SXT_PIECE_COMMON;
    if (builder->section == SXT_LINKER_MAP_NONE ||
        (!sxt_map_equals(name, "fill") && !sxt_map_equals(name, "zero fill")))
        return SXT_PIECE_INTERNAL;
    const struct sxt_linker_map *map = builder->map;
    sxt_string section = sxt_linker_map_string(map, map->sections[builder->section].name);
    bool content = sxt_map_equals(section, ".interp") || sxt_map_begins(section, ".note");
    return content ? SXT_PIECE_INTERNAL : SXT_PIECE_FILL;
}

static bool has_number_at(sxt_string line, size_t column)
{
    return line.size > column + 2 && memcmp(line.data + column - 1, " 0x", 3) == 0;
}

/* "_end = .", ". += 0x40", "PROVIDE (etext = .)", "ASSERT (...)": the second word of no symbol is an operator. */
static bool is_assignment(sxt_string text)
{
    if (sxt_map_begins(text, "PROVIDE") || sxt_map_begins(text, "HIDDEN (") || sxt_map_begins(text, "ASSERT ("))
        return true;
    const char *space = text.size == 0 ? NULL : memchr(text.data, ' ', text.size);
    if (space == NULL)
        return false;
    const char *end = text.data + text.size;
    const char *at = space + 1;
    while (at < end && *at != '\0' && strchr("+-*/<>&|", *at) != NULL)
        at++;
    return end - at >= 2 && at[0] == '=' && at[1] == ' ';
}
