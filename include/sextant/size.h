/*
 * sextant/size.h: who owns each byte of a binary, and what changed between two builds.
 *
 * An sxt_size_info is a list of symbols that together cover a binary: functions, variables, string literals, and
 * entries for the bytes that no symbol covers. It is made from binaries, object files, static libraries and Android
 * packages, or loaded from a .size file of Chromium's SuperSize. An sxt_size_diff is two of them with the symbols of
 * one matched to those of the other; it is made from two sxt_size_info, or loaded from a .sizediff file. Both answer
 * queries (docs/query.md) and can be written.
 *
 *     sxt_size_info *before, *after;
 *     sxt_size_diff *diff;
 *     sxt_size_load("old.size", NULL, &before, NULL, &error);
 *     sxt_size_load("new/app", NULL, &after, NULL, &error);        // a binary is measured
 *     sxt_size_diff_make(before, after, NULL, &diff, &error);
 *     for (size_t i = 0; i < sxt_size_diff_symbol_count(diff); i++) {
 *         sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
 *         sxt_size_diff_symbol(diff, i, &symbol);
 *         ...
 *     }
 *
 * Ownership: what a function returns through a `**out` belongs to the caller and is NULL on failure. Strings are views
 * that live as long as the object that they came from.
 * Threads: every object here is immutable once made. Any number of threads may read it at the same time.
 *
 * sxt_verify_path (sextant/archive.h) checks a .size or .sizediff file completely.
 */
#ifndef SEXTANT_SIZE_H
#define SEXTANT_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>
#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/string.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_size_info sxt_size_info;
typedef struct sxt_size_diff sxt_size_diff;

/* --- making and loading --- */

typedef struct sxt_size_make_options {
    size_t struct_size; /* set by sxt_size_make_options_init */
    /* How to read a binary; NULL: the defaults. Its callbacks are called on the thread that called the library. */
    const sxt_extract_options *extract;
    const char *map_path;            /* the linker's map of a single binary; NULL: one beside it, if there is one */
    const char *components_path;     /* a file with lines "PREFIX COMPONENT"; NULL: none */
    const char *source_directory;    /* paths below it are stored relative to it; NULL: none */
    const char *title, *url;         /* stored with the build configuration; NULL: none */
    const char *git_revision;        /* NULL: the one that is checked out in the source directory */
    const char *const *build_config; /* "KEY=VALUE", stored with the build configuration */
    size_t build_config_count;
    bool with_debug; /* count debug information and symbol tables too */
    uintptr_t reserved[4];
    bool no_map_search; /* without map_path: do not look for PATH.map and PATH.map.gz beside a binary */
    /* Is told which linker map was found and used, or why it was not. NULL: nobody is. */
    void (*note)(void *note_data, const char *path, const char *text);
    void *note_data;
} sxt_size_make_options;

SXT_API void sxt_size_make_options_init(sxt_size_make_options *options);

/*
 * Measures binaries, object files, static libraries and zip files (.apk, .aab), each of which becomes a container; a
 * library in a zip file has a container of its own. OPTIONS may be NULL. On failure *FAILED is the path that could not
 * be read, one of PATHS or of the options; FAILED may be NULL.
 */
SXT_API int sxt_size_make(const char *const *paths, size_t count, const sxt_size_make_options *options,
                          sxt_size_info **out, const char **failed, sxt_error *error);

typedef struct sxt_size_load_options {
    size_t struct_size;                /* set by sxt_size_load_options_init */
    uint64_t inflate_limit;            /* the most bytes that a .size or .sizediff file may expand to; 0: 4 GiB */
    const sxt_size_make_options *make; /* for binaries; NULL: defaults */
    bool stored_only;                  /* refuse binaries and libraries */
    uintptr_t reserved[4];
} sxt_size_load_options;

SXT_API void sxt_size_load_options_init(sxt_size_load_options *options);

/*
 * Loads a .size or .sizediff file, or measures a binary, static library or zip file. The format is detected from the
 * content. One of *INFO and *DIFF is set, the other one becomes NULL. DIFF may be NULL to refuse a .sizediff file
 * (SXT_ERROR_UNSUPPORTED), and INFO to refuse everything else. A binary that stored_only refuses fails with
 * SXT_REASON_BINARY. OPTIONS may be NULL. "-" is standard input, which cannot be a binary (SXT_REASON_NOT_A_FILE).
 */
SXT_API int sxt_size_load(const char *path, const sxt_size_load_options *options, sxt_size_info **info,
                          sxt_size_diff **diff, sxt_error *error);

/* The same for a .size or .sizediff file in memory. DATA is not needed after the call. */
SXT_API int sxt_size_load_memory(const void *data, size_t size, const sxt_size_load_options *options,
                                 sxt_size_info **info, sxt_size_diff **diff, sxt_error *error);

SXT_API void sxt_size_info_free(sxt_size_info **info);

/* Which part of a SuperSize file: the only one of a .size file, or a half of a .sizediff file. */
typedef enum sxt_size_part { SXT_SIZE_WHOLE = 0, SXT_SIZE_BEFORE = 1, SXT_SIZE_AFTER = 2 } sxt_size_part;

/*
 * The sizes in a SuperSize file that is open as an archive; they live as long as the archive. NULL if it has no such
 * part.
 */
SXT_API const sxt_size_info *sxt_archive_size_info(const sxt_archive *archive, sxt_size_part part);

/* --- symbols --- */

/* Flags of symbols, as SuperSize stores them. A file may have others. */
typedef enum sxt_size_flag {
    SXT_SIZE_ANONYMOUS = 1,
    SXT_SIZE_STARTUP = 2,
    SXT_SIZE_UNLIKELY = 4,
    SXT_SIZE_REL = 8,
    SXT_SIZE_REL_LOCAL = 16,
    SXT_SIZE_GENERATED = 32,
    SXT_SIZE_CLONE = 64,
    SXT_SIZE_HOT = 128,
    SXT_SIZE_COVERED = 256,
    SXT_SIZE_UNCOMPRESSED = 512,
    SXT_SIZE_FEATURE = 1024
} sxt_size_flag;

/* What happened to a symbol between the two builds of a diff. */
typedef enum sxt_size_status {
    SXT_SIZE_UNCHANGED = 0,
    SXT_SIZE_CHANGED = 1,
    SXT_SIZE_ADDED = 2,
    SXT_SIZE_REMOVED = 3
} sxt_size_status;

/* "unchanged", "changed", "added", "removed"; static. */
SXT_API const char *sxt_size_status_name(sxt_size_status status);

/*
 * A symbol of an sxt_size_info, or a change in an sxt_size_diff: then size, padding and pss are differences, and the
 * other members are those of the later symbol, or of the earlier one if it was removed. Aliases share their bytes: the
 * proportional size (pss) of each is its size divided by their number, so that the sum over all symbols counts each
 * byte once.
 */
typedef struct sxt_size_symbol {
    size_t struct_size;
    sxt_string container;   /* the binary that it is in; "" in a file with one container */
    sxt_string section;     /* ".text", ... */
    sxt_string full_name;   /* as stored; see sxt_size_symbol_names */
    sxt_string object_path; /* "" when unknown */
    sxt_string source_path; /* "" when unknown */
    sxt_string component;   /* "" when unknown */
    uint64_t address;
    int64_t size; /* with the padding before it; without it for a symbol that changed */
    int64_t padding;
    double pss;
    int64_t size_before; /* in a diff: the two sizes with padding; 0 on a side without the symbol */
    int64_t size_after;
    uint32_t aliases; /* how many symbols have these bytes; 1: only this one */
    uint32_t flags;   /* a set of sxt_size_flag */
    sxt_size_status status;
    bool is_bss; /* takes memory, but no bytes of the file */
} sxt_size_symbol;

#define SXT_SIZE_SYMBOL_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(sxt_size_symbol), {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, 0, 0, 0, 0, 0,   \
            0, 0, SXT_SIZE_UNCHANGED, false                                                                            \
    }

/* Symbol INDEX, from 0 to the count - 1, in the order of the file. SXT_ERROR_USAGE when there is no such symbol. */
SXT_API size_t sxt_size_info_symbol_count(const sxt_size_info *info);
SXT_API int sxt_size_info_symbol(const sxt_size_info *info, size_t index, sxt_size_symbol *out);

/* The disassembly that is stored with symbol INDEX. SXT_ERROR_USAGE, and *TEXT is absent, if there is none. */
SXT_API int sxt_size_info_disassembly(const sxt_size_info *info, size_t index, sxt_string *text);

/* The names that SuperSize derives from the stored name of a symbol. */
typedef struct sxt_size_names {
    size_t struct_size;
    sxt_string full_name;     /* without return type and the like */
    sxt_string template_name; /* without parameters */
    sxt_string name;          /* without template arguments too */
    uint32_t flags;           /* that follow from the name: SXT_SIZE_CLONE, SXT_SIZE_ANONYMOUS */
    void *memory;             /* for the library's use */
} sxt_size_names;

#define SXT_SIZE_NAMES_INIT                                                                                            \
    {                                                                                                                  \
        sizeof(sxt_size_names), {NULL, 0}, {NULL, 0}, {NULL, 0}, 0, NULL                                               \
    }

/*
 * Derives the names of SYMBOL. Set NAMES to SXT_SIZE_NAMES_INIT before the first call; it can be used for any number of
 * calls. Its strings are valid until the next call with it, and at most as long as the object that SYMBOL came from.
 */
SXT_API int sxt_size_symbol_names(const sxt_size_symbol *symbol, sxt_size_names *names, sxt_error *error);
SXT_API void sxt_size_names_free(sxt_size_names *names);

/* --- what a file is, in figures --- */

typedef struct sxt_size_summary {
    size_t struct_size;
    size_t symbols;
    size_t containers;
    size_t sections; /* that have symbols, counted in each container */
    size_t paths;
    uint64_t file_bytes;  /* that the symbols cover, without those that are only in memory */
    bool is_sparse;       /* has only some symbols of a build; see sxt_size_info_select */
    size_t components;    /* that paths belong to, with "" for none */
    size_t disassemblies; /* symbols with a stored disassembly */
} sxt_size_summary;

#define SXT_SIZE_SUMMARY_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(sxt_size_summary), 0, 0, 0, 0, 0, false, 0, 0                                                           \
    }

SXT_API void sxt_size_info_summary(const sxt_size_info *info, sxt_size_summary *out);

/*
 * The header of the .size file, as JSON on one line: build configuration, containers, section sizes. The caller frees
 * *TEXT with sxt_free.
 */
SXT_API int sxt_size_info_header(const sxt_size_info *info, char **text, size_t *size, sxt_error *error);

/*
 * The header of a .size or .sizediff file that is open as an archive: what the file itself has, as JSON on one line.
 * SXT_ERROR_USAGE for another archive. The caller frees *TEXT with sxt_free.
 */
SXT_API int sxt_archive_size_header(const sxt_archive *archive, char **text, size_t *size, sxt_error *error);

/* The sizes of the sections of an sxt_size_info, which must outlive this list. */
typedef struct sxt_size_sections sxt_size_sections;

typedef struct sxt_size_section {
    size_t struct_size;
    sxt_string container;
    sxt_string name;
    int64_t file;     /* bytes in the file */
    int64_t memory;   /* bytes that are loaded, judging by the name of the section */
    uint64_t symbols; /* 0 for a section of which only the size is known */
    bool is_bss;
    bool is_loaded;
    bool is_in_other; /* also counted in the section ".other", and therefore not in the total */
} sxt_size_section;

#define SXT_SIZE_SECTION_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(sxt_size_section), {NULL, 0}, {NULL, 0}, 0, 0, 0, false, false, false                                   \
    }

/* Sections of the file come first, the largest first, then those that are only in memory, then those in ".other". */
SXT_API int sxt_size_sections_make(const sxt_size_info *info, sxt_size_sections **out, sxt_error *error);
SXT_API void sxt_size_sections_free(sxt_size_sections **sections);
SXT_API size_t sxt_size_sections_count(const sxt_size_sections *sections);
SXT_API int sxt_size_sections_get(const sxt_size_sections *sections, size_t index, sxt_size_section *out);
SXT_API void sxt_size_sections_total(const sxt_size_sections *sections, sxt_size_section *out);

/* --- diffs --- */

typedef struct sxt_size_diff_options {
    size_t struct_size;     /* set by sxt_size_diff_options_init */
    bool ignore_alias_only; /* a symbol counts as unchanged if only its number of aliases changed */
    unsigned threads;       /* the most threads for matching; 0: see sxt_extract_options */
    uintptr_t reserved[4];
} sxt_size_diff_options;

SXT_API void sxt_size_diff_options_init(sxt_size_diff_options *options);

/* Matches the symbols of two builds. BEFORE and AFTER must outlive the diff. OPTIONS may be NULL. */
SXT_API int sxt_size_diff_make(const sxt_size_info *before, const sxt_size_info *after,
                               const sxt_size_diff_options *options, sxt_size_diff **out, sxt_error *error);
SXT_API void sxt_size_diff_free(sxt_size_diff **diff);

/* The two sides. Those of a .sizediff file are sparse: they have only the symbols that changed. */
SXT_API const sxt_size_info *sxt_size_diff_before(const sxt_size_diff *diff);
SXT_API const sxt_size_info *sxt_size_diff_after(const sxt_size_diff *diff);

/*
 * The symbols of both sides: first those that were matched, changed or not, then those added, then those removed, then
 * one symbol for each section where the padding of the matched symbols changed. Its status is SXT_SIZE_ADDED.
 */
SXT_API size_t sxt_size_diff_symbol_count(const sxt_size_diff *diff);
SXT_API int sxt_size_diff_symbol(const sxt_size_diff *diff, size_t index, sxt_size_symbol *out);

/* The disassembly that is stored with the later side of symbol INDEX; see sxt_size_info_disassembly. */
SXT_API int sxt_size_diff_disassembly(const sxt_size_diff *diff, size_t index, sxt_string *text);

/* How many symbols have a status. */
SXT_API uint64_t sxt_size_diff_status_count(const sxt_size_diff *diff, sxt_size_status status);

/* The changes by section. The diff must outlive this list. */
typedef struct sxt_size_section_changes sxt_size_section_changes;

typedef struct sxt_size_section_change {
    size_t struct_size;
    sxt_string name;
    double before, after, change; /* proportional sizes of the symbols */
    uint64_t symbols;             /* of either side; 0 for a section of which only the size is known */
    bool is_bss;                  /* not in the total */
} sxt_size_section_change;

#define SXT_SIZE_SECTION_CHANGE_INIT                                                                                   \
    {                                                                                                                  \
        sizeof(sxt_size_section_change), {NULL, 0}, 0, 0, 0, 0, false                                                  \
    }

/* The largest section comes first; those that are only in memory come last. */
SXT_API int sxt_size_section_changes_make(const sxt_size_diff *diff, sxt_size_section_changes **out, sxt_error *error);
SXT_API void sxt_size_section_changes_free(sxt_size_section_changes **changes);
SXT_API size_t sxt_size_section_changes_count(const sxt_size_section_changes *changes);
SXT_API int sxt_size_section_changes_get(const sxt_size_section_changes *changes, size_t index,
                                         sxt_size_section_change *out);
SXT_API void sxt_size_section_changes_total(const sxt_size_section_changes *changes, sxt_size_section_change *out);

/* --- budgets: how much a build may grow --- */

typedef struct sxt_size_budget {
    size_t struct_size;
    sxt_string section; /* absent: the whole file */
    double limit;       /* bytes, or percent of the size before */
    bool is_percent;
} sxt_size_budget;

#define SXT_SIZE_BUDGET_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(sxt_size_budget), {NULL, 0}, 0, false                                                                   \
    }

/* "4k", "1%", ".text=4k" or ".text=1%"; SXT_ERROR_USAGE for anything else. The section is a view of TEXT. */
SXT_API int sxt_size_budget_parse(const char *text, sxt_size_budget *out, sxt_error *error);

typedef struct sxt_size_budget_result {
    size_t struct_size;
    bool is_known;    /* false: neither side has the section, and the rest is 0 */
    bool is_exceeded; /* it grew by more than is allowed */
    double before, change, allowed;
} sxt_size_budget_result;

#define SXT_SIZE_BUDGET_RESULT_INIT                                                                                    \
    {                                                                                                                  \
        sizeof(sxt_size_budget_result), false, false, 0, 0, 0                                                          \
    }

SXT_API void sxt_size_budget_check(const sxt_size_section_changes *changes, const sxt_size_budget *budget,
                                   sxt_size_budget_result *out);

/* --- queries --- */

typedef struct sxt_size_query sxt_size_query;
typedef struct sxt_size_result sxt_size_result;

/*
 * Parses a query of SIZE bytes; docs/query.md describes the language. The message of an error in the text
 * (SXT_ERROR_USAGE, SXT_ERROR_LIMIT) has the column, and the offset of the error is the place in TEXT. An unknown name
 * after '@' gives SXT_REASON_UNKNOWN_QUERY.
 */
SXT_API int sxt_size_query_parse(const char *text, size_t size, sxt_size_query **out, sxt_error *error);
SXT_API void sxt_size_query_free(sxt_size_query **query);

/* A query that has a name: "templates" is used as "@templates". The struct may grow at its end. */
typedef struct sxt_size_canned_query {
    const char *name, *text, *help;
} sxt_size_canned_query;

/* Canned query INDEX, from 0; NULL after the last one. Static. */
SXT_API const sxt_size_canned_query *sxt_size_canned_query_at(size_t index);

/* Runs a query. INFO or DIFF must outlive the result; the query may be freed. */
SXT_API int sxt_size_info_query(const sxt_size_info *info, const sxt_size_query *query, sxt_size_result **out,
                                sxt_error *error);
SXT_API int sxt_size_diff_query(const sxt_size_diff *diff, const sxt_size_query *query, sxt_size_result **out,
                                sxt_error *error);
SXT_API void sxt_size_result_free(sxt_size_result **result);

/*
 * A symbol, or a group of symbols. The size of a group counts the bytes of aliases once; its pss adds up the shares of
 * all of them.
 */
typedef struct sxt_size_row {
    size_t struct_size;
    double pss;
    int64_t size, padding;
    uint64_t count;         /* of symbols */
    size_t symbol;          /* index of the symbol, or of the first one of a group */
    sxt_size_status status; /* the one that all symbols have, or SXT_SIZE_CHANGED */
} sxt_size_row;

#define SXT_SIZE_ROW_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(sxt_size_row), 0, 0, 0, 0, 0, SXT_SIZE_UNCHANGED                                                        \
    }

SXT_API size_t sxt_size_result_row_count(const sxt_size_result *result);
SXT_API int sxt_size_result_row(const sxt_size_result *result, size_t index, sxt_size_row *out);

/* Sums up all rows, including those beyond the limit of the query. Returns how many rows there are. */
SXT_API size_t sxt_size_result_total(const sxt_size_result *result, sxt_size_row *out);

/*
 * What the rows are grouped by: the number of keys (0: rows are symbols), their names (NULL after the last one), and
 * the label of a row for a key (absent if there is no such row or key).
 */
SXT_API size_t sxt_size_result_key_count(const sxt_size_result *result);
SXT_API const char *sxt_size_result_key(const sxt_size_result *result, size_t key);
SXT_API sxt_string sxt_size_result_label(const sxt_size_result *result, size_t index, size_t key);

/*
 * Makes a sparse copy with the symbols that are rows of RESULT, and their aliases. RESULT must come from a query of
 * INFO without groups (SXT_ERROR_USAGE otherwise).
 */
SXT_API int sxt_size_info_select(const sxt_size_info *info, const sxt_size_result *result, sxt_size_info **out,
                                 sxt_error *error);

/* --- disassembly: what changed in the code of functions --- */

typedef struct sxt_size_disassembly sxt_size_disassembly;

/*
 * Disassembles the functions that changed most, at most ten of those that changed by 10 bytes or more, and compares the
 * listings. The two paths are the binaries that the sides of DIFF were made from; both may be NULL. Disassembly that is
 * stored in DIFF is in the list too. DIFF must outlive it. SXT_ERROR_UNSUPPORTED if code for the machine cannot be
 * disassembled. On failure *FAILED is the path that could not be read or disassembled; FAILED may be NULL.
 */
SXT_API int sxt_size_diff_disassemble(const sxt_size_diff *diff, const char *before_binary, const char *after_binary,
                                      sxt_size_disassembly **out, const char **failed, sxt_error *error);
SXT_API void sxt_size_disassembly_free(sxt_size_disassembly **disassembly);

/* A function as a symbol of the later side, and the unified diff of its two listings. */
SXT_API size_t sxt_size_disassembly_count(const sxt_size_disassembly *disassembly);
SXT_API int sxt_size_disassembly_get(const sxt_size_disassembly *disassembly, size_t index, sxt_size_symbol *symbol,
                                     sxt_string *text);

/* --- writing --- */

typedef struct sxt_size_write_options {
    size_t struct_size;                      /* set by sxt_size_write_options_init */
    bool fast;                               /* compress 10 times as fast; the bytes differ from SuperSize's */
    const sxt_size_disassembly *disassembly; /* stored with the diff that it was made from; NULL: none */
    uintptr_t reserved[4];
} sxt_size_write_options;

SXT_API void sxt_size_write_options_init(sxt_size_write_options *options);

/*
 * Writes a .size file, sparse if INFO is, or a .sizediff file. The file at PATH appears whole or not at all; "-" is
 * standard output. OPTIONS may be NULL. *BYTES is the size of the file; BYTES may be NULL. The caller frees *DATA with
 * sxt_free.
 */
SXT_API int sxt_size_info_write(const sxt_size_info *info, const char *path, const sxt_size_write_options *options,
                                uint64_t *bytes, sxt_error *error);
SXT_API int sxt_size_info_write_memory(const sxt_size_info *info, const sxt_size_write_options *options, void **data,
                                       size_t *size, sxt_error *error);
SXT_API int sxt_size_diff_write(const sxt_size_diff *diff, const char *path, const sxt_size_write_options *options,
                                uint64_t *bytes, sxt_error *error);
SXT_API int sxt_size_diff_write_memory(const sxt_size_diff *diff, const sxt_size_write_options *options, void **data,
                                       size_t *size, sxt_error *error);

/* --- inlined functions: what they cost where they were inlined --- */

typedef struct sxt_inlined_list sxt_inlined_list;

typedef struct sxt_inlined_function {
    size_t struct_size;
    sxt_string function; /* demangled */
    sxt_string file;     /* where it is defined; absent when unknown */
    uint64_t size;       /* its own bytes in all places, without what is inlined into it */
    uint64_t total;      /* with what is inlined into it */
    uint64_t places;     /* pieces of code; a call may have several */
} sxt_inlined_function;

#define SXT_INLINED_FUNCTION_INIT                                                                                      \
    {                                                                                                                  \
        sizeof(sxt_inlined_function), {NULL, 0}, {NULL, 0}, 0, 0, 0                                                    \
    }

/* Reads the DWARF of the binary at PATH. OPTIONS may be NULL. The largest function comes first. */
SXT_API int sxt_inlined_list_read(const char *path, const sxt_extract_options *options, sxt_inlined_list **out,
                                  sxt_error *error);
SXT_API void sxt_inlined_list_free(sxt_inlined_list **list);
SXT_API size_t sxt_inlined_list_count(const sxt_inlined_list *list);
SXT_API int sxt_inlined_list_get(const sxt_inlined_list *list, size_t index, sxt_inlined_function *out);

/* Bytes of all functions of the binary, inlined ones included. */
SXT_API uint64_t sxt_inlined_list_code_size(const sxt_inlined_list *list);

#ifdef __cplusplus
}
#endif

#endif
