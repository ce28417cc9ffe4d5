/*
 * line.h: the line table of a unit: which file and line each address came from. Private to this folder.
 *
 * The program in .debug_line is run once. Its rows come out by ascending address, in sequences that do not overlap:
 *
 *     [ row row row end ][ row end ][ row row end ]      an end row has file 0: from there on nothing is known
 *
 * Of rows at one address the last counts, as with every other reader. Rows that go backwards are put in order.
 */
#ifndef SXT_SOURCE_DWARF_LINE_H
#define SXT_SOURCE_DWARF_LINE_H

#include "source/dwarf/unit.h"

struct dwarf_row {
    uint64_t address;
    uint32_t file; /* one more than the number in the program, so that 0 means "nothing is known" */
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
    size_t count; /* with the end row */
};

struct dwarf_lines {
    uint16_t version;
    sxt_string *directories;
    size_t directory_count, directory_capacity;
    struct dwarf_file_entry *files; /* by the number that is used in the program; the first version 2 to 4 file is 1 */
    size_t file_count, file_capacity;
    struct dwarf_row *rows;
    size_t row_count, row_capacity;
    struct dwarf_sequence *sequences;
    size_t sequence_count, sequence_capacity;
    struct dwarf_row *spare; /* for putting sequences in order */
    size_t spare_capacity;
    /* The program, as the header describes it. */
    const uint8_t *program, *end;
    uint8_t instruction_length, operations, opcode_base, line_range;
    uint8_t first_file; /* the file at the start of a sequence: 1, except for GNU addr2line in version 5 */
    int8_t line_base;
    uint8_t address_size;
    bool big_endian;
    const uint8_t *operand_counts; /* of the standard opcodes, from 1 on */
    size_t size;                   /* of the whole table, in bytes */
    struct dwarf_effort *effort;   /* pays for reading it; NULL: nobody does */
    bool damaged;                  /* the program or the header was broken off somewhere */
    bool no_memory;                /* memory ran out */
};

/* Which sequences are of functions that the linker threw away. */
typedef bool dwarf_is_dead(const void *context, uint64_t start);

/* Reads the header at OFFSET of .debug_line: directories and files. False when there is none to speak of. */
bool sxt_dwarf_lines_read_header(struct dwarf_lines *lines, const struct dwarf_context *context, uint64_t offset);

/*
 * Runs the program whose header was read. Without DETAILS, columns and discriminators are left out, and so are rows
 * that say the same as the one before.
 */
void sxt_dwarf_lines_run(struct dwarf_lines *lines, bool details, dwarf_is_dead *is_dead, const void *dead_context);

/* One more file, as a program of DWARF 2 to 4 may define. */
bool sxt_dwarf_lines_add_file(struct dwarf_lines *lines, sxt_string name, uint64_t directory);

void sxt_dwarf_lines_free(struct dwarf_lines *lines);

#endif
