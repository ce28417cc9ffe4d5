/* private.h: the sizes of binaries while they are collected. */
#ifndef SXT_MEASURE_PRIVATE_H
#define SXT_MEASURE_PRIVATE_H

#include "base/file.h"
#include "base/strings.h"
#include "size/size.h"
#include "source/elf/elf.h"
#include "source/linker_map/linker_map.h"
#include "symbols/symbols.h"

/* What a compressed input may expand to. */
#define SXT_MEASURE_INFLATE_LIMIT ((uint64_t)4 << 30)

/* The directory of the sources, in the forms that paths may begin with; the root is "". */
struct measure_source_tree {
    char *forms[3]; /* absolute */
    size_t form_count;
    struct sxt_buffer text; /* a path that is looked at */
};

/* Everything that is collected from all inputs. */
struct measure_maker {
    const sxt_size_make_options *options; /* complete */
    const sxt_extract_options *extract;   /* complete */
    struct measure_source_tree sources;
    struct sxt_size_info *size; /* containers and texts are in its arena; the rest is put there at the end */
    struct sxt_size_model_symbol *symbols;
    size_t symbol_count, symbol_capacity;
    struct sxt_size_segment *segments;
    size_t segment_count, segment_capacity;
    struct sxt_size_container *containers;
    size_t container_count, container_capacity;
    struct sxt_size_group *groups;
    size_t group_count, group_capacity;
    struct sxt_size_path *paths;
    size_t path_count, path_capacity;
    struct sxt_strings path_keys; /* number N + 1 is "OBJECT\tSOURCE" of path N */
    struct sxt_strings names;     /* names of symbols */
    struct sxt_strings windows;   /* names of sections of object files; number N has the Nth window of addresses */
    uint64_t *used;               /* by window: how much of it is taken */
    size_t used_count, used_capacity;
    struct sxt_strings count_keys; /* "CONTAINER\tSECTION", and of metrics "CONTAINER\tFILE\tMETRIC" */
    uint64_t *counts;              /* by their number */
    size_t count_count, count_capacity;
    struct sxt_buffer key; /* for paths */
    bool no_memory;
};

/* How a section is counted. */
enum measure_place {
    MEASURE_LEFT_OUT, /* not in a stripped file, and not asked for */
    MEASURE_NATIVE,   /* its symbols have a segment */
    MEASURE_OTHER,    /* they are in .other, with the rest of the section */
    MEASURE_MEMORY    /* not in the file, and of a kind that SuperSize does not know: only its size is kept */
};

struct measure_section {
    const struct sxt_elf_section *elf;
    enum measure_place place;
    sxt_string name;  /* of the segment, when it has one */
    uint64_t address; /* where its symbols are; in a library, after those of the members before */
    uint64_t size;
    uint64_t gap; /* before it, when it continues the segment of the section before */
    bool is_bss;
};

/* A file to add. */
struct measure_input {
    const char *path;
    const struct sxt_file *file;
    const struct sxt_linker_map *map; /* NULL for none */
    const char *map_path;             /* NULL for none */
    sxt_string member;                /* of a library: its name; absent otherwise */
    const char *entry;                /* of a package: its name there, and all of it counts; NULL otherwise */
    uint32_t container;
    bool is_inside; /* of another file: PATH is not the path of a file */
};

/*
 * As sxt_size_make. OPENED is the file at the only path if it is open already: it may be inflated, and is not closed.
 * If it is NULL, all files are opened here.
 */
int sxt_measure_files(const char *const *paths, size_t count, struct sxt_file *opened,
                      const sxt_size_make_options *options, sxt_size_info **out, const char **failed, sxt_error *error);

/* Adds a container named NAME, or that and a number if there is one of that name. It has no metadata yet. */
int sxt_measure_add_container(struct measure_maker *maker, const char *name, sxt_error *error);

/* Adds an ELF file to its container. */
int sxt_measure_add_binary(struct measure_maker *maker, const struct measure_input *input, sxt_error *error);

/*
 * Gives addresses to the sections of an object file, or of a member of a library: sections of the same name, of all
 * files, follow one another.
 */
void sxt_measure_lay_out(struct measure_maker *maker, const struct sxt_elf *elf, struct measure_section *sections);

/* --- describe_elf.c --- */

/* What is known of an ELF file. */
struct measure_described {
    const char *path;
    const char *map_path; /* NULL for none */
    const struct sxt_elf *elf;
    const struct sxt_symbols *symbols;
    bool has_file_time; /* PATH is the path of a file, and its time is stored */
};

/* The metadata of the container; NULL when memory is short. */
struct sxt_json *sxt_measure_metadata(struct measure_maker *maker, const struct measure_described *of);

/* Counts the sizes of sections and the relocations for the container. Returns the bytes in the file. */
uint64_t sxt_measure_count_sections(struct measure_maker *maker, uint32_t container, const struct measure_described *of,
                                    const struct measure_section *sections);

/* How many relocations a section holds; 0 for one that holds none. */
uint64_t sxt_measure_count_relocations(const struct sxt_elf *elf, const struct sxt_elf_section *section);

/* --- sources.c --- */

struct measure_sources {
    const struct sxt_symbols *symbols;
    uint32_t *roots; /* the ranges of functions, by address */
    size_t root_count;
    uint64_t thread_local_data; /* the base of thread-local addresses */
};

/* Sorts the variables of SYMBOLS. False when memory is short. */
bool sxt_measure_sources_init(struct measure_sources *sources, struct sxt_symbols *symbols, uint64_t thread_local_data);
void sxt_measure_sources_free(struct measure_sources *sources);

/* The first function, in the order of roots, that does not begin before ADDRESS. */
size_t sxt_measure_first_root(const struct measure_sources *sources, uint64_t address);

/* The source file of what is at ADDRESS, in a section with these flags; "" when it is not known. */
sxt_string sxt_measure_source_at(const struct measure_sources *sources, uint64_t section_flags, uint64_t address);

/* --- paths.c --- */

/* Appends a path in the form in which it is stored: "liba.a(b.o)" as "liba.a/b.o", relative to the source directory. */
void sxt_measure_put_path(struct measure_maker *maker, sxt_string path, struct sxt_buffer *out);

/* Fills the components of all symbols, by their paths, as the options say. */
int sxt_measure_assign_components(struct measure_maker *maker, sxt_error *error);

/* --- build_config.c --- */

/* Fills in the description of the build: title, URL, revision, and the user's settings. */
int sxt_measure_describe_build(struct measure_maker *maker, sxt_error *error);

/* --- source_tree.c --- */

/* Resolves the source directory of the options. Fails if it is relative and does not exist. */
int sxt_measure_open_source_tree(struct measure_maker *maker, sxt_error *error);
void sxt_measure_close_source_tree(struct measure_source_tree *tree);

/* What is left of a path below the source directory; PATH if it is not below it. Valid until the next call. */
sxt_string sxt_measure_below_source(struct measure_source_tree *tree, sxt_string path);

/* The revision of git that DIRECTORY has checked out; "" when it is not known. */
void sxt_measure_find_revision(const char *directory, char *out, size_t capacity);

/* --- map_file.c --- */

/* A linker map, and the text that it points into. */
struct measure_map {
    struct sxt_linker_map *map; /* NULL for none */
    char *path;
    struct sxt_file file;
};

/*
 * Reads the map that the options name, which has to be that of the BINARY at PATH; or looks for one beside it. On
 * failure *FAILED becomes the path of the map. MAP needs to stay open until the binary is added.
 */
int sxt_measure_open_map(struct measure_maker *maker, const char *path, const struct sxt_file *binary,
                         struct measure_map *map, const char **failed, sxt_error *error);
void sxt_measure_close_map(struct measure_map *map);

/* --- container_names.c --- */

/* The name of the container of path INDEX: a part of the path that no other has. */
const char *sxt_measure_container_name(const char *const *paths, size_t path_count, size_t index);

/* WANTED, with a number if a container has that name, in the arena; absent when memory is short. */
sxt_string sxt_measure_unique_name(struct measure_maker *maker, const char *wanted);

/* --- sections.c --- */

/* Which sections count, in the order of the file; the first is the null section. NULL when memory is short. */
struct measure_section *sxt_measure_sections(const struct sxt_elf *elf, bool with_debug);

/* Fails if a section cannot be counted: it is not in the file, or too large. */
int sxt_measure_check_sections(const struct sxt_elf *elf, const struct measure_section *sections, sxt_error *error);

/*
 * What the file takes without the sections that are left out. The table of names shrinks with them, and its section
 * gets that size. False when memory is short.
 */
bool sxt_measure_strip(const struct sxt_elf *elf, struct measure_section *sections, uint64_t *size);

/* A piece of a section with one owner; several pieces of the same bytes are aliases. */
struct measure_piece {
    uint64_t start, end;
    uint32_t name; /* in the maker's names */
    uint32_t path; /* in the maker's paths */
    uint32_t flags;
    bool joins; /* the same bytes as the piece before */
};

struct measure_pieces {
    struct measure_piece *list;
    size_t count, capacity;
};

/* A symbol that claims bytes. */
struct measure_claim {
    uint64_t start, end;
    uint32_t name;
    uint32_t order; /* of aliases among themselves */
};

/*
 * Cuts claims, which may overlap, into pieces that do not: bytes belong to the claim that begins last, and of those to
 * the one that ends first; the other bytes belong to the claim that encloses it. Sorts CLAIMS.
 */
bool sxt_measure_cut(struct measure_claim *claims, size_t count, struct measure_pieces *out);

/* Replaces bytes that are not UTF-8 by '?', in place. */
void sxt_measure_make_utf8(char *text, size_t size);

/* Texts, stored once. */
uint32_t sxt_measure_maker_name(struct measure_maker *maker, sxt_string name);
uint32_t sxt_measure_maker_path(struct measure_maker *maker, sxt_string object, sxt_string source);

/* The segment of a container and a section; made when it is new. */
uint32_t sxt_measure_maker_segment(struct measure_maker *maker, uint32_t container, sxt_string section);

/* Adds to the size of a section of a container. That of ".other" is added up at the end. */
void sxt_measure_maker_count(struct measure_maker *maker, uint32_t container, sxt_string section, uint64_t value);

/* Adds to a metric of a file of a container; its name is PREFIX ("SIZE/", "COUNT/") and NAME. */
void sxt_measure_maker_metric(struct measure_maker *maker, uint32_t container, sxt_string file, const char *prefix,
                              sxt_string name, uint64_t value);

/* The same for a section that is not in the file and has no symbols; readers skip names with a bracket. */
void sxt_measure_maker_count_memory(struct measure_maker *maker, uint32_t container, sxt_string section,
                                    uint64_t value);

/* Adds a symbol. Its padding is derived later, except for "Overhead: ", which is all padding. */
void sxt_measure_maker_add(struct measure_maker *maker, uint32_t segment, uint64_t address, uint64_t size,
                           uint32_t name, uint32_t path, uint32_t flags, bool joins);

#endif
