/* keys.c: the names of objects; catalog.h draws them. A name that does not read exactly as it would be written is
 * refused, so that each object has one meaning. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

#define TENANT_MAX 64 /* bytes; each may become three */

static bool is_plain(unsigned char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '.' || byte == '_' || byte == '-';
}

/* Letters, digits, '.', '_' and '-' are themselves, other bytes '~' and two digits. */
int sxt_catalog_tenant_prefix(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, sxt_error *error)
{
    if (strlen(tenant) > TENANT_MAX)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the name of a tenant has more than %d bytes",
                        TENANT_MAX);
    char *to = out;
    memcpy(to, "t/", 2);
    to += 2;
    *to++ = *tenant == 0 ? '-' : '=';
    for (; *tenant != 0; tenant++) {
        unsigned char byte = (unsigned char)*tenant;
        if (is_plain(byte)) {
            *to++ = (char)byte;
        } else {
            *to++ = '~';
            *to++ = sxt_hex_letter(byte >> 4);
            *to++ = sxt_hex_letter(byte);
        }
    }
    memcpy(to, "/", 2);
    return SXT_OK;
}

bool sxt_catalog_tenant_of(sxt_string word, char out[SXT_CATALOG_KEY_ROOM])
{
    out[0] = 0;
    if (sxt_string_is(word, "-"))
        return true;
    if (word.size < 2 || word.size > 1 + 3 * TENANT_MAX || word.data[0] != '=')
        return false;
    size_t size = 0;
    for (size_t i = 1; i < word.size; i++) {
        unsigned char byte = (unsigned char)word.data[i];
        uint64_t value = byte;
        if (byte == '~') {
            if (word.size - i < 3 || !sxt_hex_parse((sxt_string){word.data + i + 1, 2}, &value) || value == 0 ||
                is_plain((unsigned char)value))
                return false;
            i += 2;
        } else if (!is_plain(byte)) {
            return false;
        }
        out[size++] = (char)value;
    }
    out[size] = 0;
    return size <= TENANT_MAX;
}

int sxt_catalog_key(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, const char *id, sxt_error *error,
                    const char *format, ...)
{
    int status = sxt_catalog_tenant_prefix(out, tenant, error);
    if (status != SXT_OK)
        return status;
    if (!sxt_catalog_id_is_valid(sxt_string_of(id)))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not the id of a binary: '%s'", id);
    size_t size = strlen(out);
    size += (size_t)snprintf(out + size, SXT_CATALOG_KEY_ROOM - size, "id/%s/", id);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(out + size, SXT_CATALOG_KEY_ROOM - size, format, arguments);
    va_end(arguments);
    if (more < 0 || (size_t)more >= SXT_CATALOG_KEY_ROOM - size)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the name of an object is too long");
    return SXT_OK;
}

uint64_t sxt_catalog_short_hash(const uint8_t digest[SXT_SHA256_SIZE])
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value = value << 8 | digest[i];
    return value;
}

uint64_t sxt_catalog_generation_of(sxt_string text)
{
    if (text.size == 0)
        return 0;
    uint8_t digest[SXT_SHA256_SIZE];
    struct sxt_sha256 hash;
    sxt_sha256_init(&hash);
    sxt_sha256_add(&hash, text.data, text.size);
    sxt_sha256_end(&hash, digest);
    uint64_t value = sxt_catalog_short_hash(digest);
    return value != 0 ? value : 1;
}

/* --- reading names --- */

static bool take_word(sxt_string *text, const char *word)
{
    if (!sxt_string_begins(*text, word))
        return false;
    text->data += strlen(word);
    text->size -= strlen(word);
    return true;
}

/* 16 digits in lower case. */
static bool take_hash(sxt_string *text, uint64_t *out)
{
    if (text->size < SXT_CATALOG_HASH)
        return false;
    for (size_t i = 0; i < SXT_CATALOG_HASH; i++)
        if (text->data[i] >= 'A' && text->data[i] <= 'F')
            return false;
    if (!sxt_hex_parse((sxt_string){text->data, SXT_CATALOG_HASH}, out))
        return false;
    text->data += SXT_CATALOG_HASH;
    text->size -= SXT_CATALOG_HASH;
    return true;
}

static bool take_time(sxt_string *text, int64_t *out)
{
    uint64_t value;
    if (!take_hash(text, &value) || value > INT64_MAX / 2)
        return false;
    *out = (int64_t)value;
    return true;
}

/* Decimal, without zeros before it. */
static bool take_number(sxt_string *text, uint32_t *out)
{
    uint64_t value = 0;
    size_t digits = 0;
    for (; digits < text->size && text->data[digits] >= '0' && text->data[digits] <= '9'; digits++) {
        value = value * 10 + (uint64_t)(text->data[digits] - '0');
        if (value > UINT32_MAX || (digits > 0 && text->data[0] == '0'))
            return false;
    }
    text->data += digits;
    text->size -= digits;
    *out = (uint32_t)value;
    return digits > 0;
}

bool sxt_catalog_parse_part(sxt_string text, struct sxt_catalog_part_name *out)
{
    *out = (struct sxt_catalog_part_name){0};
    if (take_word(&text, "pads/"))
        out->kind = SXT_CATALOG_PADS;
    else if (!take_word(&text, "ranges/"))
        return false;
    if (take_word(&text, "=")) {
        if (!take_hash(&text, &out->generation) || out->generation == 0)
            return false;
    } else if (!take_word(&text, "-")) {
        return false;
    }
    return take_word(&text, "/") && take_number(&text, &out->parts) && take_word(&text, "/") &&
           take_time(&text, &out->time) && take_word(&text, "-") && take_number(&text, &out->part) &&
           take_word(&text, "-") && take_hash(&text, &out->hash) && text.size == 0 && out->part < out->parts;
}

void sxt_catalog_print_part(char *out, size_t room, const struct sxt_catalog_part_name *name)
{
    char generation[SXT_CATALOG_HASH + 2] = "-";
    if (name->generation != 0)
        snprintf(generation, sizeof generation, "=%016" PRIx64, name->generation);
    snprintf(out, room, "part/%s/%s/%" PRIu32 "/%016" PRIx64 "-%" PRIu32 "-%016" PRIx64,
             name->kind == SXT_CATALOG_PADS ? "pads" : "ranges", generation, name->parts, (uint64_t)name->time,
             name->part, name->hash);
}

void sxt_catalog_print_line(char *out, size_t room, const struct sxt_catalog_part_name *name)
{
    sxt_catalog_print_part(out, room, name);
    strrchr(out, '/')[1] = 0;
}

bool sxt_catalog_parse_entry_name(sxt_string text, struct sxt_catalog_entry_name *out)
{
    *out = (struct sxt_catalog_entry_name){0};
    if (text.size < 3 || text.data[0] < '0' || text.data[0] > '9' || text.data[1] < '0' || text.data[1] > '9' ||
        text.data[2] == 0 || strchr("rpxdb", text.data[2]) == NULL)
        return false;
    out->quality = (unsigned)(text.data[0] - '0') * 10 + (unsigned)(text.data[1] - '0');
    out->kind = text.data[2];
    text.data += 3;
    text.size -= 3;
    if (!take_word(&text, "-") || !take_time(&text, &out->time) || !take_word(&text, "-") ||
        !take_hash(&text, &out->hash))
        return false;
    if (out->kind != SXT_ENTRY_RANGES && out->kind != SXT_ENTRY_PADS)
        return text.size == 0;
    if (!take_word(&text, "-") || !take_number(&text, &out->parts) || out->parts == 0)
        return false;
    return text.size == 0 ||
           (take_word(&text, "=") && take_hash(&text, &out->generation) && out->generation != 0 && text.size == 0);
}

void sxt_catalog_print_entry_name(char *out, size_t room, const struct sxt_catalog_entry_name *name)
{
    int size = snprintf(out, room, "symbols/%02u%c-%016" PRIx64 "-%016" PRIx64, name->quality % 100, name->kind,
                        (uint64_t)name->time, name->hash);
    if (name->parts == 0 || size < 0 || (size_t)size >= room)
        return;
    size_t at = (size_t)size;
    size = snprintf(out + at, room - at, "-%" PRIu32, name->parts);
    if (name->generation != 0 && size > 0 && (size_t)size < room - at)
        snprintf(out + at + (size_t)size, room - at - (size_t)size, "=%016" PRIx64, name->generation);
}
