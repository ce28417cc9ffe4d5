/* escape.c: runs of plain characters are copied whole; the others go one by one. */
#include "base/escape.h"

#include <string.h>

#include "base/hex.h"
#include "base/utf8.h"

/* Sixteen bytes at a time, in the vectors that the machine has. */
typedef uint8_t sixteen __attribute__((vector_size(16)));

/* True when one of the bytes is a control character, '"', '\\', DEL, or not ASCII. */
static bool needs_care(const char *data)
{
    sixteen bytes;
    memcpy(&bytes, data, sizeof bytes);
    sixteen found = (sixteen)((bytes < 0x20) | (bytes >= 0x7f) | (bytes == '"') | (bytes == '\\'));
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

size_t sxt_escape_plain_size(const char *data, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(sixteen) && !needs_care(data + at))
        at += sizeof(sixteen);
    /* The rest of a longer string, with some bytes before it once more. */
    if (size >= sizeof(sixteen) && size - at < sizeof(sixteen) && !needs_care(data + size - sizeof(sixteen)))
        return size;
    while (at < size && is_plain((unsigned char)data[at]))
        at++;
    return at;
}

/* --- UTF-8, for terminals and JSON --- */

static void put_hex(struct sxt_buffer *out, const char *prefix, unsigned char byte)
{
    const char digits[2] = {sxt_hex_letter(byte >> 4), sxt_hex_letter(byte)};
    sxt_buffer_append(out, prefix, strlen(prefix));
    sxt_buffer_append(out, digits, sizeof digits);
}

/* The short escapes of JSON for control characters. False when BYTE has none. */
static bool put_short(struct sxt_buffer *out, unsigned char byte)
{
    static const char specials[] = "\"\\\b\t\n\f\r", letters[] = "\"\\btnfr";
    const char *found = memchr(specials, byte, sizeof specials - 1);
    if (found == NULL)
        return false;
    sxt_buffer_append(out, (char[]){'\\', letters[found - specials]}, 2);
    return true;
}

/* One ASCII character that is not plain. */
static void put_ascii(struct sxt_buffer *out, bool is_json, unsigned char byte)
{
    if (is_json && put_short(out, byte))
        return;
    if (byte < 0x20 || byte == 0x7f)
        put_hex(out, is_json ? "\\u00" : "\\x", byte);
    else
        sxt_buffer_u8(out, byte);
}

/* One character of valid UTF-8 above ASCII; control characters among them are U+0080 to U+009F. Returns its size. */
static size_t put_character(struct sxt_buffer *out, bool is_json, const char *data)
{
    unsigned char lead = (unsigned char)data[0], second = (unsigned char)data[1];
    size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead != 0xc2 || second >= 0xa0) {
        sxt_buffer_append(out, data, size);
    } else if (is_json) {
        put_hex(out, "\\u00", second);
    } else {
        put_hex(out, "\\x", lead);
        put_hex(out, "\\x", second);
    }
    return size;
}

/* UTF-8 is checked up to the next bad byte, and only where there is more than ASCII. */
static void put_escaped(struct sxt_buffer *out, bool is_json, sxt_string text)
{
    size_t at = 0, valid = 0;
    while (at < text.size) {
        size_t plain = sxt_escape_plain_size(text.data + at, text.size - at);
        sxt_buffer_append(out, text.data + at, plain);
        at += plain;
        if (at == text.size)
            return;
        unsigned char byte = (unsigned char)text.data[at];
        if (byte < 0x80) {
            put_ascii(out, is_json, byte);
            at++;
            continue;
        }
        if (at >= valid)
            valid = at + sxt_utf8_valid(text.data + at, text.size - at);
        if (at < valid) {
            at += put_character(out, is_json, text.data + at);
        } else {
            if (is_json)
                sxt_buffer_append(out, "\xef\xbf\xbd", 3);
            else
                put_hex(out, "\\x", byte);
            at++;
        }
    }
}

void sxt_escape_text(struct sxt_buffer *out, sxt_string text)
{
    put_escaped(out, false, text);
}

void sxt_escape_json(struct sxt_buffer *out, sxt_string text)
{
    put_escaped(out, true, text);
}

void sxt_escape_json_numbers(struct sxt_buffer *out, sxt_string text, bool with_delete)
{
    for (size_t at = 0, valid = 0; at < text.size; at++) {
        unsigned char byte = (unsigned char)text.data[at];
        if (at >= valid)
            valid = at + sxt_utf8_valid(text.data + at, text.size - at);
        if (at >= valid) {
            sxt_buffer_append(out, "\xef\xbf\xbd", 3);
        } else if (byte < 0x20 || (byte == 0x7f && with_delete)) {
            put_hex(out, "\\u00", byte);
        } else {
            if (byte == '"' || byte == '\\')
                sxt_buffer_u8(out, '\\');
            sxt_buffer_u8(out, byte);
        }
    }
}

/* --- ASCII, as Python writes JSON --- */

/* Decodes the character at TEXT[*AT] and steps over it. A byte that is not UTF-8 is a character. */
static uint32_t next_character(sxt_string text, size_t *at)
{
    const uint8_t *byte = (const uint8_t *)text.data + *at;
    size_t left = text.size - *at;
    unsigned size = byte[0] < 0xc0 ? 1 : byte[0] < 0xe0 ? 2 : byte[0] < 0xf0 ? 3 : 4;
    if (size == 1 || size > left) {
        *at += 1;
        return byte[0];
    }
    uint32_t code = byte[0] & (0x7fu >> size);
    for (unsigned i = 1; i < size; i++)
        code = code << 6 | (byte[i] & 0x3f);
    *at += size;
    return code;
}

void sxt_escape_json_ascii(struct sxt_buffer *out, sxt_string text)
{
    for (size_t at = 0; at < text.size;) {
        size_t plain = sxt_escape_plain_size(text.data + at, text.size - at);
        sxt_buffer_append(out, text.data + at, plain);
        at += plain;
        if (at == text.size)
            return;
        uint32_t code = next_character(text, &at);
        if (code < 0x80 && put_short(out, (unsigned char)code))
            continue;
        if (code < 0x10000)
            sxt_buffer_print(out, "\\u%04x", code);
        else
            sxt_buffer_print(out, "\\u%04x\\u%04x", 0xd800 + ((code - 0x10000) >> 10), 0xdc00 + (code & 0x3ff));
    }
}
