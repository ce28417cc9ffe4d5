/*
 * length_x86.c: how long instructions of x86-64 are.
 *
 *     prefixes   REX    opcode                   ModRM   SIB    displacement   immediate
 *     0 ...      0, 1   1, 0f + 1                0, 1    0, 1   0, 1, 4        0, 1, 2, 4, 8
 *     0 ...      0, 1   0f 38 + 1, 0f 3a + 1     1       0, 1   0, 1, 4        0, 1
 *     0 ...             VEX (2 or 3 bytes) + 1   1       0, 1   0, 1, 4        0, 1
 *     0 ...             EVEX (4 bytes) + 1       1       0, 1   0, 1, 4        0, 1
 *
 * What a complete decoder spends its time on (operands, their sizes, exceptions) does not affect the length. The first
 * part of this file is fast and handles common instructions: two tables say what follows each opcode. A dot marks
 * opcodes that are rare, that exist only with some prefixes or operands, or that no longer exist in 64-bit code. They
 * are left to the complete decoder; the tests compare all combinations with it.
 *
 * The second part is for instructions that are newer than the complete decoder. They have the forms of the last three
 * rows, in which the length does not depend on what an instruction does. They are the same in 32-bit code.
 */
#include <string.h>

#include "code/private.h"

#define PREFIXES_MAX 4

/*
 * What follows an opcode:
 *
 *   .  not known here              p  a prefix                      f  an opcode of the second table
 *   -  nothing                     w  the operand-size prefix       c  a call, with an offset of 4 bytes
 *   1  an immediate of 1 byte      r  the repeat prefixes           j  an offset of 4 bytes
 *   4  one of 4 bytes (2 with w)   x  REX                           i  a call, with an immediate of 1 byte
 *   8  one of 4, 2 or (REX.W) 8                                     s  a call, with nothing after it
 *
 *   m  ModRM                       a  ModRM of an address           n  ModRM, and no repeat prefix before
 *   b  ModRM and 1 byte            B  the same, reg is 0            g  ModRM, reg is 0 or 1
 *   v  ModRM and 4 (2) bytes       V  the same, reg is 0            o  ModRM, jumps and calls are among them
 *   t  ModRM and 1 byte if it is a test                             T  ModRM and 4 (2) bytes if it is a test
 */
static const char one_byte[] = "mmmm14..mmmm14.f" /* 00 */
                               "mmmm14..mmmm14.." /* 10 */
                               "mmmm14p.mmmm14p." /* 20 */
                               "mmmm14p.mmmm14p." /* 30 */
                               "xxxxxxxxxxxxxxxx" /* 40 */
                               "----------------" /* 50 */
                               "...mppwp4v1b----" /* 60 */
                               "1111111111111111" /* 70 */
                               "bv.bmmmmmmmm.a.." /* 80 */
                               "----------.-----" /* 90 */
                               "....----14------" /* a0 */
                               "1111111188888888" /* b0 */
                               "bb.-..BV.-..-i.." /* c0 */
                               "mmmm...-........" /* d0 */
                               "11111111cj.1----" /* e0 */
                               ".-rr--tT------go" /* f0 */;

static const char after_0f[] = ".....s.....-...." /* 00 */
                               "mm............mm" /* 10 */
                               "........nnm.mmnn" /* 20 */
                               "................" /* 30 */
                               "mmmmmmmmmmmmmmmm" /* 40 */
                               ".m..nnnnmmm.mmmm" /* 50 */
                               "nnnnnnnnnnnn..nn" /* 60 */
                               "b...nnn.......nn" /* 70 */
                               "jjjjjjjjjjjjjjjj" /* 80 */
                               "mmmmmmmmmmmmmmmm" /* 90 */
                               "..-mbm.....mbm.m" /* a0 */
                               "mm.m..mm...mmmmm" /* b0 */
                               "mmb.....--------" /* c0 */
                               ".nnnnn..nnnnnnnn" /* d0 */
                               "nnnnnn..nnnnnnnn" /* e0 */
                               ".nnnnnn.nnnnnnn." /* f0 */;

struct prefixes {
    bool operand_size;
    bool repeat;
    bool wide; /* REX.W */
};

static inline unsigned size_after(char kind, const uint8_t *at, struct prefixes before, bool *call);
static inline unsigned address_size(const uint8_t *modrm);

#define NOT_KNOWN (SXT_X86_LENGTH_MAX + 1)

unsigned sxt_x86_quick_length(const uint8_t *code, bool *call)
{
    const uint8_t *at = code;
    struct prefixes before = {0};
    char kind = one_byte[*at];
    while (kind == 'p' || kind == 'w' || kind == 'r') {
        if (at - code == PREFIXES_MAX)
            return 0;
        before.operand_size |= kind == 'w';
        before.repeat |= kind == 'r';
        kind = one_byte[*++at];
    }
    if (kind == 'x') {
        before.wide = (*at & 8) != 0;
        kind = one_byte[*++at];
    }
    if (kind == 'f')
        kind = after_0f[*++at];
    at++;
    unsigned length = (unsigned)(at - code) + size_after(kind, at, before, call);
    return length <= SXT_X86_LENGTH_MAX ? length : 0;
}

/* How many bytes there are from AT, after an opcode of that kind, to the end of the instruction; or NOT_KNOWN. */
static inline unsigned size_after(char kind, const uint8_t *at, struct prefixes before, bool *call)
{
    unsigned operation = *at >> 3 & 7;              /* the field of ModRM that continues some opcodes */
    bool is_far = operation == 3 || operation == 5; /* among jumps and calls */
    bool is_register = *at >= 0xc0;
    unsigned immediate = before.operand_size && !before.wide ? 2 : 4;
    *call = kind == 'c' || kind == 'i' || kind == 's' || (kind == 'o' && (operation == 2 || operation == 3));
    switch (kind) {
    case '-':
    case 's':
        return 0;
    case '1':
    case 'i':
        return 1;
    case '4':
        return immediate;
    case '8':
        return before.wide ? 8 : immediate;
    case 'c':
    case 'j':
        return before.operand_size ? NOT_KNOWN : 4;
    case 'm':
        return address_size(at);
    case 'n':
        return before.repeat ? NOT_KNOWN : address_size(at);
    case 'a':
        return is_register ? NOT_KNOWN : address_size(at);
    case 'g':
        return operation > 1 ? NOT_KNOWN : address_size(at);
    case 'o':
        return operation == 7 || (is_register && is_far) ? NOT_KNOWN : address_size(at);
    case 'b':
        return address_size(at) + 1;
    case 'B':
        return operation != 0 ? NOT_KNOWN : address_size(at) + 1;
    case 't':
        return address_size(at) + (operation < 2 ? 1 : 0);
    case 'v':
        return address_size(at) + immediate;
    case 'V':
        return operation != 0 ? NOT_KNOWN : address_size(at) + immediate;
    case 'T':
        return address_size(at) + (operation < 2 ? immediate : 0);
    default:
        return NOT_KNOWN;
    }
}

/* The size of ModRM with the SIB byte and the displacement that it requires. */
static inline unsigned address_size(const uint8_t *modrm)
{
    unsigned mode = modrm[0] >> 6, base = modrm[0] & 7;
    if (mode == 3)
        return 1;
    unsigned size = 1;
    if (base == 4) {
        size = 2;
        base = modrm[1] & 7;
    }
    if (mode == 0)
        return size + (base == 5 ? 4 : 0);
    return size + (mode == 1 ? 1 : 4);
}

/* --- newer instructions --- */

static unsigned read_map(const uint8_t *code, size_t size, size_t *at);
static size_t skip(const uint8_t *code, size_t size, size_t at, const char *kinds);

unsigned sxt_x86_new_length(const uint8_t *code, size_t size)
{
    size_t at;
    unsigned map = read_map(code, size, &at);
    if (map == 0 || size - at < 2)
        return 0;
    uint8_t opcode = code[at++];
    unsigned immediate = map == 3;
    if (map == 1) {
        if (opcode == 0x77) /* an old instruction, the only one without ModRM */
            return 0;
        immediate = (opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6);
    }
    /* If the SIB byte is cut off, the length exceeds SIZE whatever the byte would be. */
    const uint8_t address[2] = {code[at], size - at > 1 ? code[at + 1] : 0};
    size_t length = at + address_size(address) + immediate;
    return length <= size && length <= SXT_X86_LENGTH_MAX ? (unsigned)length : 0;
}

/*
 * Leaves *AT at the opcode, and returns the map that it is in: 1 is the one of 0f, 2 that of 0f 38, 3 that of 0f 3a; 5
 * and 6 exist with EVEX only. 0 for an instruction in none of these maps.
 */
static unsigned read_map(const uint8_t *code, size_t size, size_t *at)
{
    size_t start = skip(code, size, 0, "p");
    const uint8_t *from = code + start;
    size_t left = size - start;
    if (left >= 4 && from[0] == 0x62 && (from[1] & 8) == 0 && (from[2] & 4) != 0) {
        unsigned map = from[1] & 7;
        *at = start + 4;
        return map != 4 && map != 7 ? map : 0;
    }
    if (left >= 3 && from[0] == 0xc4) {
        unsigned map = from[1] & 31;
        *at = start + 3;
        return map <= 3 ? map : 0;
    }
    if (left >= 2 && from[0] == 0xc5) {
        *at = start + 2;
        return 1;
    }
    start = skip(code, size, start, "pwr");
    if (start < size && one_byte[code[start]] == 'x')
        start++;
    if (size - start < 2 || code[start] != 0x0f || (code[start + 1] != 0x38 && code[start + 1] != 0x3a))
        return 0;
    *at = start + 2;
    return code[start + 1] == 0x38 ? 2 : 3;
}

/* The position of the first byte from AT on whose kind is not one of KINDS. */
static size_t skip(const uint8_t *code, size_t size, size_t at, const char *kinds)
{
    while (at < size && at < SXT_X86_LENGTH_MAX && strchr(kinds, one_byte[code[at]]) != NULL)
        at++;
    return at;
}
