/* analysis_bins.c: what each stack and thread allocated and freed, in bins of time. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "mlyze/bins.h"
#include "mlyze/live.h"

/* An entry of the bin that is open. */
struct open_entry {
    struct sxt_heap_bin_entry entry;
    uint64_t epoch; /* number of the peak that entry.peak_bytes belongs to */
    bool is_used;
};

struct sxt_heap_bins {
    uint64_t start, end; /* end: of the last bin, which is open */
    unsigned shift;      /* the width of a bin, as a power of two */
    uint64_t live_bytes;
    uint64_t epoch; /* number of the peak so far of the open bin */
    size_t entries_most;
    struct sxt_heap_bin *bins;
    size_t bin_count;
    struct sxt_heap_bin_entry *entries; /* of the bins before the last */
    size_t entry_count, entry_capacity;
    struct sxt_heap_bin_row *rows;
    size_t row_count, row_capacity;
    struct open_entry *open; /* by row */
    size_t open_capacity;
    uint32_t *used; /* rows with entries in the open bin */
    size_t used_count, used_capacity;
    struct sxt_live numbers;                       /* of rows, by site and thread */
    uint32_t (*group)(void *data, uint32_t stack); /* NULL: each stack counts by itself */
    void *group_data;
    bool no_memory;
};

void sxt_heap_bins_set_groups(struct sxt_heap_bins *bins, uint32_t (*group)(void *data, uint32_t stack), void *data)
{
    bins->group = group;
    bins->group_data = data;
}

uint32_t sxt_heap_bins_group(const struct sxt_heap_bins *bins, uint32_t stack)
{
    return bins->group != NULL ? bins->group(bins->group_data, stack) : stack;
}

struct sxt_heap_bins *sxt_heap_bins_new(size_t entries)
{
    struct sxt_heap_bins *bins = calloc(1, sizeof *bins);
    if (bins == NULL)
        return NULL;
    bins->entries_most = entries > 0 ? entries : SXT_HEAP_BIN_ENTRIES;
    bins->bins = malloc(SXT_HEAP_BINS_MOST * sizeof *bins->bins);
    if (!sxt_live_init(&bins->numbers) || bins->bins == NULL)
        sxt_heap_bins_free(&bins);
    else
        sxt_heap_bins_begin(bins, 0);
    return bins;
}

void sxt_heap_bins_free(struct sxt_heap_bins **of_bins)
{
    struct sxt_heap_bins *bins = *of_bins;
    if (bins == NULL)
        return;
    sxt_live_free(&bins->numbers);
    free(bins->bins);
    free(bins->entries);
    free(bins->rows);
    free(bins->open);
    free(bins->used);
    free(bins);
    *of_bins = NULL;
}

/* --- the open bin --- */

static void open_bin(struct sxt_heap_bins *bins, uint64_t time)
{
    struct sxt_heap_bin *bin = &bins->bins[bins->bin_count++];
    *bin = (struct sxt_heap_bin){.first = bins->entry_count, .peak_bytes = bins->live_bytes, .peak_time = time};
    bins->epoch++;
}

/* Where the last bin ends; UINT64_MAX if that is after all times. */
static void find_end(struct sxt_heap_bins *bins)
{
    uint64_t width = (uint64_t)1 << bins->shift, count = bins->bin_count;
    bins->end = count <= (UINT64_MAX - bins->start) >> bins->shift ? bins->start + count * width : UINT64_MAX;
}

void sxt_heap_bins_begin(struct sxt_heap_bins *bins, uint64_t start)
{
    bins->start = start;
    bins->bin_count = 0;
    open_bin(bins, start);
    find_end(bins);
}

void sxt_heap_bins_begin_with(struct sxt_heap_bins *bins, uint64_t start, uint64_t live)
{
    bins->live_bytes = live;
    sxt_heap_bins_begin(bins, start);
}

/* The entry is about to change: keep what was live at the peak. */
static void remember_peak(const struct sxt_heap_bins *bins, struct open_entry *open)
{
    if (open->epoch == bins->epoch)
        return;
    open->epoch = bins->epoch;
    open->entry.peak_bytes = (int64_t)(open->entry.bytes - open->entry.freed_bytes);
    open->entry.peak_count = (int64_t)(open->entry.count - open->entry.freed_count);
}

static int compare_rows(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Moves what the open bin has to the entries. */
static void flush(struct sxt_heap_bins *bins)
{
    struct sxt_heap_bin_entry *moved =
        sxt_array_grow(bins->entries, &bins->entry_capacity, bins->entry_count + bins->used_count + 1, sizeof *moved);
    bins->no_memory |= moved == NULL;
    if (moved == NULL)
        return;
    bins->entries = moved;
    if (bins->used_count > 0)
        qsort(bins->used, bins->used_count, sizeof *bins->used, compare_rows);
    for (size_t i = 0; i < bins->used_count; i++) {
        struct open_entry *open = &bins->open[bins->used[i]];
        remember_peak(bins, open);
        bins->entries[bins->entry_count++] = open->entry;
        *open = (struct open_entry){.is_used = false};
    }
    bins->used_count = 0;
}

static bool use(struct sxt_heap_bins *bins, uint32_t row)
{
    uint32_t *moved = sxt_array_grow(bins->used, &bins->used_capacity, bins->used_count + 1, sizeof *moved);
    bins->no_memory |= moved == NULL;
    if (moved == NULL)
        return false;
    bins->used = moved;
    bins->used[bins->used_count++] = row;
    bins->open[row] = (struct open_entry){.entry = {.row = row}, .epoch = bins->epoch, .is_used = true};
    return true;
}

/* Opens the last bin again, which was flushed. */
static void reopen(struct sxt_heap_bins *bins)
{
    size_t first = bins->bins[bins->bin_count - 1].first;
    for (size_t i = first; i < bins->entry_count; i++)
        if (use(bins, bins->entries[i].row))
            bins->open[bins->entries[i].row].entry = bins->entries[i];
    bins->entry_count = first;
}

/* --- wider bins --- */

/* An entry of a bin that is made of two; either may be NULL. */
static struct sxt_heap_bin_entry join_entries(const struct sxt_heap_bin_entry *a, const struct sxt_heap_bin_entry *b,
                                              bool is_peak_second)
{
    struct sxt_heap_bin_entry sum = a != NULL ? *a : (struct sxt_heap_bin_entry){.row = b->row};
    if (is_peak_second) {
        sum.peak_bytes = (int64_t)(sum.bytes - sum.freed_bytes);
        sum.peak_count = (int64_t)(sum.count - sum.freed_count);
    }
    if (b == NULL)
        return sum;
    sum.bytes += b->bytes;
    sum.count += b->count;
    sum.freed_bytes += b->freed_bytes;
    sum.freed_count += b->freed_count;
    sum.temporary_bytes += b->temporary_bytes;
    sum.temporary_count += b->temporary_count;
    sum.peak_bytes += is_peak_second ? b->peak_bytes : 0;
    sum.peak_count += is_peak_second ? b->peak_count : 0;
    return sum;
}

static void join_bins(struct sxt_heap_bin *to, const struct sxt_heap_bin *from)
{
    if (from->peak_bytes > to->peak_bytes) {
        to->peak_bytes = from->peak_bytes;
        to->peak_time = from->peak_time;
    }
    to->collections += from->collections;
    to->collected_objects += from->collected_objects;
    to->collected_bytes += from->collected_bytes;
    for (unsigned i = 0; i < SXT_HEAP_POWERS; i++) {
        to->size_count[i] += from->size_count[i];
        to->size_bytes[i] += from->size_bytes[i];
        to->life_count[i] += from->life_count[i];
        to->life_bytes[i] += from->life_bytes[i];
    }
}

/* Writes the entries of a bin and the next one to OUT, sorted by row; returns how many there are. */
static size_t join_two(const struct sxt_heap_bins *bins, size_t first, struct sxt_heap_bin_entry *out)
{
    const struct sxt_heap_bin *a = &bins->bins[first], *b = a + 1;
    size_t after = first + 2 < bins->bin_count ? b[1].first : bins->entry_count;
    size_t i = a->first, j = b->first, count = 0;
    bool is_peak_second = b->peak_bytes > a->peak_bytes;
    while (i < b->first || j < after) {
        const struct sxt_heap_bin_entry *left = i < b->first ? &bins->entries[i] : NULL;
        const struct sxt_heap_bin_entry *right = j < after ? &bins->entries[j] : NULL;
        if (left != NULL && right != NULL && left->row != right->row)
            *(left->row < right->row ? &right : &left) = NULL;
        out[count++] = join_entries(left, right, is_peak_second);
        i += left != NULL;
        j += right != NULL;
    }
    return count;
}

/* Makes one bin of every two; the last one stays open. */
static void double_width(struct sxt_heap_bins *bins)
{
    flush(bins);
    struct sxt_heap_bin_entry *joined = malloc((bins->entry_count + 1) * sizeof *joined);
    size_t count = 0, left = 0;
    bins->no_memory |= joined == NULL;
    if (bins->no_memory) {
        free(joined);
        return;
    }
    for (size_t i = 0; i < bins->bin_count; i += 2, left++) {
        struct sxt_heap_bin bin = bins->bins[i];
        size_t first = count;
        if (i + 1 < bins->bin_count) {
            count += join_two(bins, i, joined + count);
            join_bins(&bin, &bins->bins[i + 1]);
        } else {
            size_t size = bins->entry_count - bin.first;
            memcpy(joined + count, bins->entries + bin.first, size * sizeof *joined);
            count += size;
        }
        bin.first = first;
        bins->bins[left] = bin;
    }
    free(bins->entries);
    bins->entries = joined;
    bins->entry_capacity = bins->entry_count + 1;
    bins->entry_count = count;
    bins->bin_count = left;
    bins->shift++;
    reopen(bins);
    find_end(bins);
}

/* An event at TIME is after the end of the open bin. */
static void advance(struct sxt_heap_bins *bins, uint64_t time)
{
    while (!bins->no_memory && (time - bins->start) >> bins->shift >= SXT_HEAP_BINS_MOST)
        double_width(bins);
    while (!bins->no_memory && bins->entry_count + bins->used_count > bins->entries_most &&
           bins->bin_count > SXT_HEAP_BINS_LEAST)
        double_width(bins);
    if (bins->no_memory)
        return;
    uint64_t index = (time - bins->start) >> bins->shift;
    if (bins->bin_count <= index)
        flush(bins);
    while (bins->bin_count <= index)
        open_bin(bins, bins->start + ((uint64_t)bins->bin_count << bins->shift));
    find_end(bins);
}

/* --- events --- */

static uint32_t new_row(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block)
{
    struct sxt_heap_bin_row *rows = sxt_array_grow(bins->rows, &bins->row_capacity, bins->row_count + 1, sizeof *rows);
    bins->rows = rows != NULL ? rows : bins->rows;
    size_t before = bins->open_capacity;
    struct open_entry *open = sxt_array_grow(bins->open, &bins->open_capacity, bins->row_count + 1, sizeof *open);
    bins->open = open != NULL ? open : bins->open;
    if (rows == NULL || open == NULL)
        return UINT32_MAX;
    if (bins->open_capacity > before)
        memset(open + before, 0, (bins->open_capacity - before) * sizeof *open);
    rows[bins->row_count] = (struct sxt_heap_bin_row){.stack = block->stack, .thread = block->thread};
    return (uint32_t)bins->row_count++;
}

/* UINT32_MAX if memory is short. */
static uint32_t find_row(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block)
{
    bool is_new;
    size_t place = sxt_live_add(&bins->numbers, (uint64_t)block->site << 16 | block->thread, &is_new);
    if (place != SXT_LIVE_NOWHERE && is_new)
        sxt_live_at(&bins->numbers, place)->site = new_row(bins, block);
    uint32_t row = place == SXT_LIVE_NOWHERE ? UINT32_MAX : sxt_live_at(&bins->numbers, place)->site;
    bins->no_memory |= row == UINT32_MAX;
    return row;
}

/* The entry of a block in the open bin; NULL if memory is or was short. */
static struct sxt_heap_bin_entry *find_entry(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block)
{
    uint32_t row = bins->no_memory ? UINT32_MAX : find_row(bins, block);
    if (row == UINT32_MAX || (!bins->open[row].is_used && !use(bins, row)))
        return NULL;
    remember_peak(bins, &bins->open[row]);
    return &bins->open[row].entry;
}

void sxt_heap_bins_before(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block)
{
    uint32_t row = bins->no_memory ? UINT32_MAX : find_row(bins, block);
    if (row == UINT32_MAX)
        return;
    bins->rows[row].before_bytes += block->size;
    bins->rows[row].before_count += block->weight;
}

void sxt_heap_bins_add(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block, uint64_t time)
{
    if (time >= bins->end)
        advance(bins, time);
    struct sxt_heap_bin_entry *entry = find_entry(bins, block);
    if (entry == NULL)
        return;
    entry->bytes += block->size;
    entry->count += block->weight;
    struct sxt_heap_bin *bin = &bins->bins[bins->bin_count - 1];
    bin->size_count[block->power] += block->weight;
    bin->size_bytes[block->power] += block->size;
    bins->live_bytes += block->size;
    if (bins->live_bytes <= bin->peak_bytes)
        return;
    bin->peak_bytes = bins->live_bytes;
    bin->peak_time = time;
    bins->epoch++;
}

void sxt_heap_bins_end(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block, uint64_t time,
                       uint64_t lifetime)
{
    if (time >= bins->end)
        advance(bins, time);
    struct sxt_heap_bin_entry *entry = find_entry(bins, block);
    if (entry == NULL)
        return;
    unsigned power = lifetime == 0 ? 0 : 64 - (unsigned)__builtin_clzll(lifetime);
    entry->freed_bytes += block->size;
    entry->freed_count += block->weight;
    struct sxt_heap_bin *bin = &bins->bins[bins->bin_count - 1];
    bin->life_count[power] += block->weight;
    bin->life_bytes[power] += block->size;
    bins->live_bytes -= block->size;
}

void sxt_heap_bins_temporary(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block)
{
    struct sxt_heap_bin_entry *entry = find_entry(bins, block);
    if (entry == NULL)
        return;
    entry->temporary_bytes += block->size;
    entry->temporary_count += block->weight;
}

void sxt_heap_bins_collect(struct sxt_heap_bins *bins, const sxt_trace_event *event)
{
    if (event->time >= bins->end)
        advance(bins, event->time);
    struct sxt_heap_bin *bin = &bins->bins[bins->bin_count - 1];
    bin->collections++;
    bin->collected_objects += event->objects;
    bin->collected_bytes += event->size;
}

void sxt_heap_bins_close(struct sxt_heap_bins *bins, uint64_t time)
{
    if (time >= bins->end)
        advance(bins, time);
    while (!bins->no_memory && bins->entry_count + bins->used_count > bins->entries_most &&
           bins->bin_count > SXT_HEAP_BINS_LEAST)
        double_width(bins);
    flush(bins);
}

/* The row allocated something in the bin, so the bin has an entry of it. */
void sxt_heap_bins_leak(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block, uint64_t allocated)
{
    size_t index = (size_t)((allocated - bins->start) >> bins->shift);
    uint32_t row = bins->no_memory ? UINT32_MAX : find_row(bins, block);
    if (row == UINT32_MAX || index >= bins->bin_count)
        return;
    size_t low = bins->bins[index].first;
    size_t high = index + 1 < bins->bin_count ? bins->bins[index + 1].first : bins->entry_count;
    while (high > low) {
        size_t middle = low + (high - low) / 2;
        if (bins->entries[middle].row == row) {
            bins->entries[middle].leaked_bytes += block->size;
            bins->entries[middle].leaked_count += block->weight;
            return;
        }
        if (bins->entries[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
}

/* --- results --- */

bool sxt_heap_bins_is_whole(const struct sxt_heap_bins *bins)
{
    return !bins->no_memory;
}

uint64_t sxt_heap_bins_width(const struct sxt_heap_bins *bins)
{
    return (uint64_t)1 << bins->shift;
}

size_t sxt_heap_bins_count(const struct sxt_heap_bins *bins)
{
    return bins->bin_count;
}

const struct sxt_heap_bin *sxt_heap_bins_get(const struct sxt_heap_bins *bins, size_t index)
{
    return &bins->bins[index];
}

size_t sxt_heap_bins_entry_count(const struct sxt_heap_bins *bins)
{
    return bins->entry_count;
}

const struct sxt_heap_bin_entry *sxt_heap_bins_entries(const struct sxt_heap_bins *bins)
{
    return bins->entries;
}

size_t sxt_heap_bins_row_count(const struct sxt_heap_bins *bins)
{
    return bins->row_count;
}

const struct sxt_heap_bin_row *sxt_heap_bins_rows(const struct sxt_heap_bins *bins)
{
    return bins->rows;
}
