/*
 * fuzz_json.c: any bytes as JSON text. A tree of it is written and read again, and the reader that makes no tree takes
 * the same text.
 */
#include <string.h>

#include "base/json_writer.h"
#include "base/utf8.h"
#include "property.h"

#define DEPTH  50
#define VALUES 10000

/* Counts the values below and with VALUE, and checks what the header of the parser says of them. */
static size_t walk(const struct sxt_json *value, unsigned depth)
{
    size_t all = 1, children = 0;
    SXT_HOLDS(depth <= DEPTH + 1);
    SXT_HOLDS(value->string.size == 0 || value->string.data != NULL);
    if (value->type == SXT_JSON_STRING)
        SXT_HOLDS(sxt_utf8_valid(value->string.data, value->string.size) == value->string.size);
    if (value->type == SXT_JSON_NUMBER && value->is_unsigned && value->is_signed)
        SXT_HOLDS((uint64_t)value->signed_value == value->unsigned_value);
    bool nested = value->type == SXT_JSON_ARRAY || value->type == SXT_JSON_OBJECT;
    SXT_HOLDS(nested || value->child == NULL);
    for (const struct sxt_json *child = value->child; child != NULL; child = child->next) {
        children++;
        all += walk(child, depth + 1);
    }
    SXT_HOLDS(!nested || value->count == children);
    return all;
}

/* Members may have changed places, so the second text is compared with the third. */
static void check_written(struct sxt_arena *arena, const struct sxt_json *value, enum sxt_json_escapes escapes)
{
    struct sxt_buffer texts[2];
    for (unsigned i = 0; i < 2; i++) {
        struct sxt_json *again;
        struct sxt_json_writer writer = sxt_json_writer_make(&texts[i], SXT_JSON_INDENTED);
        sxt_buffer_init(&texts[i], (size_t)64 << 20);
        writer.escapes = escapes;
        sxt_json_write_tree_sorted(&writer, value);
        SXT_HOLDS(sxt_json_parse((const char *)texts[i].data, texts[i].size, (struct sxt_json_limits){DEPTH, VALUES},
                                 arena, &again, NULL) == SXT_OK);
        value = again;
    }
    SXT_HOLDS(texts[0].size == texts[1].size && memcmp(texts[0].data, texts[1].data, texts[0].size) == 0);
    sxt_buffer_free(&texts[0]);
    sxt_buffer_free(&texts[1]);
}

/* The tree refuses numbers that are too large and, without the flag, half surrogate pairs; otherwise both agree. */
static void check_skip(struct sxt_arena *arena, const char *text, size_t size, const struct sxt_json *value)
{
    struct sxt_json_reader reader;
    sxt_string whole;
    if (sxt_json_reader_init(&reader, "JSON", text, size, arena, NULL) != SXT_OK) {
        SXT_HOLDS(value == NULL);
        return;
    }
    bool is_taken = sxt_json_read_skip(&reader, &whole) == SXT_OK && sxt_json_read_end(&reader) == SXT_OK;
    SXT_HOLDS(is_taken || value == NULL);
    SXT_HOLDS(!is_taken || (whole.data >= text && whole.data + whole.size <= text + size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_arena arena;
    struct sxt_json *value = NULL;
    sxt_error error;
    sxt_arena_init(&arena, (size_t)64 << 20, sxt_arena_separate_default);
    int status =
        sxt_json_parse((const char *)data, size, (struct sxt_json_limits){DEPTH, VALUES}, &arena, &value, &error);
    if (status == SXT_OK) {
        SXT_HOLDS(value != NULL && walk(value, 0) <= VALUES);
        (void)sxt_json_member(value, "key");
        for (unsigned escapes = 0; escapes <= SXT_JSON_ESCAPES_NUMBERS_WITH_DELETE; escapes++)
            check_written(&arena, value, (enum sxt_json_escapes)escapes);
    } else {
        SXT_HOLDS(error.text[0] != 0 && strchr(error.text, '\n') == NULL);
    }
    check_skip(&arena, (const char *)data, size, value);
    sxt_arena_free(&arena);
    return 0;
}
