/* digits.h: numbers as text, without the cost of printf: written backwards, so that they end at a given place. */
#ifndef SXT_BASE_DIGITS_H
#define SXT_BASE_DIGITS_H

#include <stdint.h>

#include "base/hex.h"

#define SXT_DIGITS_MAX 20 /* of a 64-bit number; an address with "0x" takes 18 */

/* Writes VALUE in decimal so that it ends at END, and returns where it begins. */
static inline char *sxt_digits_before(char *end, uint64_t value)
{
    do
        *--end = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    return end;
}

/* The same for "0x" and hexadecimal digits. */
static inline char *sxt_address_before(char *end, uint64_t value)
{
    do
        *--end = sxt_hex_letter((unsigned)value);
    while ((value >>= 4) != 0);
    *--end = 'x';
    *--end = '0';
    return end;
}

#endif
