/* version.c: what the library says about itself, and the way to free what it gave out. */
#include <stdlib.h>

#include <sextant/sextant.h>

const char *sxt_version(void)
{
    return SXT_VERSION;
}

void sxt_free(void *data)
{
    free(data);
}
