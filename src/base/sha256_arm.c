/*
 * sha256_arm.c: SHA-256 with the instructions of ARMv8 for it, which are optional.
 *
 * sha256h and sha256h2 do four rounds on {a, b, c, d} and {e, f, g, h}, each from the lowest lane up. sha256su0 and
 * sha256su1 make four words of the message schedule.
 */
#include "base/sha256.h"

#if defined(__aarch64__)

#include <arm_neon.h>
#include <sys/auxv.h>

#define BLOCK_SIZE 64

/* In the kernel's interface, but not in every C library's headers. */
#if !defined(HWCAP_SHA2)
#define HWCAP_SHA2 (1UL << 6)
#endif

#if defined(__clang__)
#define WITH_SHA __attribute__((target("sha2")))
#else
#define WITH_SHA __attribute__((target("+crypto")))
#endif

bool sxt_sha256_hardware_available(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SHA2;
}

/* The words 4 * I to 4 * I + 3 of a block, which are big-endian. */
WITH_SHA static inline uint32x4_t load_words(const uint8_t *block, int i)
{
    uint8x16_t bytes = vld1q_u8(block + 16 * i);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bytes = vrev32q_u8(bytes);
#endif
    return vreinterpretq_u32_u8(bytes);
}

/* The four words of the schedule after the 16 in FIRST to FOURTH. Older headers of clang hide the intrinsics. */
WITH_SHA static inline uint32x4_t next_words(uint32x4_t first, uint32x4_t second, uint32x4_t third, uint32x4_t fourth)
{
    __asm__("sha256su0 %0.4s, %1.4s\n\tsha256su1 %0.4s, %2.4s, %3.4s"
            : "+&w"(first)
            : "w"(second), "w"(third), "w"(fourth));
    return first;
}

/* Four rounds, with WORDS of the schedule and the constants from number T on. */
WITH_SHA static inline void four_rounds(uint32x4_t *abcd, uint32x4_t *efgh, uint32x4_t words, int t)
{
    uint32x4_t sum = vaddq_u32(words, vld1q_u32(sxt_sha256_constants + t)), before = *abcd;
    __asm__("sha256h %q0, %q1, %2.4s" : "+w"(*abcd) : "w"(*efgh), "w"(sum));
    __asm__("sha256h2 %q0, %q1, %2.4s" : "+w"(*efgh) : "w"(before), "w"(sum));
}

WITH_SHA static inline void add_block(uint32x4_t *abcd, uint32x4_t *efgh, const uint8_t *block)
{
    const uint32x4_t abcd_before = *abcd, efgh_before = *efgh;
    uint32x4_t w0 = load_words(block, 0), w1 = load_words(block, 1);
    uint32x4_t w2 = load_words(block, 2), w3 = load_words(block, 3);
    for (int t = 0; t < 48; t += 16) {
        four_rounds(abcd, efgh, w0, t);
        w0 = next_words(w0, w1, w2, w3);
        four_rounds(abcd, efgh, w1, t + 4);
        w1 = next_words(w1, w2, w3, w0);
        four_rounds(abcd, efgh, w2, t + 8);
        w2 = next_words(w2, w3, w0, w1);
        four_rounds(abcd, efgh, w3, t + 12);
        w3 = next_words(w3, w0, w1, w2);
    }
    four_rounds(abcd, efgh, w0, 48);
    four_rounds(abcd, efgh, w1, 52);
    four_rounds(abcd, efgh, w2, 56);
    four_rounds(abcd, efgh, w3, 60);
    *abcd = vaddq_u32(*abcd, abcd_before);
    *efgh = vaddq_u32(*efgh, efgh_before);
}

WITH_SHA void sxt_sha256_hardware(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (size_t i = 0; i < count; i++)
        add_block(&abcd, &efgh, blocks + i * BLOCK_SIZE);
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

#endif
