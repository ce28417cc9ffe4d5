/* version.c: what the library says about itself, and the way to free what it gave out. */
#include <stdlib.h>

#include <sextant/string.h>
#include <sextant/version.h>

const char *sxt_version(void)
{
    return SXT_VERSION;
}

unsigned sxt_version_number(void)
{
    return SXT_VERSION_NUMBER;
}

void sxt_free(void *data)
{
    free(data);
}
