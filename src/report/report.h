/*
 * report.h: pages. A page is one HTML file that opens without a network: a template that was built from web/, and data.
 *
 *     <script type="application/json" id="page">{"kind":"size",...}</script>      what the page is about
 *     <script type="text/plain" id="block-symbols">base64</script>                tables: raw deflate, see columns.h
 *
 * Each maker (size_page.c, ...) fills a page and web/src/NAME/model.ts reads it; docs/pages.md describes their tables.
 * They come in one program, so the layout has no version.
 */
#ifndef SXT_REPORT_REPORT_H
#define SXT_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <sextant/size.h>
#include <sextant/trace.h>

#include "base/buffer.h"

enum sxt_page_kind {
    SXT_PAGE_SIZE,
    SXT_PAGE_PROFILE,
    SXT_PAGE_HEAP,
    SXT_PAGE_SYMBOLS,
    SXT_PAGE_SERVICE,
    SXT_PAGE_LIVE,
    SXT_PAGE_KINDS
};

/* Data that a server answers. */
struct sxt_page_block {
    char name[32];
    uint8_t *data;
    size_t size;
};

/* A page that is being made. Failures are sticky, as those of its buffer. */
struct sxt_page {
    struct sxt_buffer html;
    uint8_t *template;
    const uint8_t *rest; /* of the template, after the place of the data */
    size_t rest_size;
    bool is_served; /* the data is kept as blocks, for a server */
    struct sxt_page_block *blocks;
    size_t block_count, block_capacity;
};

/* Begins a page with its template. SXT_ERROR_UNSUPPORTED in a program that was built without pages. */
int sxt_page_begin(struct sxt_page *page, enum sxt_page_kind kind, sxt_error *error);

/* Begins the data of a page without a template: JSON becomes the block "page", and blocks are kept, compressed. */
void sxt_page_begin_data(struct sxt_page *page);

/*
 * Appends a template to HTML for a page that asks its server for data: it may connect to its own origin. SERVED is a
 * JSON object that says where the data is: web/src/common/data.ts reads it.
 */
int sxt_page_write_served(enum sxt_page_kind kind, const struct sxt_buffer *served, struct sxt_buffer *html,
                          sxt_error *error);

/* A block of a page that is served; NULL if it has none of that name. */
const struct sxt_page_block *sxt_page_find_block(const struct sxt_page *page, const char *name);

/* Adds the JSON object of the page. */
void sxt_page_add_json(struct sxt_page *page, const struct sxt_buffer *json);

/* Adds a block of bytes, which it compresses. */
int sxt_page_add_block(struct sxt_page *page, const char *name, const struct sxt_buffer *bytes, sxt_error *error);

/* Ends the page, whose HTML is then complete, or reports what failed. */
int sxt_page_end(struct sxt_page *page, sxt_error *error);
void sxt_page_free(struct sxt_page *page);

/* --- pages --- */

/* The sizes of a build, or a diff. */
struct sxt_page_sizes {
    const sxt_size_info *info;       /* NULL for a diff */
    const sxt_size_diff *diff;       /* NULL for the sizes of one build */
    const sxt_inlined_list *inlined; /* of the same binary; may be NULL */
    const char *name;                /* the title */
    const char *before_name;         /* what it is compared with; may be NULL */
    size_t row_most;                 /* of more symbols of a build, small ones are folded; 0: no limit */
};

int sxt_page_make_size(struct sxt_page *page, const struct sxt_page_sizes *sizes, sxt_error *error);

/* Fills a page from a tree of calls: a profile, or two that are compared; BEFORE_NAME is NULL for one. */
struct sxt_call_tree;
int sxt_page_make_profile(struct sxt_page *page, const struct sxt_call_tree *tree, const char *name,
                          const char *before_name, sxt_error *error);

/* Whether the content of a file is that of a profile. */
bool sxt_page_is_profile(const char *path);

/* The same for profiles in files; the second path is NULL for one. On failure *FAILED is the path that was not read. */
int sxt_page_read_profiles(struct sxt_page *page, const char *const paths[2], const char *name, const char **failed,
                           sxt_error *error);

/* Reads one profile, or two, into a tree, which the caller frees also after a failure. */
int sxt_page_read_calls(const char *const paths[2], struct sxt_call_tree *tree, unsigned *sides, const char **failed,
                        sxt_error *error);

/* --- the summary of a profile, or of two: what its functions take of what it shows first --- */

struct sxt_profile_summary;

struct sxt_profile_totals {
    sxt_string type, unit; /* "cpu" in "nanoseconds" */
    uint64_t samples[2];
    int64_t values[2];
    size_t functions;
};

/* Values of the first profile and of the second. */
struct sxt_profile_function {
    sxt_string function, file;
    int64_t self[2], total[2]; /* total: with what it calls; a recursive call is counted once */
    size_t number;             /* in the order of the profile */
};

/* Paths and *FAILED as for sxt_page_read_profiles. */
int sxt_profile_summary_read(const char *const paths[2], struct sxt_profile_summary **out, const char **failed,
                             sxt_error *error);
void sxt_profile_summary_free(struct sxt_profile_summary **summary);
void sxt_profile_summary_totals(const struct sxt_profile_summary *summary, struct sxt_profile_totals *out);

/* The function with the largest own value, or change, first; NULL after the last. */
const struct sxt_profile_function *sxt_profile_summary_get(const struct sxt_profile_summary *summary, size_t index);

/* A heap trace. */
struct sxt_page_heap {
    const sxt_trace *trace;
    const char *name;          /* the title */
    bool with_sources;         /* lines of source code around the frames, from files that are here */
    const uint64_t *addresses; /* whose history is in the page */
    size_t address_count;
    void (*progress)(void *data, uint64_t done, uint64_t all); /* as in sxt_heap_options */
    void *progress_data;
    size_t entry_most;           /* with few enough, memory is bounded: see heap_groups.h; 0: as many as a report has */
    struct sxt_heap_kept **kept; /* gets what pages of windows are made from, which is to be freed; may be NULL */
    sxt_heap_usage **usage;      /* gets the analysis, which is to be freed; may be NULL */
};

int sxt_page_make_heap(struct sxt_page *page, const struct sxt_page_heap *heap, sxt_error *error);

#define SXT_HEAP_FINE_EVENTS 2000000 /* that a window may have to be answered at once */

/* What is kept of a whole trace: its calls, groups of stacks, and states of the pass over its events. */
struct sxt_heap_kept;
void sxt_heap_kept_free(struct sxt_heap_kept **kept);

/* How many events and live blocks are read for the page of a window; times are absolute. */
uint64_t sxt_heap_kept_effort(const struct sxt_heap_kept *kept, uint64_t from, uint64_t until);

/* The page of a window, in bins of its own: its figures are those of `heap --from FROM --until UNTIL`. */
int sxt_page_make_heap_window(struct sxt_page *page, const struct sxt_page_heap *heap, struct sxt_heap_kept *kept,
                              uint64_t from, uint64_t until, sxt_error *error);

/* Two heap traces. */
struct sxt_page_heap_diff {
    const sxt_trace *before, *after;
    const char *name, *before_name;
};

int sxt_page_make_heap_diff(struct sxt_page *page, const struct sxt_page_heap_diff *traces, sxt_error *error);

#endif
