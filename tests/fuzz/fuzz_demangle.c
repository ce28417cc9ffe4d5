/* fuzz_demangle.c: any bytes as a mangled name. */
#include <string.h>

#include "demangle/demangle.h"
#include "property.h"

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
    return 0;
}
