/*
 * spool.h: reads what the recorder wrote: the events of all threads in one order.
 *
 * The order is that of the times, and then that of the addresses: a block is freed after it was allocated, and its
 * address is given out again after it was freed, though two processors may disagree by some ticks on when that was.
 * A spool may end anywhere and is read up to there. encode.h has the layout.
 */
#ifndef SXT_MLYZE_SPOOL_H
#define SXT_MLYZE_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlyze/encode.h"
#include "mlyze/mlyze.h"

struct sxt_spool;

struct sxt_spool_stack {
    const uint8_t *frames; /* 8 bytes each, innermost first; not aligned. SXT_SPOOL_FRAME_CUT may be the last */
    uint32_t count;
    uint32_t generation;
};

/* A loaded file, and the generations in which it was loaded. */
struct sxt_spool_file {
    uint64_t start, end, bias;
    uint32_t first_generation, end_generation;
    sxt_string path;
    sxt_string build_id; /* bytes */
};

struct sxt_spool_thread {
    uint32_t number; /* as events have it */
    uint32_t system_number;
    sxt_string name;
};

struct sxt_spool_facts {
    uint64_t start_us;
    uint64_t period;
    uint64_t dropped;
    uint32_t pid, parent;
    uint32_t started_by; /* the parent of a child that executed a program */
    enum sxt_spool_state state;
    bool own_allocator;
    bool is_attached; /* the recorder was loaded */
    const struct sxt_spool_stack *stacks;
    size_t stack_count; /* stacks in events are numbers below this */
    const struct sxt_spool_file *files;
    size_t file_count;
    const struct sxt_spool_thread *threads;
    size_t thread_count;
    const sxt_string *markers; /* `stack` of a MARKER is a number below the count */
    size_t marker_count;
    const uint32_t *children; /* that have no spool because the file could not be created */
    size_t child_count;
    uint64_t started_children; /* all of them */
    uint64_t unknown_children; /* of these, the ones that the recorder could not be loaded into */
    uint64_t duration_us;      /* from the start of the program to its end; 0: unknown */
    bool has_status;
    int status;         /* as from waitpid */
    uint64_t anonymous; /* most bytes of anonymous memory that were seen; 0: unknown */
    sxt_string command; /* words, each with its NUL */
};

/* --- spool_head.c: the first page --- */

#define SXT_SPOOL_HEAD_SIZE SXT_SPOOL_WINDOWS_OFFSET

bool sxt_spool_is(const uint8_t *data, size_t size);

/* Fails with what is wrong if it is not a spool that can be read. */
int sxt_spool_check(const uint8_t *data, size_t size, sxt_error *error);

/* A copy of the control block of a spool. */
struct sxt_spool_control sxt_spool_read_control(const uint8_t *head);

/* Whether a process is still writing to it, as far as can be known. */
bool sxt_spool_is_growing(const uint8_t *head);

/* Fills the head of a new spool. OPTIONS is a set of sxt_spool_option. */
void sxt_spool_head_init(uint8_t head[SXT_SPOOL_HEAD_SIZE], uint64_t period, uint32_t options);

/* On the mapped head of a spool that a recorder may be using. NOTE_TIME takes the time on both clocks again. */
void sxt_spool_head_set_process(uint8_t *head, uint32_t pid);
void sxt_spool_head_stop(uint8_t *head);
void sxt_spool_head_note_time(uint8_t *head);
/* STATUS is that of waitpid. */
void sxt_spool_head_note_status(uint8_t *head, int status);
void sxt_spool_head_note_anonymous(uint8_t *head, uint64_t bytes);
/* Whether the recorder was loaded. */
bool sxt_spool_head_is_attached(const uint8_t *head);

/* Whether HEAD is that of a spool which process PID, a child of the one with the head PARENT, has made. */
bool sxt_spool_head_is_child(const uint8_t *head, const uint8_t *parent, uint32_t pid);

/* --- spool.c, spool_merge.c: the events --- */

/* DATA is borrowed, and must not change any more. */
int sxt_spool_open(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);
void sxt_spool_close(struct sxt_spool **spool);
const struct sxt_spool_facts *sxt_spool_facts(const struct sxt_spool *spool);

/*
 * Up to CAPACITY events, in order; *COUNT is 0 at the end. Frees of blocks whose allocation is not in the spool are
 * left out.
 */
int sxt_spool_read(struct sxt_spool *spool, sxt_trace_event *events, size_t capacity, size_t *count, sxt_error *error);

/* The same, with what is live after each event. */
struct sxt_spool_live {
    uint64_t bytes, count;
};
int sxt_spool_read_live(struct sxt_spool *spool, sxt_trace_event *events, struct sxt_spool_live *live, size_t capacity,
                        size_t *count, sxt_error *error);

/* --- spool_follow.c: a spool that the recorder still writes --- */

/*
 * DATA is the file, mapped with room for what it may grow by; it has SIZE bytes by now. There are no events before
 * sxt_spool_catch_up was called.
 */
int sxt_spool_follow(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);

/*
 * Looks for what was written; sxt_spool_read_live gives out the events up to shortly before now, and then 0. All of
 * them with IS_ENDED: nothing writes to the spool any more. *IS_DONE is false if the recorder was too busy: try again.
 * Afterwards the facts are those of the end, if it has ended. Fails if the process has executed another program.
 */
int sxt_spool_catch_up(struct sxt_spool *spool, const uint8_t *data, int fd, bool is_ended, bool *is_done,
                       sxt_error *error);

/* The number of blocks that a block of SIZE bytes in a sample counts as. */
double sxt_spool_weight(uint64_t period, uint64_t size);

/* The number of frees that were left out so far. */
uint64_t sxt_spool_unmatched(const struct sxt_spool *spool);

/* A search that is not the last one ends early, without success, when *STOP is set. */
void sxt_spool_set_stop(struct sxt_spool *spool, const atomic_bool *stop);

/* Whether the process that a followed spool is of has executed another program since. */
bool sxt_spool_is_over(const struct sxt_spool *spool, const uint8_t *data);

/* --- spool_checkpoint.c, spool_consume.c: events that were taken out of the spool --- */

/*
 * The events that were given out up to a checkpoint are in the first SIZE bytes of another file: a trace with event
 * blocks that has HEADER in place of what the file begins with, and no metadata. Stacks in its events have the numbers
 * that they have in the spool; MARKERs have the number of the marker less 1.
 */
struct sxt_spool_consumed {
    sxt_string name; /* of the file, which is in the folder of the spool */
    uint64_t size;
    uint64_t event_count;
    uint64_t time; /* of the last event; the spool knows it */
    uint8_t header[SXT_MLYZE_HEADER_SIZE];
};

/* From now on, what is given out by a followed spool may be consumed. */
void sxt_spool_consume(struct sxt_spool *spool);

/*
 * Writes a checkpoint into the spool FD, whose first page is mapped at HEAD: everything that was given out is in the
 * file that CONSUMED describes. If this fails, or the process ends before it is done, the checkpoint before it counts.
 */
int sxt_spool_save_checkpoint(struct sxt_spool *spool, uint8_t *head, int fd, const struct sxt_spool_consumed *consumed,
                              sxt_error *error);

/* How the room of windows is given back to the file system: fallocate, or what a test has in its place. */
typedef int sxt_spool_punch(int fd, int mode, int64_t offset, int64_t size);

/*
 * Releases the windows that are not needed after the checkpoint; DATA is the mapped spool. They are not read again,
 * also where the file system cannot take room back from a file: *IS_PUNCHED says whether it can.
 */
int sxt_spool_release(struct sxt_spool *spool, const uint8_t *data, uint8_t *head, int fd, sxt_spool_punch *punch,
                      bool *is_punched, sxt_error *error);

/* Bytes of a followed spool that have not been released; SIZE is that of the file. */
uint64_t sxt_spool_left(const struct sxt_spool *spool, uint64_t size);

/* Moves what was released to the spool that follows the next program of the process. */
void sxt_spool_inherit(struct sxt_spool *spool, struct sxt_spool *from);

/* The name of the file for events that a peeked spool has, also if those are of an earlier program. Empty: none. */
sxt_string sxt_spool_events_name(const struct sxt_spool *spool);

/* What was taken out of a spool that was opened; NULL: nothing. */
const struct sxt_spool_consumed *sxt_spool_get_consumed(const struct sxt_spool *spool);

/*
 * Before anything is read from an opened spool: the events that were taken out of it, in order. LIVE becomes what is
 * live after each.
 */
int sxt_spool_replay(struct sxt_spool *spool, const sxt_trace_event *events, struct sxt_spool_live *live, size_t count,
                     sxt_error *error);

/* --- spool_watch.c: a spool that the recorder writes, and that `record` may consume at the same time --- */

/* A block that an event ended: a FREE, or an ALLOC at an address that was live. */
struct sxt_spool_ended {
    uint64_t size;
    uint32_t stack;
    uint16_t thread;
    bool is_there;
};

/*
 * As sxt_spool_follow, but goes on from the newest checkpoint, if there is one: sxt_spool_get_consumed says which
 * events come before it. They are to be given to sxt_spool_watch_replay before anything is read. `record` must not save
 * a checkpoint during this call, nor from sxt_spool_catch_up to the end of reading.
 */
int sxt_spool_watch(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);

/* As sxt_spool_open, for sxt_spool_watch_read: nothing writes to the spool any more. */
int sxt_spool_watch_whole(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);

/* Whether a newer checkpoint was saved since the spool was opened, or another program was executed. */
bool sxt_spool_is_stale(const struct sxt_spool *spool, const uint8_t *data);

/* As sxt_spool_read and sxt_spool_replay, with the block that each event ended. */
int sxt_spool_watch_read(struct sxt_spool *spool, sxt_trace_event *events, struct sxt_spool_ended *ended,
                         size_t capacity, size_t *count, sxt_error *error);
int sxt_spool_watch_replay(struct sxt_spool *spool, const sxt_trace_event *events, struct sxt_spool_ended *ended,
                           size_t count, sxt_error *error);

/* Takes back the last event that was not taken back yet. False if memory is short. */
bool sxt_spool_watch_undo(struct sxt_spool *spool, const sxt_trace_event *event, const struct sxt_spool_ended *ended);

/* Moves the blocks that are live from one spool to another. */
void sxt_spool_watch_move(struct sxt_spool *to, struct sxt_spool *from);

/* The facts as they are by now. Their lists are valid until the spool is used again. */
const struct sxt_spool_facts *sxt_spool_watch_facts(struct sxt_spool *spool);

/* Only finds out what was taken out of a spool, and where its content is: there are no events and no facts. */
int sxt_spool_peek(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error);

/* The next part at or after *START that has content. False if there is none before SIZE. */
bool sxt_spool_next_part(const struct sxt_spool *spool, uint64_t size, uint64_t *start, uint64_t *end);

#endif
