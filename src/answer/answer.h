/*
 * answer.h: what the program says about addresses and files, as text or JSON: the answers of lookup, their
 * explanations, and the figures of info. The command line and the pages of `view` print the same.
 *
 * Advice names the options of the program, so this room is not in the library.
 */
#ifndef SXT_ANSWER_ANSWER_H
#define SXT_ANSWER_ANSWER_H

#include <sextant/archive.h>
#include <sextant/explain.h>

#include "base/emit.h"

struct sxt_answer_explanation;

struct sxt_answer {
    sxt_string text;   /* the word that was given */
    bool is_address;   /* it is an address: */
    uint64_t asked;    /* this one */
    bool is_placed;    /* it belongs to an address of the file: */
    uint64_t address;  /* this one; otherwise it is an offset of the file */
    sxt_frame *frames; /* innermost first */
    size_t count;
    bool has_no_starts;         /* where the ranges of the frames begin is unknown */
    const sxt_archive *archive; /* the file that they come from; NULL for a process */
    const sxt_archive *blob;    /* the same if it is a ksym blob; NULL if it is not */
    const char *module;         /* of a process; NULL if there is none */
    uint64_t module_address;
    const char *problem;                              /* why the module cannot be read; NULL if it can */
    const struct sxt_answer_explanation *explanation; /* NULL without --explain */
};

/* Prints a record of EMIT. */
void sxt_answer_print(struct sxt_emit *emit, const struct sxt_answer *answer);

/* --- explanations: the records that an answer comes from, or why there is none --- */

struct sxt_answer_explain;

/* OPTIONS are those of the archive. PID is the process, or NULL. NULL when out of memory. */
struct sxt_answer_explain *sxt_answer_explain_new(const sxt_open_options *options, const char *pid);
void sxt_answer_explain_free(struct sxt_answer_explain *explain);

/* An explanation of the library, or a reason of the program itself. */
struct sxt_answer_explanation {
    const sxt_explanation *found; /* NULL if nothing was looked up in a file */
    const char *why;              /* then: the reason and what helps; either may be NULL */
    const char *advice;
    const char *failed_file; /* the file that cannot be explained; NULL if nothing failed: */
    char failure[512];       /* why not */
};

/* Explains ANSWER, which FILE gave (NULL: a process). The result is valid until the next call. */
const struct sxt_answer_explanation *sxt_answer_explain(struct sxt_answer_explain *explain, const char *file,
                                                        const struct sxt_answer *answer);

/* Adds it to the current record of EMIT. */
void sxt_answer_print_explanation(struct sxt_emit *emit, const struct sxt_answer_explanation *explanation);

/* --- info --- */

/* Adds the facts and counts of a file to the current record. ARCHIVE is NULL for a heap trace. */
void sxt_answer_print_info(struct sxt_emit *emit, const char *file, const sxt_archive *archive, const sxt_info *info);

/* The same for where the sections of a relocatable file are. */
void sxt_answer_print_section_bases(struct sxt_emit *emit, const sxt_archive *archive, const sxt_info *info);

#endif
