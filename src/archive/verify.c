/* verify.c: the full check of a file of any kind. */
#include "archive/private.h"
#include "base/error.h"
#include "mlyze/mlyze.h"
#include "size/size.h"
#include "source/elf/elf.h"

/* Closes FILE. */
static int verify(struct sxt_file *file, void (*problem)(void *data, const sxt_problem *problem), void *data,
                  uint64_t *count, sxt_error *error)
{
    sxt_ksym ksym;
    uint64_t limit =
        sxt_kind_of_compressed(file) == SXT_KIND_TRACE ? SXT_MLYZE_INFLATE_LIMIT : SXT_ARCHIVE_INFLATE_LIMIT;
    int status = sxt_file_inflate(file, limit, error);
    if (status == SXT_OK) {
        switch (sxt_kind_of(file->data, file->size, &ksym)) {
        case SXT_KIND_LIDIA:
            *count = sxt_lidia_verify(file->data, file->size, problem, data);
            break;
        case SXT_KIND_SYMBFILE:
            *count = sxt_symbfile_verify(file->data, file->size, problem, data);
            break;
        case SXT_KIND_KSYM:
            *count = sxt_archive_verify_ksym(&ksym, problem, data);
            break;
        case SXT_KIND_SIZE:
        case SXT_KIND_SIZEDIFF:
            *count = sxt_size_verify(file->data, file->size, NULL, problem, data);
            break;
        case SXT_KIND_TRACE:
            *count = sxt_mlyze_verify(file->data, file->size, problem, data);
            break;
        case SXT_KIND_ELF:
            *count = sxt_elf_verify(file->data, file->size, SXT_ARCHIVE_INFLATE_LIMIT, problem, data);
            break;
        default:
            status = sxt_fail_unknown_kind(file, error);
        }
    }
    sxt_file_close(file);
    return status;
}

int sxt_verify_path(const char *path, void (*problem)(void *data, const sxt_problem *problem), void *data,
                    uint64_t *count, sxt_error *error)
{
    *count = 0;
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    return status == SXT_OK ? verify(&file, problem, data, count, error) : status;
}

int sxt_verify_memory(const void *bytes, size_t size, void (*problem)(void *data, const sxt_problem *problem),
                      void *data, uint64_t *count, sxt_error *error)
{
    *count = 0;
    struct sxt_file file;
    sxt_file_from_memory(&file, bytes, size);
    return verify(&file, problem, data, count, error);
}
