/* api.c: the functions that sextant/heap.h calls in a recorded program. */
#include <errno.h>
#include <string.h>

#include "recorder/recorder.h"

#define MARKER_MOST 1024

void sextant_heap_marker(const char *name);
void sextant_heap_start(void);
void sextant_heap_stop(void);
void sextant_heap_alloc(const void *block, size_t size);
void sextant_heap_free(const void *block);
void sextant_heap_gc(uint64_t objects, uint64_t bytes);

EXPORTED void sextant_heap_marker(const char *name)
{
    struct writer *writer = name != NULL ? sxt_enter(0, false) : NULL;
    if (writer == NULL)
        return;
    size_t size = strlen(name);
    sxt_put_event(writer, sxt_ticks(), SXT_SPOOL_MARKER, name, size < MARKER_MOST ? size : MARKER_MOST);
    sxt_leave(writer);
}

EXPORTED void sextant_heap_gc(uint64_t objects, uint64_t bytes)
{
    uint64_t figures[2] = {objects, bytes};
    struct writer *writer = sxt_enter(0, false);
    if (writer == NULL)
        return;
    sxt_put_event(writer, sxt_ticks(), SXT_SPOOL_GC, figures, sizeof figures);
    sxt_leave(writer);
}

EXPORTED void sextant_heap_alloc(const void *block, size_t size)
{
    struct place place = PLACE_OF_CALLER();
    struct writer *writer = block != NULL ? sxt_enter(0, false) : NULL;
    if (writer == NULL)
        return;
    sxt_record_alloc(writer, block, size, &place);
    sxt_leave(writer);
}

EXPORTED void sextant_heap_free(const void *block)
{
    struct writer *writer = block != NULL ? sxt_enter(0, false) : NULL;
    if (writer == NULL)
        return;
    sxt_record_free(writer, block, sxt_ticks());
    sxt_leave(writer);
}

/* While recording is stopped, frees are still recorded. */
EXPORTED void sextant_heap_start(void)
{
    __atomic_store_n(&sxt_recording.paused, false, __ATOMIC_RELAXED);
}

EXPORTED void sextant_heap_stop(void)
{
    __atomic_store_n(&sxt_recording.paused, true, __ATOMIC_RELAXED);
}
