/* line_program.h: for tests that write line programs byte by byte. */
#ifndef SXT_TESTS_LINE_PROGRAM_H
#define SXT_TESTS_LINE_PROGRAM_H

#include "support/dwarf_builder.h"

/* Adds the rest of the file after the line table: one function of SIZE bytes. */
static inline void put_function(struct debug *debug, uint64_t size)
{
    debug_begin_unit(debug, LINES(0), LOW(TEXT), HIGH(size));
    ENTRY(debug, DW_TAG_subprogram, NAME("f"), LOW(TEXT), HIGH(size));
    debug_end_unit(debug);
}

static inline void code(struct debug *debug, const void *bytes, size_t size)
{
    debug_bytes(debug, LINE, bytes, size);
}
#define CODE(debug, ...) code(debug, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#endif
