/* export_folded.c: stacks for flame graph scripts, one a line. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/strings.h"
#include "mlyze/analysis.h"

/* ";" separates frames and a line ends with "\n", so neither may be in a name. */
static void put_name(struct sxt_buffer *out, sxt_string name)
{
    if (name.size == 0)
        sxt_buffer_u8(out, '?');
    for (size_t i = 0; i < name.size; i++) {
        unsigned char letter = (unsigned char)name.data[i];
        sxt_buffer_u8(out, letter == ';' ? ':' : letter < ' ' ? '?' : letter);
    }
}

struct folded {
    const sxt_heap_usage *usage;
    struct sxt_mlyze_path path;
    struct sxt_buffer line;   /* of one stack, without its cost */
    struct sxt_strings lines; /* number N + 1 is that of cost N */
    uint64_t *costs;
    size_t capacity;
};

/* False if memory is short. */
static bool put_stack(struct folded *folded, uint32_t id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(folded->usage->trace);
    const struct sxt_mlyze_stack *stack = sxt_heap_frames(folded->usage, id);
    char room[24];
    sxt_buffer_clear(&folded->line);
    if (stack == NULL || stack->count == 0) {
        sxt_buffer_print(&folded->line, "stack_%u", id);
        return !folded->line.failed;
    }
    if (!sxt_heap_find_path(folded->usage, stack, &folded->path))
        return false;
    for (uint32_t k = folded->path.count; k > 0; k--) {
        const struct sxt_mlyze_frame *frame = sxt_mlyze_node_frame(metadata, folded->path.nodes[k - 1]);
        put_name(&folded->line, sxt_mlyze_function(metadata, frame->function, room));
        if (k > 1)
            sxt_buffer_u8(&folded->line, ';');
    }
    return !folded->line.failed;
}

/* Stacks that differ only in lines or files are one line of text. */
static bool add_line(struct folded *folded, uint64_t cost)
{
    uint32_t number = sxt_strings_add(&folded->lines, (const char *)folded->line.data, folded->line.size);
    if (number == SXT_STRINGS_FULL || number == 0)
        return false;
    size_t known = folded->capacity;
    uint64_t *moved = sxt_array_grow(folded->costs, &folded->capacity, number, sizeof *moved);
    if (moved == NULL)
        return false;
    folded->costs = moved;
    memset(moved + known, 0, (folded->capacity - known) * sizeof *moved);
    folded->costs[number - 1] += cost;
    return true;
}

int sxt_heap_export_folded(const sxt_heap_usage *usage, sxt_heap_cost cost, struct sxt_buffer *out, sxt_error *error)
{
    struct folded folded = {.usage = usage};
    int status = sxt_strings_init(&folded.lines, 0, error);
    if (status != SXT_OK)
        return status;
    sxt_buffer_init(&folded.line, (size_t)1 << 30);
    for (size_t i = 0; i < usage->sites.count && status == SXT_OK; i++) {
        uint64_t value = sxt_heap_sites_cost(&usage->sites, i, cost);
        if (value == 0 || !sxt_heap_sites_is_shown(&usage->sites, i, cost))
            continue;
        if (!put_stack(&folded, sxt_heap_record(&usage->sites, i)->stack) || !add_line(&folded, value))
            status = sxt_fail_memory(error, folded.lines.bytes);
    }
    for (uint32_t i = 1; i < folded.lines.count && status == SXT_OK; i++) {
        sxt_string line = sxt_strings_get(&folded.lines, i);
        sxt_buffer_append(out, line.data, line.size);
        sxt_buffer_print(out, " %llu\n", (unsigned long long)folded.costs[i - 1]);
    }
    sxt_mlyze_path_free(&folded.path);
    sxt_strings_free(&folded.lines);
    sxt_buffer_free(&folded.line);
    free(folded.costs);
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}
