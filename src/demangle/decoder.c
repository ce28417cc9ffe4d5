/* decoder.c: calls libiberty, and aborts it when it writes too much. */
#include "demangle/decoder.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* The longest estimate for the text of a D name: libiberty allocates the text before its size can be checked. */
#define D_ESTIMATE_MAX ((uint64_t)4 << 20)

/* What the decoder has written so far. */
struct text {
    struct sxt_buffer *out;
    size_t start;
    bool rust;
    bool too_long;
    jmp_buf way_out; /* taken when it is too long */
};

static bool call_back(enum sxt_decoder decoder, const char *name, int options, struct text *text);
static bool may_explode(const char *name);
static bool take_result(char *result, struct text *text);

bool sxt_decode(enum sxt_decoder decoder, const char *name, int options, struct sxt_buffer *out, bool *too_long)
{
    struct text text = {.out = out, .start = out->size, .rust = decoder == SXT_DECODE_RUST};
    bool decoded = false;
    if (decoder == SXT_DECODE_ADA)
        decoded = take_result(ada_demangle(name, options), &text);
    else if (decoder != SXT_DECODE_D)
        decoded = call_back(decoder, name, options, &text);
    else if (strlen(name) <= SXT_DECODER_NESTED_MAX && !may_explode(name))
        decoded = take_result(dlang_demangle(name, options), &text);
    if (!decoded)
        out->size = text.start;
    *too_long = text.too_long;
    return decoded;
}

/*
 * libiberty cannot be told to stop, so decoding is aborted with a jump when the text gets too long. That is safe while
 * the decoder has nothing allocated: always in the C++ decoder, and in the Rust one while it prints punctuation, which
 * is constant text (an identifier that it decoded is in allocated memory while it is printed).
 */
static void append(const char *data, size_t size, void *opaque)
{
    struct text *text = opaque;
    if (size > SXT_DECODER_RESULT_MAX - (text->out->size - text->start))
        text->too_long = true;
    if (!text->too_long)
        sxt_buffer_append(text->out, data, size);
    else if (!text->rust || (size > 0 && size <= 2 && ispunct((unsigned char)data[0]) && data[0] != '_'))
        longjmp(text->way_out, 1);
}

static bool call_back(enum sxt_decoder decoder, const char *name, int options, struct text *text)
{
    if (setjmp(text->way_out) != 0)
        return false;
    int decoded = decoder == SXT_DECODE_RUST   ? rust_demangle_callback(name, options, append, text)
                  : decoder == SXT_DECODE_JAVA ? java_demangle_v3_callback(name, append, text)
                                               : cplus_demangle_v3_callback(name, options, append, text);
    return decoded != 0 && !text->too_long;
}

/*
 * With N back references a type becomes at most 3^(N/3) times as long as its parts, namely if each type has three
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

/* Takes ownership of RESULT, which the decoder allocated. */
static bool take_result(char *result, struct text *text)
{
    if (result == NULL)
        return false;
    size_t size = strlen(result);
    text->too_long = size > SXT_DECODER_RESULT_MAX;
    if (!text->too_long)
        sxt_buffer_append(text->out, result, size);
    free(result);
    return !text->too_long;
}
