/*
 * size.h: the model of Chromium SuperSize's files: who owns each byte of a binary. sextant/size.h is its public side.
 *
 * An sxt_size is a list of symbols in segments, one segment a section of a container (a binary, a member of a library):
 *
 *     containers   app                                 libfoo.so
 *     segments     .text          .rodata      .bss    .text       ...
 *     symbols      [f][g][g']..   ["%d"][t]..  [x]..   [h]..
 *                     └─ aliases: several names for the same bytes, next to each other
 *
 * A symbol's size includes the padding before it. Aliases share their bytes: the proportional size (pss) of each is its
 * size divided by their number, so that sums over everything are right. Texts are views into what was read, or into the
 * arena of the sxt_size; a symbol has its stored name only, and sxt_size_names derives the others from it.
 *
 * Once made, an sxt_size is only read, by any number of threads.
 */
#ifndef SXT_SIZE_SIZE_H
#define SXT_SIZE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/size.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"

struct sxt_size_model_symbol {
    uint64_t address; /* a kernel's are above 2^63 */
    int64_t size;     /* with padding */
    int64_t padding;
    const char *full_name; /* as stored; not NUL-terminated */
    uint32_t full_name_size;
    uint32_t path;      /* in paths */
    uint32_t component; /* in components */
    uint32_t segment;   /* in segments */
    uint32_t group;     /* in groups, plus 1; 0 when it has no aliases */
    uint32_t flags;     /* a set of sxt_size_flag, and whatever else a file has */
};

struct sxt_size_path {
    sxt_string object, source; /* "" for unknown */
};

/* Aliases: COUNT symbols from FIRST on. */
struct sxt_size_group {
    uint32_t first, count;
};

struct sxt_size_segment {
    uint32_t container;
    sxt_string section;
    char letter; /* 't', 'r', 'd', 'b', ...; 'o' for a section that SuperSize does not know */
    bool is_native, is_bss, is_pak, is_dex;
    size_t first, count; /* symbols */
};

struct sxt_size_container {
    sxt_string name;           /* "" in a file with one container, which does not store it */
    struct sxt_json *metadata; /* an object; NULL when the file has none, or null */
    struct sxt_json *sections; /* section_sizes: an object of numbers */
    struct sxt_json *metrics;  /* metrics_by_file: an object of objects of numbers; NULL when absent */
    struct sxt_json *extra;    /* what else a file has of it, to be stored again; NULL for nothing */
};

struct sxt_size_model_disassembly {
    uint32_t symbol;
    sxt_string text;
};

/* Files of other makers need not have these keys in their header; saved again, they do not get them either. */
enum sxt_size_lack { SXT_SIZE_NO_COMPONENTS_KEY = 1, SXT_SIZE_NO_DISASSEMBLY_KEY = 2, SXT_SIZE_NO_PADDING_KEY = 4 };

struct sxt_size_info {
    struct sxt_json *build_config; /* an object; NULL for none */
    struct sxt_size_container *containers;
    size_t container_count;
    struct sxt_size_segment *segments;
    size_t segment_count;
    struct sxt_size_path *paths; /* sorted, each once, when it was read from a file of the reference */
    size_t path_count;
    sxt_string *components; /* just "" in a file without components */
    size_t component_count;
    struct sxt_size_model_symbol *symbols;
    size_t symbol_count;
    struct sxt_size_group *groups;
    size_t group_count;
    struct sxt_size_model_disassembly *disassemblies; /* by symbol */
    size_t disassembly_count;
    bool is_sparse;      /* paddings are stored, and symbols are in any order */
    bool has_components; /* as the file says; a new one has both */
    bool has_disassembly;
    bool is_multiple;       /* names are stored (v1.1) although there is but one container */
    uint8_t lacks;          /* a set of sxt_size_lack: what the file that was read leaves to its default */
    struct sxt_json *extra; /* what else its header has, to be stored again; NULL for nothing */
    struct sxt_arena arena; /* everything that is not in `text` */
    uint8_t *text;          /* what was read, inflated; NULL for one that was made */
    size_t text_size;
};

static inline sxt_string sxt_size_full_name(const struct sxt_size_model_symbol *symbol)
{
    return (sxt_string){symbol->full_name, symbol->full_name_size};
}

static inline uint32_t sxt_size_alias_count(const struct sxt_size_info *size,
                                            const struct sxt_size_model_symbol *symbol)
{
    return symbol->group == 0 ? 1 : size->groups[symbol->group - 1].count;
}

static inline double sxt_size_pss(const struct sxt_size_info *size, const struct sxt_size_model_symbol *symbol)
{
    return (double)symbol->size / sxt_size_alias_count(size, symbol);
}

/* "Overhead: ..." symbols are nothing but padding. */
bool sxt_size_is_overhead(const struct sxt_size_model_symbol *symbol);

/* --- sections.c: what is known of sections by their names --- */

/* Fills letter and the is_... of a segment from its section's name. */
void sxt_size_classify(struct sxt_size_segment *segment);

/* The section of a letter: 't' is ".text"; NULL for none. */
const char *sxt_size_section_of_letter(char letter);

/* Is the section's size one that counts in memory only, by its name (the keys of section_sizes)? */
bool sxt_size_is_bss(sxt_string section);

/* Is it one of the sections that have symbols? All others of a binary are together in .other. */
bool sxt_size_is_known(sxt_string section);

/* --- read.c --- */

struct sxt_size_limits {
    uint64_t inflated; /* the most bytes that a file may expand to; 0: 4 GiB */
};

/* Does it begin as one of the two formats does? (A gzip stream is looked into.) */
bool sxt_size_is(const uint8_t *data, size_t size);
bool sxt_sizediff_is(const uint8_t *data, size_t size);

/* Reads a .size file, gzip or its plain text. Paddings are derived where the file has none. */
int sxt_size_open(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, struct sxt_size_info **out,
                  sxt_error *error);

/* An empty one, to be filled through its arena. */
int sxt_size_info_new(struct sxt_size_info **out, sxt_error *error);

struct sxt_sizediff {
    struct sxt_size_info *before, *after; /* sparse */
    sxt_string *removed_sources;          /* in the arena of `before` */
    size_t removed_source_count;
    sxt_string *added_sources; /* in the arena of `after` */
    size_t added_source_count;
    struct sxt_json *extra; /* what else the header has, in the arena of `before`; NULL for nothing */
    sxt_string header;      /* the JSON of the file that was read, in that arena; absent for one that was made */
};

int sxt_sizediff_open(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, struct sxt_sizediff *out,
                      sxt_error *error);
void sxt_sizediff_free(struct sxt_sizediff *diff);

/* --- write.c --- */

enum sxt_size_deflate {
    SXT_SIZE_DEFLATE_STOCK, /* zlib at level 9: the bytes that the reference gives */
    SXT_SIZE_DEFLATE_FAST   /* libdeflate: other bytes, which every reader takes */
};

/*
 * Appends the file to OUT. Paths and components are stored sorted and each once, whatever their order in SIZE. Fails on
 * what the format cannot hold: tabs and newlines in names and paths, no container.
 */
int sxt_size_save(const struct sxt_size_info *size, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                  sxt_error *error);
int sxt_sizediff_save(const struct sxt_sizediff *diff, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                      sxt_error *error);

/* The text of a .size file before it is compressed. */
int sxt_size_write_text(const struct sxt_size_info *size, struct sxt_buffer *out, sxt_error *error);

/* --- header.c --- */

/* Appends VALUE as Python's json.dumps(indent=2, sort_keys=True) prints it. Numbers keep their text. */
void sxt_size_print_json(const struct sxt_json *value, struct sxt_buffer *out);

/* Appends the header of the file that SIZE would be. */
int sxt_size_print_header(const struct sxt_size_info *size, struct sxt_buffer *out, sxt_error *error);

/* Removes line ends and the blanks after them, which are outside of JSON's strings. */
void sxt_size_put_on_one_line(struct sxt_buffer *json);

/* --- padding.c --- */

/*
 * Derives the padding of all symbols (and adds it to their size) from their order and addresses, as the reference does
 * when it loads a file that is not sparse. A symbol on which the reference would abort gets no padding, and is counted.
 */
void sxt_size_derive_padding(struct sxt_size_info *size, uint64_t *conflicts);

/* --- names.c --- */

/* The three names of a symbol. The full name may lack a return type and such, so it can differ from the stored name. */
struct sxt_size_derived_names {
    sxt_string full_name, template_name, name;
    uint32_t flags; /* that follow from the name: CLONE, ANONYMOUS */
};

/* BUFFER holds what is not a part of the stored name; the names are valid until it is used again. */
void sxt_size_derive_names(const struct sxt_size_segment *segment, sxt_string stored, struct sxt_buffer *buffer,
                           struct sxt_size_derived_names *out);

/* --- name_flags.c --- */

/* CLONE and ANONYMOUS as the reference sets them when it makes or loads a file. BUFFER as above. */
uint32_t sxt_size_name_flags(const struct sxt_size_segment *segment, sxt_string stored, struct sxt_buffer *buffer);

/* --- order.c --- */

/*
 * Sorts the symbols of a size as a full archive has them, aliases among themselves too, and fills the segments anew.
 * Containers stay in their order.
 */
int sxt_size_sort(struct sxt_size_info *size, sxt_error *error);

/* --- verify.c --- */

/* Calls PROBLEM for everything that is wrong in a .size or .sizediff file. Returns how many there are. */
uint64_t sxt_size_verify(const uint8_t *data, size_t size, const struct sxt_size_limits *limits,
                         void (*problem)(void *data, const sxt_problem *problem), void *data_of_problem);

/* --- diff.c --- */

/* A pair of symbols, one of which may be missing. */
struct sxt_size_pair {
    uint32_t before, after; /* indices, or SXT_SIZE_NONE */
    uint8_t status;         /* an sxt_size_status */
};
#define SXT_SIZE_NONE UINT32_MAX

/* The change of padding of the matched symbols of a section. */
struct sxt_size_padding_change {
    sxt_string container, section;
    int64_t bytes;
};

struct sxt_size_delta {
    const struct sxt_size_info *before, *after; /* borrowed */
    struct sxt_size_pair *pairs;                /* matched in the order of the passes, then added, then removed */
    size_t pair_count;
    struct sxt_size_padding_change *paddings;
    size_t padding_count;
    uint64_t counts[4]; /* by status */
};

/*
 * With IGNORE_ALIAS_ONLY a pair of the same size whose number of aliases changed is unchanged. THREADS as in
 * sxt_pool_threads.
 */
int sxt_size_delta_make(const struct sxt_size_info *before, const struct sxt_size_info *after, bool ignore_alias_only,
                        unsigned threads, struct sxt_size_delta *out, sxt_error *error);
void sxt_size_delta_free(struct sxt_size_delta *delta);

/* The change of a pair: with padding if added or removed, without for matched ones; and in proportional size. */
int64_t sxt_size_pair_size(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair);
double sxt_size_pair_pss(const struct sxt_size_delta *delta, const struct sxt_size_pair *pair);

/*
 * What the reference stores of a diff: the changed symbols of both sides, with their aliases, sparse. DISASSEMBLY is
 * stored in place of what `after` has, unless it is NULL.
 */
int sxt_size_make_sizediff(const struct sxt_size_delta *delta, const struct sxt_size_disassembly *disassembly,
                           struct sxt_sizediff *out, sxt_error *error);

/* A sparse copy with the symbols for which KEEP is true, and their aliases. */
int sxt_size_make_sparse(const struct sxt_size_info *size, const bool *keep, struct sxt_size_info **out,
                         sxt_error *error);

/* --- diff.c: the public object --- */

struct sxt_size_diff {
    struct sxt_sizediff stored; /* the file that it was loaded from; empty for one that was made */
    struct sxt_size_delta delta;
};

/* Takes over STORED, also when it fails. */
int sxt_size_diff_from_stored(struct sxt_sizediff *stored, sxt_size_diff **out, sxt_error *error);

/* What changed in the code of functions of the later side. */
struct sxt_size_disassembly {
    const struct sxt_size_info *after;
    struct sxt_size_model_disassembly *items; /* by symbol */
    size_t count;
    struct sxt_arena arena; /* texts that are not stored in `after` */
};

/* --- info.c --- */

/* Fills the view of a symbol of INFO. INDEX must be below the number of symbols. */
void sxt_size_view_symbol(const struct sxt_size_info *info, size_t index, sxt_size_symbol *out);

#endif
