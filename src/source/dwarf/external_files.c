/*
 * external_files.c: opens the other files that DWARF may be in: the alternate file of dwz, the .dwo files of split
 * DWARF, and the .dwp package that contains several of them. Never uses the network.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cursor.h"
#include "base/error.h"
#include "source/dwarf/external_paths.h"

#define PATHS_LIMIT ((size_t)DWARF_PATHS_MAX * 2 * PATH_MAX)
/* A third of a package's hash table is empty, so a valid search takes only a few steps. */
#define PROBES_MAX 1024

int sxt_dwarf_external_open(struct dwarf_external *external, const char *path, uint64_t inflate_limit, bool split,
                            sxt_error *error)
{
    memset(external, 0, sizeof *external);
    int status = sxt_file_open(&external->file, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_file_inflate(&external->file, inflate_limit, error);
    if (status == SXT_OK)
        status = sxt_elf_open(&external->elf, external->file.data, external->file.size, inflate_limit, error);
    if (status != SXT_OK) {
        sxt_file_close(&external->file);
        return status;
    }
    external->is_open = true;
    status = sxt_dwarf_load_sections(&external->dwarf, &external->elf, split, 1, error);
    if (status != SXT_OK)
        sxt_dwarf_external_close(external);
    return status;
}

void sxt_dwarf_external_close(struct dwarf_external *external)
{
    if (!external->is_open)
        return;
    free(external->dwarf.units);
    sxt_elf_close(&external->elf);
    sxt_file_close(&external->file);
    memset(external, 0, sizeof *external);
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* DIRECTORY/NAME, or NAME if it is absolute. Returns false if the result is too long. */
static bool join_path(char *out, sxt_string directory, sxt_string name)
{
    if (name.size == 0 || memchr(name.data, 0, name.size) != NULL)
        return false;
    int length = name.data[0] == '/' || directory.size == 0 ? snprintf(out, PATH_MAX, "%.*s", (int)name.size, name.data)
                                                            : snprintf(out, PATH_MAX, "%.*s/%.*s", (int)directory.size,
                                                                       directory.data, (int)name.size, name.data);
    return length > 0 && length < PATH_MAX;
}

/* Gets the directory of the main file, with links resolved. */
static bool folder_of(const struct sxt_dwarf *dwarf, char *out)
{
    if (dwarf->settings.path == NULL || realpath(dwarf->settings.path, out) == NULL)
        return false;
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    slash[slash == out ? 1 : 0] = 0;
    return true;
}

static bool try_alternate(struct sxt_dwarf *dwarf, const struct dwarf_link *link, const char *path)
{
    if (!is_file(path))
        return false;
    sxt_error cause;
    if (sxt_dwarf_external_open(&dwarf->alternate, path, dwarf->settings.options->inflate_limit, false, &cause) !=
        SXT_OK) {
        sxt_dwarf_warn(dwarf, "DWARF: alternate file '%.80s' not used: %.80s", path, cause.text);
        return false;
    }
    uint8_t id[DWARF_ID_MAX];
    struct dwarf_link own = {.id = id};
    if (!sxt_dwarf_supplementary(&dwarf->alternate.elf, true, &own)) {
        own.id = id;
        own.id_size = sxt_elf_build_id(&dwarf->alternate.elf, id, sizeof id);
    }
    if (own.id_size != link->id_size || memcmp(own.id, link->id, own.id_size) != 0) {
        sxt_dwarf_warn(dwarf, "DWARF: alternate file '%.80s' not used: it has another build ID", path);
        sxt_dwarf_external_close(&dwarf->alternate);
        return false;
    }
    if (sxt_dwarf_find_units(&dwarf->alternate.dwarf, NULL) != SXT_OK) {
        sxt_dwarf_external_close(&dwarf->alternate);
        return false;
    }
    return true;
}

void sxt_dwarf_open_alternate(struct sxt_dwarf *dwarf)
{
    struct dwarf_link link;
    if (!sxt_dwarf_alternate_link(dwarf->elf, &link))
        return;
    struct sxt_arena arena;
    struct dwarf_paths paths;
    bool found = false;
    sxt_arena_init(&arena, PATHS_LIMIT, sxt_arena_separate_default);
    sxt_dwarf_alternate_paths(dwarf, &link, &arena, &paths);
    for (size_t i = 0; i < paths.count && !found; i++)
        found = try_alternate(dwarf, &link, paths.list[i].data);
    sxt_arena_free(&arena);
    if (!found)
        sxt_dwarf_warn(dwarf, "DWARF: alternate file '%.100s' not found; names and functions in it are missing",
                       link.path.data);
}

void sxt_dwarf_open_package(struct sxt_dwarf *dwarf)
{
    char path[PATH_MAX];
    if (dwarf->settings.path == NULL)
        return;
    int length = snprintf(path, sizeof path, "%s.dwp", dwarf->settings.path);
    if (length <= 0 || length >= PATH_MAX || !is_file(path))
        return;
    sxt_error cause;
    if (sxt_dwarf_external_open(&dwarf->package, path, dwarf->settings.options->inflate_limit, true, &cause) != SXT_OK)
        sxt_dwarf_warn(dwarf, "DWARF: package '%.80s' not used: %.80s", path, cause.text);
}

/* The columns of a package's index, by section; the numbers are those of version 5 and of GNU's version 2. */
static int section_of_column(uint32_t version, uint32_t id)
{
    switch (id) {
    case 1:
        return DWARF_INFO;
    case 3:
        return DWARF_ABBREV;
    case 4:
        return DWARF_LINE;
    case 6:
        return DWARF_STR_OFFSETS;
    case 8:
        return version >= 5 ? DWARF_RNGLISTS : DWARF_SECTION_COUNT;
    default:
        return DWARF_SECTION_COUNT;
    }
}

/*
 * .debug_cu_index: version, columns, units, slots; then a hash table of unit numbers (slots x 8 bytes), the row of each
 * (slots x 4), the section of each column, and two tables of offsets and sizes with a row for each unit.
 */
static bool find_in_package(const struct dwarf_file *package, uint64_t id, struct dwarf_file *part)
{
    const struct dwarf_bytes *index = &package->sections[DWARF_CU_INDEX];
    struct sxt_cursor at = sxt_cursor_make(index->data, index->size, 0, package->big_endian);
    /* Version 5 has 2 bytes for the version and 2 of padding. */
    uint32_t version = sxt_cursor_u32(&at);
    if (version != 2 && index->size >= 2)
        version = sxt_load_u16(index->data, package->big_endian);
    uint64_t columns = sxt_cursor_u32(&at), units = sxt_cursor_u32(&at), slots = sxt_cursor_u32(&at);
    if (at.failed || (version != 2 && version != 5) || columns == 0 || slots == 0 || (slots & (slots - 1)) != 0)
        return false;
    uint64_t hashes = at.at, rows = hashes + slots * 8, kinds = rows + slots * 4, offsets = kinds + columns * 4,
             sizes = offsets + units * columns * 4;
    if (!sxt_fits(sizes, units * columns, 4, index->size))
        return false;
    uint64_t mask = slots - 1, slot = id & mask, step = ((id >> 32) & mask) | 1;
    uint32_t row = 0;
    for (uint64_t i = 0; i < slots && i < PROBES_MAX && row == 0; i++, slot = (slot + step) & mask) {
        uint64_t there = sxt_load_u64(index->data + hashes + slot * 8, package->big_endian);
        uint32_t its_row = sxt_load_u32(index->data + rows + slot * 4, package->big_endian);
        if (there == 0 && its_row == 0)
            break;
        if (there == id)
            row = its_row;
    }
    if (row == 0 || row > units)
        return false;
    *part = *package;
    part->units = NULL;
    part->unit_count = part->info_unit_count = 0;
    for (uint64_t i = 0; i < columns; i++) {
        int kind = section_of_column(version, sxt_load_u32(index->data + kinds + i * 4, package->big_endian));
        uint64_t cell = ((uint64_t)(row - 1) * columns + i) * 4;
        uint64_t offset = sxt_load_u32(index->data + offsets + cell, package->big_endian);
        uint64_t size = sxt_load_u32(index->data + sizes + cell, package->big_endian);
        if (kind == DWARF_SECTION_COUNT)
            continue;
        const struct dwarf_bytes *whole = &package->sections[kind];
        if (!sxt_fits(offset, size, 1, whole->size))
            return false;
        part->sections[kind] = (struct dwarf_bytes){size > 0 ? whole->data + offset : NULL, (size_t)size};
    }
    return true;
}

/* The number of a split unit: in its header, or (DWARF 4) in its root entry. */
static uint64_t split_id(const struct dwarf_file *file, const struct dwarf_unit *unit)
{
    if (unit->version >= 5)
        return unit->id;
    struct dwarf_abbrevs abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    sxt_dwarf_abbrevs_init(&abbrevs);
    uint64_t id = sxt_dwarf_enter(&context, &root, &abbrevs, file, unit, NULL) ? root.split_id : 0;
    sxt_dwarf_abbrevs_free(&abbrevs);
    return id;
}

/* Finds the unit with this number; type units may come before it. */
static bool find_unit(struct dwarf_split *split, uint64_t id)
{
    const struct dwarf_bytes *info = &split->part.sections[DWARF_INFO];
    for (uint64_t offset = 0; offset < info->size;) {
        if (!sxt_dwarf_read_unit_header(&split->part, false, offset, &split->unit) ||
            !sxt_dwarf_unit_is_known(&split->unit))
            return false;
        if (split->unit.type != DW_UT_split_type && split->unit.type != DW_UT_type &&
            split_id(&split->part, &split->unit) == id)
            return true;
        offset = split->unit.end;
    }
    return false;
}

static bool try_split_file(const struct sxt_dwarf *dwarf, const char *path, uint64_t id, struct dwarf_split *split)
{
    if (!is_file(path) ||
        sxt_dwarf_external_open(&split->external, path, dwarf->settings.options->inflate_limit, true, NULL) != SXT_OK)
        return false;
    split->part = split->external.dwarf;
    if (find_unit(split, id))
        return true;
    sxt_dwarf_external_close(&split->external);
    return false;
}

bool sxt_dwarf_split_open(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, uint64_t id,
                          struct dwarf_split *split)
{
    memset(split, 0, sizeof *split);
    if (dwarf->package.is_open && find_in_package(&dwarf->package.dwarf, id, &split->part) && find_unit(split, id))
        return true;
    char path[PATH_MAX], folder[PATH_MAX];
    if (dwarf->settings.path == NULL || (dwarf->settings.options->flags & SXT_EXTRACT_NO_DEBUG_SEARCH))
        return false;
    if (join_path(path, root->directory, root->split_name) && try_split_file(dwarf, path, id, split))
        return true;
    if (!folder_of(dwarf, folder))
        return false;
    /* Next to the binary: with the recorded relative path, then by its file name alone. */
    sxt_string beside = {folder, strlen(folder)}, name = root->split_name;
    for (size_t i = name.size; i > 0; i--)
        if (name.data[i - 1] == '/') {
            name = (sxt_string){name.data + i, name.size - i};
            break;
        }
    if (root->split_name.size > 0 && root->split_name.data[0] != '/' && join_path(path, beside, root->split_name) &&
        try_split_file(dwarf, path, id, split))
        return true;
    return join_path(path, beside, name) && try_split_file(dwarf, path, id, split);
}

void sxt_dwarf_split_close(struct dwarf_split *split)
{
    sxt_dwarf_external_close(&split->external);
}
