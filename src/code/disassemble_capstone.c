/*
 * disassemble_capstone.c: listings of code of machines other than x86, by libcapstone. The library is loaded on first
 * use: if it were linked, it would slow down every start of the program by more than most runs take.
 *
 * Capstone prints addresses as numbers. Which instructions of a machine have an address as their last operand is a list
 * of mnemonics here; in those, a name replaces the number.
 */
#include <capstone/capstone.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "code/private.h"

#define TEXT_OF(number)  #number
#define SONAME_OF(major) "libcapstone.so." TEXT_OF(major)
#define SONAME           SONAME_OF(CS_API_MAJOR)

/* The functions of libcapstone that are used. */
struct capstone {
    void *library;
    __typeof__(cs_open) *open;
    __typeof__(cs_close) *close;
    __typeof__(cs_malloc) *new_instruction;
    __typeof__(cs_free) *free_instruction;
    __typeof__(cs_disasm_iter) *next;
};

struct machine {
    uint16_t elf; /* EM_... */
    cs_arch arch;
    unsigned mode32, mode64;
    unsigned step; /* bytes to skip where there is no instruction */
    /* Mnemonics whose last operand is an address, each in spaces; one that ends with '*' is a prefix. */
    const char *with_address;
};

/* clang-format off */
static const struct machine machines[] = {
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, CS_MODE_ARM, 4,
     " b bl b.* cbz cbnz tbz tbnz adr adrp ldr ldrsw prfm "},
    {EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, CS_MODE_ARM, 4,
     " b bl blx beq bne bhs bcs blo bcc bmi bpl bvs bvc bhi bls bge blt bgt ble cbz cbnz b.w beq.w bne.w bhs.w blo.w "
     "bmi.w bpl.w bvs.w bvc.w bhi.w bls.w bge.w blt.w bgt.w ble.w bleq blne blhs bllo blmi blpl blhi blls blge bllt "
     "blgt blle "},
    {EM_MIPS, CS_ARCH_MIPS, CS_MODE_MIPS32, CS_MODE_MIPS64, 4,
     " j jal b bal beq* bne* bgez* bgtz* blez* bltz* bc1* "},
    {EM_PPC, CS_ARCH_PPC, CS_MODE_32, CS_MODE_32, 4, " b* "},
    {EM_PPC64, CS_ARCH_PPC, CS_MODE_64, CS_MODE_64, 4, " b* "},
    {EM_S390, CS_ARCH_SYSZ, CS_MODE_BIG_ENDIAN, CS_MODE_BIG_ENDIAN, 2,
     " j* br* larl lrl lgrl lgfrl llgfrl strl stgrl exrl pfdrl crl cgrl clrl clgrl crj* cgrj* clrj* clgrj* cij* cgij* "
     "clij* clgij* "},
    {EM_SPARC, CS_ARCH_SPARC, CS_MODE_BIG_ENDIAN, CS_MODE_BIG_ENDIAN, 4, " b* fb* call "},
    {EM_SPARCV9, CS_ARCH_SPARC, CS_MODE_V9, CS_MODE_V9, 4, " b* fb* call "},
#if CS_API_MAJOR >= 5
    /* Its branches are printed with distances, which do not depend on where the function is. */
    {EM_RISCV, CS_ARCH_RISCV, CS_MODE_RISCV32 | CS_MODE_RISCVC, CS_MODE_RISCV64 | CS_MODE_RISCVC, 2, ""},
#endif
};
/* clang-format on */

static const struct machine *find_machine(uint16_t elf);
static int load(struct capstone *capstone, sxt_error *error);
static int list(const struct capstone *capstone, csh handle, const struct machine *machine,
                const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                sxt_error *error);

int sxt_code_list_capstone(const struct sxt_code_piece *piece, sxt_code_name *name, void *context,
                           struct sxt_buffer *out, sxt_error *error)
{
    const struct machine *machine = find_machine(piece->machine);
    struct capstone capstone;
    if (machine == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "code of machine %u cannot be disassembled by libcapstone %u", piece->machine, CS_API_MAJOR);
    int status = load(&capstone, error);
    if (status != SXT_OK)
        return status;
    unsigned mode = piece->is_64 ? machine->mode64 : machine->mode32;
    if (piece->is_thumb)
        mode |= CS_MODE_THUMB;
    mode = piece->big_endian ? mode | (unsigned)CS_MODE_BIG_ENDIAN : mode & ~(unsigned)CS_MODE_BIG_ENDIAN;
    csh handle;
    if (capstone.open(machine->arch, (cs_mode)mode, &handle) != CS_ERR_OK)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "libcapstone does not disassemble code of machine %u", piece->machine);
    status = list(&capstone, handle, machine, piece, name, context, out, error);
    capstone.close(&handle);
    return status;
}

static const struct machine *find_machine(uint16_t elf)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].elf == elf)
            return &machines[i];
    return NULL;
}

/* It stays loaded; loading it again costs nothing. */
static int load(struct capstone *capstone, sxt_error *error)
{
    capstone->library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (capstone->library == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        SONAME " cannot be loaded (Debian: apt-get install libcapstone%d)", CS_API_MAJOR);
    /* A function pointer cannot be cast from void * in ISO C; POSIX requires storing it this way. */
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"cs_open", &capstone->open},
        {"cs_close", &capstone->close},
        {"cs_malloc", &capstone->new_instruction},
        {"cs_free", &capstone->free_instruction},
        {"cs_disasm_iter", &capstone->next},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && good; i++) {
        void *found = dlsym(capstone->library, wanted[i].name);
        good = found != NULL;
        memcpy(wanted[i].place, &found, sizeof found);
    }
    dlclose(capstone->library);
    return good ? SXT_OK : sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, SONAME " cannot be used");
}

static bool has_address(const struct machine *machine, const char *mnemonic)
{
    size_t size = strlen(mnemonic);
    for (const char *at = machine->with_address; *at != 0;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, " ");
        bool is_beginning = length > 0 && at[length - 1] == '*';
        size_t shared = length - is_beginning;
        if (length > 0 && (is_beginning ? size >= shared : size == shared) && memcmp(at, mnemonic, shared) == 0)
            return true;
        at += length;
    }
    return false;
}

/*
 * Where the number that is the last operand begins, with its '#'; NULL when the last operand is anything else, or the
 * number is added to a register ("[x1], #0x10").
 */
static const char *find_number(const char *operands, uint64_t *value)
{
    const char *comma = strrchr(operands, ','), *at = comma != NULL ? comma + 1 : operands;
    at += strspn(at, " ");
    const char *digits = at + (*at == '#');
    char *end;
    if (strncmp(digits, "0x", 2) != 0 || strchr(operands, '[') != NULL)
        return NULL;
    *value = strtoull(digits, &end, 16);
    return *end == 0 ? at : NULL;
}

/* Appends an instruction with a name in place of the address that it has. */
static void put_instruction(const struct machine *machine, const cs_insn *instruction, sxt_code_name *name,
                            void *context, struct sxt_buffer *out)
{
    const char *operands = instruction->op_str;
    uint64_t address;
    const char *number = has_address(machine, instruction->mnemonic) ? find_number(operands, &address) : NULL;
    sxt_buffer_print(out, "%s", instruction->mnemonic);
    if (*operands == 0)
        return;
    sxt_buffer_u8(out, '\t');
    sxt_buffer_append(out, operands, number != NULL ? (size_t)(number - operands) : strlen(operands));
    if (number != NULL)
        name(context, address, out);
}

/* Bytes that are not an instruction, or not one that Capstone knows. */
static size_t put_bytes(const uint8_t *bytes, size_t left, size_t step, struct sxt_buffer *out)
{
    size_t count = step < left ? step : left;
    sxt_buffer_print(out, ".byte\t");
    for (size_t i = 0; i < count; i++)
        sxt_buffer_print(out, "%s0x%02x", i > 0 ? ", " : "", bytes[i]);
    return count;
}

static int list(const struct capstone *capstone, csh handle, const struct machine *machine,
                const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                sxt_error *error)
{
    cs_insn *instruction = capstone->new_instruction(handle);
    if (instruction == NULL)
        return sxt_fail_memory(error, sizeof *instruction);
    size_t step = piece->is_thumb ? 2 : machine->step;
    size_t at = 0;
    while (at < sxt_code_stop(piece) && !out->failed) {
        const uint8_t *bytes = piece->bytes + at;
        size_t left = piece->size - at;
        uint64_t address = piece->address + at;
        sxt_code_begin_line(at, out);
        if (capstone->next(handle, &bytes, &left, &address, instruction)) {
            put_instruction(machine, instruction, name, context, out);
            at += instruction->size;
        } else {
            at += put_bytes(piece->bytes + at, piece->size - at, step, out);
        }
        sxt_buffer_u8(out, '\n');
    }
    if (piece->end != NULL)
        *piece->end = at;
    capstone->free_instruction(instruction, 1);
    return sxt_buffer_status(out, error);
}
