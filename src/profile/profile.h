/*
 * profile.h: names for the addresses of profiles, text and processes. The public headers are the interface of this
 * room.
 */
#ifndef SXT_PROFILE_PROFILE_H
#define SXT_PROFILE_PROFILE_H

#include <sextant/process.h>
#include <sextant/profile.h>

#endif
