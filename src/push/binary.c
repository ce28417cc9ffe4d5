/* binary.c: the symbols of a binary, as parts in temporary files. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_id.h"
#include "base/hex.h"
#include "base/unnamed.h"
#include "push/private.h"
#include "push/split.h"
#include "symbfile/symbfile.h"

#define INFLATE_LIMIT ((uint64_t)4 << 30)

const char *sxt_push_kind_name(enum sxt_push_kind kind)
{
    return kind == SXT_PUSH_RANGES ? "ranges" : "return pads";
}

void sxt_push_binary_free(struct sxt_push_binary *binary)
{
    for (int i = 0; i < SXT_PUSH_KINDS; i++) {
        struct sxt_push_set *set = &binary->sets[i];
        free(set->parts);
        if (set->has_file)
            sxt_output_abandon(&set->file);
        set->parts = NULL;
        set->count = set->capacity = 0;
        set->has_file = false;
    }
}

bool sxt_push_parse_file_id(const char *text, char out[33])
{
    uint8_t bytes[SXT_FILE_ID_SIZE];
    size_t size = strlen(text);
    if (size == 32 && strspn(text, "0123456789abcdefABCDEF") == 32)
        for (size_t i = 0; i < SXT_FILE_ID_SIZE; i++)
            bytes[i] = (uint8_t)(sxt_hex_digit(text[2 * i]) << 4 | sxt_hex_digit(text[2 * i + 1]));
    else if (!sxt_base64url_decode(bytes, sizeof bytes, text, size))
        return false;
    sxt_hex_encode(out, bytes, sizeof bytes);
    return true;
}

/* --- from an ELF file --- */

/* A temporary file with a whole symbfile, which is read from its beginning. */
struct stream {
    struct sxt_output file;
    uint64_t at;
};

static int read_stream(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    struct stream *stream = context;
    ssize_t count = pread(stream->file.fd, to, size, (off_t)stream->at);
    *got = count > 0 ? (size_t)count : 0;
    stream->at += *got;
    return count >= 0 ? SXT_OK : sxt_fail_errno(error, errno, "cannot read a temporary file");
}

static int split_stream(struct sxt_push_binary *binary, enum sxt_push_kind kind, struct stream *stream,
                        sxt_error *error)
{
    struct sxt_symbfile_reader *reader;
    int status = sxt_symbfile_reader_open_stream(&reader, read_stream, stream, error);
    if (status == SXT_OK)
        status = sxt_push_split(binary, kind, reader, error);
    sxt_symbfile_reader_close(&reader);
    return status;
}

/* Writes the symbfiles of SYMBOLS to STREAMS. A machine whose calls are not known has no return pads. */
static int write_symbfiles(struct sxt_push_binary *binary, const sxt_symbols *symbols, const char *path,
                           const sxt_symbfile_options *options, struct stream streams[2], sxt_error *error)
{
    int failed = 0;
    int status = sxt_symbfile_write_both_fd(symbols, path, options, streams[0].file.fd, streams[1].file.fd, NULL,
                                            &failed, error);
    if (status != SXT_ERROR_UNSUPPORTED || failed != 1)
        return status;
    binary->calls_are_unknown = true;
    if (ftruncate(streams[0].file.fd, 0) != 0 || lseek(streams[0].file.fd, 0, SEEK_SET) != 0)
        return sxt_fail_errno(error, errno, "cannot write a temporary file");
    return sxt_symbfile_write_ranges_fd(symbols, options, streams[0].file.fd, NULL, error);
}

static int split_symbols(struct sxt_push_binary *binary, sxt_symbols **symbols, const char *path,
                         const sxt_symbfile_options *options, struct stream streams[2], sxt_error *error)
{
    int status = write_symbfiles(binary, *symbols, path, options, streams, error);
    sxt_symbols_free(symbols);
    if (status == SXT_OK)
        status = split_stream(binary, SXT_PUSH_RANGES, &streams[0], error);
    /* The space may be needed for the parts of the other one. */
    sxt_output_abandon(&streams[0].file);
    if (status == SXT_OK && !binary->calls_are_unknown)
        status = split_stream(binary, SXT_PUSH_PADS, &streams[1], error);
    return status;
}

int sxt_push_add_elf(struct sxt_push_binary *binary, const char *path, const sxt_extract_options *extract,
                     const sxt_symbfile_options *options, sxt_error *error)
{
    struct stream streams[2] = {{.file = {.fd = -1}}, {.file = {.fd = -1}}};
    sxt_symbols *symbols;
    int status = sxt_symbols_from_path(path, extract, &symbols, error);
    if (status != SXT_OK || sxt_symbols_range_count(symbols) == 0) {
        sxt_symbols_free(&symbols);
        return status;
    }
    bool is_open[2] = {false};
    for (int i = 0; i < 2 && status == SXT_OK; i++) {
        status = sxt_unnamed_open(&streams[i].file, error);
        is_open[i] = status == SXT_OK;
    }
    if (status == SXT_OK)
        status = split_symbols(binary, &symbols, path, options, streams, error);
    sxt_symbols_free(&symbols);
    for (int i = 0; i < 2; i++)
        if (is_open[i])
            sxt_output_abandon(&streams[i].file);
    return status;
}

/* --- from a symbfile --- */

static int open_symbfile(const char *path, struct sxt_file *file, sxt_error *error)
{
    return sxt_file_open_inflated(file, path, INFLATE_LIMIT, error);
}

int sxt_push_add_symbfile(struct sxt_push_binary *binary, const char *path, sxt_error *error)
{
    struct sxt_file file;
    int status = open_symbfile(path, &file, error);
    if (status != SXT_OK)
        return status;
    for (int i = 0; i < SXT_PUSH_KINDS && status == SXT_OK; i++) {
        struct sxt_symbfile_reader *reader;
        status = sxt_symbfile_reader_open(&reader, file.data, file.size, error);
        if (status == SXT_OK)
            status = sxt_push_split(binary, (enum sxt_push_kind)i, reader, error);
        sxt_symbfile_reader_close(&reader);
    }
    sxt_file_close(&file);
    return status;
}

int sxt_push_identify_symbfile(const char *path, char file_id[33], char build_id[130], sxt_error *error)
{
    struct sxt_file file;
    struct sxt_symbfile_reader *reader = NULL;
    struct sxt_symbfile_record record;
    file_id[0] = build_id[0] = 0;
    int status = open_symbfile(path, &file, error);
    if (status != SXT_OK)
        return status;
    status = sxt_symbfile_reader_open(&reader, file.data, file.size, error);
    /* The facts come before the first record. */
    if (status == SXT_OK)
        status = sxt_symbfile_read(reader, &record, error);
    if (status == SXT_OK) {
        const struct sxt_model_module *module = sxt_symbfile_module(reader);
        if (module->has_file_id)
            sxt_hex_encode(file_id, module->file_id, SXT_FILE_ID_SIZE);
        sxt_hex_encode(build_id, module->build_id, module->build_id_size);
    }
    sxt_symbfile_reader_close(&reader);
    sxt_file_close(&file);
    return status;
}

void sxt_push_binary_finish(struct sxt_push_binary *binary)
{
    for (int i = 0; i < SXT_PUSH_KINDS; i++) {
        struct sxt_push_set *set = &binary->sets[i];
        uint8_t digest[SXT_SHA256_SIZE];
        if (set->count == 0)
            continue;
        sxt_sha256_end(&set->hash, digest);
        sxt_hex_encode(set->generation, digest, sizeof digest);
    }
}
