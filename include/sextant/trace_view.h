/*
 * sextant/trace_view.h: heap traces for people: short names, stacks with the frames of libraries folded, tables of what
 * is shown, and the history of an address. sextant/trace.h has the traces and the analyses.
 */
#ifndef SEXTANT_TRACE_VIEW_H
#define SEXTANT_TRACE_VIEW_H

#include <sextant/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- names for people --- */

/*
 * Writes NAME to OUT, which has room for NAME.size bytes, with template arguments and long parameters folded and
 * without return type: "std::basic_string<>::append(char const*)". Returns the size, which may be 0 only if NAME's is.
 */
SXT_API size_t sxt_trace_shorten_name(sxt_string name, char *out);

/* Whether a frame belongs to the library of its language (C, C++, Rust, Go's runtime, CPython), and not to the user. */
SXT_API bool sxt_trace_is_library_frame(const sxt_trace_frame *frame);

/* What is shown of a stack. All zero: every frame. */
typedef struct sxt_heap_view {
    uint32_t depth;       /* the most frames that the stack has, the innermost ones; 0: all */
    uint32_t frames;      /* the most frames that are shown; 0: all */
    bool folds_library;   /* of library frames in a row, only the outermost is shown; after the last user frame none */
    bool shortens_names;  /* names that differ only in what sxt_trace_shorten_name drops are the same */
    uintptr_t least_part; /* of trees: nodes with less than 1/N of the cost of the root are left out; 0: none are */
    uintptr_t reserved[3];
} sxt_heap_view;

typedef struct sxt_heap_shown_frame {
    sxt_trace_frame frame;
    uint32_t index;  /* in the stack */
    uint32_t folded; /* library frames inside of it that are not shown */
    bool is_library;
} sxt_heap_shown_frame;

/*
 * Fills OUT with the frames of a stack that are shown, at most CAPACITY, and returns how many. *LEFT is how many frames
 * of user code, and of libraries before the last of them, come after these.
 */
SXT_API size_t sxt_trace_show_stack(const sxt_trace *trace, uint32_t stack, const sxt_heap_view *view,
                                    sxt_heap_shown_frame *out, size_t capacity, uint32_t *left);

/* --- tables and trees --- */

/*
 * As sxt_heap_table_make, for a VIEW: stacks of which the same is shown are one row, with the lowest of their ids, and
 * so are functions whose names are shown alike.
 */
SXT_API int sxt_heap_table_make_view(const sxt_heap_usage *usage, sxt_heap_key key, sxt_heap_cost cost, uint64_t limit,
                                     const sxt_heap_view *view, sxt_heap_table **out, sxt_error *error);

/* As sxt_heap_tree_make, of the frames that a VIEW shows. */
SXT_API int sxt_heap_tree_make_view(const sxt_heap_usage *usage, sxt_heap_cost cost, bool bottom_up,
                                    const sxt_heap_view *view, sxt_heap_tree **out, sxt_error *error);

/* --- addresses --- */

/* Something that happened to an address: a block that it is in was allocated, or ended. */
typedef struct sxt_heap_address_event {
    bool is_free;      /* otherwise the block was allocated */
    bool is_implicit;  /* it ended because its address was allocated again */
    bool is_unmatched; /* a FREE of the address, and no block that it is in is known; then only time and address are */
    uint16_t thread;   /* that allocated the block */
    uint32_t stack;    /* that allocated it: see sxt_trace_same_stack; SXT_TRACE_NO_ID: unknown */
    uint64_t time;
    uint64_t address;   /* of the block */
    uint64_t size;      /* of the block */
    uint64_t allocated; /* when */
    uintptr_t reserved[2];
} sxt_heap_address_event;

/*
 * Calls VISIT for everything that happened to ADDRESS, in order, until it returns false. A block of 0 bytes has only
 * its own address. Fails like sxt_trace_visit_events.
 */
SXT_API int sxt_trace_visit_address(const sxt_trace *trace, uint64_t address,
                                    bool (*visit)(void *data, const sxt_heap_address_event *event), void *data,
                                    sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
