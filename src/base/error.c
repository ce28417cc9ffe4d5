/*
 * error.c: turns a failure into one line of text that is safe to show: whole UTF-8 characters, no control characters,
 * and never without its ending (the offset, or the system's reason), however long the rest is.
 */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Longer than any sxt_error.text, so that what is cut off here is cut off there too. */
#define FORMATTED_MAX 1024

static void describe(sxt_error *error, sxt_status code, uint64_t offset, const char *ending, const char *format,
                     va_list arguments) __attribute__((format(printf, 5, 0)));
static size_t make_printable(char *text);
static size_t character_size(const char *text, size_t left);
static size_t cut_at_character(const char *text, size_t size, size_t maximum);

const char *sxt_status_text(sxt_status code)
{
    switch (code) {
    case SXT_OK:
        return "no error";
    case SXT_ERROR_MEMORY:
        return "out of memory";
    case SXT_ERROR_IO:
        return "input or output failed";
    case SXT_ERROR_FORMAT:
        return "damaged input";
    case SXT_ERROR_UNSUPPORTED:
        return "unsupported input";
    case SXT_ERROR_LIMIT:
        return "limit reached";
    case SXT_ERROR_USAGE:
        return "wrong usage";
    case SXT_ERROR_NOT_FOUND:
        return "not found";
    }
    return "unknown error";
}

__attribute__((format(printf, 4, 0))) static void describe_at(sxt_error *error, sxt_status code, uint64_t offset,
                                                              const char *format, va_list arguments)
{
    char ending[40] = "";
    if (offset != SXT_NO_OFFSET)
        snprintf(ending, sizeof ending, " (offset 0x%" PRIx64 ")", offset);
    describe(error, code, offset, ending, format, arguments);
}

int sxt_fail(sxt_error *error, sxt_status code, uint64_t offset, const char *format, ...)
{
    if (error == NULL)
        return code;
    va_list arguments;
    va_start(arguments, format);
    describe_at(error, code, offset, format, arguments);
    va_end(arguments);
    return code;
}

int sxt_fail_reason(sxt_error *error, sxt_status code, sxt_reason reason, uint64_t offset, const char *format, ...)
{
    if (error == NULL)
        return code;
    va_list arguments;
    va_start(arguments, format);
    describe_at(error, code, offset, format, arguments);
    va_end(arguments);
    error->reason = reason;
    return code;
}

int sxt_fail_errno(sxt_error *error, int errno_value, const char *format, ...)
{
    sxt_status code = errno_value == ENOMEM ? SXT_ERROR_MEMORY : SXT_ERROR_IO;
    if (error == NULL)
        return code;

    char reason[100];
    char ending[sizeof reason + 2];
    snprintf(ending, sizeof ending, ": %s", strerror_r(errno_value, reason, sizeof reason));

    va_list arguments;
    va_start(arguments, format);
    describe(error, code, SXT_NO_OFFSET, ending, format, arguments);
    va_end(arguments);
    return code;
}

int sxt_fail_memory(sxt_error *error, uint64_t size)
{
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory: %" PRIu64 " bytes were needed", size);
}

void sxt_error_clear(sxt_error *error)
{
    if (error == NULL)
        return;
    error->code = SXT_OK;
    error->reason = SXT_REASON_NONE;
    error->offset = SXT_NO_OFFSET;
    error->text[0] = '\0';
}

/* The arguments may point into *ERROR (an older text that is put into a larger one), so it is written last. */
static void describe(sxt_error *error, sxt_status code, uint64_t offset, const char *ending, const char *format,
                     va_list arguments)
{
    char text[FORMATTED_MAX];
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        snprintf(text, sizeof text, "%s", sxt_status_text(code));

    size_t ending_size = strlen(ending);
    size_t text_size = cut_at_character(text, make_printable(text), sizeof error->text - 1 - ending_size);
    memcpy(error->text, text, text_size);
    memcpy(error->text + text_size, ending, ending_size + 1);
    error->code = code;
    error->reason = SXT_REASON_NONE;
    error->offset = offset;
}

/* Replaces every control character and every byte that is not UTF-8 by '?'. Returns the new size. */
static size_t make_printable(char *text)
{
    size_t size = strlen(text);
    size_t kept = 0;
    for (size_t at = 0; at < size;) {
        size_t length = character_size(text + at, size - at);
        if (length == 0) {
            text[kept++] = '?';
            at++;
            continue;
        }
        const unsigned char first = (unsigned char)text[at];
        const unsigned char second = (unsigned char)text[at + 1];
        bool is_control = first < 0x20 || first == 0x7f || (first == 0xc2 && second < 0xa0);
        if (is_control)
            text[kept++] = '?';
        else
            for (size_t i = 0; i < length; i++)
                text[kept++] = text[at + i];
        at += length;
    }
    text[kept] = '\0';
    return kept;
}

/* The size of the UTF-8 character that TEXT begins with, or 0 when it begins with none. */
static size_t character_size(const char *text, size_t left)
{
    for (size_t length = 1; length <= 4 && length <= left; length++)
        if (sxt_utf8_valid(text, length) == length)
            return length;
    return 0;
}

/* The most of SIZE bytes of UTF-8 that fits in MAXIMUM bytes without splitting a character. */
static size_t cut_at_character(const char *text, size_t size, size_t maximum)
{
    if (size <= maximum)
        return size;
    while (maximum > 0 && ((unsigned char)text[maximum] & 0xc0) == 0x80)
        maximum--;
    return maximum;
}
