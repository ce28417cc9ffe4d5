/* show.c: what is shown of the stacks of a trace, and of an address. */
#include <stdlib.h>

#include "base/error.h"
#include "trace/trace.h"

#define AT_ONCE 64

static unsigned kind_of(void *data, const struct sxt_mlyze_frame *frame)
{
    const sxt_trace *trace = data;
    return sxt_heap_frame_kind(sxt_trace_function_name(trace, frame->function),
                               sxt_trace_file_name(trace, frame->file));
}

size_t sxt_trace_show_stack(const sxt_trace *trace, uint32_t stack, const sxt_heap_view *view,
                            sxt_heap_shown_frame *out, size_t capacity, uint32_t *left)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace->mlyze);
    struct sxt_heap_chosen few[AT_ONCE];
    struct sxt_heap_chosen *chosen = capacity <= AT_ONCE ? few : malloc(capacity * sizeof *chosen);
    if (chosen == NULL) {
        chosen = few;
        capacity = AT_ONCE;
    }
    size_t count = sxt_heap_choose_frames(metadata, sxt_mlyze_find_stack(metadata, stack), view, kind_of,
                                          (void *)(uintptr_t)trace, chosen, capacity, left);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_mlyze_frame *frame = chosen[i].frame;
        out[i] = (sxt_heap_shown_frame){
            .frame = {.function = sxt_trace_function_name(trace, frame->function),
                      .file = sxt_trace_file_name(trace, frame->file),
                      .function_id = frame->function,
                      .file_id = frame->file,
                      .line = frame->line},
            .index = chosen[i].index,
            .folded = chosen[i].folded,
            .is_library = chosen[i].is_library,
        };
    }
    if (chosen != few)
        free(chosen);
    return count;
}

int sxt_trace_visit_address(const sxt_trace *trace, uint64_t address,
                            bool (*visit)(void *data, const sxt_heap_address_event *event), void *data,
                            sxt_error *error)
{
    struct sxt_heap_watch watch = {
        .metadata = sxt_mlyze_metadata(trace->mlyze), .address = address, .visit = visit, .data = data};
    if (!sxt_heap_watch_open(&watch))
        return sxt_fail_memory(error, sizeof watch);
    int status = sxt_trace_visit_events(trace, sxt_heap_watch_take, &watch, NULL, error);
    if (watch.no_memory)
        status = sxt_fail_memory(error, sizeof watch);
    sxt_heap_watch_close(&watch);
    return status;
}
