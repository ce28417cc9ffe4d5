/*
 * map_file.c: the linker map of a binary: the one that the user names, or one beside the binary. A map of another build
 * would give wrong objects, so it has to have the same sections at the same addresses.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/string.h"
#include "measure/private.h"

static int check(const struct sxt_linker_map *map, const struct sxt_file *binary, sxt_error *error);
static int find(struct measure_maker *maker, const char *path, const struct sxt_file *binary, struct measure_map *out,
                sxt_error *error);

static int read_map(const char *path, struct measure_map *out, sxt_error *error)
{
    *out = (struct measure_map){0};
    int status = sxt_file_open_inflated(&out->file, path, SXT_MEASURE_INFLATE_LIMIT, error);
    if (status != SXT_OK)
        return status;
    out->path = strdup(path);
    status = out->path != NULL ? sxt_linker_map_read(out->file.data, out->file.size, &out->map, error)
                               : sxt_fail_memory(error, strlen(path));
    return status;
}

int sxt_measure_open_map(struct measure_maker *maker, const char *path, const struct sxt_file *binary,
                         struct measure_map *out, const char **failed, sxt_error *error)
{
    *out = (struct measure_map){0};
    const char *given = maker->options->map_path;
    if (given == NULL) {
        bool is_searched = !maker->options->no_map_search && sxt_elf_is(binary->data, binary->size);
        return is_searched ? find(maker, path, binary, out, error) : SXT_OK;
    }
    const char *of_binary = *failed;
    *failed = given;
    int status = read_map(given, out, error);
    if (status == SXT_OK && sxt_elf_is(binary->data, binary->size))
        status = check(out->map, binary, error);
    if (status == SXT_OK)
        *failed = of_binary;
    else
        sxt_measure_close_map(out);
    return status;
}

void sxt_measure_close_map(struct measure_map *map)
{
    sxt_linker_map_free(map->map);
    if (map->path != NULL)
        sxt_file_close(&map->file);
    free(map->path);
    *map = (struct measure_map){0};
}

/* --- does it belong to the binary? --- */

static const struct sxt_linker_map_section *section_of(const struct sxt_linker_map *map,
                                                       const struct sxt_elf_section *section)
{
    const struct sxt_linker_map_section *named = NULL;
    for (size_t i = 0; i < map->section_count; i++) {
        const struct sxt_linker_map_section *one = &map->sections[i];
        if (!sxt_string_equal(sxt_linker_map_string(map, one->name), section->name))
            continue;
        named = one;
        if (one->address == section->address && one->size == section->size)
            break;
    }
    return named;
}

/* Code and data have to be where the map says. Linkers change other sections after they write the map. */
static int compare_sections(const struct sxt_linker_map *map, const struct sxt_elf *elf, sxt_error *error)
{
    size_t compared = 0;
    for (size_t i = 1; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        struct sxt_size_segment segment = {.section = section->name};
        sxt_size_classify(&segment);
        if (!(section->flags & SHF_ALLOC) || section->size == 0 || !segment.is_native)
            continue;
        const struct sxt_linker_map_section *of_map = section_of(map, section);
        int shown = (int)(section->name.size < 40 ? section->name.size : 40);
        if (of_map == NULL)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                            "not the linker map of the binary: it has no section %.*s", shown, section->name.data);
        if (of_map->address != section->address || of_map->size != section->size)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                            "not the linker map of the binary: %.*s is 0x%" PRIx64 " bytes at 0x%" PRIx64
                            " in the map, and 0x%" PRIx64 " bytes at 0x%" PRIx64 " in the binary",
                            shown, section->name.data, of_map->size, of_map->address, section->size, section->address);
        compared++;
    }
    return compared > 0 ? SXT_OK
                        : sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                                   "not the linker map of the binary: no section is in both");
}

static int check(const struct sxt_linker_map *map, const struct sxt_file *binary, sxt_error *error)
{
    struct sxt_elf elf;
    int status = sxt_elf_open(&elf, binary->data, binary->size, SXT_MEASURE_INFLATE_LIMIT, error);
    if (status != SXT_OK) /* the binary is refused later, under its own name */
        return status == SXT_ERROR_MEMORY ? status : SXT_OK;
    if (elf.type != ET_REL)
        status = compare_sections(map, &elf, error);
    sxt_elf_close(&elf);
    return status;
}

/* --- beside the binary --- */

static void note(const struct measure_maker *maker, const char *path, const char *text)
{
    if (maker->options->note != NULL)
        maker->options->note(maker->options->note_data, path, text);
}

/* Tries the map at PATH. OUT has none afterwards if it is not a map, or that of another binary. */
static int try_map(struct measure_maker *maker, const char *path, const struct sxt_file *binary,
                   struct measure_map *out, sxt_error *error)
{
    struct stat of_map;
    sxt_error problem;
    char text[sizeof problem.text + 64];
    if (stat(path, &of_map) != 0 || !S_ISREG(of_map.st_mode))
        return SXT_OK;
    int status = read_map(path, out, &problem);
    /* A version script and a map of JavaScript sources have such names too. */
    bool is_map = status == SXT_OK || (out->path != NULL && sxt_linker_map_is(out->file.data, out->file.size));
    if (status == SXT_OK)
        status = check(out->map, binary, &problem);
    if (status == SXT_OK) {
        note(maker, path, "this linker map is used");
        return SXT_OK;
    }
    sxt_measure_close_map(out);
    if (status == SXT_ERROR_MEMORY)
        return sxt_fail_memory(error, (uint64_t)of_map.st_size);
    snprintf(text, sizeof text, "this linker map is not used: %s", problem.text);
    if (is_map)
        note(maker, path, text);
    return SXT_OK;
}

/* Looks for "app.map" and "app.map.gz" beside "app", and beside "app.elf". */
static int find(struct measure_maker *maker, const char *path, const struct sxt_file *binary, struct measure_map *out,
                sxt_error *error)
{
    static const char *const endings[] = {".map", ".map.gz"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash != NULL ? slash : path, '.');
    size_t stems[] = {strlen(path), dot != NULL && dot > path && dot[-1] != '/' ? (size_t)(dot - path) : 0};
    char candidate[4096];
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        for (size_t j = 0; stems[i] > 0 && j < sizeof endings / sizeof *endings; j++) {
            int size = snprintf(candidate, sizeof candidate, "%.*s%s", (int)stems[i], path, endings[j]);
            if (size <= 0 || (size_t)size >= sizeof candidate || strcmp(candidate, path) == 0)
                continue;
            int status = try_map(maker, candidate, binary, out, error);
            if (status != SXT_OK || out->map != NULL)
                return status;
        }
    return SXT_OK;
}
