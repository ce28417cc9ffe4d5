/* explain.h: why an address has the answer that it has, or none. */
#ifndef SXT_EXPLAIN_EXPLAIN_H
#define SXT_EXPLAIN_EXPLAIN_H

#include <sextant/archive.h>

/*
 * Why an address has the answer that it has: which file, section and record is behind each frame; and where there is no
 * answer, or no line, what is missing and what to do about it. One thread at a time.
 */
struct sxt_explainer;

#define SXT_NO_INDEX UINT64_MAX

/* The record behind a frame. */
struct sxt_explained_frame {
    sxt_string function;
    const char *record; /* what it is: "function", "inlined call", "symbol", "PLT entry", "row" */
    sxt_string file;    /* that it is in; absent when the path is not known */
    sxt_string section; /* of an ELF file; of an archive, the table */
    sxt_string unit;    /* DWARF: the unit's name; absent otherwise */
    uint64_t unit_offset;
    uint64_t entry;       /* offset of the record in the section; of an archive, in the file */
    uint64_t index;       /* its number in its table, or SXT_NO_INDEX */
    uint64_t start, end;  /* the addresses that it says it has; 0 and 0 when it only has something inlined into it */
    sxt_string name_from; /* where its name was found, in words; absent when it is the record's own */
    const sxt_string *aliases; /* other names for the same address */
    size_t alias_count;
};

/* The record that tells the line of the innermost frame. */
struct sxt_explained_line {
    sxt_string file;
    sxt_string section;
    uint64_t table;    /* offset of the line table in the section; of an archive, of the entry in the file */
    uint64_t address;  /* where the row begins, or SXT_NO_INDEX: the table was not taken apart */
    sxt_string source; /* the source file that it names; absent when it names none */
    uint32_t line, column;
};

struct sxt_explanation {
    bool is_archive;                          /* the records are those of an archive */
    const struct sxt_explained_frame *frames; /* as those of the answer: innermost first */
    size_t frame_count;
    bool has_line;
    struct sxt_explained_line line;
    sxt_string why;          /* there is no answer, or no line; absent when there is both */
    const sxt_string *tried; /* paths where something was looked for that is not there */
    size_t tried_count;
    const sxt_string *todo; /* what would help */
    size_t todo_count;
};

/* For the file that an archive was opened from, with the same OPTIONS; their strings must stay. */
int sxt_explainer_open(const char *path, const sxt_open_options *options, struct sxt_explainer **out, sxt_error *error);
void sxt_explainer_close(struct sxt_explainer **explainer);

/* Explains the answer (COUNT FRAMES) that the archive gave for ADDRESS. *OUT is valid until the next call. */
int sxt_explain(struct sxt_explainer *explainer, uint64_t address, const sxt_frame *frames, size_t count,
                struct sxt_explanation *out, sxt_error *error);

/* The same for an offset of the file that no address belongs to. */
int sxt_explain_offset(struct sxt_explainer *explainer, uint64_t offset, struct sxt_explanation *out, sxt_error *error);

#endif
