/*
 * modules.h: the files that mappings come from, chosen in this order.
 *
 * 1. In the user's directories: an archive named like the build ID (`BUILDID.lidia`), an ELF file with that build ID or
 *    an archive of one, the same with that FileID (some profilers store it in place of the build ID). A debug file with
 *    the build ID completes the binary, or replaces it.
 * 2. There, by name: an archive named like the file (`libfoo.so.1.lidia`), then the file itself; of several, the one
 *    whose directories are most like those of the mapping. A file with another build ID is not used. Then an archive of
 *    a binary that had this name, if no build ID is known and there is only one.
 * 3. On this machine: the file by its path, unless its build ID differs; the debug file with the build ID.
 *
 * An archive is preferred to a binary that was found in the same way, because it opens faster. With the option `exact`,
 * only a file with the build ID is used if there is one, and the file with the most debug information is preferred.
 */
#ifndef SXT_PROFILE_MODULES_H
#define SXT_PROFILE_MODULES_H

#include <sextant/remote.h>

#include "archive/archive.h"
#include "base/strings.h"
#include "profile/file_index.h"
#include "profile/layout.h"
#include "profile/profile.h"
#include "profile/text_source.h"

struct sxt_module {
    size_t number;       /* in the order of first use */
    sxt_string name;     /* as it was asked for; NUL-terminated */
    sxt_string build_id; /* the same */
    sxt_string file_id;  /* another ID of the file, borrowed from the profile; absent if none is known */
    char *archive;       /* the file with the symbols, or NULL */
    char *binary;        /* the ELF file: has the segments, and the symbols if there is no archive; or NULL */
    char *debug;         /* a debug file for it, or NULL */
    uint8_t *image;      /* the binary's bytes, if it is not in a file; or NULL */
    size_t image_size;
    bool is_other_build; /* a file was found, but its build ID differs */
    char *problem;       /* why it could not be opened; NULL if it could, or was not tried */
    struct sxt_layout layout;
    bool has_layout;
    sxt_archive *opened; /* by sxt_module_keep */
    bool is_borrowed;    /* `opened` is the source's */
    uint64_t last_use;
    bool lacks_segments; /* an address could not be placed because its segments are unknown; a warning was given */
};

struct sxt_modules {
    sxt_modules_options options;
    struct sxt_opening opening; /* from options.open */
    struct sxt_file_index index;
    sxt_remote *remote;                   /* NULL without a service */
    const struct sxt_text_source *source; /* in place of files; NULL: none */
    struct sxt_strings keys;              /* number N + 1 is what module N was asked by */
    struct sxt_module **all;
    size_t count, capacity;
    size_t most; /* modules: text may contain any number of names */
    uint64_t clock;
    size_t open_count; /* archives that are kept open */
    size_t most_open;
};

/* Fills archive, binary and debug of MODULE, whose name and build ID are known; leaves them NULL if none is found. */
void sxt_module_choose_files(struct sxt_modules *modules, struct sxt_module *module);

/* The module without its files, added if it is new. NULL when out of memory, or if there are too many. */
struct sxt_module *sxt_modules_add(struct sxt_modules *modules, sxt_string name, sxt_string build_id, bool *is_new);

/* The same with its files, if they are found. */
struct sxt_module *sxt_modules_find(struct sxt_modules *modules, sxt_string name, sxt_string build_id);

static inline bool sxt_module_is_found(const struct sxt_module *module)
{
    return module->archive != NULL || module->binary != NULL || module->image != NULL || module->is_borrowed;
}

/* The file that symbols come from; NULL if none was found. */
static inline const char *sxt_module_path(const struct sxt_module *module)
{
    return module->archive != NULL ? module->archive : module->binary;
}

/*
 * Fills module->layout from the binary, or without one from ARCHIVE, which must be open then. False if neither can be
 * read; module->problem says why.
 */
bool sxt_module_lay_out(const struct sxt_modules *modules, struct sxt_module *module, const sxt_archive *archive);

/* Warns, once for each module, that addresses cannot be placed in it because its segments are unknown. */
void sxt_module_warn_of_segments(const struct sxt_modules *modules, struct sxt_module *module);

/*
 * Opens it; *OUT is the caller's to close. If COUNT is not 0, only these addresses will be looked up. MANGLED: names as
 * linked, if the file has them. On failure module->problem says why too.
 */
int sxt_module_open(struct sxt_modules *modules, struct sxt_module *module, const uint64_t *addresses, size_t count,
                    bool mangled, sxt_archive **out);

/* The same for any number of lookups: it stays open until modules->most_open others were used. NULL on failure. */
const sxt_archive *sxt_module_keep(struct sxt_modules *modules, struct sxt_module *module);

#endif
