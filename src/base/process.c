/* process.c: other processes. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

bool sxt_process_is_running(long pid)
{
    char path[64], text[512];
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return false;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = 0;
    const char *state = strrchr(text, ')'); /* the name before it may have blanks */
    return state == NULL || (strncmp(state, ") Z", 3) != 0 && strncmp(state, ") X", 3) != 0);
}
