/*
 * sextant/sextant.h: all of libsextant. docs/api.md walks through a complete program.
 */
#ifndef SEXTANT_SEXTANT_H
#define SEXTANT_SEXTANT_H

#include <sextant/archive.h>
#include <sextant/error.h>
#include <sextant/ksym.h>
#include <sextant/lidia.h>
#include <sextant/symbfile.h>
#include <sextant/symbols.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is running, e.g. "0.1.0". */
SXT_API const char *sxt_version(void);

#ifdef __cplusplus
}
#endif

#endif
