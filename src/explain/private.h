/*
 * private.h: an explainer and what its parts share. Private to this room.
 *
 * It opens the same files as the archive did, and keeps what a model throws away: which table a symbol is from, which
 * entry a frame. Everything is read when it is first needed. What it opens is what all sources together would need,
 * so that it can also tell what would have answered.
 */
#ifndef SXT_EXPLAIN_PRIVATE_H
#define SXT_EXPLAIN_PRIVATE_H

#include "archive/private.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "explain/explain.h"
#include "explain/origins.h"
#include "source/elf/elf.h"
#include "source/go/go.h"

/* .symtab of the file, of the debug file and of MiniDebugInfo, .dynsym, PLT entries. */
#define EXPLAIN_TABLES_MAX 5
#define EXPLAIN_TODO_MAX   8
#define EXPLAIN_TRIED_MAX  16

/* A symbol table, or the PLT entries, as a source of their own. */
struct sxt_explain_table {
    uint32_t source;             /* one of sxt_source */
    const char *path;            /* of the file it is in */
    const char *what;            /* its section */
    struct sxt_symbols *symbols; /* not finished: in the order of the table */
    struct sxt_elf_symbol_table table;
    bool is_plt;
};

/* A function near an address. */
struct sxt_explain_near {
    sxt_string name; /* absent when there is none */
    uint64_t start, end;
};

struct sxt_explainer {
    struct sxt_opening options; /* without warnings and progress: those came when the archive was opened */
    char *path;
    struct sxt_file file;
    sxt_kind kind;
    struct sxt_lidia lidia;

    struct sxt_elf elf;
    struct sxt_origins origins;
    struct sxt_elf mini; /* MiniDebugInfo */
    uint8_t *mini_bytes;
    struct sxt_explain_table tables[EXPLAIN_TABLES_MAX];
    size_t table_count;
    bool go_tried;
    const struct sxt_go_table *go; /* NULL when there is none */

    /* The address at hand. */
    struct sxt_arena arena;
    const sxt_frame *frames; /* the answer */
    size_t count;
    struct sxt_dwarf_explanation of_dwarf;
    struct sxt_explanation *out;
    struct sxt_buffer why;
    sxt_string todo[EXPLAIN_TODO_MAX];
    sxt_string tried[EXPLAIN_TRIED_MAX];
    bool no_memory;
};

static inline bool sxt_explain_wants(const struct sxt_explainer *explainer, uint32_t source)
{
    return (explainer->options.extract.sources & source) != 0;
}

/* Text and names in the arena; what is long is cut. */
sxt_string sxt_explain_print(struct sxt_explainer *explainer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* NAME as lookups give it: readable, unless names as linked were asked for. */
sxt_string sxt_explain_readable(struct sxt_explainer *explainer, sxt_string name);

/* Another sentence of the reason, something to do, a path that was tried. */
void sxt_explain_why(struct sxt_explainer *explainer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sxt_explain_todo(struct sxt_explainer *explainer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sxt_explain_tried(struct sxt_explainer *explainer, sxt_string path);

/* Room for the frames of the answer, cleared; NULL when memory is short. */
struct sxt_explained_frame *sxt_explain_frames(struct sxt_explainer *explainer, size_t count);

/* For printing with %.*s; at most 160 bytes of a name are worth a place in a sentence. */
#define EXPLAIN_NAME(name) ((name).size < 160 ? (int)(name).size : 160), (name).data

/* explain_symbols.c */

void sxt_explain_open_tables(struct sxt_explainer *explainer);
void sxt_explain_close_tables(struct sxt_explainer *explainer);

/* The symbol behind the outermost frame of the answer. False when no table has it. */
bool sxt_explain_symbol(struct sxt_explainer *explainer, uint64_t address, struct sxt_explained_frame *out);

/* A symbol of one of SOURCES that has ADDRESS: a function, or (DATA) a variable. NULL when there is none. */
const struct sxt_model_symbol *sxt_explain_symbol_at(const struct sxt_explainer *explainer, uint64_t address,
                                                     uint32_t sources, bool data,
                                                     const struct sxt_explain_table **table);

/* The functions around ADDRESS, by the tables that are wanted; sized ones, and the last one of size 0 before it. */
void sxt_explain_near_symbols(struct sxt_explainer *explainer, uint64_t address, struct sxt_explain_near *before,
                              struct sxt_explain_near *after, struct sxt_explain_near *unsized);

/* The other names that wanted tables have for START, where the function NAME begins. */
void sxt_explain_aliases(struct sxt_explainer *explainer, uint64_t start, sxt_string name,
                         struct sxt_explained_frame *out);

/* How many functions the tables of SOURCES have. */
size_t sxt_explain_function_count(const struct sxt_explainer *explainer, uint32_t sources);

/* explain_go.c: the frames of an answer from the Go table. False when it does not have the address. */
bool sxt_explain_go(struct sxt_explainer *explainer, uint64_t address);
bool sxt_explain_go_find(struct sxt_explainer *explainer, uint64_t address, struct sxt_go_position *position);

/* explain_rows.c: everything about an archive. */
void sxt_explain_rows(struct sxt_explainer *explainer, uint64_t address);

/* explain_why.c: reasons. */
void sxt_explain_no_answer(struct sxt_explainer *explainer, uint64_t address);
void sxt_explain_no_line(struct sxt_explainer *explainer, uint64_t address);
void sxt_explain_unloaded(struct sxt_explainer *explainer, uint64_t offset);

/* explain_advice.c: debug files that are not there, addresses that are not of this file. */
void sxt_explain_debug_places(struct sxt_explainer *explainer);
void sxt_explain_missing_parts(struct sxt_explainer *explainer);
void sxt_explain_run_time(struct sxt_explainer *explainer, uint64_t address, uint64_t end);

#endif
