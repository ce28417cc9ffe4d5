/*
 * match.h: where a line of text speaks of an address, and what it says about it. The forms are a table in match.c.
 */
#ifndef SXT_PROFILE_MATCH_H
#define SXT_PROFILE_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

/* What the numbers mean. */
enum sxt_match_kind {
    SXT_MATCH_VIRTUAL,  /* `offset` is a virtual address of the module */
    SXT_MATCH_ABSOLUTE, /* `address` is one of the process, and the module may be loaded where it is linked */
    SXT_MATCH_SYMBOL,   /* `offset` behind `symbol` of the module */
    SXT_MATCH_KERNEL,   /* the same; the module is one of the kernel, or absent for the kernel itself */
    SXT_MATCH_PERF      /* a frame of `perf script`: `address` is of the process, or an offset in the module's file */
};

struct sxt_match {
    enum sxt_match_kind kind;
    bool is_return;        /* the address is one that a call returns to */
    const char *separator; /* between what stands before the answer and the answer */
    size_t start, end;     /* in the line */
    size_t from, to;       /* the answer replaces these bytes, often none */
    bool has_address, has_offset, has_size;
    uint64_t address, offset, size;
    sxt_string module, symbol, build_id; /* absent when they are not there */
};

/* The first match that begins at BEGIN of LINE or later; false when there is none. LINE has no newline. */
bool sxt_match_next(const char *line, size_t size, size_t begin, struct sxt_match *match);

#endif
