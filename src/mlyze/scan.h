/*
 * scan.h: JSON a piece at a time, for metadata that is too large for a tree of values: a trace has a million frames,
 * and each would be four values. Every function returns SXT_OK, or has filled in the error with the offset.
 */
#ifndef SXT_MLYZE_SCAN_H
#define SXT_MLYZE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/arena.h"

#define SXT_SCAN_DEPTH 64

/* TEXT is UTF-8; the caller has checked that. */
struct sxt_scan {
    const char *text;
    size_t size;
    size_t position;
    struct sxt_arena *arena; /* for strings with escapes in them */
    sxt_error *error;
};

int sxt_scan_fail(struct sxt_scan *scan, size_t position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The character that comes next, white space left out; -1 at the end. */
int sxt_scan_peek(struct sxt_scan *scan);

/* Takes C if it is what comes next. */
bool sxt_scan_take(struct sxt_scan *scan, char c);

/* Begins an object ('{') or an array ('['). WHAT is for the error. */
int sxt_scan_begin(struct sxt_scan *scan, char open, const char *what);

/* Is there another member? Call with *FIRST true at the beginning. */
int sxt_scan_more(struct sxt_scan *scan, char close, bool *first, bool *more);

/* The key of a member and its colon; *POSITION is where the key begins. */
int sxt_scan_key(struct sxt_scan *scan, sxt_string *key, size_t *position);

/* A string: a part of the text, or a copy in the arena. Half a surrogate pair, as Python writes for bytes that are no
 * text, becomes U+FFFD. */
int sxt_scan_string(struct sxt_scan *scan, const char *what, sxt_string *out);

/* An integer that is not negative, UINT64_MAX when it is larger; null counts as *OUT unchanged. */
int sxt_scan_unsigned(struct sxt_scan *scan, const char *what, uint64_t *out);

/* Any value. *OUT is its text. */
int sxt_scan_skip(struct sxt_scan *scan, sxt_string *out);

/* A copy of JSON text where half surrogate pairs are U+FFFD; NULL when memory is short. */
char *sxt_scan_mend_surrogates(struct sxt_arena *arena, sxt_string json);

#endif
