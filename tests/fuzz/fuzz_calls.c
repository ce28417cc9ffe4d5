/*
 * fuzz_calls.c: any bytes as machine code. The first byte picks the machine. Calls come in order, do not overlap and
 * lie inside; a search that begins after one finds those that are left; and the quick decoder of x86 says what the
 * complete one says.
 */
#include <elf.h>

#include <Zydis/Zydis.h>

#include "code/private.h"
#include "property.h"

#define BASE UINT64_C(0xfffffffffffff000)

struct seen {
    size_t count;
    size_t most;
    uint64_t first_end; /* offsets, not addresses */
    uint64_t last_end;
    unsigned longest;
};

static bool see(void *context, uint64_t address, unsigned length)
{
    struct seen *seen = context;
    uint64_t at = address - BASE;
    SXT_HOLDS(length > 0 && length <= seen->longest);
    SXT_HOLDS(at >= seen->last_end);
    seen->last_end = at + length;
    if (seen->count == 0)
        seen->first_end = seen->last_end;
    return ++seen->count != seen->most;
}

static struct seen find(uint16_t machine, const uint8_t *code, size_t size, size_t from, size_t most)
{
    struct seen seen = {.most = most, .last_end = from, .longest = machine == EM_AARCH64 ? 4 : SXT_X86_LENGTH_MAX};
    SXT_HOLDS(sxt_code_find_calls(machine, machine != EM_386, false, code + from, size - from, BASE + from, see, &seen,
                                  NULL) == SXT_OK);
    SXT_HOLDS(seen.last_end <= size);
    return seen;
}

static void compare_decoders(const uint8_t *code, size_t size)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE);
    for (size_t at = 0; at + SXT_X86_LENGTH_MAX <= size; at++) {
        bool call;
        unsigned length = sxt_x86_quick_length(code + at, &call);
        if (length == 0)
            continue;
        ZydisDecodedInstruction found;
        SXT_HOLDS(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code + at, size - at, &found)));
        SXT_HOLDS(length == found.length);
        SXT_HOLDS(call == (found.mnemonic == ZYDIS_MNEMONIC_CALL || found.mnemonic == ZYDIS_MNEMONIC_SYSCALL ||
                           found.mnemonic == ZYDIS_MNEMONIC_INT));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64};
    if (size == 0)
        return 0;
    uint16_t machine = machines[data[0] % 3];
    const uint8_t *code = data + 1;
    size--;
    struct seen all = find(machine, code, size, 0, 0);
    if (all.count > 0) {
        struct seen one = find(machine, code, size, 0, 1);
        SXT_HOLDS(one.count == 1 && one.first_end == all.first_end);
        SXT_HOLDS(find(machine, code, size, all.first_end, 0).count == all.count - 1);
    }
    if (machine == EM_X86_64)
        compare_decoders(code, size);
    return 0;
}
