/* private.h: an open DWARF file and the threads that read it. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_PRIVATE_H
#define SXT_SOURCE_DWARF_PRIVATE_H

#include "base/file.h"
#include "source/dwarf/assemble.h"
#include "source/dwarf/dwarf.h"

/* Another file with debug information that belongs to the main file. */
struct dwarf_external {
    struct sxt_file file;
    struct sxt_elf elf;
    struct dwarf_file dwarf;
    bool is_open;
};

int sxt_dwarf_external_open(struct dwarf_external *external, const char *path, uint64_t inflate_limit, bool split,
                            sxt_error *error);
void sxt_dwarf_external_close(struct dwarf_external *external);

/* A range of code of a unit, from its root entry. */
struct dwarf_extent {
    uint64_t start;
    uint64_t end;
    uint32_t unit;
};

struct sxt_dwarf {
    struct sxt_elf *elf;
    struct sxt_dwarf_settings settings;
    struct dwarf_file main;
    struct dwarf_external alternate; /* made by dwz, with what several files have in common */
    struct dwarf_external package;   /* .dwp */
    struct dwarf_dead dead;
    /* Made by the first sxt_dwarf_select_units. */
    struct dwarf_extent *extents; /* sorted by start */
    uint64_t *reach;              /* the highest end of all extents up to this one */
    size_t extent_count;
    bool *unknown;         /* by unit: it does not say which code it has */
    uint64_t *line_tables; /* by unit: the offset of its line table, or UINT64_MAX. Only for GNU addr2line */
};

/* Returns the index of the first extent that begins after ADDRESS. */
size_t sxt_dwarf_first_extent_after(const struct sxt_dwarf *dwarf, uint64_t address);

/* Finds and opens the file that .gnu_debugaltlink names. A failure gives a warning. */
void sxt_dwarf_open_alternate(struct sxt_dwarf *dwarf);

/* Opens FILE.dwp if it exists. */
void sxt_dwarf_open_package(struct sxt_dwarf *dwarf);

void sxt_dwarf_warn(const struct sxt_dwarf *dwarf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The split part of a skeleton unit, open while it is read. */
struct dwarf_split {
    struct dwarf_external external; /* a .dwo */
    struct dwarf_file part;         /* the unit's part of the .dwp or .dwo */
    struct dwarf_unit unit;
};

/*
 * Finds the split unit with number ID of the skeleton whose root entry is ROOT. Returns false if there is none. The
 * caller closes SPLIT in either case.
 */
bool sxt_dwarf_split_open(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, uint64_t id,
                          struct dwarf_split *split);
void sxt_dwarf_split_close(struct dwarf_split *split);

/* The state of one thread. */
struct dwarf_worker {
    const struct sxt_dwarf *dwarf;
    struct dwarf_budget budget;      /* of the current unit */
    struct dwarf_budget line_budget; /* of all line tables; a large one that units share is not read again */
    struct dwarf_abbrevs abbrevs, split_abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct dwarf_ranges extents; /* of the unit's root entry */
    struct dwarf_functions functions;
    struct dwarf_lines lines;
    uint64_t lines_offset; /* of the last program that ran; UINT64_MAX: none */
    struct dwarf_names names;
    struct dwarf_assembly assembly;
    struct dwarf_output output;
};

/* The result of reading a unit. */
struct dwarf_outcome {
    uint32_t worker;
    uint32_t first_range, range_count;
    uint32_t first_line, line_count;
    uint32_t first_string, string_end; /* those of its worker that were new */
    uint64_t broken_at;                /* offset in its section where it is damaged; UINT64_MAX if it is not */
    bool broken_lines;                 /* the line table is damaged */
    bool broken_ranges;                /* a list of ranges is damaged */
    bool is_skeleton;                  /* only the skeleton was read */
    bool missing_split;                /* its split unit was not found */
    sxt_string split_name;             /* then the path of its .dwo file, as the skeleton has it */
    bool exhausted;                    /* its budget was used up */
};

/* Sets the budget for a unit of the main file. */
void sxt_dwarf_budget_begin(struct dwarf_budget *budget, const struct sxt_dwarf *dwarf, const struct dwarf_unit *unit);

bool sxt_dwarf_worker_init(struct dwarf_worker *worker, const struct sxt_dwarf *dwarf, sxt_error *error);
void sxt_dwarf_worker_free(struct dwarf_worker *worker);

/*
 * Enters the split unit of the skeleton that the worker has entered. The skeleton says where the code and the lines
 * are; the split unit, what they contain. Returns false if the split unit is damaged; the skeleton stays entered.
 */
bool sxt_dwarf_enter_split(struct dwarf_worker *worker, const struct dwarf_split *split);

/* Reads one unit into the worker's output. Returns false if out of memory. */
bool sxt_dwarf_read_unit(struct dwarf_worker *worker, const struct dwarf_unit *unit, struct dwarf_outcome *outcome);

#endif
