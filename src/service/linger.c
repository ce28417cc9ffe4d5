/* linger.c: one thread that reads and drops. */
#include "service/linger.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/task.h"

#define MOST    128                   /* sockets */
#define SECONDS 5                     /* for each */
#define BYTES   ((uint64_t)256 << 20) /* of each */

struct sxt_linger {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool is_ending;
    unsigned count;
    struct pollfd sockets[MOST];
    struct {
        time_t end;
        uint64_t left;
    } limits[MOST];
};

static void *work(void *context);

static time_t now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int sxt_linger_start(struct sxt_linger **out, sxt_error *error)
{
    struct sxt_linger *linger = *out = calloc(1, sizeof *linger);
    if (linger == NULL)
        return sxt_fail_memory(error, sizeof *linger);
    pthread_mutex_init(&linger->lock, NULL);
    pthread_cond_init(&linger->wake, NULL);
    if (sxt_thread_start(&linger->thread, work, linger))
        return SXT_OK;
    free(linger);
    *out = NULL;
    return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "cannot start a thread");
}

void sxt_linger_stop(struct sxt_linger **pointer)
{
    struct sxt_linger *linger = *pointer;
    if (linger == NULL)
        return;
    pthread_mutex_lock(&linger->lock);
    linger->is_ending = true;
    pthread_cond_signal(&linger->wake);
    pthread_mutex_unlock(&linger->lock);
    pthread_join(linger->thread, NULL);
    for (unsigned i = 0; i < linger->count; i++)
        close(linger->sockets[i].fd);
    pthread_cond_destroy(&linger->wake);
    pthread_mutex_destroy(&linger->lock);
    free(linger);
    *pointer = NULL;
}

void sxt_linger_add(struct sxt_linger *linger, int descriptor)
{
    pthread_mutex_lock(&linger->lock);
    bool fits = linger->count < MOST && !linger->is_ending;
    if (fits) {
        linger->sockets[linger->count] = (struct pollfd){.fd = descriptor, .events = POLLIN};
        linger->limits[linger->count].end = now_seconds() + SECONDS;
        linger->limits[linger->count].left = BYTES;
        linger->count++;
        pthread_cond_signal(&linger->wake);
    }
    pthread_mutex_unlock(&linger->lock);
    if (!fits)
        close(descriptor);
}

/* Reads what is there. False if the socket is done. */
static bool drain(struct sxt_linger *linger, unsigned i)
{
    char dropped[16384];
    for (unsigned rounds = 0; rounds < 64; rounds++) {
        ssize_t got = recv(linger->sockets[i].fd, dropped, sizeof dropped, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (got <= 0 || (uint64_t)got > linger->limits[i].left)
            return false;
        linger->limits[i].left -= (uint64_t)got;
    }
    return now_seconds() < linger->limits[i].end;
}

static void *work(void *context)
{
    struct sxt_linger *linger = context;
    struct pollfd sockets[MOST];
    pthread_mutex_lock(&linger->lock);
    while (!linger->is_ending) {
        unsigned count = linger->count;
        if (count == 0) {
            pthread_cond_wait(&linger->wake, &linger->lock);
            continue;
        }
        for (unsigned i = 0; i < count; i++)
            sockets[i] = linger->sockets[i];
        /* Others only add sockets, at the end. */
        pthread_mutex_unlock(&linger->lock);
        poll(sockets, count, 100);
        pthread_mutex_lock(&linger->lock);
        for (unsigned i = count; i > 0; i--) {
            if (drain(linger, i - 1))
                continue;
            close(linger->sockets[i - 1].fd);
            linger->count--;
            linger->sockets[i - 1] = linger->sockets[linger->count];
            linger->limits[i - 1] = linger->limits[linger->count];
        }
    }
    pthread_mutex_unlock(&linger->lock);
    return NULL;
}
