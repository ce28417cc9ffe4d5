/* json_text.c: strings as JSON, and the places of values in JSON. */
#include "trace/json_text.h"

#include <string.h>

#include "base/utf8.h"

#define KEY_MOST 256 /* keys that are asked for are shorter, also with all their letters escaped */

void sxt_json_put_text(struct sxt_buffer *json, const char *text)
{
    sxt_buffer_append(json, text, strlen(text));
}

void sxt_json_put(struct sxt_buffer *json, sxt_string text)
{
    sxt_buffer_append(json, text.data, text.size);
}

void sxt_json_put_number(struct sxt_buffer *json, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    sxt_buffer_append(json, digits + at, sizeof digits - at);
}

void sxt_json_put_frame(struct sxt_buffer *json, uint32_t file, uint32_t line, uint32_t function)
{
    sxt_json_put_text(json, "{\"file_id\": ");
    sxt_json_put_number(json, file);
    sxt_json_put_text(json, ", \"line\": ");
    sxt_json_put_number(json, line);
    sxt_json_put_text(json, ", \"func_id\": ");
    sxt_json_put_number(json, function);
    sxt_buffer_u8(json, '}');
}

void sxt_json_put_string(struct sxt_buffer *json, sxt_string text)
{
    sxt_buffer_u8(json, '"');
    for (size_t at = 0; at < text.size;) {
        size_t valid = sxt_utf8_valid(text.data + at, text.size - at);
        for (size_t end = at + valid; at < end; at++) {
            uint8_t byte = (uint8_t)text.data[at];
            if (byte == '"' || byte == '\\')
                sxt_buffer_u8(json, '\\');
            if (byte < 0x20)
                sxt_buffer_print(json, "\\u%04x", byte);
            else
                sxt_buffer_u8(json, byte);
        }
        if (at < text.size) {
            sxt_json_put_text(json, "\xef\xbf\xbd");
            at++;
        }
    }
    sxt_buffer_u8(json, '"');
}

/* --- walking --- */

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r';
}

static void skip_blanks(struct sxt_json_walk *walk)
{
    while (walk->at < walk->text.size && is_blank(walk->text.data[walk->at]))
        walk->at++;
}

/* The letter that comes next, blanks aside; 0 at the end. */
static char peek(struct sxt_json_walk *walk)
{
    skip_blanks(walk);
    return walk->at < walk->text.size ? walk->text.data[walk->at] : 0;
}

static void skip_string(struct sxt_json_walk *walk)
{
    const sxt_string text = walk->text;
    for (walk->at++; walk->at < text.size && text.data[walk->at] != '"'; walk->at++)
        walk->at += text.data[walk->at] == '\\';
    walk->at = walk->at < text.size ? walk->at + 1 : text.size;
}

static void skip_nested(struct sxt_json_walk *walk)
{
    size_t depth = 0;
    while (walk->at < walk->text.size) {
        char letter = walk->text.data[walk->at];
        if (letter == '"') {
            skip_string(walk);
            continue;
        }
        walk->at++;
        depth += letter == '{' || letter == '[';
        if ((letter == '}' || letter == ']') && --depth == 0)
            break;
    }
}

static sxt_string take_value(struct sxt_json_walk *walk)
{
    char first = peek(walk);
    size_t start = walk->at;
    if (first == '"')
        skip_string(walk);
    else if (first == '{' || first == '[')
        skip_nested(walk);
    else
        while (walk->at < walk->text.size && strchr(",]} \t\n\r", walk->text.data[walk->at]) == NULL)
            walk->at++;
    return (sxt_string){walk->text.data + start, walk->at - start};
}

struct sxt_json_walk sxt_json_walk(sxt_string text)
{
    while (text.size > 0 && is_blank(text.data[0]))
        text = (sxt_string){text.data + 1, text.size - 1};
    return (struct sxt_json_walk){.text = text};
}

bool sxt_json_next(struct sxt_json_walk *walk, sxt_string *key, sxt_string *value)
{
    char first = walk->text.size > 0 ? walk->text.data[0] : 0, next = peek(walk);
    *key = (sxt_string){NULL, 0};
    if (next != ',' && !(walk->at == 0 && (next == '{' || next == '[')))
        return false;
    walk->at++;
    next = peek(walk);
    if (next == 0 || next == '}' || next == ']')
        return false;
    if (first == '{') {
        *key = take_value(walk);
        if (peek(walk) != ':')
            return false;
        walk->at++;
    }
    *value = take_value(walk);
    return value->size > 0;
}

/* --- keys --- */

/* The value of "\uXXXX" at AT; 0x80 when it is no letter of ASCII. */
static unsigned escaped_letter(sxt_string key, size_t at)
{
    static const char digits[] = "0123456789abcdef";
    unsigned value = 0;
    if (key.size - at < 6 || key.data[at + 1] != 'u')
        return 0x80;
    for (size_t i = at + 2; i < at + 6; i++) {
        const char *digit = memchr(digits, key.data[i] | 0x20, 16);
        value = value << 4 | (digit != NULL ? (unsigned)(digit - digits) : 8);
    }
    return value < 0x80 ? value : 0x80;
}

/* What the key is without quotes and escapes, in ROOM; absent when it has anything that keys of interest have not. */
static sxt_string decode(sxt_string key, char room[KEY_MOST])
{
    const sxt_string nothing = {NULL, 0};
    size_t size = 0;
    if (key.size < 2 || key.size > KEY_MOST)
        return nothing;
    for (size_t at = 1; at + 1 < key.size; at++) {
        unsigned letter = (unsigned char)key.data[at];
        if (letter == '\\') {
            letter = escaped_letter(key, at);
            at += 5;
        }
        if (letter >= 0x80)
            return nothing;
        room[size++] = (char)letter;
    }
    return (sxt_string){room, size};
}

bool sxt_json_key_is(sxt_string key, const char *name)
{
    char room[KEY_MOST];
    sxt_string plain = decode(key, room);
    return plain.data != NULL && plain.size == strlen(name) && memcmp(plain.data, name, plain.size) == 0;
}

bool sxt_json_number(sxt_string text, uint32_t *number)
{
    uint64_t value = 0;
    if (text.size == 0 || text.size > 10)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *number = (uint32_t)value;
    return value < UINT32_MAX;
}

bool sxt_json_key_number(sxt_string key, uint32_t *number)
{
    char room[KEY_MOST];
    return sxt_json_number(decode(key, room), number);
}
