/*
 * archive.h: open anything that has addresses. The public side is sextant/archive.h; this header has what the rooms
 * above use beyond it.
 */
#ifndef SXT_ARCHIVE_ARCHIVE_H
#define SXT_ARCHIVE_ARCHIVE_H

#include <sextant/archive.h>
#include <sextant/ksym.h>
#include <sextant/lidia.h>
#include <sextant/symbfile.h>

#include "base/file.h"

/* Open options, complete, for an object that keeps them. It must not move: open.extract points into it. */
struct sxt_opening {
    sxt_open_options open;
    sxt_extract_options extract;
};

/* The defaults, with what GIVEN (may be NULL) has over them. */
int sxt_opening_take(struct sxt_opening *out, const sxt_open_options *given, sxt_error *error);

/*
 * What the content of a plain file is. If it is a ksym blob and KSYM is not NULL, *KSYM is that blob, open, with the
 * default bounds of its text: such a file is recognised by checking all of it, and need not be checked again.
 */
sxt_kind sxt_kind_of(const uint8_t *data, size_t size, sxt_ksym *ksym);

/*
 * What a compressed file is, from the beginning of what it expands to. A ksym blob, which is recognised as a whole, and
 * a file that is not compressed are unknown here.
 */
sxt_kind sxt_kind_of_compressed(const struct sxt_file *file);

/* The most that a compressed file or section may expand to, if no option says otherwise. */
#define SXT_ARCHIVE_INFLATE_LIMIT ((uint64_t)4 << 30)

/* Opens a plain or compressed file. */
int sxt_archive_open_file(struct sxt_file *file, const char *path, sxt_error *error);

/* Fails: the file is of no known kind. */
int sxt_fail_unknown_kind(const struct sxt_file *file, sxt_error *error);

/* The FileID of the bytes of a file, in hexadecimal. */
void sxt_file_id_of(const struct sxt_file *file, char hex[33]);

#endif
