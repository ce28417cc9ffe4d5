/* explain.h: why an address has the answer it has, or none. The public header is the whole interface of this room. */
#ifndef SXT_EXPLAIN_EXPLAIN_H
#define SXT_EXPLAIN_EXPLAIN_H

#include <sextant/explain.h>

#endif
