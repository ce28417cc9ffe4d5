/*
 * encode.h: the spool, which the recorder writes while the program runs. The recorder includes this header and runs in
 * other people's processes: the header allocates nothing, calls nothing, and includes no other header of ours.
 * spool_head.c and spool.c read the spool.
 *
 *     | header 256, as in mlyze.h | control, up to 4096 | window | window | ...
 *
 * Windows are pieces of the file that the recorder has mapped, so their content survives any end of the process. A
 * window is a multiple of 16 KiB and belongs to a stream, which is written by one thread at a time; it begins with a
 * struct sxt_spool_window, and words of 64 bits follow up to the first that is 0. When it is full, it is copied to the
 * end of the file and cleared; of windows with the same stream and sequence, the one with more in it counts. A record
 * is one word or more, and its first word is stored last:
 *
 *     bits 0-2 kind   3-15 ticks since the record before   16-63 depends on the kind
 *
 *     ALLOC   address (48 bits); a word with size (32 bits, low) and stack (32 bits)
 *     FREE    address
 *     TIME    in bits 3-63: ticks, when there are more than 13 bits of them; belongs to the record after it
 *     WIDE    1: an ALLOC, 2: a FREE; three words with address, size, stack, for what does not fit above
 *     NOTE    16-31 a sxt_spool_note, 32-63 its size in bytes; that many bytes, padded with zeros to whole words
 *
 * All numbers are little-endian, which is the byte order of the machine.
 */
#ifndef SXT_MLYZE_ENCODE_H
#define SXT_MLYZE_ENCODE_H

#include <stdint.h>

#define SXT_SPOOL_CONTROL_OFFSET 256
#define SXT_SPOOL_WINDOWS_OFFSET 4096
#define SXT_SPOOL_UNIT           16384u /* windows begin at multiples of it, from SXT_SPOOL_WINDOWS_OFFSET on */
#define SXT_SPOOL_WINDOW_MOST    (1u << 20)
#define SXT_SPOOL_VERSION        1
#define SXT_SPOOL_CONTROL_MAGIC  0x43545853u /* "SXTC" */
#define SXT_SPOOL_WINDOW_MAGIC   0x57545853u /* "SXTW" */
#define SXT_SPOOL_CHUNK_MAGIC    0x4b545853u /* "SXTK" */
#define SXT_SPOOL_FRAMES_MOST    128
#define SXT_SPOOL_CHILDREN_MOST  640
#define SXT_SPOOL_STACKS_MOST    (1u << 22) /* ids of stacks are below */
#define SXT_SPOOL_NO_STACK       0u         /* used when the recorder's table is full */

enum sxt_spool_option {
    SXT_SPOOL_MAPPINGS = 1, /* mmap and munmap too */
    SXT_SPOOL_FOLLOW = 2,   /* children write spools too */
    SXT_SPOOL_TSC = 4       /* ticks are those of the processor's counter; otherwise nanoseconds */
};

enum sxt_spool_state {
    SXT_SPOOL_WAITING = 0, /* the recorder has not started yet */
    SXT_SPOOL_RECORDING = 1,
    SXT_SPOOL_ASKED = 2,     /* stopped, because `stop` was set */
    SXT_SPOOL_DISK_FULL = 3, /* or a limit on the size of files */
    SXT_SPOOL_NO_MEMORY = 4,
    SXT_SPOOL_FILE_GONE = 5, /* the descriptor was closed, and the file cannot be opened again */
    SXT_SPOOL_CONFINED = 6   /* the program forbids system calls that the recorder needs */
};

/* Two moments on both clocks, at the beginning and at the end, turn ticks into microseconds. */
struct sxt_spool_moment {
    uint64_t tick;
    uint64_t nanoseconds; /* CLOCK_MONOTONIC */
};

struct sxt_spool_control {
    uint32_t magic, version;
    uint32_t options; /* a set of sxt_spool_option */
    uint32_t state;   /* a sxt_spool_state */
    uint32_t stop;    /* set by others: stop recording */
    uint32_t pid;
    uint32_t parent;        /* of a process that was forked: its parent */
    uint32_t image;         /* number of exec calls; windows of earlier programs are ignored */
    uint32_t own_allocator; /* the program has a malloc that the recorder does not see */
    uint32_t started_by;    /* of a child that executed a program: its parent then; otherwise 0 */
    uint64_t period;        /* of sampling in bytes; 0: everything */
    uint64_t tail;          /* end of the last window that was given out */
    uint64_t dropped;       /* events that were lost */
    uint64_t start_us;      /* CLOCK_REALTIME at `first` */
    struct sxt_spool_moment first, last;
    uint32_t child_count; /* processes that were started; the list has the last ones, at their number modulo its size */
    uint32_t children[SXT_SPOOL_CHILDREN_MOST]; /* process numbers; SXT_SPOOL_CHILD_FAILED is added to some of them */
    uint32_t double_children;                   /* of child_count: those that are counted twice, or did not run */
    uint32_t has_status; /* 1: `status` is what waitpid says; 2: the program called exit with it */
    uint32_t status;
    uint32_t unknown_children;     /* of child_count: those whose number is not known, and that have no recorder */
    struct sxt_spool_moment began; /* when the recorder was loaded into this program */
    uint64_t anonymous;            /* most bytes of anonymous memory that were seen while the program ran */
    uint64_t checkpoint;           /* offset of the newest checkpoint; 0: nothing was consumed. See below */
    uint64_t released;             /* bytes of the file that were given back to the file system */
};

#define SXT_SPOOL_CHILD_FAILED 0x80000000u /* it has no spool because the file could not be created */

struct sxt_spool_window {
    uint32_t magic;
    uint32_t size; /* of the window, with this header */
    uint32_t image;
    uint32_t stream;
    uint32_t sequence; /* in the stream, from 0 */
    uint32_t thread;
    uint64_t tick; /* that the first record is relative to */
};

/*
 * What `record` adds to the spool while it consumes it, in place of a window. The recorder does not read chunks.
 *
 * CHECKPOINT   what was consumed, and how to go on from there: see spool_checkpoint.c. Only the newest one counts.
 * NOTES        records of kind NOTE that were in windows which are consumed. `previous` is the NOTES chunk before it.
 */
enum sxt_spool_chunk_kind { SXT_SPOOL_CHECKPOINT = 1, SXT_SPOOL_NOTES = 2 };

struct sxt_spool_chunk {
    uint32_t magic;
    uint32_t kind; /* a sxt_spool_chunk_kind */
    uint32_t image;
    uint32_t crc; /* CRC32C of this header, with 0 here, and of the stored bytes */
    uint64_t size;
    uint64_t stored_size; /* bytes that follow: a zstd frame */
    uint64_t previous;    /* the newest NOTES chunk before this chunk, which has a lower offset; 0: none */
};

enum sxt_spool_kind {
    SXT_SPOOL_END = 0,
    SXT_SPOOL_ALLOC = 1,
    SXT_SPOOL_FREE = 2,
    SXT_SPOOL_TIME = 3,
    SXT_SPOOL_WIDE = 4,
    SXT_SPOOL_NOTE = 5
};

enum sxt_spool_note {
    SXT_SPOOL_STACK = 1,  /* u32 id, u32 generation, u64 return addresses, innermost first; see below */
    SXT_SPOOL_MODULE = 2, /* struct sxt_spool_module, then the path, then the build ID */
    SXT_SPOOL_THREAD = 3, /* u32 number, u32 system's number, name: the thread that writes the records after this one */
    SXT_SPOOL_MARKER = 4, /* text */
    SXT_SPOOL_GC = 5,     /* u64 objects, u64 bytes */
    SXT_SPOOL_UNLOAD = 6, /* u64 start, u64 end, u32 generation, u32 0: a module was unloaded */
    SXT_SPOOL_MAPPING = 7, /* struct sxt_spool_mapping */
    SXT_SPOOL_COMMAND = 8  /* words of the command line, each with its NUL; several notes are one text */
};

/*
 * What a u64 of a stack is, other than a return address. Addresses do not have these bits.
 *
 * INTERRUPTED   an address at which a signal came, or the beginning of a function to which the outermost one returns:
 *               the instruction itself counts, not the call before it
 * SIGNAL        the frame by which a signal handler returns
 * CUT           the last one: the stack has more frames than are recorded
 */
#define SXT_SPOOL_FRAME_INTERRUPTED ((uint64_t)1 << 63)
#define SXT_SPOOL_FRAME_SIGNAL      ((uint64_t)1 << 62)
#define SXT_SPOOL_FRAME_CUT         UINT64_MAX

/*
 * A call that changed what is mapped, as the program made it: spool_mappings.c finds out which blocks begin and end.
 * Sizes are whole pages. What takes memory away has the time before the call, all others the time after it.
 */
enum sxt_spool_mapping_call {
    SXT_SPOOL_MAP = 1,      /* new memory, also where other memory was */
    SXT_SPOOL_UNMAP = 2,    /* also other memory that does not count, in its place */
    SXT_SPOOL_PROTECT = 3,  /* changes what is accessible */
    SXT_SPOOL_MOVE_OUT = 4, /* goes to where the next MOVE_IN of the same stream says */
    SXT_SPOOL_MOVE_IN = 5,
    SXT_SPOOL_COPY = 6, /* a second mapping, of the old address and size, which stays */
    SXT_SPOOL_GROW = 7  /* in place, from the old size */
};

struct sxt_spool_mapping {
    uint16_t call; /* a sxt_spool_mapping_call */
    uint16_t is_accessible;
    uint32_t stack; /* of a call that may begin a block */
    uint64_t address, size;
    uint64_t old_address, old_size;
};

/*
 * A loaded file. It is valid from this generation up to, not including, that of its UNLOAD: every unloading begins a
 * new generation, because another file may then use the same addresses.
 */
struct sxt_spool_module {
    uint64_t start, end; /* addresses of the loaded segments */
    uint64_t bias;       /* what was added to the addresses in the file */
    uint32_t generation;
    uint16_t path_size;
    uint16_t build_id_size;
};

/* The processor's cycle counter; 0 on machines without one. Only used if it is the same for all processors. */
static inline uint64_t sxt_spool_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

#define SXT_SPOOL_TICKS_SHIFT   3
#define SXT_SPOOL_TICKS_MOST    0x1fffu
#define SXT_SPOOL_VALUE_SHIFT   16
#define SXT_SPOOL_ADDRESS_LIMIT ((uint64_t)1 << 48)

static inline uint64_t sxt_spool_word(enum sxt_spool_kind kind, uint64_t ticks, uint64_t value)
{
    return (uint64_t)kind | ticks << SXT_SPOOL_TICKS_SHIFT | value << SXT_SPOOL_VALUE_SHIFT;
}

/* The first word of a NOTE with SIZE bytes. */
static inline uint64_t sxt_spool_note_word(enum sxt_spool_note note, uint64_t ticks, uint32_t size)
{
    return sxt_spool_word(SXT_SPOOL_NOTE, ticks, (uint64_t)note | (uint64_t)size << 16);
}

#endif
