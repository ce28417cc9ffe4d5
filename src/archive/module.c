/* module.c: the facts about its binary that an archive has. */
#include "archive/private.h"
#include "base/error.h"

const struct sxt_model_module *sxt_archive_module(const sxt_archive *archive)
{
    return archive->symbols != NULL ? &archive->symbols->module : &archive->stored;
}

bool sxt_archive_has_offsets(const sxt_archive *archive)
{
    const struct sxt_model_module *module = sxt_archive_module(archive);
    return module->segment_count > 0 && !module->no_offsets;
}

int sxt_archive_segment(const sxt_archive *archive, size_t index, sxt_segment *out)
{
    const struct sxt_model_module *module = sxt_archive_module(archive);
    if (index >= module->segment_count)
        return SXT_ERROR_USAGE;
    const struct sxt_model_segment *segment = &module->segments[index];
    *out = (sxt_segment){.offset = segment->offset,
                         .file_size = segment->file_size,
                         .address = segment->address,
                         .memory_size = segment->memory_size,
                         .flags = segment->flags};
    return SXT_OK;
}

int sxt_archive_address_of_offset(const sxt_archive *archive, uint64_t offset, uint64_t *address, sxt_error *error)
{
    const struct sxt_model_module *module = sxt_archive_module(archive);
    if (archive->symbols == NULL && module->segment_count == 0)
        return sxt_fail_reason(error, SXT_ERROR_USAGE, SXT_REASON_NO_SEGMENTS, SXT_NO_OFFSET,
                               "without the segments of the binary, file offsets cannot be turned into addresses");
    if (module->no_offsets)
        return sxt_fail_reason(error, SXT_ERROR_USAGE, SXT_REASON_NO_SEGMENTS, SXT_NO_OFFSET,
                               "made from a debug file, whose file offsets are not those of the binary");
    if (sxt_module_address_of(module, offset, address))
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_NOT_FOUND, offset, "no segment is loaded from there");
}

static void read_lidia(const struct sxt_file *file, struct sxt_model_module *out)
{
    struct sxt_lidia lidia;
    if (sxt_lidia_open(&lidia, file->data, file->size, false, NULL) == SXT_OK &&
        sxt_lidia_read_module(&lidia, out, NULL) != SXT_OK)
        sxt_module_free(out);
}

/* The facts come before all records. A file of return pads answers only for return addresses. */
static void read_symbfile(const struct sxt_file *file, struct sxt_model_module *out)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record;
    if (sxt_symbfile_reader_open(&reader, file->data, file->size, NULL) == SXT_OK) {
        bool has_ranges = sxt_symbfile_read(reader, &record, NULL) == SXT_OK && record.kind == SXT_SYMBFILE_RANGE;
        if (has_ranges && !sxt_module_merge(out, sxt_symbfile_module(reader)))
            sxt_module_free(out);
    }
    sxt_symbfile_reader_close(&reader);
}

bool sxt_archive_read_module(const struct sxt_file *file, struct sxt_model_module *out)
{
    *out = (struct sxt_model_module){0};
    if (sxt_lidia_is(file->data, file->size))
        read_lidia(file, out);
    else if (sxt_symbfile_is(file->data, file->size))
        read_symbfile(file, out);
    return sxt_module_is_known(out);
}
