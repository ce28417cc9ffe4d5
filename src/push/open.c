/* open.c: the server of a push: its URL, the key, the compression that was asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "push/private.h"

#define KEY_MAX 1024
#define URL_MAX 4096

static int make_base(struct sxt_push *push, const char *url, sxt_error *error)
{
    size_t size = strlen(url);
    size_t scheme = strncmp(url, "http://", 7) == 0 ? 7 : strncmp(url, "https://", 8) == 0 ? 8 : 0;
    if (scheme == 0 || size > URL_MAX || url[scheme] == 0 || url[scheme] == '/')
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "not the URL of a symbol service (http://… or https://…): '%.160s'", url);
    if (strpbrk(url, "?# \t\r\n") != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "the URL of a symbol service has no query and no fragment: '%.160s'", url);
    /* It would be in messages and in the list of processes. */
    const char *host = url + scheme, *at = strchr(host, '@');
    if (at != NULL && at < host + strcspn(host, "/"))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the URL of a symbol service has no user and password");
    while (size > scheme && url[size - 1] == '/')
        size--;
    push->base = strndup(url, size);
    return push->base != NULL ? SXT_OK : sxt_fail_memory(error, size);
}

static int make_authorization(struct sxt_push *push, const char *key, sxt_error *error)
{
    static const char name[] = "Authorization: APIKey ";
    size_t size = strlen(key);
    if (size == 0 || size > KEY_MAX || strpbrk(key, "\r\n") != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not an API key (id:key, or its base64 form)");
    push->authorization = malloc(sizeof name + SXT_BASE64_ROOM(size));
    if (push->authorization == NULL)
        return sxt_fail_memory(error, size);
    memcpy(push->authorization, name, sizeof name);
    char *value = push->authorization + sizeof name - 1;
    if (strchr(key, ':') != NULL)
        sxt_base64_encode(value, (const uint8_t *)key, size);
    else
        memcpy(value, key, size + 1);
    return SXT_OK;
}

static int choose_encoding(struct sxt_push *push, const char *name, sxt_error *error)
{
    static const char *const names[] = {"zstd", "gzip", "none"};
    for (int i = 0; name != NULL && i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            push->encoding = i;
            return SXT_OK;
        }
    if (name != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "not a compression: '%s'; zstd, gzip and none are",
                        name);
    push->encoding = SXT_PUSH_ZSTD;
    return SXT_OK;
}

int sxt_push_open(const struct sxt_push_options *options, struct sxt_push **out, sxt_error *error)
{
    struct sxt_push *push = *out = calloc(1, sizeof *push);
    if (push == NULL)
        return sxt_fail_memory(error, sizeof *push);
    push->options = *options;
    push->can_ask = true;
    int status = make_base(push, options->url, error);
    if (status == SXT_OK && options->api_key != NULL)
        status = make_authorization(push, options->api_key, error);
    if (status == SXT_OK)
        status = choose_encoding(push, options->compression, error);
    if (status == SXT_OK)
        status = sxt_http_pool_open(&push->pool, error);
    if (status != SXT_OK)
        sxt_push_close(out);
    return status;
}

void sxt_push_close(struct sxt_push **push)
{
    struct sxt_push *all = *push;
    if (all == NULL)
        return;
    sxt_http_pool_close(&all->pool);
    free(all->authorization);
    free(all->base);
    free(all);
    *push = NULL;
}
