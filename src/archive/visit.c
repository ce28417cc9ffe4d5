/* visit.c: visits every record of an archive, one by one. */
#include <stdlib.h>

#include "archive/private.h"
#include "base/array.h"
#include "base/error.h"
#include "base/options.h"

/* Memory that is reused for each record. */
struct room {
    sxt_line *lines;
    size_t line_capacity;
    sxt_pad_frame *frames;
    size_t frame_capacity;
};

static bool visit_range(const sxt_record_visitor *visitor, const struct sxt_symbfile_range *record, struct room *room,
                        bool *more)
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

static bool visit_pad(const sxt_record_visitor *visitor, const struct sxt_symbfile_pad *record, struct room *room,
                      bool *more)
{
    sxt_pad_frame *frames =
        sxt_array_grow(room->frames, &room->frame_capacity, record->frame_count + 1, sizeof *frames);
    if (frames == NULL)
        return false;
    room->frames = frames;
    for (size_t i = 0; i < record->frame_count; i++)
        frames[i] = (sxt_pad_frame){
            .function = record->frames[i].function, .file = record->frames[i].file, .line = record->frames[i].line};
    *more = visitor->pad(visitor->data, record->address, frames, record->frame_count);
    return true;
}

static int visit_symbfile(const struct sxt_file *file, const sxt_record_visitor *visitor, sxt_error *error)
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
    const sxt_record_visitor *visitor = data;
    sxt_named named = {.name = name, .address = symbol->address, .size = symbol->size, .letter = symbol->type};
    if (symbol->module_size > 0)
        named.module = (sxt_string){name.data + symbol->name_size + 2, symbol->module_size};
    return visitor->symbol(visitor->data, &named);
}

/* The rows of a Lidia image. */
static int visit_rows(const sxt_archive *archive, const sxt_record_visitor *visitor, sxt_error *error)
{
    const struct sxt_lidia *lidia = &archive->lidia;
    struct sxt_lidia_budget budget = sxt_lidia_budget(lidia);
    struct room room = {0};
    sxt_range row;
    bool more = true;
    int status = SXT_OK;
    for (size_t i = 0; more && sxt_archive_row(archive, i, &row) == SXT_OK; i++) {
        struct sxt_lidia_row stored;
        sxt_lidia_row(lidia, i, &stored);
        status = sxt_lidia_budget_use(&budget, lidia, i, &stored, error);
        if (status != SXT_OK)
            break;
        sxt_line *lines = sxt_array_grow(room.lines, &room.line_capacity, row.line_count + 1, sizeof *lines);
        if (lines == NULL) {
            status = sxt_fail_memory(error, row.line_count * sizeof *lines);
            break;
        }
        room.lines = lines;
        size_t count = 0;
        while (count < row.line_count && sxt_archive_line(archive, i, count, &lines[count]) == SXT_OK)
            count++;
        row.line_count = count;
        more = visitor->range(visitor->data, &row, lines);
    }
    free(room.lines);
    return status;
}

static bool skip_range(void *data, const sxt_range *range, const sxt_line *lines)
{
    (void)data, (void)range, (void)lines;
    return true;
}

static bool skip_pad(void *data, uint64_t address, const sxt_pad_frame *frames, size_t count)
{
    (void)data, (void)address, (void)frames, (void)count;
    return true;
}

static bool skip_symbol(void *data, const sxt_named *symbol)
{
    (void)data, (void)symbol;
    return true;
}

int sxt_archive_visit(const sxt_archive *archive, const sxt_record_visitor *visitor, sxt_error *error)
{
    sxt_record_visitor known = {.struct_size = sizeof known};
    int status = sxt_options_take(&known, sizeof known, visitor, "sxt_record_visitor_init", error);
    if (status != SXT_OK)
        return status;
    known.range = known.range != NULL ? known.range : skip_range;
    known.pad = known.pad != NULL ? known.pad : skip_pad;
    known.symbol = known.symbol != NULL ? known.symbol : skip_symbol;
    if (archive->kind == SXT_KIND_SYMBFILE)
        return visit_symbfile(&archive->file, &known, error);
    if (archive->kind == SXT_KIND_KSYM)
        return sxt_ksym_visit(&archive->ksym, visit_symbol, &known, error);
    return visit_rows(archive, &known, error);
}

void sxt_record_visitor_init(sxt_record_visitor *visitor)
{
    *visitor = (sxt_record_visitor){.struct_size = sizeof *visitor};
}
