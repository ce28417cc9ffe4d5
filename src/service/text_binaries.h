/*
 * text_binaries.h: the binaries that text mentions. Private to this room.
 *
 * A module of the text is found by its build ID, or by its name if only one binary has it. `?file=ID` chooses a binary
 * for addresses without a module, and for a module whose name several binaries have.
 */
#ifndef SXT_SERVICE_TEXT_BINARIES_H
#define SXT_SERVICE_TEXT_BINARIES_H

#include <sextant/archive.h>

#include "base/file.h"
#include "service/request.h"

#define SXT_TEXT_MODULES_MAX 64

struct sxt_text_module {
    sxt_string name, build_id; /* of the text, in the arena of the request */
    struct sxt_catalog_binary *binary;
    struct sxt_store_object *object; /* an archive that was fetched as a whole */
    struct sxt_file file;
    sxt_archive *archive;                                                 /* of the file */
    char file_id[SXT_CATALOG_ID_MAX], found_build_id[SXT_CATALOG_ID_MAX]; /* of the binary; "" if unknown */
    const char *problem;                                                  /* NULL: it was found */
};

struct sxt_text_binaries {
    struct sxt_request *request;
    struct sxt_text_module modules[SXT_TEXT_MODULES_MAX];
    size_t module_count, searches;
    int64_t until; /* seconds of the monotonic clock */
    bool is_late;
    struct sxt_catalog_id chosen_ids[2]; /* of ?file= */
    size_t chosen_count;
    char chosen_name[256];
    struct sxt_catalog_binary *chosen; /* NULL: none */
};

/* Everything is to be found in SECONDS. */
void sxt_text_binaries_init(struct sxt_text_binaries *binaries, struct sxt_request *request, int64_t seconds);
void sxt_text_binaries_close(struct sxt_text_binaries *binaries);

/* Is the time over? */
bool sxt_text_is_late(struct sxt_text_binaries *binaries);

/* A copy of TEXT that lives as long as the request, with a NUL. */
sxt_string sxt_text_keep(struct sxt_request *request, sxt_string text);

/* Finds the binary of ?file=, if there is one. If it returns false, *HANDLED is what the handler returns. */
bool sxt_text_choose(struct sxt_text_binaries *binaries, enum sxt_handled *handled);

/* The archive of a module, until the binaries are closed; NULL if it is not found. To be called once for each. */
const sxt_archive *sxt_text_find_binary(struct sxt_text_binaries *binaries, sxt_string name, sxt_string build_id);

#endif
