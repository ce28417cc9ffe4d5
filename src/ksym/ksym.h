/*
 * ksym.h: writing ksym blobs, the symbol tables that a kernel maps and reads as they are. The reader is freestanding
 * and public: sextant/ksym.h, which also tells the two layouts apart.
 *
 *     SXT_KSYM_SEED                            SXT_KSYM_0_6: the same behind a u64 with the size of the whole blob
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

#include "base/buffer.h"
#include "base/strings.h"

/* What a record can hold. The reference reader cuts names at SXT_KSYM_NAME_SIZE_MOST. */
#define SXT_KSYM_RECORD_MOST 65535

/* Token 511 would be FF 01 FF FF, which the reference reader takes for token 1 and a stray FF. */
#define SXT_KSYM_TOKENS_WRITTEN 511

/* A symbol on its way into a blob. */
struct sxt_ksym_input {
    uint64_t address;
    uint32_t name; /* in the list's strings; with " [module]" behind it where it is in one */
    char type;     /* as nm has it */
};

struct sxt_ksym_list {
    struct sxt_strings strings;
    struct sxt_ksym_input *symbols; /* in the order in which they came, which decides between equal ones */
    size_t count;
    size_t capacity;
};

/* An empty list. Can run out of memory. */
int sxt_ksym_list_init(struct sxt_ksym_list *list, sxt_error *error);
void sxt_ksym_list_free(struct sxt_ksym_list *list);

/* Adds a symbol, whatever its name; sxt_ksym_encode takes only names that fit. */
int sxt_ksym_list_add(struct sxt_ksym_list *list, uint64_t address, char type, sxt_string name, sxt_error *error);

enum sxt_ksym_fit { SXT_KSYM_FITS, SXT_KSYM_EMPTY, SXT_KSYM_TOO_LONG, SXT_KSYM_NOT_UTF8 };

/* Can a record hold this name, so that any reader gives it back? */
enum sxt_ksym_fit sxt_ksym_name_fit(sxt_string name);

/* The size of NAME without the " [module]" at its end, where it has one. */
size_t sxt_ksym_bare_size(sxt_string name);

/*
 * Gives every name another form, on several threads: RENAME appends it to the buffer, or returns false to keep the
 * name; short of memory, it marks the buffer as failed. It sees names without their " [module]", which is put back. A
 * form that does not fit is not taken.
 */
int sxt_ksym_list_rename(struct sxt_ksym_list *list, bool (*rename)(sxt_string name, struct sxt_buffer *out),
                         sxt_error *error);

struct sxt_ksym_text_options {
    const char *types; /* letters of nm, or "all"; NULL: "Tt" */
    bool (*rename)(sxt_string name, struct sxt_buffer *out);
    /* Called at the end, at most once for each kind of line that was left out, with the first of them, and once for
     * names that other readers will cut, with LINE 0. */
    void (*warning)(void *data, uint64_t line, const char *text);
    void *warning_data;
};

/* How many lines of a kind there were, and which was the first, counted from 1. */
struct sxt_ksym_lines {
    uint64_t count;
    uint64_t first;
};

/* Every line is counted once, but for long names, which are kept. */
struct sxt_ksym_text_report {
    uint64_t lines;
    uint64_t blank;
    uint64_t kept;
    uint64_t other_types; /* not asked for */
    uint64_t undefined;   /* "U name": no address */
    uint64_t markers; /* mapping symbols of Arm and RISC-V ($x, $d, ...): they tell code from data and name nothing */
    struct sxt_ksym_lines malformed;
    struct sxt_ksym_lines nameless;
    struct sxt_ksym_lines not_utf8;
    struct sxt_ksym_lines too_long; /* for a record */
    uint64_t long_names;            /* longer than SXT_KSYM_NAME_SIZE_MOST, in the form in which they are kept */
};

/*
 * Adds the symbols of a text, as in /proc/kallsyms and as nm prints it: address (hexadecimal), type and name, with
 * white space between; white space in a name becomes one space. OPTIONS and REPORT may be NULL. It is an error when
 * nothing is left, and when all addresses are 0, as they are for those who may not see them.
 */
int sxt_ksym_read_text(struct sxt_ksym_list *list, const uint8_t *data, size_t size,
                       const struct sxt_ksym_text_options *options, struct sxt_ksym_text_report *report,
                       sxt_error *error);

/* Which prefixes become tokens: those that save the most, or those that the reference generator takes. */
enum sxt_ksym_tokens { SXT_KSYM_TOKENS_SAVING, SXT_KSYM_TOKENS_REFERENCE };

struct sxt_ksym_encode_options {
    sxt_ksym_layout layout;
    enum sxt_ksym_tokens tokens;
    bool share_records; /* symbols of the same name and type have one record; else each has its own, in order */
};

struct sxt_ksym_encode_report {
    size_t tokens;
    uint64_t plain_size; /* of the blob without tokens */
    uint64_t saved;      /* by them, all told; what they cost may be more under the reference's rule: then 0 */
    /* No choice of tokens makes the blob smaller than this; 0 under the reference's rule. Padding is not counted. */
    uint64_t size_bound;
    uint64_t long_names; /* symbols whose names are longer than SXT_KSYM_NAME_SIZE_MOST */
};

/*
 * Makes a blob; *DATA is the caller's, to free(). Symbols are stored by address, names are found by their bytes, and
 * equal ones keep the order of the list. The same list always gives the same bytes. OPTIONS and REPORT may be NULL.
 */
int sxt_ksym_encode(const struct sxt_ksym_list *list, const struct sxt_ksym_encode_options *options, uint8_t **data,
                    size_t *size, struct sxt_ksym_encode_report *report, sxt_error *error);

#endif
