/*
 * http_service.h: what all requests to a symbol service share: the URL, the key, and what a refusal says.
 *
 * A service refuses with {"success":false,"uuid":…,"error":{"Code":…,"Text":…},"status":…}. The uuid names the request
 * in its log.
 */
#ifndef SXT_BASE_HTTP_SERVICE_H
#define SXT_BASE_HTTP_SERVICE_H

#include <stddef.h>

#include <sextant/error.h>

/*
 * *OUT is the URL of PATH, "/api/symbolize", at the service whose URL is BASE; the caller frees it. SXT_ERROR_USAGE if
 * BASE is not the URL of a service.
 */
int sxt_http_service_url(const char *base, const char *path, char **out, sxt_error *error);

/*
 * *OUT is the header line "Authorization: APIKey …"; the caller frees it. KEY is "id:key", or its base64 form;
 * SXT_ERROR_USAGE if it is neither.
 */
int sxt_http_service_authorization(const char *key, char **out, sxt_error *error);

/*
 * Fails because URL answered with STATUS and the SIZE bytes of BODY: the error has the code, the uuid, the status and
 * the text of the service, as far as they are there. The reason is SXT_REASON_NOT_AUTHORIZED for 401 and 403.
 */
int sxt_http_service_refused(const char *url, long status, const void *body, size_t size, sxt_error *error);

#endif
