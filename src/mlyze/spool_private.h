/* spool_private.h: an open spool, for the files that read it. */
#ifndef SXT_MLYZE_SPOOL_PRIVATE_H
#define SXT_MLYZE_SPOOL_PRIVATE_H

#include <stdatomic.h>
#include <string.h>

#include "base/buffer.h"
#include "base/priority_queue.h"
#include "base/strings.h"
#include "mlyze/live.h"
#include "mlyze/spool.h"
#include "mlyze/spool_mappings.h"

struct sxt_spool_piece {
    const uint8_t *words; /* after the header of the window */
    size_t word_count;
    uint64_t tick;
    uint32_t stream, sequence;
    uint32_t thread;
    bool is_copy; /* of a window that is still written to */
};

/* A file was unloaded. The note may come before that of the file, in another thread's window. */
struct sxt_spool_unload {
    uint64_t start;
    uint32_t generation;
};

/* A part of the file. */
struct sxt_spool_span {
    uint64_t start, end;
};

/* A decoded record. Fields that its kind does not have are left unchanged. */
struct sxt_spool_record {
    enum sxt_spool_kind kind; /* ALLOC or FREE also for WIDE */
    enum sxt_spool_note note;
    uint64_t address, size;
    uint32_t stack;
    const uint8_t *data; /* of a NOTE */
    uint32_t data_size;
};

#define SXT_SPOOL_AHEAD          32  /* words: how far ahead memory is fetched */
#define SXT_SPOOL_ENDS           512 /* that are remembered */
#define SXT_SPOOL_POSTPONED_MOST 64

/* A position in the pieces of a stream. */
struct sxt_spool_way {
    size_t piece, piece_end; /* of the list of pieces */
    size_t word;
    uint64_t tick;
    uint32_t thread;
    struct sxt_spool_record record;       /* the one that comes next */
    uint64_t deadline;                    /* of a record that waits for another stream */
    size_t ahead;                         /* words of the piece that were prefetched */
    uint64_t hashes[SXT_SPOOL_AHEAD / 2]; /* of the last FREEs that were; 0 for other records */
    unsigned hash_count;
    bool is_queued; /* `record` is there, and comes when it is its turn */
    /* spool_follow.c */
    uint32_t stream;
    uint32_t noted_sequence; /* the notes before this place were read */
    size_t noted_word;
    uint32_t sequence; /* from a checkpoint: that of the piece which `word` is in */
};

/* A FREE of WAY has ended the block at an address. */
struct sxt_spool_end {
    uint64_t address, tick;
    uint32_t way;
};

/* A FREE that came before the ALLOC of its block, and is postponed. */
struct sxt_spool_postponed {
    uint64_t address, tick;
    uint32_t way;
};

struct sxt_spool {
    struct sxt_spool_facts facts;
    struct sxt_spool_moment first;
    double us_per_tick;
    struct sxt_spool_piece *pieces; /* by stream and sequence */
    size_t piece_count, piece_capacity;
    uint32_t *stack_numbers; /* by the recorder's id: number + 1, or 0 */
    struct sxt_spool_stack *stacks;
    size_t stack_capacity;
    struct sxt_spool_file *files;
    size_t file_capacity;
    struct sxt_spool_thread *threads;
    size_t thread_capacity;
    struct sxt_strings markers;
    uint32_t *children;
    struct sxt_buffer command;
    /* spool_merge.c */
    struct sxt_spool_way *ways;
    size_t way_count;
    uint32_t earliest;      /* the way whose record has the lowest tick, or SXT_SPOOL_NO_WAY; it is not in `ready` */
    struct sxt_queue ready; /* the other ways by the tick of their record */
    uint32_t *waiting;      /* ways whose record cannot come yet */
    size_t waiting_count;
    struct sxt_live live;
    uint64_t live_bytes;
    struct sxt_spool_end *ends;            /* by a part of the hash; NULL for a single stream */
    struct sxt_spool_postponed *postponed; /* in order */
    size_t postponed_count;
    bool has_next_free; /* next_free, which was postponed, comes next */
    struct sxt_spool_postponed next_free;
    struct sxt_mappings *mappings;                  /* NULL until the first call */
    const struct sxt_mapping_event *mapping_events; /* of the last call, that come next */
    size_t mapping_event_count;
    uint32_t mapping_way; /* the call was its */
    uint64_t mapping_tick;
    /* spool_follow.c */
    bool is_followed; /* the program may still be writing */
    uint32_t image;
    uint64_t limit;          /* ticks: records after it are not complete yet */
    const atomic_bool *stop; /* ends a search early; may be NULL */
    struct sxt_arena kept;   /* what notes in copies had */
    uint8_t **copies;        /* of windows that are still written to */
    size_t copy_count;
    struct sxt_spool_unload *unloads;
    size_t unload_count, unload_capacity;
    /* spool_consume.c, spool_checkpoint.c */
    struct sxt_spool_span *spans; /* parts of the file that were released, in order; they do not touch */
    size_t span_count, span_capacity;
    bool is_consumed;      /* windows may be released once their records were given out */
    struct sxt_buffer log; /* notes since the last NOTES chunk */
    uint64_t notes;        /* offset of the last NOTES chunk */
    bool is_resumed;       /* it goes on from a checkpoint */
    struct sxt_spool_consumed consumed;
    /* spool_watch.c */
    bool is_watched;              /* blocks have a stack and a thread, and `ended` is filled */
    struct sxt_spool_ended ended; /* by the last event */
    uint64_t checkpoint;          /* that it goes on from */
    uint64_t longest_wait;        /* ticks */
    uint64_t last_time;
    uint64_t unmatched;
};

#define SXT_SPOOL_NO_WAY UINT32_MAX

/* Moves on to the next record; false at the end of the stream. */
bool sxt_spool_step(const struct sxt_spool *spool, struct sxt_spool_way *way);

/* A spool of which only the control block was read. On failure *OUT is NULL. */
int sxt_spool_new(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);

/* What the control block says, as far as it may change. */
int sxt_spool_take_control(struct sxt_spool *spool, const uint8_t *data, sxt_error *error);

/* Words up to the last that is not 0. */
size_t sxt_spool_used_words(const struct sxt_spool_piece *piece);

/* Reads the notes from the position of WAY on. */
int sxt_spool_read_notes_of(struct sxt_spool *spool, struct sxt_spool_way *way, sxt_error *error);

/* Once all notes were read. */
void sxt_spool_end_notes(struct sxt_spool *spool);

/* Gives a stack without frames a number, if it has none. */
int sxt_spool_number_stack(struct sxt_spool *spool, uint32_t stack, sxt_error *error);

/* --- spool_checkpoint.c --- */

/* Goes on from the checkpoint of the spool, if it has one. Notes that were in consumed windows are read. */
int sxt_spool_resume(struct sxt_spool *spool, const uint8_t *data, size_t size, sxt_error *error);

/* Keeps a note for the next NOTES chunk. */
void sxt_spool_log_note(struct sxt_spool *spool, enum sxt_spool_note note, const void *data, uint32_t size);

/* The bytes of the file that the chunk at an offset takes; 0 if there is none. */
uint64_t sxt_spool_chunk_room(const uint8_t *data, uint64_t size, uint64_t offset);

/* --- spool_consume.c --- */

/* The end of the span that AT is in; otherwise AT. *NEXT is the first span that may have it: 0 for a new search. */
static inline uint64_t sxt_spool_skip(const struct sxt_spool *spool, uint64_t at, size_t *next)
{
    while (*next < spool->span_count && spool->spans[*next].end <= at)
        (*next)++;
    return *next < spool->span_count && spool->spans[*next].start <= at ? spool->spans[*next].end : at;
}

/* A marker has a name. */
static inline sxt_string sxt_spool_marker_text(const struct sxt_spool_record *record)
{
    return record->data_size > 0 ? (sxt_string){(const char *)record->data, record->data_size} : (sxt_string){"?", 1};
}

/* --- windows --- */

static inline bool sxt_spool_is_window(const struct sxt_spool_window *header)
{
    return header->magic == SXT_SPOOL_WINDOW_MAGIC && header->size % SXT_SPOOL_UNIT == 0 && header->size > 0 &&
           header->size <= SXT_SPOOL_WINDOW_MOST;
}

/* The header at an offset of a spool that is written to; its magic is read first, because it is written last. */
static inline struct sxt_spool_window sxt_spool_read_header(const uint8_t *data, uint64_t offset)
{
    const struct sxt_spool_window *at = (const void *)(data + offset);
    struct sxt_spool_window header = {.magic = __atomic_load_n(&at->magic, __ATOMIC_ACQUIRE)};
    if (header.magic == SXT_SPOOL_WINDOW_MAGIC)
        memcpy(&header, at, sizeof header);
    return header;
}

static inline struct sxt_spool_way *sxt_spool_way_of(const struct sxt_spool *spool, uint32_t stream)
{
    for (size_t i = 0; i < spool->way_count; i++)
        if (spool->ways[i].stream == stream)
            return &spool->ways[i];
    return NULL;
}

/* Makes room for COUNT ways. */
bool sxt_spool_make_ways(struct sxt_spool *spool, size_t count);

/* Looks for the next event of a way that has none. */
void sxt_spool_wake(struct sxt_spool *spool, uint32_t way);

int sxt_spool_merge_begin(struct sxt_spool *spool, sxt_error *error);
void sxt_spool_merge_end(struct sxt_spool *spool);

#endif
