/*
 * fuzz_linker_map.c: any bytes as a linker map. What is read is in order, inside its sections, and covers them, and a
 * lookup finds the piece that a search of all pieces finds.
 */
#include <string.h>

#include "property.h"
#include "source/linker_map/linker_map.h"

/* How many pieces a map may have for a search of all of them at each. */
#define SEARCHABLE 300

static void check_order(const struct sxt_linker_map *map)
{
    for (size_t i = 0; i < map->piece_count; i++) {
        const struct sxt_linker_map_piece *piece = &map->pieces[i];
        SXT_HOLDS(piece->section < map->section_count && piece->object < map->strings.count);
        const struct sxt_linker_map_section *section = &map->sections[piece->section];
        SXT_HOLDS((section->allocated && !section->own_space) == (i < map->located_count));
        SXT_HOLDS(piece->address >= section->address && piece->size <= section->size);
        SXT_HOLDS(piece->address - section->address <= section->size - piece->size);
        SXT_HOLDS(piece->stem == 0 || piece->stem < piece->input_section.size);
        if (i > 0 && i < map->located_count)
            SXT_HOLDS(map->pieces[i - 1].address <= piece->address);
    }
    for (size_t i = 0; i < map->symbol_count; i++) {
        SXT_HOLDS(map->symbols[i].piece < map->piece_count && map->symbols[i].name.size > 0);
        if (i > 0)
            SXT_HOLDS(map->symbols[i - 1].piece <= map->symbols[i].piece);
    }
}

static const struct sxt_linker_map_piece *search(const struct sxt_linker_map *map, uint64_t address)
{
    const struct sxt_linker_map_piece *best = NULL;
    for (size_t i = 0; i < map->located_count; i++) {
        const struct sxt_linker_map_piece *piece = &map->pieces[i];
        bool inside = address >= piece->address && address - piece->address < piece->size;
        if (inside && (best == NULL || piece->address > best->address))
            best = piece;
    }
    return best;
}

static void check_lookup(const struct sxt_linker_map *map, uint64_t address)
{
    SXT_HOLDS(sxt_linker_map_piece_at(map, address) == search(map, address));
}

/* Every byte of a section belongs to something; its first and last, and those at the edges of pieces, stand for all. */
static void check_covered(const struct sxt_linker_map *map)
{
    for (size_t i = 0; i < map->section_count; i++) {
        const struct sxt_linker_map_section *section = &map->sections[i];
        if (!section->allocated || section->own_space || section->size == 0)
            continue;
        SXT_HOLDS(sxt_linker_map_piece_at(map, section->address) != NULL);
        SXT_HOLDS(sxt_linker_map_piece_at(map, section->address + section->size - 1) != NULL);
    }
    for (size_t i = 0; i < map->located_count; i++) {
        const struct sxt_linker_map_piece *piece = &map->pieces[i];
        const struct sxt_linker_map_section *section = &map->sections[piece->section];
        uint64_t end = piece->address + piece->size;
        if (end < section->address + section->size)
            SXT_HOLDS(sxt_linker_map_piece_at(map, end) != NULL);
        if (map->located_count <= SEARCHABLE) {
            check_lookup(map, piece->address);
            check_lookup(map, piece->address - 1);
            check_lookup(map, end);
            check_lookup(map, end - 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sxt_linker_map *map;
    sxt_error error;
    int status = sxt_linker_map_read(data, size, &map, &error);
    SXT_HOLDS((status == SXT_OK) == (map != NULL));
    SXT_HOLDS(sxt_linker_map_is(data, size) == (status != SXT_ERROR_UNSUPPORTED));
    if (status != SXT_OK)
        return 0;
    check_order(map);
    check_covered(map);
    for (size_t i = 0; i < map->common_count; i++) {
        sxt_string name = sxt_linker_map_string(map, map->commons[i].name);
        SXT_HOLDS(sxt_linker_map_common_named(map, name.data, name.size) != NULL);
    }
    sxt_linker_map_free(map);
    return 0;
}
