/* live.h: recordings that are running. Private to this room. */
#ifndef SXT_VIEW_LIVE_H
#define SXT_VIEW_LIVE_H

#include "view/kind.h"

/* Whether the recording at PATH is running. */
bool sxt_view_is_running(const char *path);

#endif
