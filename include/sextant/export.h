/* sextant/export.h: marks what the shared library exports. Included by the other headers. */
#ifndef SEXTANT_EXPORT_H
#define SEXTANT_EXPORT_H

#if defined(__GNUC__)
#define SXT_API __attribute__((visibility("default")))
#else
#define SXT_API
#endif

#endif
