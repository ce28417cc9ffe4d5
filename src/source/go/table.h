/*
 * table.h: the layout of the Go function table, for the files of this folder.
 *
 * The table is one block of bytes that begins with a header. Words are as wide as a pointer.
 *
 *     byte 0   magic             FFFFFFFB (Go 1.2), FFFFFFFA (1.16), FFFFFFF0 (1.18), FFFFFFF1 (1.20)
 *          4   0, 0
 *          6   quantum           smallest instruction: 1, 2 or 4
 *          7   pointer size      4 or 8
 *     word 0   function count
 *     1.2      functab follows, then a 32-bit offset of the file table; all offsets are from byte 0
 *     1.16     file count, then offsets of: names, file lists, file names, pc-value tables, functab
 *     1.18+    the same with a word for the start of the text (0 since 1.26) after the file count
 *
 * functab is {entry, record offset} for each function, then the end of the last function. Since 1.18, these are 32-bit
 * fields, and entries are relative to the start of the text; before, they are as wide as a pointer, and entries are
 * absolute. A record is
 *
 *     entry (as in functab), name, argument size, defer offset, pcsp, pcfile, pcln, pcdata count,
 *     1.16+: first entry in the file lists,  1.20+: start line,  {function kind, flags, -, funcdata count} in bytes,
 *     then an offset of a pc-value table for each pcdata, then a reference for each funcdata
 *
 * where everything except an absolute entry or funcdata pointer has 32 bits.
 */
#ifndef SXT_SOURCE_GO_TABLE_H
#define SXT_SOURCE_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "source/elf/elf.h"
#include "symbols/symbols.h"

enum sxt_go_version { SXT_GO_1_2, SXT_GO_1_16, SXT_GO_1_18, SXT_GO_1_20 };

struct sxt_go_table {
    const uint8_t *data;
    size_t size;
    uint64_t address; /* of data[0] in memory */
    uint64_t offset;  /* of data[0] in the file, for messages */
    enum sxt_go_version version;
    bool big_endian;
    unsigned quantum;
    unsigned pointer_size;
    unsigned field_size; /* of functab */
    uint32_t function_count;
    uint64_t header_text; /* start of the text according to the header; 0 if it does not say */
    uint64_t text_start;  /* added to entries; 0 if they are absolute */
    /* Positions in data, all checked to be within it. */
    size_t functions;  /* functab; all of it fits */
    size_t records;    /* base of record offsets */
    size_t names;      /* base of name offsets */
    size_t pc_values;  /* base of offsets of pc-value tables */
    size_t files;      /* 32-bit offsets of file names */
    size_t file_count; /* how many of them fit */
    size_t file_names; /* base of these offsets */
};

/* The fixed part of a function's record, and the positions of its two lists. */
struct sxt_go_record {
    uint32_t name;
    uint32_t pc_file;
    uint32_t pc_line;
    uint32_t files;        /* index of the function's first file in the file lists */
    uint32_t pcdata_count; /* 0 if they do not fit in the table */
    size_t pcdata;
    size_t count_word; /* position of the number of funcdata: the last byte, before Go 1.12 all four */
};

/* Addresses that references to inlined calls may be relative to, best first. */
#define SXT_GO_BASE_LIMIT 16

struct sxt_go_bases {
    uint64_t address[SXT_GO_BASE_LIMIT];
    size_t count;
};

/* --- table.c --- */

/*
 * Reads the header of a table that begins at DATA and has at most SIZE bytes; the magic gives the byte order. Fails if
 * there is no valid header or if a part lies outside. Leaves text_start at 0.
 */
int sxt_go_table_open(struct sxt_go_table *table, const uint8_t *data, size_t size, uint64_t address, uint64_t offset,
                      sxt_error *error);

/* Returns the entry of function INDEX, or the end of the last function for INDEX == function_count. */
uint64_t sxt_go_table_pc(const struct sxt_go_table *table, size_t index);

/* Reads the record of function INDEX. Returns false if its fixed part lies outside the table. */
bool sxt_go_table_record(const struct sxt_go_table *table, size_t index, struct sxt_go_record *record);

/* Returns the NUL-terminated text at position AT of data; absent if it does not end within LIMIT bytes. */
sxt_string sxt_go_table_text(const struct sxt_go_table *table, uint64_t at, size_t limit);

/* --- find.c --- */

/*
 * Finds the table of ELF by section name or, if there is no such section, by its content; applies the relocations that
 * it needs, and determines the start of the text. If a table exists but is unusable, *FOUND is true and an error is
 * returned. Memory comes from ELF's arena. *BASES gets the addresses that funcdata may be relative to.
 */
int sxt_go_table_find(struct sxt_elf *elf, struct sxt_go_table *table, struct sxt_go_bases *bases, bool *found,
                      sxt_error *error);

static inline uint32_t sxt_go_u32(const struct sxt_go_table *table, size_t at)
{
    return sxt_load_u32(table->data + at, table->big_endian);
}

static inline uint64_t sxt_go_word(const struct sxt_go_table *table, size_t at, unsigned width)
{
    return width == 8 ? sxt_load_u64(table->data + at, table->big_endian) : sxt_go_u32(table, at);
}

#endif
