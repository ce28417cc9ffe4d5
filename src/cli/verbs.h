/* verbs.h: the verbs, one per file, and what they share. */
#ifndef SXT_CLI_VERBS_H
#define SXT_CLI_VERBS_H

#include "base/file.h"
#include "cli/cli.h"

extern const struct cli_verb cli_addr2line;
extern const struct cli_verb cli_archive;
extern const struct cli_verb cli_lookup;
extern const struct cli_verb cli_convert;
extern const struct cli_verb cli_diff;
extern const struct cli_verb cli_dump;
extern const struct cli_verb cli_fileid;
extern const struct cli_verb cli_heap;
extern const struct cli_verb cli_info;
extern const struct cli_verb cli_push;
extern const struct cli_verb cli_query;
extern const struct cli_verb cli_record;
extern const struct cli_verb cli_report;
extern const struct cli_verb cli_serve;
extern const struct cli_verb cli_size;
extern const struct cli_verb cli_store;
extern const struct cli_verb cli_symbolize;
extern const struct cli_verb cli_verify;
extern const struct cli_verb cli_view;
extern const struct cli_verb cli_generate;

/* What archive and convert do for ksym: the words of the command line into a blob. */
int cli_make_ksym(const struct cli_arguments *arguments, bool archives_only);

/* What archive does for size. */
int cli_make_size(const struct cli_arguments *arguments);

/* What convert does for .size files, and for .sizediff files. */
int cli_convert_size(const struct cli_arguments *arguments, bool is_diff);

/* What dump does for SuperSize files; false when ARCHIVE is not one. */
bool cli_dump_size(const sxt_archive *archive, struct sxt_emit *emit);

/* A file that is open: an archive, or a heap trace. */
struct cli_input {
    sxt_archive *archive; /* NULL: it is a trace */
    sxt_trace *trace;
    struct sxt_file stream; /* standard input */
};

/* Prints what is wrong and returns the exit status. OPTIONS are for an archive, ROOT_FIRST for a trace. */
int cli_input_open(const char *path, const sxt_open_options *options, bool root_first, struct cli_input *out);
void cli_input_close(struct cli_input *input);

/* What dump, info and convert do for heap traces; FILE is named in warnings. */
int cli_dump_trace(const sxt_trace *trace, const char *file, struct sxt_emit *emit);
int cli_info_trace(const sxt_trace *trace, const char *file, struct sxt_emit *emit);

/* The containers, paths and metadata of a SuperSize file; nothing for another archive. */
void cli_info_size(const sxt_archive *archive, struct sxt_emit *emit);
int cli_convert_trace(const struct cli_arguments *arguments);

/* One warning for each kind of oddity, with a count. */
void cli_warn_oddities(const char *path, const sxt_trace_oddities *oddities);

/* Warns if the recording of a heap trace was cut off, and if its version is newer than what is known. */
void cli_warn_state(const char *path, const sxt_trace *trace);
void cli_warn_version(const char *path, uint32_t version);

/* The directories of --search; the caller frees the list. Prints what is wrong and returns the exit status. */
int cli_search_directories(const struct cli_arguments *arguments, const char *const **directories, size_t *count);

/* Whether FILE, or that of FILE@MOMENT, begins like a heap trace. */
bool cli_is_trace(const char *file);

/*
 * What diff does for heap traces: the first BEFORE_COUNT words are the runs before, the others those after. A run is
 * FILE, or FILE@MOMENT for what was live then.
 */
int cli_diff_heap(const struct cli_arguments *arguments, size_t before_count);

#endif
