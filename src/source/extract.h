/* extract.h: the model of an ELF file that is open already. The public ways in are in sextant/symbols.h. */
#ifndef SXT_SOURCE_EXTRACT_H
#define SXT_SOURCE_EXTRACT_H

#include <sextant/symbols.h>

#include "base/file.h"

/* Fails with SXT_ERROR_USAGE when OPTIONS were not made by this version's sxt_extract_options_init. NULL is fine. */
int sxt_extract_options_check(const sxt_extract_options *options, sxt_error *error);

/* FILE holds the (inflated) ELF file, read from PATH (NULL when unknown). OPTIONS may be NULL. */
int sxt_extract(const struct sxt_file *file, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                sxt_error *error);

#endif
