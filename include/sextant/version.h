/*
 * sextant/version.h: the version of libsextant.
 *
 * The macros give the version of these headers, sxt_version that of the library that is loaded. A minor version adds
 * functions and fields; a major version may remove them.
 */
#ifndef SEXTANT_VERSION_H
#define SEXTANT_VERSION_H

#include <sextant/export.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SXT_VERSION_MAJOR 0
#define SXT_VERSION_MINOR 1
#define SXT_VERSION_PATCH 0

/* One number that grows with the version: 0.1.0 is 0x000100. */
#define SXT_VERSION_NUMBER (SXT_VERSION_MAJOR << 16 | SXT_VERSION_MINOR << 8 | SXT_VERSION_PATCH)

/* The version of the loaded library: "0.1.0". */
SXT_API const char *sxt_version(void);

/* The same, in the form of SXT_VERSION_NUMBER. */
SXT_API unsigned sxt_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
