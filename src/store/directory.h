/* directory.h: what the files of the directory backend share. */
#ifndef SXT_STORE_DIRECTORY_H
#define SXT_STORE_DIRECTORY_H

#include "store/backend.h"

#define SXT_DIRECTORY_KNOWN 4096

struct sxt_directory {
    struct sxt_store store;
    int root;
    char *path;
    /* Hashes of folders whose entry in their parent is on disk: commit does not sync the parent again. */
    _Atomic uint64_t known[SXT_DIRECTORY_KNOWN];
};

/*
 * Opens PATH, which is relative to ROOT, without following any symbolic link. Returns -1 with errno; a link is ELOOP.
 * PATH may end with '/'; "" is ROOT.
 */
int sxt_directory_open_below(int root, const char *path, int flags);

int sxt_directory_list(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                       sxt_error *error);

#endif
