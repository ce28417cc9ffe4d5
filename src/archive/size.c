/*
 * size.c: SuperSize files as archives. Their functions can be looked up as those of any other, without lines; size.h,
 * diff and query are for the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/error.h"
#include "size/size.h"
#include "source/ar.h"
#include "source/elf.h"

const struct sxt_size *sxt_archive_size(const sxt_archive *archive)
{
    return archive->size;
}

const struct sxt_sizediff *sxt_archive_sizediff(const sxt_archive *archive)
{
    return archive->sizediff;
}

/* Code of all symbols; of aliases, the first. */
static void add_functions(const struct sxt_size *size, struct sxt_symbols *symbols)
{
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_symbol *symbol = &size->symbols[i];
        const struct sxt_size_segment *segment = &size->segments[symbol->segment];
        bool is_first = symbol->group == 0 || size->groups[symbol->group - 1].first == i;
        int64_t length = symbol->size - symbol->padding;
        if (segment->letter != 't' || !is_first || symbol->address == 0 || length <= 0 || symbol->full_name_size == 0)
            continue;
        sxt_string source = size->paths[symbol->path].source;
        sxt_symbols_add_range(symbols,
                              &(struct sxt_model_range){
                                  .address = symbol->address,
                                  .length = (uint64_t)length,
                                  .function = sxt_symbols_string(symbols, symbol->full_name, symbol->full_name_size),
                                  .file = sxt_symbols_string(symbols, source.data, source.size),
                              });
    }
}

int sxt_archive_open_size(sxt_archive *archive, sxt_error *error)
{
    int status;
    const struct sxt_size *size;
    if (archive->kind == SXT_ARCHIVE_SIZEDIFF) {
        archive->sizediff = calloc(1, sizeof *archive->sizediff);
        if (archive->sizediff == NULL)
            return sxt_fail_memory(error, sizeof *archive->sizediff);
        status = sxt_sizediff_open(archive->file.data, archive->file.size, NULL, archive->sizediff, error);
        size = archive->sizediff->after;
    } else {
        status = sxt_size_open(archive->file.data, archive->file.size, NULL, &archive->size, error);
        size = archive->size;
    }
    struct sxt_symbols *symbols = NULL;
    if (status == SXT_OK)
        status = sxt_symbols_new(&symbols, error);
    if (status != SXT_OK)
        return status;
    add_functions(size, symbols);
    return sxt_archive_take_model(archive, &symbols, error);
}

void sxt_archive_close_size(sxt_archive *archive)
{
    sxt_size_free(&archive->size);
    if (archive->sizediff != NULL)
        sxt_sizediff_free(archive->sizediff);
    free(archive->sizediff);
}

static int make(const char *path, const struct sxt_size_load_options *options, struct sxt_size **out, sxt_error *error)
{
    struct sxt_size_make_options defaults;
    const char *failed;
    sxt_size_make_options_init(&defaults);
    return sxt_size_make(&path, 1, options != NULL && options->make != NULL ? options->make : &defaults, out, &failed,
                         error);
}

int sxt_size_load(const char *path, const struct sxt_size_load_options *options, enum sxt_size_kind *kind,
                  struct sxt_size **size, struct sxt_sizediff *diff, sxt_error *error)
{
    struct sxt_file file;
    struct sxt_size_limits limits = {.inflated = options != NULL ? options->max_size : 0};
    *size = NULL;
    *diff = (struct sxt_sizediff){.before = NULL};
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    if (sxt_sizediff_is(file.data, file.size)) {
        *kind = SXT_SIZE_DIFF_FILE;
        status = sxt_sizediff_open(file.data, file.size, &limits, diff, error);
    } else if (sxt_size_is(file.data, file.size)) {
        *kind = SXT_SIZE_FILE;
        status = sxt_size_open(file.data, file.size, &limits, size, error);
    } else {
        *kind = SXT_SIZE_BINARY;
        status = strcmp(path, "-") == 0 ? sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                                                   "a binary is read more than once; give it as a file")
                                        : make(path, options, size, error);
    }
    sxt_file_close(&file);
    return status;
}
