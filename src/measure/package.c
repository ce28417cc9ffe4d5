/* package.c: adds a zip file, entry by entry. */
#include "measure/package.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"

/* What has more of these is made by hand: some of the work grows with the square of their number. */
#define BINARIES_MOST 16384
#define TABLES_MOST   1024
#define PAKS_MOST     16384

#define WARNINGS_MOST 20

enum entry_kind { ENTRY_OTHER, ENTRY_BINARY, ENTRY_DEX, ENTRY_ARSC, ENTRY_PAK };

static int add_entries(struct package *package, sxt_error *error);
static void warn_of_more(const struct package *package);
static void add_overhead(struct package *package);
static bool describe(struct package *package);

static void release(struct package *package)
{
    sxt_dex_tree_free(&package->dex);
    free(package->resources[0]);
    free(package->resources[1]);
    sxt_buffer_free(&package->text);
    sxt_buffer_free(&package->path_text);
    sxt_zip_close(&package->zip);
}

int sxt_measure_add_package(struct measure_maker *maker, const struct measure_input *input, sxt_error *error)
{
    struct package package = {.maker = maker, .path = input->path, .container = input->container};
    sxt_buffer_init(&package.text, (size_t)1 << 20);
    sxt_buffer_init(&package.path_text, (size_t)1 << 20);
    if (input->map != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a linker map belongs to a binary, not to a zip file");
    int status = sxt_dex_tree_init(&package.dex, error);
    if (status == SXT_OK)
        status = sxt_zip_open(&package.zip, input->file->data, input->file->size, error);
    if (status == SXT_OK) {
        package.name = maker->containers[package.container].name;
        package.other = sxt_measure_maker_segment(maker, package.container, (sxt_string){".other", 6});
        status = add_entries(&package, error);
    }
    if (status == SXT_OK) {
        warn_of_more(&package);
        sxt_measure_finish_dex(&package);
        sxt_measure_finish_paks(&package);
        add_overhead(&package);
        if (!describe(&package) || package.text.memory_was_short || package.path_text.memory_was_short)
            maker->no_memory = true;
    }
    release(&package);
    return status;
}

void sxt_measure_package_warn(struct package *package, const struct sxt_zip_entry *entry, const sxt_error *cause)
{
    const sxt_extract_options *extract = package->maker->extract;
    sxt_error problem;
    if (package->warnings++ >= WARNINGS_MOST)
        return;
    size_t size = entry->name.size < 200 ? entry->name.size : 200;
    sxt_fail(&problem, cause->code, SXT_NO_OFFSET, "%.*s: %s", (int)size, entry->name.data, cause->text);
    if (extract->warning != NULL)
        extract->warning(extract->warning_data, &problem);
}

static void warn_of_more(const struct package *package)
{
    const sxt_extract_options *extract = package->maker->extract;
    sxt_error problem;
    if (package->warnings <= WARNINGS_MOST || extract->warning == NULL)
        return;
    sxt_fail(&problem, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%zu more entries have problems",
             package->warnings - WARNINGS_MOST);
    extract->warning(extract->warning_data, &problem);
}

sxt_string sxt_measure_entry_name(struct package *package, const struct sxt_zip_entry *entry)
{
    sxt_buffer_clear(&package->text);
    for (size_t i = 0; i < entry->name.size; i++) {
        uint8_t letter = (uint8_t)entry->name.data[i];
        sxt_buffer_u8(&package->text, letter < 0x20 || letter == 0x7f ? ' ' : letter);
    }
    if (package->text.size == 0)
        return (sxt_string){"", 0};
    sxt_measure_make_utf8((char *)package->text.data, package->text.size);
    return (sxt_string){(const char *)package->text.data, package->text.size};
}

/* --- what an entry is --- */

/* Splits of a bundle may add "+org.a.module+" to the names of assets. */
static sxt_string without_suffix(sxt_string name)
{
    if (!sxt_string_ends(name, "+"))
        return name;
    const char *plus = memrchr(name.data, '+', name.size - 1);
    return plus != NULL ? (sxt_string){name.data, (size_t)(plus - name.data)} : name;
}

static sxt_string base_of(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    size_t skipped = slash != NULL ? (size_t)(slash - path.data) + 1 : 0;
    return (sxt_string){path.data + skipped, path.size - skipped};
}

/* Is it an application, and not just any zip file? */
static bool is_application(const struct package *package)
{
    for (size_t i = 0; i < package->zip.count; i++)
        if (sxt_string_is(package->zip.entries[i].name, "AndroidManifest.xml") ||
            sxt_string_is(package->zip.entries[i].name, "BundleConfig.pb"))
            return true;
    return false;
}

/* In an application, names decide, as for Android. In another zip file, any ELF file is worth a look inside. */
static enum entry_kind kind_of(struct package *package, const struct sxt_zip_entry *entry, bool in_application)
{
    sxt_string name = without_suffix(entry->name);
    uint8_t start[64];
    if (entry->expanded == 0)
        return ENTRY_OTHER;
    if (sxt_string_ends(name, ".so"))
        return ENTRY_BINARY;
    if (sxt_string_ends(name, ".dex"))
        return ENTRY_DEX;
    if (sxt_string_ends(name, ".pak"))
        return ENTRY_PAK;
    if (sxt_string_is(base_of(name), "resources.arsc"))
        return ENTRY_ARSC;
    if (!in_application && sxt_elf_is(start, sxt_zip_peek(&package->zip, entry, start, sizeof start)))
        return ENTRY_BINARY;
    return ENTRY_OTHER;
}

/* --- entries --- */

static void add_ordinary(struct package *package, const struct sxt_zip_entry *entry)
{
    struct measure_maker *maker = package->maker;
    sxt_string name = sxt_measure_entry_name(package, entry);
    struct sxt_buffer *path = &package->path_text;
    sxt_buffer_clear(path);
    sxt_buffer_append(path, "$APK/", 5);
    sxt_buffer_append(path, name.data, name.size);
    sxt_measure_maker_add(
        maker, package->other, 0, entry->stored, sxt_measure_maker_name(maker, name),
        sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){(const char *)path->data, path->size}), 0,
        false);
}

static bool is_taken(const struct measure_maker *maker, const struct sxt_buffer *name)
{
    for (size_t i = 0; i < maker->container_count; i++)
        if (sxt_string_equal(maker->containers[i].name, (sxt_string){(const char *)name->data, name->size}))
            return true;
    return false;
}

/* "X.apk/libfoo.so (arm64-v8a)"; where that is taken, "X.apk/feature/lib/arm64-v8a/libfoo.so". */
static void name_container(struct package *package, sxt_string entry, struct sxt_buffer *out)
{
    sxt_string base = base_of(entry), folder = {entry.data, entry.size - base.size};
    sxt_buffer_print(out, "%.*s/%.*s", (int)package->name.size, package->name.data, (int)base.size, base.data);
    if (folder.size > 0) {
        sxt_string abi = base_of((sxt_string){folder.data, folder.size - 1});
        sxt_buffer_print(out, " (%.*s)", (int)abi.size, abi.data);
    }
    if (!is_taken(package->maker, out))
        return;
    out->size = package->name.size + 1;
    sxt_buffer_append(out, entry.data, entry.size);
}

/* A library has a container of its own: addresses of two libraries in one section would contradict each other. */
static int add_binary(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                      sxt_error *error)
{
    struct measure_maker *maker = package->maker;
    struct sxt_arena *arena = &maker->size->arena;
    struct sxt_buffer *name = &package->path_text;
    sxt_string path = sxt_measure_entry_name(package, entry);
    if (!sxt_elf_is(file->data, file->size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not an ELF file");
    char *kept = sxt_arena_copy(arena, path.data, path.size);
    sxt_buffer_clear(name);
    name_container(package, path, name);
    sxt_buffer_u8(name, 0);
    if (kept == NULL || name->failed)
        return kept == NULL ? sxt_fail_memory(error, path.size) : sxt_buffer_status(name, error);
    uint32_t number = (uint32_t)maker->container_count;
    int status = sxt_measure_add_container(maker, (const char *)name->data, error);
    struct measure_input input = {
        .path = package->path, .entry = kept, .file = file, .container = number, .is_inside = true};
    if (status == SXT_OK)
        status = sxt_measure_add_binary(maker, &input, error);
    if (status != SXT_OK) {
        maker->container_count = number;
        return status;
    }
    struct sxt_json *metadata = maker->containers[number].metadata;
    if (metadata == NULL || !sxt_json_add_string(arena, metadata, "apk_file_name", package->name) ||
        !sxt_json_add_string(arena, metadata, "elf_apk_path", (sxt_string){kept, path.size}))
        maker->no_memory = true;
    return SXT_OK;
}

/* Counts an entry that is to be read. False if there are too many of its kind. */
static bool count_kind(struct package *package, enum entry_kind kind)
{
    switch (kind) {
    case ENTRY_BINARY:
        return package->binaries++ < BINARIES_MOST;
    case ENTRY_DEX:
    case ENTRY_ARSC:
        return package->tables++ < TABLES_MOST;
    case ENTRY_PAK:
        return package->paks++ < PAKS_MOST;
    case ENTRY_OTHER:
        break;
    }
    return true;
}

static int add_content(struct package *package, const struct sxt_zip_entry *entry, enum entry_kind kind,
                       const struct sxt_file *file, sxt_error *error)
{
    switch (kind) {
    case ENTRY_BINARY:
        return add_binary(package, entry, file, error);
    case ENTRY_DEX:
        return sxt_measure_add_dex(package, entry, file, error);
    case ENTRY_ARSC:
        return sxt_measure_add_arsc(package, entry, file, error);
    case ENTRY_PAK:
        return sxt_measure_add_pak(package, entry, file, error);
    case ENTRY_OTHER:
        break;
    }
    return SXT_OK;
}

/* Both sizes of an entry that counts by its content. */
static void count_entry(struct package *package, const struct sxt_zip_entry *entry)
{
    static const char *const suffixes[] = {" (stored)", " (expanded)"};
    const uint64_t sizes[] = {entry->stored, entry->expanded};
    for (int i = 0; i < 2; i++) {
        sxt_measure_entry_name(package, entry);
        sxt_buffer_append(&package->text, suffixes[i], strlen(suffixes[i]));
        sxt_measure_maker_metric(package->maker, package->container, package->name, "SIZE/",
                                 (sxt_string){(const char *)package->text.data, package->text.size}, sizes[i]);
    }
}

/* Does an entry begin as its name says? So a library that is not one is not expanded. */
static bool begins_right(struct package *package, const struct sxt_zip_entry *entry, enum entry_kind kind)
{
    uint8_t start[64];
    size_t size =
        kind == ENTRY_BINARY || kind == ENTRY_DEX ? sxt_zip_peek(&package->zip, entry, start, sizeof start) : 0;
    return size == 0 || (kind == ENTRY_BINARY ? sxt_elf_is(start, size) : sxt_dex_is(start, size));
}

/* An entry that cannot be expanded or read counts as an ordinary one. */
static int add_entry(struct package *package, const struct sxt_zip_entry *entry, enum entry_kind kind, sxt_error *error)
{
    struct sxt_file file;
    uint64_t limit = package->maker->extract->inflate_limit;
    limit = limit < SXT_MEASURE_INFLATE_LIMIT && limit > 0 ? limit : SXT_MEASURE_INFLATE_LIMIT;
    if (kind == ENTRY_OTHER) {
        add_ordinary(package, entry);
        return SXT_OK;
    }
    sxt_file_from_memory(&file, "", 0);
    int status = SXT_OK;
    if (!begins_right(package, entry, kind))
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                          kind == ENTRY_DEX ? "not a dex file" : "not an ELF file");
    else if (!count_kind(package, kind))
        status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "too many entries of its kind");
    if (status == SXT_OK)
        status = sxt_zip_expand(&package->zip, entry, limit > package->expanded ? limit - package->expanded : 0, &file,
                                error);
    if (status == SXT_OK) {
        package->expanded += file.size;
        status = add_content(package, entry, kind, &file, error);
    }
    sxt_file_close(&file);
    if (status == SXT_ERROR_MEMORY || package->maker->no_memory)
        return status;
    if (status == SXT_OK) {
        count_entry(package, entry);
        return SXT_OK;
    }
    sxt_measure_package_warn(package, entry, error);
    sxt_error_clear(error);
    add_ordinary(package, entry);
    return SXT_OK;
}

static int add_entries(struct package *package, sxt_error *error)
{
    bool in_application = is_application(package);
    int status = SXT_OK;
    sxt_error unused;
    error = error != NULL ? error : &unused;
    for (size_t i = 0; i < package->zip.count && status == SXT_OK && !package->maker->no_memory; i++) {
        const struct sxt_zip_entry *entry = &package->zip.entries[i];
        status = add_entry(package, entry, kind_of(package, entry, in_application), error);
    }
    return status;
}

/* --- the zip file itself --- */

static void add_overhead(struct package *package)
{
    static const char name[] = "Overhead: APK file";
    const struct sxt_zip *zip = &package->zip;
    struct measure_maker *maker = package->maker;
    /* No entries overlap, so they and their headers are a part of the file. */
    uint64_t rest = zip->size - zip->stored - zip->extra - zip->signing_block;
    sxt_measure_maker_add(maker, package->other, 0, rest,
                          sxt_measure_maker_name(maker, (sxt_string){name, sizeof name - 1}),
                          sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}), 0, false);
    sxt_measure_maker_metric(maker, package->container, package->name, "SIZE/", sxt_string_of("APK File"), zip->size);
}

static bool describe(struct package *package)
{
    struct sxt_arena *arena = &package->maker->size->arena;
    struct sxt_json *metadata = sxt_json_object(arena);
    package->maker->containers[package->container].metadata = metadata;
    return metadata != NULL && sxt_json_add_string(arena, metadata, "apk_file_name", package->name) &&
           sxt_json_add_number(arena, metadata, "apk_signature_block_size", (int64_t)package->zip.signing_block) &&
           sxt_json_add_number(arena, metadata, "zipalign_padding", (int64_t)package->zip.extra);
}
