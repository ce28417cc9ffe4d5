/*
 * fuzz_rules.c: any bytes as the tables that the recorder walks stacks by. The first byte says how: as a module that
 * begins with its .eh_frame_hdr, or as the programs of a CIE and an FDE, whose headers are made here. Every address
 * must get a valid rule, the same one each time, and nothing outside of the module may be read.
 */
#include <stdlib.h>
#include <string.h>

#include "property.h"
#include "recorder/recorder.h"

enum { HEADER = 12, FUNCTION = 0x1000, FUNCTION_SIZE = 0x100 };

static void check_rule(frame_rule rule)
{
    enum rule_kind kind = RULE_KIND(rule);
    bool has_offsets = kind == RULE_FROM_STACK || kind == RULE_FROM_FRAME || kind == RULE_FROM_LOAD;
    SXT_HOLDS(kind != RULE_NONE && kind <= RULE_OUTERMOST);
    SXT_HOLDS(has_offsets ? RULE_LINK_OFFSET(rule) != 0 && rule >> 59 == 0 : rule == (frame_rule)kind);
}

static void check_address(const struct module *module, uintptr_t pc)
{
    frame_rule rule = sxt_rule_find(module, pc, true), after = sxt_rule_find(module, pc + 1, false);
    check_rule(rule);
    check_rule(after);
    SXT_HOLDS(rule == sxt_rule_find(module, pc, true));
    /* A return address takes the row of the byte before it, where that has one. */
    SXT_HOLDS(rule == RULE_GUESS || rule == after);
}

/* At the edges of the first functions, and inside them. */
static void check_module(const struct module *module)
{
    uint32_t count = 0;
    if (module->frame_table_size >= HEADER)
        memcpy(&count, module->frame_table + 8, sizeof count);
    for (uint32_t i = 0; i < count && i < 4 && HEADER + (i + 1) * 8 <= module->frame_table_size; i++) {
        int32_t start;
        memcpy(&start, module->frame_table + HEADER + i * 8, sizeof start);
        for (int offset = -1; offset < FUNCTION_SIZE + 2; offset += offset < 16 ? 1 : 31)
            check_address(module, (uintptr_t)module->frame_table + (uintptr_t)(intptr_t)start + (uintptr_t)offset);
    }
    check_address(module, 0);
    check_address(module, (uintptr_t)module->frame_table);
    check_address(module, UINTPTR_MAX);
}

static struct module as_module(uint8_t *image, size_t size, size_t table_size)
{
    return (struct module){
        .start = (uintptr_t)image,
        .end = (uintptr_t)image + size,
        .frame_table = image,
        .frame_table_size = table_size < size ? table_size : size,
    };
}

static size_t put(uint8_t *to, size_t at, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(to + at, bytes, size);
    return at + size;
}

/* A table of one function, with the first SPLIT bytes as the program of the CIE and the rest as that of the FDE. */
static size_t make_image(uint8_t *image, const uint8_t *data, size_t size, size_t split)
{
#if defined(__aarch64__)
    const uint8_t return_register = 30;
#else
    const uint8_t return_register = 16;
#endif
    const uint8_t table[8] = {1, 0x1b, 0x03, 0x3b};
    const uint8_t cie[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, return_register, 1, 0x1b};
    uint32_t count = 1, cie_at = HEADER + 8, cie_size = (uint32_t)(sizeof cie + split);
    uint32_t fde_at = cie_at + 4 + cie_size, fde_size = (uint32_t)(13 + size - split);
    uint32_t pair[2] = {FUNCTION, fde_at};
    uint32_t fde[3] = {fde_at + 4 - cie_at, FUNCTION - (fde_at + 8), FUNCTION_SIZE};
    size_t at = put(image, 0, table, sizeof table);
    at = put(image, at, &count, sizeof count);
    at = put(image, at, pair, sizeof pair);
    at = put(image, at, &cie_size, sizeof cie_size);
    at = put(image, at, cie, sizeof cie);
    at = put(image, at, data, split);
    at = put(image, at, &fde_size, sizeof fde_size);
    at = put(image, at, fde, sizeof fde);
    image[at++] = 0;
    return put(image, at, data + split, size - split);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool is_image = data[0] % 2 == 0;
    size_t rest = size - 2, room = is_image ? rest : rest + 128;
    uint8_t *image = calloc(room + 1, 1);
    SXT_HOLDS(image != NULL);
    if (is_image)
        memcpy(image, data + 2, rest);
    else
        room = make_image(image, data + 2, rest, data[1] < rest ? data[1] : rest);
    /* Exactly as large as the module, so that AddressSanitizer sees every step too far. */
    uint8_t *exact = realloc(image, room > 0 ? room : 1);
    SXT_HOLDS(exact != NULL);
    struct module module = as_module(exact, room, is_image ? HEADER + (size_t)data[1] * 8 : HEADER + 8);
    check_module(&module);
    free(exact);
    return 0;
}
