/* private.h: what an open archive is made of. */
#ifndef SXT_ARCHIVE_PRIVATE_H
#define SXT_ARCHIVE_PRIVATE_H

#include <sextant/symbfile.h>

#include "archive/archive.h"
#include "base/file.h"
#include "lidia/lidia.h"
#include "symbfile/symbfile.h"
#include "symbols/symbols.h"

enum sxt_archive_kind { SXT_ARCHIVE_UNKNOWN, SXT_ARCHIVE_ELF, SXT_ARCHIVE_LIDIA, SXT_ARCHIVE_SYMBFILE };

/* What a compressed file or section may expand to, where no options say otherwise. */
#define SXT_ARCHIVE_INFLATE_LIMIT ((uint64_t)4 << 30)

struct sxt_archive {
    enum sxt_archive_kind kind;
    struct sxt_file file;
    struct sxt_lidia lidia;      /* what lookups read */
    struct sxt_symbols *symbols; /* ELF: the model; NULL otherwise */
    uint8_t *image;              /* ELF and symbfile: the bytes behind `lidia` */
    uint64_t pads;               /* symbfile: how many return pads it has */
};

enum sxt_archive_kind sxt_archive_kind_of(const uint8_t *data, size_t size);

/* The error for a file of SIZE bytes that is of no known kind. */
int sxt_fail_unknown_kind(size_t size, sxt_error *error);

/* Fills `lidia` from the records of a symbfile: its ranges, or where it has none, its return pads. */
int sxt_archive_open_symbfile(sxt_archive *archive, sxt_error *error);

/* Adds the ranges of a symbfile to a model. */
int sxt_archive_read_symbfile(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error);

/* A path with its prefix replaced by the first map that matches; false when none does. */
bool sxt_map_path(const sxt_path_map *maps, size_t count, sxt_string path, struct sxt_buffer *out);

/* How to write, from the options; NULL is the defaults. */
int sxt_symbfile_settings_of(const sxt_symbfile_options *options, struct sxt_symbfile_settings *settings,
                             sxt_error *error);

/* A symbfile at PATH, filled by WRITE; it appears whole or not at all. */
typedef int sxt_symbfile_fill(void *context, struct sxt_symbfile_writer *writer, sxt_error *error);
int sxt_symbfile_save(const char *path, sxt_symbfile_fill *write, void *context, sxt_error *error);

#endif
