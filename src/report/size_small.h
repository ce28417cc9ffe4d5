/*
 * size_small.h: symbols of a size file that has too many of them for a browser: the smallest ones of each section and
 * file are one row, "N small symbols". No sum changes. Symbols that share their bytes with others are not folded.
 */
#ifndef SXT_REPORT_SIZE_SMALL_H
#define SXT_REPORT_SIZE_SMALL_H

#include <sextant/size.h>

#include "base/strings.h"

struct sxt_size_small_sum {
    uint32_t segment, path, component;
    int64_t size, padding; /* size with padding */
    uint64_t count;
};

struct sxt_size_small {
    int64_t below; /* symbols of less than this are folded; 0: none are */
    struct sxt_strings keys;
    struct sxt_size_small_sum *sums;
    size_t count, capacity;
    uint64_t folded; /* symbols */
};

/* Decides what is folded so that about MOST rows remain; 0: any number may. */
int sxt_size_small_init(struct sxt_size_small *small, const sxt_size_info *info, size_t most, sxt_error *error);
void sxt_size_small_free(struct sxt_size_small *small);

static inline bool sxt_size_small_folds(const struct sxt_size_small *small, const sxt_size_symbol *symbol)
{
    return symbol->size < small->below && symbol->aliases <= 1;
}

/* False if memory is short. */
bool sxt_size_small_add(struct sxt_size_small *small, const uint32_t place[3], const sxt_size_symbol *symbol);

#endif
