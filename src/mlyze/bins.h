/*
 * bins.h: what each stack and thread allocated and freed over time, in bins of equal width, so that the figures of any
 * window of whole bins are sums.
 *
 *     time      0          1          2          3            bins; their width is a power of two
 *     entries   a b        b          -          a c          rows (a stack and a thread) that did something in the bin
 *
 * An entry has what its row allocated and freed in the bin, and how much more the row had at the peak of the bin than
 * at its beginning: so what was live at the peak of a window is exact. What leaked is counted in the bin in which it
 * was allocated, what was temporary in the bin in which it was freed.
 *
 * Memory: at most SXT_HEAP_BINS_MOST bins of 2 kB. If there are more than SXT_HEAP_BIN_ENTRIES entries (88 bytes each),
 * the width is doubled, but there remain at least half of SXT_HEAP_BINS_LEAST bins; each row takes 170 bytes more.
 */
#ifndef SXT_MLYZE_BINS_H
#define SXT_MLYZE_BINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/trace.h>

#define SXT_HEAP_BINS_MOST   1024
#define SXT_HEAP_BINS_LEAST  32
#define SXT_HEAP_BIN_ENTRIES ((size_t)1 << 18)

struct sxt_heap_bin_row {
    uint32_t stack;
    uint16_t thread;
    uint64_t before_bytes, before_count; /* live when the first bin began; 0 unless that is in the middle of a trace */
};

struct sxt_heap_bin_entry {
    uint32_t row;
    uint64_t bytes, count; /* allocated */
    uint64_t freed_bytes, freed_count;
    uint64_t temporary_bytes, temporary_count;
    uint64_t leaked_bytes, leaked_count;
    int64_t peak_bytes, peak_count; /* live at the peak of the bin, less what was live at its beginning */
};

struct sxt_heap_bin {
    size_t first; /* number of its first entry; they are sorted by row */
    uint64_t peak_bytes, peak_time;
    uint64_t collections, collected_objects, collected_bytes;
    uint64_t size_count[SXT_HEAP_POWERS], size_bytes[SXT_HEAP_POWERS]; /* of what was allocated, by size */
    uint64_t life_count[SXT_HEAP_POWERS], life_bytes[SXT_HEAP_POWERS]; /* of what was freed, by lifetime */
};

struct sxt_heap_bins;

/* To be freed. NULL: memory is short. ENTRIES is the most entries; 0: SXT_HEAP_BIN_ENTRIES. */
struct sxt_heap_bins *sxt_heap_bins_new(size_t entries);
void sxt_heap_bins_free(struct sxt_heap_bins **bins);

/*
 * Counts stacks together: GROUP gives the id of the stack that stands for another one, and for itself. It is asked once
 * for each stack. With few groups there are few rows, however many stacks the trace has. The sums of the pass by stack
 * are then those of the groups.
 */
void sxt_heap_bins_set_groups(struct sxt_heap_bins *bins, uint32_t (*group)(void *data, uint32_t stack), void *data);
uint32_t sxt_heap_bins_group(const struct sxt_heap_bins *bins, uint32_t stack);

/* --- results --- */

uint64_t sxt_heap_bins_width(const struct sxt_heap_bins *bins); /* in microseconds */
size_t sxt_heap_bins_count(const struct sxt_heap_bins *bins);
const struct sxt_heap_bin *sxt_heap_bins_get(const struct sxt_heap_bins *bins, size_t index);
size_t sxt_heap_bins_entry_count(const struct sxt_heap_bins *bins);
const struct sxt_heap_bin_entry *sxt_heap_bins_entries(const struct sxt_heap_bins *bins);
size_t sxt_heap_bins_row_count(const struct sxt_heap_bins *bins);
const struct sxt_heap_bin_row *sxt_heap_bins_rows(const struct sxt_heap_bins *bins);

/* --- for the pass over the events: times never decrease; SITE is a number that stands for STACK --- */

struct sxt_heap_bin_block {
    uint32_t site, stack;
    uint16_t thread;
    uint64_t size;
    uint32_t weight;
    unsigned power; /* of its size */
};

void sxt_heap_bins_begin(struct sxt_heap_bins *bins, uint64_t start);

/* The same in the middle of a trace, when LIVE bytes are there: those of blocks for which sxt_heap_bins_before follows.
 */
void sxt_heap_bins_begin_with(struct sxt_heap_bins *bins, uint64_t start, uint64_t live);
void sxt_heap_bins_before(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block);
void sxt_heap_bins_add(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block, uint64_t time);
void sxt_heap_bins_end(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block, uint64_t time,
                       uint64_t lifetime);

/* A block that has ended was temporary. */
void sxt_heap_bins_temporary(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block);
void sxt_heap_bins_collect(struct sxt_heap_bins *bins, const sxt_trace_event *event);

/* There are no more events, and TIME is the end. Only leaks may follow. */
void sxt_heap_bins_close(struct sxt_heap_bins *bins, uint64_t time);
void sxt_heap_bins_leak(struct sxt_heap_bins *bins, const struct sxt_heap_bin_block *block, uint64_t allocated);

/* Whether everything fitted in memory. */
bool sxt_heap_bins_is_whole(const struct sxt_heap_bins *bins);

#endif
