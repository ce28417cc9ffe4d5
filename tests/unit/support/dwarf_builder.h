/*
 * dwarf_builder.h: debug sections made in memory, for tests: every version, width and byte order, and with lies where
 * they are wanted.
 *
 *     struct debug debug;
 *     debug_init(&debug, (struct debug_shape){.version = 4});
 *     debug_begin_lines(&debug, NULL, "a.c");
 *     debug_line_address(&debug, TEXT);
 *     debug_line_row(&debug, 0, 10);
 *     debug_line_end(&debug, 16);
 *     debug_end_lines(&debug);
 *     debug_begin_unit(&debug, LINES(0), LOW(TEXT), HIGH(16));
 *     OPEN(&debug, DW_TAG_subprogram, NAME("main"), LOW(TEXT), HIGH(16));
 *     ENTRY(&debug, DW_TAG_inlined_subroutine, NAME("helper"), LOW(TEXT + 4), HIGH(4), CALL(1, 11));
 *     debug_close(&debug);
 *     debug_end_unit(&debug);
 *     debug_expect(&debug, "main@0-10{0:/src/a.c:10} >helper@4-8(/src/a.c:11){0:/src/a.c:10}");
 *     debug_free(&debug);
 *
 * Sections can be appended to by hand at any time. Running out of memory ends the test program.
 */
#ifndef SXT_TEST_DWARF_BUILDER_H
#define SXT_TEST_DWARF_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "source/dwarf/constants.h"
#include "support/elf_builder.h"

/* Where the code is, unless the shape says otherwise; expected texts count from here. */
#define TEXT UINT64_C(0x401000)

enum debug_section {
    INFO,
    ABBREV,
    LINE,
    STR,
    LINE_STR,
    STR_OFFSETS,
    ADDR,
    RANGES,
    RNGLISTS,
    TYPES,
    CU_INDEX,
    DEBUG_SECTION_COUNT
};

struct debug_shape {
    uint16_t version; /* 0: 4 */
    bool narrow;      /* 32 bit */
    bool big_endian;
    bool wide_offsets;  /* 64-bit DWARF */
    bool split;         /* sections are those of a .dwo */
    bool code_at_zero;  /* TEXT is not used: the code begins at 0 */
    uint16_t type;      /* ET_...; 0: ET_EXEC */
    uint64_t text_size; /* 0: 0x1000 */
};

struct debug {
    struct debug_shape shape;
    unsigned address_size, offset_size;
    struct sxt_buffer sections[DEBUG_SECTION_COUNT];
    uint64_t abbrev_offset;                /* of the table for the next units */
    uint32_t codes;                        /* abbreviations in it */
    uint64_t length_at;                    /* of the unit or line table that is open */
    struct sxt_builder elf;                /* more can be put into it before debug_finish */
    unsigned text;                         /* the section with the code */
    unsigned numbers[DEBUG_SECTION_COUNT]; /* of the sections, after debug_finish; 0: it is empty */
    bool is_finished;
    uint32_t compression; /* ELFCOMPRESS_... for all debug sections; 0: none */
};

/* One value of an entry. For DW_FORM_indirect, FOLLOWING is the form that the value really has. */
struct debug_value {
    uint16_t attribute;
    uint16_t form;
    uint64_t number; /* of blocks: their size; the bytes are zeros */
    const char *text;
    uint16_t following;
};

#define VALUE(name_, form_, number_)                                                                                   \
    {                                                                                                                  \
        .attribute = (name_), .form = (form_), .number = (number_)                                                     \
    }
#define TEXT_VALUE(name_, text_)                                                                                       \
    {                                                                                                                  \
        .attribute = (name_), .form = DW_FORM_string, .text = (text_)                                                  \
    }
#define NAME(text_)    TEXT_VALUE(DW_AT_name, text_)
#define LINKAGE(text_) TEXT_VALUE(DW_AT_linkage_name, text_)
#define LOW(address_)  VALUE(DW_AT_low_pc, DW_FORM_addr, address_)
/* How far it is to the end; in versions 2 and 3 as an address. */
#define HIGH(size_)            VALUE(DW_AT_high_pc, DW_FORM_udata, size_)
#define LIST(offset_)          VALUE(DW_AT_ranges, DW_FORM_sec_offset, offset_)
#define LINES(offset_)         VALUE(DW_AT_stmt_list, DW_FORM_sec_offset, offset_)
#define LANGUAGE(number_)      VALUE(DW_AT_language, DW_FORM_data2, number_)
#define ORIGIN(offset_)        VALUE(DW_AT_abstract_origin, DW_FORM_ref_addr, offset_)
#define SPECIFICATION(offset_) VALUE(DW_AT_specification, DW_FORM_ref_addr, offset_)
/* Two values: where the call was. */
#define CALL(file_, line_)     NUMBER(DW_AT_call_file, file_), NUMBER(DW_AT_call_line, line_)
#define NUMBER(name_, number_) VALUE(name_, DW_FORM_udata, number_)
#define DECLARATION                                                                                                    \
    {                                                                                                                  \
        .attribute = DW_AT_declaration, .form = DW_FORM_flag, .number = 1                                              \
    }
#define NOTHING                                                                                                        \
    {                                                                                                                  \
        .attribute = 0                                                                                                 \
    }
#define C_PLUS_PLUS 0x21

void debug_init(struct debug *debug, struct debug_shape shape);
void debug_free(struct debug *debug);

/* --- bytes by hand --- */

void debug_number(struct debug *debug, enum debug_section section, uint64_t value, unsigned width);
void debug_uleb(struct debug *debug, enum debug_section section, uint64_t value);
void debug_sleb(struct debug *debug, enum debug_section section, int64_t value);
void debug_bytes(struct debug *debug, enum debug_section section, const void *data, size_t size);
/* A NUL-terminated string; returns its offset. */
uint64_t debug_string(struct debug *debug, enum debug_section section, const char *text);
void debug_poke(struct debug *debug, enum debug_section section, uint64_t at, uint64_t value, unsigned width);
uint64_t debug_size(const struct debug *debug, enum debug_section section);

/* --- units and entries --- */

/* A header of a unit of that type (DW_UT_...), without a root entry. ID is what some types have in it. */
void debug_begin_header(struct debug *debug, unsigned type, uint64_t id);
/* Fills in the length. */
void debug_end_header(struct debug *debug);

/* A compilation unit: name "a.c", directory "/src", language C, and MORE in its root entry. */
#define debug_begin_unit(debug, ...) debug_begin_unit_with(debug, (const struct debug_value[]){__VA_ARGS__, {0}})
void debug_begin_unit_with(struct debug *debug, const struct debug_value *more);
/* The end of the root's children, and of the unit. */
void debug_end_unit(struct debug *debug);

/* Entries without and with children; they return the offset of the entry in .debug_info. */
#define ENTRY(debug, tag, ...) debug_entry(debug, tag, false, (const struct debug_value[]){__VA_ARGS__, {0}})
#define OPEN(debug, tag, ...)  debug_entry(debug, tag, true, (const struct debug_value[]){__VA_ARGS__, {0}})
uint64_t debug_entry(struct debug *debug, uint16_t tag, bool children, const struct debug_value *values);
/* The end of the children. */
void debug_close(struct debug *debug);

/* Puts an abbreviation with that code into the table. debug_entry makes one for each entry. */
void debug_abbreviation(struct debug *debug, uint64_t code, uint16_t tag, bool children,
                        const struct debug_value *values);
void debug_put_value(struct debug *debug, const struct debug_value *value);

/* Units from here on have another table of abbreviations. */
void debug_new_abbreviations(struct debug *debug);

/* --- lists of ranges --- */

/* Ends with both 0. Of .debug_ranges, or .debug_rnglists in version 5 (as start and length); returns its offset. */
#define RANGE_LIST(debug, ...) debug_range_list(debug, (const uint64_t[]){__VA_ARGS__, 0, 0})
uint64_t debug_range_list(struct debug *debug, const uint64_t *pairs);

/* --- line tables --- */

/* What a header may say otherwise than usual. */
struct debug_line_shape {
    uint8_t instruction_length; /* 0: 1 */
    uint8_t operations;         /* 0: 1 */
    uint8_t opcode_base;        /* 0: 13 */
    uint8_t line_range;         /* 0: 14 */
    bool no_line_range;         /* really 0 */
    const char *directory;      /* directory 1; NULL: there is none */
    const char *own_directory;  /* directory 0, which only version 5 has; NULL: /src */
    uint64_t directory_index;   /* of all files */
};

/* FILES: names with a space between them; the first one is file 1. Returns the offset. SHAPE may be NULL. */
uint64_t debug_begin_lines(struct debug *debug, const struct debug_line_shape *shape, const char *files);
void debug_line_address(struct debug *debug, uint64_t address);
void debug_line_file(struct debug *debug, uint64_t number);
/* Goes on by so many instructions, then a row with that line. */
void debug_line_row(struct debug *debug, uint64_t advance, uint32_t line);
/* Goes on, and ends the sequence. */
void debug_line_end(struct debug *debug, uint64_t advance);
void debug_end_lines(struct debug *debug);

/* A table with one sequence: LINE at TEXT, one more every 4 bytes, SIZE bytes in all. */
uint64_t debug_plain_lines(struct debug *debug, uint64_t size, uint32_t line);

/* --- what is made of it --- */

/* Puts the file together; debug->elf.data has it. */
void debug_finish(struct debug *debug);

struct debug_result {
    int status;
    sxt_error error;
    struct sxt_symbols *symbols; /* NULL when it failed */
    char warnings[2000];         /* one a line */
};

/* Reads the file, finished if need be, from memory; only DWARF unless OPTIONS say otherwise. */
struct debug_result debug_read(struct debug *debug, const sxt_extract_options *options);
void debug_result_free(struct debug_result *result);

/*
 * The ranges as text. Addresses count from TEXT, unless there is code at 0. "f@0-10{0:/src/a.c:7}" is a function of 16
 * bytes with one line; ">g@2-4(/src/a.c:9)" is inlined into it, called there.
 */
char *debug_text(const struct debug *debug, const struct sxt_symbols *symbols);

/* Reads it and compares; nothing may be damaged. The second one expects so many damaged units, and a warning for it. */
void debug_expect(struct debug *debug, const char *expected);
void debug_expect_damage(struct debug *debug, uint64_t damaged, const char *warning, const char *expected);

/* Reads it with options. */
void debug_expect_with(struct debug *debug, const sxt_extract_options *options, const char *expected);

#endif
