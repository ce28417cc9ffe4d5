/*
 * kind.h: the kinds of pages. Private to this room.
 *
 * A file that was opened is an item of one kind, or of several: a binary has a page of its functions and one of its
 * sizes. Each kind is a line of the table in kinds.c.
 *
 * A page is a template, and data that it asks for:
 *
 *     data/page         the JSON object of the page; the first request makes the page, and may take long
 *     data/progress     {"done":n,"all":n}: how much of that is done; answered at any time
 *     data/NAME         a block of the page: raw deflate, see report/columns.h
 *     data/NAME?query   anything else: the kind answers
 *
 * Requests run on threads of their own. One function of an item runs at a time: its mutex is held.
 */
#ifndef SXT_VIEW_KIND_H
#define SXT_VIEW_KIND_H

#include <pthread.h>
#include <stdatomic.h>

#include <sextant/archive.h>

#include "report/report.h"
#include "view/view.h"

#define SXT_VIEW_PARAMETERS 16

/* What is after the '?', decoded. */
struct sxt_view_query {
    const char *names[SXT_VIEW_PARAMETERS], *values[SXT_VIEW_PARAMETERS];
    size_t count;
};

/* The value of a parameter, the first of that name; NULL if it was not given. */
const char *sxt_view_query_get(const struct sxt_view_query *query, const char *name);

/* A parameter that is a decimal number. False if it was not given, or is anything else. */
bool sxt_view_query_number(const struct sxt_view_query *query, const char *name, uint64_t *out);

/* The answer to a request for data. It is sent with status 200, or as text with another one. */
struct sxt_view_reply {
    unsigned status;        /* 200; 400 for a malformed query, 404 for a name that the kind does not have */
    const char *type;       /* "application/json"; by default bytes */
    struct sxt_buffer body; /* with another status than 200: what is wrong, one line */
};

struct sxt_view_item;

struct sxt_view_kind {
    const char *name;  /* in the list of files: "heap trace" */
    const char *title; /* of its page, where a file has several: "Sizes" */
    enum sxt_page_kind template;

    /* Whether it shows the file at PATH. KIND is what sxt_identify_path says of it. */
    bool (*recognises)(const char *path, sxt_kind kind);

    /* Opens item->path when the server starts, and keeps item->state. What takes long is done later, by make. */
    int (*open)(struct sxt_view_item *item, sxt_error *error);
    void (*close)(struct sxt_view_item *item); /* also after open has failed */

    /* Adds the JSON and the blocks of the page. It calls sxt_view_progress from time to time. */
    int (*make)(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error);

    /* The same for what changed between two items of this kind. NULL: they cannot be compared. */
    int (*compare)(struct sxt_view_item *before, struct sxt_view_item *after, struct sxt_page *page, sxt_error *error);

    /*
     * The page that a query of the URL asks for, in place of the whole one; NULL if it asks for none, and reply->status
     * if it cannot be shown. It is valid until the next call. May be NULL.
     */
    int (*choose)(struct sxt_view_item *item, const struct sxt_view_query *query, const struct sxt_page **page,
                  struct sxt_view_reply *reply, sxt_error *error);

    /* Answers data/NAME if the page has no block of that name. May be NULL. */
    int (*answer)(struct sxt_view_item *item, const char *name, const struct sxt_view_query *query,
                  struct sxt_view_reply *reply, sxt_error *error);
};

/* In the order of preference; ends with NULL. */
extern const struct sxt_view_kind *const sxt_view_kinds[];

struct sxt_view_item {
    const struct sxt_view_kind *kind;
    const struct sxt_view_options *options;
    const char *path;                     /* as given */
    const char *name;                     /* the title: the last part of the path */
    struct sxt_view_item *before, *after; /* of a comparison */
    size_t number, before_number;         /* in URLs; the second of a comparison */
    void *state;                          /* of the kind */
    pthread_mutex_t mutex;
    struct sxt_page page; /* after is_made */
    bool is_made;
    _Atomic uint64_t done, all; /* see sxt_view_progress */
};

/* The `progress` of an analysis; DATA is the item. */
void sxt_view_progress(void *item, uint64_t done, uint64_t all);

/* Says something about the file of an item on standard error. */
void sxt_view_warn(const struct sxt_view_item *item, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- the kinds, a file each --- */

extern const struct sxt_view_kind sxt_view_live_heap, sxt_view_heap, sxt_view_profile, sxt_view_symbols, sxt_view_size;

#endif
