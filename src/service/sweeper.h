/* sweeper.h: a thread that removes what is no longer needed from the store. Private to this room. */
#ifndef SXT_SERVICE_SWEEPER_H
#define SXT_SERVICE_SWEEPER_H

#include <sextant/error.h>

struct sxt_service;
struct sxt_sweeper;

int sxt_sweeper_start(struct sxt_service *service, struct sxt_sweeper **out, sxt_error *error);

/* Waits until the thread has ended. Takes NULL. */
void sxt_sweeper_stop(struct sxt_sweeper **sweeper);

#endif
