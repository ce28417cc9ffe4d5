/* package_resources.c: the symbols of resource tables and resource packs. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "measure/package.h"
#include "source/arsc.h"
#include "source/pak.h"

static sxt_string text_of(const struct sxt_buffer *buffer)
{
    return (sxt_string){buffer->size > 0 ? (const char *)buffer->data : "", buffer->size};
}

/* --- resources.arsc --- */

struct table_reading {
    struct package *package;
    sxt_string entry; /* its name; in the package's text */
    uint32_t segment;
    uint64_t chunks; /* bytes */
};

static void add_part(const struct table_reading *reading, sxt_string path, sxt_string name, const char *suffix,
                     uint64_t size)
{
    struct package *package = reading->package;
    struct measure_maker *maker = package->maker;
    struct sxt_buffer *text = &package->path_text;
    sxt_buffer_clear(text);
    sxt_buffer_append(text, name.data, name.size);
    sxt_buffer_append(text, suffix, strlen(suffix));
    uint32_t number = sxt_measure_maker_name(maker, text_of(text));
    sxt_buffer_clear(text);
    sxt_buffer_append(text, "$APK/", 5);
    sxt_buffer_append(text, reading->entry.data, reading->entry.size);
    if (path.size > 0) {
        sxt_buffer_u8(text, '/');
        sxt_buffer_append(text, path.data, path.size);
    }
    sxt_measure_maker_add(maker, reading->segment, 0, size, number,
                          sxt_measure_maker_path(maker, (sxt_string){"", 0}, text_of(text)), 0, false);
}

static void add_chunk(void *data, sxt_string path, sxt_string name, uint64_t size, uint64_t placeholders)
{
    struct table_reading *reading = data;
    reading->chunks += size;
    add_part(reading, path, name, "", size - placeholders);
    if (placeholders > 0)
        add_part(reading, path, name, " (placeholders)", placeholders);
}

static void count_type(void *data, sxt_string name, uint64_t count)
{
    const struct table_reading *reading = data;
    sxt_measure_maker_metric(reading->package->maker, reading->package->container, reading->entry, "COUNT/", name,
                             count);
}

int sxt_measure_add_arsc(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                         sxt_error *error)
{
    struct measure_maker *maker = package->maker;
    struct table_reading reading = {.package = package, .entry = sxt_measure_entry_name(package, entry)};
    struct sxt_arsc_reader reader = {add_chunk, count_type, &reading};
    if (!sxt_arsc_is(file->data, file->size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a table of Android resources");
    reading.segment = sxt_measure_maker_segment(maker, package->container, (sxt_string){".arsc", 5});
    int status = sxt_arsc_read(file->data, file->size, &reader, error);
    if (status != SXT_OK)
        return status;
    if (file->size > reading.chunks)
        add_part(&reading, (sxt_string){"", 0}, sxt_string_of("Overhead: ARSC"), "", file->size - reading.chunks);
    sxt_measure_maker_count(maker, package->container, (sxt_string){".arsc", 5}, file->size);
    return SXT_OK;
}

/* --- resource packs --- */

enum { NOT_TRANSLATED, TRANSLATED };
static const char *const pak_sections[] = {".pak.nontranslated", ".pak.translations"};

/* Content of less than this is not worth compressing. */
#define COMPRESSIBLE_LEAST 100

struct pack_reading {
    struct package *package;
    int kind;
    uint64_t resources; /* bytes */
};

/* Would compressing the content save a tenth of it? */
static bool is_uncompressed(const uint8_t *content, uint64_t size)
{
    if (size < COMPRESSIBLE_LEAST || size > (uint64_t)1 << 30)
        return false;
    uLongf room = compressBound((uLong)size);
    Bytef *out = malloc(room);
    bool is_smaller =
        out != NULL && compress2(out, &room, content, (uLong)size, 1) == Z_OK && (double)room / (double)size < 0.9;
    free(out);
    return is_smaller;
}

static void add_resource(void *data, uint16_t id, const uint8_t *content, uint64_t size, uint64_t entry)
{
    struct pack_reading *reading = data;
    struct package *package = reading->package;
    int kind = reading->kind;
    struct package_resource *list = sxt_array_grow(package->resources[kind], &package->resource_capacity[kind],
                                                   package->resource_count[kind] + 1, sizeof *list);
    reading->resources += size + entry;
    if (list == NULL) {
        package->maker->no_memory = true;
        return;
    }
    package->resources[kind] = list;
    list[package->resource_count[kind]++] = (struct package_resource){
        .id = id, .size = size + entry, .is_uncompressed = kind == NOT_TRANSLATED && is_uncompressed(content, size)};
}

/* Packs of a language have short names ("fil.pak"), or names with a region ("en-GB.pak"). */
static bool is_translation(sxt_string name)
{
    const char *slash = name.size > 0 ? memrchr(name.data, '/', name.size) : NULL;
    size_t skipped = slash != NULL ? (size_t)(slash - name.data) + 1 : 0;
    return name.size - skipped <= 7 || memchr(name.data + skipped, '-', name.size - skipped) != NULL;
}

static sxt_string without_suffix(sxt_string name)
{
    const char *plus = name.size > 1 && name.data[name.size - 1] == '+' ? memrchr(name.data, '+', name.size - 1) : NULL;
    return plus != NULL ? (sxt_string){name.data, (size_t)(plus - name.data)} : name;
}

int sxt_measure_add_pak(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                        sxt_error *error)
{
    struct measure_maker *maker = package->maker;
    sxt_string name = without_suffix(sxt_measure_entry_name(package, entry));
    struct pack_reading reading = {.package = package, .kind = is_translation(name) ? TRANSLATED : NOT_TRANSLATED};
    struct sxt_pak_reader reader = {add_resource, &reading};
    int status = sxt_pak_read(file->data, file->size, &reader, error);
    if (status != SXT_OK)
        return status;
    sxt_string section = sxt_string_of(pak_sections[reading.kind]);
    sxt_buffer_clear(&package->path_text);
    sxt_buffer_append(&package->path_text, "Overhead: ", 10);
    sxt_buffer_append(&package->path_text, name.data, name.size);
    sxt_measure_maker_add(maker, sxt_measure_maker_segment(maker, package->container, section), 0,
                          file->size - reading.resources, sxt_measure_maker_name(maker, text_of(&package->path_text)),
                          sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}), 0, false);
    sxt_measure_maker_count(maker, package->container, section, file->size);
    return SXT_OK;
}

static int by_id(const void *a, const void *b)
{
    const struct package_resource *first = a;
    const struct package_resource *second = b;
    return first->id < second->id ? -1 : first->id > second->id;
}

/* A resource is in the pack of each language, and its aliases are counted with it: all of this is one symbol. */
void sxt_measure_finish_paks(struct package *package)
{
    struct measure_maker *maker = package->maker;
    for (int kind = 0; kind < 2; kind++) {
        struct package_resource *list = package->resources[kind];
        size_t count = package->resource_count[kind];
        sxt_string section = sxt_string_of(pak_sections[kind]);
        if (count > 1)
            qsort(list, count, sizeof *list, by_id);
        for (size_t first = 0, end; first < count && !maker->no_memory; first = end) {
            struct package_resource sum = {.id = list[first].id};
            for (end = first; end < count && list[end].id == sum.id; end++) {
                sum.size += list[end].size;
                sum.is_uncompressed |= list[end].is_uncompressed;
            }
            sxt_buffer_clear(&package->text);
            sxt_buffer_print(&package->text, "pak resource %u", sum.id);
            sxt_measure_maker_add(maker, sxt_measure_maker_segment(maker, package->container, section), sum.id,
                                  sum.size, sxt_measure_maker_name(maker, text_of(&package->text)),
                                  sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}),
                                  sum.is_uncompressed ? SXT_SIZE_UNCOMPRESSED : 0, false);
        }
    }
}
