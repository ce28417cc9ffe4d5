/*
 * sha256_x86.c: SHA-256 with the SHA extensions of x86-64.
 *
 * sha256rnds2 does two rounds. It keeps the eight variables in two registers, {a, b, e, f} and {c, d, g, h}, each from
 * the highest lane down. sha256msg1 and sha256msg2 make four words of the message schedule.
 */
#include "base/sha256.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

bool sxt_sha256_hardware_available(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_SSSE3) || !(ecx & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA);
}

#define WITH_SHA __attribute__((target("sha,sse4.1")))

typedef __m128i words; /* four of them */

/* The words 4 * I to 4 * I + 3 of a block, which are big-endian. */
WITH_SHA static inline words load_words(const uint8_t *block, int i)
{
    const words swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), swap);
}

/* The four words of the schedule after the 16 in FIRST to FOURTH. */
WITH_SHA static inline words next_words(words first, words second, words third, words fourth)
{
    words sum = _mm_add_epi32(_mm_sha256msg1_epu32(first, second), _mm_alignr_epi8(fourth, third, 4));
    return _mm_sha256msg2_epu32(sum, fourth);
}

/* Four rounds, with FOUR words of the schedule and the constants from number T on. */
WITH_SHA static inline void four_rounds(words *abef, words *cdgh, words four, int t)
{
    const __m128i *constants = (const __m128i *)(const void *)(sxt_sha256_constants + t);
    words sum = _mm_add_epi32(four, _mm_loadu_si128(constants));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

#define ADD_WORDS _mm_add_epi32
#include "base/sha256_block.h"

WITH_SHA void sxt_sha256_hardware(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    words abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    words cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (size_t i = 0; i < count; i++)
        add_block(&abef, &cdgh, blocks + i * SXT_SHA256_BLOCK);
    uint32_t out[8];
    _mm_storeu_si128((__m128i *)(void *)out, abef);
    _mm_storeu_si128((__m128i *)(void *)(out + 4), cdgh);
    const uint8_t place[8] = {3, 2, 7, 6, 1, 0, 5, 4}; /* of a to h in OUT */
    for (int i = 0; i < 8; i++)
        state[i] = out[place[i]];
}

#endif
