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

#define BLOCK_SIZE 64

bool sxt_sha256_hardware_available(void)
{
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_SSSE3) || !(ecx & bit_SSE4_1))
        return false;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_SHA);
}

#define WITH_SHA __attribute__((target("sha,sse4.1")))

/* The words 4 * I to 4 * I + 3 of a block, which are big-endian. */
WITH_SHA static inline __m128i load_words(const uint8_t *block, int i)
{
    const __m128i swap = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), swap);
}

/* The four words of the schedule after the 16 in FIRST to FOURTH. */
WITH_SHA static inline __m128i next_words(__m128i first, __m128i second, __m128i third, __m128i fourth)
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(first, second), _mm_alignr_epi8(fourth, third, 4));
    return _mm_sha256msg2_epu32(sum, fourth);
}

/* Four rounds, with WORDS of the schedule and the constants from number T on. */
WITH_SHA static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i words, int t)
{
    const __m128i *constants = (const __m128i *)(const void *)(sxt_sha256_constants + t);
    __m128i sum = _mm_add_epi32(words, _mm_loadu_si128(constants));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

WITH_SHA static inline void add_block(__m128i *abef, __m128i *cdgh, const uint8_t *block)
{
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    __m128i w0 = load_words(block, 0), w1 = load_words(block, 1);
    __m128i w2 = load_words(block, 2), w3 = load_words(block, 3);
    for (int t = 0; t < 48; t += 16) {
        four_rounds(abef, cdgh, w0, t);
        w0 = next_words(w0, w1, w2, w3);
        four_rounds(abef, cdgh, w1, t + 4);
        w1 = next_words(w1, w2, w3, w0);
        four_rounds(abef, cdgh, w2, t + 8);
        w2 = next_words(w2, w3, w0, w1);
        four_rounds(abef, cdgh, w3, t + 12);
        w3 = next_words(w3, w0, w1, w2);
    }
    four_rounds(abef, cdgh, w0, 48);
    four_rounds(abef, cdgh, w1, 52);
    four_rounds(abef, cdgh, w2, 56);
    four_rounds(abef, cdgh, w3, 60);
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

WITH_SHA void sxt_sha256_hardware(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);
    for (size_t i = 0; i < count; i++)
        add_block(&abef, &cdgh, blocks + i * BLOCK_SIZE);
    uint32_t out[8];
    _mm_storeu_si128((__m128i *)(void *)out, abef);
    _mm_storeu_si128((__m128i *)(void *)(out + 4), cdgh);
    const uint8_t place[8] = {3, 2, 7, 6, 1, 0, 5, 4}; /* of a to h in OUT */
    for (int i = 0; i < 8; i++)
        state[i] = out[place[i]];
}

#endif
