/*
 * symbols.h: the model between sources and formats. Sources fill it, formats read it, and neither depends on the other.
 *
 * It has two lists over strings that are stored once:
 *
 *   symbols   every entry of a symbol table, functions and data, as linked
 *   ranges    machine code: who owns which bytes, with inlined calls nested inside
 *
 *     address ──────────────────────────────────────────────────▶
 *     depth 0   [ main                                  ][ helper ]
 *     depth 1       [ parse            ]  [ print ]
 *     depth 2           [ skip_space ]
 *
 * While it is being built, a source adds ranges in tree order: a range of depth d > 0 lies inside the nearest range
 * before it that has depth d - 1. sxt_symbols_finish then sorts, merges the sources by priority and coverage, and cuts
 * ranges that extend beyond the one around them. The resulting ranges are disjoint at depth 0, nested below, and
 * ordered by (address, depth). After that the model is immutable and may be read from any number of threads.
 */
#ifndef SXT_SYMBOLS_SYMBOLS_H
#define SXT_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/buffer.h"
#include "base/strings.h"
#include "demangle/demangle.h"
#include "symbols/module.h"

/* The deepest nesting that is kept; deeper ranges are dropped. */
#define SXT_SYMBOLS_MAX_DEPTH 1000

/* Strings are numbers in `strings`; 0 is the empty string and means "unknown". */
struct sxt_model_symbol {
    uint64_t address;
    uint64_t size;
    uint32_t name;
    uint32_t section;
    uint32_t module;
    char type;            /* as in sxt_symbol */
    char binding;         /* as in sxt_symbol */
    uint8_t source;       /* one of sxt_source */
    char letter;          /* as nm prints it, 'T' or 'd'; 0 if nm does not list it */
    uint64_t section_end; /* how far a zero-size symbol may be extended; 0 when unknown */
};

/* What a source says about a range besides its fields. */
enum sxt_range_flags {
    SXT_RANGE_LINKAGE_NAME = 1, /* the function name is a linkage name, not one made of plain names */
    SXT_RANGE_ENTRY = 2,        /* depth 0: the function is entered at the start of the range */
    SXT_RANGE_PART = 4,         /* depth 0: belongs to the same function as the range of depth 0 added before it */
    SXT_RANGE_SYMBOL_NAME = 8,  /* depth 0: the name is that of a symbol at its start */
    SXT_RANGE_KEEP = 16,        /* depth 0 without a name: kept if no symbol has any of its bytes; see nameless.h */
    SXT_RANGE_CONTINUES = 32,   /* a piece of one range with the last range before it of its depth and function */
    SXT_RANGE_ASSUMED = 64,     /* put together from ranges that may have been cut, or may have been several */
    SXT_RANGE_OWN_LINES = 128,  /* in a list of cut ranges: its lines are not those of the model */
    SXT_RANGE_ASSEMBLER = 256,  /* of an assembler source, which may give one function several names */
};

struct sxt_model_range {
    uint64_t address;
    uint64_t length;
    uint32_t depth;
    uint32_t function;
    uint32_t file;      /* of the function's own lines; the line entries have the exceptions */
    uint32_t call_file; /* of the inlined call */
    uint32_t call_line;
    uint32_t first_line; /* index in `lines` */
    uint32_t line_count;
    uint8_t source;
    uint16_t flags; /* a set of sxt_range_flags */
};

struct sxt_model_line {
    uint32_t offset; /* from the range's address */
    uint32_t file;
    uint32_t line;
    uint32_t column;
    uint32_t discriminator;
};

/* Where a variable, or an inlined function, is declared. */
struct sxt_model_variable {
    uint64_t address; /* thread-local: offset in the segment of thread-local data */
    uint32_t file;
    bool is_thread_local;
    uint32_t function; /* 0 for a variable; a function has no address */
};

/* A name of the function at an address. An address with several names has several of these. */
struct sxt_model_alias {
    uint64_t address;
    uint32_t name;
    bool ambiguous; /* the names there are of several functions, whose identical code was folded into one */
};

/* Which function is called by the call that returns to an address. */
struct sxt_model_call {
    uint64_t return_address;
    uint32_t function;
};

/* Where a section of a relocatable file was laid out. */
struct sxt_model_base {
    uint32_t name;
    uint64_t base;
};

struct sxt_symbols {
    struct sxt_strings strings;

    struct sxt_model_symbol *symbols;
    size_t symbol_count, symbol_capacity;
    size_t ordered_count; /* how many of the first symbols are in order already */
    struct sxt_model_range *ranges;
    size_t range_count, range_capacity;
    struct sxt_model_line *lines;
    size_t line_count, line_capacity;
    struct sxt_model_variable *variables; /* in any order; with SXT_EXTRACT_VARIABLES or _DECLARATIONS */
    size_t variable_count, variable_capacity;

    struct sxt_model_alias *aliases; /* finished: by address, all names of functions that have more than one */
    size_t alias_count, alias_capacity;
    struct sxt_model_call *calls; /* finished: by address, only calls of functions whose name is ambiguous */
    size_t call_count, call_capacity;

    /* Facts about the file as a whole. */
    struct sxt_model_module module;
    uint32_t sources; /* those that gave at least one symbol or range */
    sxt_units units;
    struct sxt_model_base *bases;
    size_t base_count, base_capacity;

    unsigned threads;      /* set before finish: how many it may use; see sxt_pool_threads */
    bool may_be_folded;    /* set before finish: the linker may have folded identical functions into one */
    bool cannot_be_folded; /* set before finish: the linker is known, and does not do that */
    bool reference;        /* the reference writer's rows, in its order: not sorted, not merged */
    bool extend_zero_size; /* set before finish: see SXT_EXTRACT_EXTEND_ZERO_SIZE */
    bool failed;           /* an add ran out of memory; finish reports it */
};

/* Makes an empty model; the caller frees *OUT with sxt_symbols_free. */
int sxt_symbols_new(struct sxt_symbols **out, sxt_error *error);

/* A string's number; 0 for an empty one, and when memory is short (then `failed` is set). */
uint32_t sxt_symbols_string(struct sxt_symbols *symbols, const char *data, size_t size);

/* The same for a string of which sxt_strings_expect computed the hash. */
uint32_t sxt_symbols_string_hashed(struct sxt_symbols *symbols, sxt_string text, uint32_t hash);

/* Makes room for a table of COUNT symbols. Best effort: without it the model grows as symbols are added. */
void sxt_symbols_reserve(struct sxt_symbols *symbols, size_t count);

/*
 * Add to the model. All three note a failure in `failed` instead of returning it. A line belongs to the range added
 * last.
 */
void sxt_symbols_add_symbol(struct sxt_symbols *symbols, const struct sxt_model_symbol *symbol);
void sxt_symbols_add_range(struct sxt_symbols *symbols, const struct sxt_model_range *range);
void sxt_symbols_add_line(struct sxt_symbols *symbols, const struct sxt_model_line *line);
void sxt_symbols_add_alias(struct sxt_symbols *symbols, const struct sxt_model_alias *alias);
void sxt_symbols_add_call(struct sxt_symbols *symbols, uint64_t return_address, uint32_t function);
void sxt_symbols_add_base(struct sxt_symbols *symbols, uint32_t name, uint64_t base);
void sxt_symbols_add_segment(struct sxt_symbols *symbols, const struct sxt_model_segment *segment);

/*
 * Moves the symbols, ranges and lines of OTHER to the end of those of SYMBOLS. It notes a failure like the functions
 * above. Nothing was added to OTHER besides them.
 */
void sxt_symbols_append(struct sxt_symbols *symbols, struct sxt_symbols *other);

/* Puts the symbols in order. sxt_symbols_finish does the same; a caller can have it done earlier, on another thread. */
int sxt_symbols_order(struct sxt_symbols *symbols, sxt_error *error);

/*
 * Turns what was added into the ordered, merged model:
 *
 * - Symbols are sorted by address; several at one address by the rule of alias_rule.h (sized before zero-size, then
 *   global, weak, local, then the order they were added in).
 * - Functions of DWARF take the names of symbols at their entries (see entry_names.h).
 * - Every function symbol becomes a range of depth 0 at the addresses that no better source covers.
 * - For each address the best source that covers it wins (DWARF, Go, symbol tables); inside a source the range that
 *   starts last, and among those that start together the one that the alias rule or the order of adding puts first. The
 *   rest of a range that is covered in part is kept, so no function hides another.
 * - Function symbols at one address become aliases; see aliases.h.
 * - Zero-size functions own no bytes unless extend_zero_size is set.
 */
int sxt_symbols_finish(struct sxt_symbols *symbols, sxt_error *error);

/* Leaves the rows as they were added (the reference writer's view); only reports a failure to add. */
int sxt_symbols_finish_raw(struct sxt_symbols *symbols, sxt_error *error);

/* Keeps the ranges as they were added, sorted: they come from an archive, and were merged when it was made. */
int sxt_symbols_finish_sorted(struct sxt_symbols *symbols, sxt_error *error);

static inline sxt_string sxt_symbols_view(const struct sxt_symbols *symbols, uint32_t number)
{
    return sxt_strings_get(&symbols->strings, number);
}

/* Sorts by (address, depth); equal ones keep their order. At most UINT32_MAX ranges. */
int sxt_ranges_sort(struct sxt_model_range *ranges, size_t count, sxt_error *error);

/*
 * Some formats have room for one file per range. A range whose own lines come from several files is cut where the file
 * changes, and so is every deeper range that crosses the cut; the pieces after the first have the flag "continues",
 * unless the range was only assumed to be one. *OUT gets all ranges, cut where needed, and the lines of those that were
 * cut; string numbers, and the other lines, are those of SYMBOLS. THREADS: see sxt_pool_threads.
 */
struct sxt_range_list {
    struct sxt_model_range *ranges;
    size_t range_count;
    const struct sxt_model_line *lines; /* of the model */
    struct sxt_model_line *own_lines;   /* of ranges with the flag "own lines" */
};
int sxt_ranges_one_file(const struct sxt_symbols *symbols, unsigned threads, struct sxt_range_list *out,
                        sxt_error *error);
void sxt_range_list_free(struct sxt_range_list *list);

/* The line entries of RANGE; NULL if it has none. */
static inline const struct sxt_model_line *sxt_range_list_lines(const struct sxt_range_list *list,
                                                                const struct sxt_model_range *range)
{
    if (range->line_count == 0)
        return NULL;
    return (range->flags & SXT_RANGE_OWN_LINES ? list->own_lines : list->lines) + range->first_line;
}

/* The readable forms of function names, decoded on several threads. */
struct sxt_names {
    uint32_t *numbers; /* the names, by their numbers in the model, each once */
    size_t count;
    uint32_t *place_of;             /* by number in the model: place in `numbers`; only for names that are there */
    struct sxt_demangled demangled; /* by place in `numbers` */
};

/*
 * Fills *NAMES, which the caller frees even after a failure, with the names of the functions in LIST, of aliases and of
 * calls. THREADS: see sxt_pool_threads. TABLE may be NULL; see sxt_demangle_all.
 */
int sxt_names_make(struct sxt_names *names, const struct sxt_symbols *symbols, const struct sxt_range_list *list,
                   const struct sxt_strings *table, unsigned threads, sxt_error *error);
void sxt_names_free(struct sxt_names *names);

/* The readable form of function NUMBER, one of those above. Absent if it has none, or if NAMES is all zero. */
sxt_string sxt_names_get(const struct sxt_names *names, uint32_t number);

/* How paths are changed when they are written. */
struct sxt_path_maps {
    const sxt_path_map *list;
    size_t count;
};

/* Appends PATH with its prefix replaced by the first map that matches, or returns false if none does. */
bool sxt_map_path(const struct sxt_path_maps *maps, sxt_string path, struct sxt_buffer *out);

/* Appends the encoding of facts about a binary, with its path changed. */
void sxt_module_encode_mapped(const struct sxt_model_module *module, const struct sxt_path_maps *maps,
                              struct sxt_buffer *out);

#endif
