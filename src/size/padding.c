/*
 * padding.c: bytes between symbols. A full archive does not store them, since they follow from the addresses: padding
 * is what lies between the end of the symbol before and the beginning of this one, in the same segment. It is negative
 * where symbols overlap.
 */
#include <string.h>

#include "base/string.h"
#include "size/private.h"

bool sxt_size_is_overhead(const struct sxt_size_model_symbol *symbol)
{
    return sxt_string_begins(sxt_size_full_name(symbol), "Overhead: ");
}

void sxt_size_derive_padding(struct sxt_size_info *size, uint64_t *conflicts)
{
    uint64_t refused = 0;
    for (size_t i = 0; i < size->symbol_count; i++)
        refused += !sxt_size_derive_one(size, &size->symbols[i]);
    if (conflicts != NULL)
        *conflicts = refused;
}

bool sxt_size_derive_one(const struct sxt_size_info *size, struct sxt_size_model_symbol *symbol)
{
    /* The very first symbol is left alone even if it is overhead, as in the reference. */
    if (symbol == size->symbols)
        return true;
    int64_t padding;
    bool is_good = true;
    if (sxt_size_is_overhead(symbol)) {
        symbol->padding = symbol->size;
    } else {
        is_good = sxt_size_find_padding(size, symbol - 1, symbol, &padding);
        symbol->padding = padding;
        symbol->size += padding;
    }
    return is_good;
}

bool sxt_size_find_padding(const struct sxt_size_info *size, const struct sxt_size_model_symbol *before,
                           const struct sxt_size_model_symbol *symbol, int64_t *padding)
{
    *padding = 0;
    if (before->segment != symbol->segment || before->address == 0 || symbol->address == 0 ||
        !size->segments[symbol->segment].is_native)
        return true;
    int64_t own_size_before, own_size, found, whole;
    if (__builtin_sub_overflow(before->size, before->padding, &own_size_before) ||
        __builtin_sub_overflow(symbol->size, symbol->padding, &own_size))
        return false;
    if (before->address == symbol->address && symbol->group != 0 && symbol->group == before->group) {
        if (own_size != own_size_before)
            return false;
        found = before->padding;
    } else if (before->address == symbol->address && own_size_before != 0) {
        return false;
    } else {
        int64_t distance = (int64_t)(symbol->address - before->address);
        if ((distance < 0) != (symbol->address < before->address) ||
            __builtin_sub_overflow(distance, own_size_before, &found))
            return false;
    }
    if (__builtin_add_overflow(own_size, found, &whole) || whole < 0)
        return false;
    *padding = found;
    return true;
}
