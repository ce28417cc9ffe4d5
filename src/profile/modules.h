/*
 * modules.h: which file a mapping comes from.
 *
 * 1. Below the directories that were named: an archive called like the build ID (`BUILDID.lidia`), an ELF file with
 *    that build ID, an ELF file with that FileID (some profilers put it where the build ID belongs). A debug file with
 *    the build ID serves the binary, or stands in for it.
 * 2. There, by name: an archive called like the file (`libfoo.so.1.lidia`), then the file itself; where several have
 *    the name, the one whose folders are most like those of the mapping. A file with another build ID is not used.
 * 3. On this machine: the file under its own name, unless its build ID is another; the debug file with the build ID.
 *
 * An archive comes first where both are found on the same grounds, because it is opened in no time. With the option
 * `exact`, only the build ID counts where there is one, and the file with the most to tell is taken, wherever it is.
 */
#ifndef SXT_PROFILE_MODULES_H
#define SXT_PROFILE_MODULES_H

#include "archive/archive.h"
#include "base/strings.h"
#include "profile/file_index.h"
#include "profile/layout.h"
#include "profile/profile.h"
#include "profile/remote.h"

struct sxt_module {
    size_t number;       /* in the order of first use */
    sxt_string name;     /* as it was asked for; NUL-terminated */
    sxt_string build_id; /* the same */
    char *archive;       /* where the symbols are, or NULL */
    char *binary;        /* the ELF file: symbols, if there is no archive; segments in any case; or NULL */
    char *debug;         /* a debug file for it, or NULL */
    bool is_other_build; /* a file was found, but its build ID is another */
    char *problem;       /* why it could not be opened; NULL when it could, or was not tried */
    struct sxt_layout layout;
    bool has_layout;
    sxt_archive *opened; /* by sxt_module_keep */
    uint64_t last_use;
};

struct sxt_modules {
    struct sxt_modules_options options;
    struct sxt_opening opening; /* from options.open */
    struct sxt_file_index index;
    struct sxt_remote *remote; /* NULL when no service was named */
    struct sxt_strings keys;   /* number N + 1 is what module N was asked by */
    struct sxt_module **all;
    size_t count, capacity;
    size_t most; /* modules; text may make up any number of names */
    uint64_t clock;
    size_t open_count; /* of archives that are kept */
};

/* Fills archive, binary and debug of MODULE, whose name and build ID are known; leaves them NULL if none is found. */
void sxt_module_choose_files(struct sxt_modules *modules, struct sxt_module *module);

/* The module of a mapping, found if possible: see archive and binary. NULL when memory is short, or when there are
 * too many. */
struct sxt_module *sxt_modules_find(struct sxt_modules *modules, sxt_string name, sxt_string build_id);

static inline bool sxt_module_is_found(const struct sxt_module *module)
{
    return module->archive != NULL || module->binary != NULL;
}

/* The file that symbols come from; NULL when nothing was found. */
static inline const char *sxt_module_path(const struct sxt_module *module)
{
    return module->archive != NULL ? module->archive : module->binary;
}

/*
 * Fills module->layout. When there is an archive, it must be open already (ARCHIVE); otherwise the binary is looked at.
 * False when it cannot be read; module->problem says why.
 */
bool sxt_module_lay_out(struct sxt_module *module, const sxt_archive *archive);

/*
 * Opens it; *OUT is the caller's to close. If COUNT is not 0, only these addresses will be asked for. MANGLED: names as
 * linked, where the file has them. On failure module->problem says why too.
 */
int sxt_module_open(struct sxt_modules *modules, struct sxt_module *module, const uint64_t *addresses, size_t count,
                    bool mangled, sxt_archive **out);

/* The same for any number of questions; it stays open until others are used more. NULL when it cannot be opened. */
const sxt_archive *sxt_module_keep(struct sxt_modules *modules, struct sxt_module *module);

#endif
