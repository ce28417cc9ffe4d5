/*
 * name_flags.c: the flags that follow from a name. The reference sets them when it makes a file, and again when it
 * loads one.
 */
#include "size/names.h"

static bool contains(sxt_string text, const char *word)
{
    return text.size > 0 && memmem(text.data, text.size, word, strlen(word)) != NULL;
}

/* "f.constprop.0" and "f.5" in code; two names that compilers number are no clones. */
static bool has_number(char letter, sxt_string name)
{
    size_t end = name.size;
    while (end > 0 && sxt_size_is_digit(name.data[end - 1]))
        end--;
    if (letter != 't' || end == name.size || end == 0 || name.data[end - 1] != '.')
        return false;
    bool is_numbered = end == 8 && (sxt_size_starts(name, 0, "__tcf_0") || sxt_size_starts(name, 0, "startup"));
    return !is_numbered;
}

uint32_t sxt_size_name_flags(const struct sxt_size_segment *segment, sxt_string stored, struct sxt_buffer *buffer)
{
    uint32_t flags = 0;
    if (!segment->is_native || stored.size == 0 || sxt_size_starts(stored, 0, "**") ||
        sxt_size_starts(stored, 0, "Overhead: ") || sxt_size_is_string_literal(stored))
        return 0;
    const char *clone = memmem(stored.data, stored.size, " [clone ", 8);
    sxt_string name = {stored.data, clone != NULL ? (size_t)(clone - stored.data) : stored.size};
    if (clone != NULL || has_number(segment->letter, name))
        flags |= SXT_SIZE_CLONE;
    /* Names are taken apart only where it matters. */
    if (contains(name, "(anonymous namespace)::")) {
        struct sxt_size_derived_names names;
        sxt_size_derive_names(segment, stored, buffer, &names);
        flags |= names.flags & SXT_SIZE_ANONYMOUS;
    }
    return flags;
}
