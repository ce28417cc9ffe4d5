/*
 * pool.h: the same work on many items, on several threads.
 *
 * sxt_pool_run calls work(context, worker, item) once for each item from 0 to count - 1. Items are handed out in order,
 * each to one worker; worker is a number below the thread count, for memory that belongs to a thread. When a call
 * returns non-zero, no further items are handed out, and that value (of the lowest item that failed) is returned.
 * The calling thread is worker 0, so thread count 1 starts no thread. If a thread cannot be started, the others do its
 * work.
 */
#ifndef SXT_BASE_POOL_H
#define SXT_BASE_POOL_H

#include <stddef.h>

typedef int sxt_pool_work(void *context, unsigned worker, size_t item);

int sxt_pool_run(unsigned threads, size_t count, sxt_pool_work *work, void *context);

/*
 * How many threads to use, from 1 to 64: WANTED, or if that is 0 the number in the environment variable
 * SEXTANT_THREADS, or if that is not set the number of processors that this process may use.
 */
unsigned sxt_pool_threads(unsigned wanted);

#endif
