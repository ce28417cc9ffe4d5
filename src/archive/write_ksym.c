/*
 * write_ksym.c: symbols of text, binaries and archives into a ksym blob.
 *
 * A binary gives what nm lists. Where its symbol table has no code, and for archives, which have none, functions are
 * taken instead: as 'T', because nothing tells who else sees them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/output.h"
#include "demangle/demangle.h"
#include "source/extract.h"

struct making {
    const struct sxt_ksym_options *options;
    struct sxt_ksym_list list;
    const char *path; /* of the file that is being read */
    sxt_error *error;
    int status;
};

static bool is_wanted(const char *types, char letter)
{
    return strcmp(types, "all") == 0 || strchr(types, letter) != NULL;
}

static void add(struct making *making, uint64_t address, char letter, sxt_string name)
{
    if (making->status == SXT_OK)
        making->status = sxt_ksym_list_add(&making->list, address, letter, name, making->error);
}

static void warn(struct making *making, const char *text)
{
    const struct sxt_ksym_options *options = making->options;
    if (options->warning != NULL)
        options->warning(options->warning_data, making->path, text);
}

static void pass_text_warning(void *data, uint64_t line, const char *text)
{
    char with_line[512];
    snprintf(with_line, sizeof with_line, "line %llu: %s", (unsigned long long)line, text);
    warn(data, line != 0 ? with_line : text);
}

static int read_text(struct making *making, const struct sxt_file *file)
{
    const struct sxt_ksym_text_options options = {
        .types = making->options->types,
        .rename = making->options->mangled ? NULL : sxt_demangle,
        .warning = pass_text_warning,
        .warning_data = making,
    };
    return sxt_ksym_read_text(&making->list, file->data, file->size, &options, NULL, making->error);
}

static bool is_text(const struct sxt_file *file)
{
    size_t size = file->size < 4096 ? file->size : 4096;
    return size > 0 && memchr(file->data, 0, size) == NULL;
}

/* One function of depth 0 may be several rows, where lines change from one file to another. */
static void add_functions(struct making *making, const struct sxt_symbols *symbols)
{
    uint32_t before = 0;
    uint64_t end = 0;
    const char *types = making->options->types;
    for (size_t i = 0; i < symbols->range_count && making->status == SXT_OK; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        if (range->depth != 0)
            continue;
        bool goes_on = range->function == before && range->address == end;
        before = range->function;
        end = range->address + range->length;
        sxt_string name = sxt_symbols_view(symbols, range->function);
        if (!goes_on && name.size > 0 && (types == NULL || is_wanted(types, 'T')))
            add(making, range->address, 'T', name);
    }
}

/* From one table: nm lists that of the linker, or when it was stripped, that of the loader. */
static void add_symbols(struct making *making, const struct sxt_symbols *symbols)
{
    const char *types = making->options->types != NULL ? making->options->types : "Tt";
    uint8_t source = symbols->sources & SXT_SOURCE_SYMTAB ? SXT_SOURCE_SYMTAB : SXT_SOURCE_DYNSYM;
    size_t before = making->list.count;
    for (size_t i = 0; i < symbols->symbol_count; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        if (symbol->source == source && symbol->letter != 0 && is_wanted(types, symbol->letter))
            add(making, symbol->address, symbol->letter, sxt_symbols_view(symbols, symbol->name));
    }
    if (making->list.count == before)
        add_functions(making, symbols);
}

static int read_binary(struct making *making, const struct sxt_file *file)
{
    if (making->options->archives_only)
        return sxt_fail(making->error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "it is a binary, not an archive; sextant archive makes archives of binaries");
    struct sxt_symbols *symbols;
    int status = sxt_extract(file, making->path, &making->options->extract, &symbols, making->error);
    if (status != SXT_OK)
        return status;
    size_t before = making->list.count;
    add_symbols(making, symbols);
    sxt_symbols_free(&symbols);
    if (making->status == SXT_OK && making->list.count == before)
        return sxt_fail(making->error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET,
                        "no symbols of the types that were asked for; --types all takes every one");
    if (making->status == SXT_OK && !making->options->mangled)
        making->status = sxt_ksym_list_rename(&making->list, sxt_demangle, making->error);
    return making->status;
}

static bool add_ksym_symbol(void *data, const sxt_ksym_symbol *symbol, sxt_string name)
{
    struct making *making = data;
    const char *types = making->options->types;
    if (types == NULL || is_wanted(types, symbol->type))
        add(making, symbol->address, symbol->type, name);
    return making->status == SXT_OK;
}

static int read_ksym(struct making *making, const sxt_ksym *ksym)
{
    int status = sxt_archive_visit_ksym(ksym, add_ksym_symbol, making, making->error);
    return status == SXT_OK ? making->status : status;
}

static int read_ranges(struct making *making, const struct sxt_file *file)
{
    struct sxt_symbols *symbols;
    int status = sxt_symbols_new(&symbols, making->error);
    if (status != SXT_OK)
        return status;
    status = sxt_archive_read_ranges(file, symbols, making->error);
    if (status == SXT_OK)
        status = sxt_symbols_finish_sorted(symbols, making->error);
    if (status == SXT_OK)
        add_functions(making, symbols);
    sxt_symbols_free(&symbols);
    return status == SXT_OK ? making->status : status;
}

static int read_file(struct making *making)
{
    struct sxt_file file;
    sxt_ksym ksym;
    int status = sxt_archive_open_file(&file, making->path, making->error);
    if (status != SXT_OK)
        return status;
    switch (sxt_kind_of(file.data, file.size, &ksym)) {
    case SXT_KIND_ELF:
        status = read_binary(making, &file);
        break;
    case SXT_KIND_KSYM:
        status = read_ksym(making, &ksym);
        break;
    case SXT_KIND_LIDIA:
    case SXT_KIND_SYMBFILE:
        status = read_ranges(making, &file);
        break;
    default:
        status = is_text(&file) ? read_text(making, &file) : sxt_fail_unknown_kind(&file, making->error);
    }
    sxt_file_close(&file);
    return status;
}

/* Names that no reader would give back are left out, and counted. */
static void drop_unfit(struct making *making)
{
    static const char *const what[] = {
        [SXT_KSYM_EMPTY] = "without a name",
        [SXT_KSYM_TOO_LONG] = "with names of over 65535 bytes",
        [SXT_KSYM_NOT_UTF8] = "with names that are not UTF-8",
    };
    struct sxt_ksym_list *list = &making->list;
    size_t kept = 0, dropped[4] = {0};
    for (size_t i = 0; i < list->count; i++) {
        enum sxt_ksym_fit fit = sxt_ksym_name_fit(sxt_strings_get(&list->strings, list->symbols[i].name));
        if (fit == SXT_KSYM_FITS)
            list->symbols[kept++] = list->symbols[i];
        else
            dropped[fit]++;
    }
    list->count = kept;
    for (unsigned fit = SXT_KSYM_EMPTY; fit <= SXT_KSYM_NOT_UTF8; fit++) {
        char text[128];
        snprintf(text, sizeof text, "%zu symbols %s are left out", dropped[fit], what[fit]);
        if (dropped[fit] > 0)
            warn(making, text);
    }
}

static int save(struct making *making, const char *output, struct sxt_ksym_made *made)
{
    /* Names that several symbols have are stored once: readers go where offsets lead. */
    const struct sxt_ksym_encode_options options = {.layout = making->options->layout, .share_records = true};
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    int status = sxt_ksym_encode(&making->list, &options, &data, &size, &report, making->error);
    if (status != SXT_OK)
        return status;
    status = sxt_output_save(output, data, size, making->error);
    free(data);
    *made = (struct sxt_ksym_made){making->list.count, report.tokens, report.saved, size};
    return status;
}

int sxt_ksym_make(const char *const *paths, size_t count, const char *output, const struct sxt_ksym_options *options,
                  struct sxt_ksym_made *made, const char **failed, sxt_error *error)
{
    struct making making = {.options = options, .error = error};
    *failed = NULL;
    int status = sxt_ksym_list_init(&making.list, error);
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        *failed = making.path = paths[i];
        status = read_file(&making);
    }
    if (status == SXT_OK) {
        drop_unfit(&making);
        *failed = output;
        status = save(&making, output, made);
    }
    sxt_ksym_list_free(&making.list);
    return status;
}
