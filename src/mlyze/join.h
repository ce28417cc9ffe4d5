/* join.h: several traces as one. Private to join*.c; the trace room uses the function in mlyze.h. */
#ifndef SXT_MLYZE_JOIN_H
#define SXT_MLYZE_JOIN_H

#include "base/strings.h"
#include "mlyze/analysis.h"
#include "mlyze/mlyze.h"

/* The ids of an input in the joined trace, by place in its metadata. */
struct sxt_join_ids {
    uint32_t *functions;
    uint32_t *files;
    uint32_t *stacks;
    uint16_t *threads; /* by thread: number + 1, or 0 */
};

struct sxt_join_names {
    struct sxt_strings functions, files; /* ids are their numbers - 1 */
    struct sxt_strings nodes;            /* frames with their callers */
    struct sxt_strings paths;            /* of loaded files; their places in "modules" are their numbers - 1 */
    struct sxt_function_modules modules; /* by id of a function */
    uint32_t *stack_of;                  /* by number of a node: id of the stack + 1, or 0 */
    size_t stack_of_capacity;
    uint32_t *leaves; /* by id of a stack */
    uint32_t stack_count;
    size_t leaf_capacity;
    struct sxt_join_ids *inputs;
    uint32_t thread_count; /* numbers that are given out; the last one is shared if there are too many */
    struct sxt_mlyze_join_thread *origins; /* by number of a thread in the joined trace */
    size_t origin_capacity;
    bool no_memory;
};

/* Gives ids to everything in the metadata of COUNT inputs. Free also what was not made. */
int sxt_join_names_make(const struct sxt_mlyze_join_input *inputs, size_t count, struct sxt_join_names *out,
                        sxt_error *error);
void sxt_join_names_free(struct sxt_join_names *names, size_t count);

/* An id in the joined trace; one that is not in the metadata, if that of the input is not. */
uint32_t sxt_join_stack(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t input,
                        uint32_t id);
uint32_t sxt_join_function(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t input,
                           uint32_t id);

/* The number of a thread in the joined trace. Those that the metadata does not name get the next ones. Sets no_memory.
 */
uint16_t sxt_join_thread(struct sxt_join_names *names, size_t input, uint16_t thread);

/* Appends the metadata of the joined trace. DURATION is that of all processes, 0 if it is unknown. */
void sxt_join_write_names(const struct sxt_join_names *names, const struct sxt_mlyze_join_input *inputs, size_t count,
                          uint64_t duration, struct sxt_buffer *out);

#endif
