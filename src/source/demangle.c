/* demangle.c: picks the language by the name's first letters and lets libiberty decode it. */
#include "source/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE   ((size_t)64 << 10)
#define RESULT_MAX_SIZE ((size_t)1 << 20)

/* What the decoder has written so far. */
struct text {
    struct sxt_buffer *out;
    size_t start;
    bool too_long;
};

static bool decode(const char *name, struct text *text);
static bool decode_without_clone(char *name, struct text *text);

bool sxt_demangle(sxt_string name, struct sxt_buffer *out)
{
    if (name.size < 3 || name.size > NAME_MAX_SIZE || name.data[0] != '_')
        return false;
    if (name.data[1] != 'Z' && name.data[1] != 'R' && name.data[1] != 'D' && name.data[1] != '_')
        return false;
    /* "@plt" and "@@VERSION" are not part of the mangling. */
    const char *at_sign = memchr(name.data, '@', name.size);
    size_t size = at_sign != NULL ? (size_t)(at_sign - name.data) : name.size;
    char small[512];
    char *copy = size < sizeof small ? small : malloc(size + 1);
    if (copy == NULL) {
        out->failed = out->memory_was_short = true;
        return false;
    }
    memcpy(copy, name.data, size);
    copy[size] = 0;

    struct text text = {out, out->size, false};
    bool decoded = decode(copy, &text) || decode_without_clone(copy, &text);
    if (copy != small)
        free(copy);
    if (decoded)
        sxt_buffer_append(out, name.data + size, name.size - size);
    if (decoded && !text.too_long && !out->failed)
        return true;
    out->size = text.start;
    return false;
}

static void append(const char *data, size_t size, void *opaque)
{
    struct text *text = opaque;
    if (size > RESULT_MAX_SIZE - (text->out->size - text->start))
        text->too_long = true;
    if (!text->too_long)
        sxt_buffer_append(text->out, data, size);
}

static bool decode(const char *name, struct text *text)
{
    const int options = DMGL_PARAMS | DMGL_ANSI;
    bool decoded = false;
    if (name[1] == 'D') {
        char *result = dlang_demangle(name, options);
        decoded = result != NULL;
        if (decoded)
            append(result, strlen(result), text);
        free(result);
    } else {
        /* A legacy Rust name is also a C++ name, so Rust is asked first. */
        decoded = rust_demangle_callback(name, options, append, text) != 0;
        if (!decoded) {
            text->out->size = text->start;
            decoded = cplus_demangle_v3_callback(name, options, append, text) != 0;
        }
    }
    if (!decoded)
        text->out->size = text->start;
    return decoded;
}

/* The Rust and D decoders do not know clones: decode what is before the first dot, and show the rest as C++ does. */
static bool decode_without_clone(char *name, struct text *text)
{
    char *dot = strchr(name, '.');
    if (dot == NULL || dot[1] == 0)
        return false;
    *dot = 0;
    if (!decode(name, text))
        return false;
    append(" [clone .", 9, text);
    append(dot + 1, strlen(dot + 1), text);
    append("]", 1, text);
    return true;
}
