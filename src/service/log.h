/*
 * log.h: lines of JSON on standard error. Private to this room.
 *
 * Lines are collected and written together, at the latest when sxt_log_flush is called; a server does that several
 * times a second. A line is never cut in two. If the reader is slower than the server, the server waits. All functions
 * may be called from any thread.
 */
#ifndef SXT_SERVICE_LOG_H
#define SXT_SERVICE_LOG_H

#include <stdarg.h>
#include <stddef.h>

#include <sextant/error.h>

struct sxt_log;

int sxt_log_open(int descriptor, struct sxt_log **out, sxt_error *error);

/* Writes what is there. Takes NULL. */
void sxt_log_close(struct sxt_log **log);

/* Adds a line, which ends with a newline. */
void sxt_log_line(struct sxt_log *log, const char *line, size_t size);
void sxt_log_flush(struct sxt_log *log);

/* {"time":…,"level":LEVEL,"uuid":…,"message":…}; UUID may be NULL. */
void sxt_log_message(struct sxt_log *log, const char *level, const char *uuid, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void sxt_log_message_list(struct sxt_log *log, const char *level, const char *uuid, const char *format, va_list list)
    __attribute__((format(printf, 4, 0)));

/* The time of day as "2026-11-16T10:42:37.123456Z", without a NUL. */
#define SXT_LOG_TIME_SIZE 27
void sxt_log_time(char to[SXT_LOG_TIME_SIZE]);

#endif
