/*
 * split.c: symbfiles into parts.
 *
 * A part is a symbfile of its own, and the server reads the parts of a set one after another. So a function stays in
 * one part with all that is inlined into it, and with the pieces that it was cut into where its source file changes.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "base/unnamed.h"
#include "push/private.h"
#include "push/split.h"
#include "symbfile/symbfile.h"

struct splitter {
    struct sxt_push_binary *binary;
    struct sxt_push_set *set;
    const struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_writer *writer; /* of the part that is being made; NULL: none */
    struct sxt_buffer part;
    struct sxt_buffer function; /* name of the last function */
    uint64_t end;               /* of its last piece */
};

/* --- one part --- */

/* The facts about the binary go into every part; a FileID that the user gave wins. */
static int write_module(struct splitter *splitter, sxt_error *error)
{
    struct sxt_model_module module = *sxt_symbfile_module(splitter->reader);
    const struct sxt_path_maps no_maps = {0};
    if (!sxt_module_is_known(&module))
        return SXT_OK;
    if (splitter->binary->is_file_id_forced) {
        for (size_t i = 0; i < SXT_FILE_ID_SIZE; i++)
            module.file_id[i] = (uint8_t)(sxt_hex_digit(splitter->binary->file_id[2 * i]) << 4 |
                                          sxt_hex_digit(splitter->binary->file_id[2 * i + 1]));
        module.has_file_id = true;
    }
    return sxt_symbfile_add_module(splitter->writer, &module, &no_maps, error);
}

static int begin_part(struct splitter *splitter, sxt_error *error)
{
    sxt_buffer_clear(&splitter->part);
    int status = sxt_symbfile_writer_open(&splitter->writer, sxt_symbfile_to_buffer(&splitter->part), error);
    return status == SXT_OK ? write_module(splitter, error) : status;
}

/* The sizes are hashed too: parts that are cut elsewhere are another set. */
static void hash_part(struct splitter *splitter)
{
    struct sxt_push_set *set = splitter->set;
    uint8_t size[8];
    for (int i = 0; i < 8; i++)
        size[i] = (uint8_t)((uint64_t)splitter->part.size >> 8 * i);
    if (set->count == 0)
        sxt_sha256_init(&set->hash);
    sxt_sha256_add(&set->hash, size, sizeof size);
    sxt_sha256_add(&set->hash, splitter->part.data, splitter->part.size);
}

static int end_part(struct splitter *splitter, sxt_error *error)
{
    struct sxt_push_set *set = splitter->set;
    if (splitter->writer == NULL)
        return SXT_OK;
    int status = sxt_symbfile_writer_finish(splitter->writer, error);
    sxt_symbfile_writer_close(&splitter->writer);
    if (status == SXT_OK)
        status = sxt_buffer_status(&splitter->part, error);
    if (status == SXT_OK && !set->has_file) {
        status = sxt_unnamed_open(&set->file, error);
        set->has_file = status == SXT_OK;
    }
    struct sxt_push_part *parts = sxt_array_grow(set->parts, &set->capacity, set->count + 1, sizeof *parts);
    if (parts == NULL && status == SXT_OK)
        status = sxt_fail_memory(error, (set->count + 1) * sizeof *parts);
    if (parts != NULL)
        set->parts = parts;
    if (status == SXT_OK)
        status = sxt_output_write(&set->file, splitter->part.data, splitter->part.size, error);
    if (status != SXT_OK)
        return status;
    hash_part(splitter);
    parts[set->count++] = (struct sxt_push_part){.offset = set->size, .size = splitter->part.size};
    set->size += splitter->part.size;
    return SXT_OK;
}

/* Makes room for a record that may begin another part. */
static int make_room(struct splitter *splitter, bool may_begin, sxt_error *error)
{
    int status = SXT_OK;
    if (splitter->writer != NULL && may_begin &&
        splitter->part.size + sxt_symbfile_writer_kept(splitter->writer) >= splitter->binary->part_size)
        status = end_part(splitter, error);
    if (status == SXT_OK && splitter->writer == NULL)
        status = begin_part(splitter, error);
    return status;
}

/* --- records --- */

/* Other writers do not mark the pieces of a function, but they are side by side and have its name. */
static bool begins_function(const struct splitter *splitter, const struct sxt_symbfile_range *range)
{
    return range->depth == 0 && !range->continues &&
           !(range->address == splitter->end && range->function.size == splitter->function.size &&
             memcmp(range->function.data, splitter->function.data, range->function.size) == 0);
}

static bool is_goexit(sxt_string name)
{
    return sxt_string_is(name, "runtime.goexit") || sxt_string_is(name, "runtime.goexit.abi0");
}

static int add_range(struct splitter *splitter, const struct sxt_symbfile_range *range, sxt_error *error)
{
    struct sxt_push_binary *binary = splitter->binary;
    int status = make_room(splitter, begins_function(splitter, range), error);
    if (status != SXT_OK)
        return status;
    if (range->depth == 0) {
        sxt_buffer_clear(&splitter->function);
        sxt_buffer_append(&splitter->function, range->function.data, range->function.size);
        splitter->end = range->address + range->length;
        binary->functions++;
        binary->with_lines += range->line_count > 0;
        binary->is_go |= is_goexit(range->function);
    } else {
        binary->inlines++;
    }
    binary->lines += range->line_count;
    return sxt_symbfile_add_range(splitter->writer, range, error);
}

static int add_pad(struct splitter *splitter, const struct sxt_symbfile_pad *pad, sxt_error *error)
{
    int status = make_room(splitter, true, error);
    splitter->binary->pads++;
    return status == SXT_OK ? sxt_symbfile_add_pad(splitter->writer, pad, error) : status;
}

static int split_records(struct splitter *splitter, struct sxt_symbfile_reader *reader, enum sxt_push_kind kind,
                         sxt_error *error)
{
    struct sxt_symbfile_record record;
    int status;
    while ((status = sxt_symbfile_read(reader, &record, error)) == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        if (record.kind == SXT_SYMBFILE_RANGE && kind == SXT_PUSH_RANGES)
            status = add_range(splitter, &record.range, error);
        else if (record.kind == SXT_SYMBFILE_PAD && kind == SXT_PUSH_PADS)
            status = add_pad(splitter, &record.pad, error);
        if (status != SXT_OK)
            return status;
    }
    return status == SXT_OK ? end_part(splitter, error) : status;
}

int sxt_push_split(struct sxt_push_binary *binary, enum sxt_push_kind kind, struct sxt_symbfile_reader *reader,
                   sxt_error *error)
{
    struct splitter splitter = {.binary = binary, .set = &binary->sets[kind], .reader = reader, .end = UINT64_MAX};
    sxt_buffer_init(&splitter.part, SIZE_MAX);
    sxt_buffer_init(&splitter.function, SIZE_MAX);
    int status = split_records(&splitter, reader, kind, error);
    sxt_symbfile_writer_close(&splitter.writer);
    sxt_buffer_free(&splitter.part);
    sxt_buffer_free(&splitter.function);
    return status;
}
