/*
 * line.h: the line table of a unit: the file and line of each address. Private to this folder.
 *
 * The program in .debug_line runs once. The resulting rows are sorted by address, in sequences that do not overlap:
 *
 *     [ row row row end ][ row end ][ row row end ]      an end row has file 0: nothing is known after it
 *
 * Of several rows at one address the last one counts, as in other readers. Rows that are out of order are sorted.
 */
#ifndef SXT_SOURCE_DWARF_LINE_H
#define SXT_SOURCE_DWARF_LINE_H

#include "base/search.h"
#include "source/dwarf/unit.h"

struct dwarf_row {
    uint64_t address;
    uint32_t file; /* one more than the number in the program, so that 0 means "unknown" */
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
};

struct dwarf_file_entry {
    sxt_string name;
    uint64_t directory;
};

struct dwarf_sequence {
    uint64_t start;
    uint64_t end;
    size_t first; /* row */
    size_t count; /* includes the end row */
};

struct dwarf_lines {
    uint16_t version;
    sxt_string *directories;
    size_t directory_count, directory_capacity;
    struct dwarf_file_entry *files; /* by the number used in the program; in versions 2 to 4 the first file is 1 */
    size_t file_count, file_capacity;
    struct dwarf_row *rows;
    size_t row_count, row_capacity;
    struct dwarf_sequence *sequences;
    size_t sequence_count, sequence_capacity;
    struct dwarf_row *spare; /* for sorting sequences */
    size_t spare_capacity;
    /* The program, as described by the header. */
    const uint8_t *program, *end;
    uint8_t instruction_length, operations, opcode_base, line_range;
    uint8_t first_file; /* the initial file of a sequence: 1, but 0 for GNU addr2line in version 5 */
    int8_t line_base;
    uint8_t address_size;
    bool big_endian;
    const uint8_t *operand_counts; /* of the standard opcodes, from 1 on */
    size_t size;                   /* of the whole table, in bytes */
    struct dwarf_budget *budget;   /* limits what is read; NULL: no limit */
    bool damaged;                  /* the program or the header is damaged; what came before the damage was read */
    bool no_memory;                /* out of memory */
};

/* Says whether a sequence belongs to a function that the linker discarded. */
typedef bool dwarf_is_dead(const void *context, uint64_t start);

/* Reads the header at OFFSET of .debug_line: directories and files. Returns false if there is no valid header. */
bool sxt_dwarf_lines_read_header(struct dwarf_lines *lines, const struct dwarf_context *context, uint64_t offset);

/*
 * Runs the program whose header was read. Without DETAILS, drops columns and discriminators, and rows that repeat the
 * previous row.
 */
void sxt_dwarf_lines_run(struct dwarf_lines *lines, bool details, dwarf_is_dead *is_dead, const void *dead_context);

/* Adds a file, as a program of DWARF 2 to 4 may define one. */
bool sxt_dwarf_lines_add_file(struct dwarf_lines *lines, sxt_string name, uint64_t directory);

/* Returns the index of the first row after ADDRESS. */
static inline size_t dwarf_first_row_after(const struct dwarf_lines *lines, uint64_t address)
{
    return SXT_SEARCH_ABOVE(lines->rows, lines->row_count, address, address);
}

/* Returns the row for ADDRESS, or NULL if no sequence contains it. */
static inline const struct dwarf_row *dwarf_row_at(const struct dwarf_lines *lines, uint64_t address)
{
    size_t next = dwarf_first_row_after(lines, address);
    return next > 0 && lines->rows[next - 1].file != 0 ? &lines->rows[next - 1] : NULL;
}

void sxt_dwarf_lines_free(struct dwarf_lines *lines);

#endif
