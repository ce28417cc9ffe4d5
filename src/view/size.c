/* size.c: size files, diffs of sizes, and binaries, which are measured when they are first looked at. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "view/size.h"

#define ROWS_MOST ((size_t)1000000) /* that a page filters without delay */

/* What was loaded. */
struct sizes {
    sxt_size_info *info; /* NULL for a diff, and for a binary that was not measured yet */
    sxt_size_diff *diff;
    bool is_binary;
};

static bool recognises(const char *path, sxt_kind kind)
{
    (void)path;
    return kind == SXT_KIND_SIZE || kind == SXT_KIND_SIZEDIFF || kind == SXT_KIND_ELF || kind == SXT_KIND_UNKNOWN;
}

static void warn(void *item, const sxt_error *problem)
{
    sxt_view_warn(item, "%s", problem->text);
}

static int load(struct sxt_view_item *item, sxt_error *error)
{
    struct sizes *sizes = item->state;
    sxt_extract_options extract;
    sxt_size_make_options make;
    sxt_size_load_options options;
    sxt_extract_options_init(&extract);
    sxt_size_make_options_init(&make);
    sxt_size_load_options_init(&options);
    extract.warning = warn;
    extract.warning_data = item;
    extract.threads = item->options->threads;
    make.extract = &extract;
    make.no_map_search = item->options->no_map_search;
    options.make = &make;
    options.inflate_limit = item->options->inflate_limit;
    return sxt_size_load(item->path, &options, &sizes->info, &sizes->diff, error);
}

static int open_sizes(struct sxt_view_item *item, sxt_error *error)
{
    sxt_kind kind;
    struct sizes *sizes = calloc(1, sizeof *sizes);
    if (sizes == NULL)
        return sxt_fail_memory(error, sizeof *sizes);
    item->state = sizes;
    int status = sxt_identify_path(item->path, &kind, error);
    sizes->is_binary = kind == SXT_KIND_ELF;
    return status == SXT_OK && !sizes->is_binary ? load(item, error) : status;
}

static void close_sizes(struct sxt_view_item *item)
{
    struct sizes *sizes = item->state;
    if (sizes == NULL)
        return;
    sxt_size_info_free(&sizes->info);
    sxt_size_diff_free(&sizes->diff);
    free(sizes);
    item->state = NULL;
}

/* Measures a binary that was not measured yet. */
static int ensure(struct sxt_view_item *item, sxt_error *error)
{
    struct sizes *sizes = item->state;
    return sizes->info == NULL && sizes->diff == NULL ? load(item, error) : SXT_OK;
}

/* The functions that were inlined in a binary with DWARF; NULL for any other file. */
static sxt_inlined_list *read_inlined(const struct sxt_view_item *item)
{
    const struct sizes *sizes = item->state;
    sxt_inlined_list *list;
    sxt_extract_options extract;
    sxt_error error;
    sxt_extract_options_init(&extract);
    extract.threads = item->options->threads;
    if (!sizes->is_binary || sxt_inlined_list_read(item->path, &extract, &list, &error) != SXT_OK)
        return NULL;
    if (sxt_inlined_list_count(list) == 0)
        sxt_inlined_list_free(&list);
    return list;
}

static int make(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error)
{
    int status = ensure(item, error);
    if (status != SXT_OK)
        return status;
    const struct sizes *loaded = item->state;
    sxt_inlined_list *inlined = read_inlined(item);
    const struct sxt_page_sizes sizes = {
        .info = loaded->info,
        .diff = loaded->diff,
        .inlined = inlined,
        .name = item->name,
        .row_most = item->options->row_most > 0 ? (size_t)item->options->row_most : ROWS_MOST,
    };
    status = sxt_page_make_size(page, &sizes, error);
    sxt_inlined_list_free(&inlined);
    return status;
}

static int compare(struct sxt_view_item *before, struct sxt_view_item *after, struct sxt_page *page, sxt_error *error)
{
    int status = ensure(before, error);
    if (status == SXT_OK)
        status = ensure(after, error);
    if (status != SXT_OK)
        return status;
    const struct sizes *sides[2] = {before->state, after->state};
    sxt_size_diff *diff = NULL;
    if (sides[0]->diff != NULL || sides[1]->diff != NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a diff cannot be a side of another diff");
    status = sxt_size_diff_make(sides[0]->info, sides[1]->info, NULL, &diff, error);
    /* Two builds of a program often have the same name, in different folders. */
    bool is_ambiguous = strcmp(before->name, after->name) == 0;
    const struct sxt_page_sizes sizes = {
        .diff = diff,
        .name = is_ambiguous ? after->path : after->name,
        .before_name = is_ambiguous ? before->path : before->name,
    };
    if (status == SXT_OK)
        status = sxt_page_make_size(page, &sizes, error);
    sxt_size_diff_free(&diff);
    return status;
}

static int answer(struct sxt_view_item *item, const char *name, const struct sxt_view_query *query,
                  struct sxt_view_reply *reply, sxt_error *error)
{
    const struct sizes *sizes = item->state;
    if (strcmp(name, "search") == 0 && sizes->info != NULL)
        return sxt_view_size_search(sizes->info, query, reply, error);
    reply->status = 404;
    return SXT_OK;
}

const struct sxt_view_kind sxt_view_size = {
    .name = "sizes",
    .title = "Sizes",
    .template = SXT_PAGE_SIZE,
    .recognises = recognises,
    .open = open_sizes,
    .close = close_sizes,
    .make = make,
    .compare = compare,
    .answer = answer,
};
