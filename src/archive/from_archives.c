/* from_archives.c: reads the ranges of archives back into the model. */
#include "archive/private.h"
#include "base/error.h"

int sxt_archive_open_file(struct sxt_file *file, const char *path, sxt_error *error)
{
    return sxt_file_open_inflated(file, path, SXT_ARCHIVE_INFLATE_LIMIT, error);
}

static uint32_t add_string(struct sxt_symbols *symbols, sxt_string text)
{
    return text.data != NULL ? sxt_symbols_string(symbols, text.data, text.size) : 0;
}

static uint32_t clamp(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* The names of functions that have several, and the calls that say which one was meant. */
static void read_aliases(const struct sxt_lidia_aliases *aliases, struct sxt_symbols *symbols)
{
    for (uint64_t i = 0; i < aliases->group_count && !symbols->failed; i++) {
        struct sxt_lidia_names names = sxt_lidia_names_of(aliases, i);
        for (uint64_t k = 0; k < names.count; k++)
            sxt_symbols_add_alias(symbols, &(struct sxt_model_alias){
                                               .address = names.address,
                                               .name = add_string(symbols, sxt_lidia_alias(aliases, names.first + k)),
                                               .ambiguous = names.ambiguous});
    }
    for (uint64_t i = 0; i < aliases->call_count && !symbols->failed; i++) {
        uint64_t address;
        sxt_string name = sxt_lidia_call(aliases, i, &address);
        sxt_symbols_add_call(symbols, address, add_string(symbols, name));
    }
}

static int read_lidia(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error)
{
    struct sxt_lidia lidia;
    int status = sxt_lidia_open(&lidia, file->data, file->size, true, error);
    struct sxt_lidia_budget budget = sxt_lidia_budget(&lidia);
    for (uint64_t i = 0; status == SXT_OK && i < lidia.count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(&lidia, i, &row);
        status = sxt_lidia_budget_use(&budget, &lidia, i, &row, error);
        if (status != SXT_OK)
            break;
        uint32_t path = add_string(symbols, sxt_lidia_optional_string(&lidia, row.file));
        struct sxt_model_range range = {
            .address = row.address,
            .length = row.length,
            .depth = clamp(row.depth),
            .function = add_string(symbols, sxt_lidia_string(&lidia, row.function)),
            .file = path,
            .call_file = add_string(symbols, sxt_lidia_optional_string(&lidia, row.call_file)),
            .call_line = clamp(row.call_line),
            .flags = sxt_lidia_row_continues(&lidia, i) ? SXT_RANGE_CONTINUES : 0,
        };
        sxt_symbols_add_range(symbols, &range);
        uint32_t offset, line;
        for (uint64_t k = 0; k < row.line_count && sxt_lidia_line(&lidia, &row, k, &offset, &line); k++)
            sxt_symbols_add_line(symbols, &(struct sxt_model_line){.offset = offset, .file = path, .line = line});
    }
    struct sxt_model_module module = {0};
    if (status == SXT_OK)
        status = sxt_lidia_read_module(&lidia, &module, error);
    if (status == SXT_OK && !sxt_module_merge(&symbols->module, &module))
        symbols->failed = true;
    sxt_module_free(&module);
    if (status == SXT_OK)
        read_aliases(&lidia.aliases, symbols);
    return status;
}

int sxt_archive_read_ranges(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error)
{
    sxt_ksym ksym;
    switch (sxt_kind_of(file->data, file->size, &ksym)) {
    case SXT_KIND_LIDIA:
        return read_lidia(file, symbols, error);
    case SXT_KIND_SYMBFILE: {
        size_t before = symbols->range_count;
        int status = sxt_archive_read_symbfile(file, symbols, error);
        if (status == SXT_OK && symbols->range_count == before)
            status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                              "no ranges, only return pads, which cannot be converted");
        return status;
    }
    case SXT_KIND_KSYM:
        return sxt_archive_read_ksym(&ksym, symbols, error);
    case SXT_KIND_ELF:
        return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_BINARY, SXT_NO_OFFSET,
                               "a binary, not an archive");
    default:
        return sxt_fail_unknown_kind(file, error);
    }
}

static int read_archive(const char *path, struct sxt_symbols *symbols, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_archive_open_file(&file, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_archive_read_ranges(&file, symbols, error);
    sxt_file_close(&file);
    return status;
}

int sxt_symbols_from_archives(const char *const *paths, size_t count, sxt_symbols **out, const char **failed,
                              sxt_error *error)
{
    if (failed != NULL)
        *failed = NULL;
    int status = sxt_symbols_new(out, error);
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        status = read_archive(paths[i], *out, error);
        if (failed != NULL)
            *failed = paths[i];
    }
    if (status == SXT_OK)
        status = sxt_symbols_finish_sorted(*out, error);
    if (status != SXT_OK)
        sxt_symbols_free(out);
    return status;
}
