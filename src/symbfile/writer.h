/*
 * writer.h: a writer, and the records that it keeps back. Private to this room.
 *
 * A record that is kept back is already encoded, except for its strings, whose references are not known yet. All of
 * them are in one buffer, each as a `struct sxt_symbfile_pending` followed by the bytes whose sizes it has.
 *
 *     range   pending | address, length | line of the call | depth, line table
 *     pad     pending | address         | lines            | numbers of the functions, numbers of the files
 */
#ifndef SXT_SYMBFILE_WRITER_H
#define SXT_SYMBFILE_WRITER_H

#include "symbfile/window.h"

/* `file` or `call_file` of a range that has none. */
#define SXT_SYMBFILE_NO_STRING (UINT32_MAX - 1)

struct sxt_symbfile_pending {
    uint32_t function, file, call_file; /* numbers in the window; of a range */
    uint32_t frame_count;               /* of a pad */
    uint32_t tail_size;                 /* size of the third part; for a pad, of the second */
    uint8_t type;
    uint8_t head_size;      /* of the first part */
    uint8_t call_line_size; /* of the second part of a range */
};

struct sxt_symbfile_writer {
    struct sxt_symbfile_sink sink;
    struct sxt_symbfile_window window;
    struct sxt_buffer pending;
    size_t record_count;
    struct sxt_buffer output;
    uint64_t address; /* of the record before */
    bool has_address;
    uint64_t functions, inlines, lines; /* written so far */
    sxt_error failure;                  /* its code is SXT_OK until something failed */
};

/* Writes the table and all records of the window, and begins a new window. */
int sxt_symbfile_flush(struct sxt_symbfile_writer *writer, sxt_error *error);

/* Passes the output to the sink if there are ENOUGH bytes of it. */
int sxt_symbfile_write_out(struct sxt_symbfile_writer *writer, size_t enough, sxt_error *error);

#endif
