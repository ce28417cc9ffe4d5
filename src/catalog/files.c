/*
 * files.c: ELF files that are uploaded.
 *
 * An executable is kept under its FileID, a debug file under its build ID; the two ids of an executable are joined.
 * Each gives an entry with what can be read from it alone. When both are there, whoever added the second one reads them
 * together, and adds a third entry, which is at least as good. So the order in which they arrive does not matter.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/inflate.h"
#include "base/string.h"
#include "catalog/private.h"

struct adding {
    struct sxt_catalog *catalog;
    const char *tenant;
    struct sxt_catalog_added *added;
    sxt_binary binary;
    struct sxt_catalog_blob file;
    struct sxt_catalog_facts facts;
    const char *name; /* that the client gave; may be NULL */
    bool is_upstream;
    struct sxt_arena arena;
};

/* --- the file alone --- */

static int read_facts(struct adding *adding, int fd, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open_fd(&file, fd, error);
    if (status != SXT_OK)
        return status;
    status = sxt_catalog_read_facts(file.data, file.size, &adding->arena, &adding->facts, error);
    sxt_file_close(&file);
    return status;
}

static int identify(struct adding *adding, struct sxt_store_writing *writing, sxt_error *error)
{
    char path[64];
    uint8_t head[16];
    int fd = sxt_store_write_descriptor(writing);
    ssize_t size = pread(fd, head, sizeof head, 0);
    if (size > 0 && sxt_compression_of(head, (size_t)size) != SXT_COMPRESSION_NONE)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "compressed with %s, not an ELF file",
                        sxt_compression_name(sxt_compression_of(head, (size_t)size)));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    adding->binary = (sxt_binary){.struct_size = sizeof adding->binary};
    int status = sxt_identify_binary(path, &adding->binary, error);
    if (status != SXT_OK)
        return status;
    adding->added->is_debug_file = !adding->binary.has_code;
    sxt_catalog_parse_build_id(sxt_string_of(adding->binary.build_id), &adding->added->build_id);
    if (adding->binary.has_code)
        sxt_catalog_parse_file_id(sxt_string_of(adding->binary.file_id), &adding->added->file_id);
    return read_facts(adding, fd, error);
}

/* 32 digits may be a build ID although they were taken for a FileID. */
static int check_id(const struct adding *adding, const struct sxt_catalog_id *id, sxt_error *error)
{
    const struct sxt_catalog_added *added = adding->added;
    const char *digits = id->text[0] != 0 ? id->text + 2 : "";
    if (*digits != 0 && (strcmp(added->file_id.text, id->text) == 0 ||
                         (added->build_id.text[0] != 0 && strcmp(added->build_id.text + 2, digits) == 0)))
        return SXT_OK;
    const char *build_id = adding->binary.build_id;
    if (added->is_debug_file)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "the file is not the one that the id names: it is a debug file with %s%s",
                        *build_id != 0 ? "build ID " : "no build ID", build_id);
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                    "the file is not the one that the id names: it has FileID %s, %s%s", adding->binary.file_id,
                    *build_id != 0 ? "build ID " : "no build ID", build_id);
}

/* The id under which the entry of the file is kept. */
static const char *home_of(const struct adding *adding)
{
    return adding->added->is_debug_file ? adding->added->build_id.text : adding->added->file_id.text;
}

static enum sxt_catalog_blob_kind blob_of(const struct adding *adding)
{
    return adding->added->is_debug_file ? SXT_BLOB_DEBUGINFO : SXT_BLOB_EXECUTABLE;
}

/* Is there an entry with this very file? */
static int find_same_file(struct adding *adding, const struct sxt_catalog_listing *listing, sxt_error *error)
{
    char kind = adding->added->is_debug_file ? SXT_ENTRY_DEBUG : SXT_ENTRY_EXECUTABLE;
    for (size_t i = 0; i < listing->entry_count && !adding->added->was_there; i++) {
        struct sxt_catalog_entry entry;
        if (listing->entries[i].kind != kind)
            continue;
        int status = sxt_catalog_get_entry(adding->catalog, adding->tenant, home_of(adding), &listing->entries[i],
                                           &adding->arena, &entry, error);
        if (status == SXT_OK)
            adding->added->was_there = strcmp(entry.blobs[blob_of(adding)].hash, adding->file.hash) == 0;
        else if (status != SXT_ERROR_NOT_FOUND && status != SXT_ERROR_FORMAT && status != SXT_ERROR_UNSUPPORTED)
            return status;
    }
    return SXT_OK;
}

static const char *name_of(struct adding *adding)
{
    const char *given = sxt_catalog_file_name(sxt_string_of(adding->name), &adding->arena);
    return given != NULL ? given : adding->facts.name;
}

static void begin_entry(struct adding *adding, struct sxt_catalog_entry *entry, char kind, int64_t time)
{
    *entry = (struct sxt_catalog_entry){
        .name = {.kind = kind, .time = time},
        .file_id = adding->added->file_id,
        .build_id = adding->added->build_id,
        .arch = adding->binary.arch,
        .module_name = name_of(adding),
        .has_symtab = adding->binary.has_symbols,
        .has_dwarf = adding->binary.has_dwarf,
        .is_upstream = adding->is_upstream,
    };
}

/* Reads the symbols, keeps the file, and then adds the entry. */
static int add_new(struct adding *adding, struct sxt_store_writing **writing, int64_t after, sxt_error *error)
{
    struct sxt_catalog_entry entry;
    char kind = adding->added->is_debug_file ? SXT_ENTRY_DEBUG : SXT_ENTRY_EXECUTABLE;
    begin_entry(adding, &entry, kind, sxt_catalog_new_time(adding->catalog, after));
    int status = sxt_catalog_extract(adding->catalog, sxt_store_write_descriptor(*writing), -1, adding->binary.has_code,
                                     &entry, error);
    if (status == SXT_OK)
        status = sxt_catalog_put_blob_writing(adding->catalog, writing, &entry.blobs[blob_of(adding)], error);
    if (status == SXT_OK)
        status = sxt_catalog_put_entry(adding->catalog, adding->tenant, home_of(adding), &entry, error);
    return status;
}

/* --- an executable with its debug file --- */

/* The entry of KIND with the best quality, read. False if there is none. */
static bool find_file(struct adding *adding, const struct sxt_catalog_closure *closure, char kind,
                      struct sxt_catalog_entry *out)
{
    const struct sxt_catalog_entry_name *best = NULL;
    for (size_t i = 0; i < closure->count; i++)
        for (size_t k = 0; k < closure->list[i].listing.entry_count; k++) {
            const struct sxt_catalog_entry_name *name = &closure->list[i].listing.entries[k];
            struct sxt_catalog_entry entry;
            bool is_better = best == NULL || name->quality > best->quality ||
                             (name->quality == best->quality && name->time > best->time);
            if (name->kind != kind || !is_better ||
                sxt_catalog_get_entry(adding->catalog, adding->tenant, closure->list[i].id.text, name, &adding->arena,
                                      &entry, NULL) != SXT_OK)
                continue;
            best = name;
            *out = entry;
        }
    return best != NULL;
}

static int extract_both(struct adding *adding, const struct sxt_catalog_entry *executable,
                        const struct sxt_catalog_entry *debug_file, struct sxt_catalog_entry *entry, sxt_error *error)
{
    struct sxt_store_object *objects[2] = {NULL, NULL};
    struct sxt_store_writing *copies[2] = {NULL, NULL};
    int files[2];
    int status = sxt_catalog_open_blob(adding->catalog, &executable->blobs[SXT_BLOB_EXECUTABLE], &objects[0], error);
    if (status == SXT_OK)
        status = sxt_catalog_open_blob(adding->catalog, &debug_file->blobs[SXT_BLOB_DEBUGINFO], &objects[1], error);
    for (int i = 0; i < 2 && status == SXT_OK; i++)
        status = sxt_catalog_local_file(adding->catalog, objects[i], &copies[i], &files[i], error);
    if (status == SXT_OK)
        status = sxt_catalog_extract(adding->catalog, files[0], files[1], true, entry, error);
    for (int i = 0; i < 2; i++) {
        sxt_store_write_abandon(&copies[i]);
        sxt_store_close_object(&objects[i]);
    }
    return status;
}

/* Reads the two files together, unless that was done already. */
static int add_both(struct adding *adding, const struct sxt_catalog_closure *closure, sxt_error *error)
{
    struct sxt_catalog_entry executable, debug_file, both, entry;
    if (!find_file(adding, closure, SXT_ENTRY_EXECUTABLE, &executable) ||
        !find_file(adding, closure, SXT_ENTRY_DEBUG, &debug_file))
        return SXT_OK;
    if (find_file(adding, closure, SXT_ENTRY_BOTH, &both) &&
        strcmp(both.blobs[SXT_BLOB_EXECUTABLE].hash, executable.blobs[SXT_BLOB_EXECUTABLE].hash) == 0 &&
        strcmp(both.blobs[SXT_BLOB_DEBUGINFO].hash, debug_file.blobs[SXT_BLOB_DEBUGINFO].hash) == 0)
        return SXT_OK;
    int64_t after = 0;
    for (size_t i = 0; i < closure->count; i++)
        if (closure->list[i].listing.last_time > after)
            after = closure->list[i].listing.last_time;
    begin_entry(adding, &entry, SXT_ENTRY_BOTH, sxt_catalog_new_time(adding->catalog, after));
    entry.file_id = executable.file_id;
    entry.arch = executable.arch;
    entry.module_name = executable.module_name != NULL ? executable.module_name : debug_file.module_name;
    entry.has_symtab = executable.has_symtab || debug_file.has_symtab;
    entry.has_dwarf = executable.has_dwarf || debug_file.has_dwarf;
    entry.blobs[SXT_BLOB_EXECUTABLE] = executable.blobs[SXT_BLOB_EXECUTABLE];
    entry.blobs[SXT_BLOB_DEBUGINFO] = debug_file.blobs[SXT_BLOB_DEBUGINFO];
    int status = extract_both(adding, &executable, &debug_file, &entry, error);
    /* The two have more functions than each alone, so a smaller share of them may have lines. */
    const unsigned qualities[] = {executable.name.quality, debug_file.name.quality};
    for (int i = 0; i < 2; i++)
        if (entry.name.quality < qualities[i])
            entry.name.quality = qualities[i];
    if (status == SXT_OK)
        status = sxt_catalog_put_entry(adding->catalog, adding->tenant, adding->added->build_id.text, &entry, error);
    return status;
}

/* What the two say together is more, but without it each answers alone. */
static int combine(struct adding *adding, sxt_error *error)
{
    struct sxt_catalog_closure closure;
    if (adding->added->build_id.text[0] == 0)
        return SXT_OK;
    int status =
        sxt_catalog_list_closure(adding->catalog, adding->tenant, adding->added->build_id.text, false, &closure, error);
    if (status == SXT_OK) {
        sxt_error problem;
        status = add_both(adding, &closure, &problem);
        if (status != SXT_OK && sxt_catalog_is_about_file(&problem))
            status = SXT_OK;
        else if (status != SXT_OK && error != NULL)
            *error = problem;
    }
    sxt_catalog_closure_free(&closure);
    return status;
}

static int link_debug_id(const struct adding *adding, sxt_error *error)
{
    const struct sxt_catalog_added *added = adding->added;
    return sxt_catalog_link_debug_id(adding->catalog, adding->tenant, &adding->facts.debug_id,
                                     added->build_id.text[0] != 0 ? &added->build_id : &added->file_id, error);
}

static int add(struct adding *adding, const struct sxt_catalog_id *id, struct sxt_store_writing **writing,
               sxt_error *error)
{
    uint8_t digest[SXT_SHA256_SIZE];
    struct sxt_catalog_listing listing = {0};
    int status = identify(adding, *writing, error);
    if (status == SXT_OK)
        status = check_id(adding, id, error);
    if (status == SXT_OK)
        status = sxt_catalog_hash_writing(*writing, digest, &adding->file.size, error);
    if (status != SXT_OK)
        return status;
    sxt_hex_encode(adding->file.hash, digest, sizeof digest);
    status = sxt_catalog_list_binary(adding->catalog, adding->tenant, home_of(adding), false, &listing, error);
    if (status == SXT_OK)
        status = find_same_file(adding, &listing, error);
    if (status == SXT_OK && !adding->added->was_there)
        status = add_new(adding, writing, listing.last_time, error);
    sxt_catalog_listing_free(&listing);
    if (status == SXT_OK)
        status = link_debug_id(adding, error);
    if (status == SXT_OK)
        status = sxt_catalog_join(adding->catalog, adding->tenant, &adding->added->file_id, &adding->added->build_id,
                                  NULL, error);
    return status == SXT_OK ? combine(adding, error) : status;
}

static int add_file(struct adding *adding, const struct sxt_catalog_id *id, struct sxt_store_writing **writing,
                    struct sxt_catalog_added *added, sxt_error *error)
{
    *added = (struct sxt_catalog_added){0};
    adding->added = added;
    sxt_arena_init(&adding->arena, 0, sxt_arena_separate_default);
    int status = add(adding, id, writing, error);
    sxt_store_write_abandon(writing);
    sxt_arena_free(&adding->arena);
    return status;
}

int sxt_catalog_add_file(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         const char *name, struct sxt_store_writing **writing, struct sxt_catalog_added *added,
                         sxt_error *error)
{
    struct adding adding = {.catalog = catalog, .tenant = tenant, .name = name};
    return add_file(&adding, id, writing, added, error);
}

int sxt_catalog_add_fetched_file(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                                 struct sxt_store_writing **writing, struct sxt_catalog_added *added, sxt_error *error)
{
    struct adding adding = {.catalog = catalog, .tenant = tenant, .is_upstream = true};
    return add_file(&adding, id, writing, added, error);
}
