/*
 * arrange.c: completes a map after all lines are read. Cuts pieces to their sections, turns gaps into implied pieces,
 * sorts everything, and makes the index of addresses. All of this takes linear time, whatever the map contains.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sort.h"
#include "base/string.h"
#include "source/linker_map/builder.h"

/* If the map does not give the alignment, a gap longer than this is not padding. */
#define LONGEST_FILL 4096

/* Arrays for sorting COUNT items. */
struct sorter {
    struct sxt_sort_item *items;
    struct sxt_sort_item *scratch;
    size_t count;
};

typedef uint64_t key_function(const struct sxt_linker_map *map, uint32_t index);

static int sorter_open(struct sorter *sorter, size_t count, sxt_error *error);
static void sorter_close(struct sorter *sorter);
static void sort_by(struct sorter *sorter, const struct sxt_linker_map *map, key_function *key);
static void cut_pieces(struct sxt_linker_map *map);
static int mark_lto(struct sxt_linker_map *map, sxt_error *error);
static bool is_lto_object(sxt_string object);
static int fill_gaps(struct sxt_map_builder *builder);
static size_t fill_section(struct sxt_map_builder *builder, uint32_t number, const struct sorter *order, size_t at);
static void add_gap(struct sxt_map_builder *builder, uint32_t section, uint64_t start, uint64_t end,
                    const struct sxt_linker_map_piece *next);
static int sort_pieces(struct sxt_linker_map *map, sxt_error *error);
static int sort_symbols(struct sxt_linker_map *map, sxt_error *error);
static void mark_preferred(struct sxt_linker_map *map);
static unsigned name_score(sxt_string name);
static void sort_commons(struct sxt_linker_map *map);
static int make_covers(struct sxt_linker_map *map, sxt_error *error);

int sxt_map_arrange(struct sxt_map_builder *builder)
{
    struct sxt_linker_map *map = builder->map;
    cut_pieces(map);
    int status = mark_lto(map, builder->error);
    if (status == SXT_OK)
        status = fill_gaps(builder);
    if (status == SXT_OK)
        status = sort_pieces(map, builder->error);
    if (status == SXT_OK)
        status = sort_symbols(map, builder->error);
    sort_commons(map);
    if (status == SXT_OK)
        status = make_covers(map, builder->error);
    return status;
}

static uint64_t end_of(const struct sxt_linker_map_piece *piece)
{
    return piece->address + piece->size;
}

static bool is_located(const struct sxt_linker_map *map, const struct sxt_linker_map_piece *piece)
{
    const struct sxt_linker_map_section *section = &map->sections[piece->section];
    return section->allocated && !section->own_space;
}

static void cut_pieces(struct sxt_linker_map *map)
{
    for (size_t i = 0; i < map->piece_count; i++) {
        struct sxt_linker_map_piece *piece = &map->pieces[i];
        const struct sxt_linker_map_section *section = &map->sections[piece->section];
        uint64_t start = piece->address, end = end_of(piece), last = section->address + section->size;
        if (start >= section->address && end <= last)
            continue;
        start = start < section->address ? section->address : start > last ? last : start;
        end = end < start ? start : end > last ? last : end;
        piece->address = start;
        piece->size = end - start;
        map->cut_count++;
    }
}

/* An object has many pieces, so the result for each object is stored. */
static int mark_lto(struct sxt_linker_map *map, sxt_error *error)
{
    enum { UNKNOWN, NO, YES };
    uint8_t *known = calloc(map->strings.count, 1);
    if (known == NULL)
        return sxt_fail_memory(error, map->strings.count);
    for (size_t i = 0; i < map->piece_count; i++) {
        uint32_t object = map->pieces[i].object;
        if (known[object] == UNKNOWN)
            known[object] = is_lto_object(sxt_linker_map_string(map, object)) ? YES : NO;
        if (known[object] == YES)
            map->pieces[i].flags |= SXT_PIECE_LTO;
    }
    free(known);
    return SXT_OK;
}

/* "lto.tmp", "x.lto.o", "/tmp/cc123.ltrans0.ltrans.o", "dir/thinlto-cache/llvmcache-AB12", "<artificial>" */
static bool is_lto_object(sxt_string object)
{
    static const char *const parts[] = {"lto.tmp", ".lto.", ".ltrans", "thinlto-cache", "llvmcache-", "<artificial>"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (memmem(object.data, object.size, parts[i], strlen(parts[i])) != NULL)
            return true;
    }
    return false;
}

static uint64_t key_has_bytes(const struct sxt_linker_map *map, uint32_t index)
{
    return map->pieces[index].size > 0;
}

static uint64_t key_address(const struct sxt_linker_map *map, uint32_t index)
{
    return map->pieces[index].address;
}

static uint64_t key_section(const struct sxt_linker_map *map, uint32_t index)
{
    return map->pieces[index].section;
}

/* Located pieces first, the others by section. */
static uint64_t key_group(const struct sxt_linker_map *map, uint32_t index)
{
    const struct sxt_linker_map_piece *piece = &map->pieces[index];
    return is_located(map, piece) ? 0 : (uint64_t)piece->section + 1;
}

static int fill_gaps(struct sxt_map_builder *builder)
{
    struct sxt_linker_map *map = builder->map;
    size_t most = map->piece_count * 2 + map->section_count;
    struct sxt_linker_map_piece *pieces =
        sxt_array_grow(map->pieces, &builder->piece_capacity, most, sizeof *map->pieces);
    if (pieces == NULL)
        return sxt_fail_memory(builder->error, most * sizeof *pieces);
    map->pieces = pieces;
    struct sorter sorter;
    int status = sorter_open(&sorter, map->piece_count, builder->error);
    if (status != SXT_OK)
        return status;
    sort_by(&sorter, map, key_address);
    sort_by(&sorter, map, key_section);
    size_t at = 0;
    for (uint32_t number = 0; number < map->section_count; number++)
        at = fill_section(builder, number, &sorter, at);
    sorter_close(&sorter);
    return SXT_OK;
}

/* The pieces of section NUMBER are in ORDER from AT on. Returns the position after them. */
static size_t fill_section(struct sxt_map_builder *builder, uint32_t number, const struct sorter *order, size_t at)
{
    struct sxt_linker_map *map = builder->map;
    const struct sxt_linker_map_section *section = &map->sections[number];
    uint64_t covered = section->address;
    for (; at < order->count; at++) {
        const struct sxt_linker_map_piece *piece = &map->pieces[order->items[at].index];
        if (piece->section != number)
            break;
        if (piece->size == 0)
            continue;
        if (piece->address > covered)
            add_gap(builder, number, covered, piece->address, piece);
        if (end_of(piece) > covered)
            covered = end_of(piece);
    }
    if (covered < section->address + section->size)
        add_gap(builder, number, covered, section->address + section->size, NULL);
    return at;
}

/* fill_gaps has reserved memory for it. */
static void add_gap(struct sxt_map_builder *builder, uint32_t section, uint64_t start, uint64_t end,
                    const struct sxt_linker_map_piece *next)
{
    struct sxt_linker_map *map = builder->map;
    struct sxt_linker_map_piece gap = {
        .address = start,
        .size = end - start,
        .input_section = {"", 0},
        .section = section,
        .kind = SXT_PIECE_FILL,
        .flags = SXT_PIECE_IMPLIED,
    };
    const struct sxt_linker_map_section *of = &map->sections[section];
    uint64_t longest = next == NULL || next->alignment == 0 ? LONGEST_FILL : (uint64_t)next->alignment - 1;
    if (gap.size == of->size) {
        gap.input_section = sxt_linker_map_string(map, of->name);
        sxt_map_classify(map, gap.input_section, (sxt_string){"", 0}, &gap);
        gap.stem = 0;
        gap.flags = SXT_PIECE_IMPLIED;
        if (gap.kind == SXT_PIECE_PLAIN)
            gap.kind = SXT_PIECE_INTERNAL;
    } else if (gap.size > longest) {
        gap.kind = SXT_PIECE_INTERNAL;
    }
    map->pieces[map->piece_count++] = gap;
}

static int sort_pieces(struct sxt_linker_map *map, sxt_error *error)
{
    struct sorter sorter;
    int status = sorter_open(&sorter, map->piece_count, error);
    if (status != SXT_OK)
        return status;
    sort_by(&sorter, map, key_has_bytes);
    sort_by(&sorter, map, key_address);
    sort_by(&sorter, map, key_group);

    struct sxt_linker_map_piece *pieces = malloc((map->piece_count + 1) * sizeof *pieces);
    uint32_t *places = malloc((map->piece_count + 1) * sizeof *places);
    if (pieces == NULL || places == NULL) {
        free(pieces);
        free(places);
        sorter_close(&sorter);
        return sxt_fail_memory(error, (map->piece_count + 1) * sizeof *pieces);
    }
    for (size_t i = 0; i < map->piece_count; i++) {
        uint32_t from = sorter.items[i].index;
        pieces[i] = map->pieces[from];
        places[from] = (uint32_t)i;
        map->located_count += is_located(map, &pieces[i]);
    }
    for (size_t i = 0; i < map->symbol_count; i++)
        map->symbols[i].piece = places[map->symbols[i].piece];
    free(map->pieces);
    map->pieces = pieces;
    free(places);
    sorter_close(&sorter);
    return SXT_OK;
}

static uint64_t key_symbol_address(const struct sxt_linker_map *map, uint32_t index)
{
    return map->symbols[index].address;
}

static uint64_t key_symbol_piece(const struct sxt_linker_map *map, uint32_t index)
{
    return map->symbols[index].piece;
}

static int sort_symbols(struct sxt_linker_map *map, sxt_error *error)
{
    struct sorter sorter;
    int status = sorter_open(&sorter, map->symbol_count, error);
    if (status != SXT_OK)
        return status;
    struct sxt_linker_map_symbol *symbols = malloc((map->symbol_count + 1) * sizeof *symbols);
    if (symbols == NULL) {
        sorter_close(&sorter);
        return sxt_fail_memory(error, (map->symbol_count + 1) * sizeof *symbols);
    }
    sort_by(&sorter, map, key_symbol_address);
    sort_by(&sorter, map, key_symbol_piece);
    for (size_t i = 0; i < map->symbol_count; i++)
        symbols[i] = map->symbols[sorter.items[i].index];
    free(map->symbols);
    map->symbols = symbols;
    sorter_close(&sorter);
    mark_preferred(map);
    return SXT_OK;
}

/* Of equally good names, the last one wins. */
static void mark_preferred(struct sxt_linker_map *map)
{
    for (size_t i = 0; i < map->symbol_count;) {
        size_t best = i;
        unsigned best_score = 0;
        size_t end = i;
        for (; end < map->symbol_count && map->symbols[end].piece == map->symbols[i].piece &&
               map->symbols[end].address == map->symbols[i].address;
             end++) {
            unsigned score = name_score(map->symbols[end].name);
            if (score >= best_score) {
                best = end;
                best_score = score;
            }
        }
        map->symbols[best].preferred = true;
        i = end;
    }
}

/* Ranks names as the reference does: local labels, other names not from source code, plain names, mangled names. */
static unsigned name_score(sxt_string name)
{
    if (sxt_string_begins(name, ".L"))
        return 1;
    if (name.data[0] == '.' || name.data[0] == '$')
        return 2;
    return sxt_string_begins(name, "_Z") || sxt_string_begins(name, "_R") ? 4 : 3;
}

static int compare_commons(const void *a, const void *b)
{
    const struct sxt_linker_map_common *left = a, *right = b;
    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    return (left->object > right->object) - (left->object < right->object);
}

static void sort_commons(struct sxt_linker_map *map)
{
    if (map->common_count > 0)
        qsort(map->commons, map->common_count, sizeof *map->commons, compare_commons);
}

struct sweep {
    struct sxt_linker_map *map;
    uint32_t *open; /* pieces that have begun; the one that began last is on top */
    size_t depth;
};

static void cover_from(struct sweep *sweep, uint64_t address)
{
    struct sxt_linker_map *map = sweep->map;
    uint32_t piece = sweep->depth > 0 ? sweep->open[sweep->depth - 1] : SXT_LINKER_MAP_NONE;
    if (map->cover_count > 0 && map->covers[map->cover_count - 1].address == address)
        map->cover_count--;
    if (map->cover_count > 0 && map->covers[map->cover_count - 1].piece == piece)
        return;
    map->covers[map->cover_count++] = (struct sxt_linker_map_cover){address, piece};
}

/* Closes the pieces that end at or before ADDRESS. */
static void sweep_to(struct sweep *sweep, uint64_t address)
{
    const struct sxt_linker_map_piece *pieces = sweep->map->pieces;
    while (sweep->depth > 0) {
        uint64_t end = end_of(&pieces[sweep->open[sweep->depth - 1]]);
        if (end > address)
            return;
        while (sweep->depth > 0 && end_of(&pieces[sweep->open[sweep->depth - 1]]) <= end)
            sweep->depth--;
        cover_from(sweep, end);
    }
}

/* Each piece begins once and ends once, so there are at most two covers for each. */
static int make_covers(struct sxt_linker_map *map, sxt_error *error)
{
    struct sweep sweep = {map, malloc((map->located_count + 1) * sizeof *sweep.open), 0};
    map->covers = malloc((map->located_count * 2 + 1) * sizeof *map->covers);
    if (sweep.open == NULL || map->covers == NULL) {
        free(sweep.open);
        return sxt_fail_memory(error, (map->located_count * 2 + 1) * sizeof *map->covers);
    }
    for (size_t i = 0; i < map->located_count;) {
        uint64_t address = map->pieces[i].address;
        size_t end = i + 1;
        while (end < map->located_count && map->pieces[end].address == address)
            end++;
        sweep_to(&sweep, address);
        /* The first of the pieces that begin here must be on top. */
        for (size_t at = end; at > i && map->pieces[at - 1].size > 0; at--)
            sweep.open[sweep.depth++] = (uint32_t)(at - 1);
        cover_from(&sweep, address);
        i = end;
    }
    sweep_to(&sweep, UINT64_MAX);
    free(sweep.open);
    return SXT_OK;
}

static int sorter_open(struct sorter *sorter, size_t count, sxt_error *error)
{
    *sorter = (struct sorter){
        .items = malloc((count + 1) * sizeof *sorter->items),
        .scratch = malloc((count + 1) * sizeof *sorter->scratch),
        .count = count,
    };
    if (sorter->items == NULL || sorter->scratch == NULL) {
        sorter_close(sorter);
        return sxt_fail_memory(error, (count + 1) * sizeof *sorter->items);
    }
    for (size_t i = 0; i < count; i++)
        sorter->items[i].index = (uint32_t)i;
    return SXT_OK;
}

static void sorter_close(struct sorter *sorter)
{
    free(sorter->items);
    free(sorter->scratch);
}

/* Sorting is stable, so the most significant key comes last. */
static void sort_by(struct sorter *sorter, const struct sxt_linker_map *map, key_function *key)
{
    for (size_t i = 0; i < sorter->count; i++)
        sorter->items[i].key = key(map, sorter->items[i].index);
    sxt_sort(sorter->items, sorter->scratch, sorter->count);
}
