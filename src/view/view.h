/*
 * view.h: pages of files on this machine, for a browser.
 *
 * The server listens on a loopback address only. Every path begins with a random token, and no request can name a file:
 * what is shown are the files that it was started with, by number.
 *
 *     /TOKEN/                                  the page of the only file, or a list of the files
 *     /TOKEN/?load_url=FILE&before_url=FILE    the page of a file, or what changed; FILE as given at the start
 *     /TOKEN/N/  /TOKEN/N-M/                   the page of item M, or what changed from item N to item M
 *     /TOKEN/N/data/NAME?query                 its data: see kind.h
 */
#ifndef SXT_VIEW_VIEW_H
#define SXT_VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

struct sxt_view_options {
    const char *const *paths;
    size_t path_count;
    const char *listen; /* "127.0.0.1:0", "[::1]:8000", "localhost:0"; NULL: the first */
    bool no_browser;
    bool with_sources; /* heap traces: lines of source code beside the sites */
    bool no_map_search;
    uint64_t row_most;      /* symbols in the page of a size file; 0: the default */
    uint64_t inflate_limit; /* the most that a compressed file may expand to; 0: the default */
    unsigned threads;
    void (*warn)(const char *path, const char *text); /* may be called from any thread */
};

/*
 * Opens the files, prints one line with the URL on standard output, and serves until SIGINT or SIGTERM, which it blocks
 * in the calling thread. *FAILED is the path that could not be opened, or NULL. SXT_ERROR_USAGE for an address that is
 * malformed or not of this machine alone.
 */
int sxt_view_run(const struct sxt_view_options *options, const char **failed, sxt_error *error);

#endif
