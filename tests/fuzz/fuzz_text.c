/*
 * fuzz_text.c: any bytes as text to be symbolized. Where no file can be found, the very bytes come out, in whatever
 * pieces they went in.
 */
#include <string.h>

#include "base/buffer.h"
#include "profile/profile.h"
#include "property.h"

static bool keep(void *data, const char *text, size_t size)
{
    sxt_buffer_append(data, text, size);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sxt_modules_options where;
    sxt_modules *modules;
    sxt_text_filter *filter;
    struct sxt_buffer out;
    sxt_modules_options_init(&where);
    where.no_local = true;
    sxt_buffer_init(&out, (size_t)64 << 20);
    SXT_HOLDS(sxt_modules_open(&where, &modules, NULL) == SXT_OK);
    SXT_HOLDS(sxt_text_filter_open(modules, keep, &out, &filter, NULL) == SXT_OK);
    size_t piece = size > 0 ? data[0] % 7 + 1 : 1;
    for (size_t at = 0; at < size; at += piece)
        SXT_HOLDS(sxt_text_filter_feed(filter, (const char *)data + at, size - at < piece ? size - at : piece, NULL) ==
                  SXT_OK);
    SXT_HOLDS(sxt_text_filter_end(filter, NULL) == SXT_OK);
    SXT_HOLDS(out.size == size && (size == 0 || memcmp(out.data, data, size) == 0));
    sxt_buffer_free(&out);
    sxt_text_filter_close(&filter);
    sxt_modules_close(&modules);
    return 0;
}
