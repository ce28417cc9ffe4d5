/*
 * table.h: the parts of the Go function table that gopclntab*.c share.
 *
 * The table is one block of bytes that begins with a header. Words are as wide as a pointer.
 *
 *     byte 0   magic             FFFFFFFB (Go 1.2), FFFFFFFA (1.16), FFFFFFF0 (1.18), FFFFFFF1 (1.20)
 *          4   0, 0
 *          6   quantum           smallest instruction: 1, 2 or 4
 *          7   pointer size      4 or 8
 *     word 0   function count
 *     1.2      functab follows, then a 32-bit offset of the file table; all offsets count from byte 0
 *     1.16     file count, then offsets of: names, file lists, file names, pc-value tables, functab
 *     1.18+    the same with a word for the start of the text (0 since 1.26) behind the file count
 *
 * functab is {entry, record offset} for each function and the end of the last one; since 1.18 in 32-bit fields with
 * entries that count from the start of the text, before that as wide as a pointer with absolute entries. A record is
 *
 *     entry (as in functab), name, argument size, defer offset, pcsp, pcfile, pcln, pcdata count,
 *     1.16+: first entry in the file lists,  1.20+: start line,  {function kind, flags, -, funcdata count} in bytes,
 *     then an offset of a pc-value table for each pcdata, then a reference for each funcdata
 *
 * where everything but an absolute entry or funcdata pointer takes 32 bits.
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
    uint64_t header_text; /* the header's own idea of the text's start; 0 when it has none */
    uint64_t text_start;  /* what entries count from; 0 where they are absolute */
    /* Positions in data, all inside it. */
    size_t functions;  /* functab, which fits */
    size_t records;    /* what record offsets count from */
    size_t names;      /* what name offsets count from */
    size_t pc_values;  /* what offsets of pc-value tables count from */
    size_t files;      /* 32-bit offsets of file names */
    size_t file_count; /* how many of those fit */
    size_t file_names; /* what they count from */
};

/* The fixed part of a function's record, and where its two lists are. */
struct sxt_go_record {
    uint32_t name;
    uint32_t pc_file;
    uint32_t pc_line;
    uint32_t files;        /* index of the function's first file in the file lists */
    uint32_t pcdata_count; /* that fit in the table */
    size_t pcdata;
    size_t count_word; /* where the number of funcdata stands, in its last byte (before Go 1.12 in all four) */
};

/* Addresses that inlined calls may be read relative to, best first. */
#define SXT_GO_BASE_LIMIT 16

struct sxt_go_bases {
    uint64_t address[SXT_GO_BASE_LIMIT];
    size_t count;
};

/* gopclntab_table.c */

/*
 * Reads the header of a table that begins at DATA and may be SIZE bytes long; the byte order is what the magic says.
 * Fails when it is no such header or a part lies outside. The text start is left at 0.
 */
int sxt_go_table_open(struct sxt_go_table *table, const uint8_t *data, size_t size, uint64_t address, uint64_t offset,
                      sxt_error *error);

/* The entry of function INDEX, or the end of the last one for INDEX == function_count. */
uint64_t sxt_go_table_pc(const struct sxt_go_table *table, size_t index);

/* Where the record of function INDEX begins in data; false when not even its fixed part fits. */
bool sxt_go_table_record(const struct sxt_go_table *table, size_t index, struct sxt_go_record *record);

/* The NUL-terminated text at position AT of data; absent when its end is not among the next LIMIT bytes. */
sxt_string sxt_go_table_text(const struct sxt_go_table *table, uint64_t at, size_t limit);

/* gopclntab_find.c */

/*
 * Finds the table of ELF by section name or, where no section has that name, by its content; applies relocations that
 * it needs, and finds out where the text starts. *FOUND is set also for a table that cannot be used (then an error is
 * returned). Memory comes from ELF's arena. *BASES gets the addresses that funcdata may count from.
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
