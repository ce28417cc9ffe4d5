/* unnamed.c: temporary files without a name. */
#include "base/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"

/* Not every file system can make files that never had a name. */
static int open_and_unlink(const char *folder)
{
    char *name = NULL;
    if (asprintf(&name, "%s/sextant-XXXXXX", folder) < 0)
        return -1;
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}

int sxt_unnamed_open(struct sxt_output *output, sxt_error *error)
{
    const char *given = getenv("TMPDIR");
    const char *folder = given != NULL && *given != 0 ? given : "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = open_and_unlink(folder);
    *output = (struct sxt_output){.fd = sxt_output_above_standard(fd)};
    return output->fd >= 0 ? SXT_OK : sxt_fail_errno(error, errno, "cannot create a temporary file in %s", folder);
}

int sxt_unnamed_read(struct sxt_output *output, struct sxt_file *file, sxt_error *error)
{
    int status = sxt_file_open_fd(file, output->fd, error);
    sxt_output_abandon(output);
    return status;
}
