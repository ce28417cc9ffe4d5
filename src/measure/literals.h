/*
 * literals.h: string literals that a linker has merged, and the objects that they come from.
 *
 * Maps say where merged strings are, but not whose. The objects that a map names do, when they are there: each literal
 * of the binary is looked for in their mergeable sections.
 */
#ifndef SXT_MEASURE_LITERALS_H
#define SXT_MEASURE_LITERALS_H

#include "measure/private.h"

/* An object that contains a literal. */
struct measure_literal_use {
    uint32_t object; /* in the strings of the map */
    uint32_t next;   /* the next one of the same literal, plus 1; 0 for the last one */
};

struct measure_literal_index {
    struct sxt_strings texts; /* literals of the binary: the width of a character, and the bytes */
    uint32_t *first;          /* by text: its first use, plus 1 */
    size_t first_capacity;
    struct measure_literal_use *uses;
    size_t use_count, use_capacity;
    const struct sxt_linker_map *map; /* NULL for an index of nothing */
    bool has_objects;                 /* an object of the map could be read */
    bool no_memory;
};

/* Reads the objects of MAP, which is that of ELF. Objects that cannot be read are skipped. */
void sxt_measure_index_literals(struct measure_literal_index *index, const struct sxt_elf *elf,
                                const struct sxt_linker_map *map, const char *const *folders, size_t folder_count);
void sxt_measure_free_literal_index(struct measure_literal_index *index);

/* Where string literals are, one after the other. */
struct measure_literals {
    const struct sxt_elf *elf;
    uint32_t segment;
    uint64_t shift;    /* to be added to addresses */
    sxt_string object; /* of all of them, where the index does not know; "" for unknown */
    uint64_t start, end;
    unsigned width;  /* of a character; 0 if it is not known */
    bool is_guessed; /* these may be constants */
    bool is_mixed;   /* characters may have several widths; set by sxt_measure_add_literals */
};

/* Adds a symbol for each literal, named by its text in quotes; or one for all bytes that cannot be read. */
void sxt_measure_add_literals(struct measure_maker *maker, struct measure_literal_index *index,
                              const struct measure_literals *literals);

/* The width of the characters of a section for merged strings: 4 for ".rodata.f.str4.8"; 0 if the name does not say. */
unsigned sxt_measure_width_of(sxt_string section);

/* The next literal of BYTES from AT on: its text without NULs, and where the next one begins. */
sxt_string sxt_measure_next_literal(const uint8_t *bytes, uint64_t size, unsigned width, uint64_t *at);

/* The name that the reference gives it: in quotes, without line ends and tabs, cut when it is long. */
uint32_t sxt_measure_literal_name(struct measure_maker *maker, sxt_string text, unsigned width);

/* The number of a literal of the index; SXT_STRINGS_FULL for one that it does not have. */
uint32_t sxt_measure_find_literal(struct measure_literal_index *index, sxt_string text, unsigned width);

#endif
