/* debug_file.c: finds debug files by a given path, by build ID, and by .gnu_debuglink. */
#include "source/debug_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hex.h"

#define BUILD_ID_SIZE 64

static int open_candidate(const char *candidate, struct sxt_elf *elf, const sxt_extract_options *options,
                          struct sxt_debug_file *debug, sxt_error *error);
static void try_build_id(struct sxt_elf *elf, const sxt_extract_options *options, struct sxt_debug_file *debug);
static void try_debug_link(struct sxt_elf *elf, const char *path, const sxt_extract_options *options,
                           struct sxt_debug_file *debug);

int sxt_debug_file_open(struct sxt_elf *elf, const char *path, const sxt_extract_options *options,
                        struct sxt_debug_file *debug, sxt_error *error)
{
    memset(debug, 0, sizeof *debug);
    if (options->debug_path != NULL) {
        sxt_error cause;
        int status = open_candidate(options->debug_path, elf, options, debug, &cause);
        if (status != SXT_OK)
            return sxt_fail(error, (sxt_status)status, SXT_NO_OFFSET, "debug file '%.80s': %.140s", options->debug_path,
                            cause.text);
        return SXT_OK;
    }
    if (options->flags & SXT_EXTRACT_NO_DEBUG_SEARCH)
        return SXT_OK;
    try_build_id(elf, options, debug);
    if (!debug->found)
        try_debug_link(elf, path, options, debug);
    return SXT_OK;
}

void sxt_debug_file_close(struct sxt_debug_file *debug)
{
    if (!debug->found)
        return;
    sxt_elf_close(&debug->elf);
    sxt_file_close(&debug->file);
    free(debug->path);
    debug->path = NULL;
    debug->found = false;
}

static void warn(const sxt_extract_options *options, const char *candidate, const char *text)
{
    sxt_error problem;
    if (options->warning == NULL)
        return;
    sxt_fail(&problem, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "debug file '%.100s' not used: %.110s", candidate, text);
    options->warning(options->warning_data, &problem);
}

/* Opens CANDIDATE. Fails with SXT_ERROR_NOT_FOUND if it does not belong to ELF. */
static int open_candidate(const char *candidate, struct sxt_elf *elf, const sxt_extract_options *options,
                          struct sxt_debug_file *debug, sxt_error *error)
{
    int status = sxt_file_open(&debug->file, candidate, error);
    if (status == SXT_OK)
        status = sxt_file_inflate(&debug->file, options->inflate_limit, error);
    if (status == SXT_OK)
        status = sxt_elf_open(&debug->elf, debug->file.data, debug->file.size, options->inflate_limit, error);
    if (status != SXT_OK) {
        sxt_file_close(&debug->file);
        return status;
    }
    debug->found = true;
    debug->elf.is_mapped = debug->file.owner == SXT_FILE_MAPPED;
    debug->path = strdup(candidate);
    if (debug->path == NULL) {
        sxt_debug_file_close(debug);
        return sxt_fail_memory(error, strlen(candidate) + 1);
    }
    uint8_t mine[BUILD_ID_SIZE], theirs[BUILD_ID_SIZE];
    size_t my_size = sxt_elf_build_id(elf, mine, sizeof mine);
    size_t their_size = sxt_elf_build_id(&debug->elf, theirs, sizeof theirs);
    if (my_size != 0 && their_size != 0 && (my_size != their_size || memcmp(mine, theirs, my_size) != 0)) {
        sxt_debug_file_close(debug);
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "it has another build ID");
    }
    if (elf->machine != debug->elf.machine || elf->is_64 != debug->elf.is_64 ||
        elf->big_endian != debug->elf.big_endian) {
        sxt_debug_file_close(debug);
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "it is for another architecture");
    }
    return SXT_OK;
}

static const char *debug_directory(const sxt_extract_options *options)
{
    return options->debug_directory != NULL ? options->debug_directory : SXT_DEBUG_DIRECTORY;
}

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void try_build_id(struct sxt_elf *elf, const sxt_extract_options *options, struct sxt_debug_file *debug)
{
    uint8_t id[BUILD_ID_SIZE];
    size_t size = sxt_elf_build_id(elf, id, sizeof id);
    if (size < 2)
        return;
    char hex[SXT_HEX_ROOM(BUILD_ID_SIZE)];
    sxt_hex_encode(hex, id, size);
    char candidate[PATH_MAX];
    int length =
        snprintf(candidate, sizeof candidate, "%s/.build-id/%.2s/%s.debug", debug_directory(options), hex, hex + 2);
    if (length < 0 || (size_t)length >= sizeof candidate || !is_file(candidate))
        return;
    sxt_error cause;
    if (open_candidate(candidate, elf, options, debug, &cause) != SXT_OK)
        warn(options, candidate, cause.text);
}

/* Gets the file name and CRC from .gnu_debuglink: a NUL-terminated name, padding to 4 bytes, the CRC. */
static bool read_debug_link(struct sxt_elf *elf, const char **name, uint32_t *crc)
{
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gnu_debuglink");
    struct sxt_elf_bytes bytes;
    if (section == NULL || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return false;
    struct sxt_cursor at = sxt_elf_cursor(elf, &bytes);
    sxt_string text = sxt_cursor_cstring(&at);
    sxt_cursor_skip(&at, -(uint64_t)at.at & 3);
    *crc = sxt_cursor_u32(&at);
    /* A name with a slash would lead to other directories. */
    if (at.failed || text.size == 0 || memchr(text.data, '/', text.size) != NULL)
        return false;
    *name = text.data;
    return true;
}

static uint32_t file_crc(const struct sxt_file *file)
{
    uLong crc = 0;
    for (size_t at = 0; at < file->size;) {
        size_t part = file->size - at < (1u << 30) ? file->size - at : 1u << 30;
        crc = crc32(crc, file->data + at, (uInt)part);
        at += part;
    }
    return (uint32_t)crc;
}

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static void try_linked(const char *candidate, uint32_t crc, struct sxt_elf *elf, const char *path,
                       const sxt_extract_options *options, struct sxt_debug_file *debug)
{
    if (debug->found || !is_file(candidate) || same_file(candidate, path))
        return;
    sxt_error cause;
    if (open_candidate(candidate, elf, options, debug, &cause) != SXT_OK) {
        warn(options, candidate, cause.text);
        return;
    }
    if (file_crc(&debug->file) != crc) {
        sxt_debug_file_close(debug);
        warn(options, candidate, "its CRC differs from the one in .gnu_debuglink");
    }
}

static void try_debug_link(struct sxt_elf *elf, const char *path, const sxt_extract_options *options,
                           struct sxt_debug_file *debug)
{
    const char *name;
    uint32_t crc;
    if (path == NULL || !read_debug_link(elf, &name, &crc))
        return;
    char *real = realpath(path, NULL);
    if (real == NULL)
        return;
    char *slash = strrchr(real, '/');
    if (slash != NULL) {
        *slash = 0; /* the directory; "" for the root */
        const struct {
            const char *root, *middle;
        } places[] = {{"", ""}, {"", "/.debug"}, {debug_directory(options), ""}};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            char candidate[PATH_MAX];
            int length =
                snprintf(candidate, sizeof candidate, "%s%s%s/%s", places[i].root, real, places[i].middle, name);
            if (length > 0 && (size_t)length < sizeof candidate)
                try_linked(candidate, crc, elf, path, options, debug);
        }
    }
    free(real);
}
