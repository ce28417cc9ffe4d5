/*
 * private.h: an explainer and what its parts share. Private to this room.
 *
 * It opens the same files as the archive did, and keeps what the model drops: the table of each symbol, the entry of
 * each frame. Everything is read when it is first needed. It opens the files of all sources, also of excluded ones, so
 * that it can say which of them would have answered.
 */
#ifndef SXT_EXPLAIN_PRIVATE_H
#define SXT_EXPLAIN_PRIVATE_H

#include <string.h>

#include "archive/archive.h"
#include "base/arena.h"
#include "base/file.h"
#include "explain/explain.h"
#include "explain/origins.h"
#include "lidia/lidia.h"
#include "source/elf/elf.h"
#include "source/go/go.h"
#include "symbols/symbols.h"

/* .symtab of the file, of the debug file and of MiniDebugInfo, .dynsym, PLT entries. */
#define EXPLAIN_TABLES_MAX  5
#define EXPLAIN_REASONS_MAX 32
#define EXPLAIN_ADVICE_MAX  16
#define EXPLAIN_TRIED_MAX   16

/* A symbol table, or the PLT entries. */
struct sxt_explain_table {
    uint32_t source;  /* one of sxt_source */
    const char *path; /* of its file */
    const char *section;
    struct sxt_symbols *symbols; /* unsorted: in the order of the table */
    struct sxt_elf_symbol_table table;
    bool is_plt;
};

/* A function near an address. */
struct sxt_explain_near {
    sxt_string name; /* absent if there is none */
    uint64_t start, end;
};

struct sxt_explainer {
    struct sxt_opening options; /* without warnings and progress: opening the archive reported them */
    char *path;
    struct sxt_file file;
    sxt_kind kind;
    struct sxt_lidia lidia;
    sxt_ksym ksym;

    struct sxt_elf elf;
    struct sxt_origins origins;
    struct sxt_elf mini; /* MiniDebugInfo */
    uint8_t *mini_bytes;
    struct sxt_explain_table tables[EXPLAIN_TABLES_MAX];
    size_t table_count;
    bool go_tried;
    const struct sxt_go_table *go; /* NULL if there is none */

    /* The current address. */
    struct sxt_arena arena;
    const sxt_frame *frames; /* the answer */
    size_t count;
    struct sxt_dwarf_explanation of_dwarf;
    sxt_explanation out;
    sxt_explained_reason reasons[EXPLAIN_REASONS_MAX];
    sxt_explained_advice advice[EXPLAIN_ADVICE_MAX];
    sxt_string tried[EXPLAIN_TRIED_MAX];
    bool no_memory;
};

static inline bool sxt_explain_wants(const struct sxt_explainer *explainer, uint32_t source)
{
    return (explainer->options.extract.sources & source) != 0;
}

/* Prints to the arena; cuts a text of over 4 KiB. */
sxt_string sxt_explain_print(struct sxt_explainer *explainer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NAME as lookups give it: demangled, unless the options ask for mangled names. */
sxt_string sxt_explain_readable(struct sxt_explainer *explainer, sxt_string name);

/* Adds a reason, advice, or a path that was tried. Strings must live as long as the explanation. */
void sxt_explain_add_reason(struct sxt_explainer *explainer, sxt_explained_reason reason);
void sxt_explain_add_advice(struct sxt_explainer *explainer, sxt_explained_advice advice);
void sxt_explain_add_tried(struct sxt_explainer *explainer, sxt_string path);

/* The same for a reason or advice without data. */
void sxt_explain_because(struct sxt_explainer *explainer, sxt_explain_reason reason);
void sxt_explain_advise(struct sxt_explainer *explainer, sxt_explain_advice advice);

/* Room for the frames of the answer, cleared; NULL when out of memory. */
sxt_explained_frame *sxt_explain_frames(struct sxt_explainer *explainer, size_t count);

static inline sxt_string sxt_explain_string(const char *text)
{
    return (sxt_string){text, strlen(text)};
}

/* symbols.c */

void sxt_explain_open_tables(struct sxt_explainer *explainer);
void sxt_explain_close_tables(struct sxt_explainer *explainer);

/* The symbol that gave the outermost frame of the answer. False if no table has it. */
bool sxt_explain_symbol(struct sxt_explainer *explainer, uint64_t address, sxt_explained_frame *out);

/* Which symbol gave a function of DWARF, whose code starts at START, the name that it has in the answer; in words. */
sxt_string sxt_explain_entry_symbol(struct sxt_explainer *explainer, uint64_t start, sxt_string name);

/* A symbol of one of SOURCES that has ADDRESS: a function, or if DATA is set a variable. NULL if there is none. */
const struct sxt_model_symbol *sxt_explain_symbol_at(const struct sxt_explainer *explainer, uint64_t address,
                                                     uint32_t sources, bool data,
                                                     const struct sxt_explain_table **table);

/* The functions before and after ADDRESS in the tables that the options ask for, and the last of size 0 before it. */
void sxt_explain_near_symbols(struct sxt_explainer *explainer, uint64_t address, struct sxt_explain_near *before,
                              struct sxt_explain_near *after, struct sxt_explain_near *unsized);

/* The other names that these tables have for START, where the function NAME starts. */
void sxt_explain_aliases(struct sxt_explainer *explainer, uint64_t start, sxt_string name, sxt_explained_frame *out);

/* How many functions the tables of SOURCES have. */
size_t sxt_explain_function_count(const struct sxt_explainer *explainer, uint32_t sources);

/* go.c: the frames of an answer from the Go table. False if the table does not have the address. */
bool sxt_explain_go(struct sxt_explainer *explainer, uint64_t address);
/* The section with the byte at OFFSET of the file; NULL if there is none. */
const struct sxt_elf_section *sxt_explain_section_of_offset(const struct sxt_explainer *explainer, uint64_t offset);

bool sxt_explain_go_find(struct sxt_explainer *explainer, uint64_t address, struct sxt_go_position *position);

/* rows.c: answers of an archive, and why it has none. */
void sxt_explain_rows(struct sxt_explainer *explainer, uint64_t address);

/* ksym.c: the same for a ksym blob. */
void sxt_explain_ksym(struct sxt_explainer *explainer, uint64_t address);

/* no_name.c: why an address has no name, and why an offset of the file has no address. */
void sxt_explain_no_name(struct sxt_explainer *explainer, uint64_t address);
void sxt_explain_no_address(struct sxt_explainer *explainer, uint64_t offset);

/* Adds a reason if a source out of SOURCES has ADDRESS but is excluded by the options; otherwise returns false. */
bool sxt_explain_excluded(struct sxt_explainer *explainer, uint64_t address, uint32_t sources);

/* Adds advice if ADDRESS, which is at or after END of the file's addresses, may be one of a running process. */
void sxt_explain_run_time(struct sxt_explainer *explainer, uint64_t address, uint64_t end);

/* no_line.c: why an answer has no line. */
void sxt_explain_no_line(struct sxt_explainer *explainer, uint64_t address);

/* missing_files.c: debug files, and files that DWARF refers to. */
void sxt_explain_debug_file(struct sxt_explainer *explainer);
void sxt_explain_dwarf_files(struct sxt_explainer *explainer);

#endif
