/* find.c: the binary that a request asks for, with the help of upstream servers. */
#include "service/find.h"

#include <string.h>

#include "service/server.h"
#include "service/upstream.h"

#define BASE64URL_SIZE 22 /* of a FileID */

/*
 * The build ID among IDS. What a client gives as a FileID or a debug id may be a build ID by its spelling; both are
 * looked for then, one after the other (sxt_catalog_parse_id), but others are not asked about what is only a guess.
 */
static const struct sxt_catalog_id *given_build_id(const struct sxt_catalog_id *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *digits = ids[i].text + 2, *before = i > 0 && ids[i - 1].text[0] != 'b' ? ids[i - 1].text : NULL;
        bool is_guess = before != NULL &&
                        (strcmp(digits, before + 2) == 0 || (before[0] == 'f' && strlen(digits) == BASE64URL_SIZE));
        if (ids[i].text[0] == 'b' && !is_guess)
            return &ids[i];
    }
    return NULL;
}

/* What can be asked of upstream servers about a binary of which BINARY, or nothing, is known. False if that is nothing.
 */
static bool find_lack(struct sxt_request *request, const struct sxt_catalog_id *ids, size_t count,
                      const struct sxt_catalog_binary *binary, struct sxt_catalog_lack *out)
{
    if (binary != NULL) {
        const struct sxt_catalog_lack *lack = sxt_catalog_lack_of(binary);
        if (lack != NULL)
            *out = *lack;
        return lack != NULL;
    }
    *out = (struct sxt_catalog_lack){.debuginfo = true, .executable = true};
    const struct sxt_catalog_id *given = given_build_id(ids, count);
    if (given != NULL) {
        out->build_id = *given;
        return true;
    }
    for (size_t i = 0; i < count; i++)
        if (ids[i].text[0] != 'b' && sxt_catalog_find_build_id(request->service->catalog, request->tenant, &ids[i],
                                                               &out->build_id, NULL) == SXT_OK)
            return true;
    return false;
}

/* Asks for all that is lacking at once. */
static enum sxt_upstream_answer ask_upstream(struct sxt_request *request, const struct sxt_catalog_id *ids,
                                             size_t count, const struct sxt_catalog_binary *binary)
{
    struct sxt_catalog_lack lack;
    enum sxt_upstream_answer debuginfo = SXT_UPSTREAM_NOTHING, executable = SXT_UPSTREAM_NOTHING;
    if (request->service->upstream == NULL || (binary != NULL && sxt_catalog_lack_of(binary) == NULL))
        return SXT_UPSTREAM_NOTHING;
    if (!request->may_wait && binary == NULL && given_build_id(ids, count) == NULL)
        return SXT_UPSTREAM_WAIT; /* the store knows whether a build ID belongs to it */
    if (!find_lack(request, ids, count, binary, &lack))
        return SXT_UPSTREAM_NOTHING;
    if (lack.debuginfo)
        debuginfo = sxt_upstream_ask(request, &lack.build_id, SXT_UPSTREAM_DEBUGINFO, NULL);
    if (lack.executable)
        executable = sxt_upstream_ask(request, &lack.build_id, SXT_UPSTREAM_EXECUTABLE, NULL);
    if (!lack.debuginfo)
        request->missing = NULL; /* the answers are complete but for the segments */
    return debuginfo > executable ? debuginfo : executable;
}

enum sxt_found sxt_request_find(struct sxt_request *request, const struct sxt_catalog_id *ids, size_t count,
                                struct sxt_catalog_binary **out, sxt_error *error)
{
    struct sxt_catalog *catalog = request->service->catalog;
    for (;;) {
        bool would_wait = false;
        request->missing = NULL;
        int status = sxt_catalog_find(catalog, request->tenant, ids, count, request->may_wait, &would_wait, out, error);
        if (status == SXT_OK && !would_wait && !request->may_wait && sxt_catalog_is_ranged(*out)) {
            sxt_catalog_release(catalog, out); /* its lookups may wait */
            would_wait = true;
        }
        if (would_wait)
            return SXT_FOUND_LATER;
        if (status != SXT_OK && status != SXT_ERROR_NOT_FOUND)
            return SXT_FOUND_ERROR;
        switch (ask_upstream(request, ids, count, *out)) {
        case SXT_UPSTREAM_NOTHING:
            return status == SXT_OK ? SXT_FOUND : SXT_FOUND_NOTHING;
        case SXT_UPSTREAM_WAIT:
            sxt_catalog_release(catalog, out);
            return SXT_FOUND_LATER;
        case SXT_UPSTREAM_AGAIN:
            sxt_catalog_release(catalog, out);
            break;
        }
    }
}
