/* The innermost call of the chain. */
static inline __attribute__((always_inline)) unsigned deepest(unsigned value)
{
    unsigned sum = 0;
    for (unsigned bit = 0; bit < 4; bit++)
        sum += (value >> (bit * 8)) & 0xff;
    return sum;
}
