/*
 * size.c: opens SuperSize files as archives: their functions can be looked up, without lines. sextant/size.h has the
 * rest.
 */
#include <stdlib.h>

#include "archive/private.h"
#include "base/error.h"
#include "size/size.h"

const sxt_size_info *sxt_archive_size_info(const sxt_archive *archive, sxt_size_part part)
{
    if (part == SXT_SIZE_WHOLE || archive->sizediff == NULL)
        return part == SXT_SIZE_WHOLE ? archive->size : NULL;
    return part == SXT_SIZE_BEFORE ? archive->sizediff->before : archive->sizediff->after;
}

int sxt_archive_size_header(const sxt_archive *archive, char **text, size_t *size, sxt_error *error)
{
    *text = NULL;
    *size = 0;
    if (archive->size != NULL)
        return sxt_size_info_header(archive->size, text, size, error);
    if (archive->sizediff == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a SuperSize file");
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    sxt_buffer_append(&buffer, archive->sizediff->header.data, archive->sizediff->header.size);
    sxt_size_put_on_one_line(&buffer);
    int status = buffer.failed ? sxt_buffer_status(&buffer, error) : SXT_OK;
    if (status == SXT_OK)
        *text = (char *)sxt_buffer_take(&buffer, size);
    sxt_buffer_free(&buffer);
    return status;
}

/* The code of all symbols; of several aliases, only the first. */
static void add_functions(const struct sxt_size_info *size, struct sxt_symbols *symbols)
{
    for (size_t i = 0; i < size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &size->symbols[i];
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
    const struct sxt_size_info *size;
    if (archive->kind == SXT_KIND_SIZEDIFF) {
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
    sxt_size_info_free(&archive->size);
    if (archive->sizediff != NULL)
        sxt_sizediff_free(archive->sizediff);
    free(archive->sizediff);
}
