/*
 * lookup.c: the frames of many addresses of a binary. Allocates nothing unless a chain is very long, or an archive is
 * read by ranges.
 */
#include <stdlib.h>

#include "archive/archive.h"
#include "base/error.h"
#include "catalog/private.h"
#include "symbols/symbols.h"

#define BATCH      128
#define FRAMES     512
#define PAD_FRAMES 32
#define LOADED     4096 /* addresses whose parts of an archive are fetched together */

/* Room for the frames of a batch. */
struct room {
    sxt_frame *frames;
    size_t capacity;
    sxt_frame *allocated; /* NULL while the room on the stack is enough */
    bool are_whole;       /* frames of ranges are extended to whole ranges */
};

/* The longest chain that an archive can have is one frame for each of its rows. */
static int grow(struct room *room, size_t wanted, sxt_error *error)
{
    sxt_frame *moved = wanted <= SIZE_MAX / sizeof *moved ? realloc(room->allocated, wanted * sizeof *moved) : NULL;
    if (moved == NULL)
        return sxt_fail_memory(error, wanted * sizeof *moved);
    room->frames = room->allocated = moved;
    room->capacity = wanted;
    return SXT_OK;
}

/* Addresses that are not known become the last one, which nothing has. */
static void translate(const struct sxt_catalog_binary *binary, const struct sxt_catalog_question *question, size_t at,
                      size_t count, uint64_t *out, bool *is_known)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t address = question->addresses[at + i];
        is_known[i] = !question->are_returns || address > 0;
        address -= question->are_returns;
        if (question->are_offsets && is_known[i])
            is_known[i] = binary->layout != NULL &&
                          sxt_archive_address_of_offset(binary->layout->archive, address, &address, NULL) == SXT_OK;
        out[i] = is_known[i] ? address : UINT64_MAX;
    }
}

/* A pad whose chain of COUNT frames does not fit in the room for one. */
static int answer_long_pad(const struct sxt_catalog_binary *binary, uint64_t address, size_t count, struct room *room,
                           size_t index, sxt_catalog_answer *answer, void *data, sxt_error *error)
{
    int status = count > room->capacity ? grow(room, count, error) : SXT_OK;
    if (status != SXT_OK)
        return status;
    sxt_archive_lookup(binary->pads->archive, address, room->frames, room->capacity);
    return answer(data, index, room->frames, count);
}

/* Answers COUNT addresses from the ranges; the first is INDEX of the question. */
static int answer_ranges(const struct sxt_catalog_binary *binary, const uint64_t *addresses, const bool *is_known,
                         size_t count, struct room *room, size_t index, sxt_catalog_answer *answer, void *data,
                         sxt_error *error)
{
    size_t first[BATCH + 1];
    int status = SXT_OK;
    for (size_t at = 0; at < count && status == SXT_OK;) {
        size_t done = 0;
        if (binary->ranges == NULL) {
            for (; done < count; done++)
                first[done] = 0;
            first[done] = 0;
        } else {
            done = sxt_archive_lookup_batch(binary->ranges->archive, addresses + at, count - at, room->frames,
                                            room->capacity, first);
        }
        if (done == 0)
            status = grow(room, 2 * room->capacity, error);
        for (size_t i = 0; i < done && status == SXT_OK; i++) {
            size_t frames = is_known[at + i] ? first[i + 1] - first[i] : 0;
            for (size_t k = 0; k < frames && room->are_whole; k++)
                sxt_archive_whole_range(binary->ranges->archive, &room->frames[first[i] + k]);
            status = answer(data, index + at + i, room->frames + first[i], frames);
        }
        at += done;
    }
    return status;
}

/* A pad wins for its address. Runs of addresses that have none go to the ranges together. */
static int answer_batch(const struct sxt_catalog_binary *binary, const uint64_t *addresses, const bool *is_known,
                        size_t count, struct room *room, size_t index, sxt_catalog_answer *answer, void *data,
                        sxt_error *error)
{
    sxt_frame frames[PAD_FRAMES];
    size_t begin = 0;
    int status = SXT_OK;
    for (size_t i = 0; i < count && binary->pads != NULL && status == SXT_OK; i++) {
        size_t found = is_known[i] ? sxt_archive_lookup(binary->pads->archive, addresses[i], frames, PAD_FRAMES) : 0;
        if (found == 0)
            continue;
        status = answer_ranges(binary, addresses + begin, is_known + begin, i - begin, room, index + begin, answer,
                               data, error);
        if (status == SXT_OK)
            status = found <= PAD_FRAMES
                         ? answer(data, index + i, frames, found)
                         : answer_long_pad(binary, addresses[i], found, room, index + i, answer, data, error);
        begin = i + 1;
    }
    if (status == SXT_OK)
        status = answer_ranges(binary, addresses + begin, is_known + begin, count - begin, room, index + begin, answer,
                               data, error);
    return status;
}

/* Answers COUNT addresses of the question from AT on. What is read by ranges is here. */
static int answer_some(const struct sxt_catalog_binary *binary, const struct sxt_catalog_question *question, size_t at,
                       size_t count, struct room *room, sxt_catalog_answer *answer, void *data, sxt_error *error)
{
    uint64_t addresses[BATCH];
    bool is_known[BATCH];
    int status = SXT_OK;
    for (size_t end = at + count; at < end && status == SXT_OK; at += BATCH) {
        size_t part = end - at < BATCH ? end - at : BATCH;
        translate(binary, question, at, part, addresses, is_known);
        status = answer_batch(binary, addresses, is_known, part, room, at, answer, data, error);
    }
    return status;
}

/* Fetches what the lookups read; many addresses together need fewer rounds. */
static int load_some(const struct sxt_catalog_binary *binary, const struct sxt_catalog_question *question, size_t at,
                     size_t count, sxt_error *error)
{
    uint64_t *addresses = malloc(count * sizeof *addresses);
    bool *is_known = malloc(count * sizeof *is_known);
    int status = addresses != NULL && is_known != NULL ? SXT_OK : sxt_fail_memory(error, count * sizeof *addresses);
    if (status == SXT_OK)
        translate(binary, question, at, count, addresses, is_known);
    if (status == SXT_OK && binary->pads != NULL)
        status = sxt_archive_load(binary->pads->archive, addresses, count, SXT_LOAD_FRAMES, error);
    if (status == SXT_OK && binary->ranges != NULL)
        status = sxt_archive_load(binary->ranges->archive, addresses, count,
                                  question->are_whole ? SXT_LOAD_ALL : SXT_LOAD_FRAMES, error);
    free(addresses);
    free(is_known);
    return status;
}

static int answer_ranged(const struct sxt_catalog_binary *binary, const struct sxt_catalog_question *question,
                         struct room *room, sxt_catalog_answer *answer, void *data, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t at = 0; at < question->count && status == SXT_OK; at += LOADED) {
        size_t count = question->count - at < LOADED ? question->count - at : LOADED;
        sxt_catalog_enter_archive(binary->ranges);
        sxt_catalog_enter_archive(binary->pads);
        status = load_some(binary, question, at, count, error);
        if (status == SXT_OK)
            status = answer_some(binary, question, at, count, room, answer, data, error);
        sxt_catalog_leave_archive(binary->pads);
        sxt_catalog_leave_archive(binary->ranges);
        sxt_catalog_forget_parts(binary->catalog);
    }
    return status;
}

int sxt_catalog_lookup(struct sxt_catalog_binary *binary, const struct sxt_catalog_question *question,
                       sxt_catalog_answer *answer, void *data, sxt_error *error)
{
    sxt_frame frames[FRAMES];
    struct room room = {.frames = frames, .capacity = FRAMES, .are_whole = question->are_whole};
    int status = sxt_catalog_is_ranged(binary)
                     ? answer_ranged(binary, question, &room, answer, data, error)
                     : answer_some(binary, question, 0, question->count, &room, answer, data, error);
    free(room.allocated);
    return status;
}

/* --- what callers need besides frames --- */

static bool first_address(const struct sxt_catalog_opened *opened, uint64_t *address)
{
    const struct sxt_model_module *module = opened != NULL ? sxt_archive_module(opened->archive) : NULL;
    if (module == NULL || module->segment_count == 0 || module->is_relocatable)
        return false;
    *address = module->segments[0].address;
    for (size_t i = 1; i < module->segment_count; i++)
        if (module->segments[i].address < *address)
            *address = module->segments[i].address;
    return true;
}

uint64_t sxt_catalog_base_address(const struct sxt_catalog_binary *binary)
{
    uint64_t address = 0;
    if (!first_address(binary->layout, &address) && !first_address(binary->ranges, &address) &&
        !first_address(binary->pads, &address))
        return 0;
    return address;
}

/* What it needs of the archive is here. */
static bool function_range(const struct sxt_catalog_binary *binary, uint64_t address, const sxt_frame *outer,
                           uint64_t *start, uint64_t *size)
{
    sxt_frame frames[PAD_FRAMES], whole = *outer;
    if (binary->pads != NULL) { /* the frame may be that of a pad, which is one byte long */
        size_t count = sxt_archive_lookup(binary->ranges->archive, address, frames, PAD_FRAMES);
        if (count == 0 || count > PAD_FRAMES)
            return false;
        whole = frames[count - 1];
    }
    sxt_archive_whole_range(binary->ranges->archive, &whole);
    *start = whole.start;
    *size = whole.length;
    return true;
}

bool sxt_catalog_function_range(const struct sxt_catalog_binary *binary, uint64_t address, const sxt_frame *outer,
                                uint64_t *start, uint64_t *size)
{
    if (binary->ranges == NULL)
        return false;
    sxt_catalog_enter_archive(binary->ranges);
    bool found = sxt_archive_load(binary->ranges->archive, &address, 1, SXT_LOAD_ALL, NULL) == SXT_OK &&
                 function_range(binary, address, outer, start, size);
    sxt_catalog_leave_archive(binary->ranges);
    return found;
}
