/*
 * builder.h: what the readers of the formats share, private to linker_map*.c: lines and numbers of a text,
 * and a map that grows.
 */
#ifndef SXT_SOURCE_LINKER_MAP_BUILDER_H
#define SXT_SOURCE_LINKER_MAP_BUILDER_H

#include "source/linker_map/linker_map.h"

/* Walks over the lines of a text. */
struct sxt_map_lines {
    const char *next;
    const char *end;
    uint64_t number; /* of the line that was given last; the first is 1 */
};

/* The next line without its end ("\n" or "\r\n"); false when there is none left. */
bool sxt_map_lines_next(struct sxt_map_lines *lines, sxt_string *line);

struct sxt_map_builder {
    struct sxt_linker_map *map;
    struct sxt_map_lines lines;
    size_t section_capacity;
    size_t piece_capacity;
    size_t symbol_capacity;
    size_t common_capacity;
    uint32_t section;       /* the open one, or SXT_LINKER_MAP_NONE */
    uint32_t piece;         /* the last one of it, or SXT_LINKER_MAP_NONE; symbols belong to it */
    bool thread_local;      /* the open one is .tdata or .tbss */
    bool thread_base_known; /* of the first such section */
    uint64_t thread_base;
    sxt_string last_object; /* the object that was added last, as it is in the text, and its number */
    uint32_t last_object_number;
    sxt_error *error;
};

/* A piece as a line tells it. What is empty is unknown. */
struct sxt_map_entry {
    uint64_t address;
    uint64_t size;
    sxt_string object;
    sxt_string input_section;
    uint32_t alignment;
    uint8_t flags;                 /* besides those that names tell */
    enum sxt_linker_map_kind kind; /* PLAIN: whatever the name of the input section says */
};

/* Each opens, adds, or returns a failure that names the line. The section that was opened last is the open one; without
 * one, pieces and symbols are dropped. Symbols outside of their piece are dropped, too: mold prints those that other
 * modules may replace at their PLT entries. */
int sxt_map_open_section(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size);
void sxt_map_close_section(struct sxt_map_builder *builder);
int sxt_map_add_piece(struct sxt_map_builder *builder, const struct sxt_map_entry *entry);
int sxt_map_add_symbol(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size);
int sxt_map_add_common(struct sxt_map_builder *builder, sxt_string name, uint64_t size, sxt_string object);

/* "line 12: ..." */
int sxt_map_fail(struct sxt_map_builder *builder, const char *what);

/* Does a string begin, or end, with a literal? */
bool sxt_map_begins(sxt_string string, const char *with);
bool sxt_map_ends(sxt_string string, const char *with);
bool sxt_map_equals(sxt_string string, const char *to);

/* Without spaces at either end; and without the first COUNT bytes (which must be there). */
sxt_string sxt_map_trim(sxt_string string);
sxt_string sxt_map_cut(sxt_string string, size_t count);

/*
 * Reads a number at the start of *TEXT, behind spaces, and leaves *TEXT behind it. A number ends at a space or at the
 * end of the line. Hexadecimal ones may begin with 0x. 0 when there is no number there (*TEXT is unchanged), -1 when it
 * does not fit in 64 bits, and otherwise 1.
 */
int sxt_map_number(sxt_string *text, unsigned base, uint64_t *value);

/* The formats: all lines, into a map that knows its linker. */
int sxt_map_read_gnu(struct sxt_map_builder *builder);
int sxt_map_read_columns(struct sxt_map_builder *builder);

/* Is it the first line of a map with columns, and whose? */
bool sxt_map_columns_header(sxt_string line, enum sxt_linker *linker);

/* Fills in the kind, stem and flags of a PIECE by the names of its input section and object. */
void sxt_map_classify(const struct sxt_linker_map *map, sxt_string name, sxt_string object,
                      struct sxt_linker_map_piece *piece);

/* MERGED_STRINGS or MERGED_CONSTANTS if a section of that name can be merged, else PLAIN. */
enum sxt_linker_map_kind sxt_map_merged_kind(sxt_string name);

/* Cuts, fills gaps, sorts, and makes the index. */
int sxt_map_finish(struct sxt_map_builder *builder);

#endif
