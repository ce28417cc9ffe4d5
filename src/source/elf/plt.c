/*
 * plt.c: names for PLT entries.
 *
 * An entry of the procedure linkage table jumps through a slot of the global offset table; a dynamic relocation says
 * which symbol fills the slot. Each entry is decoded to find its slot:
 *
 *     .plt.sec   f3 0f 1e fa  f2 ff 25 disp32      endbr64; bnd jmp *disp(%rip)       slot = next instruction + disp
 *
 * Other entries (the first one, lazy stubs that only push a number) get no name.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/search.h"
#include "base/sort.h"
#include "source/elf/elf.h"

/* Which dynamic symbol fills which slot. */
struct slots {
    struct sxt_sort_item *items; /* key: address of the slot; index: of the dynamic symbol */
    size_t count, capacity;
};

/*
 * Decodes the entry at CODE (SIZE bytes left, loaded at ADDRESS). Returns true and sets SLOT and LENGTH if it has a
 * known form.
 */
typedef bool decode_entry(const struct sxt_elf *elf, const uint8_t *code, size_t size, uint64_t address, uint64_t got,
                          uint64_t *slot, size_t *length);

static bool collect_slots(struct sxt_elf *elf, const struct sxt_elf_section *dynsym, struct slots *slots);
static decode_entry *decoder_for(const struct sxt_elf *elf, size_t *step);
static void name_entries(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_symbol_table *table,
                         const struct slots *slots, struct sxt_symbols *symbols);

int sxt_elf_add_plt(struct sxt_elf *elf, struct sxt_symbols *symbols, sxt_error *error)
{
    const struct sxt_elf_section *dynsym = sxt_elf_section_typed(elf, SHT_DYNSYM);
    size_t step;
    if (dynsym == NULL || elf->type == ET_REL || decoder_for(elf, &step) == NULL)
        return SXT_OK;
    struct sxt_elf_symbol_table table;
    int status = sxt_elf_symbol_table_open(elf, dynsym, &table, error);
    if (status != SXT_OK)
        return status;
    struct slots slots = {0};
    if (!collect_slots(elf, dynsym, &slots)) {
        free(slots.items);
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading PLT relocations");
    }
    static const char *const names[] = {".plt", ".plt.sec", ".plt.got", ".plt.bnd"};
    for (size_t i = 0; i < sizeof names / sizeof *names && slots.count > 0; i++) {
        const struct sxt_elf_section *section = sxt_elf_section_named(elf, names[i]);
        if (section != NULL && (section->flags & SHF_EXECINSTR) && section->type == SHT_PROGBITS)
            name_entries(elf, section, &table, &slots, symbols);
    }
    free(slots.items);
    return SXT_OK;
}

static bool collect_slots(struct sxt_elf *elf, const struct sxt_elf_section *dynsym, struct slots *slots)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        bool addend = section->type == SHT_RELA;
        struct sxt_elf_bytes bytes;
        if ((!addend && section->type != SHT_REL) || section->link >= elf->section_count ||
            &elf->sections[section->link] != dynsym || sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
            continue;
        size_t word = elf->is_64 ? 8 : 4;
        size_t entry = word * (addend ? 3 : 2);
        for (size_t at = 0; at + entry <= bytes.size; at += entry) {
            const uint8_t *record = bytes.data + at;
            uint64_t offset =
                elf->is_64 ? sxt_load_u64(record, elf->big_endian) : sxt_load_u32(record, elf->big_endian);
            uint64_t symbol = elf->is_64 ? sxt_load_u64(record + 8, elf->big_endian) >> 32
                                         : sxt_load_u32(record + 4, elf->big_endian) >> 8;
            if (symbol == 0)
                continue;
            void *moved = sxt_array_grow(slots->items, &slots->capacity, slots->count + 1, sizeof *slots->items);
            if (moved == NULL)
                return false;
            slots->items = moved;
            slots->items[slots->count++] = (struct sxt_sort_item){offset, (uint32_t)symbol};
        }
    }
    if (slots->count == 0)
        return true;
    struct sxt_sort_item *scratch = malloc(slots->count * sizeof *scratch);
    if (scratch == NULL)
        return false;
    sxt_sort(slots->items, scratch, slots->count);
    free(scratch);
    return true;
}

static bool find_slot(const struct slots *slots, uint64_t address, uint32_t *symbol)
{
    size_t at = SXT_SEARCH_FROM(slots->items, slots->count, key, address);
    if (at == slots->count || slots->items[at].key != address)
        return false;
    *symbol = slots->items[at].index;
    return true;
}

static bool decode_x86_64(const struct sxt_elf *elf, const uint8_t *code, size_t size, uint64_t address, uint64_t got,
                          uint64_t *slot, size_t *length)
{
    (void)elf;
    (void)got;
    size_t at = 0;
    if (size >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
        at += 4;
    if (at < size && code[at] == 0xf2)
        at++;
    if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
        return false;
    *slot = address + at + 6 + (uint64_t)(int64_t)(int32_t)sxt_load_u32le(code + at + 2);
    *length = 16;
    return true;
}

static bool decode_i386(const struct sxt_elf *elf, const uint8_t *code, size_t size, uint64_t address, uint64_t got,
                        uint64_t *slot, size_t *length)
{
    (void)elf;
    (void)address;
    size_t at = size >= 4 && memcmp(code, "\xf3\x0f\x1e\xfb", 4) == 0 ? 4 : 0;
    if (at + 6 > size || code[at] != 0xff || (code[at + 1] != 0x25 && code[at + 1] != 0xa3))
        return false;
    uint32_t operand = sxt_load_u32le(code + at + 2);
    *slot = code[at + 1] == 0x25 ? operand : (uint32_t)(got + operand);
    *length = 16;
    return true;
}

static bool decode_aarch64(const struct sxt_elf *elf, const uint8_t *code, size_t size, uint64_t address, uint64_t got,
                           uint64_t *slot, size_t *length)
{
    (void)elf;
    (void)got;
    /* Instructions are little-endian, whatever the byte order of data. */
    size_t at = size >= 4 && sxt_load_u32le(code) == 0xd503245f ? 4 : 0; /* bti c */
    if (at + 8 > size)
        return false;
    uint32_t adrp = sxt_load_u32le(code + at);
    uint32_t ldr = sxt_load_u32le(code + at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return false;
    int64_t pages = (int64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
    pages = (pages ^ 0x100000) - 0x100000;
    *slot = ((address + at) & ~(uint64_t)0xfff) + (uint64_t)(pages * 4096) + (uint64_t)(ldr >> 10 & 0xfff) * 8;
    /* With "bti c" at the start, or "autia1716" before the jump, an entry has six instructions instead of four. */
    bool authenticates = at + 16 <= size && sxt_load_u32le(code + at + 12) == 0xd503219f;
    *length = at == 0 && !authenticates ? 16 : 24;
    return true;
}

/* The immediate operand of an ARM data-processing instruction: 8 bits, rotated right. */
static uint32_t arm_immediate(uint32_t instruction)
{
    uint32_t value = instruction & 0xff;
    uint32_t rotate = (instruction >> 8 & 15) * 2;
    return rotate == 0 ? value : value >> rotate | value << (32 - rotate);
}

static bool decode_arm(const struct sxt_elf *elf, const uint8_t *code, size_t size, uint64_t address, uint64_t got,
                       uint64_t *slot, size_t *length)
{
    (void)got;
    /* BE8 files have little-endian code; older big-endian files do not, and are not decoded. */
    size_t at = size >= 4 && sxt_load_u32le(code) == 0x46c04778 ? 4 : 0; /* bx pc; nop: entry for Thumb code */
    if (elf->big_endian && (elf->flags & EF_ARM_BE8) == 0)
        return false;
    /* add ip, pc, #N; one or two of add ip, ip, #N; ldr pc, [ip, #N]! */
    uint32_t sum = (uint32_t)(address + at + 8);
    for (unsigned i = 0; i < 4 && at + 4 <= size; i++, at += 4) {
        uint32_t instruction = sxt_load_u32le(code + at);
        if (i >= 2 && (instruction & 0xfffff000) == 0xe5bcf000) {
            *slot = (uint32_t)(sum + (instruction & 0xfff));
            *length = at + 4;
            return true;
        }
        if ((instruction & 0xfffff000) != (i == 0 ? 0xe28fc000 : 0xe28cc000))
            return false;
        sum += arm_immediate(instruction);
    }
    return false;
}

static bool decode_riscv(const struct sxt_elf *elf, const uint8_t *code, size_t size, uint64_t address, uint64_t got,
                         uint64_t *slot, size_t *length)
{
    (void)got;
    if (size < 16)
        return false;
    uint32_t auipc = sxt_load_u32le(code);
    uint32_t load = sxt_load_u32le(code + 4);
    uint32_t wanted = elf->is_64 ? 0x000e3e03 : 0x000e2e03; /* ld or lw t3, offset(t3) */
    if ((auipc & 0xfff) != 0xe17 || (load & 0xfffff) != wanted)
        return false;
    *slot = address + (uint64_t)(int64_t)(int32_t)(auipc & 0xfffff000) + (uint64_t)(int64_t)((int32_t)load >> 20);
    if (!elf->is_64)
        *slot = (uint32_t)*slot;
    *length = 16;
    return true;
}

static decode_entry *decoder_for(const struct sxt_elf *elf, size_t *step)
{
    *step = 4;
    switch (elf->machine) {
    case EM_X86_64:
        *step = 16;
        return decode_x86_64;
    case EM_386:
        *step = 16;
        return decode_i386;
    case EM_AARCH64:
        return decode_aarch64;
    case EM_ARM:
        return decode_arm;
    case EM_RISCV:
        return decode_riscv;
    default:
        return NULL;
    }
}

static void add_entry(struct sxt_elf_symbol_table *table, uint32_t index, uint64_t address, uint64_t size,
                      uint32_t section, struct sxt_symbols *symbols)
{
    if (index >= table->count)
        return;
    struct sxt_elf_symbol symbol = sxt_elf_symbol_at(table, index);
    sxt_string name = sxt_elf_symbol_name(table, &symbol);
    char text[4096];
    if (name.size == 0 || name.size + 4 > sizeof text)
        return;
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, "@plt", 4);
    sxt_symbols_add_symbol(symbols, &(struct sxt_model_symbol){.address = address,
                                                               .size = size,
                                                               .name = sxt_symbols_string(symbols, text, name.size + 4),
                                                               .section = section,
                                                               .type = 'P',
                                                               .binding = 'L',
                                                               .source = SXT_SOURCE_DYNSYM});
}

static void name_entries(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_symbol_table *table,
                         const struct slots *slots, struct sxt_symbols *symbols)
{
    struct sxt_elf_bytes bytes;
    if (sxt_elf_section_bytes(elf, section, &bytes, NULL) != SXT_OK)
        return;
    const struct sxt_elf_section *got = sxt_elf_section_named(elf, ".got.plt");
    if (got == NULL)
        got = sxt_elf_section_named(elf, ".got");
    uint64_t got_address = got != NULL ? got->address : 0;
    uint32_t section_name = sxt_symbols_string(symbols, section->name.data, section->name.size);
    size_t step;
    decode_entry *decode = decoder_for(elf, &step);
    /* Entries of x86 have a fixed size, stated by the section; it is 8 only in a .plt.got without endbr. */
    bool x86 = elf->machine == EM_X86_64 || elf->machine == EM_386;
    if (x86)
        step = section->entry_size == 8 ? 8 : 16;
    for (size_t at = 0; at < bytes.size;) {
        uint64_t slot;
        size_t length;
        uint32_t symbol;
        uint64_t address = section->address + at;
        if (!decode(elf, bytes.data + at, bytes.size - at, address, got_address, &slot, &length)) {
            at += step;
            continue;
        }
        if (x86)
            length = step;
        if (length > bytes.size - at)
            length = bytes.size - at;
        if (find_slot(slots, slot, &symbol))
            add_entry(table, symbol, address, length, section_name, symbols);
        at += length;
    }
}
