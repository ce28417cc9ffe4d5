/*
 * demangle.c: picks the language by the name's first letters and lets libiberty decode it, within limits that libiberty
 * does not have: a few hundred bytes of back references ask for gigabytes of text, and its D decoder recurses once a
 * letter.
 */
#include "source/demangle.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE   ((size_t)64 << 10)
#define RESULT_MAX_SIZE ((size_t)1 << 20)

/* The D decoder takes some 150 bytes of stack a letter, and time that grows with the square of the size. */
#define D_NAME_MAX_SIZE ((size_t)4 << 10)
/* What the text of a D name may come to; it is allocated before anybody can measure it. */
#define D_ESTIMATE_MAX ((uint64_t)4 << 20)

/* What the decoder has written so far. */
struct text {
    struct sxt_buffer *out;
    size_t start;
    bool rust;
    bool too_long;
    jmp_buf way_out; /* taken when it is too long */
};

static bool decode_with_clone(char *name, struct text *text);
static bool decode(const char *name, struct text *text);
static bool decode_rust(const char *name, struct text *text);
static bool decode_cplusplus(const char *name, struct text *text);
static bool decode_d(const char *name, struct text *text);

bool sxt_demangle(sxt_string name, struct sxt_buffer *out)
{
    if (name.size < 3 || name.size > NAME_MAX_SIZE || name.data[0] != '_')
        return false;
    if (name.data[1] != 'Z' && name.data[1] != 'R' && name.data[1] != 'D')
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

    struct text text = {.out = out, .start = out->size};
    bool decoded = decode_with_clone(copy, &text);
    if (copy != small)
        free(copy);
    if (decoded)
        sxt_buffer_append(out, name.data + size, name.size - size);
    if (decoded && !out->failed)
        return true;
    out->size = text.start;
    return false;
}

/* Where the suffix of a clone begins, as far as the decoder would drop it or not know it; NULL otherwise. */
static char *clone_suffix(char *name)
{
    if (name[1] != 'Z')
        return strchr(name, '.');
    /* Legacy Rust has dots in its names too; its suffix comes behind the hash. */
    for (char *end = strstr(name, "E."); end != NULL; end = strstr(end + 1, "E."))
        if (end - name > 19 && memcmp(end - 19, "17h", 3) == 0)
            return end + 1;
    return NULL;
}

/* The C++ decoder shows clones by itself. For the others the suffix is cut off, and shown as C++ does. */
static bool decode_with_clone(char *name, struct text *text)
{
    char *dot = clone_suffix(name);
    if (dot == NULL) {
        if (decode(name, text))
            return true;
        /* A suffix of a kind that even the C++ decoder does not know. */
        dot = strchr(name, '.');
        if (dot == NULL || text->too_long)
            return false;
    }
    *dot = 0;
    if (dot[1] == 0 || !decode(name, text))
        return false;
    /* ".llvm." and a number only makes a name unique. */
    if (strncmp(dot + 1, "llvm.", 5) != 0) {
        sxt_buffer_append(text->out, " [clone .", 9);
        sxt_buffer_append(text->out, dot + 1, strlen(dot + 1));
        sxt_buffer_append(text->out, "]", 1);
    }
    return true;
}

static bool decode(const char *name, struct text *text)
{
    bool decoded;
    if (name[1] == 'D')
        decoded = decode_d(name, text);
    else /* A legacy Rust name is also a C++ name, so Rust is asked first. */
        decoded = decode_rust(name, text) || (!text->too_long && decode_cplusplus(name, text));
    if (!decoded)
        text->out->size = text->start;
    return decoded;
}

/*
 * libiberty cannot be told to stop, so a text that is too long is left with a jump. That is safe where it has nothing
 * allocated: always in the C++ decoder, and in the Rust one where it prints punctuation, which are constants (an
 * identifier that it decoded lies in memory of its own while it is printed).
 */
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
    if (rust_demangle_callback(name, DMGL_PARAMS | DMGL_ANSI, append, text) != 0)
        return !text->too_long;
    text->out->size = text->start;
    return false;
}

static bool decode_cplusplus(const char *name, struct text *text)
{
    text->rust = false;
    if (setjmp(text->way_out) != 0)
        return false;
    return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, append, text) != 0;
}

/*
 * With N back references a type becomes at most 3^(N/3) times as long as its parts: that is when each type has three
 * references to the one before. Letters of identifiers that look like references only make the estimate larger.
 */
static bool may_explode(const char *name)
{
    uint64_t most = strlen(name);
    unsigned references = 0;
    for (; *name != 0 && most <= D_ESTIMATE_MAX; name++)
        if (*name == 'Q' && ++references % 3 == 0)
            most *= 3;
    return most > D_ESTIMATE_MAX;
}

static bool decode_d(const char *name, struct text *text)
{
    if (strlen(name) > D_NAME_MAX_SIZE || may_explode(name))
        return false;
    char *result = dlang_demangle(name, DMGL_PARAMS | DMGL_ANSI);
    if (result == NULL)
        return false;
    size_t size = strlen(result);
    text->too_long = size > RESULT_MAX_SIZE;
    if (!text->too_long)
        sxt_buffer_append(text->out, result, size);
    free(result);
    return !text->too_long;
}
