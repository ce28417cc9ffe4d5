/*
 * symbfile.h: the symbol format of the OpenTelemetry profiler: a stream of small protobuf messages.
 *
 *     0  8  magic "symbfile"
 *     8     messages up to the end, each: length of its body (varint), type (varint), body
 *
 *     1 Header         no fields; the first message, and never again
 *     2 RangeV1        who owns these bytes, as in the model
 *     3 ReturnPadV1    a return address, less one, and the whole inline chain there
 *     4 StringTableV1  1 strings (string, repeated); replaces the table before it
 *     0x7378 module    sextant only, the second message: a version (1) and the facts of symbols/module.h; each byte is
 *                      written as two, its upper half and then 0x40 plus its lower half; see module.c
 *
 *     RangeV1                                     ReturnPadV1
 *      1 | 12  address: delta (sint64) | whole     1 | 5  address: delta (sint64) | whole
 *      2       length                              2      functions (references, packed)
 *      3 | 9   function: text | reference          3      files (references, packed; "" is unknown)
 *      4 | 10  file: text | reference              4      lines (packed)
 *      5       line of the call
 *      6 | 11  file of the call: text | reference  LineTable
 *      7       depth                               1      offsets (packed, each from the one before)
 *      8       LineTable                           2      lines (packed)
 *
 * Fields are written in this order. A delta counts from the record before, of either kind; the first record of a file
 * has a whole address. A reference is a place in the last string table before the record. Numbers that are 0, empty
 * lists and unknown files are left out.
 *
 * A writer keeps records back until it knows which of their strings occur more than once. Then it writes one table with
 * those (and with all strings of pads, which cannot hold text), followed by the records, which hold the other strings
 * themselves. The table is in the order of first use, strings that only pads use come last, so the same records give
 * the same bytes.
 */
#ifndef SXT_SYMBFILE_SYMBFILE_H
#define SXT_SYMBFILE_SYMBFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbfile.h>
#include <sextant/symbols.h>

#include "base/buffer.h"
#include "base/output.h"
#include "symbols/symbols.h"

/* The largest body of a message, for readers and writers. */
#define SXT_SYMBFILE_MESSAGE_MAX ((size_t)16 << 20)

/* The longest string that is written; the rest is cut off, between two characters. Three of them fit in a message. */
#define SXT_SYMBFILE_STRING_MAX ((size_t)4 << 20)

/* The most frames of a return pad, for readers and writers. */
#define SXT_SYMBFILE_FRAMES_MAX 65536

struct sxt_symbfile_line {
    uint32_t offset; /* from the range's address; valid up to the next entry */
    uint32_t line;   /* 0 when unknown */
};

struct sxt_symbfile_range {
    uint64_t address;
    uint64_t length;
    uint32_t depth;
    uint32_t call_line; /* 0 when unknown */
    sxt_string function;
    sxt_string file;      /* absent when unknown */
    sxt_string call_file; /* absent when unknown */
    const struct sxt_symbfile_line *lines;
    size_t line_count;
    bool continues; /* a piece of one range with the last range before it of its depth and function */
};

struct sxt_symbfile_frame {
    sxt_string function;
    sxt_string file; /* absent when unknown */
    uint32_t line;   /* 0 when unknown */
};

struct sxt_symbfile_pad {
    uint64_t address;
    const struct sxt_symbfile_frame *frames; /* outermost first */
    size_t frame_count;
};

/* Are these the first bytes of a symbfile? */
bool sxt_symbfile_is(const uint8_t *data, size_t size);

/* The line at ADDRESS: that of the last entry at or before it; 0 if there is none. Ignores the range's length. */
uint32_t sxt_symbfile_line_at(const struct sxt_symbfile_range *range, uint64_t address);

/* --- reading --- */

enum sxt_symbfile_kind { SXT_SYMBFILE_END, SXT_SYMBFILE_RANGE, SXT_SYMBFILE_PAD };

struct sxt_symbfile_record {
    enum sxt_symbfile_kind kind;
    uint64_t offset; /* of its message in the file */
    union {
        struct sxt_symbfile_range range;
        struct sxt_symbfile_pad pad;
    };
};

struct sxt_symbfile_reader;

/* Reads up to SIZE bytes into TO. *GOT says how many were read; 0 at the end of the stream. */
typedef int sxt_symbfile_source(void *context, void *to, size_t size, size_t *got, sxt_error *error);

/*
 * Open bytes, which must stay in memory, or a stream of any length. Of a stream no more than one message and one string
 * table are kept. Both fail if the input does not begin like a symbfile, and then *OUT is NULL.
 */
int sxt_symbfile_reader_open(struct sxt_symbfile_reader **out, const uint8_t *data, size_t size, sxt_error *error);
int sxt_symbfile_reader_open_stream(struct sxt_symbfile_reader **out, sxt_symbfile_source *source, void *context,
                                    sxt_error *error);
void sxt_symbfile_reader_close(struct sxt_symbfile_reader **reader);

/*
 * The next record; its kind is SXT_SYMBFILE_END after the last one. What it points to is valid until the next call.
 * Unknown messages and fields are skipped. The first failure is sticky.
 */
int sxt_symbfile_read(struct sxt_symbfile_reader *reader, struct sxt_symbfile_record *record, sxt_error *error);

/*
 * The facts about the binary in what was read so far; all zero if there are none. Writers put them before all records.
 * Facts that cannot be read are as if they were absent. Lives as long as the reader.
 */
const struct sxt_model_module *sxt_symbfile_module(const struct sxt_symbfile_reader *reader);

/*
 * Checks a file that arrives in pieces of any size, as a reader would: everything that a reader refuses is a failure,
 * as soon as the message is complete. Of the file, no more than one message and one string table are kept. Failures are
 * sticky. Pieces need not stay in memory.
 */
struct sxt_symbfile_checker;

struct sxt_symbfile_counts {
    uint64_t ranges, pads;
};

int sxt_symbfile_checker_open(struct sxt_symbfile_checker **out, sxt_error *error);
int sxt_symbfile_checker_feed(struct sxt_symbfile_checker *checker, const void *data, size_t size, sxt_error *error);

/* The file ends here. *COUNTS is what it has. */
int sxt_symbfile_checker_finish(struct sxt_symbfile_checker *checker, struct sxt_symbfile_counts *counts,
                                sxt_error *error);
void sxt_symbfile_checker_close(struct sxt_symbfile_checker **checker);

/* Calls PROBLEM (may be NULL) for everything that is wrong. Returns the number of problems. */
uint64_t sxt_symbfile_verify(const uint8_t *data, size_t size,
                             void (*problem)(void *context, const sxt_problem *problem), void *context);

/* --- writing --- */

struct sxt_symbfile_writer;

/* Receives the next SIZE bytes of the file. */
struct sxt_symbfile_sink {
    int (*write)(void *context, const void *data, size_t size, sxt_error *error);
    void *context;
};

struct sxt_symbfile_sink sxt_symbfile_to_buffer(struct sxt_buffer *buffer);
struct sxt_symbfile_sink sxt_symbfile_to_output(struct sxt_output *output);

/*
 * Begins a file. Records go to the sink when there are enough of them, and when the file is finished; a writer that is
 * closed before that has written only a part. The first failure is sticky.
 *
 * Strings in a symbfile are UTF-8: each invalid byte becomes U+FFFD. A range with more lines than a message can hold
 * becomes several, see write.c. Lines must be in order of their offsets.
 */
int sxt_symbfile_writer_open(struct sxt_symbfile_writer **out, struct sxt_symbfile_sink sink, sxt_error *error);
int sxt_symbfile_add_range(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_range *range,
                           sxt_error *error);
int sxt_symbfile_add_pad(struct sxt_symbfile_writer *writer, const struct sxt_symbfile_pad *pad, sxt_error *error);

/* Writes the facts about the binary, if any are known, before the first record. */
int sxt_symbfile_add_module(struct sxt_symbfile_writer *writer, const struct sxt_model_module *module,
                            const struct sxt_path_maps *maps, sxt_error *error);

/* The functions, inlined calls and lines that were added so far; other members of *OUT stay as they are. */
void sxt_symbfile_writer_counts(const struct sxt_symbfile_writer *writer, sxt_written *out);

/* About how many bytes the records that are kept back take; a little more than they do. */
uint64_t sxt_symbfile_writer_kept(const struct sxt_symbfile_writer *writer);
int sxt_symbfile_writer_finish(struct sxt_symbfile_writer *writer, sxt_error *error);
void sxt_symbfile_writer_close(struct sxt_symbfile_writer **writer);

/* --- from and to the model --- */

struct sxt_symbfile_settings {
    bool demangle; /* function names */
    struct sxt_path_maps path_maps;
    unsigned threads; /* for demangling; see sxt_pool_threads */
};

/* Converts the public options; NULL: the defaults. */
int sxt_symbfile_settings_of(const sxt_symbfile_options *options, struct sxt_symbfile_settings *settings,
                             sxt_error *error);

/* Adds the ranges of a finished model, by (address, depth), cut where their file changes. */
int sxt_symbfile_write_ranges(const struct sxt_symbols *symbols, const struct sxt_symbfile_settings *settings,
                              struct sxt_symbfile_writer *writer, sxt_error *error);

/* Where a file is written to. A file at a path appears whole or not at all. */
struct sxt_symbfile_target {
    const char *path; /* or, if that is NULL, ... */
    void **data;      /* memory, which the caller frees, or, if that is NULL, ... */
    size_t *size;
    int fd; /* this descriptor */
};

/* Writes a file that WRITE fills. *SIZE is that of the file. */
typedef int sxt_symbfile_fill(void *context, struct sxt_symbfile_writer *writer, sxt_error *error);
int sxt_symbfile_save(const struct sxt_symbfile_target *target, sxt_symbfile_fill *write, void *context, uint64_t *size,
                      sxt_error *error);

/* The ranges of a model as a file. WRITTEN may be NULL. */
int sxt_symbfile_save_ranges(const sxt_symbols *symbols, const sxt_symbfile_options *options,
                             const struct sxt_symbfile_target *target, sxt_written *written, sxt_error *error);

/*
 * Adds all ranges that are left in the stream, and the facts about the binary, to a model, in tree order; pads are
 * skipped. The caller finishes the model. The pieces of a range that was cut where its file changes are joined again,
 * and if a depth is missing, deeper ranges move up.
 */
int sxt_symbfile_read_ranges(struct sxt_symbfile_reader *reader, struct sxt_symbols *symbols, sxt_error *error);

#endif
