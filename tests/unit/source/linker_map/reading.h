/* reading.h: reads a linker map made by a test, and prints the result, one line for each piece and symbol. */
#ifndef SXT_TESTS_LINKER_MAP_READING_H
#define SXT_TESTS_LINKER_MAP_READING_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "source/linker_map/linker_map.h"
#include "support/test.h"

/* A map, and an exact copy of its text, so that a sanitizer detects reads beyond the end. */
struct reading {
    uint8_t *text;
    struct sxt_linker_map *map;
    sxt_error error;
    int status;
};

static inline struct reading read_bytes(const char *text, size_t size)
{
    struct reading reading = {.text = malloc(size > 0 ? size : 1)};
    assert_non_null(reading.text);
    if (size > 0)
        memcpy(reading.text, text, size);
    reading.status = sxt_linker_map_read(reading.text, size, &reading.map, &reading.error);
    assert_int_equal(reading.status == SXT_OK, reading.map != NULL);
    return reading;
}

static inline struct reading read_map(const char *text)
{
    struct reading reading = read_bytes(text, strlen(text));
    if (reading.status != SXT_OK)
        print_error("%s\n", reading.error.text);
    assert_int_equal(reading.status, SXT_OK);
    assert_true(sxt_linker_map_is((const uint8_t *)text, strlen(text)));
    return reading;
}

static inline void free_reading(struct reading *reading)
{
    sxt_linker_map_free(reading->map);
    free(reading->text);
}

/* "100+8 .text a.o .text.f", with the kind unless it is PLAIN, and with the flags if there are any. */
static inline void describe_piece(struct sxt_buffer *out, const struct sxt_linker_map *map, uint32_t number)
{
    static const char *const kinds[] = {"", " FILL", " STRINGS", " CONSTANTS", " COMMON", " INTERNAL"};
    const struct sxt_linker_map_piece *piece = &map->pieces[number];
    sxt_string object = sxt_linker_map_string(map, piece->object);
    sxt_buffer_print(out, "%" PRIx64 "+%" PRIx64 " %s", piece->address, piece->size,
                     sxt_linker_map_string(map, map->sections[piece->section].name).data);
    if (object.size > 0)
        sxt_buffer_print(out, " %s", object.data);
    if (piece->input_section.size > 0)
        sxt_buffer_print(out, " %.*s", (int)piece->input_section.size, piece->input_section.data);
    sxt_buffer_print(out, "%s", kinds[piece->kind]);
    if (piece->flags != 0)
        sxt_buffer_print(out, " flags %u", (unsigned)piece->flags);
    sxt_buffer_print(out, "\n");
}

/* The pieces, one per line, each followed by its symbols: "  f@100+8", with * for the preferred one. */
static inline char *describe(const struct sxt_linker_map *map)
{
    struct sxt_buffer out;
    sxt_buffer_init(&out, SIZE_MAX);
    size_t symbol = 0;
    for (uint32_t i = 0; i < map->piece_count; i++) {
        describe_piece(&out, map, i);
        for (; symbol < map->symbol_count && map->symbols[symbol].piece == i; symbol++) {
            const struct sxt_linker_map_symbol *at = &map->symbols[symbol];
            sxt_buffer_print(&out, "  %.*s@%" PRIx64 "+%" PRIx64 "%s\n", (int)at->name.size, at->name.data, at->address,
                             at->size, at->preferred ? "*" : "");
        }
    }
    assert_int_equal(symbol, map->symbol_count);
    sxt_buffer_u8(&out, '\0');
    size_t size;
    return (char *)sxt_buffer_take(&out, &size);
}

static inline void assert_map(const char *text, enum sxt_linker linker, const char *expected)
{
    struct reading reading = read_map(text);
    assert_int_equal(reading.map->linker, linker);
    assert_int_equal(reading.map->cut_count, 0);
    char *found = describe(reading.map);
    assert_string_equal(found, expected);
    free(found);
    free_reading(&reading);
}

#define GNU_HEADING  "Linker script and memory map\n\n"
#define LLD_HEADING  "             VMA              LMA     Size Align Out     In      Symbol\n"
#define OLD_HEADING  "Address          Size             Align Out     In      Symbol\n"
#define MOLD_HEADING "               VMA       Size Align Out     In      Symbol\n"

#endif
