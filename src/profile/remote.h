/*
 * remote.h: a symbol service, which is asked for addresses that no local file has.
 *
 *   POST URL/api/symbolize   {"file_id":"<FileID or build ID>","addresses":["0x1234",…]}, and "kind":"file_offset" if
 *                            the addresses are offsets in the file
 *   200                      {"frames":[[{"function":"f","file":"a.c","line":3},…],…]}
 *
 * A chain is innermost first, and empty for an address that the service does not know; 404 means that it does not know
 * the file. One thread at a time.
 */
#ifndef SXT_PROFILE_REMOTE_H
#define SXT_PROFILE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>

struct sxt_remote;

/*
 * API_KEY is "id:key", or its base64 form; NULL when the service needs none. CA_FILE has the authorities for https, in
 * PEM; NULL: those of the system.
 */
int sxt_remote_open(const char *url, const char *api_key, const char *ca_file, struct sxt_remote **out,
                    sxt_error *error);
void sxt_remote_close(struct sxt_remote **remote);

/* What is known of the address with that INDEX; the frames live during the call. */
typedef int sxt_remote_answer(void *data, size_t index, const sxt_frame *frames, size_t count);

struct sxt_remote_question {
    sxt_string id; /* of the file */
    const uint64_t *addresses;
    size_t count;
    bool are_offsets; /* the addresses are offsets in the file */
};

/*
 * Asks for addresses of a file. ANSWER is called for all of them, in order, unless the service does
 * not know the file: then *IS_KNOWN is false. Fails when the service does, or when ANSWER does.
 */
int sxt_remote_ask(struct sxt_remote *remote, const struct sxt_remote_question *question, sxt_remote_answer *answer,
                   void *data, bool *is_known, sxt_error *error);

#endif
