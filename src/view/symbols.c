/* symbols.c: the functions of a binary or an archive. */
#include "view/kind.h"

static bool recognises(const char *path, sxt_kind kind)
{
    (void)path;
    (void)kind;
    return false;
}

const struct sxt_view_kind sxt_view_symbols = {
    .name = "symbols",
    .title = "Functions",
    .template = SXT_PAGE_SIZE,
    .recognises = recognises,
};
