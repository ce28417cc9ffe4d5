/* export_folded.c: stacks for flame graph scripts, one a line. */
#include "base/error.h"
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

int sxt_heap_export_folded(const sxt_heap_usage *usage, sxt_heap_cost cost, struct sxt_buffer *out, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    struct sxt_mlyze_path path = {0};
    int status = SXT_OK;
    for (size_t i = 0; i < usage->site_count && status == SXT_OK; i++) {
        const sxt_heap_site *site = &usage->sites[i];
        const struct sxt_mlyze_stack *stack = sxt_heap_frames(usage, site->stack);
        uint64_t value = sxt_heap_cost_of(&site->sums, cost);
        char room[24];
        if (value == 0 || (cost == SXT_HEAP_COST_LEAKED && site->is_suppressed))
            continue;
        if (stack == NULL || stack->count == 0)
            sxt_buffer_print(out, "stack_%u", site->stack);
        else if (!sxt_mlyze_find_path(metadata, stack, &path))
            status = sxt_fail_memory(error, (size_t)stack->count * sizeof *path.nodes);
        for (uint32_t k = stack != NULL && stack->count > 0 ? path.count : 0; k > 0; k--) {
            const struct sxt_mlyze_frame *frame = &sxt_mlyze_node_at(metadata, path.nodes[k - 1])->frame;
            put_name(out, sxt_mlyze_function(metadata, frame->function, room));
            if (k > 1)
                sxt_buffer_u8(out, ';');
        }
        sxt_buffer_print(out, " %llu\n", (unsigned long long)value);
    }
    sxt_mlyze_path_free(&path);
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}
