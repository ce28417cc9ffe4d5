/*
 * arsc_configuration.c: the name of a configuration of resources: the qualifiers of a directory below res/, and the
 * fields that have no qualifier as "field=number".
 *
 *     0 mcc 2, mnc 2 │ 4 language 2, country 2 │ 8 orientation 1, touchscreen 1, density 2
 *     12 keyboard 1, navigation 1, flags 1, 0 │ 16 width 2, height 2 │ 20 SDK version 2, minor 2
 *     24 layout 1, UI mode 1, smallest width 2 │ 28 width in dp 2, height in dp 2 │ 32 script 4, variant 8
 *     44 layout 1, colour mode 1, 0 2 │ 48 is the script computed? 1, numbering system 8
 *
 * Offsets count from after the size. Older versions are shorter: what is missing is 0.
 */
#include <string.h>

#include "base/bytes.h"
#include "source/arsc.h"

#define CONFIGURATION_SIZE 60

/* A field: bits of the number of 4 bytes at an offset. */
struct field {
    uint8_t offset, shift, width;
    const char *other; /* for values without a name; %u is the value */
    const char *names; /* of the values from 1 on, separated by blanks */
};

/* "a b c", 2 gives "b". */
static sxt_string word_at(const char *words, uint32_t number)
{
    for (; *words != 0; number--) {
        size_t size = strcspn(words, " ");
        if (number == 1)
            return (sxt_string){words, size};
        words += size + (words[size] == ' ');
    }
    return (sxt_string){NULL, 0};
}

static void begin_part(struct sxt_buffer *out)
{
    if (out->size > 0)
        sxt_buffer_u8(out, '-');
}

static void put_number(struct sxt_buffer *out, const char *format, uint32_t value)
{
    const char *place = strstr(format, "%u");
    sxt_buffer_append(out, format, (size_t)(place - format));
    sxt_buffer_print(out, "%u%s", value, place + 2);
}

static void put_field(const uint8_t *bytes, const struct field *field, struct sxt_buffer *out)
{
    uint32_t value = sxt_load_u32le(bytes + field->offset) >> field->shift & ((1u << field->width) - 1);
    if (value == 0)
        return;
    begin_part(out);
    sxt_string name = word_at(field->names, value);
    if (name.data != NULL)
        sxt_buffer_append(out, name.data, name.size);
    else
        put_number(out, field->other, value);
}

/* --- the locale --- */

static void put_letter(struct sxt_buffer *out, uint32_t letter)
{
    if (letter > 0x20 && letter < 0x7f)
        sxt_buffer_u8(out, (uint8_t)letter);
    else if (letter != 0)
        sxt_buffer_u8(out, '?');
}

/* Two letters, or three of 5 bits each that count from BASE. */
static void put_code(uint16_t code, char base, struct sxt_buffer *out)
{
    if ((code & 0x80) == 0) {
        put_letter(out, code & 0x7f);
        put_letter(out, code >> 8);
        return;
    }
    uint32_t swapped = (uint32_t)(code & 0xff) << 8 | code >> 8;
    for (int shift = 0; shift <= 10; shift += 5)
        put_letter(out, (uint32_t)base + (swapped >> shift & 0x1f));
}

static void put_letters(const uint8_t *letters, size_t most, struct sxt_buffer *out)
{
    for (size_t i = 0; i < most && letters[i] != 0; i++)
        put_letter(out, letters[i]);
}

static void put_locale(const uint8_t *bytes, struct sxt_buffer *out)
{
    const uint8_t *script = bytes + 32, *variant = bytes + 36, *numbering = bytes + 49;
    uint16_t language = sxt_load_u16le(bytes + 4), country = sxt_load_u16le(bytes + 6);
    bool has_script = *script != 0 && bytes[48] == 0;
    bool is_plain = !has_script && *variant == 0 && *numbering == 0;
    if (language == 0 && country == 0)
        return;
    begin_part(out);
    if (!is_plain)
        sxt_buffer_append(out, "b+", 2);
    put_code(language, 'a', out);
    if (has_script) {
        sxt_buffer_u8(out, '+');
        put_letters(script, 4, out);
    }
    if (country != 0) {
        sxt_buffer_append(out, is_plain ? "-r" : "+", is_plain ? 2 : 1);
        put_code(country, '0', out);
    }
    if (*variant != 0) {
        sxt_buffer_u8(out, '+');
        put_letters(variant, 8, out);
    }
    if (*numbering != 0) {
        sxt_buffer_append(out, "+u+nu+", 6);
        put_letters(numbering, 8, out);
    }
}

/* --- the rest --- */

static void put_density(const uint8_t *bytes, struct sxt_buffer *out)
{
    static const struct {
        uint16_t value;
        const char *name;
    } known[] = {{120, "ldpi"},   {160, "mdpi"},    {213, "tvdpi"},     {240, "hdpi"},    {320, "xhdpi"},
                 {480, "xxhdpi"}, {640, "xxxhdpi"}, {0xfffe, "anydpi"}, {0xffff, "nodpi"}};
    uint16_t density = sxt_load_u16le(bytes + 10);
    if (density == 0)
        return;
    begin_part(out);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].value == density) {
            sxt_buffer_append(out, known[i].name, strlen(known[i].name));
            return;
        }
    put_number(out, "%udpi", density);
}

static void put_pair(uint16_t first, uint16_t second, const char *before, char between, struct sxt_buffer *out)
{
    if (first == 0 && second == 0)
        return;
    begin_part(out);
    sxt_buffer_print(out, "%s%u", before, first);
    if (between == 'x' || second != 0)
        sxt_buffer_print(out, "%c%u", between, second);
}

void sxt_arsc_put_configuration(const uint8_t *given, size_t size, struct sxt_buffer *out)
{
    static const struct field before_density[] = {
        {24, 6, 2, "layoutDir=%u", "ldltr ldrtl"},
        {24, 16, 16, "sw%udp", ""},
        {28, 0, 16, "w%udp", ""},
        {28, 16, 16, "h%udp", ""},
        {24, 0, 4, "screenLayoutSize=%u", "small normal large xlarge"},
        {24, 4, 2, "screenLayoutLong=%u", "notlong long"},
        {44, 0, 2, "screenRound=%u", "notround round"},
        {44, 8, 2, "wideColorGamut=%u", "nowidecg widecg"},
        {44, 10, 2, "hdr=%u", "lowdr highdr"},
        {8, 0, 8, "orientation=%u", "port land square"},
        {24, 8, 4, "uiModeType=%u", "normal desk car television appliance watch vrheadset"},
        {24, 12, 2, "uiModeNight=%u", "notnight night"},
    };
    static const struct field after_density[] = {
        {8, 8, 8, "touchscreen=%u", "notouch stylus finger"},
        {12, 16, 2, "(keys=%u)", "keysexposed keyshidden keyssoft"},
        {12, 0, 8, "keyboard=%u", "nokeys qwerty 12key"},
        {12, 18, 2, "inputFlagsNavHidden=%u", "navexposed navhidden"},
        {12, 8, 8, "navigation=%u", "nonav dpad trackball wheel"},
    };
    static const struct field mobile[] = {{0, 0, 16, "mcc%u", ""}, {0, 16, 16, "mnc%u", ""}};
    uint8_t bytes[CONFIGURATION_SIZE] = {0};
    memcpy(bytes, given, size < sizeof bytes ? size : sizeof bytes);
    for (size_t i = 0; i < sizeof mobile / sizeof *mobile; i++)
        put_field(bytes, &mobile[i], out);
    put_locale(bytes, out);
    for (size_t i = 0; i < sizeof before_density / sizeof *before_density; i++)
        put_field(bytes, &before_density[i], out);
    put_density(bytes, out);
    for (size_t i = 0; i < sizeof after_density / sizeof *after_density; i++)
        put_field(bytes, &after_density[i], out);
    put_pair(sxt_load_u16le(bytes + 16), sxt_load_u16le(bytes + 18), "", 'x', out);
    put_pair(sxt_load_u16le(bytes + 20), sxt_load_u16le(bytes + 22), "v", '.', out);
}
