/*
 * pprof.h: a pprof profile (profile.proto of google/pprof) read, given lines, and written again.
 *
 *     Profile   1 sample type  2 sample  3 mapping  4 location  5 function  6 string table  ...
 *     Sample    1 location ids, the leaf first   ...
 *     Mapping   1 id  2 start  3 limit  4 file offset  5 file name  6 build ID  7 to 10 flags: has functions, file
 * names, line numbers, inlined frames Location  1 id  2 mapping id  3 address  4 lines, the innermost inlined call
 * first  5 is folded Line      1 function id  2 line  3 column Function  1 id  2 name  3 system name  4 file name  5
 * start line
 *
 * Names are numbers of the string table, whose number 0 is "". What does not change is copied byte for byte, with
 * unknown fields; new functions and strings come after everything else.
 */
#ifndef SXT_PROFILE_PPROF_H
#define SXT_PROFILE_PPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/strings.h"

#define SXT_PPROF_NONE UINT32_MAX

struct sxt_pprof_mapping {
    uint64_t id;
    uint64_t start, limit; /* of memory */
    uint64_t offset;       /* in the file, of what is at start */
    sxt_string name;
    sxt_string build_id;
    sxt_string file_id; /* OTLP: another name of the binary; absent if unknown */
    bool resolved;      /* set by the user: its flags will say that names, files, lines and inlined calls are there */
};

struct sxt_pprof_location {
    uint64_t id;
    uint64_t address;
    uint32_t mapping;    /* its index, or SXT_PPROF_NONE */
    uint32_t first_line; /* of those that were added */
    uint32_t line_count;
    bool has_lines; /* it came with some */
    bool is_folded; /* its function is one of several that a linker folded into one */
    bool is_return; /* in some sample it is not the leaf, so its address is the one that a call returns to */
    bool is_leaf;   /* OTLP: it is the leaf of some sample */
    bool is_null;   /* OTLP: means "none", and does not count */
    bool is_other;  /* OTLP: not of native code */
};

struct sxt_pprof_line {
    uint32_t function; /* index in functions */
    uint32_t line;
};

/* One that is added. All are numbers in `names`. */
struct sxt_pprof_function {
    uint32_t name, system_name, file;
};

/* A copy of a location, for the samples in which a call says which of several functions is meant. */
struct sxt_pprof_variant {
    uint32_t location; /* the one it is a copy of */
    uint32_t function; /* index in functions */
    bool has_lines;    /* the lines of the location are right for this function */
};

/* In a stack in which CALLER called CALLEE, both ids of locations, the variant takes the place of CALLEE. */
struct sxt_pprof_choice {
    uint64_t callee, caller;
    uint32_t variant;
};

struct sxt_pprof {
    const uint8_t *data; /* borrowed */
    size_t size;
    struct sxt_pprof_mapping *mappings; /* in file order, as the locations are */
    size_t mapping_count, mapping_capacity;
    struct sxt_pprof_location *locations;
    size_t location_count, location_capacity;
    sxt_string *strings; /* the table of the file */
    size_t string_count, string_capacity;
    uint64_t last_function; /* the highest id that is taken */
    uint64_t last_location;
    bool is_otlp; /* stacks do not change, and names must be UTF-8 */

    struct sxt_strings names; /* every string once: those of the file and new ones */
    uint32_t *table_index;    /* by number in names: where it is, or will be, in the string table */
    size_t table_capacity;
    uint32_t *new_strings; /* numbers in names, in the order of the table */
    size_t new_string_count, new_string_capacity;
    struct sxt_strings function_keys; /* number N + 1 is the key of function N */
    struct sxt_pprof_function *functions;
    size_t function_count, function_capacity;
    struct sxt_pprof_line *lines;
    size_t line_count, line_capacity;
    struct sxt_pprof_variant *variants;
    size_t variant_count, variant_capacity;
    struct sxt_pprof_choice *choices; /* by (callee, caller) after sxt_pprof_order_choices */
    size_t choice_count, choice_capacity;
};

/* DATA, which is not compressed, must outlive PPROF. Offsets in errors count from its first byte. */
int sxt_pprof_read(struct sxt_pprof *pprof, const uint8_t *data, size_t size, sxt_error *error);
void sxt_pprof_free(struct sxt_pprof *pprof);

/*
 * Appends a string to the table while it is read; SXT_ERROR_LIMIT if it has MOST. After the last one, the strings have
 * to be indexed: then names are found in the table.
 */
int sxt_pprof_take_string(struct sxt_pprof *pprof, sxt_string string, size_t most, sxt_error *error);
int sxt_pprof_index_strings(struct sxt_pprof *pprof, sxt_error *error);

/* The string with that index in the table; empty if there is none. */
static inline sxt_string sxt_pprof_string(const struct sxt_pprof *pprof, uint64_t index)
{
    return index < pprof->string_count ? pprof->strings[index] : (sxt_string){"", 0};
}

/* The number of a name in pprof->names; SXT_STRINGS_FULL when out of memory. */
uint32_t sxt_pprof_name(struct sxt_pprof *pprof, const char *data, size_t size);

/*
 * Adds a line after those that LOCATION has so far; all lines of a location are added in one go, the innermost
 * first. False when out of memory.
 */
bool sxt_pprof_add_line(struct sxt_pprof *pprof, size_t location, const struct sxt_pprof_function *function,
                        uint32_t line);

/* Calls VISIT for the id of each location of a sample, the leaf first. SXT_ERROR_MEMORY if it returns false. */
int sxt_pprof_visit_stack(struct sxt_cursor message, bool (*visit)(void *data, uint64_t id), void *data,
                          sxt_error *error);

/*
 * Calls VISIT for each two locations, by index, that follow each other in a sample: the second called the first. The
 * same two may come often. SXT_ERROR_MEMORY if VISIT returns false.
 */
int sxt_pprof_visit_calls(const struct sxt_pprof *pprof, bool (*visit)(void *data, uint32_t callee, uint32_t caller),
                          void *data, sxt_error *error);

/* The index of a function like this, which is added if it is new; SXT_PPROF_NONE when out of memory. */
uint32_t sxt_pprof_function(struct sxt_pprof *pprof, const struct sxt_pprof_function *function);

/* Notes that where location CALLER called CALLEE, FUNCTION is meant. False when out of memory. */
bool sxt_pprof_choose(struct sxt_pprof *pprof, uint32_t callee, uint32_t caller, uint32_t function, bool has_lines);

/* Prepares the choices for writing, after the last one. */
void sxt_pprof_order_choices(struct sxt_pprof *pprof);

/* Appends the profile to OUT. A location that was given lines has only those: the ones it came with are left out. */
int sxt_pprof_write(const struct sxt_pprof *pprof, struct sxt_buffer *out, sxt_error *error);

#endif
