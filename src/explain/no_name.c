/*
 * no_name.c: why an address has no name.
 *
 * The checks go from the outside in: is anything loaded there; is it code; which functions are around it; does an
 * excluded source have it; is a file missing that would have it.
 */
#include <elf.h>

#include "base/bytes.h"
#include "explain/private.h"

#define PADDING_MAX 4096

static void explain_outside(struct sxt_explainer *explainer, uint64_t address);
static void explain_data(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section);
static void explain_code(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section);

/* The next range that the file loads, from *AT on: a segment, or a section of a file without segments. */
static bool next_loaded(const struct sxt_elf *elf, size_t *at, uint64_t *start, uint64_t *end)
{
    bool segments = elf->segment_count > 0;
    while (*at < (segments ? elf->segment_count : elf->section_count)) {
        size_t i = (*at)++;
        uint64_t size = segments ? elf->segments[i].memory_size : elf->sections[i].size;
        bool is_loaded = segments ? elf->segments[i].type == PT_LOAD : (elf->sections[i].flags & SHF_ALLOC) != 0;
        if (!is_loaded || size == 0)
            continue;
        *start = segments ? elf->segments[i].address : elf->sections[i].address;
        if (!sxt_add_u64(*start, size, end))
            *end = UINT64_MAX;
        return true;
    }
    return false;
}

static bool is_loaded(const struct sxt_elf *elf, uint64_t address)
{
    uint64_t start, end;
    for (size_t at = 0; next_loaded(elf, &at, &start, &end);)
        if (address >= start && address < end)
            return true;
    return false;
}

static const struct sxt_elf_section *section_at(const struct sxt_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        /* The addresses of .tbss overlap those of other sections. */
        bool is_real = (section->flags & SHF_ALLOC) && !((section->flags & SHF_TLS) && section->type == SHT_NOBITS);
        if (is_real && address >= section->address && address - section->address < section->size)
            return section;
    }
    return NULL;
}

void sxt_explain_no_name(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_elf *elf = &explainer->elf;
    const struct sxt_elf_section *section = section_at(elf, address);
    if (section == NULL && !is_loaded(elf, address))
        explain_outside(explainer, address);
    else if (section != NULL ? (section->flags & SHF_EXECINSTR) == 0 : !sxt_elf_in_code_segment(elf, address))
        explain_data(explainer, address, section);
    else
        explain_code(explainer, address, section);
}

/* Advice for an address that would be in the file if it meant something else. */
static void suggest_other_meaning(struct sxt_explainer *explainer, uint64_t address, uint64_t base)
{
    const struct sxt_elf *elf = &explainer->elf;
    sxt_explained_advice advice = {.advice = SXT_ADVICE_ADD_BASE, .address = address + base};
    if (base != 0 && is_loaded(elf, address + base) && address + base > address) {
        sxt_explain_add_advice(explainer, advice);
    } else if (base != 0 && address > base && is_loaded(elf, address - base)) {
        advice = (sxt_explained_advice){.advice = SXT_ADVICE_SUBTRACT_BASE, .address = address - base};
        sxt_explain_add_advice(explainer, advice);
    }
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type != PT_LOAD || address < segment->offset || address - segment->offset >= segment->file_size)
            continue;
        advice = (sxt_explained_advice){.advice = SXT_ADVICE_FILE_OFFSET,
                                        .address = segment->address + (address - segment->offset)};
        sxt_explain_add_advice(explainer, advice);
        return;
    }
}

/* Lists the ranges that the file loads. */
static void list_loaded(struct sxt_explainer *explainer)
{
    const struct sxt_elf *elf = &explainer->elf;
    sxt_explanation *out = &explainer->out;
    uint64_t start, end;
    size_t count = 0;
    for (size_t at = 0; next_loaded(elf, &at, &start, &end);)
        count++;
    sxt_loaded_range *loaded = sxt_arena_calloc(&explainer->arena, count + 1, sizeof *loaded);
    if (loaded == NULL) {
        explainer->no_memory = true;
        return;
    }
    out->loads_sections = elf->segment_count == 0;
    out->loaded = loaded;
    for (size_t at = 0; out->loaded_count < count && next_loaded(elf, &at, &start, &end);)
        loaded[out->loaded_count++] = (sxt_loaded_range){start, end};
}

static void explain_outside(struct sxt_explainer *explainer, uint64_t address)
{
    const sxt_explanation *out = &explainer->out;
    uint64_t base = UINT64_MAX, last = 0;
    list_loaded(explainer);
    if (out->loaded_count == 0) {
        sxt_explain_because(explainer, SXT_WHY_NOTHING_LOADED);
        return;
    }
    for (size_t i = 0; i < out->loaded_count; i++) {
        base = out->loaded[i].start < base ? out->loaded[i].start : base;
        last = out->loaded[i].end > last ? out->loaded[i].end : last;
    }
    sxt_explain_because(explainer, SXT_WHY_OUTSIDE);
    sxt_explain_run_time(explainer, address, last);
    suggest_other_meaning(explainer, address, base);
    if (explainer->elf.type == ET_REL)
        sxt_explain_advise(explainer, SXT_ADVICE_SECTION_BASES);
    if (out->advice_count == 0)
        sxt_explain_advise(explainer, SXT_ADVICE_CHECK_FILE);
}

static void explain_data(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section)
{
    if (section != NULL)
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_NOT_CODE, .section = section->name});
    else
        sxt_explain_because(explainer,
                            explainer->elf.section_count > 0 ? SXT_WHY_BETWEEN_SECTIONS : SXT_WHY_NOT_EXECUTABLE);
    const struct sxt_explain_table *table;
    const struct sxt_model_symbol *symbol = sxt_explain_symbol_at(explainer, address, SXT_SOURCE_ALL, true, &table);
    if (symbol != NULL) {
        sxt_string name = sxt_explain_readable(explainer, sxt_symbols_view(table->symbols, symbol->name));
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_IN_VARIABLE,
                                                                 .name = name,
                                                                 .section = sxt_explain_string(table->section),
                                                                 .address = symbol->address,
                                                                 .size = address - symbol->address});
    }
    const struct sxt_elf_section *text = sxt_elf_section_named(&explainer->elf, ".text");
    if (text != NULL && (text->flags & SHF_EXECINSTR) && text->size > 0)
        sxt_explain_add_advice(
            explainer,
            (sxt_explained_advice){.advice = SXT_ADVICE_CHECK_ADDRESS, .address = text->address, .size = text->size});
}

bool sxt_explain_excluded(struct sxt_explainer *explainer, uint64_t address, uint32_t sources)
{
    uint32_t excluded = sources & ~explainer->options.extract.sources;
    const struct sxt_explain_table *table = NULL;
    const struct sxt_model_symbol *symbol = sxt_explain_symbol_at(explainer, address, excluded, false, &table);
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    struct sxt_go_position position;
    sxt_string name = {NULL, 0};
    uint32_t source = 0;
    if ((excluded & SXT_SOURCE_DWARF) && (dwarf->frame_count > 0 || dwarf->has_row)) {
        source = SXT_SOURCE_DWARF;
        if (dwarf->frame_count > 0)
            name = dwarf->frames[dwarf->frame_count - 1].name;
    } else if ((excluded & SXT_SOURCE_GO) && sxt_explain_go_find(explainer, address, &position)) {
        source = SXT_SOURCE_GO;
    } else if (symbol != NULL) {
        source = table->source;
        name = sxt_symbols_view(table->symbols, symbol->name);
    }
    if (source == 0)
        return false;
    name = sxt_explain_readable(explainer, name);
    sxt_explain_add_reason(explainer,
                           (sxt_explained_reason){.reason = SXT_WHY_SOURCE_EXCLUDED, .source = source, .name = name});
    sxt_explain_add_advice(explainer, (sxt_explained_advice){.advice = SXT_ADVICE_ADD_SOURCE, .source = source});
    return true;
}

/* The address ranges of programs, libraries and kernels at run time, on x86-64 and AArch64. */
static bool looks_like_run_time(uint64_t address)
{
    static const sxt_loaded_range places[] = {
        {UINT64_C(0x550000000000), UINT64_C(0x570000000000)},         /* x86-64: programs */
        {UINT64_C(0x7f0000000000), UINT64_C(0x800000000000)},         /* libraries, vdso */
        {UINT64_C(0xaaaa00000000), UINT64_C(0xaaac00000000)},         /* AArch64: programs */
        {UINT64_C(0xffff00000000), UINT64_C(0x1000000000000)},        /* libraries */
        {UINT64_C(0xffff800000000000), UINT64_C(0xffffffffffffffff)}, /* kernels and their modules */
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (address >= places[i].start && address < places[i].end)
            return true;
    return false;
}

void sxt_explain_run_time(struct sxt_explainer *explainer, uint64_t address, uint64_t end)
{
    bool is_relative = explainer->kind == SXT_KIND_LIDIA || explainer->elf.type == ET_DYN;
    if (address < end)
        return;
    if (looks_like_run_time(address))
        sxt_explain_advise(explainer, SXT_ADVICE_RUN_TIME);
    else if (is_relative)
        sxt_explain_advise(explainer, SXT_ADVICE_MAYBE_RUN_TIME);
}

/* The length of the instruction at CODE if x86 compilers use it as padding; otherwise 0. */
static size_t x86_filler(const uint8_t *code, size_t size)
{
    size_t at = 0;
    if (code[0] == 0xcc || code[0] == 0x00)
        return 1;
    while (at < size && at < 12 && (code[at] == 0x66 || code[at] == 0x2e))
        at++;
    if (at < size && code[at] == 0x90)
        return at + 1;
    if (size - at < 3 || code[at] != 0x0f || code[at + 1] != 0x1f)
        return 0;
    switch (code[at + 2]) {
    case 0x00:
        return at + 3;
    case 0x40:
        return at + 4;
    case 0x44:
        return at + 5;
    case 0x80:
        return at + 7;
    case 0x84:
        return at + 8;
    default:
        return 0;
    }
}

/* Whether the bytes from START to END are padding. */
static bool is_padding(const struct sxt_elf *elf, uint64_t start, uint64_t end)
{
    if (end <= start || end - start > PADDING_MAX)
        return false;
    size_t size = (size_t)(end - start), at = 0;
    const uint8_t *code = sxt_elf_at_address(elf, start, size);
    if (code == NULL)
        return false;
    if (elf->machine == EM_X86_64 || elf->machine == EM_386) {
        for (size_t step = 1; at < size && step > 0; at += step)
            step = x86_filler(code + at, size - at);
        return at >= size;
    }
    static const uint8_t zeros[4], a64_nop[4] = {0x1f, 0x20, 0x03, 0xd5};
    for (; size - at >= 4; at += 4)
        if (memcmp(code + at, zeros, 4) != 0 && (elf->machine != EM_AARCH64 || memcmp(code + at, a64_nop, 4) != 0))
            return false;
    return size >= 4;
}

static void find_neighbours(struct sxt_explainer *explainer, uint64_t address, struct sxt_explain_near *before,
                            struct sxt_explain_near *after, struct sxt_explain_near *unsized)
{
    struct sxt_dwarf_nearby_function left = {.start = 0}, right = {.start = 0};
    sxt_explain_near_symbols(explainer, address, before, after, unsized);
    if (explainer->origins.dwarf == NULL || !sxt_explain_wants(explainer, SXT_SOURCE_DWARF) ||
        sxt_dwarf_find_nearby(explainer->origins.dwarf, address, &explainer->arena, &left, &right, NULL) != SXT_OK)
        return;
    if (left.name.size > 0 && (before->name.data == NULL || left.end > before->end))
        *before = (struct sxt_explain_near){left.name, left.start, left.end};
    if (right.name.size > 0 && (after->name.data == NULL || right.start < after->start))
        *after = (struct sxt_explain_near){right.name, right.start, right.end};
}

/* Names the functions around the address. True if there is only padding between them. */
static bool explain_between(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section)
{
    struct sxt_explain_near before, after, unsized;
    find_neighbours(explainer, address, &before, &after, &unsized);
    uint64_t left = section != NULL ? section->address : address;
    uint64_t right = section != NULL ? section->address + section->size : address;
    bool has_first = before.name.data != NULL && before.end > left;
    bool has_second = after.name.data != NULL && after.start < right;
    sxt_explain_add_reason(explainer,
                           (sxt_explained_reason){.reason = SXT_WHY_IN_NO_FUNCTION,
                                                  .section = section != NULL ? section->name : (sxt_string){NULL, 0}});
    if (has_first)
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_FUNCTION_BEFORE,
                                                                 .name = sxt_explain_readable(explainer, before.name),
                                                                 .address = before.end,
                                                                 .size = address - before.end});
    if (has_second)
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_FUNCTION_AFTER,
                                                                 .name = sxt_explain_readable(explainer, after.name),
                                                                 .address = after.start,
                                                                 .size = after.start - address});
    if (unsized.name.data != NULL && (!has_first || unsized.start >= before.end) && unsized.start >= left) {
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_ZERO_SIZE,
                                                                 .name = sxt_explain_readable(explainer, unsized.name),
                                                                 .address = unsized.start});
        sxt_explain_advise(explainer, SXT_ADVICE_EXTEND_ZERO_SIZE);
        return false;
    }
    if (!is_padding(&explainer->elf, has_first ? before.end : left, has_second ? after.start : right))
        return false;
    sxt_explain_because(explainer, SXT_WHY_PADDING);
    return has_first && has_second;
}

/* What is wrong with the DWARF that should have the address. */
static void explain_dwarf(struct sxt_explainer *explainer)
{
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    if (explainer->origins.dwarf_problem.code != SXT_OK)
        sxt_explain_add_reason(
            explainer, (sxt_explained_reason){.reason = SXT_WHY_DWARF_UNREADABLE,
                                              .name = sxt_explain_string(explainer->origins.dwarf_problem.text)});
    if (dwarf->has_nameless)
        sxt_explain_add_reason(
            explainer, (sxt_explained_reason){
                           .reason = SXT_WHY_FUNCTION_UNNAMED,
                           .section = sxt_explain_string(dwarf->section != NULL ? dwarf->section : ".debug_info"),
                           .address = dwarf->nameless});
    else if (dwarf->has_row && dwarf->frame_count == 0)
        sxt_explain_add_reason(explainer,
                               (sxt_explained_reason){.reason = SXT_WHY_LINE_WITHOUT_NAME, .name = dwarf->unit_name});
    if (dwarf->has_unit && dwarf->damaged_at != UINT64_MAX)
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_UNIT_DAMAGED,
                                                                 .name = dwarf->unit_name,
                                                                 .address = dwarf->damaged_at});
}

static void explain_code(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section)
{
    if (explain_between(explainer, address, section))
        return;
    sxt_explain_excluded(explainer, address, SXT_SOURCE_ALL);
    sxt_explain_dwarf_files(explainer);
    explain_dwarf(explainer);
    bool has_symtab = sxt_elf_section_typed(&explainer->elf, SHT_SYMTAB) != NULL;
    bool has_debug_file = explainer->origins.debug.found;
    if (has_symtab || (explainer->origins.dwarf != NULL && !has_debug_file))
        return;
    if (!has_debug_file)
        sxt_explain_add_reason(explainer,
                               (sxt_explained_reason){.reason = SXT_WHY_STRIPPED,
                                                      .size = sxt_explain_function_count(explainer, SXT_SOURCE_ALL)});
    sxt_explain_debug_file(explainer);
}

void sxt_explain_no_address(struct sxt_explainer *explainer, uint64_t offset)
{
    const struct sxt_elf *elf = &explainer->elf;
    if (offset >= elf->size) {
        sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = SXT_WHY_AFTER_FILE, .size = elf->size});
        sxt_explain_add_advice(explainer,
                               (sxt_explained_advice){.advice = SXT_ADVICE_NOT_AN_OFFSET, .address = offset});
        return;
    }
    sxt_explain_because(explainer, SXT_WHY_OFFSET_NOT_LOADED);
    const struct sxt_elf_section *section = sxt_explain_section_of_offset(explainer, offset);
    if (section != NULL)
        sxt_explain_add_reason(explainer,
                               (sxt_explained_reason){.reason = SXT_WHY_OFFSET_SECTION, .section = section->name});
    if (is_loaded(elf, offset))
        sxt_explain_add_advice(explainer, (sxt_explained_advice){.advice = SXT_ADVICE_IS_ADDRESS, .address = offset});
}
