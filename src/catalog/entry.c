/*
 * entry.c: an entry says what is known of a binary from one source, and which blobs have it. It is JSON:
 *
 *     {"version":1,"file_id":s,"build_id":s,"name":s,"arch":s,"quality":["symtab","dwarf",...],
 *      "functions":n,"inlines":n,"lines":n,"pads":n,"blobs":{"lidia":{"sha256":s,"size":n},...}}
 *
 * What is unknown is left out. A reader skips members that it does not know, and refuses other versions. Nothing in it
 * depends on the server that wrote it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "catalog/private.h"

#define VERSION 1
#define CHECKS  8 /* of blobs, over 0.7 s */

static const char *const blob_names[SXT_BLOB_KINDS] = {
    [SXT_BLOB_LIDIA] = "lidia",           [SXT_BLOB_SYMBFILE] = "symbfile",     [SXT_BLOB_PADS] = "pads",
    [SXT_BLOB_RETURNPADS] = "returnpads", [SXT_BLOB_EXECUTABLE] = "executable", [SXT_BLOB_DEBUGINFO] = "debuginfo",
    [SXT_BLOB_PARTS] = "parts",
};

/* --- quality --- */

/*
 * Names alone are worth 20 (25 if they are from a whole symbol table). Lines are worth 50, but only 15 if fewer than
 * one function in ten has them, as if only a library that was linked in had debug information. Inlined calls are worth
 * 15, and DWARF 5. The steps are large on purpose: what was read from the same file in two ways is of the same quality.
 */
unsigned sxt_catalog_quality(const struct sxt_catalog_coverage *coverage)
{
    if (coverage->functions == 0)
        return 0;
    unsigned quality = coverage->has_symtab ? 25 : 20;
    if (coverage->with_lines == 0)
        return quality;
    quality += coverage->with_lines >= coverage->functions / 10 ? 50 : 15;
    return quality + (coverage->inlines > 0 ? 15 : 0) + (coverage->has_dwarf ? 5 : 0);
}

/* What is in a symbol table and what is in DWARF look the same then. */
unsigned sxt_catalog_push_quality(uint64_t functions, uint64_t with_lines, uint64_t inlines, bool is_go)
{
    return sxt_catalog_quality(&(struct sxt_catalog_coverage){.functions = functions,
                                                              .with_lines = with_lines,
                                                              .inlines = inlines,
                                                              .has_symtab = functions > 0,
                                                              .has_dwarf = with_lines > 0 && !is_go});
}

/* --- writing --- */

static void write_text(struct sxt_json_writer *json, const char *key, const char *text)
{
    if (text != NULL && *text != 0)
        sxt_json_write_string(json, key, sxt_string_of(text));
}

static void write_qualities(struct sxt_json_writer *json, const struct sxt_catalog_entry *entry)
{
    const struct {
        bool is_there;
        const char *name;
    } qualities[] = {
        {entry->has_symtab, "symtab"},   {entry->has_dwarf, "dwarf"}, {entry->has_lines, "lines"},
        {entry->has_inlines, "inlines"}, {entry->has_go, "go"},       {entry->is_upstream, "upstream"},
    };
    sxt_json_write_begin(json, "quality", '[');
    for (size_t i = 0; i < sizeof qualities / sizeof *qualities; i++)
        if (qualities[i].is_there)
            sxt_json_write_string(json, NULL, sxt_string_of(qualities[i].name));
    sxt_json_write_end(json, ']');
}

static void write_blobs(struct sxt_json_writer *json, const struct sxt_catalog_entry *entry)
{
    sxt_json_write_begin(json, "blobs", '{');
    for (int i = 0; i < SXT_BLOB_KINDS; i++) {
        if (entry->blobs[i].hash[0] == 0)
            continue;
        sxt_json_write_begin(json, blob_names[i], '{');
        sxt_json_write_string(json, "sha256", sxt_string_of(entry->blobs[i].hash));
        sxt_json_write_number(json, "size", entry->blobs[i].size);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, '}');
}

void sxt_catalog_entry_write(const struct sxt_catalog_entry *entry, struct sxt_buffer *out)
{
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_number(&json, "version", VERSION);
    write_text(&json, "file_id", entry->file_id.text[0] != 0 ? entry->file_id.text + 2 : NULL);
    write_text(&json, "build_id", entry->build_id.text[0] != 0 ? entry->build_id.text + 2 : NULL);
    write_text(&json, "name", entry->module_name);
    write_text(&json, "arch", entry->arch);
    write_qualities(&json, entry);
    sxt_json_write_number(&json, "functions", entry->functions);
    sxt_json_write_number(&json, "inlines", entry->inlines);
    sxt_json_write_number(&json, "lines", entry->lines);
    sxt_json_write_number(&json, "pads", entry->pads);
    write_blobs(&json, entry);
    sxt_json_write_end(&json, '}');
    sxt_buffer_append(out, "\n", 1);
}

/* --- reading --- */

static int read_text(struct sxt_json_reader *reader, const char *what, struct sxt_arena *arena, const char **out)
{
    sxt_string text;
    int status = sxt_json_read_string(reader, what, &text);
    if (status != SXT_OK)
        return status;
    if (memchr(text.data, 0, text.size) != NULL)
        return sxt_json_read_fail(reader, reader->position, "%s has a NUL", what);
    *out = sxt_arena_copy(arena, text.data, text.size);
    return *out != NULL ? SXT_OK : sxt_json_read_no_memory(reader, text.size);
}

static int read_id(struct sxt_json_reader *reader, const char *what, char kind, struct sxt_catalog_id *out)
{
    sxt_string text;
    struct sxt_catalog_id id;
    int status = sxt_json_read_string(reader, what, &text);
    if (status != SXT_OK)
        return status;
    if (!(kind == 'f' ? sxt_catalog_parse_file_id(text, &id) : sxt_catalog_parse_build_id(text, &id)))
        return sxt_json_read_fail(reader, reader->position, "%s is not one", what);
    *out = id;
    return SXT_OK;
}

static int read_qualities(struct sxt_json_reader *reader, struct sxt_catalog_entry *out)
{
    bool more;
    sxt_string word;
    int status = sxt_json_read_begin(reader, '[', "quality");
    while (status == SXT_OK && (status = sxt_json_read_more(reader, ']', &more)) == SXT_OK && more) {
        status = sxt_json_read_string(reader, "a quality", &word);
        if (status != SXT_OK)
            break;
        out->has_symtab |= sxt_string_is(word, "symtab");
        out->has_dwarf |= sxt_string_is(word, "dwarf");
        out->has_lines |= sxt_string_is(word, "lines");
        out->has_inlines |= sxt_string_is(word, "inlines");
        out->has_go |= sxt_string_is(word, "go");
        out->is_upstream |= sxt_string_is(word, "upstream");
    }
    return status;
}

static int read_hash(struct sxt_json_reader *reader, char out[65])
{
    sxt_string text;
    int status = sxt_json_read_string(reader, "sha256", &text);
    if (status != SXT_OK)
        return status;
    bool is_hash = text.size == 64;
    for (size_t i = 0; i < text.size && is_hash; i++)
        is_hash = sxt_hex_digit(text.data[i]) >= 0 && !(text.data[i] >= 'A' && text.data[i] <= 'F');
    if (!is_hash)
        return sxt_json_read_fail(reader, reader->position, "sha256 does not have 64 digits");
    memcpy(out, text.data, 64);
    out[64] = 0;
    return SXT_OK;
}

static int read_blob(struct sxt_json_reader *reader, struct sxt_catalog_blob *out)
{
    bool more;
    sxt_string key;
    int status = sxt_json_read_begin(reader, '{', "a blob");
    while (status == SXT_OK && (status = sxt_json_read_more(reader, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(reader, &key, NULL);
        if (status != SXT_OK)
            break;
        if (sxt_string_is(key, "sha256"))
            status = read_hash(reader, out->hash);
        else if (sxt_string_is(key, "size"))
            status = sxt_json_read_unsigned(reader, "size", &out->size);
        else
            status = sxt_json_read_skip(reader, NULL);
    }
    return status;
}

static int read_blobs(struct sxt_json_reader *reader, struct sxt_catalog_entry *out)
{
    bool more;
    sxt_string key;
    int status = sxt_json_read_begin(reader, '{', "blobs");
    while (status == SXT_OK && (status = sxt_json_read_more(reader, '}', &more)) == SXT_OK && more) {
        struct sxt_catalog_blob unknown = {.size = 0}, *blob = &unknown;
        status = sxt_json_read_key(reader, &key, NULL);
        for (int i = 0; i < SXT_BLOB_KINDS && status == SXT_OK; i++)
            if (sxt_string_is(key, blob_names[i]))
                blob = &out->blobs[i];
        if (status == SXT_OK)
            status = read_blob(reader, blob);
    }
    return status;
}

static int read_member(struct sxt_json_reader *reader, sxt_string key, uint64_t *version, struct sxt_catalog_entry *out)
{
    if (sxt_string_is(key, "version"))
        return sxt_json_read_unsigned(reader, "version", version);
    if (sxt_string_is(key, "file_id"))
        return read_id(reader, "file_id", 'f', &out->file_id);
    if (sxt_string_is(key, "build_id"))
        return read_id(reader, "build_id", 'b', &out->build_id);
    if (sxt_string_is(key, "name"))
        return read_text(reader, "name", out->arena, &out->module_name);
    if (sxt_string_is(key, "arch"))
        return read_text(reader, "arch", out->arena, &out->arch);
    if (sxt_string_is(key, "quality"))
        return read_qualities(reader, out);
    if (sxt_string_is(key, "functions"))
        return sxt_json_read_unsigned(reader, "functions", &out->functions);
    if (sxt_string_is(key, "inlines"))
        return sxt_json_read_unsigned(reader, "inlines", &out->inlines);
    if (sxt_string_is(key, "lines"))
        return sxt_json_read_unsigned(reader, "lines", &out->lines);
    if (sxt_string_is(key, "pads"))
        return sxt_json_read_unsigned(reader, "pads", &out->pads);
    if (sxt_string_is(key, "blobs"))
        return read_blobs(reader, out);
    return sxt_json_read_skip(reader, NULL);
}

int sxt_catalog_entry_read(const char *text, size_t size, struct sxt_arena *arena, struct sxt_catalog_entry *out,
                           sxt_error *error)
{
    *out = (struct sxt_catalog_entry){.arena = arena};
    struct sxt_json_reader reader;
    bool more;
    sxt_string key;
    uint64_t version = 0;
    int status = sxt_json_reader_init(&reader, "an entry", text, size, arena, error);
    if (status == SXT_OK)
        status = sxt_json_read_begin(&reader, '{', "the entry");
    while (status == SXT_OK && (status = sxt_json_read_more(&reader, '}', &more)) == SXT_OK && more) {
        status = sxt_json_read_key(&reader, &key, NULL);
        if (status == SXT_OK)
            status = read_member(&reader, key, &version, out);
    }
    if (status == SXT_OK)
        status = sxt_json_read_end(&reader);
    if (status == SXT_OK && version != VERSION)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "an entry of version %" PRIu64, version);
    return status;
}

const char *sxt_catalog_base_name(const char *path, struct sxt_arena *arena)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    const char *name = slash != NULL ? slash + 1 : path;
    return name != NULL ? sxt_arena_copy(arena, name, strlen(name)) : NULL;
}

/* --- in the store --- */

/*
 * A sweep that listed the blobs of ENTRY when they were old, before they were written again for it, may have removed
 * one. It looks at the age right before it removes a blob, so this is rare; the upload then has to be repeated.
 */
static int check_blobs(struct sxt_catalog *catalog, const struct sxt_catalog_entry *entry, sxt_error *error)
{
    int status = SXT_OK;
    for (int i = 0; i < SXT_BLOB_KINDS && status == SXT_OK; i++) {
        struct sxt_store_object *object;
        if (entry->blobs[i].hash[0] == 0)
            continue;
        status = sxt_catalog_open_blob(catalog, &entry->blobs[i], &object, error);
        sxt_store_close_object(&object);
    }
    return status;
}

/*
 * Not every server replaces an object at once: while another one writes the same blob again, it can be missing for a
 * moment.
 */
static int wait_for_blobs(struct sxt_catalog *catalog, const struct sxt_catalog_entry *entry, sxt_error *error)
{
    int status = check_blobs(catalog, entry, error);
    for (int i = 0; i < CHECKS && (status == SXT_ERROR_NOT_FOUND || status == SXT_ERROR_FORMAT); i++) {
        nanosleep(&(struct timespec){0, (i + 1) * 20000000L}, NULL);
        status = check_blobs(catalog, entry, error);
    }
    return status;
}

int sxt_catalog_put_entry(struct sxt_catalog *catalog, const char *tenant, const char *id,
                          struct sxt_catalog_entry *entry, sxt_error *error)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SXT_CATALOG_ENTRY_MAX);
    sxt_catalog_entry_write(entry, &text);
    int status = sxt_buffer_status(&text, error);
    if (status == SXT_OK) {
        uint8_t digest[SXT_SHA256_SIZE];
        struct sxt_sha256 hash;
        sxt_sha256_init(&hash);
        sxt_sha256_add(&hash, text.data, text.size);
        sxt_sha256_end(&hash, digest);
        entry->name.hash = sxt_catalog_short_hash(digest);
        char name[128], key[SXT_CATALOG_KEY_ROOM];
        sxt_catalog_print_entry_name(name, sizeof name, &entry->name);
        status = sxt_catalog_key(key, tenant, id, error, "%s", name);
        if (status == SXT_OK)
            status = sxt_store_put(catalog->store, key, text.data, text.size, error);
        if (status == SXT_OK && wait_for_blobs(catalog, entry, error) != SXT_OK) {
            sxt_store_remove(catalog->store, key, NULL);
            status = sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "a blob was removed while it was needed");
        }
        sxt_catalog_changed(catalog, tenant, id);
    }
    sxt_buffer_free(&text);
    return status;
}

int sxt_catalog_get_entry(struct sxt_catalog *catalog, const char *tenant, const char *id,
                          const struct sxt_catalog_entry_name *name, struct sxt_arena *arena,
                          struct sxt_catalog_entry *out, sxt_error *error)
{
    *out = (struct sxt_catalog_entry){.arena = arena, .name = *name};
    char word[128], key[SXT_CATALOG_KEY_ROOM];
    sxt_catalog_print_entry_name(word, sizeof word, name);
    int status = sxt_catalog_key(key, tenant, id, error, "%s", word);
    char *text;
    size_t size;
    if (status == SXT_OK)
        status = sxt_store_get(catalog->store, key, SXT_CATALOG_ENTRY_MAX, &text, &size, error);
    if (status != SXT_OK)
        return status;
    status = sxt_catalog_entry_read(text, size, arena, out, error);
    out->name = *name;
    free(text);
    return status;
}
