/* ksym_input.c: reads a file of any kind as input for the writer of ksym blobs. */
#include <string.h>

#include <sextant/ksym_writer.h>

#include "archive/private.h"
#include "base/error.h"
#include "source/extract.h"

static int add_binary(sxt_ksym_writer *writer, const struct sxt_file *file, sxt_error *error)
{
    if (writer->options.no_binaries)
        return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_BINARY, SXT_NO_OFFSET,
                               "a binary, not an archive");
    sxt_extract_options extract;
    int status = sxt_extract_options_take(&extract, writer->options.extract, error);
    /* Only names and addresses are needed, and the symbol tables have them all. */
    if (writer->options.extract == NULL)
        extract.sources = SXT_SOURCE_SYMTAB | SXT_SOURCE_DYNSYM | SXT_SOURCE_GO;
    struct sxt_symbols *symbols = NULL;
    if (status == SXT_OK)
        status = sxt_extract(file, writer->path, &extract, &symbols, error);
    if (status == SXT_OK)
        status = sxt_ksym_writer_add_symbols(writer, symbols, error);
    sxt_symbols_free(&symbols);
    return status;
}

static int add_ranges(sxt_ksym_writer *writer, const struct sxt_file *file, sxt_error *error)
{
    struct sxt_symbols *symbols;
    int status = sxt_symbols_new(&symbols, error);
    if (status != SXT_OK)
        return status;
    status = sxt_archive_read_ranges(file, symbols, error);
    if (status == SXT_OK)
        status = sxt_symbols_finish_sorted(symbols, error);
    if (status == SXT_OK)
        status = sxt_ksym_writer_add_functions(writer, symbols, error);
    sxt_symbols_free(&symbols);
    return status;
}

static bool is_text(const struct sxt_file *file)
{
    size_t size = file->size < 4096 ? file->size : 4096;
    return size > 0 && memchr(file->data, 0, size) == NULL;
}

static int add_content(sxt_ksym_writer *writer, const struct sxt_file *file, sxt_error *error)
{
    sxt_ksym ksym;
    switch (sxt_kind_of(file->data, file->size, &ksym)) {
    case SXT_KIND_ELF:
        return add_binary(writer, file, error);
    case SXT_KIND_KSYM:
        return sxt_ksym_writer_add_ksym(writer, &ksym, error);
    case SXT_KIND_LIDIA:
    case SXT_KIND_SYMBFILE:
        return add_ranges(writer, file, error);
    default:
        return is_text(file) ? sxt_ksym_writer_add_text(writer, file->data, file->size, error)
                             : sxt_fail_unknown_kind(file, error);
    }
}

int sxt_ksym_writer_add_file(sxt_ksym_writer *writer, const char *path, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_archive_open_file(&file, path, error);
    if (status != SXT_OK)
        return status;
    writer->path = path;
    status = add_content(writer, &file, error);
    writer->path = NULL;
    sxt_file_close(&file);
    return status;
}
