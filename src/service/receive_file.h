/* receive_file.h: receiving an ELF file in pieces, for all paths that take one. Private to this room. See files.c. */
#ifndef SXT_SERVICE_RECEIVE_FILE_H
#define SXT_SERVICE_RECEIVE_FILE_H

#include "service/request.h"

/* Begins to receive the file ID: what `begin` of a route calls. sxt_files_piece and sxt_files_finish do the rest. */
enum sxt_handled sxt_file_receive(struct sxt_request *request, const struct sxt_catalog_id *id);

/* The id that it is received under. */
const struct sxt_catalog_id *sxt_file_wanted(const struct sxt_request *request);

/* Adds the file when it is complete. NAME may be NULL. If it returns false, it was refused and the reply is made. */
bool sxt_file_add(struct sxt_request *request, const char *name, struct sxt_catalog_added *added);

void sxt_file_reply_added(struct sxt_request *request, const struct sxt_catalog_added *added, unsigned status);

#endif
