/*
 * zip.c: reads zip files, with minizip. The library is loaded on first use, so that it costs other runs nothing.
 */
#include "source/zip.h"

#include <dlfcn.h>
#include <minizip/unzip.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/cursor.h"
#include "base/error.h"

#define SONAME          "libminizip.so.1"

#define LOCAL_HEADER    0x04034b50u
#define CENTRAL_HEADER  0x02014b50u
#define DESCRIPTOR      0x08074b50u
#define END_OF_CENTRAL  0x06054b50u

#define END_RECORD_SIZE 22

/* How many bytes a byte of deflate can become at most. */
#define DEFLATE_RATIO 1032u

/* The functions of minizip that are used. */
struct sxt_minizip {
    __typeof__(unzOpen2_64) *unzOpen2_64;
    __typeof__(unzClose) *unzClose;
    __typeof__(unzGetGlobalInfo64) *unzGetGlobalInfo64;
    __typeof__(unzGoToFirstFile) *unzGoToFirstFile;
    __typeof__(unzGoToNextFile) *unzGoToNextFile;
    __typeof__(unzGetCurrentFileInfo64) *unzGetCurrentFileInfo64;
    __typeof__(unzGetOffset64) *unzGetOffset64;
    __typeof__(unzGoToFilePos64) *unzGoToFilePos64;
    __typeof__(unzOpenCurrentFile) *unzOpenCurrentFile;
    __typeof__(unzReadCurrentFile) *unzReadCurrentFile;
    __typeof__(unzCloseCurrentFile) *unzCloseCurrentFile;
};

static int load_minizip(struct sxt_zip *zip, sxt_error *error);
static int read_entries(struct sxt_zip *zip, sxt_error *error);
static int check_order(struct sxt_zip *zip, sxt_error *error);
static uint64_t measure_signing_block(const struct sxt_zip *zip, uint64_t end);

/* It stays loaded; loading it again costs nothing. */
static int load_minizip(struct sxt_zip *zip, sxt_error *error)
{
    void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        SONAME " cannot be loaded, which reads zip files (Debian: apt-get install libminizip1)");
    struct sxt_minizip *minizip = sxt_arena_calloc(&zip->arena, 1, sizeof *minizip);
    if (minizip == NULL)
        return sxt_fail_memory(error, sizeof *minizip);
    /* A function pointer cannot be cast from void * in ISO C; POSIX requires storing it this way. */
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"unzOpen2_64", &minizip->unzOpen2_64},
        {"unzClose", &minizip->unzClose},
        {"unzGetGlobalInfo64", &minizip->unzGetGlobalInfo64},
        {"unzGoToFirstFile", &minizip->unzGoToFirstFile},
        {"unzGoToNextFile", &minizip->unzGoToNextFile},
        {"unzGetCurrentFileInfo64", &minizip->unzGetCurrentFileInfo64},
        {"unzGetOffset64", &minizip->unzGetOffset64},
        {"unzGoToFilePos64", &minizip->unzGoToFilePos64},
        {"unzOpenCurrentFile", &minizip->unzOpenCurrentFile},
        {"unzReadCurrentFile", &minizip->unzReadCurrentFile},
        {"unzCloseCurrentFile", &minizip->unzCloseCurrentFile},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL)
            return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, SONAME " has no function %s",
                            functions[i].name);
        memcpy(functions[i].place, &function, sizeof function);
    }
    zip->minizip = minizip;
    return SXT_OK;
}

/* --- the file, as minizip reads it --- */

static voidpf open_memory(voidpf opaque, const void *path, int mode)
{
    (void)path;
    (void)mode;
    return opaque;
}

static uLong read_memory(voidpf opaque, voidpf stream, void *out, uLong size)
{
    (void)stream;
    struct sxt_zip *zip = opaque;
    size_t left = zip->position < zip->size ? zip->size - (size_t)zip->position : 0;
    size_t count = size < left ? size : left;
    if (count > 0)
        memcpy(out, zip->data + zip->position, count);
    zip->position += count;
    return (uLong)count;
}

static ZPOS64_T tell_memory(voidpf opaque, voidpf stream)
{
    (void)stream;
    return ((const struct sxt_zip *)opaque)->position;
}

static long seek_memory(voidpf opaque, voidpf stream, ZPOS64_T offset, int origin)
{
    (void)stream;
    struct sxt_zip *zip = opaque;
    uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET ? 0 : origin == ZLIB_FILEFUNC_SEEK_CUR ? zip->position : zip->size;
    /* minizip goes beyond the end when an extra field is padding and no list of fields; it reads nothing there. */
    return sxt_add_u64(base, offset, &zip->position) ? 0 : -1;
}

static int do_nothing(voidpf opaque, voidpf stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

/* --- the directory --- */

bool sxt_zip_is(const uint8_t *data, size_t size)
{
    if (size < END_RECORD_SIZE)
        return false;
    uint32_t magic = sxt_load_u32le(data);
    return magic == LOCAL_HEADER || magic == END_OF_CENTRAL;
}

int sxt_zip_open(struct sxt_zip *zip, const uint8_t *data, size_t size, sxt_error *error)
{
    *zip = (struct sxt_zip){.data = data, .size = size};
    sxt_arena_init(&zip->arena, 0, sxt_arena_separate_default);
    zlib_filefunc64_def functions = {.zopen64_file = open_memory,
                                     .zread_file = read_memory,
                                     .ztell64_file = tell_memory,
                                     .zseek64_file = seek_memory,
                                     .zclose_file = do_nothing,
                                     .zerror_file = do_nothing,
                                     .opaque = zip};
    if (!sxt_zip_is(data, size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not a zip file");
    /* A file without entries is just its end record, which minizip does not take. */
    if (sxt_load_u32le(data) == END_OF_CENTRAL && (uint64_t)END_RECORD_SIZE + sxt_load_u16le(data + 20) == size)
        return SXT_OK;
    int status = load_minizip(zip, error);
    if (status != SXT_OK) {
        sxt_zip_close(zip);
        return status;
    }
    zip->reader = zip->minizip->unzOpen2_64("", &functions);
    status = zip->reader != NULL ? read_entries(zip, error)
                                 : sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                                            "the zip file is cut off: its central directory is missing");
    if (status == SXT_OK)
        status = check_order(zip, error);
    if (status != SXT_OK)
        sxt_zip_close(zip);
    return status;
}

void sxt_zip_close(struct sxt_zip *zip)
{
    if (zip->reader != NULL)
        zip->minizip->unzClose(zip->reader);
    free(zip->entries);
    sxt_arena_free(&zip->arena);
    *zip = (struct sxt_zip){.data = NULL};
}

/* An offset of 0xffffffff in the header is in the extra field of zip64, after the sizes that do not fit either. */
static uint64_t wide_offset(struct sxt_cursor extra, uint32_t expanded, uint32_t stored)
{
    while (sxt_cursor_left(&extra) >= 4) {
        uint16_t id = sxt_cursor_u16(&extra), size = sxt_cursor_u16(&extra);
        struct sxt_cursor field = sxt_cursor_slice(&extra, extra.at, size);
        sxt_cursor_skip(&extra, size);
        if (id != 1)
            continue;
        if (expanded == UINT32_MAX)
            sxt_cursor_u64(&field);
        if (stored == UINT32_MAX)
            sxt_cursor_u64(&field);
        uint64_t offset = sxt_cursor_u64(&field);
        return field.failed ? UINT64_MAX : offset;
    }
    return UINT64_MAX;
}

/* Where the local header of the entry is, from its header in the central directory. */
static int find_header(const struct sxt_zip *zip, struct sxt_zip_entry *entry, sxt_error *error)
{
    struct sxt_cursor central = sxt_cursor_make(zip->data, zip->size, 0, false);
    sxt_cursor_seek(&central, entry->central);
    uint32_t magic = sxt_cursor_u32(&central);
    sxt_cursor_skip(&central, 16);
    uint32_t stored = sxt_cursor_u32(&central), expanded = sxt_cursor_u32(&central);
    uint16_t name = sxt_cursor_u16(&central), extra = sxt_cursor_u16(&central), comment = sxt_cursor_u16(&central);
    sxt_cursor_skip(&central, 8);
    uint32_t offset = sxt_cursor_u32(&central);
    if (central.failed || magic != CENTRAL_HEADER ||
        sxt_cursor_left(&central) < (size_t)name + extra + comment + END_RECORD_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, entry->central,
                        "the central directory of the zip file is not where its end record says");
    entry->extra = extra;
    entry->header = offset;
    if (offset == UINT32_MAX)
        entry->header = wide_offset(sxt_cursor_slice(&central, central.at + (uint64_t)name, extra), expanded, stored);
    return SXT_OK;
}

/* A data descriptor: a checksum and two sizes of 4 or 8 bytes, usually after a magic number. */
static uint64_t descriptor_size(const struct sxt_zip *zip, uint64_t at, uint64_t stored)
{
    struct sxt_cursor cursor = sxt_cursor_make(zip->data, zip->size, 0, false);
    sxt_cursor_seek(&cursor, at);
    uint64_t size = sxt_cursor_u32(&cursor) == DESCRIPTOR ? 16 : 12;
    sxt_cursor_seek(&cursor, at + size - 8);
    bool is_narrow = sxt_cursor_u32(&cursor) == (uint32_t)stored && stored <= UINT32_MAX;
    size += is_narrow ? 0 : 8;
    return size <= zip->central - at ? size : 0;
}

static int find_data(const struct sxt_zip *zip, struct sxt_zip_entry *entry, uint16_t flags, sxt_error *error)
{
    int status = find_header(zip, entry, error);
    if (status != SXT_OK)
        return status;
    struct sxt_cursor local = sxt_cursor_make(zip->data, zip->size, 0, false);
    sxt_cursor_seek(&local, entry->header);
    uint32_t magic = sxt_cursor_u32(&local);
    sxt_cursor_skip(&local, 22);
    uint16_t name = sxt_cursor_u16(&local), extra = sxt_cursor_u16(&local);
    sxt_cursor_skip(&local, (uint64_t)name + extra);
    if (local.failed || magic != LOCAL_HEADER || local.at > zip->central)
        return sxt_fail(error, SXT_ERROR_FORMAT, entry->central, "entry '%.*s' of the zip file has no local header",
                        (int)entry->name.size, entry->name.data);
    entry->extra += extra;
    entry->data = local.at;
    if (entry->stored > zip->central - entry->data)
        return sxt_fail(error, SXT_ERROR_FORMAT, entry->header, "entry '%.*s' reaches into the central directory",
                        (int)entry->name.size, entry->name.data);
    entry->end = entry->data + entry->stored;
    if (flags & 8)
        entry->end += descriptor_size(zip, entry->end, entry->stored);
    return SXT_OK;
}

/* The entry at which minizip is. */
static int read_entry(struct sxt_zip *zip, sxt_error *error)
{
    unz_file_info64 info;
    struct sxt_zip_entry *entries = sxt_array_grow(zip->entries, &zip->capacity, zip->count + 1, sizeof *zip->entries);
    if (entries == NULL)
        return sxt_fail_memory(error, (zip->count + 1) * sizeof *entries);
    zip->entries = entries;
    uint64_t central = zip->minizip->unzGetOffset64(zip->reader);
    if (zip->minizip->unzGetCurrentFileInfo64(zip->reader, &info, NULL, 0, NULL, 0, NULL, 0) != UNZ_OK)
        return sxt_fail(error, SXT_ERROR_FORMAT, central, "an entry of the central directory is damaged");
    char *name = sxt_arena_alloc(&zip->arena, (size_t)info.size_filename + 1);
    if (name == NULL)
        return sxt_fail_memory(error, info.size_filename);
    if (zip->minizip->unzGetCurrentFileInfo64(zip->reader, &info, name, info.size_filename + 1, NULL, 0, NULL, 0) !=
        UNZ_OK)
        return sxt_fail(error, SXT_ERROR_FORMAT, central, "an entry of the central directory is damaged");
    struct sxt_zip_entry *entry = &entries[zip->count++];
    *entry = (struct sxt_zip_entry){.name = {name, info.size_filename},
                                    .stored = info.compressed_size,
                                    .expanded = info.uncompressed_size,
                                    .central = central,
                                    .crc = (uint32_t)info.crc,
                                    .method = (uint16_t)info.compression_method,
                                    .is_encrypted = (info.flag & 1) != 0};
    if (zip->count == 1)
        zip->central = central;
    return find_data(zip, entry, (uint16_t)info.flag, error);
}

static int read_entries(struct sxt_zip *zip, sxt_error *error)
{
    unz_global_info64 info;
    if (zip->minizip->unzGetGlobalInfo64(zip->reader, &info) != UNZ_OK)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the central directory cannot be read");
    zip->central = zip->size;
    if (info.number_entry == 0)
        return SXT_OK;
    int found = zip->minizip->unzGoToFirstFile(zip->reader);
    for (uint64_t i = 0; i < info.number_entry; i++) {
        if (found != UNZ_OK)
            return sxt_fail(error, SXT_ERROR_FORMAT, zip->count > 0 ? zip->entries[zip->count - 1].central : 0,
                            "the central directory has %llu entries, and %zu can be read",
                            (unsigned long long)info.number_entry, zip->count);
        int status = read_entry(zip, error);
        if (status != SXT_OK)
            return status;
        found = zip->minizip->unzGoToNextFile(zip->reader);
    }
    return SXT_OK;
}

static int by_header(const void *a, const void *b)
{
    const struct sxt_zip_entry *first = *(const struct sxt_zip_entry *const *)a;
    const struct sxt_zip_entry *second = *(const struct sxt_zip_entry *const *)b;
    return first->header < second->header ? -1 : first->header > second->header;
}

/* Entries that share bytes would be counted twice, and are how a small file expands without limit. */
static int check_order(struct sxt_zip *zip, sxt_error *error)
{
    const struct sxt_zip_entry **order = malloc((zip->count + 1) * sizeof *order);
    if (order == NULL)
        return sxt_fail_memory(error, zip->count * sizeof *order);
    for (size_t i = 0; i < zip->count; i++)
        order[i] = &zip->entries[i];
    qsort(order, zip->count, sizeof *order, by_header);
    int status = SXT_OK;
    for (size_t i = 0; i < zip->count && status == SXT_OK; i++) {
        zip->stored += order[i]->stored;
        zip->extra += order[i]->extra;
        if (i > 0 && order[i]->header < order[i - 1]->data + order[i - 1]->stored)
            status = sxt_fail(error, SXT_ERROR_FORMAT, order[i]->header, "the entries '%.*s' and '%.*s' overlap",
                              (int)order[i - 1]->name.size, order[i - 1]->name.data, (int)order[i]->name.size,
                              order[i]->name.data);
    }
    if (status == SXT_OK && zip->count > 0)
        zip->signing_block = measure_signing_block(zip, order[zip->count - 1]->end);
    free(order);
    return status;
}

/* All between the last entry, which ends at END, and the central directory, if that ends like a signing block. */
static uint64_t measure_signing_block(const struct sxt_zip *zip, uint64_t end)
{
    static const char magic[] = "APK Sig Block 42";
    uint64_t room = zip->central > end ? zip->central - end : 0;
    if (room < 32 || memcmp(zip->data + zip->central - 16, magic, 16) != 0)
        return 0;
    uint64_t size = sxt_load_u64le(zip->data + zip->central - 24);
    return size >= 24 && size <= room - 8 ? room : 0;
}

/* --- content --- */

/* How much is expanded at a time: memory is taken for what is there, not for what a header says. */
#define STEP_MOST ((size_t)1 << 20)

static bool is_readable(const struct sxt_zip_entry *entry)
{
    bool is_stored = entry->method == SXT_ZIP_STORED && entry->stored == entry->expanded;
    return !entry->is_encrypted && (is_stored || entry->method == SXT_ZIP_DEFLATED);
}

static bool open_entry(struct sxt_zip *zip, const struct sxt_zip_entry *entry)
{
    unz64_file_pos position = {entry->central, (ZPOS64_T)(entry - zip->entries)};
    return zip->minizip->unzGoToFilePos64(zip->reader, &position) == UNZ_OK &&
           zip->minizip->unzOpenCurrentFile(zip->reader) == UNZ_OK;
}

size_t sxt_zip_peek(struct sxt_zip *zip, const struct sxt_zip_entry *entry, uint8_t *out, size_t size)
{
    size = entry->expanded < size ? (size_t)entry->expanded : size;
    if (!is_readable(entry) || size == 0)
        return 0;
    if (entry->method == SXT_ZIP_STORED) {
        memcpy(out, zip->data + entry->data, size);
        return size;
    }
    if (!open_entry(zip, entry))
        return 0;
    int count = zip->minizip->unzReadCurrentFile(zip->reader, out, (unsigned)size);
    zip->minizip->unzCloseCurrentFile(zip->reader);
    return count > 0 ? (size_t)count : 0;
}

static int inflate_entry(struct sxt_zip *zip, const struct sxt_zip_entry *entry, struct sxt_file *out, sxt_error *error)
{
    /* One byte more than it should have, to see whether there is more. */
    size_t step = entry->expanded < STEP_MOST ? (size_t)entry->expanded + 1 : STEP_MOST;
    if (!open_entry(zip, entry))
        return sxt_fail(error, SXT_ERROR_FORMAT, entry->header, "the local header does not match the directory");
    struct sxt_buffer content;
    sxt_buffer_init(&content, (size_t)entry->expanded + step);
    int count = 1;
    while (count > 0 && content.size <= entry->expanded) {
        uint8_t *room = sxt_buffer_reserve(&content, step);
        count = room != NULL ? zip->minizip->unzReadCurrentFile(zip->reader, room, (unsigned)step) : 0;
        content.size += count > 0 ? (size_t)count : 0;
    }
    int closed = zip->minizip->unzCloseCurrentFile(zip->reader);
    if (!content.failed && count == 0 && closed == UNZ_OK && content.size == entry->expanded) {
        size_t size;
        *out = (struct sxt_file){.owner = SXT_FILE_ALLOCATED};
        out->data = sxt_buffer_take(&content, &size);
        out->size = size;
        return SXT_OK;
    }
    int status = content.failed
                     ? sxt_buffer_status(&content, error)
                     : sxt_fail(error, SXT_ERROR_FORMAT, entry->data,
                                closed == UNZ_CRCERROR ? "the checksum is wrong" : "the compressed bytes are damaged");
    sxt_buffer_free(&content);
    return status;
}

int sxt_zip_expand(struct sxt_zip *zip, const struct sxt_zip_entry *entry, uint64_t limit, struct sxt_file *out,
                   sxt_error *error)
{
    sxt_file_from_memory(out, zip->data, 0);
    if (entry->is_encrypted)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, entry->header, "it is encrypted");
    if (!is_readable(entry))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, entry->header, "its compression method is %u, not 0 or 8",
                        entry->method);
    if (entry->expanded > limit || entry->expanded >= SIZE_MAX / 2)
        return sxt_fail(error, SXT_ERROR_LIMIT, entry->header, "it expands to more than the limit of %llu bytes",
                        (unsigned long long)limit);
    if (entry->method == SXT_ZIP_DEFLATED && entry->expanded / DEFLATE_RATIO > entry->stored)
        return sxt_fail(error, SXT_ERROR_FORMAT, entry->header, "its size is more than it can expand to");
    if (entry->method == SXT_ZIP_DEFLATED && entry->expanded > 0)
        return inflate_entry(zip, entry, out, error);
    sxt_file_from_memory(out, zip->data + entry->data, (size_t)entry->expanded);
    if (crc32_z(0, out->data, out->size) != entry->crc)
        return sxt_fail(error, SXT_ERROR_FORMAT, entry->data, "the checksum is wrong");
    return SXT_OK;
}
