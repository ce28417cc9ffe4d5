/* calls.c: which architecture reads which code. */
#include "code/code.h"

#include <elf.h>

#include "base/error.h"
#include "code/private.h"

static sxt_call_search *search_for(uint16_t machine, bool is_64, bool big_endian)
{
    switch (machine) {
    case EM_X86_64: /* also in a 32-bit file (x32) */
        return big_endian ? NULL : sxt_find_calls_x86_64;
    case EM_386:
        return big_endian || is_64 ? NULL : sxt_find_calls_x86_32;
    case EM_AARCH64: /* instructions are little-endian, whatever the data is */
        return sxt_find_calls_aarch64;
    default:
        return NULL;
    }
}

bool sxt_code_knows(uint16_t machine, bool is_64, bool big_endian)
{
    return search_for(machine, is_64, big_endian) != NULL;
}

int sxt_code_find_calls(uint16_t machine, bool is_64, bool big_endian, const uint8_t *code, size_t size,
                        uint64_t address, sxt_call_found *found, void *context, sxt_error *error)
{
    sxt_call_search *search = search_for(machine, is_64, big_endian);
    if (search == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "cannot find calls in code of machine %u, only in x86 and AArch64 code", machine);
    return search(code, size, address, found, context, error);
}
