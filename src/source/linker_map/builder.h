/* builder.h: shared by the readers of this folder: lines and numbers of a text, and a map under construction. */
#ifndef SXT_SOURCE_LINKER_MAP_BUILDER_H
#define SXT_SOURCE_LINKER_MAP_BUILDER_H

#include "source/linker_map/linker_map.h"

/* Iterates over the lines of a text. */
struct sxt_map_lines {
    const char *next;
    const char *end;
    uint64_t number; /* of the last line returned; the first is 1 */
};

/* Gets the next line without its end ("\n" or "\r\n"). Returns false at the end of the text. */
bool sxt_map_lines_next(struct sxt_map_lines *lines, sxt_string *line);

struct sxt_map_builder {
    struct sxt_linker_map *map;
    struct sxt_map_lines lines;
    size_t section_capacity;
    size_t piece_capacity;
    size_t symbol_capacity;
    size_t common_capacity;
    uint32_t section;       /* the current section, or SXT_LINKER_MAP_NONE */
    uint32_t piece;         /* the last piece of the current section, or SXT_LINKER_MAP_NONE; symbols belong to it */
    bool thread_local;      /* the current section is .tdata or .tbss */
    bool thread_base_known; /* of the first such section */
    uint64_t thread_base;
    sxt_string last_object; /* the object that was added last, as a view of the text, and its number */
    uint32_t last_object_number;
    sxt_error *error;
};

/* A piece as described by a line. Unknown members are empty. */
struct sxt_map_entry {
    uint64_t address;
    uint64_t size;
    sxt_string object;
    sxt_string input_section;
    uint32_t alignment;
    uint8_t flags;                 /* in addition to those that follow from names */
    enum sxt_linker_map_kind kind; /* PLAIN: determined from the name of the input section */
};

/*
 * These functions open or add something. Error messages contain the line number. The section that was opened last is
 * the current one; without one, pieces and symbols are dropped. Symbols outside their piece are dropped too: mold
 * prints symbols that other modules may replace at the address of their PLT entries.
 */
int sxt_map_open_section(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size);
void sxt_map_close_section(struct sxt_map_builder *builder);
int sxt_map_add_piece(struct sxt_map_builder *builder, const struct sxt_map_entry *entry);
int sxt_map_add_symbol(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size);
int sxt_map_add_common(struct sxt_map_builder *builder, sxt_string name, uint64_t size, sxt_string object);

/* Fails with "line 12 of the linker map: WHAT". */
int sxt_map_fail(struct sxt_map_builder *builder, const char *what);

/* Return the string without spaces at either end, or without the first COUNT bytes (which must exist). */
sxt_string sxt_map_trim(sxt_string string);
sxt_string sxt_map_cut(sxt_string string, size_t count);

/*
 * Reads a number at the start of *TEXT, after spaces, and moves *TEXT to its end. A number ends at a space or at the
 * end of the line. Hexadecimal numbers may begin with 0x. Returns 1 if there is a number, 0 if not (*TEXT is
 * unchanged), and -1 if it does not fit in 64 bits.
 */
int sxt_map_number(sxt_string *text, unsigned base, uint64_t *value);

/* The formats: each reads all lines into a map whose linker is set. */
int sxt_map_read_gnu(struct sxt_map_builder *builder);
int sxt_map_read_columns(struct sxt_map_builder *builder);

/* Says whether LINE is the first line of a map of lld or mold, and sets LINKER. */
bool sxt_map_columns_header(sxt_string line, enum sxt_linker *linker);

/* Sets the kind, stem and flags of PIECE from the names of its input section and object. */
void sxt_map_classify(const struct sxt_linker_map *map, sxt_string name, sxt_string object,
                      struct sxt_linker_map_piece *piece);

/* Returns MERGED_STRINGS or MERGED_CONSTANTS if a section with this name can be merged, otherwise PLAIN. */
enum sxt_linker_map_kind sxt_map_merged_kind(sxt_string name);

/* Cuts pieces to their sections, fills gaps, sorts everything, and makes the index of addresses. */
int sxt_map_arrange(struct sxt_map_builder *builder);

#endif
