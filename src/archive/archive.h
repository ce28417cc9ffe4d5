/*
 * archive.h: opens anything that has addresses. The public interface is sextant/archive.h; this header has what other
 * rooms use beyond it.
 */
#ifndef SXT_ARCHIVE_ARCHIVE_H
#define SXT_ARCHIVE_ARCHIVE_H

#include <sextant/archive.h>
#include <sextant/ksym.h>
#include <sextant/lidia.h>
#include <sextant/symbfile.h>

#include "base/file.h"

/* A complete copy of open options, for an object that keeps them. It must not move: open.extract points into it. */
struct sxt_opening {
    sxt_open_options open;
    sxt_extract_options extract;
};

/* The defaults, overridden by GIVEN (may be NULL). */
int sxt_opening_take(struct sxt_opening *out, const sxt_open_options *given, sxt_error *error);

/*
 * Detects the kind of a plain file from its content. If it is a ksym blob and KSYM is not NULL, *KSYM is the open blob,
 * with the default bounds of its text: a blob is recognised by checking all of it, which need not be done again.
 */
sxt_kind sxt_kind_of(const uint8_t *data, size_t size, sxt_ksym *ksym);

/*
 * Detects the kind of a compressed file from the beginning of its expanded content. Returns SXT_KIND_UNKNOWN for a file
 * that is not compressed, and for most ksym blobs, which can only be recognised as a whole.
 */
sxt_kind sxt_kind_of_compressed(const struct sxt_file *file);

/* The most bytes that a compressed file or section may expand to by default. */
#define SXT_ARCHIVE_INFLATE_LIMIT ((uint64_t)4 << 30)

/* Opens a plain or compressed file. */
int sxt_archive_open_file(struct sxt_file *file, const char *path, sxt_error *error);

/* Sets ERROR for a file of unknown kind, and returns its code. */
int sxt_fail_unknown_kind(const struct sxt_file *file, sxt_error *error);

/* The facts about the binary that the addresses of ARCHIVE belong to; all zero if it does not say. Never NULL. */
struct sxt_model_module;
const struct sxt_model_module *sxt_archive_module(const sxt_archive *archive);

/* Whether offsets in that binary can be turned into addresses. */
bool sxt_archive_has_offsets(const sxt_archive *archive);

/*
 * The facts in a file, without reading its records. False if it is not an archive of functions that has any. The caller
 * frees *OUT in any case.
 */
bool sxt_archive_read_module(const struct sxt_file *file, struct sxt_model_module *out);

struct sxt_symbols;
struct sxt_symbfile_pad;

/* Adds a return pad to a model: a row of one byte for each of its frames, one inside the other. */
void sxt_archive_add_pad(struct sxt_symbols *symbols, const struct sxt_symbfile_pad *pad);

/* The symbols of an archive that was opened from an ELF file, as linked; NULL for any other. */
const struct sxt_symbols *sxt_archive_model(const sxt_archive *archive);

/*
 * An archive that is read by ranges. PARTIAL stays the caller's, who closes it after the archive, and who has entered
 * it during all calls. SXT_ERROR_UNSUPPORTED if it is not a Lidia archive.
 */
struct sxt_partial;
int sxt_archive_open_partial(struct sxt_partial *partial, sxt_archive **out, sxt_error *error);

enum sxt_archive_loaded {
    SXT_LOAD_FRAMES, /* lookups */
    SXT_LOAD_FOLDED, /* and sxt_archive_is_ambiguous for their frames */
    SXT_LOAD_ALL,    /* and sxt_archive_aliases and sxt_archive_whole_range */
};

/*
 * Fetches what is read for ADDRESSES; without it, lookups find nothing. Does nothing for other archives. What other
 * functions read is not there, except for the facts about the binary.
 */
int sxt_archive_load(const sxt_archive *archive, const uint64_t *addresses, size_t count, enum sxt_archive_loaded what,
                     sxt_error *error);

/* The FileID of the bytes of a file, in hexadecimal. */
void sxt_file_id_of(const struct sxt_file *file, char hex[33]);

#endif
