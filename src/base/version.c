/* version.c: the version of the library, and the function that frees its results. */
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
