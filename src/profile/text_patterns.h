/* text_patterns.h: finds the addresses that a line of text mentions. text_patterns.c has the table of patterns. */
#ifndef SXT_PROFILE_TEXT_PATTERNS_H
#define SXT_PROFILE_TEXT_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/string.h>

/* What the numbers mean. */
enum sxt_text_match_kind {
    SXT_TEXT_MATCH_VIRTUAL,  /* `offset` is a virtual address of the module */
    SXT_TEXT_MATCH_ABSOLUTE, /* `address` is one of the process; the module may be loaded where it is linked */
    SXT_TEXT_MATCH_SYMBOL,   /* `offset` counts from `symbol` of the module */
    SXT_TEXT_MATCH_KERNEL,   /* the same; the module is a kernel module, or absent for the kernel itself */
    SXT_TEXT_MATCH_ADDRESS,  /* `address` is one of the running kernel, without a symbol */
    SXT_TEXT_MATCH_PERF      /* a frame of `perf script`: `address` is one of the process, or an offset in the file */
};

struct sxt_text_match {
    enum sxt_text_match_kind kind;
    bool is_return;        /* it is the address that a call returns to */
    const char *separator; /* goes between the text before the answer and the answer */
    size_t start, end;     /* of the match in the line */
    size_t from, to;       /* the answer replaces these bytes, often none */
    bool has_address, has_offset, has_size;
    uint64_t address, offset, size;
    sxt_string module, symbol, build_id; /* absent if the text does not have them */
};

/* The first match that starts at BEGIN of LINE or later; false if there is none. LINE has no newline. */
bool sxt_text_match_next(const char *line, size_t size, size_t begin, struct sxt_text_match *match);

#endif
