/*
 * fuzz_ksym.c: any bytes as a ksym blob, and questions to the freestanding reader. Nothing may lead outside of the
 * blob; names that are in order must be found; and what lookup, format and dump say must agree with what is stored. The
 * last bytes of the input are also the questions.
 */
#include <stdlib.h>
#include <string.h>

#include <sextant/ksym.h>

#include "property.h"

#define SYMBOLS_MOST 300
#define NAME_MOST    (2 * 65535 + 1)

struct problems {
    size_t serious, order;
};

static void count_problem(void *data, const sxt_ksym_problem *problem)
{
    struct problems *problems = data;
    problems->serious += !problem->harmless;
    problems->order += strcmp(problem->rule, "name-order") == 0 || strcmp(problem->rule, "name-index") == 0;
}

static void count_bytes(void *data, const char *bytes, size_t size)
{
    size_t *sum = data;
    for (size_t i = 0; i < size; i++)
        *sum += bytes[i] == '\n';
    *sum += size << 32;
}

/* Is INDEX among the symbols called NAME? */
static bool is_found(const sxt_ksym *ksym, const char *name, size_t size, size_t wanted)
{
    sxt_ksym_matches matches;
    size_t index, steps = 0;
    bool found = false;
    sxt_ksym_find(ksym, name, size, &matches);
    while (sxt_ksym_next(&matches, &index)) {
        SXT_HOLDS(index < sxt_ksym_count(ksym) && steps++ <= 2 * sxt_ksym_count(ksym));
        found = found || index == wanted;
    }
    return found;
}

static void check_symbol(const sxt_ksym *ksym, size_t index, bool in_order)
{
    static char name[NAME_MOST], module[NAME_MOST], bare[NAME_MOST], line[2 * NAME_MOST];
    sxt_ksym_symbol symbol, found;
    size_t size = sxt_ksym_name(ksym, index, name, sizeof name);
    SXT_HOLDS(size < sizeof name && sxt_ksym_symbol_at(ksym, index, &symbol));
    size_t module_size = sxt_ksym_module(ksym, index, module, sizeof module);
    SXT_HOLDS(symbol.module_size == module_size && symbol.index == index);
    SXT_HOLDS(size == symbol.name_size + (module_size > 0 ? module_size + 3 : 0));
    SXT_HOLDS(memcmp(name + symbol.name_size + 2, module, module_size) == 0);
    SXT_HOLDS(sxt_ksym_address(ksym, index) == symbol.address);
    if (in_order) {
        SXT_HOLDS(is_found(ksym, name, size, index));
        SXT_HOLDS(is_found(ksym, name, symbol.name_size, index));
    } else {
        is_found(ksym, name, size, index);
    }
    for (uint64_t offset = 0; offset < 3 && offset < symbol.size; offset++) {
        uint64_t address = symbol.address + offset;
        bool known = sxt_ksym_lookup(ksym, address, bare, sizeof bare, &found);
        SXT_HOLDS(known == (address >= ksym->text_first && address <= ksym->text_last));
        if (!known)
            continue;
        SXT_HOLDS(found.address == symbol.address && found.size == symbol.size && found.offset == offset);
        SXT_HOLDS(found.index <= index && (found.index == index || sxt_ksym_address(ksym, index - 1) == found.address));
        SXT_HOLDS(found.index != index || memcmp(bare, name, symbol.name_size) == 0);
        size_t line_size = sxt_ksym_format(ksym, address, line, sizeof line);
        SXT_HOLDS(memcmp(line, bare, found.name_size) == 0 && line[line_size] == '\0');
    }
}

/* Returns a number made of the symbols that were found by address. */
static uint64_t check_questions(const sxt_ksym *ksym, const uint8_t *data, size_t size)
{
    uint64_t answers = 0;
    char small[9];
    sxt_ksym_symbol symbol;
    size_t capacity = size % 9;
    for (size_t at = size > 64 ? size - 64 : 0; at + 8 <= size; at += 8) {
        uint64_t address = 0;
        for (size_t i = 0; i < 8; i++)
            address |= (uint64_t)data[at + i] << 8 * i;
        bool found = sxt_ksym_lookup(ksym, address, small, capacity, &symbol);
        answers = answers * 31 + (found ? symbol.index + symbol.address + symbol.size + symbol.name_size : 0);
        sxt_ksym_format(ksym, address, small, capacity);
        sxt_ksym_format_return(ksym, address, small, capacity);
        is_found(ksym, (const char *)data + at, at % 9, SIZE_MAX);
        sxt_ksym_name(ksym, (size_t)address, small, capacity);
        sxt_ksym_module(ksym, (size_t)address % (sxt_ksym_count(ksym) + 1), small, capacity);
    }
    return answers;
}

static uint64_t check_blob(const sxt_ksym *ksym, const uint8_t *data, size_t size, bool in_order)
{
    uint64_t answers = check_questions(ksym, data, size);
    /* Many symbols may share a long token: how long that takes does not matter here. */
    if (sxt_ksym_count(ksym) > SYMBOLS_MOST)
        return answers;
    size_t sum = 0, sizes = 0;
    for (size_t i = 0; i < sxt_ksym_count(ksym); i++) {
        check_symbol(ksym, i, in_order);
        sizes += sxt_ksym_name(ksym, i, NULL, 0) + 20;
    }
    sxt_ksym_dump(ksym, count_bytes, &sum);
    SXT_HOLDS(sum >> 32 == sizes && (sum & UINT32_MAX) >= sxt_ksym_count(ksym));
    return answers;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sxt_ksym ksym;
    size_t offset = 0;
    uint64_t end = size > 0 && data[size - 1] % 2 != 0 ? (uint64_t)data[size - 1] << 8 : 0;
    const char *wrong = sxt_ksym_open(&ksym, data, size, 0, end, &offset);
    SXT_HOLDS(wrong == NULL || (wrong[0] != '\0' && offset <= size && sxt_ksym_count(&ksym) == 0));
    SXT_HOLDS(ksym.size <= size);
    struct problems problems = {0, 0};
    SXT_HOLDS(sxt_ksym_check(&ksym, count_problem, &problems) == problems.serious);
    uint64_t answers = check_blob(&ksym, data, size, problems.order == 0);
    if (sxt_ksym_count(&ksym) > SYMBOLS_MOST)
        return 0;
    size_t index_size = sxt_ksym_index_size(&ksym);
    void *index = malloc(index_size + 1);
    SXT_HOLDS(index != NULL && sxt_ksym_use_index(&ksym, index, index_size) == (sxt_ksym_count(&ksym) > 0));
    SXT_HOLDS(check_blob(&ksym, data, size, problems.order == 0) == answers);
    free(index);
    return 0;
}
