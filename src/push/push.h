/*
 * push.h: sends the symbols of binaries to a symbol service, as parts of symbfiles.
 *
 *     binary ──▶ ranges and return pads ──▶ parts in temporary files ──▶ which are missing? ──▶ sent in parallel
 *
 * Any server of the symbfile specification will do. A server of sextant is asked first which parts it has, so that
 * nothing is sent twice. Parts are sent again after 408, 425, 429, 5xx and lost connections: a server takes a part as
 * often as it comes. Redirects are not followed, so a key goes to no other host.
 */
#ifndef SXT_PUSH_PUSH_H
#define SXT_PUSH_PUSH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbfile.h>
#include <sextant/symbols.h>

#include "base/output.h"
#include "base/sha256.h"

/* --- a binary, as parts --- */

enum sxt_push_kind { SXT_PUSH_RANGES, SXT_PUSH_PADS, SXT_PUSH_KINDS };

/* "ranges", "return pads": for messages. */
const char *sxt_push_kind_name(enum sxt_push_kind kind);

struct sxt_push_part {
    uint64_t offset, size; /* in the file of the set */
    bool is_there;         /* the server has it */
};

/* The parts of one kind; each is a symbfile. */
struct sxt_push_set {
    struct sxt_push_part *parts;
    size_t count, capacity;
    uint64_t size;          /* of all parts */
    struct sxt_output file; /* has no name */
    bool has_file;
    struct sxt_sha256 hash; /* of the sizes and contents of all parts */
    char generation[65];    /* its value; "" until it is known */
    /* What became of it. */
    _Atomic uint64_t sent, sent_bytes; /* parts, and bytes of their bodies */
    size_t there;                      /* parts that were there before */
};

struct sxt_push_binary {
    char file_id[33];   /* lower-case hexadecimal; "" until it is known */
    char build_id[130]; /* the same; "" if there is none */
    struct sxt_push_set sets[SXT_PUSH_KINDS];
    uint64_t functions, with_lines, inlines, lines, pads;
    bool is_go;
    bool calls_are_unknown; /* the machine's calls are not known, so there are no return pads */
    uint64_t part_size;     /* given: begin another part at this size */
    bool is_file_id_forced; /* given: FILE_ID is the identity, whatever the files say */
};

/*
 * Adds the symbols of the ELF file at PATH. The FileID and the build ID are those of that file. It can be called from
 * any thread, for different binaries.
 */
int sxt_push_add_elf(struct sxt_push_binary *binary, const char *path, const sxt_extract_options *extract,
                     const sxt_symbfile_options *options, sxt_error *error);

/* Adds a symbfile that was made before: its ranges and its return pads. */
int sxt_push_add_symbfile(struct sxt_push_binary *binary, const char *path, sxt_error *error);

/* The identity in a symbfile; both are "" if the file does not have it. */
int sxt_push_identify_symbfile(const char *path, char file_id[33], char build_id[130], sxt_error *error);

/* Computes the hashes of the sets. To be called after the last symbols were added. */
void sxt_push_binary_finish(struct sxt_push_binary *binary);
void sxt_push_binary_free(struct sxt_push_binary *binary);

/* FileID: 32 hexadecimal digits or base64url. Writes it as hexadecimal. */
bool sxt_push_parse_file_id(const char *text, char out[33]);

/* --- a server --- */

/* What a server answers to a request that it refuses. */
struct sxt_push_refusal {
    long status;   /* of HTTP; 0: there was no answer */
    char code[24]; /* "" if the reply has none */
    char uuid[72];
    bool is_final; /* other requests will fail too: a wrong key, no such server */
};

struct sxt_push_options {
    const char *url;
    const char *api_key;     /* "id:key", or its base64 form; NULL: none */
    const char *ca_file;     /* NULL: the authorities of the system */
    const char *compression; /* "zstd", "gzip", "none"; NULL: zstd, or what the server takes */
    unsigned parallel;       /* requests at once for one binary */
    unsigned retries;
    bool force; /* send everything, whatever is there */
    const _Atomic bool *stop;
    /* Called before a request is sent again after SECONDS; from any thread. */
    void (*waiting)(void *data, const char *file, const sxt_error *problem, double seconds);
    void (*advanced)(void *data, uint64_t bytes); /* so many bytes of parts are on the server; from any thread */
    void *data;
};

struct sxt_push;

/* SXT_ERROR_USAGE if the URL or the key is not one. */
int sxt_push_open(const struct sxt_push_options *options, struct sxt_push **out, sxt_error *error);
void sxt_push_close(struct sxt_push **push);

struct sxt_push_outcome {
    bool is_skipped;  /* nothing was sent */
    char reason[160]; /* why, as the server says it */
    struct sxt_push_refusal refusal;
};

/* Sends what the server does not have. FILE is named in messages. May be called from any thread. */
int sxt_push_send(struct sxt_push *push, const char *file, struct sxt_push_binary *binary,
                  struct sxt_push_outcome *outcome, sxt_error *error);

#endif
