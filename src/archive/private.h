/* private.h: what an open archive is made of. */
#ifndef SXT_ARCHIVE_PRIVATE_H
#define SXT_ARCHIVE_PRIVATE_H

#include <sextant/symbfile.h>

#include "archive/archive.h"
#include "base/file.h"
#include "ksym/ksym.h"
#include "lidia/lidia.h"
#include "symbfile/symbfile.h"
#include "symbols/symbols.h"

struct sxt_archive {
    sxt_kind kind;
    struct sxt_file file;
    uint64_t stored_size;        /* of the file before it was inflated */
    struct sxt_lidia lidia;      /* what lookups read */
    struct sxt_symbols *symbols; /* ELF: the model; NULL otherwise */
    uint8_t *image;              /* all but Lidia: the bytes that `lidia` points to */
    sxt_ksym ksym;               /* ksym: the blob itself, for what has no place in `lidia` */
    struct sxt_size_info *size;  /* SuperSize: what is in it */
    struct sxt_sizediff *sizediff;
    uint64_t pads;                           /* symbfile: how many return pads it has */
    struct sxt_model_module stored;          /* archives: the facts about the binary that they hold */
    char build_id[2 * SXT_BUILD_ID_MAX + 1]; /* of the binary, in lower-case hexadecimal; "" for none */
};

/* Fills `build_id` from the facts about the binary. */
void sxt_archive_note_build_id(sxt_archive *archive);

/* Fills `lidia` from a model whose ranges are final, and frees the model. */
int sxt_archive_take_model(sxt_archive *archive, struct sxt_symbols **symbols, sxt_error *error);

/* Fills `lidia` from the records of a symbfile: its ranges, or if it has none, its return pads. */
int sxt_archive_open_symbfile(sxt_archive *archive, sxt_error *error);

/* Adds the ranges of a symbfile to a model. */
int sxt_archive_read_symbfile(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error);

/* Adds the ranges of an archive of any kind to a model. */
int sxt_archive_read_ranges(const struct sxt_file *file, struct sxt_symbols *symbols, sxt_error *error);

/* Fills `lidia` from the blob in `ksym`. */
int sxt_archive_open_ksym(sxt_archive *archive, const sxt_open_options *options, sxt_error *error);

/* Fills `size` or `sizediff`, and `lidia` with its functions. */
int sxt_archive_open_size(sxt_archive *archive, sxt_error *error);
void sxt_archive_close_size(sxt_archive *archive);

/* Adds the symbols in a blob's text to a model, as ranges. */
int sxt_archive_read_ksym(const sxt_ksym *ksym, struct sxt_symbols *symbols, sxt_error *error);

/* Calls PROBLEM for everything that is wrong in an open blob. Returns the number of problems. */
uint64_t sxt_archive_verify_ksym(const sxt_ksym *ksym, void (*problem)(void *data, const sxt_problem *problem),
                                 void *data);

/* Writes a return pad for every call in the functions of SYMBOLS, which come from BINARY. WRITTEN may be NULL. */
int sxt_symbfile_save_pads(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                           const struct sxt_symbfile_target *target, sxt_written *written, sxt_error *error);

#endif
