/* literals.c: a symbol for each string literal that a linker has merged. A NUL separates it from the next one. */
#include "measure/literals.h"

#include <stdlib.h>
#include <string.h>

#include "base/string.h"

/* The longest text that is shown, and what is left of one that is longer. */
#define SHOWN_MOST 30
#define SHOWN_CUT  27

/* A literal that more objects contain has one symbol for all of them. */
#define OBJECTS_MOST 40

static unsigned find_width(struct measure_literal_index *index, const struct measure_literals *literals,
                           const uint8_t *bytes, uint64_t size);
static unsigned width_at(struct measure_literal_index *index, const struct measure_literals *literals,
                         const uint8_t *bytes, uint64_t size, uint64_t at);
static void add_one(struct measure_maker *maker, struct measure_literal_index *index,
                    const struct measure_literals *literals, sxt_string text, uint64_t at, uint64_t size);
static uint32_t shared_path(struct measure_maker *maker, const struct measure_literal_index *index, uint32_t use);

static void add_all(struct measure_maker *maker, const struct measure_literals *literals, const char *name)
{
    sxt_measure_maker_add(maker, literals->segment, literals->start + literals->shift, literals->end - literals->start,
                          sxt_measure_maker_name(maker, sxt_string_of(name)),
                          sxt_measure_maker_path(maker, literals->object, (sxt_string){"", 0}), 0, false);
}

void sxt_measure_add_literals(struct measure_maker *maker, struct measure_literal_index *index,
                              const struct measure_literals *given)
{
    struct measure_literals literals = *given;
    uint64_t size = literals.end - literals.start;
    const uint8_t *bytes = sxt_elf_at_address(literals.elf, literals.start, size);
    literals.is_mixed = literals.width == 0;
    if (bytes != NULL)
        literals.width = find_width(index, &literals, bytes, size);
    if (bytes == NULL || literals.width == 0) {
        add_all(maker, &literals, literals.is_guessed ? "** merge constants" : "** merge strings");
        return;
    }
    unsigned usual = literals.width;
    for (uint64_t at = 0; at < size && !maker->no_memory;) {
        uint64_t start = at;
        literals.width = usual;
        literals.width = width_at(index, &literals, bytes, size, at);
        sxt_string text = sxt_measure_next_literal(bytes, size, literals.width, &at);
        add_one(maker, index, &literals, text, literals.start + start, at - start);
    }
    maker->no_memory |= index->no_memory;
}

static bool is_nul(const uint8_t *bytes, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

sxt_string sxt_measure_next_literal(const uint8_t *bytes, uint64_t size, unsigned width, uint64_t *at)
{
    uint64_t end = *at;
    if (width == 1) {
        const uint8_t *nul = memchr(bytes + end, 0, size - end);
        end = nul != NULL ? (uint64_t)(nul - bytes) : size;
    }
    while (width > 1 && size - end >= width && !is_nul(bytes + end, width))
        end += width;
    sxt_string text = {(const char *)bytes + *at, end - *at};
    /* NULs after it end it and align the next one. */
    while (size - end >= width && is_nul(bytes + end, width))
        end += width;
    *at = size - end < width ? size : end;
    return text;
}

unsigned sxt_measure_width_of(sxt_string section)
{
    size_t end = section.size;
    while (end > 0 && section.data[end - 1] >= '0' && section.data[end - 1] <= '9')
        end--;
    if (end < 6 || end == section.size || section.data[end - 1] != '.' ||
        memcmp(section.data + end - 6, ".str", 4) != 0)
        return 0;
    unsigned width = (unsigned)(section.data[end - 2] - '0');
    return width == 1 || width == 2 || width == 4 ? width : 0;
}

/* Without an object to ask: characters of 4 bytes have small numbers, which letters of 1 byte in a row never give. */
static unsigned guess_width(const uint8_t *bytes, uint64_t size)
{
    bool is_wide = size % 4 == 0, is_latin = size % 2 == 0;
    for (uint64_t i = 0; i < size && (is_wide || is_latin); i++) {
        is_wide &= (i & 3) != 3 || (bytes[i] == 0 && bytes[i - 1] <= 0x10);
        is_latin &= (i & 1) != 1 || bytes[i] == 0;
    }
    return is_wide ? 4 : is_latin ? 2 : 1;
}

/* Does an object have the literal of this width that begins at AT? */
static bool is_known(struct measure_literal_index *index, const uint8_t *bytes, uint64_t size, unsigned width,
                     uint64_t at)
{
    sxt_string text = sxt_measure_next_literal(bytes, size, width, &at);
    uint32_t number = text.size > 0 ? sxt_measure_find_literal(index, text, width) : SXT_STRINGS_FULL;
    return number != SXT_STRINGS_FULL && index->first[number] != 0;
}

/* Two letters of four bytes, or more? */
static bool is_wide_text(const uint8_t *bytes, uint64_t size, uint64_t at)
{
    return at % 4 == 0 && size - at >= 8 && bytes[at] != 0 && bytes[at + 4] != 0 && is_nul(bytes + at + 1, 3) &&
           is_nul(bytes + at + 5, 3);
}

/* mold mixes literals of several widths in one section. */
static unsigned width_at(struct measure_literal_index *index, const struct measure_literals *literals,
                         const uint8_t *bytes, uint64_t size, uint64_t at)
{
    for (unsigned width = 4; literals->is_mixed && index->has_objects && width >= 1; width /= 2)
        if (is_known(index, bytes, size, width, at))
            return width;
    return literals->is_mixed && !literals->is_guessed && is_wide_text(bytes, size, at) ? 4 : literals->width;
}

/* The width of most literals. 0: these are constants, of which objects know less than half as literals. */
static unsigned find_width(struct measure_literal_index *index, const struct measure_literals *literals,
                           const uint8_t *bytes, uint64_t size)
{
    if (literals->width != 0)
        return literals->width;
    uint64_t found = 0;
    for (uint64_t at = 0; literals->is_guessed && at < size;) {
        uint64_t start = at;
        unsigned width = width_at(index, literals, bytes, size, at);
        sxt_measure_next_literal(bytes, size, width != 0 ? width : 1, &at);
        found += width != 0 ? at - start : 0;
    }
    return literals->is_guessed && found < size - found ? 0 : guess_width(bytes, size);
}

uint32_t sxt_measure_literal_name(struct measure_maker *maker, sxt_string text, unsigned width)
{
    char shown[SHOWN_MOST + 8];
    size_t size = 0, kept = 0;
    shown[size++] = '"';
    for (size_t i = 0; i + width <= text.size; i += width) {
        const uint8_t *letter = (const uint8_t *)text.data + i;
        bool is_blank = letter[0] == '\t' || letter[0] == '\n' || letter[0] == '\r';
        bool is_printable = is_blank || (letter[0] >= 0x20 && letter[0] <= 0x7e);
        if (!is_printable || (width > 1 && !is_nul(letter + 1, width - 1)))
            return sxt_measure_maker_name(maker, sxt_string_of("string literal"));
        if (!is_blank && ++kept <= SHOWN_MOST)
            shown[size++] = (char)letter[0];
    }
    if (kept > SHOWN_MOST)
        size = 1 + SHOWN_CUT;
    shown[size++] = '"';
    if (kept > SHOWN_MOST) {
        memcpy(shown + size, "...", 3);
        size += 3;
    }
    return sxt_measure_maker_name(maker, (sxt_string){shown, size});
}

/* A symbol for each object that has it: they are aliases. */
static void add_one(struct measure_maker *maker, struct measure_literal_index *index,
                    const struct measure_literals *literals, sxt_string text, uint64_t at, uint64_t size)
{
    sxt_string nothing = {"", 0};
    uint32_t name = sxt_measure_literal_name(maker, text, literals->width);
    uint32_t number = index->has_objects ? sxt_measure_find_literal(index, text, literals->width) : SXT_STRINGS_FULL;
    uint32_t use = number != SXT_STRINGS_FULL ? index->first[number] : 0, count = 0;
    for (uint32_t i = use; i != 0 && count <= OBJECTS_MOST; i = index->uses[i - 1].next)
        count++;
    uint64_t address = at + literals->shift;
    if (count == 0 || count > OBJECTS_MOST) {
        uint32_t path =
            count > 0 ? shared_path(maker, index, use) : sxt_measure_maker_path(maker, literals->object, nothing);
        sxt_measure_maker_add(maker, literals->segment, address, size, name, path, 0, false);
        return;
    }
    for (uint32_t i = use; i != 0; i = index->uses[i - 1].next)
        sxt_measure_maker_add(
            maker, literals->segment, address, size, name,
            sxt_measure_maker_path(maker, sxt_linker_map_string(index->map, index->uses[i - 1].object), nothing), 0,
            i != use);
}

/* "obj/{shared}/50-99": the folder that all have in common, and how many there are. */
static uint32_t shared_path(struct measure_maker *maker, const struct measure_literal_index *index, uint32_t use)
{
    sxt_string common = sxt_linker_map_string(index->map, index->uses[use - 1].object);
    uint32_t count = 0;
    for (uint32_t i = use; i != 0; i = index->uses[i - 1].next, count++) {
        sxt_string object = sxt_linker_map_string(index->map, index->uses[i - 1].object);
        size_t same = 0;
        while (same < common.size && same < object.size && common.data[same] == object.data[same])
            same++;
        common.size = same;
    }
    while (common.size > 0 && common.data[common.size - 1] != '/')
        common.size--;
    struct sxt_buffer path;
    sxt_buffer_init(&path, (size_t)1 << 20);
    sxt_buffer_append(&path, common.data, common.size);
    sxt_buffer_print(&path, "{shared}/%s", count >= 100 ? "100+" : "50-99");
    if (count < 50) {
        path.size = common.size;
        sxt_buffer_print(&path, "{shared}/%s", "20-49");
    }
    maker->no_memory |= path.failed;
    uint32_t made =
        sxt_measure_maker_path(maker, (sxt_string){(const char *)path.data, path.size}, (sxt_string){"", 0});
    sxt_buffer_free(&path);
    return made;
}
