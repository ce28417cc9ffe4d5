/*
 * ksym.h: writing ksym blobs, the symbol tables that a kernel maps and reads in place. The reader is freestanding and
 * public: sextant/ksym.h. The public writer is sextant/ksym_writer.h.
 *
 *     SXT_KSYM_SEED                            SXT_KSYM_0_6: the same after a u64 with the size of the whole blob
 *
 *     u64 count
 *     u64 addresses[count]                     ascending
 *     u32 offsets[count]                       of the names, by address
 *     u32 sequence[count]                      by name: which address
 *     u64 size, u8 names[size]                 records: u8 type, u16 size, then the name
 *     u64 size, u8 tokens[size]                aligned to 8, as is the next
 *     u64 count, u32 token_starts[count]
 *
 * A name is plain, or begins with a token: FF id FF (below 256) or FF high low FF, then the rest. All numbers are
 * little-endian, padding is 0. Names are UTF-8, so that a plain one has no byte FF.
 */
#ifndef SXT_KSYM_KSYM_H
#define SXT_KSYM_KSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/ksym.h>
#include <sextant/ksym_writer.h>

#include "base/buffer.h"
#include "base/strings.h"
#include "symbols/symbols.h"

/* What a record can hold. The reference reader cuts names at SXT_KSYM_NAME_SIZE_MOST. */
#define SXT_KSYM_RECORD_MOST 65535

/* Token 511 would be FF 01 FF FF, which the reference reader takes for token 1 and a stray FF. */
#define SXT_KSYM_TOKENS_WRITTEN 511

/* A symbol on its way into a blob. */
struct sxt_ksym_input {
    uint64_t address;
    uint32_t name; /* in the list's strings; ends with " [module]" if it is in one */
    char type;     /* as nm prints it */
};

struct sxt_ksym_list {
    struct sxt_strings strings;
    struct sxt_ksym_input *symbols; /* in the order of adding, which decides between equal ones */
    size_t count;
    size_t capacity;
};

/* Makes an empty list. Fails if memory is short. */
int sxt_ksym_list_init(struct sxt_ksym_list *list, sxt_error *error);
void sxt_ksym_list_free(struct sxt_ksym_list *list);

/* Adds a symbol, whatever its name; sxt_ksym_encode takes only names that fit. */
int sxt_ksym_list_add(struct sxt_ksym_list *list, uint64_t address, char type, sxt_string name, sxt_error *error);

enum sxt_ksym_fit { SXT_KSYM_FITS, SXT_KSYM_EMPTY, SXT_KSYM_TOO_LONG, SXT_KSYM_NOT_UTF8 };

/* Whether a record can hold this name so that any reader returns it unchanged. */
enum sxt_ksym_fit sxt_ksym_name_fit(sxt_string name);

/* The size of NAME without the " [module]" at its end, if it has one. */
size_t sxt_ksym_bare_size(sxt_string name);

/*
 * Demangles every name, on several threads (see sxt_pool_threads). The " [module]" at the end of a name is kept. A
 * readable form that does not fit is not used.
 */
int sxt_ksym_list_demangle(struct sxt_ksym_list *list, unsigned threads, sxt_error *error);

#define SXT_KSYM_TYPES 256

/* Parses TYPES: letters of nm, or "all". SXT_ERROR_USAGE if it has anything else. */
int sxt_ksym_parse_types(const char *types, bool wanted[SXT_KSYM_TYPES], sxt_error *error);

struct sxt_ksym_text_options {
    const char *types; /* letters of nm, or "all"; NULL: "Tt" */
    bool demangle;
    unsigned threads; /* for demangling; see sxt_pool_threads */
    /*
     * Called at the end: at most once for each kind of line that was left out, with the first such line, and once for
     * names that other readers will cut, with LINE 0.
     */
    void (*warning)(void *data, uint64_t line, const char *text);
    void *warning_data;
};

/* How many lines of a kind there were, and which was the first, counted from 1. */
struct sxt_ksym_lines {
    uint64_t count;
    uint64_t first;
};

/* Every line is counted in one member. Lines with long names are kept, and counted in long_names as well. */
struct sxt_ksym_text_report {
    uint64_t lines;
    uint64_t blank;
    uint64_t kept;
    uint64_t other_types; /* not asked for; of_other_type counts them by type */
    uint64_t undefined;   /* "U name": no address */
    uint64_t markers;     /* mapping symbols of Arm and RISC-V ($x, $d, ...), which mark code and data */
    struct sxt_ksym_lines malformed;
    struct sxt_ksym_lines nameless;
    struct sxt_ksym_lines not_utf8;
    struct sxt_ksym_lines too_long; /* for a record */
    uint64_t long_names;            /* longer than SXT_KSYM_NAME_SIZE_MOST, in the form in which they are kept */
    uint64_t of_other_type[SXT_KSYM_TYPES];
};

/*
 * Adds the symbols of a text, as in /proc/kallsyms and as nm prints it: address (hexadecimal), type and name, with
 * white space between; white space in a name becomes one space. OPTIONS and REPORT may be NULL. Fails if no symbol is
 * left, or if all addresses are 0, as the kernel shows them to users who may not see them.
 */
int sxt_ksym_read_text(struct sxt_ksym_list *list, const uint8_t *data, size_t size,
                       const struct sxt_ksym_text_options *options, struct sxt_ksym_text_report *report,
                       sxt_error *error);

/* Which prefixes become tokens: those that save the most, or those that the reference generator chooses. */
enum sxt_ksym_tokens { SXT_KSYM_TOKENS_SAVING, SXT_KSYM_TOKENS_REFERENCE };

struct sxt_ksym_encode_options {
    sxt_ksym_layout layout;
    enum sxt_ksym_tokens tokens;
    bool share_records; /* symbols of the same name and type share a record; otherwise each has its own, in order */
};

struct sxt_ksym_encode_report {
    size_t tokens;
    uint64_t plain_size; /* of the blob without tokens */
    uint64_t saved;      /* by tokens, less their cost; 0 if the reference's tokens cost more than they save */
    /* No choice of tokens makes the blob smaller than this; 0 under the reference's rule. Padding is not counted. */
    uint64_t size_bound;
    uint64_t long_names; /* symbols whose names are longer than SXT_KSYM_NAME_SIZE_MOST */
};

/*
 * Makes a blob; the caller frees *DATA with free(). Symbols are stored in the order of addresses, names are sorted by
 * their bytes, and equal ones keep the order of the list. The same list always gives the same bytes. OPTIONS and REPORT
 * may be NULL.
 */
int sxt_ksym_encode(const struct sxt_ksym_list *list, const struct sxt_ksym_encode_options *options, uint8_t **data,
                    size_t *size, struct sxt_ksym_encode_report *report, sxt_error *error);

/* --- the public writer, and reading a blob as a whole --- */

struct sxt_ksym_writer {
    sxt_ksym_options options;
    struct sxt_ksym_list list;
    const char *path;                  /* the file that is being added, for warnings; NULL if there is none */
    uint64_t left_out[SXT_KSYM_TYPES]; /* symbols whose type is not wanted, by type */
};

/* Adds the functions of a model, with the type T. */
int sxt_ksym_writer_add_functions(sxt_ksym_writer *writer, const struct sxt_symbols *symbols, sxt_error *error);

/* Calls VISIT for every symbol of a blob, by address, until it returns false. */
typedef bool sxt_ksym_visitor(void *data, const sxt_ksym_symbol *symbol, sxt_string name);
int sxt_ksym_visit(const sxt_ksym *ksym, sxt_ksym_visitor *visit, void *data, sxt_error *error);

/* The name of a symbol in BUFFER; absent if memory is short. */
sxt_string sxt_ksym_name_of(const sxt_ksym *ksym, size_t index, struct sxt_buffer *buffer);

#endif
