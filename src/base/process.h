/* process.h: other processes. */
#ifndef SXT_BASE_PROCESS_H
#define SXT_BASE_PROCESS_H

#include <stdbool.h>

/* Whether process PID runs. One that has ended but was not waited for does not, though it still has its number. */
bool sxt_process_is_running(long pid);

#endif
