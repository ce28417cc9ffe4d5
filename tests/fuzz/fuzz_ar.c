/* fuzz_ar.c: any bytes as a static library. Members lie inside of it, in order, and there is an end. */
#include "property.h"
#include "source/ar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!sxt_ar_is(data, size))
        return 0;
    struct sxt_ar ar;
    struct sxt_ar_member member;
    uint64_t sum = 0;
    size_t done = 8;
    sxt_ar_open(&ar, data, size);
    while (sxt_ar_next(&ar, &member, NULL) == SXT_OK && member.name.data != NULL) {
        SXT_HOLDS(member.name.size > 0);
        SXT_HOLDS(ar.next > done && ar.next <= size);
        SXT_HOLDS((member.data == NULL) == ar.is_thin);
        if (member.data != NULL) {
            size_t at = (size_t)(member.data - data);
            SXT_HOLDS(at >= done + 60 && at <= size && member.size <= size - at && at + member.size <= ar.next);
        }
        for (size_t i = 0; i < member.name.size; i++)
            sum += (unsigned char)member.name.data[i];
        done = ar.next;
    }
    SXT_HOLDS(sum != UINT64_MAX);
    return 0;
}
