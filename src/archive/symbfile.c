/*
 * symbfile.c: opens a symbfile for lookups. Its records can be in any order, so they are turned into a Lidia image, in
 * order of address. Callers that open the same file often should convert it.
 *
 * A return pad is the chain for one address: it becomes a row of one byte for each of its frames, one inside the other.
 */
#include <stdlib.h>

#include "archive/private.h"
#include "base/error.h"

void sxt_archive_add_pad(struct sxt_symbols *symbols, const struct sxt_symbfile_pad *pad)
{
    uint32_t before = 0;
    for (size_t i = 0; i < pad->frame_count; i++) {
        const struct sxt_symbfile_frame *frame = &pad->frames[i];
        uint32_t file = sxt_symbols_string(symbols, frame->file.data, frame->file.size);
        sxt_symbols_add_range(symbols,
                              &(struct sxt_model_range){
                                  .address = pad->address,
                                  .length = 1,
                                  .depth = (uint32_t)i,
                                  .function = sxt_symbols_string(symbols, frame->function.data, frame->function.size),
                                  .file = file,
                                  .call_file = before,
                                  .call_line = i > 0 ? pad->frames[i - 1].line : 0,
                              });
        if (i + 1 == pad->frame_count && frame->line != 0)
            sxt_symbols_add_line(symbols, &(struct sxt_model_line){.file = file, .line = frame->line});
        before = file;
    }
}

/* Counts the pads, and adds them to SYMBOLS unless that is NULL. */
static int read_pads(const struct sxt_file *file, struct sxt_symbols *symbols, uint64_t *count, sxt_error *error)
{
    struct sxt_symbfile_reader *reader;
    int status = sxt_symbfile_reader_open(&reader, file->data, file->size, error);
    struct sxt_symbfile_record record = {.kind = SXT_SYMBFILE_PAD};
    while (status == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        status = sxt_symbfile_read(reader, &record, error);
        if (status != SXT_OK || record.kind != SXT_SYMBFILE_PAD)
            continue;
        *count += 1;
        if (symbols != NULL)
            sxt_archive_add_pad(symbols, &record.pad);
    }
    sxt_symbfile_reader_close(&reader);
    return status;
}

int sxt_archive_read_symbfile(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error)
{
    struct sxt_symbfile_reader *reader;
    int status = sxt_symbfile_reader_open(&reader, file->data, file->size, error);
    if (status == SXT_OK)
        status = sxt_symbfile_read_ranges(reader, symbols, error);
    sxt_symbfile_reader_close(&reader);
    return status;
}

int sxt_archive_open_symbfile(sxt_archive *archive, sxt_error *error)
{
    struct sxt_symbols *symbols;
    int status = sxt_symbols_new(&symbols, error);
    if (status != SXT_OK)
        return status;
    status = sxt_archive_read_symbfile(&archive->file, symbols, error);
    bool no_ranges = symbols->range_count == 0;
    if (status == SXT_OK)
        status = read_pads(&archive->file, no_ranges ? symbols : NULL, &archive->pads, error);
    if (status == SXT_OK)
        return sxt_archive_take_model(archive, &symbols, error);
    sxt_symbols_free(&symbols);
    return status;
}
