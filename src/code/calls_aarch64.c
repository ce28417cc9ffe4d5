/*
 * calls_aarch64.c: calls in AArch64 code. Every instruction is a word of 4 bytes, and there are few words that are
 * calls:
 *
 *     31        23        15        7
 *     100101ii iiiiiiii iiiiiiii iiiiiiii   BL      i: distance in words
 *     11010110 00111111 000000nn nnn00000   BLR     n: register
 *     11010110 00111111 00001bnn nnn11111   BLRAAZ, BLRABZ   b: key
 *     11010111 00111111 00001bnn nnnmmmmm   BLRAA, BLRAB     m: modifier
 *     11010100 000iiiii iiiiiiii iii00001   SVC     i: any number
 */
#include "base/bytes.h"
#include "code/private.h"

struct pattern {
    uint32_t mask;
    uint32_t value;
};

static const struct pattern calls[] = {
    {0xfc000000, 0x94000000}, /* BL */
    {0xfffffc1f, 0xd63f0000}, /* BLR */
    {0xfffff81f, 0xd63f081f}, /* BLRAAZ, BLRABZ */
    {0xfffff800, 0xd73f0800}, /* BLRAA, BLRAB */
    {0xffe0001f, 0xd4000001}, /* SVC */
};

static bool is_call(uint32_t instruction)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if ((instruction & calls[i].mask) == calls[i].value)
            return true;
    return false;
}

int sxt_find_calls_aarch64(const uint8_t *code, size_t size, uint64_t address, sxt_call_found *found, void *context,
                           sxt_error *error)
{
    (void)error;
    for (size_t at = 0; size - at >= 4; at += 4)
        if (is_call(sxt_load_u32le(code + at)) && !found(context, address + at, 4))
            break;
    return SXT_OK;
}
