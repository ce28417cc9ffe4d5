/* browser.c: starts the user's browser. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/wait.h>

#include "view/server.h"

static bool has_display(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x11 != NULL && *x11 != 0) || (wayland != NULL && *wayland != 0);
}

/* The command runs in a session of its own, so that Ctrl-C ends the server and not the browser. */
static void become_browser(const char *url)
{
    const char *chosen = getenv("BROWSER");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3 && nothing >= 0; i++)
        dup2(nothing, i);
    if (chosen != NULL && *chosen != 0)
        execlp(chosen, chosen, url, (char *)NULL);
    execlp("xdg-open", "xdg-open", url, (char *)NULL);
    _exit(127);
}

/* Two forks, so that nobody has to wait for the browser. */
void sxt_view_browse(const char *url)
{
    if (!has_display())
        return;
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            become_browser(url);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}
