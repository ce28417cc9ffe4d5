/*
 * measure.h: who owns each byte of a binary. The functions of this room are declared in sextant/size.h: sxt_size_make,
 * sxt_size_load, sxt_size_diff_disassemble and sxt_inlined_list_read.
 */
#ifndef SXT_MEASURE_MEASURE_H
#define SXT_MEASURE_MEASURE_H

#include <sextant/size.h>

#endif
