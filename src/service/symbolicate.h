/* symbolicate.h: what POST /symbolicate/v5 is asked. Private to this room. */
#ifndef SXT_SERVICE_SYMBOLICATE_H
#define SXT_SERVICE_SYMBOLICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/strings.h"
#include "service/codes.h"

/* The most of each in one request. */
#define SXT_SYMBOLICATE_JOBS      10000
#define SXT_SYMBOLICATE_MODULES   10000   /* different ones */
#define SXT_SYMBOLICATE_FRAMES    1048576 /* and stacks, and entries of memory maps */

#define SXT_SYMBOLICATE_NO_MODULE UINT32_MAX

struct sxt_symbolicate_frame {
    uint64_t offset;  /* in the loaded module */
    uint32_t module;  /* SXT_SYMBOLICATE_NO_MODULE: the frame is in none */
    bool is_negative; /* the offset is -1, which stands for an unknown one */
};

struct sxt_symbolicate_stack {
    size_t first, count; /* of frames */
};

/* An entry of a memory map. Each name with each id is there once, however many jobs have it. */
struct sxt_symbolicate_module {
    sxt_string name, id; /* as the client spells them */
};

struct sxt_symbolicate_job {
    size_t first_entry, entry_count; /* of memory_map */
    size_t first_stack, stack_count;
};

/* A request: {"jobs":[{"memoryMap":[[name,id],…],"stacks":[[[module,offset],…],…]},…]}, or one job without "jobs". */
struct sxt_symbolicate {
    struct sxt_symbolicate_job *jobs;
    size_t job_count;
    struct sxt_symbolicate_module *modules;
    size_t module_count;
    const uint32_t *memory_map; /* numbers of modules */
    const struct sxt_symbolicate_stack *stacks;
    const struct sxt_symbolicate_frame *frames;
    size_t frame_count;
    struct sxt_buffer jobs_memory, modules_memory, map_memory, stacks_memory, frames_memory;
    struct sxt_strings keys; /* of modules: name, a zero byte, id */
    struct sxt_arena arena;
};

/* Reads a request. *CODE says what is wrong with it. The caller frees OUT even after a failure. */
int sxt_symbolicate_read(struct sxt_symbolicate *out, const char *text, size_t size, enum sxt_code *code,
                         sxt_error *error);
size_t sxt_symbolicate_memory(const struct sxt_symbolicate *asked); /* that it takes, in bytes */
void sxt_symbolicate_free(struct sxt_symbolicate *asked);

#endif
