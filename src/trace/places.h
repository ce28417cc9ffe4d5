/*
 * places.h: addresses in loaded files, and the frames at them.
 *
 * All addresses of one file are looked up together: the file is opened once, with the addresses it is asked for, and
 * closed again.
 */
#ifndef SXT_TRACE_PLACES_H
#define SXT_TRACE_PLACES_H

#include "base/json_writer.h"
#include "base/strings.h"
#include "trace/trace.h"

#define SXT_NO_MODULE UINT32_MAX /* code that is in no file */

/* Numbers of strings in the tables below. */
struct sxt_place_frame {
    uint32_t file, function, line;
};

struct sxt_place {
    uint32_t module;
    uint64_t address;                /* in the file */
    size_t first, count;             /* its frames, innermost first; none if nothing is known */
    size_t operators;                /* how many of the innermost ones are operator new: see below */
    size_t first_alias, alias_count; /* if it is in folded code: the functions that it may be of, the first its own */
    uint32_t module_file;            /* the same: the number of the path of its file */
    uint32_t called; /* the folded function that the call before the return address calls; 0 if unknown */
};

struct sxt_places {
    struct sxt_place *list; /* by module and address, once they are sorted */
    size_t count, capacity;
    struct sxt_place_frame *frames;
    size_t frame_count, frame_capacity;
    struct sxt_strings files, functions;
    struct sxt_strings folded; /* names of folded functions */
    uint32_t *function_of;     /* by number of a folded function: that of the function; 0 until it is chosen */
    uint32_t *aliases;         /* numbers of folded functions */
    size_t alias_count, alias_capacity;
};

int sxt_places_init(struct sxt_places *places, sxt_error *error);
void sxt_places_free(struct sxt_places *places);

/* False if memory is short. */
bool sxt_places_add(struct sxt_places *places, uint32_t module, uint64_t address);

/* Sorts them and removes duplicates. */
void sxt_places_sort(struct sxt_places *places);

/* NULL if it is not there. They must be sorted. */
const struct sxt_place *sxt_places_find(const struct sxt_places *places, uint32_t module, uint64_t address);

/* Where the answers come from. */
struct sxt_places_source {
    /* The archive of a loaded file, for these addresses; NULL if there is none. */
    sxt_archive *(*open)(void *data, uint32_t module, const uint64_t *addresses, size_t count);
    /* Answers for addresses that the archive does not have, as sxt_remote_ask does. NULL: nobody else knows more. */
    int (*ask)(void *data, uint32_t module, const uint64_t *addresses, size_t count, sxt_remote_answer *answer,
               void *answer_data, sxt_error *error);
    sxt_string (*path)(void *data, uint32_t module); /* used if the source file is unknown */
    void *data;
};

/*
 * The folded function of PLACE that CALLER (NULL for none) calls; 0 if PLACE is not in folded code, or if that is
 * unknown.
 */
uint32_t sxt_places_choose(struct sxt_places *places, const struct sxt_place *place, const struct sxt_place *caller);

/*
 * The frames of PLACE if its function is CHOSEN, one of the folded ones; 0 for unknown. OPERATORS: how many of the
 * innermost ones are operator new. The lines and inlined calls in DWARF are those of the function whose code was kept,
 * so another one has a single frame without a line.
 */
size_t sxt_places_frame_count(const struct sxt_places *places, const struct sxt_place *place, uint32_t chosen,
                              size_t *operators);
struct sxt_place_frame sxt_places_frame(const struct sxt_places *places, const struct sxt_place *place, uint32_t chosen,
                                        size_t index);

/*
 * Writes "function_modules", for --module of sextant heap. IDS has the ids of functions by their numbers; NULL: number
 * -
 * 1. BEFORE is what is known already, and is changed.
 */
void sxt_places_write_modules(const struct sxt_places *places, const uint32_t *ids, struct sxt_function_modules *before,
                              struct sxt_json_writer *json);

/* Fills the frames of all places, which must be sorted. */
int sxt_places_look_up(struct sxt_places *places, const struct sxt_places_source *source, sxt_error *error);

/* Adds a frame to PLACE, which must be the last that got one, or have none. False if memory is short. */
bool sxt_places_add_frame(struct sxt_places *places, struct sxt_place *place, sxt_string file, sxt_string function,
                          uint32_t line);

/*
 * Whether it is one of the functions that allocate for `new` in C++. The caller is the one who allocates, so a stack
 * begins after such frames, unless it has no others. Those of a class are code of the program, and stay.
 */
bool sxt_is_operator_new(sxt_string function);

/* Can a stack not begin with it, if it has other frames? */
bool sxt_is_no_site(sxt_string function);

/* {"file_id": FILE, "line": LINE, "func_id": FUNCTION} */
void sxt_places_write_frame(struct sxt_json_writer *json, uint32_t file, uint32_t line, uint32_t function);

#endif
