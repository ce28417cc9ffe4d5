/* key.h: which names an object may have. */
#ifndef SXT_STORE_KEY_H
#define SXT_STORE_KEY_H

#include <stdbool.h>
#include <stddef.h>

#define SXT_KEY_MAX      512
#define SXT_KEY_WORD_MAX 255

/* Whether the SIZE bytes at WORD can be a word of a key. */
bool sxt_key_is_word(const char *word, size_t size);

/* Words with '/' between them, at most SXT_KEY_MAX bytes. */
bool sxt_key_is_valid(const char *key);

/* "", or words with '/' after each. */
bool sxt_key_is_prefix(const char *prefix);

#endif
