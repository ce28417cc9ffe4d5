/*
 * progress.c: draws the bar.
 *
 * `drawing` is a small lock for label, total and the stream. A thread that only advances never waits for it: another
 * thread is drawing then.
 */
#include "base/progress.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NANOSECONDS   UINT64_C(1000000000)
#define QUIET_PERIOD  (NANOSECONDS * 3 / 10)
#define DRAW_INTERVAL (NANOSECONDS / 10)

/* Label, bar, percentage and time together stay below 80 columns. */
#define LABEL_MAX 32
#define BAR_WIDTH 22

static const char wipe[] = "\r\033[K";

static uint64_t now(void);
static bool can_show(FILE *stream);
static void draw_when_due(struct sxt_progress *progress);
static void draw(const struct sxt_progress *progress, uint64_t elapsed);

void sxt_progress_open(struct sxt_progress *progress, FILE *stream, bool force)
{
    if (progress == NULL)
        return;
    progress->stream = stream;
    progress->enabled = force || can_show(stream);
    progress->label = "";
    progress->total = 0;
    atomic_init(&progress->done, 0);
    atomic_init(&progress->drawn_at, 0);
    progress->started_at = now();
    atomic_flag_clear(&progress->drawing);
}

void sxt_progress_phase(struct sxt_progress *progress, const char *label, uint64_t total)
{
    if (progress == NULL || !progress->enabled)
        return;
    while (atomic_flag_test_and_set(&progress->drawing))
        sched_yield();
    progress->label = label;
    progress->total = total;
    atomic_store(&progress->done, 0);
    atomic_flag_clear(&progress->drawing);
    draw_when_due(progress);
}

void sxt_progress_advance(struct sxt_progress *progress, uint64_t steps)
{
    if (progress == NULL || !progress->enabled)
        return;
    atomic_fetch_add_explicit(&progress->done, steps, memory_order_relaxed);
    draw_when_due(progress);
}

void sxt_progress_close(struct sxt_progress *progress)
{
    if (progress == NULL || !progress->enabled)
        return;
    while (atomic_flag_test_and_set(&progress->drawing))
        sched_yield();
    if (atomic_load(&progress->drawn_at) != 0) {
        fputs(wipe, progress->stream);
        fflush(progress->stream);
    }
    progress->enabled = false;
    atomic_flag_clear(&progress->drawing);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NANOSECONDS + (uint64_t)time.tv_nsec;
}

static bool can_show(FILE *stream)
{
    const char *terminal = getenv("TERM");
    int fd = fileno(stream);
    return terminal != NULL && *terminal != '\0' && strcmp(terminal, "dumb") != 0 && fd >= 0 && isatty(fd);
}

static void draw_when_due(struct sxt_progress *progress)
{
    uint64_t time = now();
    uint64_t last = atomic_load_explicit(&progress->drawn_at, memory_order_relaxed);
    if (time - progress->started_at < QUIET_PERIOD || time < last + DRAW_INTERVAL)
        return;
    if (atomic_flag_test_and_set(&progress->drawing))
        return;
    /* Another thread may have drawn between the check above and the lock. */
    if (atomic_load(&progress->drawn_at) == last) {
        draw(progress, time - progress->started_at);
        atomic_store(&progress->drawn_at, time);
    }
    atomic_flag_clear(&progress->drawing);
}

/* The length of LABEL that is shown: at most LABEL_MAX bytes, no half of a UTF-8 character. */
static size_t label_length(const char *label)
{
    size_t length = strnlen(label, LABEL_MAX + 1);
    if (length <= LABEL_MAX)
        return length;
    length = LABEL_MAX;
    while (length > 0 && ((unsigned char)label[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static void draw(const struct sxt_progress *progress, uint64_t elapsed)
{
    int label = (int)label_length(progress->label);
    uint64_t tenths = elapsed / (NANOSECONDS / 10);
    char line[200];
    if (progress->total == 0) {
        snprintf(line, sizeof line, "\r%.*s  %" PRIu64 ".%" PRIu64 " s\033[K", label, progress->label, tenths / 10,
                 tenths % 10);
    } else {
        double share = (double)atomic_load(&progress->done) / (double)progress->total;
        if (share > 1)
            share = 1;
        char bar[BAR_WIDTH + 1];
        memset(bar, '-', BAR_WIDTH);
        memset(bar, '#', (size_t)(share * BAR_WIDTH));
        bar[BAR_WIDTH] = '\0';
        snprintf(line, sizeof line, "\r%.*s  [%s]  %2u %%  %" PRIu64 ".%" PRIu64 " s\033[K", label, progress->label,
                 bar, (unsigned)(share * 100), tenths / 10, tenths % 10);
    }
    fputs(line, progress->stream);
    fflush(progress->stream);
}
