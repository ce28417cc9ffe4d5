/*
 * archive.h: open anything. The only room that knows all formats. Its public side is sextant/archive.h; here is what
 * the program has beyond it.
 */
#ifndef SXT_ARCHIVE_ARCHIVE_H
#define SXT_ARCHIVE_ARCHIVE_H

#include <sextant/archive.h>
#include <sextant/lidia.h>

/*
 * Addresses of a running process: the map of its memory says which file an address comes from, and the archive of that
 * file says the rest. Files are opened when an address first needs them. One thread at a time.
 */
struct sxt_process;

/* From /proc/PID. */
int sxt_process_open_pid(long pid, const sxt_open_options *options, struct sxt_process **out, sxt_error *error);

/* From a saved copy of /proc/PID/maps; the files are opened under the names that stand in it. */
int sxt_process_open_maps(const char *path, const sxt_open_options *options, struct sxt_process **out,
                          sxt_error *error);
void sxt_process_close(struct sxt_process **process);

/* Where a run-time address leads. */
struct sxt_process_place {
    const char *module;  /* path of the mapped file; NULL when the address is not mapped from a file */
    uint64_t address;    /* virtual address inside that file */
    const char *problem; /* why the module cannot be asked; NULL when it can */
};

/* As sxt_archive_lookup, for a run-time ADDRESS. *PLACE is filled in any case; its texts live as long as PROCESS. */
size_t sxt_process_lookup(struct sxt_process *process, uint64_t address, sxt_frame *frames, size_t capacity,
                          struct sxt_process_place *place);

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

/*
 * Questions and answers of GNU addr2line. An ELF file is looked at as that program does (see docs/addr2line.md); an
 * archive gives what it has. What an address needs is read when it is first asked for, and kept. One thread at a time.
 */
struct sxt_addr2line;

struct sxt_addr2line_options {
    const char *section; /* addresses are offsets in this section of an ELF file; NULL: they are addresses */
    const char *style;   /* of names: "auto", "gnu-v3", "rust" ...; NULL: auto */
    bool no_limit;       /* names may nest as deep as they like */
};

/* Strings live as long as the sxt_addr2line. */
struct sxt_addr2line_frame {
    sxt_string function; /* as linked; absent when unknown */
    sxt_string file;     /* absent when unknown */
    uint32_t line;       /* 0 when unknown */
    uint32_t discriminator;
};

/* SXT_ERROR_NOT_FOUND when there is no such section, SXT_ERROR_USAGE for an unknown style. */
int sxt_addr2line_open(const char *path, const struct sxt_addr2line_options *options, struct sxt_addr2line **out,
                       sxt_error *error);
void sxt_addr2line_close(struct sxt_addr2line **addr2line);

/* Are there names of styles, and is this one of them? */
bool sxt_addr2line_knows_style(const char *style);

/* Hexadecimal digits of an address: 8 or 16. */
unsigned sxt_addr2line_digits(const struct sxt_addr2line *addr2line);

/* What a word of the user's means: a number in base 16 as far as it goes, or a symbol with or without "+OFFSET". */
uint64_t sxt_addr2line_address(struct sxt_addr2line *addr2line, const char *word);

/* Reads what the addresses need, all at once and on several threads. */
int sxt_addr2line_load(struct sxt_addr2line *addr2line, const uint64_t *addresses, size_t count, sxt_error *error);

/* The innermost frame at ADDRESS, which must have been loaded; false when nothing is known. */
bool sxt_addr2line_find(struct sxt_addr2line *addr2line, uint64_t address, struct sxt_addr2line_frame *frame);

/* From the frame that was given last to the one it was inlined into; false when it is the outermost. */
bool sxt_addr2line_caller(struct sxt_addr2line *addr2line, struct sxt_addr2line_frame *frame);

/* The readable form of a name, or the name itself where there is none. It lives until the next call. */
sxt_string sxt_addr2line_readable(struct sxt_addr2line *addr2line, sxt_string name);

/*
 * Every record of a symbfile, in the order of the file. A callback returns false to end it. What they get is valid
 * during the call.
 */
struct sxt_pad_frame {
    sxt_string function;
    sxt_string file; /* absent when unknown */
    uint32_t line;   /* 0 when unknown */
};

struct sxt_record_visitor {
    bool (*range)(void *data, const sxt_range *range, const sxt_line *lines);
    bool (*pad)(void *data, uint64_t address, const struct sxt_pad_frame *frames, size_t count); /* outermost first */
    void *data;
};

/* *IS_SYMBFILE is false for an archive of another kind, and then nothing is visited. */
int sxt_archive_visit(const sxt_archive *archive, const struct sxt_record_visitor *visitor, bool *is_symbfile,
                      sxt_error *error);

/*
 * The ranges of archives (Lidia files, ranges files of the symbfile format and parts of them), together in one model,
 * as they stand in them. *FAILED is the file that could not be read.
 */
int sxt_symbols_from_archives(const char *const *paths, size_t count, sxt_symbols **out, const char **failed,
                              sxt_error *error);

#endif
