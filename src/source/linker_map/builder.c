/* builder.c: adds sections, pieces, symbols and common symbols to a map under construction. */
#include "source/linker_map/builder.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"

static bool is_allocated(sxt_string name, uint64_t address);
static bool is_thread_local(sxt_string name);
static void end_last_piece(struct sxt_map_builder *builder, uint64_t at);
static int add_object(struct sxt_map_builder *builder, sxt_string object, uint32_t *number);
static int add_string(struct sxt_map_builder *builder, sxt_string string, uint32_t *number);
static int make_room(struct sxt_map_builder *builder, void *items, size_t *capacity, size_t count, size_t item_size);

int sxt_map_open_section(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size)
{
    struct sxt_linker_map *map = builder->map;
    sxt_map_close_section(builder);
    uint64_t end;
    if (!sxt_add_u64(address, size, &end))
        return sxt_map_fail(builder, "end of the section does not fit in 64 bits");
    int status =
        make_room(builder, &map->sections, &builder->section_capacity, map->section_count, sizeof *map->sections);
    uint32_t number = 0;
    if (status == SXT_OK)
        status = add_string(builder, name, &number);
    if (status != SXT_OK)
        return status;
    builder->section = (uint32_t)map->section_count;
    builder->thread_local = is_thread_local(name);
    if (builder->thread_local && !builder->thread_base_known) {
        builder->thread_base = address;
        builder->thread_base_known = true;
    }
    map->sections[map->section_count++] = (struct sxt_linker_map_section){
        .address = address,
        .size = size,
        .name = number,
        .allocated = is_allocated(name, address),
        .own_space = sxt_string_is(name, ".tbss") || sxt_string_begins(name, ".tbss."),
    };
    return SXT_OK;
}

void sxt_map_close_section(struct sxt_map_builder *builder)
{
    if (builder->section != SXT_LINKER_MAP_NONE) {
        const struct sxt_linker_map_section *section = &builder->map->sections[builder->section];
        end_last_piece(builder, section->address + section->size);
    }
    builder->section = SXT_LINKER_MAP_NONE;
    builder->piece = SXT_LINKER_MAP_NONE;
}

int sxt_map_add_piece(struct sxt_map_builder *builder, const struct sxt_map_entry *entry)
{
    struct sxt_linker_map *map = builder->map;
    if (builder->section == SXT_LINKER_MAP_NONE)
        return SXT_OK;
    uint64_t end;
    if (!sxt_add_u64(entry->address, entry->size, &end))
        return sxt_map_fail(builder, "end of the piece does not fit in 64 bits");
    end_last_piece(builder, entry->address);

    struct sxt_linker_map_piece piece = {
        .address = entry->address,
        .size = entry->size,
        .input_section = {"", 0},
        .section = builder->section,
        .alignment = entry->alignment,
        .kind = (uint8_t)entry->kind,
        .flags = entry->flags,
    };
    int status = make_room(builder, &map->pieces, &builder->piece_capacity, map->piece_count, sizeof *map->pieces);
    if (status != SXT_OK)
        return status;
    if (entry->kind != SXT_PIECE_FILL && entry->input_section.size > 0)
        piece.input_section = entry->input_section;
    if (entry->kind == SXT_PIECE_PLAIN)
        sxt_map_classify(map, entry->input_section, entry->object, &piece);
    if (piece.kind != SXT_PIECE_FILL && piece.kind != SXT_PIECE_INTERNAL)
        status = add_object(builder, entry->object, &piece.object);
    if (status != SXT_OK)
        return status;
    builder->piece = (uint32_t)map->piece_count;
    map->pieces[map->piece_count++] = piece;
    return SXT_OK;
}

int sxt_map_add_symbol(struct sxt_map_builder *builder, sxt_string name, uint64_t address, uint64_t size)
{
    struct sxt_linker_map *map = builder->map;
    if (builder->piece == SXT_LINKER_MAP_NONE || name.size == 0)
        return SXT_OK;
    const struct sxt_linker_map_piece *piece = &map->pieces[builder->piece];
    if (builder->thread_local && address < piece->address)
        address += builder->thread_base;
    if (address < piece->address || address - piece->address > piece->size)
        return SXT_OK;
    int status = make_room(builder, &map->symbols, &builder->symbol_capacity, map->symbol_count, sizeof *map->symbols);
    if (status == SXT_OK)
        map->symbols[map->symbol_count++] =
            (struct sxt_linker_map_symbol){.address = address, .size = size, .name = name, .piece = builder->piece};
    return status;
}

int sxt_map_add_common(struct sxt_map_builder *builder, sxt_string name, uint64_t size, sxt_string object)
{
    struct sxt_linker_map *map = builder->map;
    struct sxt_linker_map_common common = {.size = size};
    int status = make_room(builder, &map->commons, &builder->common_capacity, map->common_count, sizeof *map->commons);
    if (status == SXT_OK)
        status = add_string(builder, name, &common.name);
    if (status == SXT_OK)
        status = add_object(builder, object, &common.object);
    if (status == SXT_OK)
        map->commons[map->common_count++] = common;
    return status;
}

int sxt_map_fail(struct sxt_map_builder *builder, const char *what)
{
    return sxt_fail(builder->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "line %" PRIu64 " of the linker map: %s",
                    builder->lines.number, what);
}

/*
 * Sections that are not loaded have address 0 in every map, but so has the code of many embedded processors. The name
 * decides.
 */
static bool is_allocated(sxt_string name, uint64_t address)
{
    static const char *const names[] = {".comment",        ".debug",          ".zdebug",     ".stab",
                                        ".line",           ".symtab",         ".strtab",     ".shstrtab",
                                        ".gnu.attributes", ".gnu.lto_",       ".gnu_debug",  ".gnu.debuglto_",
                                        ".gnu.build.attr", ".ARM.attributes", ".riscv.attr", ".note.gnu.gold-version",
                                        ".note.GNU-stack", ".gdb_index",      ".llvm",       ".gnu.warning",
                                        ".mdebug",         ".rela.",          ".rel."};
    if (address != 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (sxt_string_begins(name, names[i]))
            return false;
    }
    return true;
}

/* lld and gold print the offset of a variable from the start of these sections instead of its address. */
static bool is_thread_local(sxt_string name)
{
    return sxt_string_begins(name, ".tdata") || sxt_string_begins(name, ".tbss");
}

/*
 * GNU ld prints the original size of a section whose strings were all merged into others. Its map is sorted by address,
 * so such a piece ends where the next one begins.
 */
static void end_last_piece(struct sxt_map_builder *builder, uint64_t at)
{
    if (builder->map->linker != SXT_LINKER_GNU_LD || builder->piece == SXT_LINKER_MAP_NONE)
        return;
    struct sxt_linker_map_piece *piece = &builder->map->pieces[builder->piece];
    if (at >= piece->address && at - piece->address < piece->size)
        piece->size = at - piece->address;
}

/* Consecutive pieces often have the same object. */
static int add_object(struct sxt_map_builder *builder, sxt_string object, uint32_t *number)
{
    sxt_string last = builder->last_object;
    if (object.size == 0 || !sxt_string_equal(object, last)) {
        int status = add_string(builder, object, &builder->last_object_number);
        if (status != SXT_OK)
            return status;
        builder->last_object = object;
    }
    *number = object.size == 0 ? 0 : builder->last_object_number;
    return SXT_OK;
}

static int add_string(struct sxt_map_builder *builder, sxt_string string, uint32_t *number)
{
    *number = sxt_strings_add(&builder->map->strings, string.size == 0 ? "" : string.data, string.size);
    return *number == SXT_STRINGS_FULL ? sxt_fail_memory(builder->error, string.size) : SXT_OK;
}

/* ITEMS points to the pointer to the array. */
static int make_room(struct sxt_map_builder *builder, void *items, size_t *capacity, size_t count, size_t item_size)
{
    /* Implied pieces are added later: at most one before each piece and one at the end of each section. */
    if (count >= UINT32_MAX / 4)
        return sxt_fail(builder->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                        "line %" PRIu64 " of the linker map: too many lines", builder->lines.number);
    void *array;
    memcpy(&array, items, sizeof array);
    array = sxt_array_grow(array, capacity, count + 1, item_size);
    if (array == NULL)
        return sxt_fail_memory(builder->error, (uint64_t)count * item_size);
    memcpy(items, &array, sizeof array);
    return SXT_OK;
}
