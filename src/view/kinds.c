/* kinds.c: the table of the kinds of pages. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/kind.h"

/* A file is shown by all kinds that recognise it; its first page is that of the first one here. */
const struct sxt_view_kind *const sxt_view_kinds[] = {
    &sxt_view_live_heap, &sxt_view_heap, &sxt_view_profile, &sxt_view_symbols, &sxt_view_size, NULL,
};

const char *sxt_view_query_get(const struct sxt_view_query *query, const char *name)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->names[i], name) == 0)
            return query->values[i];
    return NULL;
}

bool sxt_view_query_number(const struct sxt_view_query *query, const char *name, uint64_t *out)
{
    const char *text = sxt_view_query_get(query, name);
    if (text == NULL || *text == 0)
        return false;
    uint64_t value = 0;
    for (; *text != 0; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || __builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return false;
    }
    *out = value;
    return true;
}

void sxt_view_progress(void *data, uint64_t done, uint64_t all)
{
    struct sxt_view_item *item = data;
    atomic_store(&item->done, done);
    atomic_store(&item->all, all);
}

void sxt_view_warn(const struct sxt_view_item *item, const char *format, ...)
{
    char text[512];
    va_list list;
    if (item->options->warn == NULL)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    item->options->warn(item->path, text);
}
