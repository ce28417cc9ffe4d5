/*
 * merge.c: makes one archive of a complete set of parts.
 *
 * Ranges become a Lidia archive and one symbfile. Return pads become a Lidia archive whose rows have one byte, and one
 * symbfile. What is made depends only on the parts: two servers that merge the same set write the same bytes under the
 * same names.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"
#include "lidia/lidia.h"
#include "symbfile/symbfile.h"
#include "symbols/symbols.h"

/* The rows of a pad in the model, in the order of reading. */
struct pad {
    uint64_t address;
    size_t first, count;
};

struct merge {
    struct sxt_catalog *catalog;
    const char *tenant, *id;
    const struct sxt_catalog_listing *listing;
    const struct sxt_catalog_set *set;
    struct sxt_symbols *symbols;
    struct pad *pads;
    size_t pad_count, pad_capacity;
    struct sxt_catalog_entry entry;
    struct sxt_arena arena;
};

/* --- reading the parts --- */

/* A part that is read; the model that it becomes has a limit. */
struct reading {
    struct merge *merge;
    struct sxt_file file;
    size_t at;
};

static int check_size(const struct merge *merge, sxt_error *error)
{
    const struct sxt_symbols *symbols = merge->symbols;
    uint64_t limit = merge->catalog->options.worker_memory;
    uint64_t size = symbols->range_capacity * sizeof *symbols->ranges +
                    symbols->line_capacity * sizeof *symbols->lines + symbols->strings.bytes +
                    symbols->strings.capacity * UINT64_C(28) + merge->pad_capacity * sizeof *merge->pads;
    if (size <= limit / 2)
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "the symbols take more than %llu MiB of memory",
                    (unsigned long long)(limit >> 20));
}

static int read_block(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    struct reading *reading = context;
    size_t left = reading->file.size - reading->at;
    *got = size < left ? size : left;
    memcpy(to, reading->file.data + reading->at, *got);
    reading->at += *got;
    return check_size(reading->merge, error);
}

static bool add_pad(struct merge *merge, const struct sxt_symbfile_pad *pad)
{
    size_t first = merge->symbols->range_count;
    sxt_archive_add_pad(merge->symbols, pad);
    void *moved = sxt_array_grow(merge->pads, &merge->pad_capacity, merge->pad_count + 1, sizeof *merge->pads);
    if (moved == NULL || merge->symbols->failed)
        return false;
    merge->pads = moved;
    merge->pads[merge->pad_count++] = (struct pad){pad->address, first, merge->symbols->range_count - first};
    return true;
}

static int read_pads(struct merge *merge, struct sxt_symbfile_reader *reader, sxt_error *error)
{
    struct sxt_symbfile_record record;
    int status;
    while ((status = sxt_symbfile_read(reader, &record, error)) == SXT_OK && record.kind != SXT_SYMBFILE_END)
        if (record.kind == SXT_SYMBFILE_PAD && !add_pad(merge, &record.pad))
            return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading return pads");
    if (status == SXT_OK && !sxt_module_merge(&merge->symbols->module, sxt_symbfile_module(reader)))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading return pads");
    return status;
}

static int read_part(struct merge *merge, const struct sxt_catalog_part_name *part, sxt_error *error)
{
    char name[160], key[SXT_CATALOG_KEY_ROOM];
    struct sxt_store_object *object = NULL;
    struct reading reading = {.merge = merge};
    struct sxt_symbfile_reader *reader = NULL;
    sxt_catalog_print_part(name, sizeof name, part);
    int status = sxt_catalog_key(key, merge->tenant, merge->id, error, "%s", name);
    if (status == SXT_OK)
        status = sxt_store_open_object(merge->catalog->store, key, &object, error);
    if (status == SXT_OK)
        status = sxt_store_map(object, &reading.file, error);
    sxt_store_close_object(&object);
    if (status != SXT_OK)
        return status;
    status = sxt_symbfile_reader_open_stream(&reader, read_block, &reading, error);
    if (status == SXT_OK)
        status = merge->set->kind == SXT_CATALOG_PADS ? read_pads(merge, reader, error)
                                                      : sxt_symbfile_read_ranges(reader, merge->symbols, error);
    sxt_symbfile_reader_close(&reader);
    sxt_file_close(&reading.file);
    return status;
}

/* --- return pads --- */

static int compare_pads(const void *left, const void *right)
{
    const struct pad *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* Puts the rows in order of address. Of several pads at one address the last one counts. */
static int order_pads(struct merge *merge, sxt_error *error)
{
    struct sxt_symbols *symbols = merge->symbols;
    if (merge->pad_count == 0)
        return SXT_OK;
    struct sxt_model_range *ranges = malloc((symbols->range_count + 1) * sizeof *ranges);
    if (ranges == NULL)
        return sxt_fail_memory(error, symbols->range_count * sizeof *ranges);
    qsort(merge->pads, merge->pad_count, sizeof *merge->pads, compare_pads);
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < merge->pad_count; i++) {
        struct pad pad = merge->pads[i];
        if (i + 1 < merge->pad_count && merge->pads[i + 1].address == pad.address)
            continue;
        memcpy(ranges + count, symbols->ranges + pad.first, pad.count * sizeof *ranges);
        pad.first = count;
        count += pad.count;
        merge->pads[kept++] = pad;
    }
    free(symbols->ranges);
    symbols->ranges = ranges;
    symbols->range_capacity = symbols->range_count + 1;
    symbols->range_count = count;
    merge->pad_count = kept;
    return SXT_OK;
}

static sxt_string optional(const struct sxt_symbols *symbols, uint32_t number)
{
    return number != 0 ? sxt_symbols_view(symbols, number) : (sxt_string){NULL, 0};
}

static int write_pads(void *context, struct sxt_symbfile_writer *writer, sxt_error *error)
{
    struct merge *merge = context;
    const struct sxt_symbols *symbols = merge->symbols;
    const struct sxt_path_maps no_maps = {0};
    struct sxt_symbfile_frame *frames = malloc(SXT_SYMBFILE_FRAMES_MAX * sizeof *frames);
    if (frames == NULL)
        return sxt_fail_memory(error, SXT_SYMBFILE_FRAMES_MAX * sizeof *frames);
    int status = sxt_symbfile_add_module(writer, &symbols->module, &no_maps, error);
    for (size_t i = 0; i < merge->pad_count && status == SXT_OK; i++) {
        const struct pad *pad = &merge->pads[i];
        for (size_t k = 0; k < pad->count; k++) {
            const struct sxt_model_range *row = &symbols->ranges[pad->first + k];
            uint32_t line = row->line_count > 0 ? symbols->lines[row->first_line].line : 0;
            frames[k] =
                (struct sxt_symbfile_frame){sxt_symbols_view(symbols, row->function), optional(symbols, row->file),
                                            k + 1 < pad->count ? row[1].call_line : line};
        }
        status = sxt_symbfile_add_pad(writer, &(struct sxt_symbfile_pad){pad->address, frames, pad->count}, error);
    }
    free(frames);
    return status;
}

/* --- writing --- */

static int put_lidia(struct merge *merge, enum sxt_catalog_blob_kind kind, sxt_error *error)
{
    const struct sxt_lidia_settings settings = {.module = true, .threads = 1};
    struct sxt_lidia_counts counts = {0};
    uint8_t *image;
    size_t size;
    int status = sxt_lidia_encode(merge->symbols, &settings, &image, &size, &counts, error);
    if (status != SXT_OK)
        return status;
    status = sxt_catalog_put_blob(merge->catalog, image, size, &merge->entry.blobs[kind], error);
    free(image);
    if (kind == SXT_BLOB_LIDIA) {
        merge->entry.functions = counts.functions;
        merge->entry.inlines = counts.inlines;
        merge->entry.lines = counts.lines;
    }
    return status;
}

static int put_symbfile(struct merge *merge, enum sxt_catalog_blob_kind kind, sxt_error *error)
{
    struct sxt_store_writing *writing;
    int status = sxt_store_write_begin(merge->catalog->store, &writing, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_symbfile_target target = {.fd = sxt_store_write_descriptor(writing)};
    uint64_t size;
    if (kind == SXT_BLOB_RETURNPADS) {
        status = sxt_symbfile_save(&target, write_pads, merge, &size, error);
    } else {
        sxt_symbfile_options options;
        sxt_symbfile_options_init(&options);
        options.mangled = true;
        options.threads = 1;
        status = sxt_symbfile_save_ranges(merge->symbols, &options, &target, NULL, error);
    }
    if (status == SXT_OK)
        return sxt_catalog_put_blob_writing(merge->catalog, &writing, &merge->entry.blobs[kind], error);
    sxt_store_write_abandon(&writing);
    return status;
}

/* The parts that the entry replaces: those of its line, up to its time. */
static bool is_replaced(const struct merge *merge, const struct sxt_catalog_part_name *part)
{
    return part->kind == merge->set->kind && part->generation == merge->set->generation &&
           part->parts == merge->set->parts && part->time <= merge->set->time;
}

static int put_part_names(struct merge *merge, sxt_error *error)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    char name[160];
    for (size_t i = 0; i < merge->listing->part_count; i++) {
        if (!is_replaced(merge, &merge->listing->parts[i]))
            continue;
        sxt_catalog_print_part(name, sizeof name, &merge->listing->parts[i]);
        sxt_buffer_print(&text, "%s\n", name);
    }
    int status = sxt_buffer_status(&text, error);
    if (status == SXT_OK)
        status = sxt_catalog_put_blob(merge->catalog, text.data, text.size, &merge->entry.blobs[SXT_BLOB_PARTS], error);
    sxt_buffer_free(&text);
    return status;
}

/* Best effort: what stays is ignored, and swept later. */
static void remove_parts(const struct merge *merge)
{
    char name[160], key[SXT_CATALOG_KEY_ROOM];
    for (size_t i = 0; i < merge->listing->part_count; i++) {
        if (!is_replaced(merge, &merge->listing->parts[i]))
            continue;
        sxt_catalog_print_part(name, sizeof name, &merge->listing->parts[i]);
        if (sxt_catalog_key(key, merge->tenant, merge->id, NULL, "%s", name) == SXT_OK)
            sxt_store_remove(merge->catalog->store, key, NULL);
    }
}

static bool has_function(const struct sxt_symbols *symbols, const char *name)
{
    return sxt_strings_find(&symbols->strings, name, strlen(name)) != SXT_STRINGS_FULL;
}

/* What the entry says besides its blobs. */
static void describe(struct merge *merge)
{
    const struct sxt_symbols *symbols = merge->symbols;
    const struct sxt_model_module *module = &symbols->module;
    struct sxt_catalog_entry *entry = &merge->entry;
    struct sxt_catalog_coverage coverage = {0};
    for (size_t i = 0; i < symbols->range_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        coverage.functions += range->depth == 0;
        coverage.inlines += range->depth > 0;
        coverage.with_lines += range->depth == 0 && range->line_count > 0;
        /* A pad has its line at the innermost frame, or none. */
        coverage.with_lines += merge->set->kind == SXT_CATALOG_PADS && range->depth == 1 && range->call_line > 0;
    }
    entry->has_go = has_function(symbols, "runtime.goexit") || has_function(symbols, "runtime.goexit.abi0");
    entry->has_lines = coverage.with_lines > 0;
    entry->has_inlines = coverage.inlines > 0;
    entry->has_symtab = coverage.functions > 0;
    entry->has_dwarf = entry->has_lines && !entry->has_go;
    entry->pads = merge->pad_count;
    entry->name.quality =
        sxt_catalog_push_quality(coverage.functions, coverage.with_lines, coverage.inlines, entry->has_go);
    entry->module_name = sxt_catalog_base_name(module->path, &merge->arena);
    entry->arch = module->arch[0] != 0 ? module->arch : NULL;
    char hex[2 * SXT_BUILD_ID_MAX + 1];
    sxt_hex_encode(hex, module->build_id, module->build_id_size);
    sxt_catalog_parse_build_id(sxt_string_of(hex), &entry->build_id);
}

/* The FileID under which the parts were sent is that of the binary, if the parts themselves have none. */
static void fill_module(struct merge *merge)
{
    struct sxt_model_module *module = &merge->symbols->module;
    if (merge->id[0] != 'f' || module->has_file_id || module->is_ambiguous)
        return;
    for (size_t i = 0; i < SXT_FILE_ID_SIZE; i++)
        module->file_id[i] = (uint8_t)(sxt_hex_digit(merge->id[2 + 2 * i]) << 4 | sxt_hex_digit(merge->id[3 + 2 * i]));
    module->has_file_id = true;
}

static int make(struct merge *merge, sxt_error *error)
{
    int status = SXT_OK;
    for (uint32_t i = 0; i < merge->set->parts && status == SXT_OK; i++)
        status = read_part(merge, merge->set->items[i], error);
    if (status != SXT_OK)
        return status;
    fill_module(merge);
    bool is_pads = merge->set->kind == SXT_CATALOG_PADS;
    status = is_pads ? order_pads(merge, error) : sxt_symbols_finish_sorted(merge->symbols, error);
    if (status == SXT_OK)
        status = put_lidia(merge, is_pads ? SXT_BLOB_PADS : SXT_BLOB_LIDIA, error);
    if (status == SXT_OK)
        status = put_symbfile(merge, is_pads ? SXT_BLOB_RETURNPADS : SXT_BLOB_SYMBFILE, error);
    if (status == SXT_OK)
        status = put_part_names(merge, error);
    if (status == SXT_OK)
        describe(merge);
    return status;
}

int sxt_catalog_merge(struct sxt_catalog *catalog, const char *tenant, const char *id,
                      const struct sxt_catalog_listing *listing, const struct sxt_catalog_set *set, sxt_error *error)
{
    struct merge merge = {.catalog = catalog, .tenant = tenant, .id = id, .listing = listing, .set = set};
    sxt_arena_init(&merge.arena, 0, sxt_arena_separate_default);
    merge.entry = (struct sxt_catalog_entry){
        .name = {.kind = set->kind == SXT_CATALOG_PADS ? SXT_ENTRY_PADS : SXT_ENTRY_RANGES,
                 .time = set->time,
                 .parts = set->parts,
                 .generation = set->generation},
        .arena = &merge.arena,
    };
    memcpy(id[0] == 'f' ? merge.entry.file_id.text : merge.entry.build_id.text, id, strlen(id) + 1);
    int status = sxt_symbols_new(&merge.symbols, error);
    if (status == SXT_OK)
        status = make(&merge, error);
    if (status == SXT_OK)
        status = sxt_catalog_put_entry(catalog, tenant, id, &merge.entry, error);
    sxt_symbols_free(&merge.symbols);
    free(merge.pads);
    if (status == SXT_OK)
        remove_parts(&merge);
    sxt_arena_free(&merge.arena);
    return status;
}
