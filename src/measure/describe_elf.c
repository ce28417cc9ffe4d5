/* describe_elf.c: the metadata of an ELF file, the sizes of its sections, and its metrics. */
#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hex.h"
#include "base/string.h"
#include "measure/private.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The names that the reference has for machines. */
static const char *machine_name(const char *machine)
{
    static const struct {
        const char *ours, *theirs;
    } machines[] = {{"x86_64", "x64"}, {"i386", "x86"}, {"aarch64", "arm64"}, {"arm", "arm"}};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (strcmp(machine, machines[i].ours) == 0)
            return machines[i].theirs;
    return machine;
}

static const char *algorithm_name(const struct measure_described *of)
{
    return of->map_path != NULL ? "linker_map" : of->symbols->sources & SXT_SOURCE_DWARF ? "dwarf" : "sections";
}

struct sxt_json *sxt_measure_metadata(struct measure_maker *maker, const struct measure_described *of)
{
    struct sxt_arena *arena = &maker->size->arena;
    struct sxt_json *metadata = sxt_json_object(arena);
    const struct sxt_symbols *symbols = of->symbols;
    char id[SXT_HEX_ROOM(SXT_BUILD_ID_MAX)];
    sxt_hex_encode(id, symbols->module.build_id, symbols->module.build_id_size);
    const struct {
        const char *key, *value;
    } texts[] = {
        {"elf_algorithm", algorithm_name(of)},
        {"elf_arch", symbols->module.arch[0] != '\0' ? machine_name(symbols->module.arch) : NULL},
        {"elf_build_id", *id != 0 ? id : NULL},
        {"elf_file_name", base_name(of->path)},
        {"map_file_name", of->map_path != NULL ? base_name(of->map_path) : NULL},
    };
    bool fine = metadata != NULL;
    for (size_t i = 0; fine && i < sizeof texts / sizeof *texts; i++) {
        size_t size = texts[i].value != NULL ? strlen(texts[i].value) : 0;
        char *text = texts[i].value != NULL ? sxt_arena_copy(arena, texts[i].value, size) : NULL;
        if (texts[i].value == NULL)
            continue;
        fine = text != NULL;
        if (fine)
            sxt_measure_make_utf8(text, size);
        fine = fine && sxt_json_add_string(arena, metadata, texts[i].key, (sxt_string){text, size});
    }
    struct stat of_file;
    if (fine && of->has_file_time && stat(of->path, &of_file) == 0)
        fine = sxt_json_add_number(arena, metadata, "elf_mtime", (int64_t)of_file.st_mtime);
    return fine ? metadata : NULL;
}

/* A section that is named like one with a segment, but has none, is stored under a name that readers do not know. */
static sxt_string counted_name(const struct measure_section *section)
{
    return section->place == MEASURE_OTHER && sxt_size_is_known(section->name) ? (sxt_string){"?", 1} : section->name;
}

uint64_t sxt_measure_count_sections(struct measure_maker *maker, uint32_t container, const struct measure_described *of,
                                    const struct measure_section *sections)
{
    uint64_t relocations = 0, in_file = 0;
    sxt_string file = sxt_string_of(base_name(of->path));
    for (size_t i = 1; i < of->elf->section_count; i++) {
        const struct measure_section *section = &sections[i];
        if (section->place == MEASURE_LEFT_OUT)
            continue;
        if (section->place == MEASURE_MEMORY)
            sxt_measure_maker_count_memory(maker, container, section->name, section->size);
        else
            sxt_measure_maker_count(maker, container, counted_name(section), section->size + section->gap);
        sxt_measure_maker_metric(maker, container, file, "SIZE/", section->name, section->size + section->gap);
        if (!section->is_bss)
            in_file += section->size;
        relocations += sxt_measure_count_relocations(of->elf, section->elf);
    }
    sxt_measure_maker_metric(maker, container, file, "COUNT/", sxt_string_of("Relocations"), relocations);
    return in_file;
}
