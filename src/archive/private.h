/* private.h: what an open archive is made of. */
#ifndef SXT_ARCHIVE_PRIVATE_H
#define SXT_ARCHIVE_PRIVATE_H

#include "archive/archive.h"
#include "base/file.h"
#include "lidia/lidia.h"
#include "symbols/symbols.h"

enum sxt_archive_kind { SXT_ARCHIVE_UNKNOWN, SXT_ARCHIVE_ELF, SXT_ARCHIVE_LIDIA };

struct sxt_archive {
    struct sxt_file file;
    struct sxt_lidia lidia;      /* what lookups read */
    struct sxt_symbols *symbols; /* ELF: the model; NULL otherwise */
    uint8_t *image;              /* ELF: the bytes behind `lidia` */
};

enum sxt_archive_kind sxt_archive_kind_of(const uint8_t *data, size_t size);

/* The error for a file of SIZE bytes that is of no known kind. */
int sxt_fail_unknown_kind(size_t size, sxt_error *error);

#endif
