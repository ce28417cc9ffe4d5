/*
 * find.c: finds the Go function table in an ELF file, and the start of the text that it describes.
 *
 * The linker names the section of the table, but strip tools and packers rename it, and old position-independent builds
 * have the table inside .data.rel.ro. Then the table is found by its header. A possible header is accepted only if the
 * rest of the table is consistent with it; of several tables, the one that the runtime's module data points to is used.
 *
 * Since Go 1.18, entries are relative to the start of the text, which is not always the start of .text (C code may come
 * first), and since 1.26 the header does not contain it. The module data does:
 *
 *     1.2     functions, functab, files (each a pointer, a length and a capacity), findfunctab, first pc, last pc, text
 *     1.16+   header, names, file lists, file names, pc-value tables, functions, functab (all but the header as above),
 *             findfunctab, first pc, last pc, text, end of text, ..., base of funcdata (its position varies), ...
 *
 * In a position-independent file these words may be zero until the relocations are applied.
 */
#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "source/go/table.h"

/* How many candidates for a table or for module data are examined. */
#define CANDIDATE_LIMIT 8

#define MODULE_WORDS    48
#define MODULE_TEXT     22
#define MODULE_ETEXT    23
#define MODULE_TEXT_1_2 12
/* The base of funcdata is one of these words: 38 in Go 1.18, 40 in 1.20, 43 in 1.27. */
#define MODULE_BASES_FROM 36
#define MODULE_BASES_TO   46

enum access { READ_ONLY, WRITABLE, EXECUTABLE };

/* A loaded part of the file that is searched. */
struct region {
    const uint8_t *data;
    size_t size;
    uint64_t address;
    uint64_t offset;
};

/* Iterates over such parts. Section headers may overlap, so the total number of bytes is limited. */
struct search {
    const struct sxt_elf *elf;
    enum access access;
    size_t index;
    uint64_t bytes_left;
};

/* Relative relocations with explicit addends. Without addends, the relocated values are in the file already. */
struct relocations {
    const uint8_t *data;
    size_t count;
    unsigned type;
};

struct module {
    uint64_t words[MODULE_WORDS]; /* 0 after the end of the readable part */
};

static int open_section(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_go_table *table,
                        sxt_error *error);
static int find_text_start(struct sxt_elf *elf, const struct relocations *relocations, struct sxt_go_table *table,
                           struct sxt_go_bases *bases, sxt_error *error);
static bool find_by_content(struct sxt_elf *elf, const struct relocations *relocations, struct sxt_go_table *table);
static bool search_region(struct sxt_elf *elf, const struct relocations *relocations, const struct region *region,
                          unsigned *candidates, struct sxt_go_table *fallback, struct sxt_go_table *table);
static bool is_plausible(const struct sxt_elf *elf, const struct sxt_go_table *table);
static bool find_module(const struct sxt_elf *elf, const struct relocations *relocations,
                        const struct sxt_go_table *table, struct module *module);
static void find_symbols(struct sxt_elf *elf, uint64_t *text, uint64_t *funcdata);
static int relocate(struct sxt_elf *elf, const struct relocations *relocations, struct sxt_go_table *table,
                    sxt_error *error);
static bool is_executable(const struct sxt_elf *elf, uint64_t address);
static struct search start_search(const struct sxt_elf *elf, enum access access);
static bool next_region(struct search *search, struct region *region);
static struct relocations find_relocations(const struct sxt_elf *elf);
static void apply(const struct sxt_elf *elf, const struct relocations *relocations, uint64_t address, uint8_t *data,
                  size_t size);

int sxt_go_table_find(struct sxt_elf *elf, struct sxt_go_table *table, struct sxt_go_bases *bases, bool *found,
                      sxt_error *error)
{
    *found = false;
    bases->count = 0;
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gopclntab");
    if (section == NULL)
        section = sxt_elf_section_named(elf, ".data.rel.ro.gopclntab");
    /* A separate debug file has the section's header, but not its bytes. */
    if (section != NULL && section->type == SHT_NOBITS)
        return SXT_OK;

    struct relocations relocations = find_relocations(elf);
    if (section != NULL) {
        *found = true;
        int status = open_section(elf, section, table, error);
        if (status == SXT_OK)
            status = relocate(elf, &relocations, table, error);
        if (status != SXT_OK)
            return status;
    } else {
        *found = find_by_content(elf, &relocations, table);
        if (!*found)
            return SXT_OK;
    }
    return table->version < SXT_GO_1_18 ? SXT_OK : find_text_start(elf, &relocations, table, bases, error);
}

/* Uses the most reliable source first. Symbols and module data also give the base of funcdata. */
static int find_text_start(struct sxt_elf *elf, const struct relocations *relocations, struct sxt_go_table *table,
                           struct sxt_go_bases *bases, sxt_error *error)
{
    uint64_t text = 0, funcdata = 0;
    find_symbols(elf, &text, &funcdata);
    if (funcdata != 0)
        bases->address[bases->count++] = funcdata;
    struct module module;
    if (find_module(elf, relocations, table, &module)) {
        if (text == 0)
            text = module.words[MODULE_TEXT];
        for (unsigned i = MODULE_BASES_FROM; i < MODULE_BASES_TO && bases->count < SXT_GO_BASE_LIMIT; i++)
            if (module.words[i] != 0)
                bases->address[bases->count++] = module.words[i];
    }
    if (text == 0 && table->header_text != 0 && is_executable(elf, table->header_text))
        text = table->header_text;
    if (text == 0) {
        const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".text");
        if (section == NULL)
            return sxt_fail(error, SXT_ERROR_FORMAT, table->offset,
                            "go function table: cannot find the start of the text");
        text = section->address;
    }
    table->text_start = text;
    return SXT_OK;
}

static int open_section(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_go_table *table,
                        sxt_error *error)
{
    struct sxt_elf_bytes bytes;
    int status = sxt_elf_section_bytes(elf, section, &bytes, error);
    if (status != SXT_OK)
        return status;
    return sxt_go_table_open(table, bytes.data, bytes.size, section->address, bytes.offset, error);
}

/*
 * Searches read-only data first, where the table usually is. Searches code only if there are no sections: then
 * read-only data may be in the same segment.
 */
static bool find_by_content(struct sxt_elf *elf, const struct relocations *relocations, struct sxt_go_table *table)
{
    unsigned candidates = 0;
    struct sxt_go_table fallback = {.data = NULL};
    if (elf->type == ET_REL)
        return false;
    enum access last = elf->section_count != 0 ? WRITABLE : EXECUTABLE;
    for (enum access access = READ_ONLY; access <= last; access++) {
        struct search search = start_search(elf, access);
        struct region region;
        while (next_region(&search, &region))
            if (search_region(elf, relocations, &region, &candidates, &fallback, table))
                return true;
    }
    *table = fallback;
    return fallback.data != NULL;
}

/* Says whether a table of this byte order could begin with these eight bytes. */
static inline bool may_be_header(uint64_t bytes, bool big_endian)
{
    return big_endian ? (bytes & 0xFFFFFF00FFFF0000u) == 0xFFFFFF0000000000u
                      : (bytes & 0x0000FFFFFFFFFF00u) == 0x00000000FFFFFF00u;
}

/* *FALLBACK gets the first valid table that no module data points to. */
static bool search_region(struct sxt_elf *elf, const struct relocations *relocations, const struct region *region,
                          unsigned *candidates, struct sxt_go_table *fallback, struct sxt_go_table *table)
{
    size_t step = elf->is_64 ? 8 : 4;
    for (size_t at = -region->address & (step - 1); sxt_fits(at, 1, 8, region->size); at += step) {
        if (!may_be_header(sxt_load_u64(region->data + at, elf->big_endian), elf->big_endian))
            continue;
        if (sxt_go_table_open(table, region->data + at, region->size - at, region->address + at, region->offset + at,
                              NULL) != SXT_OK ||
            table->pointer_size != (elf->is_64 ? 8 : 4) || table->function_count == 0)
            continue;
        if (*candidates >= CANDIDATE_LIMIT)
            return false;
        *candidates += 1;
        struct module module;
        if (relocate(elf, relocations, table, NULL) != SXT_OK || !is_plausible(elf, table))
            continue;
        if (find_module(elf, relocations, table, &module))
            return true;
        if (fallback->data == NULL)
            *fallback = *table;
    }
    return false;
}

/* Says whether the parts of a table are consistent with each other. */
static bool is_plausible(const struct sxt_elf *elf, const struct sxt_go_table *table)
{
    uint64_t before = sxt_go_table_pc(table, 0);
    if (table->version < SXT_GO_1_18 && !is_executable(elf, before))
        return false;
    for (size_t i = 1; i <= table->function_count; i++) {
        uint64_t pc = sxt_go_table_pc(table, i);
        if (pc < before)
            return false;
        before = pc;
    }
    size_t entry = table->functions;
    for (size_t i = 0; i < table->function_count && i < 16; i++, entry += 2 * table->field_size) {
        struct sxt_go_record record;
        if (!sxt_go_table_record(table, i, &record))
            return false;
        /* The record repeats the entry. */
        uint64_t offset = sxt_go_word(table, entry + table->field_size, table->field_size);
        if (memcmp(table->data + entry, table->data + table->records + offset, table->field_size) != 0)
            return false;
        if (sxt_go_table_text(table, table->names + (uint64_t)record.name, 65536).size == 0)
            return false;
    }
    return true;
}

static bool read_module(const struct sxt_elf *elf, const struct relocations *relocations,
                        const struct sxt_go_table *table, uint64_t address, struct module *module)
{
    uint8_t bytes[MODULE_WORDS * 8] = {0};
    unsigned word = table->pointer_size;
    uint64_t available = sxt_elf_available_at(elf, address);
    size_t size = available < (uint64_t)MODULE_WORDS * word ? available : (size_t)MODULE_WORDS * word;
    const uint8_t *raw = sxt_elf_at_address(elf, address, size);
    if (raw == NULL)
        return false;
    memcpy(bytes, raw, size);
    apply(elf, relocations, address, bytes, size);
    for (unsigned i = 0; i < MODULE_WORDS; i++)
        module->words[i] =
            word == 8 ? sxt_load_u64(bytes + i * 8, table->big_endian) : sxt_load_u32(bytes + i * 4, table->big_endian);

    const uint64_t *words = module->words;
    if (words[0] != table->address)
        return false;
    if (table->version == SXT_GO_1_2)
        return words[3] == table->address + table->functions && is_executable(elf, words[MODULE_TEXT_1_2]);
    return words[1] == table->address + table->names && words[16] == table->address + table->functions &&
           words[MODULE_TEXT] < words[MODULE_ETEXT] && is_executable(elf, words[MODULE_TEXT]);
}

/* The module data begins with a pointer to the table: in writable data, or as the addend of a relocation. */
static bool find_module(const struct sxt_elf *elf, const struct relocations *relocations,
                        const struct sxt_go_table *table, struct module *module)
{
    unsigned word = table->pointer_size;
    unsigned candidates = 0;
    if (word != (elf->is_64 ? 8 : 4))
        return false;
    struct search search = start_search(elf, WRITABLE);
    struct region region;
    while (next_region(&search, &region)) {
        for (size_t at = -region.address & (word - 1); sxt_fits(at, 1, word, region.size); at += word) {
            uint64_t value = word == 8 ? sxt_load_u64(region.data + at, table->big_endian)
                                       : sxt_load_u32(region.data + at, table->big_endian);
            if (value != table->address)
                continue;
            if (read_module(elf, relocations, table, region.address + at, module))
                return true;
            if (++candidates >= CANDIDATE_LIMIT)
                break;
        }
    }
    for (size_t i = 0; i < relocations->count && candidates < 2 * CANDIDATE_LIMIT; i++) {
        const uint8_t *entry = relocations->data + i * (3 * word);
        uint64_t offset = word == 8 ? sxt_load_u64(entry, table->big_endian) : sxt_load_u32(entry, table->big_endian);
        uint64_t addend =
            word == 8 ? sxt_load_u64(entry + 16, table->big_endian) : sxt_load_u32(entry + 8, table->big_endian);
        if (addend != table->address)
            continue;
        if (read_module(elf, relocations, table, offset, module))
            return true;
        candidates++;
    }
    return false;
}

static bool is_named(const struct sxt_elf_bytes *names, uint32_t name, const char *wanted)
{
    size_t size = strlen(wanted) + 1;
    return sxt_fits(name, size, 1, names->size) && memcmp(names->data + name, wanted, size) == 0;
}

static void find_symbols(struct sxt_elf *elf, uint64_t *text, uint64_t *funcdata)
{
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, SHT_SYMTAB);
    struct sxt_elf_bytes table, names;
    if (section == NULL || section->link >= elf->section_count ||
        sxt_elf_section_bytes(elf, section, &table, NULL) != SXT_OK ||
        sxt_elf_section_bytes(elf, &elf->sections[section->link], &names, NULL) != SXT_OK)
        return;
    size_t entry = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    unsigned candidates = 0;
    for (size_t at = 0; sxt_fits(at, 1, entry, table.size) && candidates < CANDIDATE_LIMIT; at += entry) {
        const uint8_t *symbol = table.data + at;
        uint32_t name = sxt_load_u32(symbol, elf->big_endian);
        bool is_text = is_named(&names, name, "runtime.text");
        if (!is_text && !is_named(&names, name, "go:func.*") && !is_named(&names, name, "go.func.*"))
            continue;
        uint16_t index = sxt_load_u16(symbol + (elf->is_64 ? 6 : 14), elf->big_endian);
        uint64_t value =
            elf->is_64 ? sxt_load_u64(symbol + 8, elf->big_endian) : sxt_load_u32(symbol + 4, elf->big_endian);
        if (index == SHN_UNDEF)
            continue;
        if (elf->type == ET_REL && index < elf->section_count)
            value += elf->sections[index].address;
        if (!is_text)
            *funcdata = value;
        else if (is_executable(elf, value))
            *text = value;
        candidates++;
    }
}

/* Before Go 1.18, entries and funcdata are absolute, so in a position-independent file they must be relocated. */
static int relocate(struct sxt_elf *elf, const struct relocations *relocations, struct sxt_go_table *table,
                    sxt_error *error)
{
    if (relocations->count == 0)
        return SXT_OK;
    if (table->version >= SXT_GO_1_18) {
        size_t at = 8 + 2 * table->pointer_size;
        uint8_t word[8];
        memcpy(word, table->data + at, table->pointer_size);
        apply(elf, relocations, table->address + at, word, table->pointer_size);
        table->header_text =
            table->pointer_size == 8 ? sxt_load_u64(word, table->big_endian) : sxt_load_u32(word, table->big_endian);
        return SXT_OK;
    }
    uint8_t *copy = sxt_arena_alloc(&elf->arena, table->size);
    if (copy == NULL)
        return sxt_fail_memory(error, table->size);
    memcpy(copy, table->data, table->size);
    apply(elf, relocations, table->address, copy, table->size);
    return sxt_go_table_open(table, copy, table->size, table->address, table->offset, error);
}

static bool is_executable(const struct sxt_elf *elf, uint64_t address)
{
    if (sxt_elf_in_code_segment(elf, address))
        return true;
    for (size_t i = 0; i < elf->section_count && elf->segment_count == 0; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) && (section->flags & SHF_EXECINSTR) && address >= section->address &&
            address - section->address < section->size)
            return true;
    }
    return false;
}

static struct search start_search(const struct sxt_elf *elf, enum access access)
{
    return (struct search){.elf = elf, .access = access, .index = 0, .bytes_left = 4 * (uint64_t)elf->size};
}

static bool section_region(const struct sxt_elf_section *section, enum access access, struct region *region)
{
    *region = (struct region){.size = section->size, .address = section->address, .offset = section->offset};
    enum access own = section->flags & SHF_EXECINSTR ? EXECUTABLE : section->flags & SHF_WRITE ? WRITABLE : READ_ONLY;
    return own == access && (section->flags & SHF_ALLOC) && section->type == SHT_PROGBITS &&
           !(section->flags & SHF_COMPRESSED);
}

static bool segment_region(const struct sxt_elf_segment *segment, enum access access, struct region *region)
{
    *region = (struct region){.size = segment->file_size, .address = segment->address, .offset = segment->offset};
    enum access own = segment->flags & PF_X ? EXECUTABLE : segment->flags & PF_W ? WRITABLE : READ_ONLY;
    return own == access && segment->type == PT_LOAD;
}

/* Gets the next part with the requested access: a section, or a segment if the file has no sections. */
static bool next_region(struct search *search, struct region *region)
{
    const struct sxt_elf *elf = search->elf;
    bool by_section = elf->section_count != 0;
    size_t count = by_section ? elf->section_count : elf->segment_count;
    while (search->index < count) {
        size_t i = search->index++;
        if (!(by_section ? section_region(&elf->sections[i], search->access, region)
                         : segment_region(&elf->segments[i], search->access, region)))
            continue;
        if (!sxt_fits(region->offset, region->size, 1, elf->size) || region->size > search->bytes_left)
            continue;
        search->bytes_left -= region->size;
        region->data = elf->data + region->offset;
        return true;
    }
    return false;
}

static unsigned relative_type(const struct sxt_elf *elf)
{
    switch (elf->machine) {
    case EM_X86_64:
        return R_X86_64_RELATIVE;
    case EM_AARCH64:
        return R_AARCH64_RELATIVE;
    case EM_RISCV:
        return R_RISCV_RELATIVE;
    case EM_PPC64:
        return R_PPC64_RELATIVE;
    case EM_S390:
        return R_390_RELATIVE;
    case EM_LOONGARCH:
        return 3; /* R_LARCH_RELATIVE */
    default:
        return 0;
    }
}

static struct relocations find_relocations(const struct sxt_elf *elf)
{
    struct relocations none = {.data = NULL, .count = 0, .type = relative_type(elf)};
    uint64_t address = 0, size = 0;
    unsigned word = elf->is_64 ? 8 : 4;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type != PT_DYNAMIC || !sxt_fits(segment->offset, segment->file_size, 1, elf->size))
            continue;
        struct sxt_cursor at =
            sxt_cursor_make(elf->data + segment->offset, segment->file_size, segment->offset, elf->big_endian);
        while (sxt_cursor_left(&at) >= 2 * word) {
            uint64_t tag = sxt_cursor_uint(&at, word);
            uint64_t value = sxt_cursor_uint(&at, word);
            if (tag == DT_NULL)
                break;
            if (tag == DT_RELA)
                address = value;
            else if (tag == DT_RELASZ)
                size = value;
        }
    }
    if (none.type == 0 || address == 0 || size == 0)
        return none;
    const uint8_t *data = sxt_elf_at_address(elf, address, size);
    if (data == NULL)
        return none;
    return (struct relocations){.data = data, .count = size / (3 * word), .type = none.type};
}

/* Relocates the SIZE bytes at DATA, a copy of what is loaded at ADDRESS, as the loader would at load address 0. */
static void apply(const struct sxt_elf *elf, const struct relocations *relocations, uint64_t address, uint8_t *data,
                  size_t size)
{
    unsigned word = elf->is_64 ? 8 : 4;
    for (size_t i = 0; i < relocations->count; i++) {
        const uint8_t *entry = relocations->data + i * (3 * word);
        uint64_t offset = word == 8 ? sxt_load_u64(entry, elf->big_endian) : sxt_load_u32(entry, elf->big_endian);
        if (offset < address || !sxt_fits(offset - address, 1, word, size))
            continue;
        uint64_t info = word == 8 ? sxt_load_u64(entry + 8, elf->big_endian) & UINT32_MAX
                                  : sxt_load_u32(entry + 4, elf->big_endian) & UINT8_MAX;
        if (info == relocations->type)
            memcpy(data + (offset - address), entry + 2 * word, word); /* both in the file's byte order */
    }
}
