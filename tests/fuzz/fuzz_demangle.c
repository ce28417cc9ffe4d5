/* fuzz_demangle.c: any bytes as a mangled name. What the fast decoder decodes, libiberty decodes in the same way. */
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/decoder.h"
#include "demangle/demangle.h"
#include "demangle/itanium.h"
#include "property.h"

static void compare_decoders(const uint8_t *data, size_t size)
{
    struct sxt_buffer fast, slow;
    sxt_buffer_init(&fast, (size_t)4 << 20);
    sxt_buffer_init(&slow, (size_t)4 << 20);
    char *name = memchr(data, 0, size) == NULL ? strndup((const char *)data, size) : NULL;
    if (name != NULL && sxt_itanium_demangle(name, size, &fast)) {
        bool too_long;
        SXT_HOLDS(sxt_decode(SXT_DECODE_CPLUSPLUS, name, DMGL_PARAMS | DMGL_ANSI, &slow, &too_long));
        SXT_HOLDS(fast.size == slow.size && memcmp(fast.data, slow.data, fast.size) == 0);
    }
    free(name);
    sxt_buffer_free(&fast);
    sxt_buffer_free(&slow);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, (size_t)4 << 20);
    sxt_buffer_append(&out, "before", 6);
    bool decoded = sxt_demangle((sxt_string){(const char *)data, size}, &out);
    SXT_HOLDS(!out.failed && out.size >= 6 && memcmp(out.data, "before", 6) == 0);
    SXT_HOLDS(decoded || out.size == 6);
    /* What comes after an at sign is added to the limit. */
    SXT_HOLDS(out.size <= 6 + ((size_t)1 << 20) + size);
    sxt_buffer_free(&out);
    if (size > 0)
        compare_decoders(data, size);
    return 0;
}
