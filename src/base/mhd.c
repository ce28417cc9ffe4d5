/* mhd.c: finds the functions of libmicrohttpd. It stays loaded until the process ends. */
#include "base/mhd.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"

int sxt_mhd_load(struct sxt_mhd *mhd, sxt_error *error)
{
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"MHD_start_daemon", &mhd->start},
        {"MHD_stop_daemon", &mhd->stop},
        {"MHD_add_connection", &mhd->add_connection},
        {"MHD_get_connection_info", &mhd->connection_info},
        {"MHD_get_connection_values_n", &mhd->connection_values},
        {"MHD_suspend_connection", &mhd->suspend},
        {"MHD_resume_connection", &mhd->resume},
        {"MHD_queue_response", &mhd->queue},
        {"MHD_create_response_from_buffer", &mhd->response_static},
        {"MHD_create_response_from_callback", &mhd->response_callback},
        {"MHD_create_response_from_fd_at_offset64", &mhd->response_descriptor},
        {"MHD_add_response_header", &mhd->add_header},
        {"MHD_destroy_response", &mhd->release},
        {"MHD_is_feature_supported", &mhd->has_feature},
        {"MHD_get_reason_phrase_for", &mhd->reason},
    };
    mhd->library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (mhd->library == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "cannot load libmicrohttpd.so.12 (Debian: apt-get install libmicrohttpd12)");
    /* A function pointer cannot be cast from void * in ISO C; POSIX wants it stored this way. */
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(mhd->library, wanted[i].name);
        if (found == NULL)
            return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                            "libmicrohttpd.so.12 is too old: it has no %s; version 0.9.75 or newer is needed",
                            wanted[i].name);
        memcpy(wanted[i].place, &found, sizeof found);
    }
    void *tls_send = dlsym(mhd->library, "gnutls_record_send");
    memcpy(&mhd->tls_send, &tls_send, sizeof tls_send);
    return SXT_OK;
}
