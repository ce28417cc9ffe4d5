/*
 * linker_map.h: what a linker says about the file that it made: which piece of which object went where.
 *
 *     sections   .text                                     .rodata
 *     pieces     [a.o .text.f][fill][b.o .text.g]          [merged strings][a.o .rodata.t]
 *     symbols     f, f_alias         g  g_end                               t
 *
 * The maps of GNU ld, gold, lld and mold are read (-Map=FILE; mold: --Map). They are text made for people, and every
 * linker leaves out something else: gold most of the alignment, mold everything that it makes itself. What is missing
 * is put in as pieces that are marked as implied, so that the pieces of an allocated section always cover it. A piece
 * never reaches beyond its section, and pieces of one section only overlap where the map says so.
 *
 * Paths of objects and names of sections come again and again, and are kept once, by number. Names of input sections
 * and symbols hardly do: they are views of the text, which must outlive the map.
 *
 * Once read, a map is only read, by any number of threads.
 */
#ifndef SXT_SOURCE_LINKER_MAP_LINKER_MAP_H
#define SXT_SOURCE_LINKER_MAP_LINKER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/strings.h"

/* "There is none", of a piece or a section. */
#define SXT_LINKER_MAP_NONE UINT32_MAX

enum sxt_linker { SXT_LINKER_GNU_LD, SXT_LINKER_GOLD, SXT_LINKER_LLD, SXT_LINKER_MOLD };

struct sxt_linker_map_section {
    uint64_t address;
    uint64_t size;
    uint32_t name;  /* in strings */
    bool allocated; /* has an address when the program runs; not true of debug information, for instance */
    bool own_space; /* .tbss: its addresses are those of other sections, too, and cannot be looked up */
};

enum sxt_linker_map_kind {
    SXT_PIECE_PLAIN,            /* a section of an object, or a part of one */
    SXT_PIECE_FILL,             /* bytes for the sake of alignment */
    SXT_PIECE_MERGED_STRINGS,   /* string literals; of all objects, where the piece has no object */
    SXT_PIECE_MERGED_CONSTANTS, /* the same for constants of a fixed size */
    SXT_PIECE_COMMON,           /* C's tentative definitions */
    SXT_PIECE_INTERNAL          /* made by the linker: PLT, GOT, stubs, dynamic symbols, ... */
};

enum sxt_linker_map_flag {
    SXT_PIECE_STARTUP = 1,    /* .text.startup.main */
    SXT_PIECE_UNLIKELY = 2,   /* .text.unlikely.main */
    SXT_PIECE_HOT = 4,        /* .text.hot.main */
    SXT_PIECE_REL = 8,        /* .data.rel.table */
    SXT_PIECE_REL_LOCAL = 16, /* .data.rel.local.table */
    SXT_PIECE_LTO = 32,       /* the object was made while linking; it is not where the code comes from */
    SXT_PIECE_IMPLIED = 64,   /* not in the map: bytes of a section that no line speaks of */
    SXT_PIECE_GUESSED = 128   /* constants, or else strings: the map of lld does not tell; the bytes would */
};

struct sxt_linker_map_piece {
    uint64_t address;
    uint64_t size;
    sxt_string input_section; /* ".text.f"; what the linker calls it when it made it; "" for FILL and for bytes that no
                                 line speaks of, unless they are a whole section: then its name */
    uint32_t section;         /* in sections */
    uint32_t object;          /* "dir/a.o", "dir/liba.a(b.o)" in strings; "" (0) when it is of no object */
    uint32_t alignment;       /* 0 when the map does not tell */
    uint8_t stem;  /* where in the name of the input section that of its content begins: 6 for ".text.f"; 0 when
                      it has none */
    uint8_t kind;  /* an sxt_linker_map_kind */
    uint8_t flags; /* a set of sxt_linker_map_flag */
};

struct sxt_linker_map_symbol {
    uint64_t address; /* in its piece, or at the end of it */
    uint64_t size;    /* 0 when it is not known */
    sxt_string name;  /* readable already in most maps, unless the linker was asked not to */
    uint32_t piece;   /* in pieces */
    bool preferred;   /* the name to show of those that the piece has at this address */
};

/* A common symbol, from the list that GNU ld and gold print. Gold's map does not tell where it is. */
struct sxt_linker_map_common {
    uint64_t size;
    uint32_t name;
    uint32_t object;
};

/* From ADDRESS on, up to that of the next one, the bytes are those of a piece, or of none. */
struct sxt_linker_map_cover {
    uint64_t address;
    uint32_t piece;
};

struct sxt_linker_map {
    enum sxt_linker linker;
    struct sxt_linker_map_section *sections; /* in the order of the map */
    size_t section_count;
    /* Those with addresses of their own by address, then the rest by section and address. Pieces without bytes are
     * before others at their address. */
    struct sxt_linker_map_piece *pieces;
    size_t piece_count;
    size_t located_count;                  /* how many are by address */
    struct sxt_linker_map_symbol *symbols; /* by piece and address */
    size_t symbol_count;
    struct sxt_linker_map_common *commons; /* by the number of the name */
    size_t common_count;
    struct sxt_linker_map_cover *covers;
    size_t cover_count;
    size_t cut_count; /* pieces that reached beyond their section, and were cut */
    struct sxt_strings strings;
};

/* Does it look like a linker's map? Reads no more of it than it needs to tell. */
bool sxt_linker_map_is(const uint8_t *text, size_t size);

/* Takes about as much memory as the text has bytes. TEXT must outlive the map. An error names the line. */
int sxt_linker_map_read(const uint8_t *text, size_t size, struct sxt_linker_map **out, sxt_error *error);
void sxt_linker_map_free(struct sxt_linker_map *map);

/* "GNU ld", "gold", "lld" or "mold". */
const char *sxt_linker_name(enum sxt_linker linker);

/* The piece whose bytes are at ADDRESS, or NULL. Of several, the one that begins last. Takes logarithmic time. */
const struct sxt_linker_map_piece *sxt_linker_map_piece_at(const struct sxt_linker_map *map, uint64_t address);

/* The common symbol of that name, or NULL. */
const struct sxt_linker_map_common *sxt_linker_map_common_named(const struct sxt_linker_map *map, const char *name,
                                                                size_t size);

static inline sxt_string sxt_linker_map_string(const struct sxt_linker_map *map, uint32_t number)
{
    return sxt_strings_get(&map->strings, number);
}

#endif
