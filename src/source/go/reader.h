/* reader.h: reads the functions of a Go table one by one, with their lines (lines.c) and inlined calls (inline.c). */
#ifndef SXT_SOURCE_GO_READER_H
#define SXT_SOURCE_GO_READER_H

#include "source/go/table.h"

/* Consecutive instructions of a function with the same file, line and inlined call; ends where the next span begins. */
struct sxt_go_span {
    uint32_t offset; /* from the function's entry */
    uint32_t file;   /* string number; 0 if unknown */
    uint32_t line;   /* 0 if unknown */
    int32_t node;    /* innermost inlined call; negative for the function's own code */
    uint32_t next;   /* available to callers for linking spans */
};

/* An inlined call. */
struct sxt_go_node {
    uint64_t serial; /* of the function that it was read for; nodes with another serial are stale */
    int32_t parent;  /* the call that it was inlined into; negative for the function itself */
    uint32_t depth;  /* 1 for a call in the function itself; 0 if it cannot be read */
    uint32_t name;
    uint32_t call_file;
    uint32_t call_line;
};

/* The form of entries in the tree of inlined calls. */
enum sxt_go_tree_shape {
    SXT_GO_NO_TREE,
    SXT_GO_TREE_1_9,  /* parent, file, line, name */
    SXT_GO_TREE_1_12, /* parent in 16 bits, function kind in 8, 8 bits unused; file, line, name, pc of the call */
    SXT_GO_TREE_1_20  /* function kind in 8 bits, 24 unused; name, pc of the call, start line */
};

/* How to find the tree. The table's header does not say, and versions with the same magic differ. */
struct sxt_go_layout {
    enum sxt_go_tree_shape shape;
    unsigned pcdata;     /* index of the pcdata with the nodes */
    unsigned funcdata;   /* index of the funcdata with the tree */
    bool wide_count;     /* the number of funcdata takes four bytes */
    const uint8_t *base; /* base of funcdata; NULL if funcdata are addresses */
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
     * The work that may still be spent on the table, limited by its size. A valid table needs far less. A table whose
     * functions share a long list of lines, or a long name, would otherwise take quadratic time.
     */
    uint64_t budget;
    uint64_t string_limit; /* maximum size of the model's strings */
    bool exhausted;        /* the budget or the string limit was reached */
    bool failed;           /* out of memory */

    uint32_t *file_numbers; /* by index in the file lists: string number + 1, or 0 */
    struct {
        uint32_t name;
        uint32_t number; /* of the string; 0 for a free slot */
    } names[SXT_GO_NAME_CACHE];

    /* The current function. */
    uint64_t serial;
    const struct sxt_go_record *record;
    uint32_t length;
    const uint8_t *tree; /* NULL if no calls were inlined */
    uint64_t tree_size;
    struct sxt_go_span *spans;
    size_t span_count, span_capacity;
    uint32_t spans_end; /* offset of the end of the last span */
    struct sxt_go_node *nodes;
    size_t node_capacity;
};

/* --- lines.c --- */

/* FLAGS are sxt_extract_flags. The caller closes *READER even on failure. */
int sxt_go_reader_open(struct sxt_go_reader *reader, const struct sxt_elf *elf, const struct sxt_go_table *table,
                       uint32_t flags, struct sxt_symbols *symbols, sxt_error *error);
void sxt_go_reader_close(struct sxt_go_reader *reader);

/* Makes a function the current one: reads its spans and finds its tree. */
void sxt_go_reader_select(struct sxt_go_reader *reader, const struct sxt_go_record *record, uint64_t length);

/* Returns the string number of a name or of a file of the current function; 0 if it cannot be read. */
uint32_t sxt_go_reader_name(struct sxt_go_reader *reader, uint32_t name);
uint32_t sxt_go_reader_file(struct sxt_go_reader *reader, int32_t file);

/* Subtracts COST from the budget. Returns false if the budget is used up. */
bool sxt_go_reader_spend(struct sxt_go_reader *reader, uint64_t cost);

/* --- inline.c --- */

/* Determines how this table stores inlined calls by trying each known layout on some of its functions. */
void sxt_go_reader_choose_layout(struct sxt_go_reader *reader, const struct sxt_go_bases *bases);

/* Finds the tree of the current function, whose record and spans are set. */
void sxt_go_reader_open_tree(struct sxt_go_reader *reader);

/*
 * Returns an inlined call of the current function, valid until the next call, or NULL if it or a call around it cannot
 * be read.
 */
const struct sxt_go_node *sxt_go_reader_node(struct sxt_go_reader *reader, int32_t node);

#endif
