/* extract.c: the symbols of ELF files, read by a worker, as blobs of an entry. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

#define INPUT "/proc/self/fd/3"
#define DEBUG "/proc/self/fd/4"

/* Runs the worker; what it writes becomes a blob. */
static int run(struct sxt_catalog *catalog, const char *const *arguments, const int *inputs, size_t input_count,
               struct sxt_catalog_blob *out, sxt_error *error)
{
    struct sxt_store_writing *writing;
    int status = sxt_store_write_begin(catalog->store, &writing, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_catalog_work work = {.arguments = arguments,
                                          .inputs = inputs,
                                          .input_count = input_count,
                                          .output = sxt_store_write_descriptor(writing)};
    status = sxt_catalog_run(&catalog->options, &work, error);
    if (status == SXT_OK)
        return sxt_catalog_put_blob_writing(catalog, &writing, out, error);
    sxt_store_write_abandon(&writing);
    return status;
}

static int extract(struct sxt_catalog *catalog, const char *format, const int inputs[2], struct sxt_catalog_blob *out,
                   sxt_error *error)
{
    /* The name that the file has here says nothing about it. */
    const char *const alone[] = {"archive", "-q", "--no-debug-search", "--path-map", INPUT "=", "-f", format, "-o", "-",
                                 INPUT,     NULL};
    const char *const with_debug[] = {
        "archive", "-q", "--no-debug-search", "--path-map", INPUT "=", "--debug", DEBUG, "-f", format, "-o", "-",
        INPUT,     NULL};
    return run(catalog, inputs[1] >= 0 ? with_debug : alone, inputs, inputs[1] >= 0 ? 2 : 1, out, error);
}

/* --- what was found --- */

static bool note_name(void *data, const sxt_named *named)
{
    (void)named;
    *(bool *)data = true;
    return false;
}

static int describe(const sxt_archive *archive, struct sxt_catalog_entry *entry, sxt_error *error)
{
    struct sxt_catalog_coverage coverage = {.has_symtab = entry->has_symtab, .has_dwarf = entry->has_dwarf};
    sxt_range range;
    for (size_t i = 0, count = sxt_archive_row_count(archive); i < count; i++) {
        if (sxt_archive_row(archive, i, &range) != SXT_OK)
            break;
        coverage.functions += range.depth == 0;
        coverage.inlines += range.depth > 0;
        coverage.with_lines += range.depth == 0 && range.line_count > 0;
    }
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(archive, &info);
    entry->functions = info.functions;
    entry->inlines = info.inlines;
    entry->lines = info.lines;
    entry->has_lines = coverage.with_lines > 0;
    entry->has_inlines = coverage.inlines > 0;
    entry->name.quality = sxt_catalog_quality(&coverage);
    return sxt_archive_find_name(archive, "runtime.goexit", note_name, &entry->has_go, NULL, error);
}

static int describe_blob(struct sxt_catalog *catalog, struct sxt_catalog_entry *entry, sxt_error *error)
{
    struct sxt_catalog_opened *opened;
    int status = sxt_catalog_open_archive(catalog, &entry->blobs[SXT_BLOB_LIDIA], true, &opened, error);
    if (status != SXT_OK)
        return status;
    status = describe(opened->archive, entry, error);
    sxt_catalog_close_archive(catalog, &opened);
    return status;
}

/* The ranges as symbfile, from the archive. */
static int convert(struct sxt_catalog *catalog, struct sxt_catalog_entry *entry, sxt_error *error)
{
    static const char *const arguments[] = {"convert", "-q", "-f", "symbfile", "-o", "-", INPUT, NULL};
    struct sxt_store_object *object;
    struct sxt_store_writing *copy = NULL;
    int fd;
    int status = sxt_catalog_open_blob(catalog, &entry->blobs[SXT_BLOB_LIDIA], &object, error);
    if (status == SXT_OK)
        status = sxt_catalog_local_file(catalog, object, &copy, &fd, error);
    if (status == SXT_OK)
        status = run(catalog, arguments, &fd, 1, &entry->blobs[SXT_BLOB_SYMBFILE], error);
    sxt_store_write_abandon(&copy);
    sxt_store_close_object(&object);
    return status;
}

bool sxt_catalog_is_about_file(const sxt_error *error)
{
    return error->code == SXT_ERROR_FORMAT || error->code == SXT_ERROR_UNSUPPORTED ||
           (error->code == SXT_ERROR_LIMIT && error->reason == SXT_REASON_INFLATE_LIMIT);
}

/* Return pads are known for some machines only: a file without them is as good. */
static int extract_pads(struct sxt_catalog *catalog, const int inputs[2], struct sxt_catalog_entry *entry,
                        sxt_error *error)
{
    sxt_error problem;
    int status = extract(catalog, "returnpads", inputs, &entry->blobs[SXT_BLOB_RETURNPADS], &problem);
    if (status == SXT_OK || sxt_catalog_is_about_file(&problem))
        return SXT_OK;
    if (error != NULL)
        *error = problem;
    return status;
}

/* A debug file has no code, and a file without functions has no ranges to download. */
int sxt_catalog_extract(struct sxt_catalog *catalog, int file, int debug_file, bool has_code,
                        struct sxt_catalog_entry *entry, sxt_error *error)
{
    const int inputs[2] = {file, debug_file};
    pthread_mutex_lock(&catalog->extracting);
    int status = extract(catalog, "lidia", inputs, &entry->blobs[SXT_BLOB_LIDIA], error);
    if (status == SXT_OK)
        status = describe_blob(catalog, entry, error);
    if (status == SXT_OK && entry->functions > 0) {
        status = convert(catalog, entry, error);
        if (status == SXT_OK && has_code)
            status = extract_pads(catalog, inputs, entry, error);
    }
    pthread_mutex_unlock(&catalog->extracting);
    return status;
}
