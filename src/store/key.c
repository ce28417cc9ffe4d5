/* key.c: checks names of objects, so that none can lead out of a directory or needs an escape in a URL path. */
#include "store/key.h"

#include <string.h>

static bool is_word_character(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || (character != 0 && strchr("._~=-", character) != NULL);
}

bool sxt_key_is_word(const char *word, size_t size)
{
    if (size == 0 || size > SXT_KEY_WORD_MAX || *word == '.')
        return false;
    for (size_t i = 0; i < size; i++)
        if (!is_word_character(word[i]))
            return false;
    return true;
}

static bool are_words(const char *text, size_t size)
{
    for (;;) {
        const char *slash = memchr(text, '/', size);
        size_t word = slash != NULL ? (size_t)(slash - text) : size;
        if (!sxt_key_is_word(text, word))
            return false;
        if (slash == NULL)
            return true;
        text += word + 1;
        size -= word + 1;
    }
}

bool sxt_key_is_valid(const char *key)
{
    size_t size = strnlen(key, SXT_KEY_MAX + 1);
    return size <= SXT_KEY_MAX && are_words(key, size);
}

bool sxt_key_is_prefix(const char *prefix)
{
    size_t size = strnlen(prefix, SXT_KEY_MAX + 1);
    return size == 0 || (size <= SXT_KEY_MAX && prefix[size - 1] == '/' && are_words(prefix, size - 1));
}
