/*
 * json.c: trees of JSON values, read without recursion.
 *
 * While an array or object is still open, its `next` points to the one that it is in: a value gets its sibling only
 * when it is complete, so the field is free until then and the tree itself is the parser's stack.
 */
#include "base/json.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"

struct parser {
    struct sxt_json_reader *reader;
    struct sxt_json_limits *limits;
    unsigned depth;
    struct sxt_json *open;  /* the innermost array or object that is not closed yet */
    struct sxt_json **tail; /* where the next value is linked in */
    locale_t c_locale;      /* numbers have a decimal point whatever the user's locale says; 0 until it is needed */
};

static int parse_document(struct parser *parser);
static int parse_value(struct parser *parser, sxt_string key, bool *complete);
static int parse_key(struct parser *parser, sxt_string *key);
static int finish_value(struct parser *parser, bool *done, sxt_string *key);
static int parse_scalar(struct parser *parser, struct sxt_json *value);
static int parse_number(struct parser *parser, struct sxt_json *value);
static int keep_string(struct sxt_json_reader *reader, sxt_string *string);

int sxt_json_parse(const char *text, size_t size, struct sxt_json_limits limits, struct sxt_arena *arena,
                   struct sxt_json **out, sxt_error *error)
{
    struct sxt_json_reader reader;
    *out = NULL;
    int status = sxt_json_reader_init(&reader, "JSON", text, size, arena, error);
    if (status == SXT_OK)
        status = sxt_json_read_tree(&reader, &limits, out);
    if (status == SXT_OK)
        status = sxt_json_read_end(&reader);
    if (status != SXT_OK)
        *out = NULL;
    return status;
}

int sxt_json_read_tree(struct sxt_json_reader *reader, struct sxt_json_limits *limits, struct sxt_json **out)
{
    struct sxt_json *root = NULL;
    struct parser parser = {.reader = reader, .limits = limits, .tail = &root};
    int status = parse_document(&parser);
    if (parser.c_locale != (locale_t)0)
        freelocale(parser.c_locale);
    *out = status == SXT_OK ? root : NULL;
    return status;
}

const struct sxt_json *sxt_json_member(const struct sxt_json *value, const char *key)
{
    if (value == NULL || value->type != SXT_JSON_OBJECT)
        return NULL;
    const struct sxt_json *found = NULL;
    for (const struct sxt_json *member = value->child; member != NULL; member = member->next)
        if (sxt_string_is(member->key, key))
            found = member;
    return found;
}

/* --- parsing --- */

static int parse_document(struct parser *parser)
{
    sxt_string key = {NULL, 0};
    bool done = false;
    while (!done) {
        bool complete = true;
        int status = parse_value(parser, key, &complete);
        if (status == SXT_OK && complete)
            status = finish_value(parser, &done, &key);
        else if (status == SXT_OK && parser->open->type == SXT_JSON_OBJECT)
            status = parse_key(parser, &key);
        else
            key = (sxt_string){NULL, 0};
        if (status != SXT_OK)
            return status;
    }
    return SXT_OK;
}

static int make_value(struct parser *parser, sxt_string key, struct sxt_json **out)
{
    struct sxt_json_reader *reader = parser->reader;
    if (parser->limits->values == 0)
        return sxt_fail(reader->error, SXT_ERROR_LIMIT, reader->position, "%s: too many values", reader->subject);
    struct sxt_json *value = sxt_arena_calloc(reader->arena, 1, sizeof *value);
    if (value == NULL)
        return sxt_json_read_no_memory(reader, sizeof *value);
    parser->limits->values--;
    value->key = key;
    *parser->tail = value;
    parser->tail = &value->next;
    if (parser->open != NULL)
        parser->open->count++;
    *out = value;
    return SXT_OK;
}

/* Begins an array or object; *COMPLETE is false when it has content, which comes next. */
static int open_container(struct parser *parser, struct sxt_json *value, bool is_array, bool *complete)
{
    struct sxt_json_reader *reader = parser->reader;
    if (parser->depth == parser->limits->depth)
        return sxt_fail(reader->error, SXT_ERROR_LIMIT, reader->position, "%s: nested more than %u levels deep",
                        reader->subject, parser->limits->depth);
    reader->position++;
    value->type = is_array ? SXT_JSON_ARRAY : SXT_JSON_OBJECT;
    *complete = sxt_json_read_take(reader, is_array ? ']' : '}');
    if (*complete)
        return SXT_OK;
    value->next = parser->open;
    parser->open = value;
    parser->tail = &value->child;
    parser->depth++;
    return SXT_OK;
}

static int parse_value(struct parser *parser, sxt_string key, bool *complete)
{
    struct sxt_json *value = NULL;
    int next = sxt_json_read_peek(parser->reader);
    int status = make_value(parser, key, &value);
    if (status != SXT_OK)
        return status;
    if (next == '[' || next == '{')
        return open_container(parser, value, next == '[', complete);
    return parse_scalar(parser, value);
}

static int parse_key(struct parser *parser, sxt_string *key)
{
    int status = sxt_json_read_key(parser->reader, key, NULL);
    return status == SXT_OK ? keep_string(parser->reader, key) : status;
}

/* After a complete value: closes what ends here, and reads up to where the next value begins. */
static int finish_value(struct parser *parser, bool *done, sxt_string *key)
{
    *key = (sxt_string){NULL, 0};
    parser->reader->first = false;
    while (parser->open != NULL) {
        struct sxt_json *container = parser->open;
        bool is_array = container->type == SXT_JSON_ARRAY, more;
        int status = sxt_json_read_more(parser->reader, is_array ? ']' : '}', &more);
        if (status != SXT_OK)
            return status;
        if (more)
            return is_array ? SXT_OK : parse_key(parser, key);
        parser->open = container->next;
        container->next = NULL;
        parser->tail = &container->next;
        parser->depth--;
    }
    *done = true;
    return SXT_OK;
}

static int parse_scalar(struct parser *parser, struct sxt_json *value)
{
    static const struct {
        const char *word;
        enum sxt_json_type type;
        bool boolean;
    } words[] = {{"null", SXT_JSON_NULL, false}, {"true", SXT_JSON_BOOL, true}, {"false", SXT_JSON_BOOL, false}};
    struct sxt_json_reader *reader = parser->reader;
    if (sxt_json_read_peek(reader) == '"') {
        value->type = SXT_JSON_STRING;
        int status = sxt_json_read_string(reader, "a value", &value->string);
        return status == SXT_OK ? keep_string(reader, &value->string) : status;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (sxt_json_read_word(reader, words[i].word)) {
            value->type = words[i].type;
            value->boolean = words[i].boolean;
            return SXT_OK;
        }
    return parse_number(parser, value);
}

/* Copies a string that is a part of the text; one with escapes is in the arena already. */
static int keep_string(struct sxt_json_reader *reader, sxt_string *string)
{
    if (string->data < reader->text || string->data >= reader->text + reader->size)
        return SXT_OK;
    const char *copy = sxt_arena_copy(reader->arena, string->data, string->size);
    if (copy == NULL)
        return sxt_json_read_no_memory(reader, string->size + 1);
    string->data = copy;
    return SXT_OK;
}

/* Fills in the integer forms that the digits fit in. */
static void read_integer(struct sxt_json *value)
{
    bool negative = value->string.data[0] == '-';
    uint64_t magnitude = 0;
    for (size_t i = negative; i < value->string.size; i++) {
        uint64_t digit = (uint64_t)(value->string.data[i] - '0');
        if (__builtin_mul_overflow(magnitude, 10, &magnitude) || __builtin_add_overflow(magnitude, digit, &magnitude))
            return;
    }
    value->is_unsigned = !negative || magnitude == 0;
    value->is_signed = magnitude <= (uint64_t)INT64_MAX + negative;
    if (value->is_unsigned)
        value->unsigned_value = magnitude;
    if (value->is_signed)
        value->signed_value = negative && magnitude > 0 ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
}

static int parse_number(struct parser *parser, struct sxt_json *value)
{
    struct sxt_json_reader *reader = parser->reader;
    bool is_integer = false;
    size_t start = reader->position;
    int status = sxt_json_read_number(reader, &value->string, &is_integer);
    if (status == SXT_OK)
        status = keep_string(reader, &value->string);
    if (status != SXT_OK)
        return status;
    value->type = SXT_JSON_NUMBER;
    if (is_integer)
        read_integer(value);

    if (parser->c_locale == (locale_t)0)
        parser->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (parser->c_locale == (locale_t)0)
        return sxt_fail_memory(reader->error, sizeof(locale_t));
    value->number = strtod_l(value->string.data, NULL, parser->c_locale);
    if (!isfinite(value->number))
        return sxt_json_read_fail(reader, start, "a number too large for a double");
    return SXT_OK;
}

/* --- making --- */

static struct sxt_json *make(struct sxt_arena *arena, enum sxt_json_type type)
{
    struct sxt_json *value = sxt_arena_calloc(arena, 1, sizeof *value);
    if (value != NULL)
        value->type = type;
    return value;
}

struct sxt_json *sxt_json_object(struct sxt_arena *arena)
{
    return make(arena, SXT_JSON_OBJECT);
}

struct sxt_json *sxt_json_array(struct sxt_arena *arena)
{
    return make(arena, SXT_JSON_ARRAY);
}

static bool copy_string(struct sxt_arena *arena, sxt_string from, sxt_string *to)
{
    const char *copy = from.data == NULL ? NULL : sxt_arena_copy(arena, from.data, from.size);
    *to = (sxt_string){copy, copy == NULL ? 0 : from.size};
    return copy != NULL || from.data == NULL;
}

struct sxt_json *sxt_json_copy(struct sxt_arena *arena, const struct sxt_json *value)
{
    struct sxt_json *copy = sxt_arena_alloc(arena, sizeof *copy);
    if (copy == NULL)
        return NULL;
    *copy = *value;
    copy->next = copy->child = NULL;
    if (!copy_string(arena, value->string, &copy->string) || !copy_string(arena, value->key, &copy->key))
        return NULL;
    struct sxt_json **tail = &copy->child;
    for (const struct sxt_json *child = value->child; child != NULL; child = child->next) {
        *tail = sxt_json_copy(arena, child);
        if (*tail == NULL)
            return NULL;
        tail = &(*tail)->next;
    }
    return copy;
}

bool sxt_json_add(struct sxt_arena *arena, struct sxt_json *object, const char *key, struct sxt_json *value)
{
    if (value == NULL || (key != NULL && !copy_string(arena, sxt_string_of(key), &value->key)))
        return false;
    struct sxt_json **tail = &object->child;
    while (*tail != NULL)
        tail = &(*tail)->next;
    *tail = value;
    object->count++;
    return true;
}

bool sxt_json_add_number(struct sxt_arena *arena, struct sxt_json *object, const char *key, int64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%" PRId64, value);
    struct sxt_json *number = make(arena, SXT_JSON_NUMBER);
    if (number == NULL || !copy_string(arena, (sxt_string){digits, (size_t)size}, &number->string))
        return false;
    number->is_signed = true;
    number->signed_value = value;
    number->is_unsigned = value >= 0;
    number->unsigned_value = value >= 0 ? (uint64_t)value : 0;
    number->number = (double)value;
    return sxt_json_add(arena, object, key, number);
}

bool sxt_json_add_string(struct sxt_arena *arena, struct sxt_json *object, const char *key, sxt_string value)
{
    struct sxt_json *string = make(arena, SXT_JSON_STRING);
    return string != NULL && copy_string(arena, value, &string->string) && sxt_json_add(arena, object, key, string);
}

struct sxt_json *sxt_json_take(struct sxt_json *object, const char *key)
{
    struct sxt_json *found = NULL;
    struct sxt_json **link = &object->child;
    while (*link != NULL) {
        struct sxt_json *member = *link;
        if (sxt_string_is(member->key, key)) {
            *link = member->next;
            object->count--;
            member->next = NULL;
            found = member;
        } else {
            link = &member->next;
        }
    }
    return found;
}
