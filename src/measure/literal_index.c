/* literal_index.c: which objects of a linker map contain the literals of a binary. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/string.h"
#include "measure/literals.h"
#include "source/ar.h"

/* Pieces of a damaged map may overlap: how often the bytes of the file are looked at. */
#define ROUNDS_MOST 4

/* While objects are read. */
struct reading {
    struct measure_literal_index *index;
    const char *const *folders;
    size_t folder_count;
    bool *is_object;           /* by number in the strings of the map */
    struct sxt_strings opened; /* libraries that were read */
    struct sxt_buffer path;
};

static void add_texts(struct measure_literal_index *index, const struct sxt_elf *elf, uint64_t start, uint64_t size,
                      unsigned width, uint64_t *left);
static void read_object(struct reading *reading, uint32_t number);
static void read_library(struct reading *reading, sxt_string library);
static void read_elf(struct reading *reading, uint32_t number, const uint8_t *data, size_t size);
static bool open_object(struct reading *reading, sxt_string name, struct sxt_file *file);

/* The literals of the binary: others are of no use. */
static void add_binary(struct measure_literal_index *index, const struct sxt_elf *elf)
{
    uint64_t left = (uint64_t)elf->size * ROUNDS_MOST;
    for (size_t i = 0; i < index->map->located_count; i++) {
        const struct sxt_linker_map_piece *piece = &index->map->pieces[i];
        bool is_guessed = piece->kind == SXT_PIECE_MERGED_CONSTANTS && (piece->flags & SXT_PIECE_GUESSED) != 0;
        if (piece->kind == SXT_PIECE_MERGED_STRINGS || is_guessed)
            add_texts(index, elf, piece->address, piece->size, sxt_measure_width_of(piece->input_section), &left);
    }
    for (size_t i = 1; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) && (section->flags & SHF_MERGE) && (section->flags & SHF_STRINGS))
            add_texts(index, elf, section->address, section->size, (unsigned)section->entry_size, &left);
    }
}

void sxt_measure_index_literals(struct measure_literal_index *index, const struct sxt_elf *elf,
                                const struct sxt_linker_map *map, const char *const *folders, size_t folder_count)
{
    struct reading reading = {.index = index, .folders = folders, .folder_count = folder_count};
    index->map = map;
    sxt_buffer_init(&reading.path, (size_t)1 << 16);
    reading.is_object = calloc(map->strings.count + (size_t)1, sizeof *reading.is_object);
    bool is_open = sxt_strings_init(&index->texts, 0, NULL) == SXT_OK &&
                   sxt_strings_init(&reading.opened, 0, NULL) == SXT_OK && reading.is_object != NULL;
    index->no_memory |= !is_open;
    if (is_open)
        add_binary(index, elf);
    for (size_t i = 0; is_open && i < map->piece_count; i++)
        reading.is_object[map->pieces[i].object] = map->pieces[i].object != 0;
    for (uint32_t i = 1; is_open && index->texts.count > 1 && i < map->strings.count && !index->no_memory; i++)
        if (reading.is_object[i])
            read_object(&reading, i);
    sxt_strings_free(&reading.opened);
    sxt_buffer_free(&reading.path);
    free(reading.is_object);
}

void sxt_measure_free_literal_index(struct measure_literal_index *index)
{
    sxt_strings_free(&index->texts);
    free(index->first);
    free(index->uses);
}

/* The key of a literal is its width and its text; it is put together in a buffer of the caller's. */
static void put_key(struct sxt_buffer *key, sxt_string text, unsigned width)
{
    sxt_buffer_clear(key);
    sxt_buffer_u8(key, (uint8_t)('0' + width));
    sxt_buffer_append(key, text.data, text.size);
}

uint32_t sxt_measure_find_literal(struct measure_literal_index *index, sxt_string text, unsigned width)
{
    char small[256];
    if (index->map == NULL)
        return SXT_STRINGS_FULL;
    if (text.size < sizeof small) {
        small[0] = (char)('0' + width);
        memcpy(small + 1, text.data, text.size);
        return sxt_strings_find(&index->texts, small, text.size + 1);
    }
    struct sxt_buffer key;
    sxt_buffer_init(&key, PTRDIFF_MAX);
    put_key(&key, text, width);
    uint32_t number = key.failed ? SXT_STRINGS_FULL : sxt_strings_find(&index->texts, (const char *)key.data, key.size);
    sxt_buffer_free(&key);
    return number;
}

/* WIDTH 0: all of them. */
static void add_texts(struct measure_literal_index *index, const struct sxt_elf *elf, uint64_t start, uint64_t size,
                      unsigned width, uint64_t *left)
{
    const uint8_t *bytes = size <= *left ? sxt_elf_at_address(elf, start, size) : NULL;
    struct sxt_buffer key;
    if (bytes == NULL)
        return;
    *left -= size;
    sxt_buffer_init(&key, PTRDIFF_MAX);
    for (unsigned one = 1; one <= 4; one *= 2)
        for (uint64_t at = 0; (width == 0 || width == one) && at < size && !index->no_memory;) {
            sxt_string text = sxt_measure_next_literal(bytes, size, one, &at);
            put_key(&key, text, one);
            uint32_t number =
                key.failed ? SXT_STRINGS_FULL : sxt_strings_add(&index->texts, (const char *)key.data, key.size);
            uint32_t *first = number == SXT_STRINGS_FULL ? NULL
                                                         : sxt_array_grow(index->first, &index->first_capacity,
                                                                          (size_t)number + 1, sizeof *first);
            index->no_memory |= first == NULL;
            if (first == NULL)
                break;
            index->first = first;
            first[number] = 0;
        }
    sxt_buffer_free(&key);
}

/* "dir/a.o", or "dir/liba.a(b.o)" of a library, which is read once. */
static void read_object(struct reading *reading, uint32_t number)
{
    sxt_string name = sxt_linker_map_string(reading->index->map, number);
    struct sxt_file file;
    const char *open = memrchr(name.data, '(', name.size);
    if (open != NULL && open > name.data && name.data[name.size - 1] == ')') {
        sxt_string library = {name.data, (size_t)(open - name.data)};
        uint32_t known = reading->opened.count;
        uint32_t place = sxt_strings_add(&reading->opened, library.data, library.size);
        reading->index->no_memory |= place == SXT_STRINGS_FULL;
        if (place >= known && place != SXT_STRINGS_FULL)
            read_library(reading, library);
        return;
    }
    if (!open_object(reading, name, &file))
        return;
    read_elf(reading, number, file.data, file.size);
    sxt_file_close(&file);
}

static void read_library(struct reading *reading, sxt_string library)
{
    struct sxt_file file;
    if (!open_object(reading, library, &file))
        return;
    struct sxt_ar ar;
    struct sxt_ar_member member;
    sxt_ar_open(&ar, file.data, file.size);
    bool more = sxt_ar_is(file.data, file.size);
    while (more && sxt_ar_next(&ar, &member, NULL) == SXT_OK && member.name.data != NULL) {
        sxt_buffer_clear(&reading->path);
        sxt_buffer_append(&reading->path, library.data, library.size);
        sxt_buffer_u8(&reading->path, '(');
        sxt_buffer_append(&reading->path, member.name.data, member.name.size);
        sxt_buffer_u8(&reading->path, ')');
        reading->index->no_memory |= reading->path.memory_was_short;
        uint32_t number = reading->path.failed ? SXT_STRINGS_FULL
                                               : sxt_strings_find(&reading->index->map->strings,
                                                                  (const char *)reading->path.data, reading->path.size);
        if (number != SXT_STRINGS_FULL && reading->is_object[number] && member.data != NULL)
            read_elf(reading, number, member.data, member.size);
    }
    sxt_file_close(&file);
}

/* Adds a use of every literal that the binary has too. */
static void add_uses(struct measure_literal_index *index, uint32_t object, const uint8_t *bytes, uint64_t size,
                     unsigned width)
{
    for (uint64_t at = 0; at < size && !index->no_memory;) {
        sxt_string text = sxt_measure_next_literal(bytes, size, width, &at);
        uint32_t number = sxt_measure_find_literal(index, text, width);
        if (number == SXT_STRINGS_FULL)
            continue;
        uint32_t last = index->first[number];
        if (last != 0 && index->uses[last - 1].object == object)
            continue;
        struct measure_literal_use *uses =
            sxt_array_grow(index->uses, &index->use_capacity, index->use_count + 1, sizeof *uses);
        index->no_memory |= uses == NULL || index->use_count >= UINT32_MAX - 1;
        if (index->no_memory)
            return;
        index->uses = uses;
        uses[index->use_count] = (struct measure_literal_use){object, last};
        index->first[number] = (uint32_t)++index->use_count;
    }
}

static void read_elf(struct reading *reading, uint32_t number, const uint8_t *data, size_t size)
{
    struct sxt_elf elf;
    int status =
        sxt_elf_is(data, size) ? sxt_elf_open(&elf, data, size, SXT_MEASURE_INFLATE_LIMIT, NULL) : SXT_ERROR_FORMAT;
    reading->index->no_memory |= status == SXT_ERROR_MEMORY;
    if (status != SXT_OK)
        return;
    for (size_t i = 1; i < elf.section_count; i++) {
        const struct sxt_elf_section *section = &elf.sections[i];
        struct sxt_elf_bytes bytes;
        unsigned width = section->entry_size > 1 ? (unsigned)section->entry_size : 1;
        bool has_literals = (section->flags & SHF_ALLOC) && (section->flags & SHF_MERGE) &&
                            (section->flags & SHF_STRINGS) && (width == 1 || width == 2 || width == 4);
        status = has_literals ? sxt_elf_section_bytes(&elf, section, &bytes, NULL) : SXT_ERROR_FORMAT;
        reading->index->no_memory |= status == SXT_ERROR_MEMORY;
        if (status == SXT_OK)
            add_uses(reading->index, number, bytes.data, bytes.size, width);
    }
    reading->index->has_objects = true;
    sxt_elf_close(&elf);
}

/* Paths in a map are relative to where the linker ran: tried are the current folder and those of the map and binary. */
static bool open_object(struct reading *reading, sxt_string name, struct sxt_file *file)
{
    bool is_absolute = name.size > 0 && name.data[0] == '/';
    for (size_t i = 0; i < (is_absolute ? 1 : reading->folder_count); i++) {
        sxt_buffer_clear(&reading->path);
        if (!is_absolute && reading->folders[i][0] != 0)
            sxt_buffer_print(&reading->path, "%s/", reading->folders[i]);
        sxt_buffer_append(&reading->path, name.data, name.size);
        sxt_buffer_u8(&reading->path, 0);
        reading->index->no_memory |= reading->path.memory_was_short;
        if (reading->path.failed || memchr(name.data, 0, name.size) != NULL)
            return false;
        const char *path = (const char *)reading->path.data;
        struct stat of_file;
        if (stat(path, &of_file) != 0 || !S_ISREG(of_file.st_mode))
            continue;
        int status = sxt_file_open(file, path, NULL);
        reading->index->no_memory |= status == SXT_ERROR_MEMORY;
        if (status == SXT_OK)
            return true;
    }
    return false;
}
