/* gnu.c: the decoders, in the order in which GNU's tools try them. */
#include "demangle/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/decoder.h"

static bool decode(const char *name, enum sxt_gnu_style style, int options, struct sxt_buffer *out);

bool sxt_gnu_style_named(const char *name, enum sxt_gnu_style *style)
{
    static const struct {
        const char *name;
        enum sxt_gnu_style style;
    } styles[] = {{"none", SXT_GNU_NONE}, {"auto", SXT_GNU_AUTO}, {"gnu-v3", SXT_GNU_CPLUSPLUS}, {"java", SXT_GNU_JAVA},
                  {"gnat", SXT_GNU_ADA},  {"dlang", SXT_GNU_D},   {"rust", SXT_GNU_RUST}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (strcmp(styles[i].name, name) == 0) {
            *style = styles[i].style;
            return true;
        }
    return false;
}

bool sxt_gnu_demangle(sxt_string name, enum sxt_gnu_style style, bool no_limit, struct sxt_buffer *out)
{
    if (name.size == 0 || name.size > SXT_DECODER_NAME_MAX || style == SXT_GNU_NONE)
        return false;
    size_t before = 0;
    while (before < name.size && (name.data[before] == '.' || name.data[before] == '$'))
        before++;
    const char *at_sign = memchr(name.data + before, '@', name.size - before);
    size_t end = at_sign != NULL ? (size_t)(at_sign - name.data) : name.size;
    char *copy = strndup(name.data + before, end - before);
    if (copy == NULL) {
        out->failed = out->memory_was_short = true;
        return false;
    }
    size_t start = out->size;
    sxt_buffer_append(out, name.data, before);
    int options = DMGL_PARAMS | DMGL_ANSI;
    if (no_limit && end - before <= SXT_DECODER_NESTED_MAX)
        options |= DMGL_NO_RECURSE_LIMIT;
    bool decoded = decode(copy, style, options, out);
    free(copy);
    if (decoded)
        sxt_buffer_append(out, name.data + end, name.size - end);
    if (decoded && !out->failed)
        return true;
    out->size = start;
    return false;
}

static bool decode(const char *name, enum sxt_gnu_style style, int options, struct sxt_buffer *out)
{
    bool too_long;
    switch (style) {
    case SXT_GNU_AUTO:
        return sxt_decode(SXT_DECODE_RUST, name, options, out, &too_long) ||
               (!too_long && sxt_decode(SXT_DECODE_CPLUSPLUS, name, options, out, &too_long));
    case SXT_GNU_RUST:
        return sxt_decode(SXT_DECODE_RUST, name, options, out, &too_long);
    case SXT_GNU_CPLUSPLUS:
        return sxt_decode(SXT_DECODE_CPLUSPLUS, name, options, out, &too_long);
    case SXT_GNU_JAVA:
        return sxt_decode(SXT_DECODE_JAVA, name, options, out, &too_long);
    case SXT_GNU_ADA:
        return sxt_decode(SXT_DECODE_ADA, name, options, out, &too_long);
    case SXT_GNU_D:
        return sxt_decode(SXT_DECODE_D, name, options, out, &too_long);
    default:
        return false;
    }
}
