/*
 * demangle.c: picks the language by the first letters of a name, and shows the suffixes of clones the same way for all
 * languages.
 */
#include "demangle/demangle.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/decoder.h"
#include "demangle/itanium.h"

#define DECODER_OPTIONS (DMGL_PARAMS | DMGL_ANSI)

static bool decode_with_clone(char *name, struct sxt_buffer *out);
static bool decode(const char *name, struct sxt_buffer *out, bool *too_long);

bool sxt_demangle(sxt_string name, struct sxt_buffer *out)
{
    if (name.size < 3 || name.size > SXT_DECODER_NAME_MAX || name.data[0] != '_')
        return false;
    if (name.data[1] != 'Z' && name.data[1] != 'R' && name.data[1] != 'D')
        return false;
    /* "@plt" and "@@VERSION" are not part of the mangling. */
    const char *at_sign = memchr(name.data, '@', name.size);
    size_t size = at_sign != NULL ? (size_t)(at_sign - name.data) : name.size;
    if (sxt_itanium_demangle(name.data, size, out)) {
        sxt_buffer_append(out, name.data + size, name.size - size);
        return !out->failed;
    }
    char small[512];
    char *copy = size < sizeof small ? small : malloc(size + 1);
    if (copy == NULL) {
        out->failed = out->memory_was_short = true;
        return false;
    }
    memcpy(copy, name.data, size);
    copy[size] = 0;

    size_t start = out->size;
    bool decoded = decode_with_clone(copy, out);
    if (copy != small)
        free(copy);
    if (decoded)
        sxt_buffer_append(out, name.data + size, name.size - size);
    if (decoded && !out->failed)
        return true;
    out->size = start;
    return false;
}

/* Where the suffix of a clone begins, if the decoder would drop it or not know it; NULL otherwise. */
static char *clone_suffix(char *name)
{
    if (name[1] != 'Z')
        return strchr(name, '.');
    /* Legacy Rust has dots in its names too; its suffix comes after the hash. */
    for (char *end = strstr(name, "E."); end != NULL; end = strstr(end + 1, "E."))
        if (end - name > 19 && memcmp(end - 19, "17h", 3) == 0)
            return end + 1;
    return NULL;
}

/* The C++ decoder shows clones itself. For the others the suffix is cut off and shown in the same form. */
static bool decode_with_clone(char *name, struct sxt_buffer *out)
{
    char *dot = clone_suffix(name);
    bool too_long;
    if (dot == NULL) {
        if (decode(name, out, &too_long))
            return true;
        /* A suffix of a kind that even the C++ decoder does not know. */
        dot = strchr(name, '.');
        if (dot == NULL || too_long)
            return false;
    }
    *dot = 0;
    if (dot[1] == 0 || !decode(name, out, &too_long))
        return false;
    /* ".llvm." and a number only make a name unique. */
    if (strncmp(dot + 1, "llvm.", 5) != 0) {
        sxt_buffer_append(out, " [clone .", 9);
        sxt_buffer_append(out, dot + 1, strlen(dot + 1));
        sxt_buffer_append(out, "]", 1);
    }
    return true;
}

static bool decode(const char *name, struct sxt_buffer *out, bool *too_long)
{
    if (name[1] == 'D')
        return sxt_decode(SXT_DECODE_D, name, DECODER_OPTIONS, out, too_long);
    /* A legacy Rust name is also a valid C++ name, so Rust is tried first. It ends with a hash of this form. */
    bool is_rust = name[1] == 'R' || strstr(name, "17h") != NULL;
    *too_long = false;
    return (is_rust && sxt_decode(SXT_DECODE_RUST, name, DECODER_OPTIONS, out, too_long)) ||
           (!*too_long && sxt_decode(SXT_DECODE_CPLUSPLUS, name, DECODER_OPTIONS, out, too_long));
}
