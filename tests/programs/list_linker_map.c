/*
 * list_linker_map.c: a linker map as the library reads it, one line a section, piece and symbol, in hexadecimal and
 * with tabs between the fields. A test compares it with the file that the linker made.
 *
 *     linker   NAME
 *     section  ADDRESS  SIZE  ALLOCATED  OWN_SPACE  NAME
 *     piece    ADDRESS  SIZE  SECTION  KIND  FLAGS  OBJECT  INPUT_SECTION
 *     symbol   ADDRESS  SIZE  PIECE  PREFERRED  NAME
 *     common   SIZE  OBJECT  NAME
 *     cut      COUNT
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/file.h"
#include "source/linker_map/linker_map.h"

static void list(const struct sxt_linker_map *map);

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: list_linker_map FILE\n");
        return 2;
    }
    struct sxt_file file;
    struct sxt_linker_map *map = NULL;
    sxt_error error;
    int status = sxt_file_open(&file, argv[1], &error);
    if (status == SXT_OK) {
        status = sxt_linker_map_read(file.data, file.size, &map, &error);
        if (status == SXT_OK)
            list(map);
        sxt_linker_map_free(map);
        sxt_file_close(&file);
    }
    if (status != SXT_OK)
        fprintf(stderr, "list_linker_map: %s: %s\n", argv[1], error.text);
    return status != SXT_OK || fflush(stdout) != 0;
}

static void list(const struct sxt_linker_map *map)
{
    static const char *const kinds[] = {"plain", "fill", "strings", "constants", "common", "internal"};
    printf("linker\t%s\n", sxt_linker_name(map->linker));
    for (size_t i = 0; i < map->section_count; i++) {
        const struct sxt_linker_map_section *section = &map->sections[i];
        printf("section\t%" PRIx64 "\t%" PRIx64 "\t%d\t%d\t%s\n", section->address, section->size, section->allocated,
               section->own_space, sxt_linker_map_string(map, section->name).data);
    }
    for (size_t i = 0; i < map->piece_count; i++) {
        const struct sxt_linker_map_piece *piece = &map->pieces[i];
        printf("piece\t%" PRIx64 "\t%" PRIx64 "\t%" PRIx32 "\t%s\t%x\t%s\t%.*s\n", piece->address, piece->size,
               piece->section, kinds[piece->kind], (unsigned)piece->flags,
               sxt_linker_map_string(map, piece->object).data, (int)piece->input_section.size,
               piece->input_section.data);
    }
    for (size_t i = 0; i < map->symbol_count; i++) {
        const struct sxt_linker_map_symbol *symbol = &map->symbols[i];
        printf("symbol\t%" PRIx64 "\t%" PRIx64 "\t%" PRIx32 "\t%d\t%.*s\n", symbol->address, symbol->size,
               symbol->piece, symbol->preferred, (int)symbol->name.size, symbol->name.data);
    }
    for (size_t i = 0; i < map->common_count; i++)
        printf("common\t%" PRIx64 "\t%s\t%s\n", map->commons[i].size,
               sxt_linker_map_string(map, map->commons[i].object).data,
               sxt_linker_map_string(map, map->commons[i].name).data);
    printf("cut\t%zx\n", map->cut_count);
}
