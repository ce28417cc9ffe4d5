/*
 * mlyze.h: heap traces in the .mlyze format of Memlyze: every allocation and every free of a process, in order.
 *
 *     plain      | header 256 | metadata (JSON) | event event event ...                                  |
 *     blocks     | header 256 | metadata        | block block block ...   each at most 64 KiB of events  |
 *     unclean    | header 256 | spool chunks as the recorder wrote them, a thread at a time              |
 *
 * Any version-1 reader reads a plain file. Blocks are announced in bytes of the header that version 1 leaves at 0; each
 * can be decoded alone. An index beside the file (FILE.idx) says at which time, event and number of live bytes each
 * block begins. It is a cache, made again when it is missing or stale. docs/formats/mlyze.md has the layout.
 */
#ifndef SXT_MLYZE_MLYZE_H
#define SXT_MLYZE_MLYZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/trace.h>

#include "base/buffer.h"
#include "base/json.h"

#define SXT_MLYZE_VERSION     1 /* the newest that is known */
#define SXT_MLYZE_HEADER_SIZE 256
#define SXT_MLYZE_BLOCK_MOST  65536 /* bytes of events in a block */
#define SXT_MLYZE_SUMS_ROOM   288   /* for the checksums of a plain file, as text */

/* Header fields after those of version 1; all 0 in a plain file. */
enum sxt_mlyze_flag {
    SXT_MLYZE_BLOCKS = 1,       /* events are in blocks */
    SXT_MLYZE_METADATA_END = 2, /* metadata is at metadata_offset, after the events */
    SXT_MLYZE_CHECKSUMS = 4,
    SXT_MLYZE_UNCLEAN = 8,         /* the recording did not end; see spool.h */
    SXT_MLYZE_SAMPLED = 16,        /* sizes have to be scaled by `period` */
    SXT_MLYZE_METADATA_LZ4 = 32,   /* metadata is compressed text */
    SXT_MLYZE_METADATA_TABLES = 64 /* metadata is stored as tables: see metadata_pack.c */
};

/* Types 4 to 6 are in the specification: object types, references, snapshots. Newer ones are not known. */
#define SXT_MLYZE_TYPE_LAST 6

enum sxt_mlyze_codec {
    SXT_MLYZE_RAW = 0,
    SXT_MLYZE_LZ4 = 1,
    SXT_MLYZE_COLUMNS = 3,      /* LZ4 */
    SXT_MLYZE_COLUMNS_ZSTD = 4, /* what is written, but for tests */
    SXT_MLYZE_SPOOL = 64
};

struct sxt_mlyze_header {
    uint32_t version;
    uint64_t start_us;      /* since 1970 */
    uint32_t metadata_size; /* in the file */
    uint32_t flags;
    uint32_t codec;
    uint64_t metadata_offset; /* 256 unless SXT_MLYZE_METADATA_END */
    uint64_t events_offset;
    uint64_t event_count; /* 0: unknown */
    uint64_t period;      /* of sampling, in bytes */
    uint64_t dropped;     /* events that were lost while recording */
    uint32_t pid;
    bool has_sums;           /* a plain file with checksums; see sums.c */
    bool is_header_wrong;    /* and that of the header is wrong, */
    bool is_metadata_wrong;  /* or that of the metadata */
    bool has_unknown;        /* unknown bytes are not 0: the events may have another meaning */
    uint32_t unknown_offset; /* of the first of them */
};

/* --- metadata.c: stacks, files and functions --- */

struct sxt_mlyze_frame {
    uint32_t file; /* ids of the file, or SXT_MLYZE_NO_ID */
    uint32_t function;
    uint32_t line;
};
#define SXT_MLYZE_NO_ID UINT32_MAX

/* A frame of one or more stacks: see stack_tree.c. */
struct sxt_mlyze_node {
    uint32_t parent; /* the node of the caller, which has a lower number; or SXT_MLYZE_NO_NODE */
    uint32_t frame;  /* number in the list of frames */
};
#define SXT_MLYZE_NO_NODE UINT32_MAX

/* What nodes or frames are found by while they are added. Open addressing: number + 1, or 0. */
struct sxt_mlyze_slots {
    uint32_t *list;
    size_t count;
};

struct sxt_mlyze_tree {
    struct sxt_mlyze_node *nodes;
    size_t count, capacity;
    struct sxt_mlyze_frame *frames; /* each one once, in order of first use */
    size_t frame_count, frame_capacity;
    struct sxt_mlyze_slots node_slots, frame_slots;
    uint64_t secrets[2];
};

struct sxt_mlyze_stack {
    uint32_t node;  /* of its innermost frame; SXT_MLYZE_NO_NODE if it has none */
    uint32_t count; /* of frames */
    bool exists;    /* ids may have gaps */
};

/* A stack with more than SXT_MLYZE_DEEP frames. */
struct sxt_mlyze_deep_stack {
    size_t place; /* in the table of stacks */
    size_t first; /* in the list of nodes */
};
#define SXT_MLYZE_DEEP 1024

/* The three objects of the metadata that become tables. */
enum { SXT_MLYZE_STACKS, SXT_MLYZE_FILES, SXT_MLYZE_FUNCTIONS, SXT_MLYZE_TABLES };

/* Where one of them is in the text, from "{" to "}"; 0 and 0 if it is not there. */
struct sxt_mlyze_span {
    size_t start, end;
};

/*
 * Tables of what has an id. Ids that are close together are the places in the table, and missing entries have data ==
 * NULL, or exists == false. Where they are far apart, the ids are in a list of their own, in ascending order, and the
 * table has no gaps. The sxt_mlyze_find_... functions know both.
 */
struct sxt_mlyze_metadata {
    sxt_string *files;
    size_t file_count;
    uint32_t *file_ids; /* NULL: the id is the place */
    sxt_string *functions;
    size_t function_count;
    uint32_t *function_ids;
    struct sxt_mlyze_stack *stacks;
    size_t stack_count;
    uint32_t *stack_ids;
    struct sxt_mlyze_tree tree; /* the frames of all stacks */
    uint64_t frame_count;       /* of all stacks: many share a node */
    bool is_root_first;         /* the text has the outermost frame of a stack first */
    uint32_t *same;             /* by place of a stack: see sxt_mlyze_same_stack; NULL: no two stacks are equal */
    struct sxt_mlyze_deep_stack *deep;
    size_t deep_count;
    uint32_t *deep_nodes;  /* of deep stacks, innermost first */
    struct sxt_json *root; /* an object of everything else: modules, threads, ... */
    struct sxt_mlyze_span spans[SXT_MLYZE_TABLES];
    sxt_string rest; /* of metadata that was stored as tables: the text with "{}" for each of them */
    void *kept;      /* what the strings are in, if it belongs to the metadata */
    struct sxt_arena arena;
};

/* A key that is an id: no leading zeros, no sign, and no more than 32 bits. */
bool sxt_mlyze_parse_id(sxt_string key, uint32_t *id);

/* The place of an id in a list of ids; SIZE_MAX if it has none. */
size_t sxt_mlyze_search_id(const uint32_t *ids, size_t count, uint32_t id);

/* The place of an id in a table; SIZE_MAX if it has none. */
static inline size_t sxt_mlyze_place(const uint32_t *ids, size_t count, uint32_t id)
{
    return ids != NULL ? sxt_mlyze_search_id(ids, count, id) : id < count ? id : SIZE_MAX;
}

/* The id of what is at a PLACE. */
static inline uint32_t sxt_mlyze_id_at(const uint32_t *ids, size_t place)
{
    return ids != NULL ? ids[place] : (uint32_t)place;
}

/* NULL, or an absent string, if the metadata has nothing with that id. */
static inline const struct sxt_mlyze_stack *sxt_mlyze_find_stack(const struct sxt_mlyze_metadata *metadata, uint32_t id)
{
    size_t place = sxt_mlyze_place(metadata->stack_ids, metadata->stack_count, id);
    return place != SIZE_MAX && metadata->stacks[place].exists ? &metadata->stacks[place] : NULL;
}

/* The frames of a stack, innermost first: from stack->node on, each node's parent, until SXT_MLYZE_NO_NODE. */
static inline const struct sxt_mlyze_node *sxt_mlyze_node_at(const struct sxt_mlyze_metadata *metadata, uint32_t node)
{
    return &metadata->tree.nodes[node];
}

static inline const struct sxt_mlyze_frame *sxt_mlyze_node_frame(const struct sxt_mlyze_metadata *metadata,
                                                                 uint32_t node)
{
    return &metadata->tree.frames[metadata->tree.nodes[node].frame];
}

/* Frame INDEX of a stack, the innermost being 0; below stack->count. Takes time in proportion to INDEX. */
const struct sxt_mlyze_frame *sxt_mlyze_frame_at(const struct sxt_mlyze_metadata *metadata,
                                                 const struct sxt_mlyze_stack *stack, uint32_t index);

/* Room for the nodes of a stack, innermost first. Begins as {0}, may be filled again, and is freed at the end. */
struct sxt_mlyze_path {
    uint32_t *nodes;
    uint32_t count;
    size_t capacity;
};

/* False if memory is short. */
bool sxt_mlyze_find_path(const struct sxt_mlyze_metadata *metadata, const struct sxt_mlyze_stack *stack,
                         struct sxt_mlyze_path *path);
void sxt_mlyze_path_free(struct sxt_mlyze_path *path);

/* A stack that is made: COUNT frames, the innermost first. */
struct sxt_mlyze_new_stack {
    const struct sxt_mlyze_frame *frames;
    size_t count;
};

/*
 * Makes the stacks from ID on, for which the table has room. For tables that are made without text: the ids are the
 * places. Several at a time take less: each waits for memory while the others work. False if memory is short.
 */
#define SXT_MLYZE_STACKS_AT_ONCE 32
bool sxt_mlyze_add_stacks(struct sxt_mlyze_metadata *metadata, uint32_t id, const struct sxt_mlyze_new_stack *stacks,
                          size_t count);

/*
 * The lowest id of the stacks whose frames are all shown like those of stack ID: the same functions, files and lines,
 * as text. ID itself if there are no others, if the stack has no frames, or if the metadata does not have it.
 */
uint32_t sxt_mlyze_same_stack(const struct sxt_mlyze_metadata *metadata, uint32_t id);

sxt_string sxt_mlyze_find_file(const struct sxt_mlyze_metadata *metadata, uint32_t id);
sxt_string sxt_mlyze_find_function(const struct sxt_mlyze_metadata *metadata, uint32_t id);

/*
 * TEXT must outlive the metadata. Empty text is empty metadata. Duplicate keys are refused. Stacks begin with the leaf
 * unless "stack_order" is "root_first", or ROOT_FIRST is set.
 */
int sxt_mlyze_metadata_read(const char *text, size_t size, bool root_first, struct sxt_mlyze_metadata *out,
                            sxt_error *error);
void sxt_mlyze_metadata_free(struct sxt_mlyze_metadata *metadata);

/* Names to print: "func_3" and "file_2" for ids that are not in the metadata. */
sxt_string sxt_mlyze_file(const struct sxt_mlyze_metadata *metadata, uint32_t id, char room[24]);
sxt_string sxt_mlyze_function(const struct sxt_mlyze_metadata *metadata, uint32_t id, char room[24]);

/* --- read.c: a trace that is open --- */

struct sxt_mlyze; /* immutable; any number of cursors may read it, on any threads */

/* The most that a trace that is compressed as a whole may expand to, if no option says otherwise. */
#define SXT_MLYZE_INFLATE_LIMIT ((uint64_t)16 << 30)

bool sxt_mlyze_is(const uint8_t *data, size_t size);
bool sxt_mlyze_is_unclean(const uint8_t *data, size_t size); /* a trace whose recording was cut off */

/*
 * Opens a trace, plain or in blocks. DATA is borrowed. What is not fatal (dangling ids, zero addresses, a cut-off end)
 * is left to the cursor and to verify. A recording that was cut off is refused with SXT_REASON_CUT_OFF.
 */
int sxt_mlyze_open(const uint8_t *data, size_t size, struct sxt_mlyze **out, sxt_error *error);
/* The same without parsing the metadata, which stays empty; its text is there. */
int sxt_mlyze_open_unread(const uint8_t *data, size_t size, struct sxt_mlyze **out, sxt_error *error);
void sxt_mlyze_close(struct sxt_mlyze **trace);

/* The stacks of the trace begin with the root, whatever its metadata says. Nothing of the metadata may be in use. */
int sxt_mlyze_set_root_first(struct sxt_mlyze *trace, sxt_error *error);

/*
 * Gives the trace other metadata: TEXT, from malloc, which the trace then owns. On failure nothing changes, and TEXT is
 * freed. Nothing of the old metadata may be in use.
 */
int sxt_mlyze_replace_metadata(struct sxt_mlyze *trace, char *text, size_t size, sxt_error *error);
const struct sxt_mlyze_header *sxt_mlyze_header(const struct sxt_mlyze *trace);
const struct sxt_mlyze_metadata *sxt_mlyze_metadata(const struct sxt_mlyze *trace);
/* The JSON, byte for byte. Made when it is first asked for if the file has tables; then absent if memory is short. */
sxt_string sxt_mlyze_metadata_text(const struct sxt_mlyze *trace);
/* Whether the metadata is stored as tables: sxt_mlyze_writer_open_tables can copy it without its text. */
bool sxt_mlyze_has_tables(const struct sxt_mlyze *trace);
sxt_string sxt_mlyze_events(const struct sxt_mlyze *trace); /* the bytes of all events, or of all blocks */
sxt_string sxt_mlyze_bytes(const struct sxt_mlyze *trace);  /* the whole file */

/* Reads events, from the beginning or from an entry of the index. Memory: one block. */
struct sxt_mlyze_cursor;
struct sxt_mlyze_index_entry;
int sxt_mlyze_cursor_open(const struct sxt_mlyze *trace, struct sxt_mlyze_cursor **out, sxt_error *error);
void sxt_mlyze_cursor_close(struct sxt_mlyze_cursor **cursor);

/*
 * Fills up to CAPACITY events; *COUNT is how many, 0 at the end. Batches keep this fast: 20 million events a second and
 * more. When the rest cannot be read, the events before it are given out first, and the next call fails with the
 * offset.
 */
int sxt_mlyze_read(struct sxt_mlyze_cursor *cursor, sxt_trace_event *events, size_t capacity, size_t *count,
                   sxt_error *error);

/* What cannot be read. */
struct sxt_mlyze_loss {
    uint64_t offset; /* in the file */
    uint64_t block;  /* the number of the first block that is lost; the first of the file is 1 */
    uint64_t blocks; /* how many; 0 in a plain file */
    uint64_t events; /* how many; SXT_MLYZE_NOT_KNOWN if no block after it says so, and the header does not either */
    bool is_bounded; /* the blocks are whole, but their content is wrong: nothing else is lost */
};
#define SXT_MLYZE_NOT_KNOWN UINT64_MAX

/*
 * After a read that failed: moves on to the next whole block, if there is one. Its events keep their numbers. Fills
 * *LOSS also if there is none; LOSS may be NULL.
 */
bool sxt_mlyze_skip_damage(struct sxt_mlyze_cursor *cursor, struct sxt_mlyze_loss *loss);

/*
 * Sets the address of each event of an unknown kind (SXT_TRACE_OTHER) to its offset in the file; in a block, to that of
 * the block. EVENTS are what was read last, OFFSET and TIME what the cursor was at before.
 */
void sxt_mlyze_fill_offsets(const struct sxt_mlyze_cursor *cursor, uint64_t offset, uint64_t time,
                            sxt_trace_event *events, size_t count);

/* The offset in the file of the event that comes next (in a block: of the block), and its number. */
uint64_t sxt_mlyze_offset(const struct sxt_mlyze_cursor *cursor);
uint64_t sxt_mlyze_position(const struct sxt_mlyze_cursor *cursor);

/* Where to seek to, and how many events to skip then, to read on from here. */
void sxt_mlyze_get_place(const struct sxt_mlyze_cursor *cursor, struct sxt_mlyze_index_entry *place, uint64_t *skipped);

/* --- index.c --- */

struct sxt_mlyze_index_entry {
    uint64_t offset; /* in the file */
    uint64_t event;  /* number of the first one */
    uint64_t time;   /* absolute, before the first delta */
    uint64_t live_bytes;
    uint32_t live_count;
    uint32_t stored_size, size;
    uint32_t flags;
};

struct sxt_mlyze_index {
    struct sxt_mlyze_index_entry *entries;
    size_t count;
    uint64_t event_count;
    uint64_t last_time;
};

/* Identifies a trace among others of the same size: two CRCs, of its beginning and of its end. */
uint64_t sxt_mlyze_mark(const struct sxt_mlyze *trace);

/* Makes an index by a pass over the events. */
int sxt_mlyze_index_make(const struct sxt_mlyze *trace, struct sxt_mlyze_index *out, sxt_error *error);
/* Reads an index file. SXT_ERROR_NOT_FOUND if it is stale, damaged, or of another trace. */
int sxt_mlyze_index_read(const struct sxt_mlyze *trace, const uint8_t *data, size_t size, struct sxt_mlyze_index *out,
                         sxt_error *error);
int sxt_mlyze_index_write(const struct sxt_mlyze *trace, const struct sxt_mlyze_index *index, struct sxt_buffer *out,
                          sxt_error *error);
void sxt_mlyze_index_free(struct sxt_mlyze_index *index);

/* Moves the cursor to the block of ENTRY, which must be of this trace. */
int sxt_mlyze_seek(struct sxt_mlyze_cursor *cursor, const struct sxt_mlyze_index_entry *entry, sxt_error *error);

/* --- write.c --- */

struct sxt_output;
struct sxt_mlyze_writer;

struct sxt_mlyze_settings {
    uint32_t version; /* of the trace that is copied; 0: version 1 */
    uint64_t start_us;
    enum sxt_mlyze_codec codec; /* RAW: a plain version-1 file */
    uint64_t period;            /* of sampling; 0 for none */
    uint64_t dropped;
    uint32_t pid;     /* only with blocks: a plain file has no field for it */
    unsigned threads; /* 1: compress on the calling thread; 0: default */
    bool keeps_index; /* make the index while blocks are written: see sxt_mlyze_writer_live */
};

/*
 * Events are written to OUTPUT as they come, after METADATA (complete JSON). The header and the checksums of a plain
 * file are completed at the end (pwrite), so OUTPUT must be a file unless the codec is RAW.
 */
int sxt_mlyze_writer_open(struct sxt_output *output, const struct sxt_mlyze_settings *settings, sxt_string metadata,
                          struct sxt_mlyze_writer **out, sxt_error *error);
/* The same with metadata that is given as tables, and as the text with "{}" for each of them. */
int sxt_mlyze_writer_open_tables(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                                 const struct sxt_mlyze_metadata *metadata, sxt_string rest,
                                 struct sxt_mlyze_writer **out, sxt_error *error);
/* The number of lost events, if it is only known at the end. */
void sxt_mlyze_writer_set_dropped(struct sxt_mlyze_writer *writer, uint64_t dropped);
/* For metadata that is not known yet: the last call is then sxt_mlyze_writer_finish_tables. Not for plain files. */
int sxt_mlyze_writer_open_early(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                                struct sxt_mlyze_writer **out, sxt_error *error);
int sxt_mlyze_writer_finish_tables(struct sxt_mlyze_writer *writer, const struct sxt_mlyze_metadata *metadata,
                                   sxt_string rest, sxt_error *error);
/*
 * Of such a writer: writes all events that it has by now. HEADER becomes that of a trace that ends here and has no
 * metadata. More events may come.
 */
int sxt_mlyze_writer_pause(struct sxt_mlyze_writer *writer, uint8_t header[SXT_MLYZE_HEADER_SIZE], sxt_error *error);
/* Changes such a header to that of a file which is cut off after SIZE bytes. */
void sxt_mlyze_header_cut(uint8_t header[SXT_MLYZE_HEADER_SIZE], uint64_t size);
/*
 * Another writer for the same file, after the first one was paused and closed; HEADER is that of the pause. Only for
 * sxt_mlyze_writer_finish_tables: no more events may come, because the time of the last one is not known.
 */
int sxt_mlyze_writer_resume(struct sxt_output *output, const struct sxt_mlyze_settings *settings,
                            const uint8_t header[SXT_MLYZE_HEADER_SIZE], struct sxt_mlyze_writer **out,
                            sxt_error *error);
int sxt_mlyze_write(struct sxt_mlyze_writer *writer, const sxt_trace_event *event, sxt_error *error);
/*
 * Says what is live after the last event. Call it after each event if the index is kept. sxt_mlyze_writer_take_index
 * gives the index out once everything is written.
 */
void sxt_mlyze_writer_live(struct sxt_mlyze_writer *writer, uint64_t bytes, uint64_t count);
void sxt_mlyze_writer_take_index(struct sxt_mlyze_writer *writer, struct sxt_mlyze_index *out);
/* Writes the bytes of COUNT whole events of another file; TIME is that of the last one. */
int sxt_mlyze_write_bytes(struct sxt_mlyze_writer *writer, const uint8_t *bytes, size_t size, uint64_t count,
                          uint64_t time, sxt_error *error);

/*
 * Copies all events of TRACE, byte for byte, whatever form the two have. With LOST, what cannot be read is left out,
 * and *LOST is the number of bytes of the file; with NULL it is an error. ODDITIES may be NULL.
 */
int sxt_mlyze_copy(const struct sxt_mlyze *trace, struct sxt_mlyze_writer *writer, uint64_t *lost,
                   sxt_trace_oddities *oddities, sxt_error *error);
int sxt_mlyze_writer_finish(struct sxt_mlyze_writer *writer, sxt_error *error);
void sxt_mlyze_writer_close(struct sxt_mlyze_writer **writer);

/* Counts what is wrong with some events, and adds it to *ODDITIES. */
void sxt_mlyze_count_oddities(const struct sxt_mlyze_metadata *metadata, const sxt_trace_event *events, size_t count,
                              sxt_trace_oddities *oddities);

/* --- sums.c: the checksums of a plain file, in its metadata --- */

/* The value of the key "checksums", which must be the first one, before the file is written: the writer fills it in. */
#define SXT_MLYZE_SUMS_KEY "checksums"
void sxt_mlyze_no_sums(char to[SXT_MLYZE_SUMS_ROOM]);
/* Makes the checksums of metadata that begins with the key valid: our JSON writer does not place the blanks like that.
 */
void sxt_mlyze_mark_sums(char *metadata, size_t size);
/* Does it begin with valid ones? */
bool sxt_mlyze_has_sums(sxt_string metadata);

/* A part of the events of a plain file. */
struct sxt_mlyze_part {
    uint64_t offset, end; /* in the file */
    bool is_right;        /* its checksum is */
};

/* Checks part NUMBER, from 0. False if there is none: the parts before are all, or the file has no checksums. */
bool sxt_mlyze_check_part(const struct sxt_mlyze *trace, uint32_t number, struct sxt_mlyze_part *out);
/* The error for a part whose checksum is wrong. */
int sxt_mlyze_fail_part(const struct sxt_mlyze_part *part, sxt_error *error);
/* Compares all checksums of a plain file; fails for the first that is wrong. */
int sxt_mlyze_check_sums(const struct sxt_mlyze *trace, sxt_error *error);

/* --- join.c: the traces of several processes as one --- */

struct sxt_mlyze_join_input {
    const struct sxt_mlyze *trace;
    uint64_t pid;    /* 0: unknown */
    uint32_t parent; /* number of the input of the process that forked it, or SXT_MLYZE_NO_ID */
    uint64_t end;    /* when the process ended; 0: unknown, SXT_MLYZE_RUNNING: it has not ended */
    uint64_t inherited_bytes, inherited_count; /* set by the join: live in the parent when it was forked */
};

#define SXT_MLYZE_RUNNING UINT64_MAX

/* More inputs have no room in addresses. */
#define SXT_MLYZE_JOIN_MOST 65535

/* Where a thread of the joined trace comes from. */
struct sxt_mlyze_join_thread {
    uint32_t input; /* SXT_MLYZE_NO_ID: there are too many threads, and several share this number */
    uint16_t thread;
};

struct sxt_mlyze_joined {
    bool has_ends;
    struct sxt_mlyze_join_thread *threads; /* by number in the joined trace; to be freed */
    size_t thread_count;
};

/*
 * Writes all events of COUNT inputs in the order of their absolute times, as a plain trace. Equal stacks get one id,
 * and bits 48 to 63 of an address are combined with the number of the input. To WHOLE go only the events of the inputs.
 * To ENDED also a FREE for each block that is live when its process has ended, if there are events of others after
 * that; `has_ends` is false if there is no such FREE. All inputs must be sampled with the same period. What cannot be
 * read is left out.
 */
int sxt_mlyze_join(struct sxt_mlyze_join_input *inputs, size_t count, struct sxt_output *whole,
                   struct sxt_output *ended, struct sxt_mlyze_joined *out, sxt_error *error);

/* --- verify.c: the seven rules of the specification, each problem with its byte offset --- */

uint64_t sxt_mlyze_verify(const uint8_t *data, size_t size, void (*problem)(void *data, const sxt_problem *problem),
                          void *data_of_problem);

#endif
