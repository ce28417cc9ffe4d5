/* debug_file.h: finds the separate debug file of a stripped binary. Never uses the network. */
#ifndef SXT_SOURCE_DEBUG_FILE_H
#define SXT_SOURCE_DEBUG_FILE_H

#include <stdbool.h>

#include "base/file.h"
#include "source/elf/elf.h"

/* The root of the system's debug files, unless the options name another. */
#define SXT_DEBUG_DIRECTORY "/usr/lib/debug"

struct sxt_debug_file {
    struct sxt_file file;
    struct sxt_elf elf;
    char *path;
    bool found;
};

/*
 * Opens the debug file of ELF, which was read from PATH (NULL if unknown), into DEBUG:
 *
 * 1. options->debug_path, if given. It must be readable and, if both files have a build ID, have the same one.
 * 2. <debug directory>/.build-id/xx/yyyy.debug, with the same build ID.
 * 3. The name in .gnu_debuglink: in the directory of the binary, in its subdirectory .debug/, and under the debug
 *    directory. The file must have the CRC of the link.
 *
 * Only 1 can fail; 2 and 3 report a file that does not match as a warning and continue. DEBUG->found says whether a
 * file was found.
 */
int sxt_debug_file_open(struct sxt_elf *elf, const char *path, const sxt_extract_options *options,
                        struct sxt_debug_file *debug, sxt_error *error);
void sxt_debug_file_close(struct sxt_debug_file *debug);

#endif
