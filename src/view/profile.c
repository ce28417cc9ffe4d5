/* profile.c: pprof profiles. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "profile/call_tree.h"
#include "view/kind.h"

static int check(const char *path, sxt_error *error)
{
    struct sxt_call_tree tree;
    unsigned sides;
    const char *const paths[2] = {path, NULL}, *failed;
    memset(&tree, 0, sizeof tree);
    int status = sxt_page_read_calls(paths, &tree, &sides, &failed, error);
    if (status == SXT_OK && tree.type_count == 0)
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "not a profile: it has no values");
    sxt_call_tree_free(&tree);
    return status;
}

static bool has_name_of_profile(const char *path)
{
    static const char *const ends[] = {".pb", ".pb.gz", ".pprof", ".pprof.gz", ".prof"};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (size > strlen(ends[i]) && strcmp(path + size - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

/* It has no magic number, so everything else is looked for first. A name is enough to say what is wrong with it. */
static bool recognises(const char *path, sxt_kind kind)
{
    struct sxt_file file;
    sxt_error error;
    if (kind != SXT_KIND_UNKNOWN || has_name_of_profile(path))
        return kind == SXT_KIND_UNKNOWN;
    bool is_profile = sxt_file_open(&file, path, &error) == SXT_OK && sxt_profile_is(file.data, file.size);
    sxt_file_close(&file);
    return is_profile;
}

static int open_profile(struct sxt_view_item *item, sxt_error *error)
{
    return check(item->path, error);
}

static void close_profile(struct sxt_view_item *item)
{
    (void)item;
}

static int make(struct sxt_view_item *item, struct sxt_page *page, sxt_error *error)
{
    const char *const paths[2] = {item->path, NULL}, *failed;
    return sxt_page_read_profiles(page, paths, item->name, &failed, error);
}

static int compare(struct sxt_view_item *before, struct sxt_view_item *after, struct sxt_page *page, sxt_error *error)
{
    const char *const paths[2] = {before->path, after->path}, *failed;
    return sxt_page_read_profiles(page, paths, after->name, &failed, error);
}

const struct sxt_view_kind sxt_view_profile = {
    .name = "profile",
    .title = "Profile",
    .template = SXT_PAGE_PROFILE,
    .recognises = recognises,
    .open = open_profile,
    .close = close_profile,
    .make = make,
    .compare = compare,
};
