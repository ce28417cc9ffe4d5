/* problems.c: counts problems and passes them to the callback. */
#include "base/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 240

__attribute__((format(printf, 5, 0))) static void report(const struct sxt_problems *problems, sxt_severity severity,
                                                         uint64_t offset, const char *rule, const char *format,
                                                         va_list arguments)
{
    char text[TEXT_SIZE];
    vsnprintf(text, sizeof text, format, arguments);
    problems->found(problems->context,
                    &(sxt_problem){.offset = offset, .rule = rule, .message = text, .severity = severity});
}

void sxt_problems_add(struct sxt_problems *problems, uint64_t offset, const char *rule, const char *format, ...)
{
    problems->count++;
    if (problems->found == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    report(problems, SXT_SEVERITY_PROBLEM, offset, rule, format, arguments);
    va_end(arguments);
}

void sxt_problems_add_note(struct sxt_problems *problems, uint64_t offset, const char *rule, const char *format, ...)
{
    if (problems->found == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    report(problems, SXT_SEVERITY_NOTE, offset, rule, format, arguments);
    va_end(arguments);
}

void sxt_problems_add_error(struct sxt_problems *problems, const char *rule, const sxt_error *error)
{
    const char *end = strstr(error->text, " (offset 0x");
    size_t size = end != NULL ? (size_t)(end - error->text) : strlen(error->text);
    sxt_problems_add(problems, error->offset != SXT_NO_OFFSET ? error->offset : 0, rule, "%.*s", (int)size,
                     error->text);
}
