/* measure.h: who owns each byte of a binary: SuperSize models made from binaries, object files and static libraries. */
#ifndef SXT_MEASURE_MEASURE_H
#define SXT_MEASURE_MEASURE_H

#include <sextant/archive.h>

struct sxt_size_info;
struct sxt_sizediff;

struct sxt_size_make_options {
    sxt_extract_options extract;     /* how to read a binary */
    const char *map_path;            /* the linker's map; NULL: none */
    const char *components_path;     /* lines "PREFIX COMPONENT"; NULL: none */
    const char *source_directory;    /* paths below it are stored relative to it; NULL: none */
    const char *title, *url;         /* NULL: none */
    const char *git_revision;        /* NULL: what the source directory has checked out */
    const char *const *build_config; /* "KEY=VALUE" */
    size_t build_config_count;
    bool with_debug; /* count debug information and symbols too */
};

void sxt_size_make_options_init(struct sxt_size_make_options *options);

/* Who owns each byte of binaries, object files and static libraries: a container for each. *FAILED is the file that
 * could not be read. */
int sxt_size_make(const char *const *paths, size_t count, const struct sxt_size_make_options *options,
                  struct sxt_size_info **out, const char **failed, sxt_error *error);

struct sxt_size_load_options {
    uint64_t max_size;                        /* the most that a file may expand to; 0: 4 GiB */
    const struct sxt_size_make_options *make; /* for binaries; NULL: defaults */
};

enum sxt_size_kind { SXT_SIZE_FILE, SXT_SIZE_DIFF_FILE, SXT_SIZE_BINARY };

/*
 * Opens a .size file, or makes one of a binary or library (in memory); or reads both halves of a .sizediff file. Which
 * of the two is filled, *KIND tells. OPTIONS may be NULL.
 */
int sxt_size_load(const char *path, const struct sxt_size_load_options *options, enum sxt_size_kind *kind,
                  struct sxt_size_info **size, struct sxt_sizediff *diff, sxt_error *error);

struct sxt_size_delta;

struct sxt_size_disassembling {
    const char *before_binary, *after_binary; /* whose sizes the two are */
    const char *objdump;                      /* for machines other than x86; NULL: the one of the toolchain */
};

/*
 * Disassembles the functions that changed most in DELTA, both before and after, and puts what changed, as a unified
 * diff, on the symbols of AFTER, which is the same as DELTA has. *FAILED is the file that could not be read, or taken
 * apart.
 */
int sxt_size_disassemble(const struct sxt_size_delta *delta, struct sxt_size_info *after,
                         const struct sxt_size_disassembling *options, const char **failed, sxt_error *error);

/* What calls of one function cost where they were inlined. */
struct sxt_inlined {
    sxt_string function; /* readable */
    sxt_string file;     /* that it is written in; absent when unknown */
    uint64_t size;       /* bytes of its own, without what is inlined into it */
    uint64_t total;      /* with that */
    uint64_t places;     /* pieces of code; a call may have several */
};

struct sxt_inlined_list {
    struct sxt_inlined *list; /* the largest first */
    size_t count;
    uint64_t code; /* bytes of all functions of the file */
    struct sxt_symbols *symbols;
    char **names;
};

/* From the DWARF of the binary at PATH. */
int sxt_inlined_read(const char *path, const sxt_extract_options *options, struct sxt_inlined_list *out,
                     sxt_error *error);
void sxt_inlined_free(struct sxt_inlined_list *list);

#endif
