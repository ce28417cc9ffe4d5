/*
 * announced.c: uploads of whole files that a client announced, and that are not finished.
 *
 *     t/TENANT/announced/ID/TIME           an upload was announced
 *     t/TENANT/announced/ID/TIME-failed    the upload that was announced before has failed
 *
 * The content is a FileID or nothing, a new line, and a name. The newest of them counts. Two clients that announce an
 * upload at the same moment through different servers may both be told to upload: the file is the same, so nothing is
 * wrong but the work.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

#define FAILED      "-failed"
#define CONTENT_MAX 512

static int prefix_of(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, const char *id, sxt_error *error)
{
    int status = sxt_catalog_tenant_prefix(out, tenant, error);
    if (status == SXT_OK && !sxt_catalog_id_is_valid(sxt_string_of(id)))
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not the id of a binary: '%s'", id);
    size_t size = strlen(out);
    if (status == SXT_OK)
        snprintf(out + size, SXT_CATALOG_KEY_ROOM - size, "announced/%s/", id);
    return status;
}

bool sxt_catalog_parse_announced(sxt_string text, int64_t *time, bool *is_failed)
{
    sxt_string end = {FAILED, sizeof FAILED - 1};
    uint64_t value;
    *is_failed = text.size > end.size && memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
    if (*is_failed)
        text.size -= end.size;
    if (text.size != 16 || !sxt_hex_parse(text, &value) || value > INT64_MAX)
        return false;
    *time = (int64_t)value;
    return true;
}

int sxt_catalog_announce(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         const struct sxt_catalog_announcement *what, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM], content[CONTENT_MAX] = "";
    int status = prefix_of(key, tenant, id->text, error);
    size_t size = strlen(key);
    if (status != SXT_OK)
        return status;
    snprintf(key + size, sizeof key - size, "%016" PRIx64 "%s", (uint64_t)sxt_catalog_new_time(catalog, 0),
             what == NULL ? FAILED : "");
    if (what != NULL)
        snprintf(content, sizeof content, "%s\n%s", what->file_id.text, what->name);
    return sxt_store_put(catalog->store, key, content, strlen(content), error);
}

struct newest {
    size_t prefix;
    int64_t time; /* -1: none */
    bool is_failed;
};

static int visit_newest(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct newest *newest = data;
    int64_t time;
    bool is_failed;
    if (sxt_catalog_parse_announced(sxt_string_of(key + newest->prefix), &time, &is_failed) && time > newest->time) {
        newest->time = time;
        newest->is_failed = is_failed;
    }
    return SXT_OK;
}

int sxt_catalog_find_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                               uint64_t seconds, enum sxt_catalog_announced *out, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    *out = SXT_ANNOUNCED_NOT;
    int status = prefix_of(key, tenant, id->text, error);
    struct newest newest = {.prefix = strlen(key), .time = -1};
    if (status == SXT_OK)
        status = sxt_store_list(catalog->store, key, visit_newest, &newest, error);
    if (status != SXT_OK || newest.time < 0)
        return status;
    bool is_recent = sxt_catalog_now() - newest.time < (int64_t)(seconds * 1000000);
    *out = newest.is_failed ? SXT_ANNOUNCED_FAILED : is_recent ? SXT_ANNOUNCED : SXT_ANNOUNCED_LONG_AGO;
    return SXT_OK;
}

static void parse_content(sxt_string text, struct sxt_catalog_announcement *out)
{
    const char *end = text.size > 0 ? memchr(text.data, '\n', text.size) : NULL;
    size_t size = end != NULL ? (size_t)(end - text.data) : text.size, rest = text.size - size;
    if (size > 0 && *text.data == 'f' && sxt_catalog_id_is_valid((sxt_string){text.data, size}))
        memcpy(out->file_id.text, text.data, size);
    if (rest > 1 && rest <= sizeof out->name)
        memcpy(out->name, end + 1, rest - 1);
}

int sxt_catalog_read_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                               struct sxt_catalog_announcement *out, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM], *text = NULL;
    size_t size = 0;
    *out = (struct sxt_catalog_announcement){.name = ""};
    int status = prefix_of(key, tenant, id->text, error);
    struct newest newest = {.prefix = strlen(key), .time = -1};
    if (status == SXT_OK)
        status = sxt_store_list(catalog->store, key, visit_newest, &newest, error);
    if (status != SXT_OK || newest.time < 0 || newest.is_failed)
        return status;
    snprintf(key + newest.prefix, sizeof key - newest.prefix, "%016" PRIx64, (uint64_t)newest.time);
    status = sxt_store_get(catalog->store, key, CONTENT_MAX, &text, &size, error);
    if (status == SXT_OK)
        parse_content((sxt_string){text, size}, out);
    free(text);
    return status;
}

int sxt_catalog_join_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                               const struct sxt_catalog_announcement *what, sxt_error *error)
{
    return sxt_catalog_join(catalog, tenant, &what->file_id, id, NULL, error);
}

int sxt_catalog_forget_announced(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                                 sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    int status = prefix_of(key, tenant, id->text, error);
    return status == SXT_OK ? sxt_catalog_remove_below(catalog, key, error) : status;
}
