/*
 * recorder.h: what the files of the recorder share.
 *
 * The recorder is loaded into programs that do not know of it. So it never ends them, never prints, preserves errno,
 * calls an allocator only for the program, and waits for no lock while the program allocates. On failure, recording
 * stops and the control page of the spool says why.
 */
#ifndef SXT_RECORDER_RECORDER_H
#define SXT_RECORDER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mlyze/encode.h"

#define LIKELY(condition)   __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define EXPORTED            __attribute__((visibility("default")))

#define FRAMES_MOST         SXT_SPOOL_FRAMES_MOST

/* Where a hook was called from: the registers that a walk over the stack starts with. */
struct place {
    uintptr_t pc, stack_pointer, frame_pointer;
};

#if defined(__aarch64__)
/* Return addresses may be signed. Processors without signatures execute the instruction that strips them as a nop. */
static inline uintptr_t plain_address(uintptr_t address)
{
    register uintptr_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link));
    return link;
}
#else
static inline uintptr_t plain_address(uintptr_t address)
{
    return address;
}
#endif

/* Where a hook returns to. Use it in the hook itself. */
#define CALLER() plain_address((uintptr_t)__builtin_return_address(0))

/* Use it in the hook itself, which is compiled with a frame pointer. */
#define PLACE_OF_CALLER()                                                                                              \
    ((struct place){CALLER(), (uintptr_t)__builtin_dwarf_cfa(), *(const uintptr_t *)__builtin_frame_address(0)})

/* The linker defines them: where the recorder itself begins and ends. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static inline bool sxt_is_own_code(uintptr_t address)
{
    return address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* --- start.c: the process as a whole --- */

/*
 * On a page that the kernel zeroes in a child, whichever function forked it. So a child never records by mistake, and
 * never writes into the windows of its parent.
 */
struct alive {
    uint32_t is_alive;
};

struct process {
    struct alive *alive;               /* never NULL; a zeroed one while nothing is recorded */
    struct sxt_spool_control *control; /* in the spool; NULL while nothing is recorded */
    bool with_mappings;
    bool use_counter;                /* ticks are the processor's */
    struct sxt_spool_control *first; /* in the spool of the first process, which lists the others; NULL: unknown */
    uint64_t period;
    uint32_t image;
    bool is_disabled;    /* this process will not record (any more) */
    bool paused;         /* by the program, through sextant/heap.h */
    uint64_t last_ticks; /* the time does not go on from here; 0: it does */
    bool is_confined;    /* a filter of the program forbids system calls that the recorder makes: see seccomp.c */
};

extern struct process sxt_recording;

/* Starts recording when the recorder is loaded, if the environment asks for it. The command line has COUNT words. */
void sxt_start_early(int count, char **words);
/*
 * Starts recording if that has not happened yet, or in a forked child with its own spool. Is it active now? To be
 * called with signals blocked, by a thread that is busy.
 */
bool sxt_start(void);

/* Stops recording; REASON goes to the control page. */
void sxt_stop(enum sxt_spool_state reason);

struct writer;

/* Writes the command line of the program to the spool. */
void sxt_put_command(struct writer *writer);

/* Notes the end of the program, with the status that it gave to exit. */
void sxt_note_end(int status);

/* The current time on both clocks. */
void sxt_note_moment(struct sxt_spool_moment *moment);

/* --- children.c --- */

/* Adds a process to the list, unless it is there. True: it was added. */
bool sxt_child_add(long pid);
/* Adds a process that cannot be followed, because there is no spool for it. */
void sxt_child_add_failed(long pid);
/* Removes a process that was added but did not run. */
void sxt_child_remove(long pid);
/* Counts a process whose number is not known, and that the recorder is not loaded into. */
void sxt_child_count(void);

/* What a program needs in its environment so that it is recorded. */
void sxt_environment_keep(void);
/* Is the recorder in this environment? */
bool sxt_environment_has_recorder(char *const *environment);
/*
 * ENVIRONMENT if the recorder is in it, or does not belong there; otherwise a copy with it. COPY has to be unmapped in
 * any case.
 */
struct environment_copy {
    char **entries;
    size_t size; /* 0: there is none */
};
char *const *sxt_environment_for(char *const *environment, long pid, struct environment_copy *copy);

/* --- start.c --- */

/* Is this process, or the program that it executes, to be recorded? PID is its number. */
bool sxt_is_followed(long pid);
/* Is it the process that `record` started? */
bool sxt_is_first(long pid);
/* Makes a spool for a process that will execute a program, so that it does not depend on the first one. */
bool sxt_child_prepare(long pid);
/* Removes it: nothing was executed. */
void sxt_child_abandon(long pid);

/* --- window.c: writing --- */

/* A frame of the last walk. Outer frames are often the same the next time; see walk.c. */
struct known_frame {
    uintptr_t pc, stack_pointer, frame_pointer;
    uintptr_t link_slot;  /* where the caller's address was read; or FRAME_SIGNAL, FRAME_BASE */
    uintptr_t frame_slot; /* where the caller's frame pointer was read; 0: it is still in the register */
    uint64_t hash;        /* of this frame and all outer ones */
    bool uses_frame;      /* its caller is found through the frame pointer */
    bool needs_frame;     /* it, or an outer frame with the same frame pointer, uses_frame */
};

#define FRAME_SIGNAL ((uintptr_t)1) /* the kernel pushed this frame: the caller was interrupted */
#define FRAME_BASE   ((uintptr_t)2) /* the outermost frame begins where its function begins: nothing was called */

/* The rule for a return address. */
struct known_rule {
    uint64_t key; /* the address; 0: none */
    uint64_t rule;
};

#define RECENT_BITS 9

struct module {
    uintptr_t start, end;
    uintptr_t code_start, code_end; /* all its code is between them */
    uintptr_t bias;
    const uint8_t *frame_table; /* .eh_frame_hdr; NULL when there is none */
    size_t frame_table_size;
    const struct module_name *name; /* see modules.c; NULL when it is not known */
};

/* A stream of records, and the other data of its thread. */
struct writer {
    uint64_t *at, *end; /* room in the window; both NULL: no window */
    uint64_t last;      /* ticks of the previous record */
    uint8_t *window;
    uint32_t window_size;
    uint32_t stream, sequence;
    uint32_t thread;
    uint32_t spare_count; /* windows that were mapped ahead, of SXT_SPOOL_WINDOW_MOST bytes */
    uint8_t *spare;       /* the next one of them */
    int64_t until_sample;
    uint64_t random;
    uintptr_t stack_top, stack_low; /* all memory between them is readable */
    struct writer *next_free;
    struct module module;   /* the last one looked up */
    uint32_t generation;    /* of the modules, when `frames` were walked */
    bool frames_are_usable; /* for the next walk */
    bool is_cut;            /* there are more frames; only valid if there are FRAMES_MOST */
    unsigned frame_count;
    struct known_frame frames[FRAMES_MOST];    /* outermost first */
    struct known_frame fresh[FRAMES_MOST];     /* innermost first: those of the current walk */
    struct known_rule rules[1 << RECENT_BITS]; /* of recent addresses */
    uint64_t pcs[FRAMES_MOST + 1];             /* here because stacks of threads and handlers may be small */
};

/* Maps the control page of the spool at PATH, which `record` made; or makes a spool LIKE another one. */
struct sxt_spool_control *sxt_spool_attach(const char *path);
struct sxt_spool_control *sxt_spool_create(const char *path, const struct sxt_spool_control *like);
/* Makes a spool like another one for process PID, which is not this one. False: there is one, or it failed. */
bool sxt_spool_leave(const char *path, const struct sxt_spool_control *like, uint32_t pid);
/* Maps the control page of a spool without using the spool. */
struct sxt_spool_control *sxt_spool_look(const char *path);
bool sxt_window_next(struct writer *writer);
/* Maps more windows than are needed now. */
void sxt_window_ahead(struct writer *writer);
void sxt_window_detach(const struct writer *writer);
void sxt_put_note(struct writer *writer, enum sxt_spool_note note, const void *first, size_t first_size,
                  const void *second, size_t second_size, const void *third, size_t third_size);
void sxt_put_wide(struct writer *writer, uint64_t ticks, unsigned what, uint64_t address, uint64_t size,
                  uint32_t stack);
void sxt_put_time(struct writer *writer, uint64_t ticks);
/* Writes a note that is an event: its time is written before it. */
void sxt_put_event(struct writer *writer, uint64_t ticks, enum sxt_spool_note note, const void *data, size_t size);

/* --- thread.c --- */

/* The signals that a thread had blocked before the recorder blocked all of them. */
struct signal_mask {
    uint64_t before;
    bool is_changed; /* false: the kernel did not block them */
};

struct thread {
    struct writer *writer; /* NULL before the first event, and after the end of the thread */
    struct writer *inner;  /* for signal handlers that interrupt the recorder; NULL until one did */
    bool busy;             /* an event is being recorded: a handler that interrupts it uses `inner` */
    bool is_blocked;       /* signals are blocked: whatever calls a hook now is the recorder itself */
    bool is_inner;         /* the event with blocked signals interrupted another one */
    bool is_stale;         /* forked while it was busy: the event belongs to the parent */
    bool ended;
    struct signal_mask mask; /* to be restored after the event with blocked signals */
    /*
     * While a function of an allocator runs that a hook has called: that call, and the object that the function is in.
     * `busy` is set then, so that the usual event does not have to check it. See library.c.
     */
    struct library_call *call;
    uintptr_t call_low, call_size;
    bool call_frees; /* it frees a block */
};

extern __thread struct thread sxt_thread __attribute__((tls_model("initial-exec")));

/* Blocks the signals of this thread. Those of the C library by which all threads change their user are not blocked. */
struct signal_mask sxt_signals_block(void);
void sxt_signals_restore(const struct signal_mask *mask);

/* sxt_enter if recording has not started, or the thread has no writer, or recording is to stop. */
struct writer *sxt_enter_slow(void);
/* sxt_enter in a signal handler that interrupted the recorder, or under a hook that has called an allocator. */
struct writer *sxt_enter_interrupted(uintptr_t caller, bool frees);
void sxt_leave_slow(struct writer *writer);
void sxt_thread_name(struct writer *writer);
/* In a forked child: forgets the writers, which belong to the parent. */
void sxt_writers_forget(void);
/*
 * In a forked child, whose parent had this WRITER. If the fork interrupted the recorder, the interrupted code
 * continues, and what it writes is discarded.
 */
void sxt_thread_forked(const struct writer *writer);

/*
 * Begins recording an event; NULL: nothing is recorded. Otherwise sxt_leave must follow. The thread is busy before
 * anything else is read, so a fork in a signal handler cannot separate what was read from what is used. CALLER is
 * the code that called the hook; 0: the event is recorded in any case. FREES: it is the end of a block.
 */
static inline struct writer *sxt_enter(uintptr_t caller, bool frees)
{
    struct thread *thread = &sxt_thread;
    if (UNLIKELY(thread->busy))
        return sxt_enter_interrupted(caller, frees);
    thread->busy = true;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct writer *writer = thread->writer;
    if (UNLIKELY(sxt_recording.alive->is_alive == 0) || UNLIKELY(writer == NULL) ||
        UNLIKELY(__atomic_load_n(&sxt_recording.control->stop, __ATOMIC_RELAXED) != 0))
        return sxt_enter_slow();
    return writer;
}

static inline void sxt_leave(struct writer *writer)
{
    if (UNLIKELY(sxt_thread.is_blocked)) {
        sxt_leave_slow(writer);
        return;
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    sxt_thread.busy = false;
}

/* --- memory.c: the recorder's own memory, from system calls that no hook sees --- */

void *sxt_map_memory(size_t size); /* zeroed; NULL: out of memory */
void sxt_unmap_memory(void *memory, size_t size);

/* --- allocator.c --- */

/* Does the program have a sanitizer? Only the program may use its allocator. */
bool sxt_has_sanitizer(void);
/* Does an object before the recorder define malloc, such as an executable with an allocator linked in? */
bool sxt_has_other_malloc(void);

/* The path that the recorder was loaded from. */
const char *sxt_own_path(void);

/* Where a function is defined. */
struct definition {
    uintptr_t address;
    uintptr_t low, size; /* the object that defines it */
    bool is_indirect;    /* the function at the address returns the address of the real one */
    bool has_malloc;     /* the object defines malloc too */
    bool is_cpp_runtime; /* the object is the C++ library */
};

/* The first definition in the objects that were loaded after the recorder, in the order of the search for symbols. */
bool sxt_find_definition(const char *name, struct definition *found);

/* --- library.c --- */

/* After an object was unloaded: forgets the functions that library_hooks.c calls, because they may be gone. */
void sxt_libraries_forget(void);

/* --- walk.c, rules.c, modules.c, stacks.c: which stack an event has --- */

/* How to get from a frame to its caller, in one word; 0 is none. See rules.c. */
typedef uint64_t frame_rule;

/* The canonical frame address (CFA) is the end of a frame: the stack pointer of the caller after the return. */
enum rule_kind {
    RULE_NONE,       /* not known yet */
    RULE_FROM_STACK, /* the CFA is the stack pointer + offset */
    RULE_FROM_FRAME, /* the CFA is the frame pointer + offset */
    RULE_FROM_LOAD,  /* the CFA is stored at the frame pointer - offset: the code realigns its stack */
    RULE_SIGNAL,     /* the kernel pushed this frame, with all registers in it */
    RULE_GUESS,      /* the tables have no rule, or one that is not supported; perhaps there is a frame pointer. With an
                        offset other than 0: no call is before it */
    RULE_OUTERMOST,  /* with an offset other than 0: nothing was called, as at the base of a coroutine */
    RULE_STRAY       /* not a return address: what is there was never called */
};

#define RULE_MAKE(kind, cfa, frame, link)                                                                              \
    ((frame_rule)(kind) | (frame_rule)(cfa) << 3 | (frame_rule)(frame) << 27 | (frame_rule)(link) << 43)
#define RULE_KIND(rule) ((enum rule_kind)((rule)&7))
/* From the register to the CFA. */
#define RULE_CFA_OFFSET(rule) ((uintptr_t)((rule) >> 3 & 0xffffff))
/* From the CFA down to the saved frame pointer; 0: it is not saved. */
#define RULE_FRAME_OFFSET(rule) ((uintptr_t)((rule) >> 27 & 0xffff))
/* From the CFA down to the return address. */
#define RULE_LINK_OFFSET(rule) ((uintptr_t)((rule) >> 43 & 0xffff))

/* The rule for the frame with the return address PC; INTERRUPTED: with the instruction PC, which called nothing. */
frame_rule sxt_rule_find(const struct module *module, uintptr_t pc, bool interrupted);

/*
 * The module at an address; scans for new ones if it is not known. NULL: the code is in no file. Valid until the next
 * call with the same writer.
 */
const struct module *sxt_module_at(struct writer *writer, uintptr_t address);
void sxt_modules_begin(void); /* early: the working directory must not have changed */
void sxt_modules_scan(struct writer *writer);
void sxt_modules_forget(void);
uint32_t sxt_generation(void);

/* Walks over the stack and leaves its frames in the writer: the innermost ones, at most FRAMES_MOST. */
void sxt_walk(struct writer *writer, const struct place *place);
bool sxt_rules_make(void);
bool sxt_is_readable(uintptr_t address);
/* Finds out in advance that the next SIZE bytes of the stack are readable. */
void sxt_stack_ahead(struct writer *writer, size_t size);
/* Forgets the rules of these return addresses: other code is there from now on. */
void sxt_rules_forget(uintptr_t start, uintptr_t end);
/* Are there rules for code that is in no file? */
bool sxt_rules_outside_modules(void);

/* The number of the stack that was walked; a new one is written to the spool. */
uint32_t sxt_stack_number(struct writer *writer);
bool sxt_stacks_make(void);
void sxt_stacks_forget(void);

/* --- sample.c --- */

/* Is this allocation part of the sample? */
bool sxt_sample_take(struct writer *writer, size_t size);
/* Remember and forget that ADDRESS is in the sample. False: the table is full; or ADDRESS was not in it. */
bool sxt_sample_remember(uintptr_t address);
bool sxt_sample_forget(uintptr_t address);
bool sxt_sample_make(void);

/* --- event.c: what the hooks call --- */

uint64_t sxt_ticks_slow(void);

static inline uint64_t sxt_ticks(void)
{
    return LIKELY(sxt_recording.use_counter) ? sxt_spool_counter() : sxt_ticks_slow();
}

void sxt_record_alloc(struct writer *writer, const void *block, size_t size, const struct place *place);
void sxt_record_free(struct writer *writer, const void *block, uint64_t ticks);

#endif
