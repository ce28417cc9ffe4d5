/*
 * heap_calls.h: the stacks of heap traces as a tree of calls, for pages. Node 0 is the root, and the others come after
 * their callers. Frames and functions are numbered from 1; 0 is none.
 */
#ifndef SXT_REPORT_HEAP_CALLS_H
#define SXT_REPORT_HEAP_CALLS_H

#include <sextant/trace_view.h>

#include "base/buffer.h"
#include "base/strings.h"

struct sxt_heap_calls_function {
    uint32_t name, shorter, file; /* numbers of strings */
    bool is_library;
};

struct sxt_heap_calls_frame {
    uint32_t function, line;
};

struct sxt_heap_calls_node {
    uint32_t parent, frame;
};

struct sxt_heap_calls {
    struct sxt_strings strings;
    struct sxt_heap_calls_function *functions;
    size_t function_count, function_capacity;
    struct sxt_heap_calls_frame *frames;
    size_t frame_count, frame_capacity;
    struct sxt_heap_calls_node *nodes;
    size_t node_count, node_capacity;
    struct sxt_strings function_keys, frame_keys, node_keys; /* numbers of the same things, by what they consist of */
    char *shortened;
    size_t shortened_capacity;
    bool ignores_folders; /* functions of files with the same name are the same, wherever the files are */
    bool no_memory;
};

int sxt_heap_calls_init(struct sxt_heap_calls *calls, sxt_error *error);
void sxt_heap_calls_free(struct sxt_heap_calls *calls);

/* The node of a stack, which is added if it is new. Failures are sticky: see no_memory. */
uint32_t sxt_heap_calls_add(struct sxt_heap_calls *calls, const sxt_trace *trace, uint32_t stack);

/* The same without the SKIPPED innermost frames. */
uint32_t sxt_heap_calls_add_outer(struct sxt_heap_calls *calls, const sxt_trace *trace, uint32_t stack,
                                  uint32_t skipped);

/* The number of a frame, which is added if it is new. */
uint32_t sxt_heap_calls_add_frame(struct sxt_heap_calls *calls, const sxt_trace_frame *frame);

/* Of a node, the frame of the innermost function that is not of a library, or its own frame. */
uint32_t sxt_heap_calls_user_frame(const struct sxt_heap_calls *calls, uint32_t node);

/*
 * A node below "(small stacks)" below PARENT, with the frames USER and LEAF, or with one if they are the same. USER 0
 * is no frame.
 */
uint32_t sxt_heap_calls_add_small(struct sxt_heap_calls *calls, uint32_t parent, uint32_t user, uint32_t leaf);

/*
 * Drops the nodes that are not needed. TO has for each node 1 if it is needed; its callers are then needed, too.
 * Afterwards TO has the new numbers.
 */
int sxt_heap_calls_prune(struct sxt_heap_calls *calls, uint32_t *to, sxt_error *error);

/* Appends strings, functions, frames and nodes as columns. */
void sxt_heap_calls_write(const struct sxt_heap_calls *calls, struct sxt_buffer *table);

#endif
