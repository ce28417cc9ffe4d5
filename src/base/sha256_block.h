/*
 * sha256_block.h: one block in groups of four rounds, for variants with instructions that do four rounds. Such a file
 * includes it after it has defined:
 *
 *   words              four words of 32 bits
 *   load_words         words of the block
 *   next_words         four words of the schedule, after the 16 before them
 *   four_rounds        on the two halves of the state
 *   ADD_WORDS          adds two `words`
 *   WITH_SHA           the attribute of functions that use the instructions
 */
#ifndef SXT_BASE_SHA256_BLOCK_H
#define SXT_BASE_SHA256_BLOCK_H

WITH_SHA static inline void add_block(words *first, words *second, const uint8_t *block)
{
    const words first_before = *first, second_before = *second;
    words w0 = load_words(block, 0), w1 = load_words(block, 1);
    words w2 = load_words(block, 2), w3 = load_words(block, 3);
    for (int t = 0; t < 48; t += 16) {
        four_rounds(first, second, w0, t);
        w0 = next_words(w0, w1, w2, w3);
        four_rounds(first, second, w1, t + 4);
        w1 = next_words(w1, w2, w3, w0);
        four_rounds(first, second, w2, t + 8);
        w2 = next_words(w2, w3, w0, w1);
        four_rounds(first, second, w3, t + 12);
        w3 = next_words(w3, w0, w1, w2);
    }
    four_rounds(first, second, w0, 48);
    four_rounds(first, second, w1, 52);
    four_rounds(first, second, w2, 56);
    four_rounds(first, second, w3, 60);
    *first = ADD_WORDS(*first, first_before);
    *second = ADD_WORDS(*second, second_before);
}

#endif
