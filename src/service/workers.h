/*
 * workers.h: threads that may wait for disks, networks and other processes. Private to this room.
 *
 * Long jobs (reading an uploaded file) never take all threads, so that questions are answered meanwhile.
 */
#ifndef SXT_SERVICE_WORKERS_H
#define SXT_SERVICE_WORKERS_H

#include <stdbool.h>

#include <sextant/error.h>

struct sxt_workers;

/* Owned by the caller, and in use until `run` is called. */
struct sxt_job {
    void (*run)(struct sxt_job *job);
    bool is_long;
    struct sxt_job *next;
};

int sxt_workers_start(unsigned threads, struct sxt_workers **out, sxt_error *error);

/* Does all jobs that were posted, and ends the threads. Takes NULL. */
void sxt_workers_stop(struct sxt_workers **workers);

/* False if too many jobs wait. Any thread may call it, also a job. */
bool sxt_workers_post(struct sxt_workers *workers, struct sxt_job *job);

#endif
