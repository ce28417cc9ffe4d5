/* text.c: reading the lines of an inflated .size file, and saying where in it something is wrong. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "size/private.h"

#define SHOWN 40 /* of a line that makes no sense */

/* Lines are counted only when an error needs the number. */
static uint64_t line_of(const struct sxt_size_text *text, const char *at)
{
    uint64_t line = 1;
    const char *newline = text->start;
    while ((newline = memchr(newline, '\n', (size_t)(at - newline))) != NULL) {
        newline++;
        line++;
    }
    return line;
}

int sxt_size_text_error(const struct sxt_size_text *text, const char *at, const char *format, ...)
{
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return sxt_fail(text->error, SXT_ERROR_FORMAT, (uint64_t)(at - text->start), "line %llu: %s",
                    (unsigned long long)line_of(text, at), message);
}

int sxt_size_error_in(sxt_error *error, int status, const char *where, uint64_t base)
{
    if (status == SXT_OK || error == NULL)
        return status;
    sxt_error inner = *error;
    char *suffix = strstr(inner.text, " (offset ");
    if (suffix != NULL && inner.offset != SXT_NO_OFFSET)
        *suffix = '\0';
    uint64_t offset = inner.offset == SXT_NO_OFFSET ? SXT_NO_OFFSET : base + inner.offset;
    return sxt_fail(error, inner.code, offset, "%s: %s", where, inner.text);
}

int sxt_size_text_line(struct sxt_size_text *text, const char *what, sxt_string *line)
{
    const char *newline = memchr(text->at, '\n', (size_t)(text->end - text->at));
    if (newline == NULL)
        return sxt_size_text_error(text, text->end, "the text ends before the end of %s", what);
    *line = (sxt_string){text->at, (size_t)(newline - text->at)};
    text->at = newline + 1;
    return SXT_OK;
}

int sxt_size_text_count(struct sxt_size_text *text, const char *what, uint64_t most, uint64_t *count)
{
    sxt_string line = {NULL, 0};
    int64_t value = 0;
    int status = sxt_size_text_line(text, what, &line);
    if (status != SXT_OK)
        return status;
    if (sxt_size_parse_number(line.data, &value) != line.data + line.size || value < 0)
        return sxt_size_text_error(text, line.data, "'%.*s' is not %s", (int)(line.size < SHOWN ? line.size : SHOWN),
                                   line.data, what);
    if ((uint64_t)value > most)
        return sxt_size_text_error(text, line.data, "%s is %lld, but there is room for %llu", what, (long long)value,
                                   (unsigned long long)most);
    *count = (uint64_t)value;
    return SXT_OK;
}
