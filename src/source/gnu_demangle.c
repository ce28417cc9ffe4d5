/*
 * gnu_demangle.c: the decoders of libiberty in the order in which GNU's tools ask them, within the limits that
 * demangle.c has too, and for the same reasons: a text that grows without end is left with a jump, where the decoder
 * has nothing allocated.
 */
#include "source/gnu_demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE   ((size_t)64 << 10)
#define RESULT_MAX_SIZE ((size_t)1 << 20)
#define NESTED_MAX_SIZE ((size_t)4 << 10)
#define D_ESTIMATE_MAX  ((uint64_t)4 << 20)
#define DECODER_OPTIONS (DMGL_PARAMS | DMGL_ANSI)

/* What the decoder has written so far. */
struct text {
    struct sxt_buffer *out;
    size_t start;
    int options;
    bool rust;
    bool too_long;
    jmp_buf way_out; /* taken when it is too long */
};

static bool decode(const char *name, enum sxt_gnu_style style, struct text *text);

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
    if (name.size == 0 || name.size > NAME_MAX_SIZE || style == SXT_GNU_NONE)
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
    struct text text = {.out = out, .start = out->size, .options = DECODER_OPTIONS};
    if (no_limit && end - before <= NESTED_MAX_SIZE)
        text.options |= DMGL_NO_RECURSE_LIMIT;
    bool decoded = decode(copy, style, &text);
    free(copy);
    if (decoded)
        sxt_buffer_append(out, name.data + end, name.size - end);
    if (decoded && !out->failed)
        return true;
    out->size = start;
    return false;
}

static void append(const char *data, size_t size, void *opaque)
{
    struct text *text = opaque;
    if (size > RESULT_MAX_SIZE - (text->out->size - text->start))
        text->too_long = true;
    if (!text->too_long)
        sxt_buffer_append(text->out, data, size);
    else if (!text->rust || (size > 0 && size <= 2 && ispunct((unsigned char)data[0]) && data[0] != '_'))
        longjmp(text->way_out, 1);
}

static bool decode_rust(const char *name, struct text *text)
{
    text->rust = true;
    if (setjmp(text->way_out) != 0)
        return false;
    return rust_demangle_callback(name, text->options, append, text) != 0 && !text->too_long;
}

static bool decode_cplusplus(const char *name, bool java, struct text *text)
{
    text->rust = false;
    if (setjmp(text->way_out) != 0)
        return false;
    return java ? java_demangle_v3_callback(name, append, text) != 0
                : cplus_demangle_v3_callback(name, text->options, append, text) != 0;
}

/* Takes over RESULT, which the decoder allocated. */
static bool take_result(char *result, struct text *text)
{
    if (result == NULL)
        return false;
    size_t size = strlen(result);
    if (size <= RESULT_MAX_SIZE)
        sxt_buffer_append(text->out, result, size);
    free(result);
    return size <= RESULT_MAX_SIZE;
}

/* As in demangle.c: what the text of a D name with its back references may come to. */
static bool decode_d(const char *name, struct text *text)
{
    uint64_t most = strlen(name);
    unsigned references = 0;
    for (const char *at = name; *at != 0 && most <= D_ESTIMATE_MAX; at++)
        if (*at == 'Q' && ++references % 3 == 0)
            most *= 3;
    if (strlen(name) > NESTED_MAX_SIZE || most > D_ESTIMATE_MAX)
        return false;
    return take_result(dlang_demangle(name, text->options), text);
}

static bool decode(const char *name, enum sxt_gnu_style style, struct text *text)
{
    bool decoded = false;
    switch (style) {
    case SXT_GNU_AUTO:
        decoded = decode_rust(name, text);
        if (!decoded && !text->too_long) {
            text->out->size = text->start;
            decoded = decode_cplusplus(name, false, text);
        }
        break;
    case SXT_GNU_RUST:
        decoded = decode_rust(name, text);
        break;
    case SXT_GNU_CPLUSPLUS:
    case SXT_GNU_JAVA:
        decoded = decode_cplusplus(name, style == SXT_GNU_JAVA, text);
        break;
    case SXT_GNU_ADA:
        decoded = take_result(ada_demangle(name, text->options), text);
        break;
    case SXT_GNU_D:
        decoded = decode_d(name, text);
        break;
    case SXT_GNU_NONE:
        break;
    }
    if (!decoded)
        text->out->size = text->start;
    return decoded;
}
