/* options.c: structs that begin with their own size, copied between versions. */
#include "base/options.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"

static size_t size_of(const void *given)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    return size;
}

int sxt_options_take(void *out, size_t size, const void *given, const char *name, sxt_error *error)
{
    if (given == NULL)
        return SXT_OK;
    size_t theirs = size_of(given);
    if (theirs < sizeof theirs || theirs > ((size_t)64 << 10))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the options are not initialised; call %s first", name);
    const uint8_t *bytes = given;
    for (size_t i = size; i < theirs; i++)
        if (bytes[i] != 0)
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                            "the options have a field that this version of libsextant does not have");
    memcpy(out, given, theirs < size ? theirs : size);
    memcpy(out, &size, sizeof size);
    return SXT_OK;
}

void sxt_result_give(void *out, const void *result, size_t size)
{
    size_t theirs = size_of(out);
    if (theirs > size) {
        memset((uint8_t *)out + size, 0, theirs - size);
        memcpy(out, result, size);
    } else {
        memcpy(out, result, theirs);
    }
    memcpy(out, &theirs, sizeof theirs);
}
