/*
 * sextant/explain.h: where the answer for an address comes from, or why there is none.
 *
 * An explainer opens the file that an answer came from, and finds the file, section and record of each frame. If an
 * address has no name, or its answer has no line, it gives the reasons and what would help, as data: a program can word
 * them in terms of its own options, or use the texts of this library.
 *
 *     sxt_explainer *explainer;
 *     const sxt_explanation *found;
 *     if (sxt_explainer_open(path, NULL, &explainer, &error) == SXT_OK) {
 *         size_t count = sxt_archive_lookup(archive, address, frames, 64);
 *         if (sxt_explain_address(explainer, address, frames, count, &found, &error) == SXT_OK)
 *             print(found);
 *         sxt_explainer_close(&explainer);
 *     }
 *
 * An explanation belongs to its explainer, and is valid until the next call with it. One thread at a time may use an
 * explainer. Files are read when an explanation first needs them.
 */
#ifndef SEXTANT_EXPLAIN_H
#define SEXTANT_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>
#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_explainer sxt_explainer;

/* An index or address that a record does not have. */
#define SXT_NO_INDEX UINT64_MAX

/* What kind of record a frame comes from. More may be added; the values are part of the ABI. */
typedef enum sxt_record {
    SXT_RECORD_FUNCTION = 1,     /* of DWARF, or of the Go runtime's table */
    SXT_RECORD_INLINED_CALL = 2, /* the same */
    SXT_RECORD_SYMBOL = 3,       /* of a symbol table, or of a ksym blob */
    SXT_RECORD_PLT_ENTRY = 4,
    SXT_RECORD_ROW = 5 /* of an archive */
} sxt_record;

/* The record of a frame. */
typedef struct sxt_explained_frame {
    sxt_string function;
    sxt_record record;
    sxt_string file;    /* the one that has the record; absent if its path is unknown */
    sxt_string section; /* ELF file: the section; archive: the table */
    sxt_string unit;    /* DWARF: the name of the compilation unit; absent otherwise */
    uint64_t unit_offset;
    uint64_t entry;            /* offset of the record in the section; archive: in the file */
    uint64_t index;            /* of the record in its table, or SXT_NO_INDEX */
    uint64_t start, end;       /* the addresses of the record; both 0 if only a call inlined into it has the address */
    sxt_string name_from;      /* where the name was found, in words; absent if the record itself has it */
    const sxt_string *aliases; /* other names for the same address */
    size_t alias_count;
    uintptr_t reserved[4];
} sxt_explained_frame;

/* The record that has the line of the innermost frame. */
typedef struct sxt_explained_line {
    sxt_string file;
    sxt_string section;
    uint64_t table;    /* offset of the line table in the section; archive: of the entry in the file */
    uint64_t address;  /* where the row starts, or SXT_NO_INDEX */
    sxt_string source; /* the source file; absent if there is none */
    uint32_t line, column;
    uintptr_t reserved[4];
} sxt_explained_line;

/*
 * Why an address has no name, or an answer has no line. The comments name the members of sxt_explained_reason that are
 * set. More may be added; the values are part of the ABI.
 */
typedef enum sxt_explain_reason {
    /* The file does not have the address, or has no code there. */
    SXT_WHY_NOTHING_LOADED = 1,   /* the file loads nothing, so it has no addresses */
    SXT_WHY_OUTSIDE = 2,          /* the file loads nothing at the address: sxt_explanation.loaded */
    SXT_WHY_NOT_CODE = 3,         /* it is in a section without code: section */
    SXT_WHY_BETWEEN_SECTIONS = 4, /* it is loaded, but in no section: headers or padding */
    SXT_WHY_NOT_EXECUTABLE = 5,   /* it is in a segment that is not executable */
    SXT_WHY_IN_VARIABLE = 6,      /* it is in a variable: name, section (of the symbol), size (bytes into it) */

    /* It is code, but no function covers it. */
    SXT_WHY_IN_NO_FUNCTION = 7,  /* section (absent if unknown) */
    SXT_WHY_FUNCTION_BEFORE = 8, /* the one before it: name, address (its end), size (bytes from there) */
    SXT_WHY_FUNCTION_AFTER = 9,  /* the one after it: name, address (its start), size (bytes up to there) */
    SXT_WHY_ZERO_SIZE = 10,      /* a symbol of size 0 before it owns no bytes: name, address */
    SXT_WHY_PADDING = 11,        /* the bytes there are padding */

    /* Something that may cover it was excluded, is damaged, or is missing. */
    SXT_WHY_SOURCE_EXCLUDED = 12,   /* the options exclude a source that has it: source, name (may be absent) */
    SXT_WHY_DWARF_UNREADABLE = 13,  /* name (the error) */
    SXT_WHY_FUNCTION_UNNAMED = 14,  /* a function of DWARF has it, but no name: section, address (its offset) */
    SXT_WHY_LINE_WITHOUT_NAME = 15, /* the line table has it, but no function: name (of the unit) */
    SXT_WHY_UNIT_DAMAGED = 16,      /* name (of the unit), address (the offset of the damage) */
    SXT_WHY_STRIPPED = 17,          /* size (functions that are left: exported ones and PLT entries) */
    SXT_WHY_NO_DEBUG_FILE = 18,     /* none was found: sxt_explanation.tried */
    SXT_WHY_NO_DEBUG_LINK = 19,     /* the file has neither a build ID nor a .gnu_debuglink to find one by */
    SXT_WHY_NO_DEBUG_SEARCH = 20,   /* the options exclude debug files */
    SXT_WHY_OTHER_DEBUG_FILE = 21,  /* a file is there, but it is the debug file of another binary: path */
    SXT_WHY_NOT_IN_DEBUG_FILE = 22, /* the debug file does not have it either: path */
    SXT_WHY_NO_SPLIT_FILE = 23,     /* its unit refers to a .dwo file that was not found: path, address (the unit) */
    SXT_WHY_NO_ALTERNATE_FILE = 24, /* the alternate file, which may have the name, was not found: path */

    /* An archive does not have it. */
    SXT_WHY_NO_ROWS = 25,
    SXT_WHY_BEFORE_ROWS = 26,  /* name, address (the start of the first row) */
    SXT_WHY_AFTER_ROWS = 27,   /* name, address (the end of the last row) */
    SXT_WHY_BETWEEN_ROWS = 28, /* SXT_WHY_FUNCTION_BEFORE and _AFTER follow */

    /* There is a name, but no line. */
    SXT_WHY_LINKER_CODE = 29,     /* the linker made the code */
    SXT_WHY_LINE_ZERO = 30,       /* the line table has line 0: code that belongs to no line of the source */
    SXT_WHY_NO_DWARF = 31,        /* the file has none */
    SXT_WHY_NO_UNIT = 32,         /* no unit of the DWARF has the address: path */
    SXT_WHY_NO_LINE_TABLE = 33,   /* the unit has none: name */
    SXT_WHY_NO_LINE_ROW = 34,     /* the line table has no row for the address: address (offset of the table) */
    SXT_WHY_NO_LINE_ENTRIES = 35, /* the archive has none at all */
    SXT_WHY_NO_LINE_ENTRY = 36,   /* the row of the archive has none for the address */

    /* An offset of the file has no address. */
    SXT_WHY_AFTER_FILE = 37, /* size (of the file) */
    SXT_WHY_OFFSET_NOT_LOADED = 38,
    SXT_WHY_OFFSET_SECTION = 39, /* where the offset is: section */

    /* A ksym blob. */
    SXT_WHY_NAMES_ONLY = 40,  /* it has names, and no lines */
    SXT_WHY_OUTSIDE_TEXT = 41 /* lookups find nothing outside of its text: address (its start), size */
} sxt_explain_reason;

typedef struct sxt_explained_reason {
    sxt_explain_reason reason;
    uint32_t source; /* one of sxt_source */
    sxt_string name;
    sxt_string section;
    sxt_string path;
    uint64_t address;
    uint64_t size;
    uintptr_t reserved[4];
} sxt_explained_reason;

/*
 * What would help. The comments name the members of sxt_explained_advice that are set. More may be added; the values
 * are part of the ABI.
 */
typedef enum sxt_explain_advice {
    SXT_ADVICE_RUN_TIME = 1,       /* it looks like an address of a process: subtract the load bias, or use the maps */
    SXT_ADVICE_MAYBE_RUN_TIME = 2, /* it may be one */
    SXT_ADVICE_ADD_BASE = 3,       /* if it counts from the start of the image: address (what to look up) */
    SXT_ADVICE_SUBTRACT_BASE = 4,  /* if the base was added twice: address */
    SXT_ADVICE_FILE_OFFSET = 5,    /* if it is an offset of the file: address */
    SXT_ADVICE_SECTION_BASES = 6,  /* see where the sections of a relocatable file were placed */
    SXT_ADVICE_CHECK_FILE = 7,     /* check that the address belongs to this file */
    SXT_ADVICE_CHECK_ADDRESS = 8,  /* most code is in .text: address, size */
    SXT_ADVICE_ADD_SOURCE = 9,     /* do not exclude a source: source */
    SXT_ADVICE_EXTEND_ZERO_SIZE = 10,   /* extend symbols of size 0 to the next symbol */
    SXT_ADVICE_SEARCH_DEBUG_FILE = 11,  /* do not exclude debug files, or give one */
    SXT_ADVICE_INSTALL_SYMBOLS = 12,    /* install the package with the debug symbols */
    SXT_ADVICE_FETCH_DEBUG_FILE = 13,   /* fetch the debug file: name (the build ID) */
    SXT_ADVICE_GIVE_DEBUG_FILE = 14,    /* give the debug file, or a binary that is not stripped */
    SXT_ADVICE_RESTORE_SPLIT_FILE = 15, /* restore the .dwo file, or put a package of them at: path */
    SXT_ADVICE_INSTALL_ALTERNATE = 16,  /* install the alternate file */
    SXT_ADVICE_COMPILE_WITH_DEBUG = 17, /* the source of this code was compiled without debug information */
    SXT_ADVICE_KEEP_LINES = 18,         /* make the archive again, with lines */
    SXT_ADVICE_MAKE_AGAIN = 19,         /* make the archive again */
    SXT_ADVICE_EXPLAIN_BINARY = 20,     /* explain the address with the ELF file, which has more than the archive */
    SXT_ADVICE_IS_ADDRESS = 21,         /* the offset may be meant as an address of the file: address */
    SXT_ADVICE_NOT_AN_OFFSET = 22       /* the offset may be meant as an address: address */
} sxt_explain_advice;

typedef struct sxt_explained_advice {
    sxt_explain_advice advice;
    uint32_t source; /* one of sxt_source */
    sxt_string name;
    sxt_string path;
    uint64_t address;
    uint64_t size;
    uintptr_t reserved[4];
} sxt_explained_advice;

/* What an answer lacks. */
typedef enum sxt_explain_lack {
    SXT_LACKS_NOTHING = 0,
    SXT_LACKS_NAME = 1, /* there is no answer, or one of its frames has no name */
    SXT_LACKS_LINE = 2,
    SXT_LACKS_CALLS = 3 /* inlined calls are unknown */
} sxt_explain_lack;

/* An address range that a file loads: a segment, or a section if the file has no segments. */
typedef struct sxt_loaded_range {
    uint64_t start, end;
} sxt_loaded_range;

/* Later versions may add members at the end. */
typedef struct sxt_explanation {
    uint64_t address;                  /* the one that was asked for, or the offset */
    bool is_archive;                   /* the records are those of an archive */
    bool has_line;                     /* `line` is set */
    sxt_explain_lack lacks;            /* what the reasons are about */
    const sxt_explained_frame *frames; /* those of the answer, innermost first */
    size_t frame_count;
    sxt_explained_line line;
    const sxt_explained_reason *reasons; /* the main one first */
    size_t reason_count;
    const sxt_explained_advice *advice;
    size_t advice_count;
    const sxt_string *tried; /* paths where a missing file was looked for */
    size_t tried_count;
    const sxt_loaded_range *loaded; /* for SXT_WHY_OUTSIDE */
    size_t loaded_count;
    bool loads_sections; /* the ranges are sections, not segments */
} sxt_explanation;

/*
 * Opens an explainer for the file that an archive was opened from. OPTIONS are those that the archive was opened with;
 * their strings must live as long as the explainer. On failure *OUT is NULL: SXT_ERROR_UNSUPPORTED for anything but ELF
 * files and Lidia archives.
 */
SXT_API int sxt_explainer_open(const char *path, const sxt_open_options *options, sxt_explainer **out,
                               sxt_error *error);
SXT_API void sxt_explainer_close(sxt_explainer **explainer);

/* Explains the answer (COUNT FRAMES, innermost first) that the archive gave for ADDRESS; COUNT is 0 if it gave none. */
SXT_API int sxt_explain_address(sxt_explainer *explainer, uint64_t address, const sxt_frame *frames, size_t count,
                                const sxt_explanation **out, sxt_error *error);

/* Explains why an OFFSET of the file has no address (see sxt_archive_address_of_offset). */
SXT_API int sxt_explain_offset(sxt_explainer *explainer, uint64_t offset, const sxt_explanation **out,
                               sxt_error *error);

/*
 * Reason or advice INDEX of an explanation in words, on one line, without a full stop: "0x11aa is in .text, but in no
 * function". Writes at most SIZE bytes including the NUL, and returns the length of the whole text, like snprintf.
 * Names longer than 160 bytes are cut.
 */
SXT_API size_t sxt_explain_reason_text(const sxt_explanation *explanation, size_t index, char *text, size_t size);
SXT_API size_t sxt_explain_advice_text(const sxt_explanation *explanation, size_t index, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
