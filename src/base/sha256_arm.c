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

/* In the kernel's interface, but not in every C library's headers. */
#if !defined(HWCAP_SHA2)
#define HWCAP_SHA2 (1UL << 6)
#endif

#if defined(__clang__)
#define WITH_SHA __attribute__((target("sha2")))
#else
#define WITH_SHA __attribute__((target("+crypto")))
#endif

typedef uint32x4_t words; /* four of them */

bool sxt_sha256_hardware_available(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SHA2;
}

/* The words 4 * I to 4 * I + 3 of a block, which are big-endian. */
WITH_SHA static inline words load_words(const uint8_t *block, int i)
{
    uint8x16_t bytes = vld1q_u8(block + 16 * i);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bytes = vrev32q_u8(bytes);
#endif
    return vreinterpretq_u32_u8(bytes);
}

/* The four words of the schedule after the 16 in FIRST to FOURTH. Older headers of clang hide the intrinsics. */
WITH_SHA static inline words next_words(words first, words second, words third, words fourth)
{
    __asm__("sha256su0 %0.4s, %1.4s\n\tsha256su1 %0.4s, %2.4s, %3.4s"
            : "+&w"(first)
            : "w"(second), "w"(third), "w"(fourth));
    return first;
}

/* Four rounds, with FOUR words of the schedule and the constants from number T on. */
WITH_SHA static inline void four_rounds(words *abcd, words *efgh, words four, int t)
{
    words sum = vaddq_u32(four, vld1q_u32(sxt_sha256_constants + t)), before = *abcd;
    __asm__("sha256h %q0, %q1, %2.4s" : "+w"(*abcd) : "w"(*efgh), "w"(sum));
    __asm__("sha256h2 %q0, %q1, %2.4s" : "+w"(*efgh) : "w"(before), "w"(sum));
}

#define ADD_WORDS vaddq_u32
#include "base/sha256_block.h"

WITH_SHA void sxt_sha256_hardware(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    words abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (size_t i = 0; i < count; i++)
        add_block(&abcd, &efgh, blocks + i * SXT_SHA256_BLOCK);
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

#endif
