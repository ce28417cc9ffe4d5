/*
 * code.c: the code of a method: instructions, handlers of exceptions, debug information; and the strings that it loads.
 *
 *     registers 2, ins 2, outs 2, tries 2 │ debug information 4 │ instructions 4 │ 2 bytes each
 *     [2 bytes that align] │ tries, 8 bytes each │ handlers                         when there are tries
 */
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "source/dex/private.h"

#define CODE_HEADER 16

/* How many units of 2 bytes the instruction with an opcode has. */
static const uint8_t units_of[256] = {
    1, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 1, 1, 1, 1, 1, /* 00: nop, move, return */
    1, 1, 1, 2, 3, 2, 2, 3, 5, 2, 2, 3, 2, 1, 1, 2, /* 10: const, monitor, check-cast */
    2, 1, 2, 2, 3, 3, 3, 1, 1, 2, 3, 3, 3, 2, 2, 2, /* 20: arrays, throw, goto, switch, cmp */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, /* 30: cmp, if */
    1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* 40: aget, aput */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* 50: iget, iput */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, /* 60: sget, sput, invoke */
    3, 3, 3, 1, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, /* 70: invoke, unary operations */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* 80 */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* 90: binary operations */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* a0 */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* b0: the same with two registers */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* c0 */
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* d0: the same with a constant */
    2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, /* e0 */
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, 4, 3, 3, 2, 2, /* f0: invoke-polymorphic, invoke-custom, const-method */
};

/* A table in the code: of a switch, or the values of an array. They look like a nop. */
static uint64_t payload_units(const uint8_t *at, uint64_t units)
{
    uint64_t count = units > 1 ? sxt_load_u16le(at + 2) : 0;
    switch (at[1]) {
    case 1:
        return 4 + count * 2;
    case 2:
        return 2 + count * 4;
    case 3:
        return units > 3 ? 4 + (count * sxt_load_u32le(at + 4) + 1) / 2 : 1;
    default:
        return 1;
    }
}

static void add_use(struct dex_file *file, uint32_t string, uint32_t class_number)
{
    struct dex_use *uses = sxt_array_grow(file->uses, &file->use_capacity, file->use_count + 1, sizeof *uses);
    if (uses == NULL) {
        file->status = sxt_fail_memory(file->error, (file->use_count + 1) * sizeof *uses);
        return;
    }
    file->uses = uses;
    uses[file->use_count++] = (struct dex_use){string, class_number};
}

static void find_strings(struct dex_file *file, const uint8_t *code, uint64_t units, uint32_t class_number)
{
    for (uint64_t at = 0, step; at < units && file->status == SXT_OK; at += step) {
        const uint8_t *instruction = code + at * 2;
        step = *instruction == 0 ? payload_units(instruction, units - at) : units_of[*instruction];
        if (*instruction == 0x1a && units - at >= 2)
            add_use(file, sxt_load_u16le(instruction + 2), class_number);
        else if (*instruction == 0x1b && units - at >= 3)
            add_use(file, sxt_load_u32le(instruction + 2), class_number);
    }
}

/* Passes over the handlers of exceptions. They are counted, so that nothing can be allocated by a count. */
static void skip_handlers(struct dex_file *file, struct sxt_cursor *cursor)
{
    uint64_t count = sxt_cursor_uleb128(cursor);
    for (; count > 0 && !cursor->failed && !sxt_dex_is_claimed(file, cursor->at); count--) {
        int64_t size = sxt_cursor_sleb128(cursor);
        uint64_t pairs = size < 0 ? (uint64_t)0 - (uint64_t)size : (uint64_t)size;
        for (; pairs > 0 && !cursor->failed && !sxt_dex_is_claimed(file, cursor->at); pairs--) {
            sxt_cursor_uleb128(cursor);
            sxt_cursor_uleb128(cursor);
        }
        if (size <= 0)
            sxt_cursor_uleb128(cursor);
    }
}

/* Passes over debug information: a program that ends with 0. */
static void skip_debug_program(struct dex_file *file, struct sxt_cursor *cursor)
{
    for (;;) {
        if (cursor->failed || sxt_dex_is_claimed(file, cursor->at))
            return;
        switch (sxt_cursor_u8(cursor)) {
        case 0:
            return;
        case 2:
            sxt_cursor_sleb128(cursor);
            break;
        case 4:
            sxt_cursor_uleb128(cursor);
            /* fall through */
        case 3:
            sxt_cursor_uleb128(cursor);
            sxt_cursor_uleb128(cursor);
            /* fall through */
        case 1:
        case 5:
        case 6:
        case 9:
            sxt_cursor_uleb128(cursor);
            break;
        default:
            break;
        }
    }
}

static uint64_t read_debug(struct dex_file *file, uint64_t offset)
{
    struct sxt_cursor cursor = sxt_dex_cursor(file, offset);
    if (offset == 0 || sxt_dex_is_claimed(file, offset))
        return 0;
    sxt_cursor_uleb128(&cursor);
    uint64_t parameters = sxt_cursor_uleb128(&cursor);
    for (; parameters > 0 && !cursor.failed && !sxt_dex_is_claimed(file, cursor.at); parameters--)
        sxt_cursor_uleb128(&cursor);
    skip_debug_program(file, &cursor);
    if (cursor.failed)
        sxt_dex_damage(file, offset, "debug information reaches beyond the dex file");
    return sxt_dex_claim(file, offset, cursor.at - offset);
}

uint64_t sxt_dex_read_code(struct dex_file *file, uint64_t offset, uint32_t class_number)
{
    struct sxt_cursor cursor = sxt_dex_cursor(file, offset);
    /* Methods may share their code. The first one pays for it, and uses its strings. */
    if (sxt_dex_is_claimed(file, offset) && offset < file->size)
        return 0;
    sxt_cursor_skip(&cursor, 6);
    uint16_t tries = sxt_cursor_u16(&cursor);
    uint32_t debug = sxt_cursor_u32(&cursor), units = sxt_cursor_u32(&cursor);
    sxt_cursor_skip(&cursor, (uint64_t)units * 2);
    if (cursor.failed) {
        sxt_dex_damage(file, offset, "the code of a method reaches beyond the dex file");
        return 0;
    }
    uint64_t size = sxt_dex_claim(file, offset, cursor.at - offset);
    if (size > CODE_HEADER)
        find_strings(file, file->data + offset + CODE_HEADER, (size - CODE_HEADER) / 2, class_number);
    if (tries > 0 && size == cursor.at - offset) {
        uint64_t end = cursor.at;
        sxt_cursor_skip(&cursor, (units & 1) * 2 + (uint64_t)tries * 8);
        skip_handlers(file, &cursor);
        if (cursor.failed)
            sxt_dex_damage(file, offset, "the handlers of a method reach beyond the dex file");
        else
            size += sxt_dex_claim(file, end, cursor.at - end);
    }
    return size + read_debug(file, debug);
}
