/*
 * disassemble_x86.c: listings of x86 code, by Zydis, which calls_x86.c uses too. A hook notes which bytes of the text
 * of an instruction are an address. They are replaced by a name, which may be too long for Zydis's buffer.
 */
#include <elf.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "base/error.h"
#include "code/private.h"

/* The address in the instruction that is being printed. */
struct mark {
    ZydisFormatterFunc print; /* Zydis's own function, which prints addresses */
    uint64_t address;
    size_t start, end; /* its place in the text; equal if there is none */
    bool is_relative;  /* "(%rip)" follows it */
    bool is_intel;     /* only targets of branches get a name */
};

struct lister {
    ZydisDecoder decoder;
    ZydisFormatter formatter;
    ZydisFormatterFunc print_address;
    sxt_code_name *name;
    void *context;
};

static int open_lister(struct lister *lister, const struct sxt_code_piece *piece, sxt_error *error);
static size_t list_one(const struct lister *lister, const struct sxt_code_piece *piece, size_t at,
                       struct sxt_buffer *out);

int sxt_code_list_x86(const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                      sxt_error *error)
{
    struct lister lister = {.name = name, .context = context};
    int status = open_lister(&lister, piece, error);
    if (status != SXT_OK)
        return status;
    size_t at = 0;
    while (at < sxt_code_stop(piece) && !out->failed) {
        sxt_code_begin_line(at, out);
        at += list_one(&lister, piece, at, out);
        sxt_buffer_u8(out, '\n');
    }
    if (piece->end != NULL)
        *piece->end = at;
    return sxt_buffer_status(out, error);
}

/*
 * Called by Zydis for an absolute address: the target of a branch, or memory that is addressed by no register but the
 * instruction pointer.
 */
static ZyanStatus print_address(const ZydisFormatter *formatter, ZydisFormatterBuffer *buffer,
                                ZydisFormatterContext *context)
{
    struct mark *mark = context->user_data;
    const ZydisDecodedOperand *operand = context->operand;
    bool is_memory = operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
    ZyanString *text;
    ZyanU64 address;
    ZYAN_CHECK(ZydisFormatterBufferGetString(buffer, &text));
    ZYAN_CHECK(ZydisCalcAbsoluteAddress(context->instruction, operand, context->runtime_address, &address));
    size_t start = text->vector.size - 1; /* the size counts the NUL */
    ZYAN_CHECK(mark->print(formatter, buffer, context));
    /* Addresses relative to FS and GS are not in the file. */
    if (is_memory &&
        (mark->is_intel || operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS))
        return ZYAN_STATUS_SUCCESS;
    mark->address = address;
    mark->start = start + (((const char *)text->vector.data)[start] == '*'); /* of an indirect branch */
    mark->end = text->vector.size - 1;
    mark->is_relative = is_memory && operand->mem.base != ZYDIS_REGISTER_NONE;
    return ZYAN_STATUS_SUCCESS;
}

static int open_lister(struct lister *lister, const struct sxt_code_piece *piece, sxt_error *error)
{
    bool is_64 = piece->machine == EM_X86_64;
    /* Zydis takes the hook as a pointer to data, and returns the function that it replaces. */
    ZydisFormatterFunc ours = print_address;
    const void *function;
    memcpy(&function, &ours, sizeof function);
    bool fine =
        ZYAN_SUCCESS(ZydisDecoderInit(&lister->decoder,
                                      is_64 ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
                                      is_64 ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32)) &&
        ZYAN_SUCCESS(ZydisDecoderEnableMode(&lister->decoder, ZYDIS_DECODER_MODE_AMD_BRANCHES, ZYAN_TRUE)) &&
        ZYAN_SUCCESS(ZydisFormatterInit(&lister->formatter,
                                        piece->is_intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT)) &&
        ZYAN_SUCCESS(ZydisFormatterSetProperty(&lister->formatter, ZYDIS_FORMATTER_PROP_FORCE_RELATIVE_RIPREL,
                                               piece->is_intel)) &&
        ZYAN_SUCCESS(ZydisFormatterSetProperty(&lister->formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE)) &&
        ZYAN_SUCCESS(
            ZydisFormatterSetProperty(&lister->formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED)) &&
        ZYAN_SUCCESS(ZydisFormatterSetProperty(&lister->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
                                               ZYDIS_PADDING_DISABLED)) &&
        ZYAN_SUCCESS(
            ZydisFormatterSetProperty(&lister->formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED)) &&
        ZYAN_SUCCESS(ZydisFormatterSetHook(&lister->formatter, ZYDIS_FORMATTER_FUNC_PRINT_ADDRESS_ABS, &function));
    memcpy(&lister->print_address, &function, sizeof function);
    if (fine)
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "cannot initialize the x86 decoder");
}

/* Bytes that are not an instruction, or not one that Zydis knows. */
static size_t list_bytes(const uint8_t *bytes, size_t left, struct sxt_buffer *out)
{
    size_t length = sxt_x86_new_length(bytes, left);
    if (length == 0 || length > left)
        length = 1;
    sxt_buffer_print(out, ".byte ");
    for (size_t i = 0; i < length; i++)
        sxt_buffer_print(out, "%s0x%02x", i > 0 ? ", " : "", bytes[i]);
    return length;
}

/* Appends TEXT with the address replaced by the name of what is there. */
static void put_text(const struct lister *lister, const struct mark *mark, const char *text, struct sxt_buffer *out)
{
    sxt_buffer_append(out, text, mark->start);
    if (mark->end > mark->start)
        lister->name(lister->context, mark->address, out);
    if (mark->is_relative)
        sxt_buffer_append(out, "(%rip)", 6);
    sxt_buffer_append(out, text + mark->end, strlen(text) - mark->end);
}

/* An indirect branch has a star, which not every version of Zydis prints. */
static void add_star(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operands, char *text,
                     size_t room, struct mark *mark)
{
    bool is_jump = instruction->mnemonic == ZYDIS_MNEMONIC_JMP;
    if ((!is_jump && instruction->mnemonic != ZYDIS_MNEMONIC_CALL) || instruction->operand_count_visible == 0 ||
        operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE || operands[0].type == ZYDIS_OPERAND_TYPE_POINTER ||
        strchr(text, '*') != NULL || strlen(text) + 2 > room)
        return;
    char *name = strstr(text, is_jump ? "jmp" : "call"), *operand = name != NULL ? strchr(name, ' ') : NULL;
    if (operand == NULL)
        return;
    memmove(operand + 2, operand + 1, strlen(operand + 1) + 1);
    operand[1] = '*';
    if (mark->end > 0) {
        mark->start++;
        mark->end++;
    }
}

/* Appends the instruction at AT and returns how long it is. */
static size_t list_one(const struct lister *lister, const struct sxt_code_piece *piece, size_t at,
                       struct sxt_buffer *out)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    struct mark mark = {.print = lister->print_address, .is_intel = piece->is_intel};
    char text[256];
    size_t left = piece->size - at;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&lister->decoder, piece->bytes + at, left, &instruction, operands)))
        return list_bytes(piece->bytes + at, left, out);
    if (!ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&lister->formatter, &instruction, operands,
                                                      instruction.operand_count_visible, text, sizeof text,
                                                      piece->address + at, &mark)))
        return list_bytes(piece->bytes + at, left, out);
    if (!piece->is_intel)
        add_star(&instruction, operands, text, sizeof text, &mark);
    put_text(lister, &mark, text, out);
    return instruction.length;
}
