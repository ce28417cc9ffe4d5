/*
 * json.c: a parser without recursion.
 *
 * While an array or object is still open, its `next` points to the one that it is in: a value gets its sibling only
 * when it is complete, so the field is free until then and the tree itself is the parser's stack.
 */
#include "base/json.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

struct parser {
    const char *text;
    size_t size;
    size_t position;
    struct sxt_json_limits limits;
    size_t values; /* made so far */
    unsigned depth;
    struct sxt_json *open;  /* the innermost array or object that is not closed yet */
    struct sxt_json **tail; /* where the next value is linked in */
    struct sxt_arena *arena;
    locale_t c_locale; /* numbers have a point in them, whatever the user's language says; 0 until it is needed */
    sxt_error *error;
};

static int parse_document(struct parser *parser);
static int parse_value(struct parser *parser, sxt_string key, bool *complete);
static int parse_key(struct parser *parser, sxt_string *key);
static int finish_value(struct parser *parser, bool *done, sxt_string *key);
static int parse_word(struct parser *parser, struct sxt_json *value);
static int parse_number(struct parser *parser, struct sxt_json *value);
static int parse_string(struct parser *parser, sxt_string *out);

int sxt_json_parse(const char *text, size_t size, struct sxt_json_limits limits, struct sxt_arena *arena,
                   struct sxt_json **out, sxt_error *error)
{
    *out = NULL;
    size_t valid = sxt_utf8_valid(text, size);
    if (valid != size)
        return sxt_fail(error, SXT_ERROR_FORMAT, valid, "JSON: not UTF-8");
    struct sxt_json *root = NULL;
    struct parser parser = {
        .text = text, .size = size, .limits = limits, .tail = &root, .arena = arena, .error = error};
    int status = parse_document(&parser);
    if (parser.c_locale != (locale_t)0)
        freelocale(parser.c_locale);
    if (status == SXT_OK)
        *out = root;
    return status;
}

const struct sxt_json *sxt_json_member(const struct sxt_json *value, const char *key)
{
    if (value == NULL || value->type != SXT_JSON_OBJECT)
        return NULL;
    const struct sxt_json *found = NULL;
    size_t length = strlen(key);
    for (const struct sxt_json *member = value->child; member != NULL; member = member->next)
        if (member->key.size == length && memcmp(member->key.data, key, length) == 0)
            found = member;
    return found;
}

static int syntax_error(struct parser *parser, const char *problem)
{
    return sxt_fail(parser->error, SXT_ERROR_FORMAT, parser->position, "JSON: %s", problem);
}

/* Why the arena gave nothing: its limit, or the machine's. */
static int arena_error(struct parser *parser, size_t wanted)
{
    const struct sxt_arena *arena = parser->arena;
    if (arena->limit != 0 && wanted > arena->limit - arena->used)
        return sxt_fail(parser->error, SXT_ERROR_LIMIT, parser->position, "JSON: needs more than %zu bytes of memory",
                        arena->limit);
    return sxt_fail_memory(parser->error, wanted);
}

static void skip_space(struct parser *parser)
{
    while (parser->position < parser->size) {
        char c = parser->text[parser->position];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            return;
        parser->position++;
    }
}

/* The character that comes next, or -1 at the end. */
static int peek(const struct parser *parser)
{
    return parser->position < parser->size ? (unsigned char)parser->text[parser->position] : -1;
}

static bool next_is_digit(const struct parser *parser)
{
    return peek(parser) >= '0' && peek(parser) <= '9';
}

static bool take(struct parser *parser, char wanted)
{
    bool there = peek(parser) == wanted;
    parser->position += there;
    return there;
}

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
    skip_space(parser);
    return parser->position == parser->size ? SXT_OK : syntax_error(parser, "more text behind the value");
}

static int make_value(struct parser *parser, sxt_string key, struct sxt_json **out)
{
    if (parser->values == parser->limits.values)
        return sxt_fail(parser->error, SXT_ERROR_LIMIT, parser->position, "JSON: more than %zu values",
                        parser->limits.values);
    struct sxt_json *value = sxt_arena_calloc(parser->arena, 1, sizeof *value);
    if (value == NULL)
        return arena_error(parser, sizeof *value);
    parser->values++;
    value->key = key;
    *parser->tail = value;
    parser->tail = &value->next;
    if (parser->open != NULL)
        parser->open->count++;
    *out = value;
    return SXT_OK;
}

/* Begins an array or object; *COMPLETE is false when it has content, which is then what comes next. */
static int open_container(struct parser *parser, struct sxt_json *value, bool *complete)
{
    if (parser->depth == parser->limits.depth)
        return sxt_fail(parser->error, SXT_ERROR_LIMIT, parser->position, "JSON: nested more than %u levels deep",
                        parser->limits.depth);
    bool array = take(parser, '[');
    parser->position += !array;
    value->type = array ? SXT_JSON_ARRAY : SXT_JSON_OBJECT;
    skip_space(parser);
    *complete = take(parser, array ? ']' : '}');
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
    skip_space(parser);
    struct sxt_json *value = NULL;
    int status = make_value(parser, key, &value);
    if (status != SXT_OK)
        return status;
    switch (peek(parser)) {
    case '[':
    case '{':
        return open_container(parser, value, complete);
    case '"':
        value->type = SXT_JSON_STRING;
        return parse_string(parser, &value->string);
    case -1:
        return syntax_error(parser, "ends where a value is expected");
    default:
        return peek(parser) == '-' || next_is_digit(parser) ? parse_number(parser, value) : parse_word(parser, value);
    }
}

static int parse_key(struct parser *parser, sxt_string *key)
{
    skip_space(parser);
    if (peek(parser) != '"')
        return syntax_error(parser, "expected a key in quotes");
    int status = parse_string(parser, key);
    if (status != SXT_OK)
        return status;
    skip_space(parser);
    return take(parser, ':') ? SXT_OK : syntax_error(parser, "expected ':' behind a key");
}

/* Behind a complete value: closes what ends here, and reads up to where the next value begins. */
static int finish_value(struct parser *parser, bool *done, sxt_string *key)
{
    *key = (sxt_string){NULL, 0};
    while (parser->open != NULL) {
        struct sxt_json *container = parser->open;
        bool array = container->type == SXT_JSON_ARRAY;
        skip_space(parser);
        if (take(parser, ','))
            return array ? SXT_OK : parse_key(parser, key);
        if (!take(parser, array ? ']' : '}'))
            return syntax_error(parser, array ? "expected ',' or ']'" : "expected ',' or '}'");
        parser->open = container->next;
        container->next = NULL;
        parser->tail = &container->next;
        parser->depth--;
    }
    *done = true;
    return SXT_OK;
}

static int parse_word(struct parser *parser, struct sxt_json *value)
{
    static const struct {
        const char *word;
        enum sxt_json_type type;
        bool boolean;
    } words[] = {{"null", SXT_JSON_NULL, false}, {"true", SXT_JSON_BOOL, true}, {"false", SXT_JSON_BOOL, false}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].word);
        if (parser->size - parser->position >= length &&
            memcmp(parser->text + parser->position, words[i].word, length) == 0) {
            value->type = words[i].type;
            value->boolean = words[i].boolean;
            parser->position += length;
            return SXT_OK;
        }
    }
    return syntax_error(parser, "expected a value");
}

/* Returns false when there is no digit. */
static bool skip_digits(struct parser *parser)
{
    size_t before = parser->position;
    while (next_is_digit(parser))
        parser->position++;
    return parser->position > before;
}

/* Steps over a number as the grammar has it, and says whether it has neither fraction nor exponent. */
static int scan_number(struct parser *parser, bool *integer)
{
    take(parser, '-');
    if (!take(parser, '0') && !skip_digits(parser))
        return syntax_error(parser, "expected a digit");
    *integer = true;
    if (take(parser, '.')) {
        *integer = false;
        if (!skip_digits(parser))
            return syntax_error(parser, "expected a digit behind the point");
    }
    if (take(parser, 'e') || take(parser, 'E')) {
        *integer = false;
        if (!take(parser, '+'))
            take(parser, '-');
        if (!skip_digits(parser))
            return syntax_error(parser, "expected a digit in the exponent");
    }
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
    size_t start = parser->position;
    bool integer = false;
    int status = scan_number(parser, &integer);
    if (status != SXT_OK)
        return status;
    size_t length = parser->position - start;
    const char *copy = sxt_arena_copy(parser->arena, parser->text + start, length);
    if (copy == NULL)
        return arena_error(parser, length + 1);
    value->type = SXT_JSON_NUMBER;
    value->string = (sxt_string){copy, length};
    if (integer)
        read_integer(value);

    if (parser->c_locale == (locale_t)0)
        parser->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (parser->c_locale == (locale_t)0)
        return sxt_fail_memory(parser->error, sizeof(locale_t));
    value->number = strtod_l(copy, NULL, parser->c_locale);
    if (!isfinite(value->number)) {
        parser->position = start;
        return syntax_error(parser, "a number too large for a double");
    }
    return SXT_OK;
}

/* The four digits of a \u escape. */
static int parse_unit(struct parser *parser, uint32_t *unit)
{
    *unit = 0;
    for (unsigned i = 0; i < 4; i++) {
        int c = peek(parser);
        if (c >= '0' && c <= '9')
            *unit = *unit << 4 | (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            *unit = *unit << 4 | (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return syntax_error(parser, "expected four hexadecimal digits");
        parser->position++;
    }
    return SXT_OK;
}

static size_t encode_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 0x3f));
        to[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 0x3f));
    to[2] = (char)(0x80 | (code >> 6 & 0x3f));
    to[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Behind "\u": one escape, or two that make a surrogate pair. */
static int parse_unicode_escape(struct parser *parser, char *to, size_t *written)
{
    size_t start = parser->position;
    uint32_t code, low;
    int status = parse_unit(parser, &code);
    if (status != SXT_OK)
        return status;
    bool pair = code >= 0xd800 && code < 0xdc00 && take(parser, '\\') && take(parser, 'u');
    if (pair) {
        status = parse_unit(parser, &low);
        if (status != SXT_OK)
            return status;
        pair = low >= 0xdc00 && low < 0xe000;
        if (pair)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (!pair && code >= 0xd800 && code < 0xe000) {
        parser->position = start;
        return syntax_error(parser, "half of a surrogate pair");
    }
    *written = encode_utf8(to, code);
    return SXT_OK;
}

/* Behind a backslash. No escape is shorter than what it stands for. */
static int parse_escape(struct parser *parser, char *to, size_t *written)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (take(parser, 'u'))
        return parse_unicode_escape(parser, to, written);
    int c = peek(parser);
    const char *letter = c > 0 ? strchr(letters, c) : NULL;
    if (letter == NULL)
        return syntax_error(parser, "unknown escape");
    parser->position++;
    *to = meanings[letter - letters];
    *written = 1;
    return SXT_OK;
}

/* Finds the closing quote without decoding, so that memory can be taken once. */
static int scan_string(struct parser *parser, size_t *end, bool *escaped)
{
    for (size_t at = parser->position; at < parser->size; at++) {
        unsigned char c = (unsigned char)parser->text[at];
        if (c == '"') {
            *end = at;
            return SXT_OK;
        }
        if (c < 0x20) {
            parser->position = at;
            return syntax_error(parser, "a control character in a string");
        }
        if (c == '\\') {
            *escaped = true;
            at++;
        }
    }
    parser->position = parser->size;
    return syntax_error(parser, "ends inside a string");
}

static int parse_string(struct parser *parser, sxt_string *out)
{
    parser->position++;
    size_t end = 0;
    bool escaped = false;
    int status = scan_string(parser, &end, &escaped);
    if (status != SXT_OK)
        return status;
    size_t raw = end - parser->position;
    char *copy = sxt_arena_copy(parser->arena, parser->text + parser->position, raw);
    if (copy == NULL)
        return arena_error(parser, raw + 1);
    *out = (sxt_string){copy, raw};
    if (escaped) {
        char *to = copy;
        while (parser->position < end) {
            char c = parser->text[parser->position++];
            size_t written = 1;
            if (c != '\\')
                *to = c;
            else if ((status = parse_escape(parser, to, &written)) != SXT_OK)
                return status;
            to += written;
        }
        *to = '\0';
        out->size = (size_t)(to - copy);
    }
    parser->position = end + 1;
    return SXT_OK;
}
