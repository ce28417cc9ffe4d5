/* folded.c: finds out which of several folded functions the callers in a profile mean. */
#include "profile/folded.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sort.h"
#include "base/string.h"
#include "demangle/demangle.h"

#define NAME_MAX_SIZE ((size_t)2 << 20)

/* The calls of folded functions in all samples. */
struct calls {
    const struct sxt_pprof *pprof;
    uint32_t *folded_of;         /* by location: one more than its place among the folded ones; 0 if it is not one */
    struct sxt_sort_item *items; /* key: place and caller */
    size_t count, capacity;
};

static bool note_call(void *data, uint32_t callee, uint32_t caller)
{
    struct calls *calls = data;
    uint32_t place = callee != SXT_PPROF_NONE ? calls->folded_of[callee] : 0;
    if (place == 0 || calls->pprof->locations[callee].mapping != calls->pprof->locations[caller].mapping)
        return true;
    uint64_t key = (uint64_t)place << 32 | caller;
    if (calls->count > 0 && calls->items[calls->count - 1].key == key)
        return true;
    struct sxt_sort_item *items = sxt_array_grow(calls->items, &calls->capacity, calls->count + 1, sizeof *items);
    if (items == NULL || calls->count >= UINT32_MAX)
        return false;
    calls->items = items;
    items[calls->count++] = (struct sxt_sort_item){key, 0};
    return true;
}

/* The function of a name that a call has; SXT_PPROF_NONE when out of memory. */
static uint32_t function_of(struct sxt_pprof *pprof, sxt_string name, bool mangled)
{
    struct sxt_pprof_function function = {0};
    struct sxt_buffer readable;
    sxt_buffer_init(&readable, NAME_MAX_SIZE);
    function.name = function.system_name = sxt_pprof_name(pprof, name.data, name.size);
    if (!mangled && sxt_demangle(name, &readable))
        function.name = sxt_pprof_name(pprof, (const char *)readable.data, readable.size);
    sxt_buffer_free(&readable);
    bool fine = function.name != SXT_STRINGS_FULL && function.system_name != SXT_STRINGS_FULL;
    return fine ? sxt_pprof_function(pprof, &function) : SXT_PPROF_NONE;
}

/* Chooses for one callee and one caller. False when out of memory. */
static bool choose(struct sxt_pprof *pprof, const sxt_archive *archive, const struct sxt_folded *folded,
                   uint32_t caller, uint64_t looked_up, bool mangled)
{
    sxt_string name;
    /* A profiler may have moved the address into the call already. */
    if (looked_up == 0 || (!sxt_archive_called(archive, &folded->frame, looked_up + 1, &name) &&
                           !sxt_archive_called(archive, &folded->frame, looked_up + 2, &name)))
        return true;
    bool is_same = sxt_string_equal(name, folded->frame.function);
    uint32_t function = function_of(pprof, name, mangled);
    return function != SXT_PPROF_NONE && sxt_pprof_choose(pprof, folded->location, caller, function, is_same);
}

int sxt_choose_folded(struct sxt_pprof *pprof, const sxt_archive *archive, const uint64_t *virtual_of,
                      const struct sxt_folded *folded, size_t count, bool mangled, sxt_error *error)
{
    struct calls calls = {.pprof = pprof, .folded_of = calloc(pprof->location_count + 1, sizeof *calls.folded_of)};
    if (calls.folded_of == NULL)
        return sxt_fail_memory(error, pprof->location_count * sizeof *calls.folded_of);
    for (size_t i = 0; i < count; i++)
        calls.folded_of[folded[i].location] = (uint32_t)i + 1;
    int status = sxt_pprof_visit_calls(pprof, note_call, &calls, error);
    struct sxt_sort_item *scratch = malloc((calls.count + 1) * sizeof *scratch);
    if (status == SXT_OK && scratch == NULL)
        status = sxt_fail_memory(error, calls.count * sizeof *scratch);
    if (status == SXT_OK && calls.count > 0)
        sxt_sort(calls.items, scratch, calls.count);
    for (size_t i = 0; i < calls.count && status == SXT_OK; i++) {
        uint64_t key = calls.items[i].key;
        uint32_t caller = (uint32_t)key;
        if (i > 0 && calls.items[i - 1].key == key)
            continue;
        if (!choose(pprof, archive, &folded[(key >> 32) - 1], caller, virtual_of[caller], mangled))
            status = sxt_fail_memory(error, sizeof *folded);
    }
    free(scratch);
    free(calls.items);
    free(calls.folded_of);
    return status;
}
