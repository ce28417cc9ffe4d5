/* http_curl.c: loads libcurl. */
#include "base/http_curl.h"

#include <dlfcn.h>
#include <string.h>

bool sxt_curl_load(struct sxt_curl *curl)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names && curl->library == NULL; i++)
        curl->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (curl->library == NULL)
        return false;
    /* A function pointer cannot be cast from void * in ISO C; POSIX wants it stored this way. */
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"curl_global_init", &curl->global_init},           {"curl_easy_init", &curl->easy_init},
        {"curl_easy_cleanup", &curl->easy_cleanup},         {"curl_easy_reset", &curl->easy_reset},
        {"curl_easy_setopt", &curl->easy_setopt},           {"curl_easy_getinfo", &curl->easy_getinfo},
        {"curl_easy_strerror", &curl->easy_strerror},       {"curl_multi_init", &curl->multi_init},
        {"curl_multi_cleanup", &curl->multi_cleanup},       {"curl_multi_setopt", &curl->multi_setopt},
        {"curl_multi_add_handle", &curl->multi_add_handle}, {"curl_multi_remove_handle", &curl->multi_remove_handle},
        {"curl_multi_perform", &curl->multi_perform},       {"curl_multi_poll", &curl->multi_poll},
        {"curl_multi_info_read", &curl->multi_info_read},   {"curl_slist_append", &curl->slist_append},
        {"curl_slist_free_all", &curl->slist_free_all},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(curl->library, wanted[i].name);
        if (found == NULL)
            return false;
        memcpy(wanted[i].place, &found, sizeof found);
    }
    /* Counted by libcurl, and safe from any thread since 7.84; the headers are newer than that. */
    return curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}
