/* binary.h: an ELF file while it is added; shared by binary.c and unnamed.c. */
#ifndef SXT_MEASURE_BINARY_H
#define SXT_MEASURE_BINARY_H

#include "measure/literals.h"
#include "measure/private.h"

struct binary {
    struct measure_maker *maker;
    struct sxt_elf elf;
    struct measure_section *sections;
    struct sxt_symbols *symbols;
    const struct sxt_linker_map *map; /* NULL for none */
    sxt_string member;                /* of a library: its path; absent otherwise */
    const char *entry;                /* of a package: its name there; NULL otherwise */
    uint32_t package_path;            /* of a package: the path of what has no symbol */
    uint32_t container;
    uint32_t other;         /* the segment .other */
    uint32_t *section_of;   /* by the number of a name in the model: the first section that has it */
    uint32_t *next_section; /* the next one of the same name; 0 at the end */
    uint32_t *readable;     /* by the number of a name in the model: that in the maker + 1; 0: not known yet */
    uint64_t *seen_at;      /* by the number of a name in the model: where it was last, plus 1 */
    struct sxt_buffer text;
    uint64_t tls; /* the base of thread-local addresses */
    struct measure_sources sources;
    struct measure_literal_index literals; /* of the merged strings of the map */
    struct measure_claim *claims;
    size_t claim_count, claim_capacity;
    struct measure_pieces pieces;
    bool no_memory;
};

/* The name of a symbol as it is stored: readable, without tabs and newlines. */
uint32_t sxt_measure_readable_name(struct binary *binary, sxt_string name);

/* What the map says of the bytes at ADDRESS of a section; NULL without a map, and when it says nothing. */
const struct sxt_linker_map_piece *sxt_measure_map_piece(const struct binary *binary,
                                                         const struct measure_section *section, uint64_t address);

/* The path of the bytes at ADDRESS: the object from the map's PIECE or of the library; the source from DWARF. */
uint32_t sxt_measure_path_at(struct binary *binary, const struct measure_section *section,
                             const struct sxt_linker_map_piece *piece, uint64_t address);

/* The flags that follow from the name of the input section: startup, unlikely, hot, rel, rel.local. */
uint32_t sxt_measure_map_flags(const struct sxt_linker_map_piece *piece);

/* --- unnamed.c --- */

/* Where bytes without a symbol are: between two symbols of a segment, or at its beginning or end. */
struct measure_gap {
    const struct measure_section *section;
    uint32_t segment;
    uint64_t start, end;
    bool is_first, is_last; /* no symbol of the section before it, or after it */
};

/*
 * Adds symbols for the bytes of GAP: what the map says, or "** .text (unattributed)". Bytes that align the next symbol
 * are left to be its padding.
 */
void sxt_measure_add_gap(struct binary *binary, const struct measure_gap *gap);

/* Adds "** ELF Section: NAME" or the literals of a section in ".other" of which no symbol claims anything. */
void sxt_measure_add_whole_section(struct binary *binary, const struct measure_section *section, uint64_t size);

#endif
