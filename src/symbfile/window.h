/*
 * window.h: the strings of the records that a writer keeps back, and which of them go into the table. Private to this
 * room.
 */
#ifndef SXT_SYMBFILE_WINDOW_H
#define SXT_SYMBFILE_WINDOW_H

#include "symbfile/recent.h"
#include "symbfile/symbfile.h"

/* What sxt_symbfile_window_add returns when memory is short. */
#define SXT_SYMBFILE_WINDOW_FULL UINT32_MAX

/* The place of a string that is not in the table. */
#define SXT_SYMBFILE_IN_PLACE UINT32_MAX

#define SXT_SYMBFILE_RECENT   4096

struct sxt_symbfile_window {
    struct sxt_strings strings; /* as they were given, and as they are written if that differs */
    struct sxt_symbfile_use {
        uint32_t form;      /* number of the string that is written for this one */
        uint32_t count;     /* how often it is written */
        uint32_t reference; /* once the table is made: its place there */
        bool is_in_pad;     /* so it must be in the table */
    } * uses;               /* by number */
    size_t use_count, use_capacity;
    uint32_t empty_before; /* "" always has number 0; this was the next number when it was first used */
    uint64_t estimate;     /* size of a table of the strings, by the reference's rule */
    uint32_t *table;       /* numbers of the strings in the table */
    size_t table_count, table_capacity;
    size_t table_size; /* bytes that they take there */
    struct sxt_buffer scratch;
    struct sxt_symbfile_recent recent;
};

int sxt_symbfile_window_open(struct sxt_symbfile_window *window, sxt_error *error);
void sxt_symbfile_window_free(struct sxt_symbfile_window *window);

/* Counts a use of TEXT and returns the number of the string that is written for it. */
uint32_t sxt_symbfile_window_add(struct sxt_symbfile_window *window, sxt_string text, bool is_in_pad);

/* Makes the table. False when memory is short. */
bool sxt_symbfile_window_make_table(struct sxt_symbfile_window *window);

/* Forgets all strings. */
int sxt_symbfile_window_reset(struct sxt_symbfile_window *window, sxt_error *error);

#endif
