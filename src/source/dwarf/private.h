/* private.h: an opened DWARF file and the threads that read it. Private to this folder. */
#ifndef SXT_SOURCE_DWARF_PRIVATE_H
#define SXT_SOURCE_DWARF_PRIVATE_H

#include "base/file.h"
#include "source/dwarf/assemble.h"
#include "source/dwarf/dwarf.h"

/* A file that was opened beside the one at hand. */
struct dwarf_extra {
    struct sxt_file file;
    struct sxt_elf elf;
    struct dwarf_file dwarf;
    bool is_open;
};

int sxt_dwarf_extra_open(struct dwarf_extra *extra, const char *path, uint64_t inflate_limit, bool split,
                         sxt_error *error);
void sxt_dwarf_extra_close(struct dwarf_extra *extra);

/* The code of a unit, as its root entry tells. */
struct dwarf_extent {
    uint64_t start;
    uint64_t end;
    uint32_t unit;
};

struct sxt_dwarf {
    struct sxt_elf *elf;
    struct sxt_dwarf_settings settings;
    struct dwarf_file main;
    struct dwarf_extra alternate; /* what dwz put aside for several files */
    struct dwarf_extra package;   /* .dwp */
    struct dwarf_dead dead;
    /* Made by the first sxt_dwarf_choose. */
    struct dwarf_extent *extents; /* by start */
    uint64_t *reach;              /* the highest end of all extents up to here */
    size_t extent_count;
    bool *unknown;         /* by unit: it does not say which code it has */
    uint64_t *line_tables; /* by unit: the offset of its line table; UINT64_MAX for none. Only for GNU addr2line */
};

/* The first extent that begins behind ADDRESS. */
size_t sxt_dwarf_extent_behind(const struct sxt_dwarf *dwarf, uint64_t address);

/* Finds and opens the file that .gnu_debugaltlink names. A failure is a warning. */
void sxt_dwarf_open_alternate(struct sxt_dwarf *dwarf);

/* Opens FILE.dwp, if there is one. */
void sxt_dwarf_open_package(struct sxt_dwarf *dwarf);

void sxt_dwarf_warn(const struct sxt_dwarf *dwarf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The other half of a split unit, while it is read. */
struct dwarf_split {
    struct dwarf_extra extra; /* a .dwo */
    struct dwarf_file part;   /* of the .dwp or the .dwo */
    struct dwarf_unit unit;
};

/*
 * Finds the split unit that belongs to a skeleton whose root entry is ROOT, with the number ID. False when there is
 * none. To be closed again in any case.
 */
bool sxt_dwarf_split_open(const struct sxt_dwarf *dwarf, const struct dwarf_root *root, uint64_t id,
                          struct dwarf_split *split);
void sxt_dwarf_split_close(struct dwarf_split *split);

/* What a thread works with. */
struct dwarf_worker {
    const struct sxt_dwarf *dwarf;
    struct dwarf_effort effort; /* of the unit at hand */
    struct dwarf_effort
        line_effort; /* of all line tables: units may share a large one, and it need not be read again */
    struct dwarf_abbrevs abbrevs, split_abbrevs;
    struct dwarf_context context;
    struct dwarf_root root;
    struct dwarf_ranges extents; /* of the unit's root entry */
    struct dwarf_functions functions;
    struct dwarf_lines lines;
    uint64_t lines_offset; /* of the program that was run last; UINT64_MAX: none */
    struct dwarf_names names;
    struct dwarf_assembly assembly;
    struct dwarf_output output;
};

/* What became of a unit. */
struct dwarf_outcome {
    uint32_t worker;
    uint32_t first_range, range_count;
    uint32_t first_line, line_count;
    uint64_t broken_at; /* offset in its section where it makes no sense; UINT64_MAX: nowhere */
    bool broken_lines;  /* the line table is damaged */
    bool broken_ranges; /* a list of ranges is damaged */
    bool missing_split; /* its other half was not found */
    bool exhausted;     /* it asked for more than it can pay for */
};

/* A unit of the file at hand begins. */
void sxt_dwarf_effort_begin(struct dwarf_effort *effort, const struct sxt_dwarf *dwarf, const struct dwarf_unit *unit);

bool sxt_dwarf_worker_init(struct dwarf_worker *worker, const struct sxt_dwarf *dwarf, sxt_error *error);
void sxt_dwarf_worker_free(struct dwarf_worker *worker);

/*
 * From a skeleton, which the worker has entered, to its split unit. The skeleton knows where the code and the lines
 * are; the split unit, what is in them.
 */
bool sxt_dwarf_enter_split(struct dwarf_worker *worker, const struct dwarf_split *split);

/* Reads one unit into the worker's output. False when memory is short. */
bool sxt_dwarf_read_unit(struct dwarf_worker *worker, const struct dwarf_unit *unit, struct dwarf_outcome *outcome);

#endif
