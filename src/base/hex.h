/* hex.h: hexadecimal digits to numbers and bytes, and back. Digits that are written are in lower case. */
#ifndef SXT_BASE_HEX_H
#define SXT_BASE_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/string.h>

/* Room for SIZE bytes in hexadecimal, with the NUL. */
#define SXT_HEX_ROOM(size) (2 * (size) + 1)

/* The digit for VALUE, of which the lower four bits count. */
static inline char sxt_hex_letter(unsigned value)
{
    return "0123456789abcdef"[value & 15];
}

/* The value of a digit in either case; -1 for any other character. */
static inline int sxt_hex_digit(char letter)
{
    unsigned char byte = (unsigned char)letter, lower = byte | 0x20;
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Writes two digits for each byte and a NUL; TO has room for SXT_HEX_ROOM(SIZE). Returns the number of digits. */
static inline size_t sxt_hex_encode(char *to, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        to[2 * i] = sxt_hex_letter(bytes[i] >> 4);
        to[2 * i + 1] = sxt_hex_letter(bytes[i]);
    }
    to[2 * size] = 0;
    return 2 * size;
}

/*
 * Parses all of TEXT, which has no "0x". False when it is empty, has other characters, or does not fit in 64 bits;
 * *VALUE is then undefined.
 */
static inline bool sxt_hex_parse(sxt_string text, uint64_t *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = sxt_hex_digit(text.data[i]);
        if (digit < 0 || sum >> 60 != 0)
            return false;
        sum = sum << 4 | (uint64_t)digit;
    }
    *value = sum;
    return text.size > 0;
}

/* An address: hexadecimal digits, with or without "0x". False as above. */
static inline bool sxt_hex_parse_address(sxt_string text, uint64_t *value)
{
    if (text.size > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x')
        text = (sxt_string){text.data + 2, text.size - 2};
    return sxt_hex_parse(text, value);
}

/* Is TEXT the SIZE bytes at DATA in hexadecimal? */
static inline bool sxt_hex_equals(sxt_string text, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    if (text.size != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++)
        if (sxt_hex_digit(text.data[2 * i]) != bytes[i] >> 4 || sxt_hex_digit(text.data[2 * i + 1]) != (bytes[i] & 15))
            return false;
    return true;
}

#endif
