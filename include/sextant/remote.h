/*
 * sextant/remote.h: ask a symbol service, such as `sextant serve`, which functions, files and lines addresses belong
 * to.
 *
 *     POST URL/api/symbolize   {"file_id":"<FileID or build ID>","addresses":["0x1234",…]}
 *     200                      {"frames":[[{"function":"f","file":"a.c","line":3},…],…]}
 *
 *     sxt_remote_options options;
 *     sxt_remote *remote;
 *     sxt_remote_options_init(&options);
 *     options.url = "https://symbols.example";
 *     if (sxt_remote_open(&options, &remote, &error) == SXT_OK) {
 *         sxt_remote_question question;
 *         bool is_known;
 *         sxt_remote_question_init(&question);
 *         question.build_id = ...;
 *         question.addresses = addresses;
 *         question.count = count;
 *         if (sxt_remote_ask(remote, &question, print, NULL, &is_known, &error) != SXT_OK || !is_known)
 *             fprintf(stderr, "%s\n", error.text);
 *         sxt_remote_close(&remote);
 *     }
 *
 * libcurl is loaded when the first sxt_remote is opened. Only one thread at a time may use an sxt_remote.
 */
#ifndef SEXTANT_REMOTE_H
#define SEXTANT_REMOTE_H

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

typedef struct sxt_remote sxt_remote;

typedef struct sxt_remote_options {
    size_t struct_size;  /* set by sxt_remote_options_init */
    const char *url;     /* of the service: http://… or https://… */
    const char *api_key; /* "id:key", or that as base64; NULL: none */
    const char *ca_file; /* for https: the authorities to trust, in PEM; NULL: those of the system */
    uintptr_t reserved[4];
} sxt_remote_options;

SXT_API void sxt_remote_options_init(sxt_remote_options *options);

/*
 * Nothing is sent yet, and the strings of OPTIONS are copied. SXT_ERROR_USAGE for an unusable url or api_key,
 * SXT_ERROR_UNSUPPORTED if this machine has no libcurl. On failure *OUT is NULL.
 */
SXT_API int sxt_remote_open(const sxt_remote_options *options, sxt_remote **out, sxt_error *error);
SXT_API void sxt_remote_close(sxt_remote **remote);

typedef struct sxt_remote_question {
    size_t struct_size;  /* set by sxt_remote_question_init */
    sxt_string file_id;  /* in hexadecimal or base64url; a build ID is accepted too. May be absent. */
    sxt_string build_id; /* in hexadecimal; may be absent if file_id is not */
    const uint64_t *addresses;
    size_t count;
    bool are_offsets; /* the addresses are offsets in the file */
    bool are_returns; /* they are return addresses, and looked up one byte before */
    uintptr_t reserved[4];
} sxt_remote_question;

SXT_API void sxt_remote_question_init(sxt_remote_question *question);

/*
 * What is known of the address with that INDEX: COUNT frames, innermost first, 0 if nothing is known. They live during
 * the call; their start is the address. Returns SXT_OK, or a status that ends the question.
 */
typedef int sxt_remote_answer(void *data, size_t index, const sxt_frame *frames, size_t count);

/*
 * Asks for addresses of a file, some thousand in a request. ANSWER is called for all of them, in order, unless the
 * service does not know the file: then *IS_KNOWN is false, SXT_OK is returned, and *ERROR says what the service
 * replied. A service that is busy (429, 502, 503, 504) is asked again a few times. Fails with the Code, the uuid and
 * the Text of the service when it refuses, SXT_REASON_NOT_AUTHORIZED because of the key.
 */
SXT_API int sxt_remote_ask(sxt_remote *remote, const sxt_remote_question *question, sxt_remote_answer *answer,
                           void *data, bool *is_known, sxt_error *error);

#ifdef __cplusplus
}
#endif

#endif
