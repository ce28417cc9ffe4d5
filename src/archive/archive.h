/*
 * archive.h: open anything. The only room that knows all formats. Its public side is sextant/archive.h; here is what
 * the program has beyond it.
 */
#ifndef SXT_ARCHIVE_ARCHIVE_H
#define SXT_ARCHIVE_ARCHIVE_H

#include <sextant/archive.h>
#include <sextant/ksym.h>
#include <sextant/lidia.h>
#include <sextant/symbfile.h>

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
 * Every record of a symbfile or ksym blob, in the order of the file. A callback returns false to end it. What they get
 * is valid during the call.
 */
struct sxt_pad_frame {
    sxt_string function;
    sxt_string file; /* absent when unknown */
    uint32_t line;   /* 0 when unknown */
};

struct sxt_record_visitor {
    bool (*range)(void *data, const sxt_range *range, const sxt_line *lines);
    bool (*pad)(void *data, uint64_t address, const struct sxt_pad_frame *frames, size_t count); /* outermost first */
    /* LETTER as nm has it; NAME as it is stored, MODULE what stands in brackets at its end: absent when nothing does */
    bool (*symbol)(void *data, uint64_t address, char letter, sxt_string name, sxt_string module);
    void *data;
};

/* *HAS_RECORDS is false for an archive of another kind, and then nothing is visited. */
int sxt_archive_visit(const sxt_archive *archive, const struct sxt_record_visitor *visitor, bool *has_records,
                      sxt_error *error);

/*
 * The ranges of archives (Lidia files, ranges files of the symbfile format and parts of them, ksym blobs), together in
 * one model, as they stand in them. *FAILED is the file that could not be read.
 */
int sxt_symbols_from_archives(const char *const *paths, size_t count, sxt_symbols **out, const char **failed,
                              sxt_error *error);

/* Ranges and return pads of one model, at the same time. *FAILED is the file that could not be written. */
int sxt_symbfile_write_both(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                            const char *ranges, const char *pads, uint64_t *pad_count, const char **failed,
                            sxt_error *error);

/* --- SuperSize files; size/size.h has what comes out --- */

struct sxt_size;
struct sxt_sizediff;

struct sxt_size_make_options {
    sxt_extract_options extract;     /* how to read a binary */
    const char *map_path;            /* the linker's map; NULL: none */
    const char *components_path;     /* lines "PREFIX COMPONENT"; NULL: none */
    const char *source_directory;    /* paths below it are stored relative to it; NULL: none */
    const char *title, *url;         /* NULL: none */
    const char *git_revision;        /* NULL: what the source directory has checked out */
    const char *const *build_config; /* "KEY=VALUE" */
    size_t build_config_count;
    bool with_debug; /* count debug information and symbols too */
};

void sxt_size_make_options_init(struct sxt_size_make_options *options);

/* Who owns each byte of binaries, object files and static libraries: a container for each. *FAILED is the file that
 * could not be read. */
int sxt_size_make(const char *const *paths, size_t count, const struct sxt_size_make_options *options,
                  struct sxt_size **out, const char **failed, sxt_error *error);

struct sxt_size_load_options {
    uint64_t max_size;                        /* the most that a file may expand to; 0: 4 GiB */
    const struct sxt_size_make_options *make; /* for binaries; NULL: defaults */
};

enum sxt_size_kind { SXT_SIZE_FILE, SXT_SIZE_DIFF_FILE, SXT_SIZE_BINARY };

/*
 * Opens a .size file, or makes one of a binary or library (in memory); or reads both halves of a .sizediff file. Which
 * of the two is filled, *KIND tells. OPTIONS may be NULL.
 */
int sxt_size_load(const char *path, const struct sxt_size_load_options *options, enum sxt_size_kind *kind,
                  struct sxt_size **size, struct sxt_sizediff *diff, sxt_error *error);

struct sxt_size_delta;

struct sxt_size_disassembling {
    const char *before_binary, *after_binary; /* whose sizes the two are */
    const char *objdump;                      /* for machines other than x86; NULL: the one of the toolchain */
};

/*
 * Disassembles the functions that changed most in DELTA, both before and after, and puts what changed, as a unified
 * diff, on the symbols of AFTER, which is the same as DELTA has. *FAILED is the file that could not be read, or taken
 * apart.
 */
int sxt_size_disassemble(const struct sxt_size_delta *delta, struct sxt_size *after,
                         const struct sxt_size_disassembling *options, const char **failed, sxt_error *error);

/* The SuperSize file that an archive was opened from; NULL when it is none. A diff has two halves. */
const struct sxt_size *sxt_archive_size(const sxt_archive *archive);
const struct sxt_sizediff *sxt_archive_sizediff(const sxt_archive *archive);

/* What calls of one function cost where they were inlined. */
struct sxt_inlined {
    sxt_string function; /* readable */
    sxt_string file;     /* that it is written in; absent when unknown */
    uint64_t size;       /* bytes of its own, without what is inlined into it */
    uint64_t total;      /* with that */
    uint64_t places;     /* pieces of code; a call may have several */
};

struct sxt_inlined_list {
    struct sxt_inlined *list; /* the largest first */
    size_t count;
    uint64_t code; /* bytes of all functions of the file */
    struct sxt_symbols *symbols;
    char **names;
};

/* From the DWARF of the binary at PATH. */
int sxt_inlined_read(const char *path, const sxt_extract_options *options, struct sxt_inlined_list *out,
                     sxt_error *error);
void sxt_inlined_free(struct sxt_inlined_list *list);

/* --- heap traces; mlyze/mlyze.h has what comes out --- */

struct sxt_buffer;
struct sxt_file;
struct sxt_mlyze;
struct sxt_mlyze_index;
struct sxt_mlyze_oddities;

/* A trace in a file, with the index that is beside it. */
struct sxt_trace;

int sxt_trace_open(const char *path, struct sxt_trace **out, sxt_error *error);
void sxt_trace_close(struct sxt_trace **trace);
const struct sxt_mlyze *sxt_trace_mlyze(const struct sxt_trace *trace);

/* Is there an index that is of use? */
bool sxt_trace_has_index(const struct sxt_trace *trace);

/* The index: the one beside the file, or one that is made now, which takes a pass over all events. It is the trace's.
 */
int sxt_trace_index(struct sxt_trace *trace, const struct sxt_mlyze_index **out, sxt_error *error);

/* Writes PATH.idx for the trace at PATH. */
int sxt_trace_save_index(const char *path, sxt_error *error);

/*
 * A copy of a trace, by the codec of OPTIONS. With LOST, what cannot be read is left out, *LOST is how many bytes that
 * is, and a recording that did not end is recovered. ODDITIES may be NULL. *FAILED is the file that could not be read
 * or written.
 */
struct sxt_recover_options;
int sxt_trace_convert(const char *input, const char *output, const struct sxt_recover_options *options, uint64_t *lost,
                      struct sxt_mlyze_oddities *oddities, const char **failed, sxt_error *error);

/*
 * If FILE, as it is at PATH, is what a recorder left when its recording did not end, it is replaced by the trace that
 * it makes, as far as it goes, in a file without a name (in $TMPDIR); *WAS_CUT tells. The program may still be running.
 */
int sxt_trace_take_cut(const char *path, struct sxt_file *file, bool *was_cut, sxt_error *error);

/* --- trace_names.c: names for what a recording left unresolved --- */

struct sxt_trace_naming {
    /* The file that was loaded from PATH and has BUILD_ID (hexadecimal digits, or nothing), for these addresses; NULL
     * when it is not to be had. */
    sxt_archive *(*open)(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses, size_t count);
    void *data;
};

struct sxt_trace_named {
    uint64_t addresses; /* that had no names */
    uint64_t named;
    uint64_t odd; /* entries that make no sense; new metadata does not have them */
};

/* METADATA becomes that of the trace with all names that can be had; it stays empty when there are no new ones. */
int sxt_trace_name(const struct sxt_mlyze *mlyze, const struct sxt_trace_naming *naming, struct sxt_buffer *metadata,
                   struct sxt_trace_named *named, sxt_error *error);

/* A copy of a trace in the same form, with other metadata, at PATH: whole or not at all. */
int sxt_trace_save(const struct sxt_mlyze *mlyze, sxt_string metadata, const char *path, sxt_error *error);

/* The same in a file without a name (in $TMPDIR); *FILE is to be closed. */
int sxt_trace_save_aside(const struct sxt_mlyze *mlyze, sxt_string metadata, struct sxt_file *file, sxt_error *error);

/* As sxt_archive_open_path, which refuses heap traces because they have no addresses to look up. A recording that did
 * not end is read as far as it goes. */
int sxt_archive_open_any(const char *path, const sxt_open_options *options, sxt_archive **out, sxt_error *error);

/* The heap trace that an archive was opened from; NULL when it is none. */
const struct sxt_mlyze *sxt_archive_mlyze(const sxt_archive *archive);

/* Is it a heap trace whose recording did not end? */
bool sxt_archive_is_cut(const sxt_archive *archive);

/* Making ksym blobs. */
struct sxt_ksym_options {
    const char *types;           /* letters of nm, or "all"; NULL: T and t of text and binaries, all of archives */
    sxt_ksym_layout layout;      /* of the blob */
    bool mangled;                /* names as linked */
    bool archives_only;          /* refuse a binary */
    sxt_extract_options extract; /* how to read a binary */
    /* What is wrong in the file at PATH but costs only a part of the result. May be NULL. */
    void (*warning)(void *data, const char *path, const char *text);
    void *warning_data;
};

struct sxt_ksym_made {
    uint64_t symbols;
    uint64_t tokens;
    uint64_t saved; /* bytes, by the tokens */
    uint64_t size;
};

/*
 * The symbols of files (text as /proc/kallsyms and nm have it, ELF files, archives of any kind) as one blob at OUTPUT,
 * which appears whole or not at all. "-" is standard input, and output. *FAILED is the file that could not be read or
 * written.
 */
int sxt_ksym_make(const char *const *paths, size_t count, const char *output, const struct sxt_ksym_options *options,
                  struct sxt_ksym_made *made, const char **failed, sxt_error *error);

/* --- record.c: recording a heap. The recorder writes a spool while the program runs; see mlyze/spool.h --- */

/* Why a program cannot be recorded, or what will be missing. */
enum sxt_recordable {
    SXT_RECORDABLE,
    SXT_RECORDABLE_STATIC,         /* nothing can be loaded into it; it may run, but nothing is seen */
    SXT_RECORDABLE_SANITIZED,      /* its sanitizer has an allocator of its own, and wants to be loaded first */
    SXT_RECORDABLE_NOT_PRIVILEGED, /* set-user-ID, set-group-ID, or with capabilities: the system ignores the recorder
                                    */
    SXT_RECORDABLE_NOT_32_BIT,
    SXT_RECORDABLE_NOT_MACHINE, /* for another processor */
    SXT_RECORDABLE_NOT_LIBRARY  /* another C library's dynamic linker */
};

/* Looks at the program in the file PATH; a script counts as its interpreter. */
enum sxt_recordable sxt_recordable(const char *path);

/* Is the runtime of a sanitizer named in this text, which is a library's name or a list of them? */
bool sxt_is_sanitizer(const char *text, size_t size);

struct sxt_recording_options {
    uint64_t period;    /* of sampling in bytes; 0: every allocation */
    bool with_mappings; /* mmap and munmap too */
    bool follow;        /* children get spools of their own */
};

/* A spool that is being written to. */
struct sxt_recording;

/* A new spool beside OUTPUT, which is not touched; the spool's path is that of OUTPUT and a suffix. */
int sxt_recording_create(const char *output, const struct sxt_recording_options *options, struct sxt_recording **out,
                         sxt_error *error);
const char *sxt_recording_path(const struct sxt_recording *recording);
void sxt_recording_unname(struct sxt_recording *recording);  /* takes the name of the output from the spool */
void sxt_recording_discard(struct sxt_recording *recording); /* removes the spool */
const char *sxt_recording_suffix(const struct sxt_recording *recording);
/* Is the file at PATH the spool of a child of this recording, which is process PID? */
bool sxt_recording_has_child(const struct sxt_recording *recording, const char *path, long pid);
void sxt_recording_stop_child(const struct sxt_recording *recording, const char *path, long pid);
void sxt_recording_of(struct sxt_recording *recording, long pid); /* the process that it is for */
void sxt_recording_stop(struct sxt_recording *recording);         /* asks the recorder to write no more */
void sxt_recording_note_end(struct sxt_recording *recording);     /* takes the time once more, for the clock's sake */
void sxt_recording_close(struct sxt_recording **recording);

struct sxt_recover_options {
    unsigned codec;  /* of mlyze.h; SXT_MLYZE_RAW (0) makes a plain file */
    bool no_symbols; /* leave addresses as they are */
    void (*warning)(void *data, const char *path, const char *text); /* what could not be opened; may be NULL */
    /* Now and then, while events are written: about so many bytes of the spool are done. May be NULL. */
    void (*progress)(void *data, uint64_t done, uint64_t all);
    void *data;
};

enum sxt_recovered_end {
    SXT_RECOVERED_WHOLE,
    SXT_RECOVERED_DISK_FULL,
    SXT_RECOVERED_NO_MEMORY,
    SXT_RECOVERED_FILE_GONE
};

#define SXT_RECOVERED_CHILDREN 640

/* What was in a spool. */
struct sxt_recovered {
    uint64_t events, allocations;
    uint64_t stacks, functions;
    uint64_t unmatched;                        /* frees of blocks that were there before */
    uint64_t dropped;                          /* events that the recorder had no room for */
    bool is_attached;                          /* was the recorder ever loaded? */
    bool own_allocator;                        /* the program has an allocator linked in */
    enum sxt_recovered_end end;                /* why the recording ended before the program did */
    uint32_t children[SXT_RECOVERED_CHILDREN]; /* processes that have spools of their own */
    size_t child_count;
};

/*
 * Makes a finished trace of the spool at PATH: OUTPUT may be the same path. Functions, files and lines are looked up in
 * the modules as they are now on this machine. A compressed one has its index beside it.
 */
int sxt_mlyze_recover(const char *path, const char *output, const struct sxt_recover_options *options,
                      struct sxt_recovered *recovered, sxt_error *error);

#endif
