/* size_small.c: small symbols, folded by section and file. */
#include "report/size_small.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

#define BELOW_MOST 65536 /* no symbol of this size or more is folded */

/* The least size that leaves at most MOST symbols as they are. */
static int find_below(const sxt_size_info *info, size_t most, int64_t *below, sxt_error *error)
{
    size_t count = sxt_size_info_symbol_count(info);
    uint32_t *sizes = calloc(BELOW_MOST, sizeof *sizes); /* how many symbols have a size */
    *below = 0;
    if (sizes == NULL)
        return sxt_fail_memory(error, BELOW_MOST * sizeof *sizes);
    for (size_t i = 0; i < count; i++) {
        sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
        sxt_size_info_symbol(info, i, &symbol);
        if (symbol.aliases <= 1 && symbol.size < BELOW_MOST)
            sizes[symbol.size < 0 ? 0 : symbol.size]++;
    }
    for (; *below < BELOW_MOST && count > most; ++*below)
        count -= sizes[*below];
    free(sizes);
    return SXT_OK;
}

int sxt_size_small_init(struct sxt_size_small *small, const sxt_size_info *info, size_t most, sxt_error *error)
{
    *small = (struct sxt_size_small){.below = 0};
    if (info == NULL || most == 0 || sxt_size_info_symbol_count(info) <= most)
        return SXT_OK;
    int status = sxt_strings_init(&small->keys, 0, error);
    return status == SXT_OK ? find_below(info, most, &small->below, error) : status;
}

void sxt_size_small_free(struct sxt_size_small *small)
{
    sxt_strings_free(&small->keys);
    free(small->sums);
    *small = (struct sxt_size_small){.below = 0};
}

bool sxt_size_small_add(struct sxt_size_small *small, const uint32_t place[3], const sxt_size_symbol *symbol)
{
    uint32_t number = sxt_strings_add(&small->keys, (const char *)place, 3 * sizeof *place);
    struct sxt_size_small_sum *sums = sxt_array_grow(small->sums, &small->capacity, small->count + 1, sizeof *sums);
    if (number == SXT_STRINGS_FULL || sums == NULL)
        return false;
    small->sums = sums;
    if (number > small->count)
        sums[small->count++] = (struct sxt_size_small_sum){place[0], place[1], place[2], 0, 0, 0};
    sums[number - 1].size += symbol->size;
    sums[number - 1].padding += symbol->padding;
    sums[number - 1].count++;
    small->folded++;
    return true;
}
