/* linker_map.c: detects which linker wrote a map, reads it, and looks up addresses in it. */
#include "source/linker_map/linker_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/search.h"
#include "base/string.h"
#include "source/linker_map/builder.h"

/* How many bytes are checked for NUL, which a text does not contain, before the text is searched. */
#define TEXT_PROBE ((size_t)4096)

static bool find_linker(const uint8_t *text, size_t size, enum sxt_linker *linker);
static int read_lines(struct sxt_map_builder *builder);
static bool shrink(struct sxt_linker_map *map);

bool sxt_linker_map_is(const uint8_t *text, size_t size)
{
    enum sxt_linker linker;
    return find_linker(text, size, &linker);
}

int sxt_linker_map_read(const uint8_t *text, size_t size, struct sxt_linker_map **out, sxt_error *error)
{
    *out = NULL;
    enum sxt_linker linker;
    if (!find_linker(text, size, &linker))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a linker map of GNU ld, gold, lld or mold");

    struct sxt_linker_map *map = calloc(1, sizeof *map);
    if (map == NULL)
        return sxt_fail_memory(error, sizeof *map);
    map->linker = linker;
    int status = sxt_strings_init(&map->strings, 0, error);
    if (status == SXT_OK) {
        struct sxt_map_builder builder = {
            .map = map,
            .lines = {(const char *)text, (const char *)text + size, 0},
            .section = SXT_LINKER_MAP_NONE,
            .piece = SXT_LINKER_MAP_NONE,
            .error = error,
        };
        status = read_lines(&builder);
    }
    if (status != SXT_OK) {
        sxt_linker_map_free(map);
        return status;
    }
    *out = map;
    return SXT_OK;
}

void sxt_linker_map_free(struct sxt_linker_map *map)
{
    if (map == NULL)
        return;
    free(map->sections);
    free(map->pieces);
    free(map->symbols);
    free(map->commons);
    free(map->covers);
    sxt_strings_free(&map->strings);
    free(map);
}

const char *sxt_linker_name(enum sxt_linker linker)
{
    static const char *const names[] = {"GNU ld", "gold", "lld", "mold"};
    return names[linker];
}

const struct sxt_linker_map_piece *sxt_linker_map_piece_at(const struct sxt_linker_map *map, uint64_t address)
{
    size_t next = SXT_SEARCH_ABOVE(map->covers, map->cover_count, address, address);
    if (next == 0 || map->covers[next - 1].piece == SXT_LINKER_MAP_NONE)
        return NULL;
    return &map->pieces[map->covers[next - 1].piece];
}

/* The pieces that cannot be looked up by address alone are sorted by section and address. */
static const struct sxt_linker_map_piece *find_in_section(const struct sxt_linker_map *map, uint32_t section,
                                                          uint64_t address)
{
    struct sxt_bisection search = {.low = map->located_count, .high = map->piece_count};
    while (sxt_bisect(&search)) {
        const struct sxt_linker_map_piece *piece = &map->pieces[search.middle];
        sxt_bisect_after(&search, piece->section < section || (piece->section == section && piece->address <= address));
    }
    const struct sxt_linker_map_piece *found = search.low > map->located_count ? &map->pieces[search.low - 1] : NULL;
    bool is_there = found != NULL && found->section == section && address - found->address < found->size;
    return is_there ? found : NULL;
}

const struct sxt_linker_map_piece *sxt_linker_map_piece_in(const struct sxt_linker_map *map, sxt_string section,
                                                           uint64_t address)
{
    const struct sxt_linker_map_piece *piece = sxt_linker_map_piece_at(map, address);
    if (piece != NULL && sxt_string_equal(sxt_linker_map_string(map, map->sections[piece->section].name), section))
        return piece;
    for (uint32_t i = 0; i < map->section_count; i++)
        if (map->sections[i].own_space && sxt_string_equal(sxt_linker_map_string(map, map->sections[i].name), section))
            return find_in_section(map, i, address);
    return NULL;
}

const struct sxt_linker_map_common *sxt_linker_map_common_named(const struct sxt_linker_map *map, const char *name,
                                                                size_t size)
{
    uint32_t number = sxt_strings_find(&map->strings, name, size);
    size_t at = SXT_SEARCH_FROM(map->commons, map->common_count, name, number);
    return at < map->common_count && map->commons[at].name == number ? &map->commons[at] : NULL;
}

/*
 * lld and mold are recognized by their first line. GNU ld and gold begin with various lists; their heading comes later.
 * GNU ld's heading is translated to other languages, but the commands of its script are not.
 */
static bool find_linker(const uint8_t *text, size_t size, enum sxt_linker *linker)
{
    if (size == 0 || memchr(text, '\0', size < TEXT_PROBE ? size : TEXT_PROBE) != NULL)
        return false;
    struct sxt_map_lines lines = {(const char *)text, (const char *)text + size, 0};
    bool loads = false;
    sxt_string line;
    while (sxt_map_lines_next(&lines, &line)) {
        if (line.size == 0)
            continue;
        if (lines.number <= 2 && sxt_map_columns_header(line, linker))
            return true;
        char first = line.data[0];
        if (first == 'M' && sxt_string_is(line, "Memory map")) {
            *linker = SXT_LINKER_GOLD;
            return true;
        }
        bool heading = first == 'L' && sxt_string_is(line, "Linker script and memory map");
        loads = loads || (first == 'L' && sxt_string_begins(line, "LOAD "));
        if (heading || (loads && first == 'O' && sxt_string_begins(line, "OUTPUT("))) {
            *linker = SXT_LINKER_GNU_LD;
            return true;
        }
    }
    return false;
}

static int read_lines(struct sxt_map_builder *builder)
{
    struct sxt_linker_map *map = builder->map;
    bool columns = map->linker == SXT_LINKER_LLD || map->linker == SXT_LINKER_MOLD;
    int status = columns ? sxt_map_read_columns(builder) : sxt_map_read_gnu(builder);
    if (status != SXT_OK)
        return status;
    if (map->section_count == 0)
        return sxt_map_fail(builder, "no sections found");
    status = sxt_map_arrange(builder);
    if (status != SXT_OK)
        return status;
    return shrink(map) ? SXT_OK : sxt_fail_memory(builder->error, map->piece_count * sizeof *map->pieces);
}

/* Frees the unused capacity of the array of symbols. */
static bool shrink(struct sxt_linker_map *map)
{
    if (map->symbol_count == 0)
        return true;
    struct sxt_linker_map_symbol *symbols = realloc(map->symbols, map->symbol_count * sizeof *symbols);
    if (symbols != NULL)
        map->symbols = symbols;
    return symbols != NULL;
}
