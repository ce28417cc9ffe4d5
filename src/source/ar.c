/* ar.c: reads the headers of 60 bytes of text, each of which precedes a member. */
#include "source/ar.h"

#include <string.h>

#include "base/error.h"
#include "base/string.h"

#define MAGIC_SIZE  8
#define HEADER_SIZE 60
#define NAME_SIZE   16
#define SIZE_AT     48
#define SIZE_SIZE   10

bool sxt_ar_is(const uint8_t *data, size_t size)
{
    return size >= MAGIC_SIZE &&
           (memcmp(data, "!<arch>\n", MAGIC_SIZE) == 0 || memcmp(data, "!<thin>\n", MAGIC_SIZE) == 0);
}

void sxt_ar_open(struct sxt_ar *ar, const uint8_t *data, size_t size)
{
    *ar = (struct sxt_ar){.data = data, .size = size, .next = MAGIC_SIZE, .is_thin = data[2] == 't'};
}

/* Reads a decimal number padded with spaces. Returns false for anything else. */
static bool read_number(const char *text, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    size_t at = 0;
    for (; at < size && text[at] >= '0' && text[at] <= '9'; at++)
        value = value * 10 + (uint64_t)(text[at] - '0');
    bool has_digits = at > 0;
    while (at < size && text[at] == ' ')
        at++;
    *out = value;
    return has_digits && at == size;
}

/* Returns the name at OFFSET of the table of long names, where each name ends with "/\n". */
static sxt_string long_name(const struct sxt_ar *ar, uint64_t offset)
{
    if (offset >= ar->names.size)
        return (sxt_string){NULL, 0};
    const char *begin = ar->names.data + offset;
    const char *end = memchr(begin, '\n', ar->names.size - offset);
    size_t size = end != NULL ? (size_t)(end - begin) : ar->names.size - offset;
    if (size > 0 && begin[size - 1] == '/')
        size--;
    return (sxt_string){begin, size};
}

static sxt_string trimmed(const char *name, size_t size)
{
    while (size > 0 && (name[size - 1] == ' ' || name[size - 1] == 0))
        size--;
    if (size > 1 && name[size - 1] == '/')
        size--;
    return (sxt_string){name, size};
}

static bool begins_with(const char *name, const char *prefix)
{
    return memcmp(name, prefix, strlen(prefix)) == 0;
}

/* Says whether the member is a table of the library. */
static bool is_table(sxt_string name, const char *header)
{
    static const char *const tables[] = {"/", "/SYM64", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64"};
    if (begins_with(header, "/ ") || begins_with(header, "/SYM64/ "))
        return true;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (sxt_string_is(name, tables[i]))
            return true;
    return false;
}

int sxt_ar_next(struct sxt_ar *ar, struct sxt_ar_member *member, sxt_error *error)
{
    *member = (struct sxt_ar_member){.data = NULL};
    while (ar->next < ar->size) {
        size_t at = ar->next;
        uint64_t size, number;
        const char *header = (const char *)ar->data + at;
        if (ar->size - at < HEADER_SIZE || memcmp(header + HEADER_SIZE - 2, "`\n", 2) != 0 ||
            !read_number(header + SIZE_AT, SIZE_SIZE, &size))
            return sxt_fail(error, SXT_ERROR_FORMAT, at, "not a member of a library");
        const char *content = header + HEADER_SIZE;
        size_t left = ar->size - at - HEADER_SIZE;
        bool is_names = begins_with(header, "// ");
        bool is_index = begins_with(header, "/ ") || begins_with(header, "/SYM64/ ");
        bool is_here = !ar->is_thin || is_names || is_index;
        if (is_here && size > left)
            return sxt_fail(error, SXT_ERROR_FORMAT, at, "member of %llu bytes does not fit in the library",
                            (unsigned long long)size);
        ar->next = at + HEADER_SIZE + (is_here ? (size_t)(size + (size & 1 && size < left)) : 0);
        if (is_names) {
            ar->names = (sxt_string){content, (size_t)size};
            continue;
        }
        sxt_string name = trimmed(header, NAME_SIZE);
        size_t skipped = 0;
        if (header[0] == '/' && read_number(header + 1, NAME_SIZE - 1, &number)) {
            name = long_name(ar, number);
        } else if (begins_with(header, "#1/") && read_number(header + 3, NAME_SIZE - 3, &number) && number <= size &&
                   is_here) {
            name = trimmed(content, (size_t)number);
            skipped = (size_t)number;
        }
        if (name.data == NULL || name.size == 0)
            return sxt_fail(error, SXT_ERROR_FORMAT, at, "member of the library has no name");
        if (is_table(name, header))
            continue;
        *member =
            (struct sxt_ar_member){name, is_here ? (const uint8_t *)content + skipped : NULL, (size_t)size - skipped};
        return SXT_OK;
    }
    return SXT_OK;
}
