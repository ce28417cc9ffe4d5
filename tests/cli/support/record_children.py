"""Programs that have children while they are recorded, or become another program; see record_programs.py."""

# With a word after the path it is the child.
VFORK = r"""
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;
extern char **environ;

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        sink = malloc(44);            /* executed */
        return 0;
    }
    sink = malloc(11);                /* before */
    for (int i = 0; i < 3; i++) {
        pid_t child = vfork();
        if (child == 0) {
            sink = malloc(22);        /* between */
            execl(argv[0], argv[0], "child", NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
        free(sink);
    }
    char *words[] = {argv[0], "child", NULL};
    pid_t child;
    if (posix_spawn(&child, argv[0], NULL, NULL, words, environ) != 0)
        return 1;
    waitpid(child, NULL, 0);
    sink = malloc(33);                /* after */
    return 0;
}
"""

FORKS_AMONG_THREADS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int is_over;

static void *work(void *argument)
{
    while (!is_over) {
        void *volatile block = malloc(64); /* meanwhile */
        free(block);
    }
    return argument;
}

int main(int argc, char **argv)
{
    int bad = 0;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < atoi(argv[argc - 1]); i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            for (int k = 1; k <= 5; k++) {
                void *volatile block = malloc((size_t)k); /* in the child */
                if (k != 3)
                    free(block);
            }
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        bad += status != 0;
    }
    is_over = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return bad;
}
"""

# A thread that is not there any more in the child holds the dynamic linker's lock.
FORKS_UNDER_A_LOCK = r"""
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int is_inside, is_over;

static int stay(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    is_inside = 1;
    while (!is_over)
        usleep(100);
    return 1;
}

static void *work(void *argument)
{
    dl_iterate_phdr(stay, NULL);
    return argument;
}

int main(void)
{
    pthread_t thread;
    int status = 0;
    pthread_create(&thread, NULL, work, NULL);
    while (!is_inside)
        usleep(100);
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        void *volatile block = malloc(21); /* in the child */
        free(block);
        _exit(0);
    }
    waitpid(child, &status, 0);
    is_over = 1;
    pthread_join(thread, NULL);
    return status != 0;
}
"""

# The handler comes at any time, also while the recorder writes; and the child goes on from there.
FORKS_IN_HANDLERS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 200

static volatile int is_child, forks, failed;

static void handler(int number)
{
    (void)number;
    int kept = errno;
    if (is_child || forks == FORKS)
        return;
    pid_t child = _Fork();
    is_child = child == 0;
    failed += child < 0;
    forks++;
    errno = kept;
}

int main(void)
{
    struct sigaction action;
    struct itimerval often = {{0, 200}, {0, 200}};
    int bad = 0, ended = 0, status;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (ended + failed < FORKS) {
        for (int i = 0; i < 20; i++) {
            void *volatile block = malloc(30); /* meanwhile */
            free(block);
        }
        if (is_child)
            _exit(0);
        for (; waitpid(-1, &status, WNOHANG) > 0; ended++)
            bad += status != 0;
    }
    return bad > 100 ? 100 : bad;
}
"""

FORKS_AND_EXECUTES = r"""
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile sink;

int main(int argc, char **argv)
{
    if (argc > 2) {
        sink = malloc(66);            /* executed */
        return 0;
    }
    for (int i = 0; i < atoi(argv[1]); i++) {
        pid_t child = fork();
        if (child == 0) {
            sink = malloc(55);        /* forked */
            execl(argv[0], argv[0], "1", "child", NULL);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
"""

LEAVES_NOTHING = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

static void *volatile sink;

int main(int argc, char **argv)
{
    sink = malloc(71);                /* before */
    if (argc > 2)
        return 4;
    char *words[] = {argv[0], "1", "2", NULL};
    if (argc == 1)
        unsetenv("LD_PRELOAD");
    else
        clearenv();
    execv(argv[0], words);
    return 1;
}
"""

# The C library calls functions of the program in the child before fork returns.
FORKS_WITH_FUNCTIONS = r"""
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char *volatile mapped[8];

static void in_child(void)
{
    for (size_t i = 0; i < 8; i++) {
        mapped[i] = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mapped[i][100] = 1;
    }
    void *volatile block = malloc(31); /* before fork returns */
    free(block);
}

int main(void)
{
    int status = 0;
    void *volatile block = malloc(30); /* in the parent */
    free(block);
    pthread_atfork(NULL, NULL, in_child);
    pid_t child = fork();
    if (child == 0) {
        block = malloc(32); /* after fork returns */
        for (int i = 0; i < 8; i++)
            if (mapped[i][100] != 1)
                _exit(1);
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}
"""

# Takes the name of the file that its child would record into.
TAKEN_NAME = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile sink;
int main(void)
{
    int ready[2];
    char path[64], byte = 0;
    if (pipe(ready) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0) {
        if (read(ready[0], &byte, 1) != 1)
            return 2;
        sink = malloc(10);
        return 0;
    }
    snprintf(path, sizeof path, "out.%d.mlyze.part", (int)child);
    int file = open(path, O_WRONLY | O_CREAT, 0600), status = 0;
    if (write(file, "mine\n", 5) != 5 || write(ready[1], "x", 1) != 1)
        return 3;
    return waitpid(child, &status, 0) != child || status != 0;
}
"""
