/* mhd.h: libmicrohttpd, which is loaded when a server starts, and never linked: other verbs start without it. */
#ifndef SXT_BASE_MHD_H
#define SXT_BASE_MHD_H

#include <microhttpd.h>

#include <sextant/error.h>

struct sxt_mhd {
    void *library;
    struct MHD_Daemon *(*start)(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept, void *accept_data,
                                MHD_AccessHandlerCallback handler, void *handler_data, ...);
    void (*stop)(struct MHD_Daemon *daemon);
    enum MHD_Result (*add_connection)(struct MHD_Daemon *daemon, int client, const struct sockaddr *address,
                                      socklen_t size);
    const union MHD_ConnectionInfo *(*connection_info)(struct MHD_Connection *connection,
                                                       enum MHD_ConnectionInfoType what, ...);
    int (*connection_values)(struct MHD_Connection *connection, enum MHD_ValueKind kind, MHD_KeyValueIteratorN iterator,
                             void *data);
    void (*suspend)(struct MHD_Connection *connection);
    void (*resume)(struct MHD_Connection *connection);
    enum MHD_Result (*queue)(struct MHD_Connection *connection, unsigned status, struct MHD_Response *response);
    struct MHD_Response *(*response_static)(size_t size, void *data, enum MHD_ResponseMemoryMode mode);
    struct MHD_Response *(*response_callback)(uint64_t size, size_t block, MHD_ContentReaderCallback reader, void *data,
                                              MHD_ContentReaderFreeCallback end);
    struct MHD_Response *(*response_descriptor)(uint64_t size, int descriptor, uint64_t offset);
    enum MHD_Result (*add_header)(struct MHD_Response *response, const char *name, const char *value);
    void (*release)(struct MHD_Response *response);
    enum MHD_Result (*has_feature)(enum MHD_FEATURE feature);
    const char *(*reason)(unsigned status);
    ssize_t (*tls_send)(void *session, const void *data, size_t size); /* of GnuTLS; NULL without TLS */
};

/* SXT_ERROR_UNSUPPORTED if the library is not there, or too old. */
int sxt_mhd_load(struct sxt_mhd *mhd, sxt_error *error);

#endif
