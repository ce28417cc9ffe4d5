/*
 * reader.h: what gopclntab.c, gopclntab_lines.c and gopclntab_inline.c share while they go through the
 * functions of a Go table one by one.
 */
#ifndef SXT_SOURCE_GO_READER_H
#define SXT_SOURCE_GO_READER_H

#include "source/go/table.h"

/* Instructions of a function over which file, line and inlined call stay the same; up to the next span. */
struct sxt_go_span {
    uint32_t offset; /* from the function's entry */
    uint32_t file;   /* string number; 0 when unknown */
    uint32_t line;   /* 0 when unknown */
    int32_t node;    /* innermost inlined call; negative for the function's own code */
    uint32_t next;   /* for whoever wants to chain spans */
};

/* An inlined call. */
struct sxt_go_node {
    uint64_t serial; /* of the function that it was read for; other nodes are left over */
    int32_t parent;  /* what it was inlined into; negative for the function itself */
    uint32_t depth;  /* 1 for a call in the function itself; 0 when it cannot be read */
    uint32_t name;
    uint32_t call_file;
    uint32_t call_line;
};

/* How entries of the tree of inlined calls look. */
enum sxt_go_tree_shape {
    SXT_GO_NO_TREE,
    SXT_GO_TREE_1_9,  /* parent, file, line, name */
    SXT_GO_TREE_1_12, /* parent in 16 bits, function kind in 8, 8 bits unused; file, line, name, pc of the call */
    SXT_GO_TREE_1_20  /* function kind in 8 bits, 24 unused; name, pc of the call, start line */
};

/* Where the tree is found. The header of the table does not tell this, and versions with the same magic differ. */
struct sxt_go_layout {
    enum sxt_go_tree_shape shape;
    unsigned pcdata;     /* which pcdata has the nodes */
    unsigned funcdata;   /* which funcdata is the tree */
    bool wide_count;     /* the number of funcdata takes four bytes */
    const uint8_t *base; /* what funcdata counts from; NULL where it is an address */
    uint64_t base_size;
};

#define SXT_GO_NAME_CACHE 4096 /* a power of two */

struct sxt_go_reader {
    const struct sxt_elf *elf;
    const struct sxt_go_table *table;
    struct sxt_symbols *symbols;
    bool want_lines, want_files, want_inlines;
    struct sxt_go_layout layout;
    bool inlines_unreadable;

    /*
     * What is left of the work that a table of this size may cost. An honest one needs far less; one whose functions
     * share a long list of lines, or a long name, would otherwise cost the square of its size.
     */
    uint64_t budget;
    uint64_t string_limit; /* what the strings of the model may grow to */
    bool exhausted;        /* one of the two was reached */
    bool failed;           /* memory is short */

    uint32_t *file_numbers; /* by index in the file lists: string number + 1, or 0 */
    struct {
        uint32_t name;
        uint32_t number; /* of the string; 0 while the place is free */
    } names[SXT_GO_NAME_CACHE];

    /* Of the function at hand. */
    uint64_t serial;
    const struct sxt_go_record *record;
    uint32_t length;
    const uint8_t *tree; /* NULL when nothing was inlined */
    uint64_t tree_size;
    struct sxt_go_span *spans;
    size_t span_count, span_capacity;
    uint32_t spans_end; /* offset behind the last span */
    struct sxt_go_node *nodes;
    size_t node_capacity;
};

/* gopclntab_lines.c */

/* FLAGS are sxt_extract_flags. *READER is to be closed also on failure. */
int sxt_go_reader_open(struct sxt_go_reader *reader, const struct sxt_elf *elf, const struct sxt_go_table *table,
                       uint32_t flags, struct sxt_symbols *symbols, sxt_error *error);
void sxt_go_reader_close(struct sxt_go_reader *reader);

/* Turns to a function: makes its spans, and finds its tree. */
void sxt_go_reader_turn(struct sxt_go_reader *reader, const struct sxt_go_record *record, uint64_t length);

/* The string number of a name or of a function's file; 0 when it cannot be read. */
uint32_t sxt_go_reader_name(struct sxt_go_reader *reader, uint32_t name);
uint32_t sxt_go_reader_file(struct sxt_go_reader *reader, int32_t file);

/* Takes COST from the budget; false when it is used up. */
bool sxt_go_reader_spend(struct sxt_go_reader *reader, uint64_t cost);

/* gopclntab_inline.c */

/* Finds out how this table keeps inlined calls, by trying it on some of its functions. */
void sxt_go_reader_choose(struct sxt_go_reader *reader, const struct sxt_go_bases *bases);

/* Finds the tree of the function at hand; its record and spans are set. */
void sxt_go_reader_open_tree(struct sxt_go_reader *reader);

/* An inlined call of the function at hand, NULL when it or one that it lies in cannot be read. Valid until the next. */
const struct sxt_go_node *sxt_go_reader_node(struct sxt_go_reader *reader, int32_t node);

#endif
