/*
 * open.c: opens a file of any kind, and answers the questions that are the same for every kind.
 *
 * An ELF file is turned into a Lidia image in memory, so that there is one lookup for all kinds: a binary and the
 * archive made from it give the same answers.
 */
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/options.h"
#include "mlyze/mlyze.h"
#include "size/size.h"
#include "source/elf/elf.h"
#include "source/extract.h"

static int refuse_trace(sxt_error *error)
{
    return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_HEAP_TRACE, SXT_NO_OFFSET,
                           "a heap trace, which has no symbols to look up");
}

static int open_file(sxt_archive *archive, const char *path, const sxt_open_options *options, sxt_error *error);
static int open_elf(sxt_archive *archive, const char *path, const sxt_open_options *options, sxt_error *error);
static int open_lidia(sxt_archive *archive, const sxt_open_options *options, sxt_error *error);

void sxt_open_options_init(sxt_open_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
}

int sxt_opening_take(struct sxt_opening *out, const sxt_open_options *given, sxt_error *error)
{
    sxt_open_options_init(&out->open);
    int status = sxt_options_take(&out->open, sizeof out->open, given, "sxt_open_options_init", error);
    if (status == SXT_OK)
        status = sxt_extract_options_take(&out->extract, out->open.extract, error);
    out->open.extract = &out->extract;
    return status;
}

/* Takes ownership of FILE, even if it fails. */
static int open_archive(struct sxt_file file, const char *path, const sxt_open_options *options, sxt_archive **out,
                        sxt_error *error)
{
    struct sxt_opening opening;
    int status = sxt_opening_take(&opening, options, error);
    sxt_archive *archive = status == SXT_OK ? calloc(1, sizeof *archive) : NULL;
    if (archive == NULL) {
        sxt_file_close(&file);
        return status != SXT_OK ? status : sxt_fail_memory(error, sizeof *archive);
    }
    archive->file = file;
    status = open_file(archive, path, &opening.open, error);
    if (status != SXT_OK)
        sxt_archive_close(&archive);
    *out = archive;
    return status;
}

int sxt_archive_open_path(const char *path, const sxt_open_options *options, sxt_archive **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    return status == SXT_OK ? open_archive(file, path, options, out, error) : status;
}

int sxt_archive_open_fd(int fd, const sxt_open_options *options, sxt_archive **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_file file;
    int status = sxt_file_open_fd(&file, fd, error);
    return status == SXT_OK ? open_archive(file, NULL, options, out, error) : status;
}

int sxt_archive_open_memory(const void *data, size_t size, const sxt_open_options *options, sxt_archive **out,
                            sxt_error *error)
{
    *out = NULL;
    struct sxt_file file;
    sxt_file_from_memory(&file, data, size);
    return open_archive(file, NULL, options, out, error);
}

void sxt_archive_close(sxt_archive **archive)
{
    if (*archive == NULL)
        return;
    free((*archive)->image);
    sxt_archive_close_size(*archive);
    sxt_symbols_free(&(*archive)->symbols);
    sxt_module_free(&(*archive)->stored);
    sxt_file_close(&(*archive)->file);
    free(*archive);
    *archive = NULL;
}

static int open_file(sxt_archive *archive, const char *path, const sxt_open_options *options, sxt_error *error)
{
    if (sxt_kind_of_compressed(&archive->file) == SXT_KIND_TRACE)
        return refuse_trace(error);
    archive->stored_size = archive->file.size;
    int status = sxt_file_inflate(&archive->file, options->extract->inflate_limit, error);
    if (status != SXT_OK)
        return status;
    archive->kind = sxt_kind_of(archive->file.data, archive->file.size, &archive->ksym);
    switch (archive->kind) {
    case SXT_KIND_SYMBFILE:
        return sxt_archive_open_symbfile(archive, error);
    case SXT_KIND_KSYM:
        return sxt_archive_open_ksym(archive, options, error);
    case SXT_KIND_SIZE:
    case SXT_KIND_SIZEDIFF:
        return sxt_archive_open_size(archive, error);
    case SXT_KIND_TRACE:
        return refuse_trace(error);
    case SXT_KIND_LIDIA:
        return open_lidia(archive, options, error);
    case SXT_KIND_ELF:
        return open_elf(archive, path, options, error);
    default:
        return sxt_fail_unknown_kind(&archive->file, error);
    }
}

/* Facts that cannot be read are as if they were absent. */
static int open_lidia(sxt_archive *archive, const sxt_open_options *options, sxt_error *error)
{
    int status = sxt_lidia_open(&archive->lidia, archive->file.data, archive->file.size, options->check_crc, error);
    if (status == SXT_OK && sxt_lidia_read_module(&archive->lidia, &archive->stored, NULL) != SXT_OK)
        sxt_module_free(&archive->stored);
    sxt_archive_note_build_id(archive);
    return status;
}

int sxt_archive_take_model(sxt_archive *archive, struct sxt_symbols **symbols, sxt_error *error)
{
    const struct sxt_lidia_settings settings = {0};
    size_t size;
    int status = sxt_symbols_finish_sorted(*symbols, error);
    if (status == SXT_OK)
        status = sxt_lidia_encode(*symbols, &settings, &archive->image, &size, NULL, error);
    if (status == SXT_OK)
        status = sxt_lidia_open(&archive->lidia, archive->image, size, false, error);
    archive->stored = (*symbols)->module;
    (*symbols)->module = (struct sxt_model_module){0};
    sxt_archive_note_build_id(archive);
    sxt_symbols_free(symbols);
    return status;
}

static int open_elf(sxt_archive *archive, const char *path, const sxt_open_options *options, sxt_error *error)
{
    int status = sxt_extract(&archive->file, path, options->extract, &archive->symbols, error);
    if (status != SXT_OK)
        return status;
    sxt_archive_note_build_id(archive);
    const struct sxt_lidia_settings settings = {
        .demangle = !options->mangled,
        .threads = options->extract->threads,
        .reference = archive->symbols->reference,
    };
    size_t size;
    status = sxt_lidia_encode(archive->symbols, &settings, &archive->image, &size, NULL, error);
    if (status == SXT_OK)
        status = sxt_lidia_open(&archive->lidia, archive->image, size, false, error);
    return status;
}

size_t sxt_archive_lookup(const sxt_archive *archive, uint64_t address, sxt_frame *frames, size_t capacity)
{
    return sxt_lidia_lookup(&archive->lidia, address, frames, capacity);
}

size_t sxt_archive_lookup_batch(const sxt_archive *archive, const uint64_t *addresses, size_t count, sxt_frame *frames,
                                size_t capacity, size_t *first)
{
    return sxt_lidia_lookup_batch(&archive->lidia, addresses, count, frames, capacity, first);
}

void sxt_archive_whole_range(const sxt_archive *archive, sxt_frame *frame)
{
    sxt_lidia_whole_range(&archive->lidia, frame);
}

size_t sxt_archive_row_count(const sxt_archive *archive)
{
    return archive->lidia.count;
}

static uint32_t clamp(uint64_t value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

int sxt_archive_row(const sxt_archive *archive, size_t index, sxt_range *out)
{
    const struct sxt_lidia *lidia = &archive->lidia;
    if (index >= lidia->count)
        return SXT_ERROR_USAGE;
    struct sxt_lidia_row row;
    sxt_lidia_row(lidia, index, &row);
    sxt_string function = sxt_lidia_string(lidia, row.function);
    uint64_t lines = 0;
    if (row.first_line < lidia->line_count)
        lines =
            row.line_count < lidia->line_count - row.first_line ? row.line_count : lidia->line_count - row.first_line;
    *out = (sxt_range){
        .address = row.address,
        .length = row.length,
        .depth = clamp(row.depth),
        .call_line = clamp(row.call_line),
        .function = function.data != NULL ? function : (sxt_string){"", 0},
        .file = sxt_lidia_optional_string(lidia, row.file),
        .call_file = sxt_lidia_optional_string(lidia, row.call_file),
        .line_count = lines,
        .source = 0,
    };
    return SXT_OK;
}

int sxt_archive_line(const sxt_archive *archive, size_t row, size_t index, sxt_line *out)
{
    if (row >= archive->lidia.count)
        return SXT_ERROR_USAGE;
    struct sxt_lidia_row fields;
    sxt_lidia_row(&archive->lidia, row, &fields);
    *out = (sxt_line){.file = sxt_lidia_optional_string(&archive->lidia, fields.file)};
    return sxt_lidia_line(&archive->lidia, &fields, index, &out->offset, &out->line) ? SXT_OK : SXT_ERROR_USAGE;
}
