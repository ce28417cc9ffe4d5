/* ids.c: the identities of binaries, as clients spell them. */
#include <string.h>

#include "base/base64.h"
#include "base/file_id.h"
#include "base/hex.h"
#include "catalog/private.h"

#define BUILD_ID_MAX    64
#define DEBUG_ID_DIGITS 32

static bool is_hex(sxt_string text)
{
    for (size_t i = 0; i < text.size; i++)
        if (sxt_hex_digit(text.data[i]) < 0)
            return false;
    return text.size > 0;
}

/* TEXT has digits only, and fits. */
static void set_id(struct sxt_catalog_id *out, char kind, sxt_string text)
{
    out->text[0] = kind;
    out->text[1] = '.';
    for (size_t i = 0; i < text.size; i++)
        out->text[2 + i] = sxt_hex_letter((unsigned)sxt_hex_digit(text.data[i]));
    out->text[2 + text.size] = 0;
}

bool sxt_catalog_parse_file_id(sxt_string text, struct sxt_catalog_id *out)
{
    out->text[0] = 0;
    if (text.size == 2 * (size_t)SXT_FILE_ID_SIZE && is_hex(text)) {
        set_id(out, 'f', text);
        return true;
    }
    uint8_t bytes[SXT_FILE_ID_SIZE];
    if (!sxt_base64url_decode(bytes, sizeof bytes, text.data, text.size))
        return false;
    out->text[0] = 'f';
    out->text[1] = '.';
    sxt_hex_encode(out->text + 2, bytes, sizeof bytes);
    return true;
}

bool sxt_catalog_parse_build_id(sxt_string text, struct sxt_catalog_id *out)
{
    out->text[0] = 0;
    if (text.size < 2 || text.size > 2 * (size_t)BUILD_ID_MAX || text.size % 2 != 0 || !is_hex(text))
        return false;
    set_id(out, 'b', text);
    return true;
}

/* 22 characters may be a build ID of 11 bytes or a FileID in base64url: both are asked for. */
bool sxt_catalog_parse_id(sxt_string text, struct sxt_catalog_id out[2], size_t *count)
{
    *count = 0;
    if (sxt_catalog_parse_file_id(text, &out[0]))
        *count = 1;
    if (sxt_catalog_parse_build_id(text, &out[*count]))
        *count += 1;
    return *count > 0;
}

bool sxt_catalog_parse_debug_id(sxt_string text, struct sxt_catalog_id *out)
{
    size_t count = 0;
    bool has_age = false;
    out->text[0] = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = sxt_hex_digit(text.data[i]);
        if (text.data[i] == '-')
            continue;
        if (digit < 0 || (count == DEBUG_ID_DIGITS && (has_age || digit != 0)))
            return false;
        has_age = count == DEBUG_ID_DIGITS;
        if (!has_age)
            out->text[2 + count++] = sxt_hex_letter((unsigned)digit);
    }
    if (count != DEBUG_ID_DIGITS)
        return false;
    out->text[0] = 'd';
    out->text[1] = '.';
    out->text[2 + count] = 0;
    return true;
}

void sxt_catalog_debug_id_of(const uint8_t *build_id, size_t size, bool is_little, struct sxt_catalog_id *out)
{
    /* A GUID is a number of 4 bytes, two of 2, and 8 bytes; printed, its numbers are big-endian. */
    static const uint8_t swapped[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t guid[sizeof swapped] = {0};
    for (size_t i = 0; i < sizeof guid; i++) {
        size_t from = is_little ? swapped[i] : i;
        guid[i] = from < size ? build_id[from] : 0;
    }
    out->text[0] = 'd';
    out->text[1] = '.';
    sxt_hex_encode(out->text + 2, guid, sizeof guid);
}

bool sxt_catalog_debug_id_of_id(const char *id, struct sxt_catalog_id *out)
{
    uint8_t bytes[BUILD_ID_MAX];
    size_t size = 0;
    out->text[0] = 0;
    if (id[0] != 'b' || !sxt_catalog_id_is_valid((sxt_string){id, strlen(id)}))
        return false;
    for (const char *at = id + 2; *at != 0; at += 2)
        bytes[size++] = (uint8_t)(sxt_hex_digit(at[0]) << 4 | sxt_hex_digit(at[1]));
    sxt_catalog_debug_id_of(bytes, size, true, out);
    return true;
}

bool sxt_catalog_id_is_valid(sxt_string text)
{
    if (text.size < 4 || text.size >= SXT_CATALOG_ID_MAX || text.data[1] != '.')
        return false;
    for (size_t i = 2; i < text.size; i++)
        if (sxt_hex_digit(text.data[i]) < 0 || (text.data[i] >= 'A' && text.data[i] <= 'F'))
            return false;
    if (text.data[0] == 'f')
        return text.size == 2 + 2 * (size_t)SXT_FILE_ID_SIZE;
    if (text.data[0] == 'd')
        return text.size == 2 + DEBUG_ID_DIGITS;
    return text.data[0] == 'b' && text.size % 2 == 0;
}
