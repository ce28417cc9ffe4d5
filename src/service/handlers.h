/* handlers.h: what the table of routes refers to, by file. Private to this room. */
#ifndef SXT_SERVICE_HANDLERS_H
#define SXT_SERVICE_HANDLERS_H

#include "service/request.h"

/* health.c */
enum sxt_handled sxt_handle_healthy(struct sxt_request *request);
enum sxt_handled sxt_handle_ready(struct sxt_request *request);
enum sxt_handled sxt_handle_metrics(struct sxt_request *request);

/* upload.c: parts of symbfiles */
enum sxt_handled sxt_upload_begin_ranges(struct sxt_request *request);
enum sxt_handled sxt_upload_begin_pads(struct sxt_request *request);
int sxt_upload_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error);
enum sxt_handled sxt_upload_handle(struct sxt_request *request);
void sxt_upload_finish(struct sxt_request *request);

/* symbolize.c: addresses to functions, files and lines */
enum sxt_handled sxt_handle_symbolize(struct sxt_request *request);

#endif
