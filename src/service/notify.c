/* notify.c: the protocol of sd_notify(3) is one datagram. */
#include "service/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void sxt_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = path != NULL ? strlen(path) : 0;
    if (size < 2 || size >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(address.sun_path, path, size);
    if (*path == '@') /* a name that is not in the file system */
        address.sun_path[0] = 0;
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return;
    ssize_t sent = sendto(descriptor, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    (void)sent;
    close(descriptor);
}
