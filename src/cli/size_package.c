/* size_package.c: what the entries of an Android package or another zip file take, stored and expanded. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/string.h"
#include "cli/size_input.h"
#include "cli/verbs.h"

#define JSON_DEPTH 16

struct entry {
    sxt_string name;
    int64_t stored, expanded;
};

struct package {
    sxt_string name;
    int64_t file, alignment, signing_block;
    struct entry *entries; /* those that are read, the largest first */
    size_t count;
    int64_t stored, expanded; /* sums of the entries */
};

static void read_package(const struct sxt_json *container, struct package *package);
static void print_text(struct sxt_emit *emit, const struct package *package, uint64_t limit);
static void print_json(struct sxt_emit *emit, const struct package *package);

static int64_t number_of(const struct sxt_json *value)
{
    return value != NULL && value->type == SXT_JSON_NUMBER && value->is_signed ? value->signed_value : 0;
}

static void print_package(struct sxt_emit *emit, const struct sxt_json *container, uint64_t limit)
{
    struct package package = {.name = {"", 0}};
    if (sxt_json_member(sxt_json_member(container, "metadata"), "zipalign_padding") == NULL)
        return;
    read_package(container, &package);
    if (sxt_emit_is_json(emit))
        print_json(emit, &package);
    else
        print_text(emit, &package, limit);
    free(package.entries);
}

int cli_print_packages(struct sxt_emit *emit, const struct cli_size_input *input, uint64_t limit)
{
    struct sxt_json_limits limits = {.depth = JSON_DEPTH, .values = (size_t)1 << 24};
    struct sxt_json *header;
    struct sxt_arena arena;
    sxt_error error;
    char *text;
    size_t size;
    if (sxt_size_info_header(input->info, &text, &size, &error) != SXT_OK)
        return cli_fail(input->path, &error);
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    int status = sxt_json_parse(text, size, limits, &arena, &header, &error);
    if (status == SXT_OK) {
        const struct sxt_json *containers = sxt_json_member(header, "containers");
        if (containers == NULL)
            print_package(emit, header, limit);
        for (const struct sxt_json *one = containers != NULL ? containers->child : NULL; one != NULL; one = one->next)
            print_package(emit, one, limit);
    }
    sxt_arena_free(&arena);
    sxt_free(text);
    return status == SXT_OK ? CLI_DONE : cli_fail(input->path, &error);
}

/* --- reading --- */

static int by_name(const void *a, const void *b)
{
    return sxt_string_compare(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int by_size(const void *a, const void *b)
{
    const struct entry *first = a;
    const struct entry *second = b;
    return first->expanded != second->expanded ? (first->expanded < second->expanded ? 1 : -1) : by_name(a, b);
}

/* "SIZE/classes.dex (stored)" and "SIZE/classes.dex (expanded)" are two metrics of one entry. */
static void take_metric(struct package *package, const struct sxt_json *metric)
{
    static const char stored[] = " (stored)", expanded[] = " (expanded)";
    sxt_string name = metric->key;
    bool is_stored = sxt_string_ends(name, stored);
    if (!sxt_string_begins(name, "SIZE/") || (!is_stored && !sxt_string_ends(name, expanded)))
        return;
    struct entry *entry = &package->entries[package->count++];
    *entry = (struct entry){.name = {name.data + 5, name.size - 5 - (is_stored ? sizeof stored : sizeof expanded) + 1}};
    if (is_stored)
        entry->stored = number_of(metric);
    else
        entry->expanded = number_of(metric);
}

static void join_entries(struct package *package)
{
    size_t count = 0;
    qsort(package->entries, package->count, sizeof *package->entries, by_name);
    for (size_t i = 0; i < package->count; i++) {
        const struct entry *entry = &package->entries[i];
        if (count > 0 && sxt_string_equal(package->entries[count - 1].name, entry->name)) {
            package->entries[count - 1].stored += entry->stored;
            package->entries[count - 1].expanded += entry->expanded;
        } else {
            package->entries[count++] = *entry;
        }
        package->stored += entry->stored;
        package->expanded += entry->expanded;
    }
    package->count = count;
    qsort(package->entries, count, sizeof *package->entries, by_size);
}

static void read_package(const struct sxt_json *container, struct package *package)
{
    const struct sxt_json *metadata = sxt_json_member(container, "metadata");
    const struct sxt_json *name = sxt_json_member(metadata, "apk_file_name");
    const struct sxt_json *files = sxt_json_member(container, "metrics_by_file");
    if (name != NULL && name->type == SXT_JSON_STRING)
        package->name = name->string;
    package->alignment = number_of(sxt_json_member(metadata, "zipalign_padding"));
    package->signing_block = number_of(sxt_json_member(metadata, "apk_signature_block_size"));
    for (const struct sxt_json *one = files != NULL ? files->child : NULL; one != NULL; one = one->next) {
        if (sxt_json_member(one, "SIZE/APK File") == NULL || package->entries != NULL)
            continue;
        package->file = number_of(sxt_json_member(one, "SIZE/APK File"));
        package->entries = calloc(one->count + 1, sizeof *package->entries);
        for (const struct sxt_json *metric = one->child; metric != NULL && package->entries != NULL;
             metric = metric->next)
            take_metric(package, metric);
    }
    if (package->count > 0)
        join_entries(package);
}

/* --- printing --- */

static void print_text(struct sxt_emit *emit, const struct package *package, uint64_t limit)
{
    sxt_emit_text(emit, "\nentries that are expanded\n%13s  %13s  entry\n", "stored", "expanded");
    for (size_t i = 0; i < package->count && i < limit; i++) {
        sxt_emit_text(emit, "%13s  %13s  ", cli_thousands((double)package->entries[i].stored).text,
                      cli_thousands((double)package->entries[i].expanded).text);
        sxt_emit_name(emit, package->entries[i].name);
        sxt_emit_text(emit, "\n");
    }
    sxt_emit_text(emit, "%13s  %13s  total of %zu %s\n", cli_thousands((double)package->stored).text,
                  cli_thousands((double)package->expanded).text, package->count,
                  package->count == 1 ? "entry" : "entries");
    sxt_emit_text(emit, "%13s  %13s  ", cli_thousands((double)package->file).text, "");
    sxt_emit_name(emit, package->name);
    sxt_emit_text(emit, ", of which %s align entries, and %s are the signing block\n",
                  cli_thousands((double)package->alignment).text, cli_thousands((double)package->signing_block).text);
}

static void print_json(struct sxt_emit *emit, const struct package *package)
{
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "kind", "package");
    sxt_emit_string(emit, "name", package->name);
    cli_emit_signed(emit, "file", package->file);
    cli_emit_signed(emit, "stored", package->stored);
    cli_emit_signed(emit, "expanded", package->expanded);
    cli_emit_signed(emit, "zipalign_padding", package->alignment);
    cli_emit_signed(emit, "apk_signature_block_size", package->signing_block);
    sxt_emit_array(emit, "entries");
    for (size_t i = 0; i < package->count; i++) {
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "name", package->entries[i].name);
        cli_emit_signed(emit, "stored", package->entries[i].stored);
        cli_emit_signed(emit, "expanded", package->entries[i].expanded);
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
    sxt_emit_record_end(emit);
}
