/* fuzz_json.c: any bytes as JSON text. */
#include <string.h>

#include "base/json.h"
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
    } else {
        SXT_HOLDS(error.text[0] != 0 && strchr(error.text, '\n') == NULL);
    }
    sxt_arena_free(&arena);
    return 0;
}
