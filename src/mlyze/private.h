/* private.h: what the files of this room share: bytes of events, and blocks of them. */
#ifndef SXT_MLYZE_PRIVATE_H
#define SXT_MLYZE_PRIVATE_H

#include "base/buffer.h"
#include "mlyze/mlyze.h"

/* 1 - exp(-X) for X > 0, also exact near 0. In analysis.c. */
double sxt_one_minus_exp(double x);

/* --- offsets in the header --- */

enum {
    SXT_MLYZE_AT_VERSION = 4,
    SXT_MLYZE_AT_START = 8,
    SXT_MLYZE_AT_FLAGS = 20,
    SXT_MLYZE_AT_CODEC = 24,
    SXT_MLYZE_AT_BLOCK_SIZE = 28,
    SXT_MLYZE_AT_EVENTS = 32,
    SXT_MLYZE_AT_EVENTS_SIZE = 40,
    SXT_MLYZE_AT_METADATA = 48,
    SXT_MLYZE_AT_EVENT_COUNT = 56,
    SXT_MLYZE_AT_HEADER_CRC = 64,
    SXT_MLYZE_AT_METADATA_CRC = 68,
    SXT_MLYZE_AT_PERIOD = 72,
    SXT_MLYZE_AT_DROPPED = 80,
    SXT_MLYZE_AT_PID = 88,
    SXT_MLYZE_AT_UNKNOWN = 92 /* nothing is defined from here on */
};

#define SXT_MLYZE_FLAGS_KNOWN 127u

/* The checksum of the header, with its own field taken as 0. */
uint32_t sxt_mlyze_header_crc(const uint8_t header[SXT_MLYZE_HEADER_SIZE]);

/* Fills *OUT from the header, and checks that the offsets in it are within SIZE bytes. */
int sxt_mlyze_header_read(const uint8_t *data, size_t size, struct sxt_mlyze_header *out, sxt_error *error);

/* --- sums.c: checksums of a plain file --- */

#define SXT_MLYZE_PARTS 32

struct sxt_mlyze_sums {
    uint32_t header, metadata;
    uint32_t power; /* of 2: the size of a part of the events; 0: there are no checksums */
    uint32_t parts[SXT_MLYZE_PARTS];
    uint64_t size;   /* of the events that were added */
    bool is_damaged; /* not all digits were digits */
};

/* While a file is written. */
void sxt_mlyze_sums_begin(struct sxt_mlyze_sums *sums);
void sxt_mlyze_sums_add(struct sxt_mlyze_sums *sums, const uint8_t *events, size_t size);

/* Where the digits of the checksums are in the metadata; 0 if the text has no room for them. */
size_t sxt_mlyze_sums_find(sxt_string metadata);
/* The CRC of the metadata, with all digits of the checksums, which are AT this place, taken as 0. */
uint32_t sxt_mlyze_sums_of_metadata(sxt_string metadata, size_t at);
#define SXT_MLYZE_SUMS_DIGITS (8 + 8 + 2 + 8 * SXT_MLYZE_PARTS)
void sxt_mlyze_sums_write(const struct sxt_mlyze_sums *sums, char digits[SXT_MLYZE_SUMS_DIGITS + 1]);
/* False if they are not digits, or all 0: then there are no checksums. */
bool sxt_mlyze_sums_read(const char *digits, struct sxt_mlyze_sums *out);

/* --- events.c: events as bytes --- */

/* Types from here on are not events: a block begins with one. */
#define SXT_MLYZE_TYPE_END 0x80

/* The most bytes of an event without payload. */
#define SXT_MLYZE_EVENT_MOST 41

enum sxt_mlyze_fault {
    SXT_MLYZE_FINE,
    SXT_MLYZE_CUT,        /* ends inside an event */
    SXT_MLYZE_BAD_VARINT, /* longer than 10 bytes, or more than 64 bits */
    SXT_MLYZE_BAD_TYPE,
    SXT_MLYZE_BAD_TIME /* beyond 64 bits */
};

/* A position in a sequence of events. */
struct sxt_mlyze_stream {
    const uint8_t *next, *end;
    uint64_t time;              /* of the event before */
    enum sxt_mlyze_fault fault; /* why the event at `next` cannot be read */
    const uint8_t *fault_at;    /* the byte that is wrong */
};

/* Up to CAPACITY events; fewer at the end, and before a fault. */
size_t sxt_mlyze_decode(struct sxt_mlyze_stream *stream, sxt_trace_event *events, size_t capacity);

/* The fault as an error; AT is the offset in the file of what stream->fault_at points to. */
int sxt_mlyze_fail_fault(const struct sxt_mlyze_stream *stream, uint64_t at, sxt_error *error);

/* Adds EVENT, whose time is not before TIME, which is that of the event before it. */
void sxt_mlyze_encode(struct sxt_buffer *out, const sxt_trace_event *event, uint64_t time);

/* The metadata in the file, expanded if it is compressed text: other metadata may have replaced it. */
sxt_string sxt_mlyze_stored_text(const struct sxt_mlyze *trace);

/* --- read.c: a block at a time; parts of up to 64 KiB of a plain file count as blocks --- */

/* Moves on to the next block, at the end of the one before. *OUT says where it begins. */
int sxt_mlyze_next_block(struct sxt_mlyze_cursor *cursor, struct sxt_mlyze_index_entry *out, bool *is_there,
                         sxt_error *error);

/* As sxt_mlyze_read, up to the end of the block. */
int sxt_mlyze_read_in_block(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                            sxt_error *error);

/* The bytes of the events of this block that were read; NULL where it has columns. */
const uint8_t *sxt_mlyze_block_bytes(const struct sxt_mlyze_cursor *cursor, size_t *size);

/* --- metadata.c --- */

/* Where frame INDEX of stack ID begins in the text that it was read from; INDEX counts as in the text. */
size_t sxt_mlyze_frame_position(const char *text, size_t size, uint32_t id, size_t index);

/* Whether a table of COUNT ids up to LARGEST is indexed by id. */
bool sxt_mlyze_has_places(uint64_t largest, size_t count);

/*
 * Stacks as they are read begin with the first frame of the text. Turns them if the metadata or the user says that this
 * is the root.
 */
int sxt_mlyze_turn_stacks(struct sxt_mlyze_metadata *metadata, bool root_first, sxt_error *error);

/* --- metadata_text.c --- */

/* Appends the text that METADATA was made of. REST is that text with "{}" for each table, which its spans are of. */
int sxt_mlyze_text_make(const struct sxt_mlyze_metadata *metadata, sxt_string rest, struct sxt_buffer *out,
                        sxt_error *error);

/* Appends such a REST of TEXT, which METADATA was read from. False if it could not be made again byte for byte. */
bool sxt_mlyze_text_cut(const struct sxt_mlyze_metadata *metadata, sxt_string text, struct sxt_buffer *rest);

/* --- metadata_pack.c: metadata as tables --- */

/* Appends what a file stores. False if the metadata is beyond the limits of this form, or if memory is short. */
bool sxt_mlyze_tables_pack(const struct sxt_mlyze_metadata *metadata, sxt_string rest, struct sxt_buffer *out);

/* The same for metadata in JSON. False also if the text could not be made again byte for byte. */
bool sxt_mlyze_text_to_tables(sxt_string text, struct sxt_buffer *out);

/* Reads what was stored at OFFSET of the file. DATA may be freed afterwards. */
int sxt_mlyze_tables_unpack(const uint8_t *data, size_t size, uint64_t offset, bool root_first,
                            struct sxt_mlyze_metadata *out, sxt_error *error);

/* --- stack_tree.c --- */

/* The node of FRAME called from PARENT, which is added if it is new; SXT_MLYZE_NO_NODE if memory is short. */
uint32_t sxt_mlyze_tree_add(struct sxt_mlyze_tree *tree, uint32_t parent, const struct sxt_mlyze_frame *frame);

/* The number of FRAME, which is added if it is new; SXT_MLYZE_NO_NODE if memory is short. */
uint32_t sxt_mlyze_tree_add_frame(struct sxt_mlyze_tree *tree, const struct sxt_mlyze_frame *frame);

/* No more nodes come: frees what adding them needs. */
void sxt_mlyze_tree_seal(struct sxt_mlyze_tree *tree);
void sxt_mlyze_tree_free(struct sxt_mlyze_tree *tree);

/* Once files, functions and stacks are known: seals the tree, and finds equal stacks and deep ones. */
int sxt_mlyze_finish_stacks(struct sxt_mlyze_metadata *metadata, sxt_error *error);

/* --- blocks.c --- */

#define SXT_MLYZE_BLOCK_MARK    0xb1
#define SXT_MLYZE_BLOCK_HEADER  32
#define SXT_MLYZE_BLOCK_STORED  0x80000000u
#define SXT_MLYZE_BLOCK_AT_SIZE 8
/* Columns may be longer than the events that they are made of. */
#define SXT_MLYZE_COLUMNS_MOST (2 * SXT_MLYZE_BLOCK_MOST)

/*
 *  0  u8   0xb1, not an event of version 1
 *  1  u8   codec
 *  2  u16  0
 *  4  u32  stored size; top bit: not compressed
 *  8  u32  size
 * 12  u32  CRC32C of those
 * 16  u64  time before the first event
 * 24  u64  number of the first event
 * 32       stored bytes
 */
struct sxt_mlyze_block {
    uint8_t codec;
    bool is_stored;
    uint32_t stored_size;
    uint32_t size;
    uint32_t crc;
    uint64_t time;
    uint64_t event;
    const uint8_t *stored;
};

/* Reads the header of the block at OFFSET of SIZE bytes at DATA. Its content is not checked. */
int sxt_mlyze_block_read(const uint8_t *data, uint64_t size, uint64_t offset, struct sxt_mlyze_block *out,
                         sxt_error *error);

static inline bool sxt_mlyze_codec_is_known(uint32_t codec)
{
    return codec == SXT_MLYZE_RAW || codec == SXT_MLYZE_LZ4 || codec == SXT_MLYZE_COLUMNS ||
           codec == SXT_MLYZE_COLUMNS_ZSTD;
}

static inline bool sxt_mlyze_codec_has_columns(uint32_t codec)
{
    return codec == SXT_MLYZE_COLUMNS || codec == SXT_MLYZE_COLUMNS_ZSTD;
}

/* What zstd needs: made at its first use, and kept for the next ones. */
struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;
void sxt_mlyze_packer_free(struct ZSTD_CCtx_s **packer);
void sxt_mlyze_unpacker_free(struct ZSTD_DCtx_s **unpacker);

/* Expands it: *BYTES are in ROOM (of SXT_MLYZE_COLUMNS_MOST bytes), or in the file itself. Checks the checksum. */
int sxt_mlyze_block_expand(const struct sxt_mlyze_block *block, struct ZSTD_DCtx_s **unpacker, uint64_t offset,
                           uint8_t *room, const uint8_t **bytes, sxt_error *error);

/*
 * Adds a block of SIZE bytes of events to OUT, compressed by CODEC if that makes it smaller. TIME is that of the event
 * before the first one, and EVENT the number of that one.
 */
int sxt_mlyze_block_write(struct sxt_buffer *out, enum sxt_mlyze_codec codec, struct ZSTD_CCtx_s **packer,
                          const uint8_t *events, size_t size, uint64_t time, uint64_t event, sxt_error *error);

/*
 * Metadata of a file with blocks: u64 size of the text, and all of it as one LZ4 block. False if that would not be
 * smaller, or if memory is short.
 */
bool sxt_mlyze_text_pack(sxt_string text, struct sxt_buffer *out);

/* Metadata that fits in a page is not compressed. */
#define SXT_MLYZE_TEXT_LEAST ((size_t)4096)

/* *TEXT is to be freed. OFFSET is where it is, for errors. */
int sxt_mlyze_text_unpack(const uint8_t *data, size_t size, uint64_t offset, char **text, size_t *text_size,
                          sxt_error *error);

/* --- sink.c: writes pieces of up to a block of events --- */

struct sxt_mlyze_sink {
    struct sxt_output *output;
    enum sxt_mlyze_codec codec;
    bool keeps_index;
    struct sxt_mlyze_index index; /* of the blocks so far */
    size_t index_capacity;
    struct sxt_buffer block;    /* room for one */
    struct ZSTD_CCtx_s *packer; /* NULL at first */
    struct sxt_mlyze_sums sums; /* of a plain file */
};

/* Writes SIZE bytes of events. ENTRY has the number of the first one, the time before it and what is live there. */
int sxt_mlyze_sink_write(struct sxt_mlyze_sink *sink, const uint8_t *events, size_t size,
                         struct sxt_mlyze_index_entry entry, sxt_error *error);

/* Starts a thread that does that. NULL if there is only one processor, or if no thread can be started. */
struct sxt_mlyze_writing;
struct sxt_mlyze_writing *sxt_mlyze_writing_start(struct sxt_mlyze_sink *sink, unsigned threads);

/* Takes the first SIZE bytes of EVENTS, which keeps the others. Fails if anything went wrong so far. */
int sxt_mlyze_writing_put(struct sxt_mlyze_writing *writing, struct sxt_buffer *events, size_t size,
                          struct sxt_mlyze_index_entry entry, sxt_error *error);

/* Waits until everything is written, and ends the thread. Does nothing with NULL. */
int sxt_mlyze_writing_end(struct sxt_mlyze_writing **writing, sxt_error *error);

/* --- columns.c: events of a block, one column for each field --- */

#define SXT_MLYZE_COLUMN_COUNT 10

struct sxt_mlyze_columns;

/* Makes columns of events. SXT_ERROR_UNSUPPORTED if they could not be restored byte for byte. */
int sxt_mlyze_columns_make(const uint8_t *events, size_t size, uint64_t time, struct sxt_buffer *out, sxt_error *error);

/* Reading; room for one block's state. */
struct sxt_mlyze_columns *sxt_mlyze_columns_new(void);
void sxt_mlyze_columns_free(struct sxt_mlyze_columns **columns);

/* Begins with the columns of a block. */
int sxt_mlyze_columns_open(struct sxt_mlyze_columns *columns, const uint8_t *bytes, size_t size, uint64_t time,
                           uint64_t offset, sxt_error *error);

/* Up to CAPACITY events, 0 at the end; fewer before damage, which the next call reports. *TIME is that of the last. */
int sxt_mlyze_columns_read(struct sxt_mlyze_columns *columns, sxt_trace_event *events, size_t capacity, size_t *count,
                           uint64_t *time, sxt_error *error);

#endif
