/* note.h: how the hooks record what the real functions did. */
#ifndef SXT_RECORDER_NOTE_H
#define SXT_RECORDER_NOTE_H

#include "recorder/hooks.h"
#include "recorder/recorder.h"

static inline bool is_ready(void)
{
    return LIKELY(sxt_real_ready) || sxt_real_find();
}

/* Records that a hook returns BLOCK. */
static inline void *got(void *block, size_t size, struct place place)
{
    if (block == NULL)
        return NULL;
    struct writer *writer = sxt_enter(place.pc, false);
    if (LIKELY(writer != NULL)) {
        sxt_record_alloc(writer, block, size, &place);
        sxt_leave(writer);
    }
    return block;
}

/* Records that BLOCK will be freed. */
static inline void give_back(const void *block, uintptr_t caller)
{
    struct writer *writer = sxt_enter(caller, true);
    if (LIKELY(writer != NULL)) {
        sxt_record_free(writer, block, sxt_ticks());
        sxt_leave(writer);
    }
}

/* Records a realloc of OLD, begun at BEFORE, that returned BLOCK. Size 0 frees the old block, whatever is returned. */
static inline void moved(uintptr_t old, void *block, size_t size, uint64_t before, struct place place)
{
    if (block == NULL && (old == 0 || size != 0))
        return;
    struct writer *writer = sxt_enter(place.pc, false);
    if (writer == NULL)
        return;
    if (old != 0)
        sxt_record_free(writer, (const void *)old, old == (uintptr_t)block ? sxt_ticks() : before);
    if (block != NULL)
        sxt_record_alloc(writer, block, size, &place);
    sxt_leave(writer);
}

#endif
