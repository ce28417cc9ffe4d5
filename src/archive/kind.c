/* kind.c: detects the kind of a file. */
#include <string.h>
#include <sys/stat.h>

#include "archive/private.h"
#include "base/error.h"
#include "base/inflate.h"
#include "mlyze/mlyze.h"
#include "size/size.h"
#include "source/elf/elf.h"

/*
 * A ksym blob has no magic number: a file is one if all of it is consistent. A file of zeros of any size would be an
 * empty blob.
 */
static bool is_ksym(const uint8_t *data, size_t size, sxt_ksym *ksym)
{
    return sxt_ksym_open(ksym, data, size, 0, 0, NULL) == NULL && (sxt_ksym_count(ksym) > 0 || size == ksym->size);
}

sxt_kind sxt_kind_of(const uint8_t *data, size_t size, sxt_ksym *ksym)
{
    if (sxt_lidia_is(data, size))
        return SXT_KIND_LIDIA;
    if (sxt_symbfile_is(data, size))
        return SXT_KIND_SYMBFILE;
    if (sxt_elf_is(data, size))
        return SXT_KIND_ELF;
    if (sxt_mlyze_is(data, size))
        return SXT_KIND_TRACE;
    if (sxt_sizediff_is(data, size))
        return SXT_KIND_SIZEDIFF;
    if (sxt_size_is(data, size))
        return SXT_KIND_SIZE;
    sxt_ksym unused;
    return is_ksym(data, size, ksym != NULL ? ksym : &unused) ? SXT_KIND_KSYM : SXT_KIND_UNKNOWN;
}

/* Enough for the magic number of every kind. */
#define START_SIZE 256

sxt_kind sxt_kind_of_compressed(const struct sxt_file *file)
{
    enum sxt_compression compression = sxt_compression_of(file->data, file->size);
    if (compression == SXT_COMPRESSION_NONE)
        return SXT_KIND_UNKNOWN;
    uint8_t start[START_SIZE];
    return sxt_kind_of(start, sxt_inflate_start(compression, file->data, file->size, start, sizeof start), NULL);
}

int sxt_fail_unknown_kind(const struct sxt_file *file, sxt_error *error)
{
    if (file->size == 0)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the file is empty");
    sxt_ksym ksym;
    size_t offset = 0;
    const char *problem = sxt_ksym_open(&ksym, file->data, file->size, 0, 0, &offset);
    if (problem != NULL && offset > 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "not a file that sextant knows, nor a ksym blob: %s", problem);
    return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "neither an ELF file nor an archive that sextant knows");
}

int sxt_identify_path(const char *path, sxt_kind *kind, sxt_error *error)
{
    *kind = SXT_KIND_UNKNOWN;
    struct stat attributes;
    if (strcmp(path, "-") == 0 ||
        (stat(path, &attributes) == 0 && !S_ISREG(attributes.st_mode) && !S_ISDIR(attributes.st_mode)))
        return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_NOT_A_FILE, SXT_NO_OFFSET,
                               "not a regular file: a stream can be read only once");
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    *kind = sxt_kind_of(file.data, file.size, NULL);
    if (*kind == SXT_KIND_UNKNOWN)
        *kind = sxt_kind_of_compressed(&file);
    if (*kind == SXT_KIND_UNKNOWN && sxt_compression_of(file.data, file.size) != SXT_COMPRESSION_NONE) {
        status = sxt_file_inflate(&file, SXT_ARCHIVE_INFLATE_LIMIT, error);
        if (status == SXT_OK)
            *kind = sxt_kind_of(file.data, file.size, NULL);
    }
    sxt_file_close(&file);
    return status;
}

const char *sxt_kind_name(sxt_kind kind)
{
    switch (kind) {
    case SXT_KIND_ELF:
        return "elf";
    case SXT_KIND_LIDIA:
        return "lidia";
    case SXT_KIND_SYMBFILE:
        return "symbfile";
    case SXT_KIND_KSYM:
        return "ksym";
    case SXT_KIND_SIZE:
        return "size";
    case SXT_KIND_SIZEDIFF:
        return "sizediff";
    case SXT_KIND_TRACE:
        return "mlyze";
    case SXT_KIND_UNKNOWN:
        break;
    }
    return "unknown";
}
