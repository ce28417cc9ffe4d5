/*
 * pool.h: the same work on many items, on several threads.
 *
 * sxt_pool_run calls work(context, worker, item) once for each item from 0 to count - 1. Items are handed out in order,
 * each to one worker; worker is a number below the thread count, for memory that belongs to a thread. When a call
 * returns non-zero, no further items are handed out, and that value (of the lowest item that failed) is returned.
 * The calling thread is worker 0, so thread count 1 starts no thread. A thread that cannot be started is done without.
 */
#ifndef SXT_BASE_POOL_H
#define SXT_BASE_POOL_H

#include <stddef.h>

typedef int sxt_pool_work(void *context, unsigned worker, size_t item);

int sxt_pool_run(unsigned threads, size_t count, sxt_pool_work *work, void *context);

/* How many threads make sense here: the processors this process may use, at least 1, at most 64. */
unsigned sxt_pool_threads(void);

#endif
