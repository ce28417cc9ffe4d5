/*
 * relocate.c: applies the types of relocations that occur in debug sections, from a table for each machine.
 *
 * With S the symbol's value, A the addend, P the address of the field and V its current value, a field becomes one of
 *
 *     S + A    S + A - P    V + S + A    V - (S + A)
 *
 * modulo the field's width. So a difference of two labels, which RISC-V expresses as an addition and a subtraction, is
 * correct even if the intermediate sum does not fit.
 */
#include "source/elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/varint.h"
#include "source/elf/elf.h"

enum operation {
    NOTHING,
    ABSOLUTE,
    RELATIVE,
    THREAD_LOCAL, /* like ABSOLUTE, but relative to the start of the thread-local data */
    ADD,
    SUBTRACT,
};

/* The width of a field that is a ULEB128 number. It keeps its number of bytes. */
#define LEB 0

struct kind {
    uint16_t type; /* R_... */
    uint8_t operation;
    uint8_t bits; /* 6, 8, 16, 24, 32, 64 or LEB */
};

struct machine {
    uint16_t number;       /* EM_... */
    uint16_t thread_start; /* what compilers add to offsets of thread-local data and linkers subtract */
    const struct kind *kinds;
    size_t count;
};

/* The section being relocated. */
struct target {
    struct sxt_elf *elf;
    const struct sxt_elf_section *section;
    const struct machine *machine;
    const struct sxt_elf_section *symbol_section; /* NULL until a relocation is found */
    struct sxt_elf_symbol_table symbols;          /* its names are not read */
    struct sxt_elf_bytes *bytes;                  /* the result, for the caller */
    uint8_t *data;                                /* the copy; NULL until a relocation is found */
    uint64_t skipped;
};

/* One relocation, independent of its form in the file. */
struct relocation {
    uint64_t offset;
    uint32_t type;
    uint32_t symbol;
    uint64_t addend;
    bool addend_in_place;
};

static const struct machine *machine_of(const struct sxt_elf *elf);
static int apply_section(struct target *target, const struct sxt_elf_section *relocations, sxt_error *error);
static int open_symbols(struct target *target, const struct sxt_elf_section *relocations, sxt_error *error);
static struct relocation read_relocation(const struct sxt_elf *elf, const uint8_t *from, bool addend);
static bool apply(struct target *target, const struct relocation *relocation);

int sxt_elf_relocated_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                            uint64_t *skipped, sxt_error *error)
{
    struct target target = {.elf = elf, .section = section, .machine = machine_of(elf), .bytes = out};
    int status = sxt_elf_section_bytes(elf, section, out, error);
    for (size_t i = 0; i < elf->section_count && elf->type == ET_REL && status == SXT_OK; i++) {
        const struct sxt_elf_section *other = &elf->sections[i];
        if ((other->type == SHT_RELA || other->type == SHT_REL) && other->info < elf->section_count &&
            &elf->sections[other->info] == section)
            status = apply_section(&target, other, error);
    }
    if (skipped != NULL)
        *skipped = target.skipped;
    if (status != SXT_OK)
        *out = (struct sxt_elf_bytes){.offset = section->offset};
    return status;
}

/* Frequent types come first: the table is searched for each relocation. */
static const struct kind x86_64_kinds[] = {
    {R_X86_64_32, ABSOLUTE, 32},   {R_X86_64_64, ABSOLUTE, 64},           {R_X86_64_32S, ABSOLUTE, 32},
    {R_X86_64_PC32, RELATIVE, 32}, {R_X86_64_PC64, RELATIVE, 64},         {R_X86_64_PLT32, RELATIVE, 32},
    {R_X86_64_16, ABSOLUTE, 16},   {R_X86_64_PC16, RELATIVE, 16},         {R_X86_64_8, ABSOLUTE, 8},
    {R_X86_64_PC8, RELATIVE, 8},   {R_X86_64_DTPOFF64, THREAD_LOCAL, 64}, {R_X86_64_DTPOFF32, THREAD_LOCAL, 32},
    {R_X86_64_NONE, NOTHING, 8},
};

static const struct kind i386_kinds[] = {
    {R_386_32, ABSOLUTE, 32},
    {R_386_PC32, RELATIVE, 32},
    {R_386_16, ABSOLUTE, 16},
    {R_386_PC16, RELATIVE, 16},
    {R_386_8, ABSOLUTE, 8},
    {R_386_PC8, RELATIVE, 8},
    {R_386_TLS_LDO_32, THREAD_LOCAL, 32},
    {R_386_TLS_DTPOFF32, THREAD_LOCAL, 32},
    {R_386_NONE, NOTHING, 8},
};

/* For the 64-bit ABI and, with small numbers, for the ABI with 32-bit pointers. 256 is an obsolete "none". */
static const struct kind aarch64_kinds[] = {
    {R_AARCH64_ABS32, ABSOLUTE, 32},
    {R_AARCH64_ABS64, ABSOLUTE, 64},
    {R_AARCH64_PREL32, RELATIVE, 32},
    {R_AARCH64_PREL64, RELATIVE, 64},
    {R_AARCH64_ABS16, ABSOLUTE, 16},
    {R_AARCH64_PREL16, RELATIVE, 16},
    {R_AARCH64_TLS_DTPREL, THREAD_LOCAL, 64},
    {R_AARCH64_P32_ABS32, ABSOLUTE, 32},
    {2, ABSOLUTE, 16},
    {3, RELATIVE, 32},
    {4, RELATIVE, 16},
    {R_AARCH64_P32_TLS_DTPREL, THREAD_LOCAL, 32},
    {R_AARCH64_NONE, NOTHING, 8},
    {256, NOTHING, 8},
};

static const struct kind arm_kinds[] = {
    {R_ARM_ABS32, ABSOLUTE, 32}, {R_ARM_REL32, RELATIVE, 32},         {R_ARM_ABS16, ABSOLUTE, 16},
    {R_ARM_ABS8, ABSOLUTE, 8},   {R_ARM_TLS_LDO32, THREAD_LOCAL, 32}, {R_ARM_NONE, NOTHING, 8},
};

/* Not in every system's elf.h. */
enum {
    RISCV_PLT32 = 59,
    RISCV_SET_ULEB128 = 60,
    RISCV_SUB_ULEB128 = 61,
    LARCH_32_PCREL = 99,
    LARCH_RELAX = 100,
    LARCH_ADD6 = 105,
    LARCH_SUB6 = 106,
    LARCH_ADD_ULEB128 = 107,
    LARCH_SUB_ULEB128 = 108,
    LARCH_64_PCREL = 109,
    MIPS_PC32 = 248,
};

static const struct kind riscv_kinds[] = {
    {R_RISCV_32, ABSOLUTE, 32},
    {R_RISCV_64, ABSOLUTE, 64},
    {R_RISCV_ADD16, ADD, 16},
    {R_RISCV_SUB16, SUBTRACT, 16},
    {R_RISCV_ADD32, ADD, 32},
    {R_RISCV_SUB32, SUBTRACT, 32},
    {R_RISCV_ADD64, ADD, 64},
    {R_RISCV_SUB64, SUBTRACT, 64},
    {R_RISCV_ADD8, ADD, 8},
    {R_RISCV_SUB8, SUBTRACT, 8},
    {R_RISCV_SET6, ABSOLUTE, 6},
    {R_RISCV_SUB6, SUBTRACT, 6},
    {R_RISCV_SET8, ABSOLUTE, 8},
    {R_RISCV_SET16, ABSOLUTE, 16},
    {R_RISCV_SET32, ABSOLUTE, 32},
    {RISCV_SET_ULEB128, ABSOLUTE, LEB},
    {RISCV_SUB_ULEB128, SUBTRACT, LEB},
    {R_RISCV_32_PCREL, RELATIVE, 32},
    {RISCV_PLT32, RELATIVE, 32},
    {R_RISCV_TLS_DTPREL32, THREAD_LOCAL, 32},
    {R_RISCV_TLS_DTPREL64, THREAD_LOCAL, 64},
    {R_RISCV_RELAX, NOTHING, 8},
    {R_RISCV_NONE, NOTHING, 8},
};

static const struct kind loongarch_kinds[] = {
    {R_LARCH_32, ABSOLUTE, 32},
    {R_LARCH_64, ABSOLUTE, 64},
    {R_LARCH_ADD16, ADD, 16},
    {R_LARCH_SUB16, SUBTRACT, 16},
    {R_LARCH_ADD32, ADD, 32},
    {R_LARCH_SUB32, SUBTRACT, 32},
    {R_LARCH_ADD64, ADD, 64},
    {R_LARCH_SUB64, SUBTRACT, 64},
    {R_LARCH_ADD8, ADD, 8},
    {R_LARCH_SUB8, SUBTRACT, 8},
    {R_LARCH_ADD24, ADD, 24},
    {R_LARCH_SUB24, SUBTRACT, 24},
    {LARCH_ADD6, ADD, 6},
    {LARCH_SUB6, SUBTRACT, 6},
    {LARCH_ADD_ULEB128, ADD, LEB},
    {LARCH_SUB_ULEB128, SUBTRACT, LEB},
    {LARCH_32_PCREL, RELATIVE, 32},
    {LARCH_64_PCREL, RELATIVE, 64},
    {R_LARCH_TLS_DTPREL32, THREAD_LOCAL, 32},
    {R_LARCH_TLS_DTPREL64, THREAD_LOCAL, 64},
    {LARCH_RELAX, NOTHING, 8},
    {R_LARCH_NONE, NOTHING, 8},
};

static const struct kind ppc_kinds[] = {
    {R_PPC_ADDR32, ABSOLUTE, 32}, {R_PPC_UADDR32, ABSOLUTE, 32}, {R_PPC_REL32, RELATIVE, 32},
    {R_PPC_ADDR16, ABSOLUTE, 16}, {R_PPC_UADDR16, ABSOLUTE, 16}, {R_PPC_DTPREL32, THREAD_LOCAL, 32},
    {R_PPC_NONE, NOTHING, 8},
};

static const struct kind ppc64_kinds[] = {
    {R_PPC64_ADDR32, ABSOLUTE, 32},  {R_PPC64_ADDR64, ABSOLUTE, 64},  {R_PPC64_UADDR32, ABSOLUTE, 32},
    {R_PPC64_UADDR64, ABSOLUTE, 64}, {R_PPC64_REL32, RELATIVE, 32},   {R_PPC64_REL64, RELATIVE, 64},
    {R_PPC64_ADDR16, ABSOLUTE, 16},  {R_PPC64_UADDR16, ABSOLUTE, 16}, {R_PPC64_DTPREL64, THREAD_LOCAL, 64},
    {R_PPC64_NONE, NOTHING, 8},
};

static const struct kind s390_kinds[] = {
    {R_390_32, ABSOLUTE, 32},
    {R_390_64, ABSOLUTE, 64},
    {R_390_PC32, RELATIVE, 32},
    {R_390_PC64, RELATIVE, 64},
    {R_390_16, ABSOLUTE, 16},
    {R_390_PC16, RELATIVE, 16},
    {R_390_8, ABSOLUTE, 8},
    {R_390_TLS_LDO32, THREAD_LOCAL, 32},
    {R_390_TLS_LDO64, THREAD_LOCAL, 64},
    {R_390_NONE, NOTHING, 8},
};

static const struct kind mips_kinds[] = {
    {R_MIPS_32, ABSOLUTE, 32},
    {R_MIPS_64, ABSOLUTE, 64},
    {R_MIPS_16, ABSOLUTE, 16},
    {MIPS_PC32, RELATIVE, 32},
    {R_MIPS_TLS_DTPREL32, THREAD_LOCAL, 32},
    {R_MIPS_TLS_DTPREL64, THREAD_LOCAL, 64},
    {R_MIPS_NONE, NOTHING, 8},
};

static const struct kind sparc_kinds[] = {
    {R_SPARC_UA32, ABSOLUTE, 32},
    {R_SPARC_UA64, ABSOLUTE, 64},
    {R_SPARC_32, ABSOLUTE, 32},
    {R_SPARC_64, ABSOLUTE, 64},
    {R_SPARC_DISP32, RELATIVE, 32},
    {R_SPARC_DISP64, RELATIVE, 64},
    {R_SPARC_UA16, ABSOLUTE, 16},
    {R_SPARC_16, ABSOLUTE, 16},
    {R_SPARC_8, ABSOLUTE, 8},
    {R_SPARC_DISP16, RELATIVE, 16},
    {R_SPARC_DISP8, RELATIVE, 8},
    {R_SPARC_TLS_DTPOFF32, THREAD_LOCAL, 32},
    {R_SPARC_TLS_DTPOFF64, THREAD_LOCAL, 64},
    {R_SPARC_NONE, NOTHING, 8},
};

#define KINDS(table) table, sizeof table / sizeof *table

/* The last entry is for every machine that is not listed. */
static const struct machine machines[] = {
    {EM_X86_64, 0, KINDS(x86_64_kinds)},    {EM_386, 0, KINDS(i386_kinds)},
    {EM_AARCH64, 0, KINDS(aarch64_kinds)},  {EM_ARM, 0, KINDS(arm_kinds)},
    {EM_RISCV, 0x800, KINDS(riscv_kinds)},  {EM_LOONGARCH, 0, KINDS(loongarch_kinds)},
    {EM_PPC64, 0x8000, KINDS(ppc64_kinds)}, {EM_PPC, 0x8000, KINDS(ppc_kinds)},
    {EM_S390, 0, KINDS(s390_kinds)},        {EM_MIPS, 0x8000, KINDS(mips_kinds)},
    {EM_SPARCV9, 0, KINDS(sparc_kinds)},    {EM_SPARC32PLUS, 0, KINDS(sparc_kinds)},
    {EM_SPARC, 0, KINDS(sparc_kinds)},      {EM_NONE, 0, NULL, 0},
};

static const struct machine *machine_of(const struct sxt_elf *elf)
{
    const struct machine *machine = machines;
    while (machine->number != elf->machine && machine->count > 0)
        machine++;
    return machine;
}

static int apply_section(struct target *target, const struct sxt_elf_section *relocations, sxt_error *error)
{
    struct sxt_elf *elf = target->elf;
    bool addend = relocations->type == SHT_RELA;
    size_t entry = (elf->is_64 ? 8 : 4) * (addend ? 3 : 2);
    if (relocations->entry_size != entry && relocations->entry_size != 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, relocations->offset, "relocations: entries of %llu bytes, not %zu",
                        (unsigned long long)relocations->entry_size, entry);
    struct sxt_elf_bytes bytes;
    int status = sxt_elf_section_bytes(elf, relocations, &bytes, error);
    if (status != SXT_OK || bytes.size == 0)
        return status;
    status = open_symbols(target, relocations, error);
    if (status != SXT_OK)
        return status;
    if (target->data == NULL) {
        target->data = (uint8_t *)sxt_arena_copy(&elf->arena, target->bytes->data, target->bytes->size);
        if (target->data == NULL)
            return sxt_fail_memory(error, target->bytes->size);
        target->bytes->data = target->data;
    }
    size_t count = bytes.size / entry;
    for (size_t i = 0; i < count; i++) {
        struct relocation relocation = read_relocation(elf, bytes.data + i * entry, addend);
        if (!apply(target, &relocation))
            target->skipped++;
    }
    if (bytes.size % entry != 0)
        target->skipped++;
    return SXT_OK;
}

/*
 * Does not count the bytes as read: a file may have thousands of debug sections that all use the same symbol table, and
 * each reads only the symbols that its relocations name.
 */
static int shared_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                        sxt_error *error)
{
    uint64_t handed_out = elf->handed_out;
    int status = sxt_elf_section_bytes(elf, section, out, error);
    if (status == SXT_OK && !out->inflated)
        elf->handed_out = handed_out;
    return status;
}

/*
 * Opens the symbol table, once for all relocations of the target. A valid file has only one. Searching for the section
 * indices of several tables would let a file of many small sections waste time.
 */
static int open_symbols(struct target *target, const struct sxt_elf_section *relocations, sxt_error *error)
{
    struct sxt_elf *elf = target->elf;
    const struct sxt_elf_section *section =
        relocations->link < elf->section_count ? &elf->sections[relocations->link] : NULL;
    if (section == NULL || section->type != SHT_SYMTAB)
        return sxt_fail(error, SXT_ERROR_FORMAT, relocations->offset,
                        "relocations: section %u of %zu is not a symbol table", relocations->link, elf->section_count);
    if (section == target->symbol_section)
        return SXT_OK;
    if (target->symbol_section != NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, relocations->offset,
                        "relocations of one section use several symbol tables");
    target->symbol_section = section;
    target->symbols = (struct sxt_elf_symbol_table){.elf = elf, .section = section};
    size_t entry = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (section->entry_size != entry && section->entry_size != 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, section->offset, "symbol table: entries of %llu bytes, not %zu",
                        (unsigned long long)section->entry_size, entry);
    int status = shared_bytes(elf, section, &target->symbols.entries, error);
    if (status != SXT_OK)
        return status;
    target->symbols.count = target->symbols.entries.size / entry;
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].type == SHT_SYMTAB_SHNDX && elf->sections[i].link == relocations->link)
            return shared_bytes(elf, &elf->sections[i], &target->symbols.indices, error);
    return SXT_OK;
}

static struct relocation read_relocation(const struct sxt_elf *elf, const uint8_t *from, bool addend)
{
    struct relocation relocation = {.addend_in_place = !addend};
    bool big = elf->big_endian;
    if (!elf->is_64) {
        uint32_t info = sxt_load_u32(from + 4, big);
        relocation.offset = sxt_load_u32(from, big);
        relocation.type = info & 0xff;
        relocation.symbol = info >> 8;
        if (addend)
            relocation.addend = (uint64_t)(int64_t)(int32_t)sxt_load_u32(from + 8, big);
        return relocation;
    }
    relocation.offset = sxt_load_u64(from, big);
    if (elf->machine == EM_MIPS) {
        /*
         * Not one number, but a symbol, then bytes: second symbol, third, second and first type. Usually there is one
         * type.
         */
        relocation.symbol = sxt_load_u32(from + 8, big);
        relocation.type = sxt_load_u32(from + 12, true);
    } else {
        uint64_t info = sxt_load_u64(from + 8, big);
        relocation.type = (uint32_t)info;
        relocation.symbol = (uint32_t)(info >> 32);
    }
    if (addend)
        relocation.addend = sxt_load_u64(from + 16, big);
    return relocation;
}

static const struct kind *kind_of(const struct machine *machine, uint32_t type)
{
    for (size_t i = 0; i < machine->count; i++)
        if (machine->kinds[i].type == type)
            return &machine->kinds[i];
    return NULL;
}

/* Offsets in a section that is not loaded are relative to its start, whatever its address field says. */
static uint64_t base_of(const struct sxt_elf_section *section)
{
    return section->flags & SHF_ALLOC ? section->address : 0;
}

/* The symbol's value is BASE + VALUE. Returns false if the symbol or its section does not exist. */
static bool find_symbol(const struct target *target, uint32_t index, uint64_t *base, uint64_t *value)
{
    const struct sxt_elf *elf = target->elf;
    *base = *value = 0;
    if (index == 0)
        return true;
    if (index >= target->symbols.count)
        return false;
    struct sxt_elf_symbol symbol = sxt_elf_symbol_at(&target->symbols, index);
    uint32_t number = symbol.section;
    if (number == SHN_XINDEX) {
        if (!sxt_fits((uint64_t)index * 4, 1, 4, target->symbols.indices.size))
            return false;
        number = sxt_load_u32(target->symbols.indices.data + (size_t)index * 4, elf->big_endian);
    } else if (number >= SHN_LORESERVE) {
        /* Common symbols (some machines have several kinds) have no address yet. */
        *value = number == SHN_ABS ? symbol.value : 0;
        return true;
    }
    if (number == SHN_UNDEF)
        return true;
    if (number >= elf->section_count)
        return false;
    *base = base_of(&elf->sections[number]);
    *value = symbol.value;
    return true;
}

static uint64_t load_field(const uint8_t *from, unsigned bits, bool big_endian)
{
    switch (bits) {
    case 64:
        return sxt_load_u64(from, big_endian);
    case 32:
        return sxt_load_u32(from, big_endian);
    case 24:
        return big_endian ? (uint32_t)from[0] << 16 | from[1] << 8 | from[2]
                          : (uint32_t)from[2] << 16 | from[1] << 8 | from[0];
    case 16:
        return sxt_load_u16(from, big_endian);
    default:
        return *from;
    }
}

static void store_field(uint8_t *to, unsigned bits, bool big_endian, uint64_t value)
{
    if (bits == 6) {
        *to = (uint8_t)((*to & 0xc0) | (value & 0x3f));
    } else if (bits == 32) {
        uint32_t swapped = (uint32_t)value;
        swapped = sxt_load_u32(&swapped, big_endian);
        memcpy(to, &swapped, sizeof swapped);
    } else if (bits == 64) {
        value = sxt_load_u64(&value, big_endian);
        memcpy(to, &value, sizeof value);
    } else {
        for (unsigned i = 0; i < bits / 8; i++)
            to[big_endian ? bits / 8 - 1 - i : i] = (uint8_t)(value >> 8 * i);
    }
}

static void store_leb(uint8_t *to, size_t length, uint64_t value)
{
    for (size_t i = 0; i < length; i++)
        to[i] = (uint8_t)((value >> 7 * i & 0x7f) | (i + 1 < length ? 0x80 : 0));
}

static bool apply(struct target *target, const struct relocation *relocation)
{
    const struct kind *kind = kind_of(target->machine, relocation->type);
    if (kind == NULL)
        return false;
    if (kind->operation == NOTHING)
        return true;
    uint64_t base, value, before;
    size_t length = (kind->bits + 7u) / 8;
    if (!sxt_fits(relocation->offset, 1, length, target->bytes->size) ||
        !find_symbol(target, relocation->symbol, &base, &value))
        return false;
    bool big = target->elf->big_endian;
    uint8_t *field = target->data + relocation->offset;
    if (kind->bits == LEB) {
        length = sxt_varint_decode(field, target->bytes->size - relocation->offset, &before);
        if (length == 0)
            return false;
    } else {
        before = load_field(field, kind->bits, big);
    }

    bool keeps_before = kind->operation == ADD || kind->operation == SUBTRACT;
    value += relocation->addend_in_place && !keeps_before ? before : relocation->addend;
    if (kind->operation == THREAD_LOCAL)
        value -= target->machine->thread_start;
    else
        value += base;
    if (kind->operation == RELATIVE)
        value -= base_of(target->section) + relocation->offset;
    if (keeps_before)
        value = kind->operation == ADD ? before + value : before - value;

    if (kind->bits == LEB)
        store_leb(field, length, value);
    else
        store_field(field, kind->bits, big, value);
    return true;
}
