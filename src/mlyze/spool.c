/* spool.c: reads a spool: its windows, and the notes in them about stacks, files and threads. */
#include "mlyze/spool.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/search.h"
#include "mlyze/spool_private.h"

/* Instead of a number: the stack is used, but its frames were not found yet. */
#define STACK_UNKNOWN UINT32_MAX
#define COMMAND_MOST  (1u << 20) /* bytes of a command line; what is longer is cut */

static int find_pieces(struct sxt_spool *spool, const uint8_t *data, size_t size, uint32_t image, sxt_error *error);
static int read_notes(struct sxt_spool *spool, sxt_error *error);

int sxt_spool_new(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error)
{
    *out = NULL;
    if (!sxt_spool_is(data, size))
        return sxt_spool_check(data, size, error);
    struct sxt_spool *spool = calloc(1, sizeof *spool);
    if (spool == NULL)
        return sxt_fail_memory(error, sizeof *spool);
    sxt_arena_init(&spool->kept, 0, sxt_arena_separate_default);
    int status = sxt_strings_init(&spool->markers, 0, error);
    if (status == SXT_OK)
        status = sxt_spool_take_control(spool, data, error);
    if (status == SXT_OK && (spool->stack_numbers = calloc(SXT_SPOOL_STACKS_MOST, sizeof(uint32_t))) == NULL)
        status = sxt_fail_memory(error, SXT_SPOOL_STACKS_MOST * sizeof(uint32_t));
    if (status != SXT_OK)
        sxt_spool_close(&spool);
    *out = spool;
    return status;
}

int sxt_spool_open(const uint8_t *data, size_t size, struct sxt_spool **out, sxt_error *error)
{
    struct sxt_spool *spool;
    int status = sxt_spool_new(data, size, &spool, error);
    if (status == SXT_OK)
        status = sxt_spool_resume(spool, data, size, error);
    if (status == SXT_OK)
        status = find_pieces(spool, data, size, sxt_spool_read_control(data).image, error);
    if (status == SXT_OK)
        status = read_notes(spool, error);
    if (status == SXT_OK)
        status = sxt_spool_merge_begin(spool, error);
    if (status != SXT_OK)
        sxt_spool_close(&spool);
    *out = spool;
    return status;
}

void sxt_spool_close(struct sxt_spool **spool)
{
    struct sxt_spool *all = *spool;
    if (all == NULL)
        return;
    sxt_spool_merge_end(all);
    sxt_strings_free(&all->markers);
    free(all->pieces);
    free(all->stack_numbers);
    free(all->stacks);
    free(all->files);
    free(all->threads);
    free(all->children);
    sxt_buffer_free(&all->command);
    sxt_buffer_free(&all->log);
    free(all->spans);
    free(all->unloads);
    for (size_t i = 0; i < all->copy_count; i++)
        free(all->copies[i]);
    free(all->copies);
    sxt_arena_free(&all->kept);
    free(all);
    *spool = NULL;
}

const struct sxt_spool_facts *sxt_spool_facts(const struct sxt_spool *spool)
{
    return &spool->facts;
}

/* From two moments on both clocks. If they are too close or in the wrong order, a tick counts as a nanosecond. */
static double us_per_tick(const struct sxt_spool_control *control)
{
    double ticks = (double)(control->last.tick - control->first.tick);
    double nanoseconds = (double)(control->last.nanoseconds - control->first.nanoseconds);
    bool is_counter = (control->options & SXT_SPOOL_TSC) != 0;
    if (!is_counter || control->last.tick <= control->first.tick ||
        control->last.nanoseconds <= control->first.nanoseconds)
        return 0.001;
    double result = nanoseconds / ticks / 1000;
    return result > 1e-6 && result < 1 ? result : 0.001;
}

/* Keeps the children that have no spool because the file could not be created. Returns how many. */
static size_t take_failed_children(const struct sxt_spool_control *control, uint32_t *children)
{
    size_t count = 0;
    for (size_t i = 0; i < SXT_SPOOL_CHILDREN_MOST; i++)
        if ((control->children[i] & SXT_SPOOL_CHILD_FAILED) != 0)
            children[count++] = control->children[i] & ~SXT_SPOOL_CHILD_FAILED;
    return count;
}

/* A program may begin long after the recording: as a child, or executed by another program. Its time begins there. */
static void take_times(struct sxt_spool *spool, const struct sxt_spool_control *control)
{
    spool->first = control->first;
    spool->us_per_tick = us_per_tick(control);
    const struct sxt_spool_moment *began = &control->began, *last = &control->last;
    if (began->tick > control->first.tick && began->nanoseconds >= control->first.nanoseconds) {
        spool->facts.start_us += (began->nanoseconds - control->first.nanoseconds) / 1000;
        spool->first = *began;
    }
    if (began->tick != 0 && last->nanoseconds > began->nanoseconds)
        spool->facts.duration_us = (last->nanoseconds - began->nanoseconds) / 1000;
}

int sxt_spool_take_control(struct sxt_spool *spool, const uint8_t *data, sxt_error *error)
{
    struct sxt_spool_control control = sxt_spool_read_control(data);
    if (control.version != SXT_SPOOL_VERSION)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_SPOOL_CONTROL_OFFSET + 4, "recorded by another version (%u)",
                        (unsigned)control.version);
    const struct sxt_spool_facts before = spool->facts;
    if (spool->children == NULL) {
        sxt_buffer_init(&spool->command, COMMAND_MOST);
        spool->children = malloc(sizeof control.children);
    }
    if (spool->children == NULL)
        return sxt_fail_memory(error, sizeof control.children);
    spool->facts = (struct sxt_spool_facts){
        .start_us = control.start_us,
        .period = control.period,
        .dropped = control.dropped,
        .pid = control.pid,
        .parent = control.parent,
        .started_by = control.started_by,
        .state = control.state <= SXT_SPOOL_CONFINED ? (enum sxt_spool_state)control.state : SXT_SPOOL_RECORDING,
        .own_allocator = control.own_allocator != 0,
        .is_attached = control.image != 0,
        .children = spool->children,
        .child_count = take_failed_children(&control, spool->children),
        .started_children =
            control.child_count > control.double_children ? control.child_count - control.double_children : 0,
        .unknown_children = control.unknown_children,
        .has_status = control.has_status != 0,
        .status = (int)control.status,
        .anonymous = control.anonymous,
        .stack_count = before.stack_count, /* of notes that were read already */
        .file_count = before.file_count,
        .thread_count = before.thread_count,
    };
    take_times(spool, &control);
    return SXT_OK;
}

/* --- windows --- */

static int by_stream(const void *a, const void *b)
{
    const struct sxt_spool_piece *first = a, *second = b;
    if (first->stream != second->stream)
        return first->stream < second->stream ? -1 : 1;
    if (first->sequence != second->sequence)
        return first->sequence < second->sequence ? -1 : 1;
    return first->words < second->words ? -1 : first->words > second->words;
}

static int add_piece(struct sxt_spool *spool, const uint8_t *window, const struct sxt_spool_window *header,
                     sxt_error *error)
{
    void *moved = sxt_array_grow(spool->pieces, &spool->piece_capacity, spool->piece_count + 1, sizeof *spool->pieces);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *spool->pieces);
    spool->pieces = moved;
    spool->pieces[spool->piece_count++] = (struct sxt_spool_piece){
        .words = window + sizeof *header,
        .word_count = (header->size - sizeof *header) / 8,
        .tick = header->tick,
        .stream = header->stream,
        .sequence = header->sequence,
        .thread = header->thread,
    };
    return SXT_OK;
}

size_t sxt_spool_used_words(const struct sxt_spool_piece *piece)
{
    size_t count = piece->word_count;
    while (count > 0 && sxt_load_u64le(piece->words + (count - 1) * 8) == 0)
        count--;
    return count;
}

/* A window may be in the file twice, if the process ended while it was being copied. The fuller one counts. */
static void leave_out_copies(struct sxt_spool *spool)
{
    size_t kept = 0, used = SIZE_MAX; /* words of the last that is kept; SIZE_MAX: not counted */
    for (size_t i = 0; i < spool->piece_count; i++) {
        const struct sxt_spool_piece *piece = &spool->pieces[i];
        struct sxt_spool_piece *last = kept > 0 ? &spool->pieces[kept - 1] : NULL;
        if (last == NULL || last->stream != piece->stream || last->sequence != piece->sequence) {
            spool->pieces[kept++] = *piece;
            used = SIZE_MAX;
            continue;
        }
        size_t here = sxt_spool_used_words(piece);
        used = used == SIZE_MAX ? sxt_spool_used_words(last) : used;
        if (here > used) {
            *last = *piece;
            used = here;
        }
    }
    spool->piece_count = kept;
}

/* Whether the events and notes of a window were read before the checkpoint. */
static bool is_consumed(const struct sxt_spool *spool, const struct sxt_spool_window *header)
{
    const struct sxt_spool_way *way = sxt_spool_way_of(spool, header->stream);
    return way != NULL && header->sequence < way->sequence && header->sequence < way->noted_sequence;
}

static int find_pieces(struct sxt_spool *spool, const uint8_t *data, size_t size, uint32_t image, sxt_error *error)
{
    int status = SXT_OK;
    size_t next = 0;
    for (size_t at = SXT_SPOOL_WINDOWS_OFFSET; status == SXT_OK;) {
        struct sxt_spool_window header;
        at = sxt_spool_skip(spool, at, &next);
        if (at >= size || size - at <= sizeof header)
            break;
        memcpy(&header, data + at, sizeof header);
        size_t chunk = (size_t)sxt_spool_chunk_room(data, size, at), step = chunk > 0 ? chunk : SXT_SPOOL_UNIT;
        if (sxt_spool_is_window(&header)) {
            step = header.size;
            header.size = size - at < step ? (uint32_t)(size - at) : header.size;
            if (header.image == image && !is_consumed(spool, &header))
                status = add_piece(spool, data + at, &header, error);
        }
        if (size - at <= step)
            break;
        at += step;
    }
    if (spool->piece_count > 1)
        qsort(spool->pieces, spool->piece_count, sizeof *spool->pieces, by_stream);
    leave_out_copies(spool);
    /* An empty piece comes last: the way of a checkpoint may have none. */
    void *moved = sxt_array_grow(spool->pieces, &spool->piece_capacity, spool->piece_count + 1, sizeof *spool->pieces);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *spool->pieces);
    spool->pieces = moved;
    spool->pieces[spool->piece_count] = (struct sxt_spool_piece){0};
    return status;
}

/* --- records --- */

/* Reads the record at WORD of a piece. Returns its size in words, or 0 if there is none. Adds to *TICKS. */
static inline size_t read_record(const struct sxt_spool_piece *piece, size_t word, struct sxt_spool_record *record,
                                 uint64_t *ticks)
{
    const uint8_t *at = piece->words + word * 8;
    size_t left = piece->word_count - word;
    if (left == 0)
        return 0;
    uint64_t first = sxt_load_u64le(at);
    uint64_t value = first >> SXT_SPOOL_VALUE_SHIFT;
    record->kind = (enum sxt_spool_kind)(first & 7);
    if (record->kind == SXT_SPOOL_TIME) {
        *ticks += first >> SXT_SPOOL_TICKS_SHIFT;
        return 1;
    }
    *ticks += first >> SXT_SPOOL_TICKS_SHIFT & SXT_SPOOL_TICKS_MOST;
    record->address = value;
    switch (record->kind) {
    case SXT_SPOOL_FREE:
        return 1;
    case SXT_SPOOL_ALLOC:
        if (left < 2)
            return 0;
        record->size = sxt_load_u32le(at + 8);
        record->stack = sxt_load_u32le(at + 12);
        return 2;
    case SXT_SPOOL_WIDE:
        if (left < 4)
            return 0;
        record->kind = value == 2 ? SXT_SPOOL_FREE : SXT_SPOOL_ALLOC;
        record->address = sxt_load_u64le(at + 8);
        record->size = sxt_load_u64le(at + 16);
        record->stack = sxt_load_u32le(at + 24);
        return 4;
    case SXT_SPOOL_NOTE:
        record->address = 0;
        record->note = (enum sxt_spool_note)(value & 0xffff);
        record->data = at + 8;
        record->data_size = (uint32_t)(value >> 16);
        return ((uint64_t)record->data_size + 7) / 8 < left ? 1 + ((size_t)record->data_size + 7) / 8 : 0;
    default:
        return 0;
    }
}

bool sxt_spool_step(const struct sxt_spool *spool, struct sxt_spool_way *way)
{
    while (way->piece < way->piece_end) {
        const struct sxt_spool_piece *piece = &spool->pieces[way->piece];
        uint64_t ticks = 0;
        size_t words = read_record(piece, way->word, &way->record, &ticks);
        if (words == 0) {
            if (spool->is_followed && way->piece + 1 == way->piece_end)
                return false; /* more may come */
            way->piece++;
            way->word = way->ahead = 0;
            if (way->piece < way->piece_end) {
                way->thread = spool->pieces[way->piece].thread;
                if (way->tick < spool->pieces[way->piece].tick)
                    way->tick = spool->pieces[way->piece].tick;
            }
            continue;
        }
        way->word += words;
        way->tick = ticks < UINT64_MAX - way->tick ? way->tick + ticks : UINT64_MAX;
        if (way->record.kind != SXT_SPOOL_TIME)
            return true;
    }
    return false;
}

/* --- notes --- */

static int add_stack(struct sxt_spool *spool, uint32_t number, struct sxt_spool_stack stack, sxt_error *error)
{
    if (number >= SXT_SPOOL_STACKS_MOST)
        return SXT_OK;
    uint32_t known = spool->stack_numbers[number];
    if (known != 0 && known != STACK_UNKNOWN) {
        if (spool->stacks[known - 1].count == 0)
            spool->stacks[known - 1] = stack; /* it was used before its frames were found */
        return SXT_OK;
    }
    void *moved =
        sxt_array_grow(spool->stacks, &spool->stack_capacity, spool->facts.stack_count + 1, sizeof *spool->stacks);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *spool->stacks);
    spool->stacks = moved;
    spool->stacks[spool->facts.stack_count++] = stack;
    spool->stack_numbers[number] = (uint32_t)spool->facts.stack_count;
    return SXT_OK;
}

static int add_file(struct sxt_spool *spool, const struct sxt_spool_record *record, sxt_error *error)
{
    struct sxt_spool_module module;
    if (record->data_size < sizeof module)
        return SXT_OK;
    memcpy(&module, record->data, sizeof module);
    if ((size_t)module.path_size + module.build_id_size > record->data_size - sizeof module)
        return SXT_OK;
    void *moved =
        sxt_array_grow(spool->files, &spool->file_capacity, spool->facts.file_count + 1, sizeof *spool->files);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *spool->files);
    spool->files = moved;
    const char *path = (const char *)record->data + sizeof module;
    spool->files[spool->facts.file_count++] = (struct sxt_spool_file){
        .start = module.start,
        .end = module.end,
        .bias = module.bias,
        .first_generation = module.generation,
        .end_generation = UINT32_MAX,
        .path = {path, module.path_size},
        .build_id = {path + module.path_size, module.build_id_size},
    };
    return SXT_OK;
}

static int add_thread(struct sxt_spool *spool, const struct sxt_spool_record *record, sxt_error *error)
{
    if (record->data_size < 8)
        return SXT_OK;
    struct sxt_spool_thread thread = {
        .number = sxt_load_u32le(record->data),
        .system_number = sxt_load_u32le(record->data + 4),
        .name = {(const char *)record->data + 8, record->data_size - 8},
    };
    size_t count = spool->facts.thread_count;
    if (count > 0 && spool->threads[count - 1].number == thread.number) {
        spool->threads[count - 1] = thread;
        return SXT_OK;
    }
    void *moved = sxt_array_grow(spool->threads, &spool->thread_capacity, count + 1, sizeof *spool->threads);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *spool->threads);
    spool->threads = moved;
    spool->threads[spool->facts.thread_count++] = thread;
    return SXT_OK;
}

static int take_note(struct sxt_spool *spool, const struct sxt_spool_record *record, sxt_error *error)
{
    switch (record->note) {
    case SXT_SPOOL_STACK:
        if (record->data_size < 8)
            return SXT_OK;
        uint32_t count = record->data_size / 8 - 1;
        return add_stack(spool, sxt_load_u32le(record->data),
                         (struct sxt_spool_stack){
                             .frames = record->data + 8,
                             .count = count <= SXT_SPOOL_FRAMES_MOST ? count : SXT_SPOOL_FRAMES_MOST + 1,
                             .generation = sxt_load_u32le(record->data + 4),
                         },
                         error);
    case SXT_SPOOL_MODULE:
        return add_file(spool, record, error);
    case SXT_SPOOL_THREAD:
        return add_thread(spool, record, error);
    case SXT_SPOOL_COMMAND:
        sxt_buffer_append(&spool->command, record->data, record->data_size);
        return SXT_OK;
    case SXT_SPOOL_MARKER:
        if (sxt_strings_add(&spool->markers, sxt_spool_marker_text(record).data, sxt_spool_marker_text(record).size) ==
            SXT_STRINGS_FULL)
            return sxt_fail_memory(error, record->data_size);
        return SXT_OK;
    default:
        return SXT_OK;
    }
}

/* Stacks that were used before their frames were found, in order. */
struct remainder {
    uint32_t *stacks;
    size_t stack_count, stack_capacity;
};

static int remember_stack(struct sxt_spool *spool, struct remainder *rest, uint32_t number, sxt_error *error)
{
    void *moved = sxt_array_grow(rest->stacks, &rest->stack_capacity, rest->stack_count + 1, sizeof *rest->stacks);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *rest->stacks);
    rest->stacks = moved;
    rest->stacks[rest->stack_count++] = number;
    spool->stack_numbers[number] = STACK_UNKNOWN;
    return SXT_OK;
}

static int remember_unload(struct sxt_spool *spool, const struct sxt_spool_record *record, sxt_error *error)
{
    if (record->data_size < 24)
        return SXT_OK;
    void *moved =
        sxt_array_grow(spool->unloads, &spool->unload_capacity, spool->unload_count + 1, sizeof *spool->unloads);
    if (moved == NULL)
        return sxt_fail_memory(error, sizeof *spool->unloads);
    spool->unloads = moved;
    spool->unloads[spool->unload_count++] =
        (struct sxt_spool_unload){sxt_load_u64le(record->data), sxt_load_u32le(record->data + 16)};
    return SXT_OK;
}

int sxt_spool_number_stack(struct sxt_spool *spool, uint32_t stack, sxt_error *error)
{
    if (stack >= SXT_SPOOL_STACKS_MOST || spool->stack_numbers[stack] != 0)
        return SXT_OK;
    if (spool->is_consumed)
        sxt_spool_log_note(spool, SXT_SPOOL_STACK, (const uint32_t[]){stack, 0}, 8);
    return add_stack(spool, stack, (struct sxt_spool_stack){0}, error);
}

/* A note in a window that will change or be released is copied. */
static int keep_note(struct sxt_spool *spool, const struct sxt_spool_way *way, struct sxt_spool_record *record,
                     sxt_error *error)
{
    bool is_event = record->note == SXT_SPOOL_GC || record->note == SXT_SPOOL_MAPPING;
    if (is_event || (!spool->is_consumed && !spool->is_watched && !spool->pieces[way->piece].is_copy))
        return SXT_OK;
    record->data = (const uint8_t *)sxt_arena_copy(&spool->kept, record->data, record->data_size);
    if (record->data == NULL)
        return sxt_fail_memory(error, record->data_size);
    if (spool->is_consumed)
        sxt_spool_log_note(spool, record->note, record->data, record->data_size);
    return SXT_OK;
}

/* Every stack that an event has gets a number. */
static inline int use_stack(struct sxt_spool *spool, uint32_t stack, struct remainder *rest, sxt_error *error)
{
    stack = stack < SXT_SPOOL_STACKS_MOST ? stack : SXT_SPOOL_NO_STACK;
    if (__builtin_expect(spool->stack_numbers[stack] != 0, 1))
        return SXT_OK;
    return rest != NULL ? remember_stack(spool, rest, stack, error) : sxt_spool_number_stack(spool, stack, error);
}

/* REST may be NULL: then a stack without frames has a number at once, and gets its frames later. */
static int read_notes_of(struct sxt_spool *spool, struct sxt_spool_way *way, struct remainder *rest, sxt_error *error)
{
    int status = SXT_OK;
    while (status == SXT_OK && sxt_spool_step(spool, way)) {
        struct sxt_spool_record *record = &way->record;
        if (record->kind == SXT_SPOOL_ALLOC) {
            status = use_stack(spool, record->stack, rest, error);
        } else if (record->kind == SXT_SPOOL_NOTE) {
            status = keep_note(spool, way, record, error);
            if (status == SXT_OK && record->note == SXT_SPOOL_MAPPING && record->data_size >= 8)
                status = use_stack(spool, sxt_load_u32le(record->data + 4), rest, error);
            else if (status == SXT_OK)
                status = record->note == SXT_SPOOL_UNLOAD ? remember_unload(spool, record, error)
                                                          : take_note(spool, record, error);
        }
    }
    return status;
}

int sxt_spool_read_notes_of(struct sxt_spool *spool, struct sxt_spool_way *way, sxt_error *error)
{
    return read_notes_of(spool, way, NULL, error);
}

static int by_start(const void *a, const void *b)
{
    const struct sxt_spool_unload *first = a, *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return (first->generation > second->generation) - (first->generation < second->generation);
}

/* A file ends in the first later generation in which a file with its start was unloaded. */
static void end_files(struct sxt_spool *spool)
{
    if (spool->unload_count > 0)
        qsort(spool->unloads, spool->unload_count, sizeof *spool->unloads, by_start);
    for (size_t i = 0; i < spool->facts.file_count && spool->unload_count > 0; i++) {
        struct sxt_spool_file *file = &spool->files[i];
        struct sxt_spool_unload own = {file->start, file->first_generation};
        struct sxt_bisection search = {.high = spool->unload_count};
        while (sxt_bisect(&search))
            sxt_bisect_after(&search, by_start(&spool->unloads[search.middle], &own) <= 0);
        if (search.low < spool->unload_count && spool->unloads[search.low].start == file->start)
            file->end_generation = spool->unloads[search.low].generation;
    }
}

void sxt_spool_end_notes(struct sxt_spool *spool)
{
    end_files(spool);
    spool->facts.stacks = spool->stacks;
    spool->facts.files = spool->files;
    spool->facts.threads = spool->threads;
    spool->facts.markers = spool->markers.views;
    spool->facts.marker_count = spool->markers.count;
    spool->facts.command = (sxt_string){(const char *)spool->command.data, spool->command.size};
}

/* One pass over all records. Stacks whose note is missing have no frames. */
static int pass(struct sxt_spool *spool, sxt_error *error)
{
    struct remainder rest = {0};
    int status = SXT_OK;
    for (size_t i = 0; i < spool->piece_count && status == SXT_OK; i++) {
        struct sxt_spool_way way = {.piece = i, .piece_end = i + 1};
        const struct sxt_spool_way *before = sxt_spool_way_of(spool, spool->pieces[i].stream); /* of a checkpoint */
        if (before != NULL && spool->pieces[i].sequence < before->noted_sequence)
            continue;
        if (before != NULL && spool->pieces[i].sequence == before->noted_sequence)
            way.word =
                before->noted_word < spool->pieces[i].word_count ? before->noted_word : spool->pieces[i].word_count;
        status = read_notes_of(spool, &way, &rest, error);
    }
    for (size_t i = 0; i < rest.stack_count && status == SXT_OK; i++)
        status = add_stack(spool, rest.stacks[i], (struct sxt_spool_stack){0}, error);
    free(rest.stacks);
    return status;
}

static int read_notes(struct sxt_spool *spool, sxt_error *error)
{
    int status = pass(spool, error);
    sxt_spool_end_notes(spool);
    return status;
}
