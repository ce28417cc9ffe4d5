/*
 * calls_x86.c: calls in x86 code. length_x86.c handles most instructions of 64-bit code, eight times as fast as the
 * complete decoder (Zydis). Zydis gets the rest, and decides whether bytes are an instruction at all.
 *
 * Bytes that are not an instruction are skipped one by one, as objdump mostly does. objdump may differ about a call
 * with a prefix that it must not have ("lock call"): here the call begins after the prefix. It ends in the same place.
 */
#include <Zydis/Zydis.h>

#include "base/error.h"
#include "code/private.h"

static int find_calls(const ZydisDecoder *decoder, const uint8_t *code, size_t size, uint64_t address,
                      sxt_call_found *found, void *context);
static int open_decoder(ZydisDecoder *decoder, ZydisMachineMode mode, ZydisStackWidth width, sxt_error *error);
static unsigned complete_length(const ZydisDecoder *decoder, const uint8_t *code, size_t size, bool *call);

int sxt_find_calls_x86_64(const uint8_t *code, size_t size, uint64_t address, sxt_call_found *found, void *context,
                          sxt_error *error)
{
    ZydisDecoder decoder;
    int status = open_decoder(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, error);
    return status == SXT_OK ? find_calls(&decoder, code, size, address, found, context) : status;
}

int sxt_find_calls_x86_32(const uint8_t *code, size_t size, uint64_t address, sxt_call_found *found, void *context,
                          sxt_error *error)
{
    ZydisDecoder decoder;
    int status = open_decoder(&decoder, ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, error);
    return status == SXT_OK ? find_calls(&decoder, code, size, address, found, context) : status;
}

static int find_calls(const ZydisDecoder *decoder, const uint8_t *code, size_t size, uint64_t address,
                      sxt_call_found *found, void *context)
{
    bool is_64 = decoder->machine_mode == ZYDIS_MACHINE_MODE_LONG_64;
    for (size_t at = 0; at < size;) {
        bool call;
        unsigned length = 0;
        if (is_64 && size - at >= SXT_X86_LENGTH_MAX)
            length = sxt_x86_quick_length(code + at, &call);
        if (length == 0)
            length = complete_length(decoder, code + at, size - at, &call);
        if (length == 0)
            length = sxt_x86_new_length(code + at, size - at);
        if (call && !found(context, address + at, length))
            break;
        at += length != 0 ? length : 1;
    }
    return SXT_OK;
}

/*
 * With the operand-size prefix, near branches have an offset of 2 bytes on AMD processors and of 4 on those of Intel.
 * No compiler makes use of either; objdump follows AMD.
 */
static int open_decoder(ZydisDecoder *decoder, ZydisMachineMode mode, ZydisStackWidth width, sxt_error *error)
{
    if (ZYAN_SUCCESS(ZydisDecoderInit(decoder, mode, width)) &&
        ZYAN_SUCCESS(ZydisDecoderEnableMode(decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE)))
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "cannot initialize the x86 decoder");
}

/* The length of the instruction, and whether it is a call; 0 when it is not an instruction. */
static unsigned complete_length(const ZydisDecoder *decoder, const uint8_t *code, size_t size, bool *call)
{
    ZydisDecodedInstruction instruction;
    *call = false;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code, size, &instruction)))
        return 0;
    switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_CALL:
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INTO:
        *call = true;
        break;
    default:
        break;
    }
    return instruction.length;
}
