/*
 * symbols.h: the functions of an open archive or binary, listed, searched and described. Private to this room.
 *
 * A function is a row of depth 0 of an archive, or a symbol of a ksym blob, so that their number is the one that
 * `sextant info` prints. Names stay in the mapped archive. Memory: 32 bytes for each function, 4 bytes for each of it
 * and each order that was asked for, 4 bytes for each function that a search found, 16 bytes for each linkage name that
 * differs from the name, and the names that the archive does not have in readable form: at most NAMES_MAX bytes.
 */
#ifndef SXT_VIEW_SYMBOLS_H
#define SXT_VIEW_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>

#include "answer/answer.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/json_writer.h"
#include "demangle/demangle.h"

/*
 * Processor time that one thread may take for an answer, 3 s, counted from the first question. Files can be made so
 * that small tables stand for gigabytes of names.
 */
struct sxt_view_budget {
    int64_t until; /* in seconds; 0 before the first question */
};
bool sxt_view_is_over(struct sxt_view_budget *budget);

/* The beginning of a name, for lists, which have no room for long ones. It ends between two characters. */
#define SXT_VIEW_NAME_SHOWN 1000
sxt_string sxt_view_shown(sxt_string name);

struct sxt_view_function {
    uint64_t address, size;
    const char *name; /* readable */
    uint32_t name_size;
    uint32_t row; /* of the archive; for a ksym blob the type, as nm prints it */
};

/* Another name of a function, at which it can be found too. */
struct sxt_view_alias {
    uint32_t function;
    sxt_string name;
};

enum sxt_view_order { SXT_VIEW_BY_ADDRESS, SXT_VIEW_BY_NAME, SXT_VIEW_BY_SIZE, SXT_VIEW_ORDERS };

/* All functions, in the order of addresses. */
struct sxt_view_functions {
    struct sxt_view_function *items;
    size_t count;
    sxt_string *linked;             /* linkage names, by function; absent if it is the name. NULL if there are none */
    struct sxt_view_alias *aliases; /* by function */
    size_t alias_count, alias_capacity;
    uint32_t *orders[SXT_VIEW_ORDERS]; /* numbers of functions, ascending; made when they are first used */
    struct sxt_arena names;            /* of a ksym blob, whose own are compressed */
    struct sxt_demangled readable;     /* of an archive with mangled names */
    bool is_ksym;
};

int sxt_view_functions_read(struct sxt_view_functions *functions, const sxt_archive *archive, unsigned threads,
                            sxt_error *error);
void sxt_view_functions_free(struct sxt_view_functions *functions);

/* The name of a function, and the one that it is linked by: absent if that is the same, or unknown. */
sxt_string sxt_view_function_name(const struct sxt_view_functions *functions, size_t index);
sxt_string sxt_view_function_linked(const struct sxt_view_functions *functions, size_t index);

/* The name that the archive has. */
sxt_string sxt_view_function_stored(const struct sxt_view_functions *functions, size_t index);

/* The first of the other names of a function, of which there may be more after it. */
size_t sxt_view_first_alias(const struct sxt_view_functions *functions, size_t index);

/* The numbers of all functions in an order; NULL when memory is short. Of names, the beginnings are compared. */
const uint32_t *sxt_view_functions_order(struct sxt_view_functions *functions, enum sxt_view_order order);

/* --- symbol_search.c --- */

/* What is searched for: a part of a name, or a regular expression. */
struct sxt_view_search {
    const char *text; /* "" for everything */
    bool is_pattern;
    bool with_case;
};

/* What the last search found. */
struct sxt_view_found {
    char *text; /* of the search; NULL before the first one */
    bool is_pattern, with_case;
    uint64_t *bits; /* one for each function */
    uint32_t *list; /* the numbers of those that were found, in this order: */
    enum sxt_view_order order;
    size_t count;
};

/* Fills FOUND, unless it has the answer already. SXT_ERROR_USAGE for a bad regular expression. */
int sxt_view_search(struct sxt_view_functions *functions, const struct sxt_view_search *search,
                    enum sxt_view_order order, unsigned threads, struct sxt_view_found *found, sxt_error *error);
void sxt_view_found_free(struct sxt_view_found *found);

/* --- the file of a page --- */

struct sxt_view_symbols_state {
    sxt_archive *archive; /* NULL before the page is made, of a file that takes long to open */
    sxt_open_options open;
    sxt_extract_options extract;
    sxt_info info;
    struct sxt_view_functions functions;
    struct sxt_view_found found;
    bool is_read; /* `functions` is filled */
    const char *path;
    unsigned threads;
    struct sxt_answer_explain *explain;
    sxt_frame *frames; /* of the last lookup */
    size_t frame_capacity;
};

/* Looks an address up, with all frames, which are then in state->frames. */
size_t sxt_view_lookup(struct sxt_view_symbols_state *state, uint64_t address);

/* A part of a list: COUNT items from number FROM on. */
struct sxt_view_window {
    uint64_t from, count;
};

#define SXT_VIEW_WINDOW_MAX 1000

/* --- answers, as JSON. INDEX is the number of a function, below the count. --- */

/* {"total":n,"found":n,"rows":[...]}: a part of the table. */
int sxt_view_write_functions(struct sxt_view_symbols_state *state, const struct sxt_view_search *search,
                             enum sxt_view_order order, bool descending, struct sxt_view_window window,
                             struct sxt_json_writer *json, sxt_error *error);

/* {"position":n}: at which place of the table a function is; null if it was not found. */
int sxt_view_write_position(struct sxt_view_symbols_state *state, const struct sxt_view_search *search,
                            enum sxt_view_order order, bool descending, size_t index, struct sxt_json_writer *json,
                            sxt_error *error);

/* What is known of a function. */
int sxt_view_write_function(struct sxt_view_symbols_state *state, size_t index, struct sxt_json_writer *json,
                            sxt_error *error);

/* Parts of lists: {"total":n,"items":[...]}. */
typedef int sxt_view_write_part(struct sxt_view_symbols_state *state, size_t index, struct sxt_view_window window,
                                struct sxt_json_writer *json, sxt_error *error);
sxt_view_write_part sxt_view_write_ranges, sxt_view_write_inlines, sxt_view_write_lines, sxt_view_write_pads;

/* Answers the questions in TEXT, one on a line. */
int sxt_view_write_addresses(struct sxt_view_symbols_state *state, const char *text, bool with_explanation,
                             struct sxt_json_writer *json, sxt_error *error);

#endif
