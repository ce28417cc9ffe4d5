/* log.c: collects lines and writes them. */
#include "service/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/escape.h"
#include "base/string.h"

#define ROOM         ((size_t)256 << 10)
#define FULL         ((size_t)128 << 10) /* then it is written */
#define MESSAGE_SIZE 1024

struct sxt_log {
    pthread_mutex_t lock;
    int descriptor;
    size_t used;
    char lines[ROOM];
};

int sxt_log_open(int descriptor, struct sxt_log **out, sxt_error *error)
{
    struct sxt_log *log = malloc(sizeof *log);
    *out = log;
    if (log == NULL)
        return sxt_fail_memory(error, sizeof *log);
    pthread_mutex_init(&log->lock, NULL);
    log->descriptor = descriptor;
    log->used = 0;
    return SXT_OK;
}

void sxt_log_close(struct sxt_log **log)
{
    if (*log == NULL)
        return;
    sxt_log_flush(*log);
    pthread_mutex_destroy(&(*log)->lock);
    free(*log);
    *log = NULL;
}

/* Best effort: a log that cannot be written does not end the service. */
static void write_all(int descriptor, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
            poll(&ready, 1, 1000);
        } else if (written < 0 && errno != EINTR) {
            return;
        } else if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
}

static void flush_locked(struct sxt_log *log)
{
    write_all(log->descriptor, log->lines, log->used);
    log->used = 0;
}

void sxt_log_line(struct sxt_log *log, const char *line, size_t size)
{
    if (size > ROOM)
        return;
    pthread_mutex_lock(&log->lock);
    if (log->used + size > ROOM)
        flush_locked(log);
    memcpy(log->lines + log->used, line, size);
    log->used += size;
    if (log->used >= FULL)
        flush_locked(log);
    pthread_mutex_unlock(&log->lock);
}

void sxt_log_flush(struct sxt_log *log)
{
    pthread_mutex_lock(&log->lock);
    if (log->used > 0)
        flush_locked(log);
    pthread_mutex_unlock(&log->lock);
}

/* The digits of VALUE, COUNT of them. */
static void put_number(char *to, unsigned value, unsigned count)
{
    for (unsigned i = count; i > 0; i--, value /= 10)
        to[i - 1] = (char)('0' + value % 10);
}

void sxt_log_time(char to[SXT_LOG_TIME_SIZE])
{
    /* The date and the time up to the second are the same for many lines. */
    static _Thread_local time_t second;
    static _Thread_local char text[SXT_LOG_TIME_SIZE + 1];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != second || *text == 0) {
        struct tm parts;
        gmtime_r(&now.tv_sec, &parts);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S.000000Z", &parts);
        second = now.tv_sec;
    }
    memcpy(to, text, SXT_LOG_TIME_SIZE);
    put_number(to + 20, (unsigned)(now.tv_nsec / 1000), 6);
}

void sxt_log_message(struct sxt_log *log, const char *level, const char *uuid, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    sxt_log_message_list(log, level, uuid, format, list);
    va_end(list);
}

void sxt_log_message_list(struct sxt_log *log, const char *level, const char *uuid, const char *format, va_list list)
{
    char message[MESSAGE_SIZE], now[SXT_LOG_TIME_SIZE];
    struct sxt_buffer line;
    vsnprintf(message, sizeof message, format, list);
    message[strcspn(message, "\n")] = 0;
    sxt_log_time(now);
    sxt_buffer_init(&line, 8 * MESSAGE_SIZE);
    sxt_buffer_print(&line, "{\"time\":\"%.*s\",\"level\":\"%s\"", SXT_LOG_TIME_SIZE, now, level);
    if (uuid != NULL)
        sxt_buffer_print(&line, ",\"uuid\":\"%s\"", uuid);
    sxt_buffer_print(&line, ",\"message\":\"");
    sxt_escape_json(&line, sxt_string_of(message));
    sxt_buffer_print(&line, "\"}\n");
    if (!line.failed)
        sxt_log_line(log, (const char *)line.data, line.size);
    sxt_buffer_free(&line);
}
