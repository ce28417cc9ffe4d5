/* live.c: the heap of a program that is being recorded. */
#include "view/kind.h"

static bool recognises(const char *path, sxt_kind kind)
{
    (void)path;
    (void)kind;
    return false;
}

const struct sxt_view_kind sxt_view_live_heap = {
    .name = "running program",
    .title = "Heap",
    .template = SXT_PAGE_HEAP,
    .recognises = recognises,
};
