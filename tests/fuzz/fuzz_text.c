/*
 * fuzz_text.c: any bytes as text to be symbolized. Where no file can be found, the very bytes come out, in whatever
 * pieces they went in.
 */
#include <string.h>

#include "profile/profile.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_modules_options where = {.no_local = true};
    struct sxt_modules *modules;
    struct sxt_text *text;
    struct sxt_buffer out;
    sxt_open_options_init(&where.open);
    SXT_HOLDS(sxt_modules_open(&where, &modules, NULL) == SXT_OK);
    SXT_HOLDS(sxt_text_open(modules, &text, NULL) == SXT_OK);
    sxt_buffer_init(&out, (size_t)64 << 20);
    size_t piece = size > 0 ? data[0] % 7 + 1 : 1;
    for (size_t at = 0; at < size; at += piece)
        SXT_HOLDS(sxt_text_feed(text, (const char *)data + at, size - at < piece ? size - at : piece, &out, NULL) ==
                  SXT_OK);
    SXT_HOLDS(sxt_text_end(text, &out, NULL) == SXT_OK);
    SXT_HOLDS(out.size == size && (size == 0 || memcmp(out.data, data, size) == 0));
    sxt_buffer_free(&out);
    sxt_text_close(&text);
    sxt_modules_close(&modules);
    return 0;
}
