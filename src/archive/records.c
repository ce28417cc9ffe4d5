/* records.c: the records of archives, one by one or back in the model. */
#include <stdlib.h>

#include "archive/private.h"
#include "base/array.h"
#include "base/error.h"

int sxt_archive_open_file(struct sxt_file *file, const char *path, sxt_error *error)
{
    return sxt_file_open_inflated(file, path, SXT_ARCHIVE_INFLATE_LIMIT, error);
}

/* Memory that is used again for each record. */
struct room {
    sxt_line *lines;
    size_t line_capacity;
    struct sxt_pad_frame *frames;
    size_t frame_capacity;
};

static bool visit_range(const struct sxt_record_visitor *visitor, const struct sxt_symbfile_range *record,
                        struct room *room, bool *more)
{
    sxt_line *lines = sxt_array_grow(room->lines, &room->line_capacity, record->line_count + 1, sizeof *lines);
    if (lines == NULL)
        return false;
    room->lines = lines;
    for (size_t i = 0; i < record->line_count; i++)
        lines[i] = (sxt_line){.offset = record->lines[i].offset, .line = record->lines[i].line, .file = record->file};
    sxt_range range = {.address = record->address,
                       .length = record->length,
                       .depth = record->depth,
                       .call_line = record->call_line,
                       .function = record->function,
                       .file = record->file,
                       .call_file = record->call_file,
                       .line_count = record->line_count};
    *more = visitor->range(visitor->data, &range, lines);
    return true;
}

static bool visit_pad(const struct sxt_record_visitor *visitor, const struct sxt_symbfile_pad *record,
                      struct room *room, bool *more)
{
    struct sxt_pad_frame *frames =
        sxt_array_grow(room->frames, &room->frame_capacity, record->frame_count + 1, sizeof *frames);
    if (frames == NULL)
        return false;
    room->frames = frames;
    for (size_t i = 0; i < record->frame_count; i++)
        frames[i] = (struct sxt_pad_frame){record->frames[i].function, record->frames[i].file, record->frames[i].line};
    *more = visitor->pad(visitor->data, record->address, frames, record->frame_count);
    return true;
}

static int visit_all(const struct sxt_file *file, const struct sxt_record_visitor *visitor, sxt_error *error)
{
    struct sxt_symbfile_reader *reader;
    struct room room = {0};
    int status = sxt_symbfile_reader_open(&reader, file->data, file->size, error);
    for (bool more = true; status == SXT_OK && more;) {
        struct sxt_symbfile_record record;
        status = sxt_symbfile_read(reader, &record, error);
        bool room_left = true;
        if (status != SXT_OK || record.kind == SXT_SYMBFILE_END)
            break;
        if (record.kind == SXT_SYMBFILE_RANGE)
            room_left = visit_range(visitor, &record.range, &room, &more);
        else
            room_left = visit_pad(visitor, &record.pad, &room, &more);
        if (!room_left)
            status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading records");
    }
    sxt_symbfile_reader_close(&reader);
    free(room.lines);
    free(room.frames);
    return status;
}

static bool visit_symbol(void *data, const sxt_ksym_symbol *symbol, sxt_string name)
{
    const struct sxt_record_visitor *visitor = data;
    sxt_string module = {NULL, 0};
    if (symbol->module_size > 0)
        module = (sxt_string){name.data + symbol->name_size + 2, symbol->module_size};
    return visitor->symbol(visitor->data, symbol->address, symbol->type, name, module);
}

int sxt_archive_visit(const sxt_archive *archive, const struct sxt_record_visitor *visitor, bool *has_records,
                      sxt_error *error)
{
    *has_records = true;
    if (archive->kind == SXT_KIND_SYMBFILE)
        return visit_all(&archive->file, visitor, error);
    if (archive->kind == SXT_KIND_KSYM) {
        struct sxt_record_visitor copy = *visitor;
        return sxt_ksym_visit(&archive->ksym, visit_symbol, &copy, error);
    }
    *has_records = false;
    return SXT_OK;
}

static uint32_t add_string(struct sxt_symbols *symbols, sxt_string text)
{
    return text.data != NULL ? sxt_symbols_string(symbols, text.data, text.size) : 0;
}

static uint32_t clamp(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static int read_lidia(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error)
{
    struct sxt_lidia lidia;
    int status = sxt_lidia_open(&lidia, file->data, file->size, true, error);
    for (uint64_t i = 0; status == SXT_OK && i < lidia.count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(&lidia, i, &row);
        uint32_t path = add_string(symbols, sxt_lidia_optional_string(&lidia, row.file));
        struct sxt_model_range range = {
            .address = row.address,
            .length = row.length,
            .depth = clamp(row.depth),
            .function = add_string(symbols, sxt_lidia_string(&lidia, row.function)),
            .file = path,
            .call_file = add_string(symbols, sxt_lidia_optional_string(&lidia, row.call_file)),
            .call_line = clamp(row.call_line),
        };
        sxt_symbols_add_range(symbols, &range);
        uint32_t offset, line;
        for (uint64_t k = 0; k < row.line_count && sxt_lidia_line(&lidia, &row, k, &offset, &line); k++)
            sxt_symbols_add_line(symbols, &(struct sxt_model_line){.offset = offset, .file = path, .line = line});
    }
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
    *failed = NULL;
    int status = sxt_symbols_new(out, error);
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        status = read_archive(paths[i], *out, error);
        *failed = paths[i];
    }
    if (status == SXT_OK)
        status = sxt_symbols_finish_sorted(*out, error);
    if (status != SXT_OK)
        sxt_symbols_free(out);
    return status;
}
