/*
 * writer.c: the public writer: collects symbols from several inputs and makes a blob of them.
 *
 * A binary gives the symbols that nm lists; by default its code, weak and indirect functions included. If its symbol
 * table has no code, its functions are taken instead, as type 'T', because nothing says whether they are local.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/output.h"
#include "ksym/ksym.h"

void sxt_ksym_options_init(sxt_ksym_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

static int check_types(const char *types, sxt_error *error)
{
    if (types == NULL)
        return SXT_OK;
    bool wanted[SXT_KSYM_TYPES];
    return sxt_ksym_parse_types(types, wanted, error);
}

int sxt_ksym_writer_new(const sxt_ksym_options *options, sxt_ksym_writer **out, sxt_error *error)
{
    *out = NULL;
    sxt_ksym_options known;
    sxt_ksym_options_init(&known);
    int status = sxt_options_take(&known, sizeof known, options, "sxt_ksym_options_init", error);
    if (status == SXT_OK)
        status = check_types(known.types, error);
    if (status != SXT_OK)
        return status;
    sxt_ksym_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL)
        return sxt_fail_memory(error, sizeof *writer);
    writer->options = known;
    status = sxt_ksym_list_init(&writer->list, error);
    if (status != SXT_OK)
        sxt_ksym_writer_free(&writer);
    *out = writer;
    return status;
}

void sxt_ksym_writer_free(sxt_ksym_writer **writer)
{
    if (*writer == NULL)
        return;
    sxt_ksym_list_free(&(*writer)->list);
    free(*writer);
    *writer = NULL;
}

static bool is_wanted(const char *types, char letter)
{
    return types == NULL || strcmp(types, "all") == 0 || strchr(types, letter) != NULL;
}

uint64_t sxt_ksym_writer_left_out(const sxt_ksym_writer *writer, char type)
{
    return writer->left_out[(uint8_t)type];
}

static void warn(const sxt_ksym_writer *writer, const char *text)
{
    const sxt_ksym_options *options = &writer->options;
    if (options->warning != NULL)
        options->warning(options->warning_data, writer->path, text);
}

/* --- inputs --- */

int sxt_ksym_writer_add(sxt_ksym_writer *writer, uint64_t address, char type, const char *name, size_t size,
                        sxt_error *error)
{
    return sxt_ksym_list_add(&writer->list, address, type, (sxt_string){name, size}, error);
}

static void pass_text_warning(void *data, uint64_t line, const char *text)
{
    char with_line[512];
    snprintf(with_line, sizeof with_line, "line %llu: %s", (unsigned long long)line, text);
    warn(data, line != 0 ? with_line : text);
}

int sxt_ksym_writer_add_text(sxt_ksym_writer *writer, const void *text, size_t size, sxt_error *error)
{
    const struct sxt_ksym_text_options options = {
        .types = writer->options.types,
        .demangle = !writer->options.mangled,
        .threads = writer->options.threads,
        .warning = pass_text_warning,
        .warning_data = writer,
    };
    struct sxt_ksym_text_report report;
    int status = sxt_ksym_read_text(&writer->list, text, size, &options, &report, error);
    for (size_t i = 0; i < SXT_KSYM_TYPES; i++)
        writer->left_out[i] += report.of_other_type[i];
    return status;
}

/* A function of depth 0 may be several rows, if its lines come from several files. Those after the first are marked. */
int sxt_ksym_writer_add_functions(sxt_ksym_writer *writer, const struct sxt_symbols *symbols, sxt_error *error)
{
    uint32_t before = 0;
    uint64_t end = 0;
    int status = SXT_OK;
    for (size_t i = 0; i < symbols->range_count && status == SXT_OK; i++) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        if (range->depth != 0)
            continue;
        bool continues =
            (range->flags & SXT_RANGE_CONTINUES) != 0 && range->function == before && range->address == end;
        before = range->function;
        end = range->address + range->length;
        sxt_string name = sxt_symbols_view(symbols, range->function);
        if (!continues && name.size > 0 && is_wanted(writer->options.types, 'T'))
            status = sxt_ksym_list_add(&writer->list, range->address, 'T', name, error);
    }
    return status;
}

/* The sections that have symbols of the types T and t, as bits by the number of their name. NULL if memory is short. */
static uint8_t *find_code_sections(const struct sxt_symbols *symbols)
{
    uint8_t *sections = calloc(symbols->strings.count / 8 + 1, 1);
    for (size_t i = 0; i < symbols->symbol_count && sections != NULL; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        if (symbol->letter == 'T' || symbol->letter == 't')
            sections[symbol->section / 8] |= (uint8_t)(1 << symbol->section % 8);
    }
    return sections;
}

/*
 * Whether a symbol is code. The letters 'W' and 'u' do not say it: nm prints 'W' for a weak symbol without a type too,
 * such as data_start in .data, and 'u' for data of C++ templates.
 */
static bool is_code(const struct sxt_model_symbol *symbol, const uint8_t *code_sections)
{
    if (symbol->letter == 'T' || symbol->letter == 't' || symbol->type == 'F' || symbol->type == 'I')
        return true;
    return symbol->letter == 'W' && symbol->section != 0 &&
           (code_sections[symbol->section / 8] >> symbol->section % 8 & 1) != 0;
}

/* The letter that a symbol is counted under when it is left out. Whatever is counted as 'W' is a function. */
static char counted_as(const struct sxt_model_symbol *symbol, const uint8_t *code_sections)
{
    return symbol->letter == 'W' && !is_code(symbol, code_sections) ? 'V' : symbol->letter;
}

/* Only one table is used: nm lists .symtab, or if that was stripped, .dynsym. */
static int add_table(sxt_ksym_writer *writer, const struct sxt_symbols *symbols, sxt_error *error)
{
    const char *types = writer->options.types;
    uint8_t source = symbols->sources & SXT_SOURCE_SYMTAB ? SXT_SOURCE_SYMTAB : SXT_SOURCE_DYNSYM;
    uint8_t *code_sections = find_code_sections(symbols);
    int status = code_sections != NULL ? SXT_OK : sxt_fail_memory(error, symbols->strings.count / 8 + 1);
    for (size_t i = 0; i < symbols->symbol_count && status == SXT_OK; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        if (symbol->source != source || symbol->letter == 0)
            continue;
        if (types != NULL ? is_wanted(types, symbol->letter) : is_code(symbol, code_sections))
            status = sxt_ksym_list_add(&writer->list, symbol->address, symbol->letter,
                                       sxt_symbols_view(symbols, symbol->name), error);
        else
            writer->left_out[(uint8_t)counted_as(symbol, code_sections)]++;
    }
    free(code_sections);
    return status;
}

int sxt_ksym_writer_add_symbols(sxt_ksym_writer *writer, const sxt_symbols *symbols, sxt_error *error)
{
    size_t before = writer->list.count;
    int status = add_table(writer, symbols, error);
    if (status == SXT_OK && writer->list.count == before)
        status = sxt_ksym_writer_add_functions(writer, symbols, error);
    if (status != SXT_OK)
        return status;
    if (writer->list.count == before)
        return sxt_fail_reason(error, SXT_ERROR_NOT_FOUND, SXT_REASON_SYMBOL_TYPES, SXT_NO_OFFSET,
                               "no symbols of the types that were asked for");
    return writer->options.mangled ? SXT_OK : sxt_ksym_list_demangle(&writer->list, writer->options.threads, error);
}

/* A blob whose symbols are being added. */
struct adding {
    sxt_ksym_writer *writer;
    int status;
    sxt_error *error;
};

static bool add_ksym_symbol(void *data, const sxt_ksym_symbol *symbol, sxt_string name)
{
    struct adding *adding = data;
    if (is_wanted(adding->writer->options.types, symbol->type))
        adding->status = sxt_ksym_list_add(&adding->writer->list, symbol->address, symbol->type, name, adding->error);
    else
        adding->writer->left_out[(uint8_t)symbol->type]++;
    return adding->status == SXT_OK;
}

int sxt_ksym_writer_add_ksym(sxt_ksym_writer *writer, const sxt_ksym *ksym, sxt_error *error)
{
    struct adding adding = {writer, SXT_OK, error};
    int status = sxt_ksym_visit(ksym, add_ksym_symbol, &adding, error);
    return status == SXT_OK ? adding.status : status;
}

/* --- the blob --- */

/* Names that no reader would return unchanged are left out, and counted. */
static void drop_unfit(sxt_ksym_writer *writer)
{
    static const char *const what[] = {
        [SXT_KSYM_EMPTY] = "without a name",
        [SXT_KSYM_TOO_LONG] = "with names of over 65535 bytes",
        [SXT_KSYM_NOT_UTF8] = "with names that are not UTF-8",
    };
    struct sxt_ksym_list *list = &writer->list;
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
        snprintf(text, sizeof text, "%zu %s %s left out", dropped[fit], dropped[fit] == 1 ? "symbol" : "symbols",
                 what[fit]);
        if (dropped[fit] > 0)
            warn(writer, text);
    }
}

int sxt_ksym_writer_write_memory(sxt_ksym_writer *writer, void **data, size_t *size, sxt_written *written,
                                 sxt_error *error)
{
    /* A name that several symbols have is stored once: readers follow the offsets. */
    const struct sxt_ksym_encode_options options = {.layout = writer->options.layout, .share_records = true};
    struct sxt_ksym_encode_report report;
    uint8_t *bytes;
    drop_unfit(writer);
    int status = sxt_ksym_encode(&writer->list, &options, &bytes, size, &report, error);
    *data = bytes;
    if (status == SXT_OK && written != NULL)
        sxt_result_give(
            written,
            &(sxt_written){
                .size = *size, .symbols = writer->list.count, .tokens = report.tokens, .saved = report.saved},
            sizeof *written);
    return status;
}

int sxt_ksym_writer_write_fd(sxt_ksym_writer *writer, int fd, sxt_written *written, sxt_error *error)
{
    void *data;
    size_t size;
    int status = sxt_ksym_writer_write_memory(writer, &data, &size, written, error);
    if (status == SXT_OK)
        status = sxt_write_all(fd, data, size, error);
    free(data);
    return status;
}

int sxt_ksym_writer_write_path(sxt_ksym_writer *writer, const char *path, sxt_written *written, sxt_error *error)
{
    void *data;
    size_t size;
    int status = sxt_ksym_writer_write_memory(writer, &data, &size, written, error);
    if (status == SXT_OK)
        status = sxt_output_save(path, data, size, error);
    free(data);
    return status;
}
