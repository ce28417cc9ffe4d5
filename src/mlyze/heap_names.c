/* heap_names.c: what ids of a trace stand for. */
#include <stdio.h>

#include "mlyze/heap.h"

const struct sxt_mlyze_stack *sxt_heap_frames(const struct sxt_heap_usage *usage, uint32_t stack)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    return stack < metadata->stack_count && metadata->stacks[stack].exists ? &metadata->stacks[stack] : NULL;
}

sxt_string sxt_heap_thread_name(const struct sxt_heap_usage *usage, uint32_t thread)
{
    char key[16];
    snprintf(key, sizeof key, "%u", thread);
    const struct sxt_json *name =
        sxt_json_member(sxt_json_member(sxt_mlyze_metadata(usage->trace)->root, "threads"), key);
    return name != NULL && name->type == SXT_JSON_STRING ? name->string : (sxt_string){NULL, 0};
}
