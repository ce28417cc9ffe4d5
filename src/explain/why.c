/*
 * why.c: why an address has no answer, or an answer no line.
 *
 * From the outside in: is anything loaded there; is it code; do the sources that were asked have it, and would others
 * have it; is what would know it missing; and if nothing is missing, what is around it.
 */
#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "explain/private.h"

#define RANGES_SHOWN 6
#define PADDING_MAX  4096

static void explain_outside(struct sxt_explainer *explainer, uint64_t address);
static void explain_data(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section);
static void explain_code(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section);
static bool explain_left_out(struct sxt_explainer *explainer, uint64_t address, uint32_t sources);

/* The next part that the file loads, from *AT on: a segment, or a section of a file without any. False behind the last.
 */
static bool next_part(const struct sxt_elf *elf, size_t *at, uint64_t *start, uint64_t *end)
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
    for (size_t at = 0; next_part(elf, &at, &start, &end);)
        if (address >= start && address < end)
            return true;
    return false;
}

static const struct sxt_elf_section *section_at(const struct sxt_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        /* Thread-local data that is zero has addresses that are not its own. */
        bool is_real = (section->flags & SHF_ALLOC) && !((section->flags & SHF_TLS) && section->type == SHT_NOBITS);
        if (is_real && address >= section->address && address - section->address < section->size)
            return section;
    }
    return NULL;
}

void sxt_explain_no_answer(struct sxt_explainer *explainer, uint64_t address)
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

/* Does what is asked for lie in the file, if ADDRESS means something else? */
static void suggest_other_meaning(struct sxt_explainer *explainer, uint64_t address, uint64_t base)
{
    const struct sxt_elf *elf = &explainer->elf;
    unsigned long long shown;
    if (base != 0 && is_loaded(elf, address + base) && address + base > address) {
        shown = address + base;
        sxt_explain_todo(explainer, "if it counts from the start of the image, ask for 0x%llx", shown);
    } else if (base != 0 && address > base && is_loaded(elf, address - base)) {
        shown = address - base;
        sxt_explain_todo(explainer, "if the base was added twice, ask for 0x%llx", shown);
    }
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type != PT_LOAD || address < segment->offset || address - segment->offset >= segment->file_size)
            continue;
        shown = segment->address + (address - segment->offset);
        sxt_explain_todo(
            explainer, "if it is an offset in the file, ask with --file-offset; it is the address 0x%llx then", shown);
        return;
    }
}

static void explain_outside(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_elf *elf = &explainer->elf;
    struct sxt_buffer list;
    uint64_t start, end, base = UINT64_MAX, last = 0;
    size_t count = 0;
    sxt_buffer_init(&list, 1024);
    for (size_t at = 0; next_part(elf, &at, &start, &end); count++) {
        base = start < base ? start : base;
        last = end > last ? end : last;
        if (count < RANGES_SHOWN)
            sxt_buffer_print(&list, "%s0x%llx-0x%llx", count > 0 ? ", " : "", (unsigned long long)start,
                             (unsigned long long)end);
    }
    if (count > RANGES_SHOWN)
        sxt_buffer_print(&list, ", and %zu more up to 0x%llx", count - RANGES_SHOWN, (unsigned long long)last);
    const char *what = elf->segment_count > 0 ? "segment" : "section";
    if (count == 0)
        sxt_explain_why(explainer, "the file has no %s that is loaded, so it has no addresses", what);
    else
        sxt_explain_why(explainer, "0x%llx is outside of every %s that the file loads: %.*s",
                        (unsigned long long)address, what, (int)list.size, (const char *)list.data);
    sxt_buffer_free(&list);
    if (count == 0)
        return;
    sxt_explain_run_time(explainer, address, last);
    suggest_other_meaning(explainer, address, base);
    if (elf->type == ET_REL)
        sxt_explain_todo(explainer, "'sextant info' lists where the sections of a relocatable file are laid out");
    if (explainer->out->todo_count == 0)
        sxt_explain_todo(explainer, "check that the address is of this file");
}

static void explain_data(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section)
{
    unsigned long long asked = address;
    if (section != NULL)
        sxt_explain_why(explainer, "0x%llx is in %.*s, which is not code", asked, EXPLAIN_NAME(section->name));
    else if (explainer->elf.section_count > 0)
        sxt_explain_why(explainer, "0x%llx is loaded but in no section: headers, or padding between sections", asked);
    else
        sxt_explain_why(explainer, "0x%llx is in a segment that is not executable", asked);
    const struct sxt_explain_table *table;
    const struct sxt_model_symbol *symbol = sxt_explain_symbol_at(explainer, address, SXT_SOURCE_ALL, true, &table);
    if (symbol != NULL) {
        sxt_string name = sxt_explain_readable(explainer, sxt_symbols_view(table->symbols, symbol->name));
        sxt_explain_why(explainer, "it is 0x%llx bytes into the variable '%.*s' (%s)",
                        (unsigned long long)(address - symbol->address), EXPLAIN_NAME(name), table->what);
    }
    const struct sxt_elf_section *text = sxt_elf_section_named(&explainer->elf, ".text");
    if (text != NULL && (text->flags & SHF_EXECINSTR) && text->size > 0)
        sxt_explain_todo(explainer, "check the address: most of the code is in .text, 0x%llx-0x%llx",
                         (unsigned long long)text->address, (unsigned long long)(text->address + text->size));
}

/* Would a source that was left out by --sources have the address? */
static bool explain_left_out(struct sxt_explainer *explainer, uint64_t address, uint32_t sources)
{
    uint32_t left_out = sources & ~explainer->options.extract.sources;
    const struct sxt_explain_table *table = NULL;
    const struct sxt_model_symbol *symbol = sxt_explain_symbol_at(explainer, address, left_out, false, &table);
    struct sxt_go_position position;
    sxt_string name = {NULL, 0};
    const char *source = NULL;
    if ((left_out & SXT_SOURCE_DWARF) && explainer->of_dwarf.frame_count > 0) {
        source = "dwarf";
        name = explainer->of_dwarf.frames[explainer->of_dwarf.frame_count - 1].name;
    } else if ((left_out & SXT_SOURCE_DWARF) && explainer->of_dwarf.has_row) {
        source = "dwarf";
    } else if ((left_out & SXT_SOURCE_GO) && sxt_explain_go_find(explainer, address, &position)) {
        source = "go";
    } else if (symbol != NULL) {
        source = table->source == SXT_SOURCE_SYMTAB ? "symtab" : "dynsym";
        name = sxt_symbols_view(table->symbols, symbol->name);
    }
    if (source == NULL)
        return false;
    name = sxt_explain_readable(explainer, name);
    if (name.data != NULL)
        sxt_explain_why(explainer, "--sources leaves out %s, which has '%.*s' here", source, EXPLAIN_NAME(name));
    else
        sxt_explain_why(explainer, "--sources leaves out %s, which knows this address", source);
    sxt_explain_todo(explainer, "leave --sources out, or add %s to it", source);
    return true;
}

/* How long the instruction at CODE is if it is one that x86 compilers fill gaps with; otherwise 0. */
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

/* Are there only bytes from START to END that do nothing? */
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

static void nearest(struct sxt_explainer *explainer, uint64_t address, struct sxt_explain_near *before,
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

/* What is around the address. True when there is nothing but padding. */
static bool explain_between(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section)
{
    struct sxt_explain_near before, after, unsized;
    nearest(explainer, address, &before, &after, &unsized);
    sxt_string where = section != NULL ? section->name : (sxt_string){"code", 4};
    uint64_t left = section != NULL ? section->address : address;
    uint64_t right = section != NULL ? section->address + section->size : address;
    sxt_string first = sxt_explain_readable(explainer, before.name),
               second = sxt_explain_readable(explainer, after.name);
    bool has_first = first.data != NULL && before.end > left, has_second = second.data != NULL && after.start < right;
    sxt_explain_why(explainer, "0x%llx is in %.*s, but in no function%s", (unsigned long long)address,
                    EXPLAIN_NAME(where), has_first || has_second ? "" : " that is known");
    if (has_first)
        sxt_explain_why(explainer, "'%.*s' ended 0x%llx bytes before it, at 0x%llx", EXPLAIN_NAME(first),
                        (unsigned long long)(address - before.end), (unsigned long long)before.end);
    if (has_second)
        sxt_explain_why(explainer, "'%.*s' begins 0x%llx bytes behind it, at 0x%llx", EXPLAIN_NAME(second),
                        (unsigned long long)(after.start - address), (unsigned long long)after.start);
    if (unsized.name.data != NULL && (!has_first || unsized.start >= before.end) && unsized.start >= left) {
        sxt_string name = sxt_explain_readable(explainer, unsized.name);
        sxt_explain_why(explainer, "the symbol '%.*s' at 0x%llx has size 0, so it owns no bytes", EXPLAIN_NAME(name),
                        (unsigned long long)unsized.start);
        sxt_explain_todo(explainer, "with --zero-size extend, symbols of size 0 reach to the next one");
        return false;
    }
    if (!is_padding(&explainer->elf, has_first ? before.end : left, has_second ? after.start : right))
        return false;
    sxt_explain_why(explainer, "the bytes there are padding");
    return has_first && has_second;
}

/* What the sources that were asked have instead of the address. */
static void explain_sources(struct sxt_explainer *explainer)
{
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    bool has_symtab = sxt_elf_section_typed(&explainer->elf, SHT_SYMTAB) != NULL;
    size_t functions = sxt_explain_function_count(explainer, SXT_SOURCE_ALL);
    if (explainer->origins.dwarf_problem.code != SXT_OK)
        sxt_explain_why(explainer, "its DWARF cannot be read: %.160s", explainer->origins.dwarf_problem.text);
    if (dwarf->has_nameless && dwarf->frame_count == 0)
        sxt_explain_why(explainer, "the function at 0x%llx of %s has the address, but no name",
                        (unsigned long long)dwarf->nameless, dwarf->section != NULL ? dwarf->section : ".debug_info");
    else if (dwarf->has_row && dwarf->frame_count == 0)
        sxt_explain_why(explainer,
                        "the line table of the unit '%.*s' has it, but without a function there is no answer",
                        EXPLAIN_NAME(dwarf->unit_name));
    if (dwarf->has_unit && dwarf->damaged_at != UINT64_MAX)
        sxt_explain_why(explainer, "the unit '%.*s' is damaged at 0x%llx", EXPLAIN_NAME(dwarf->unit_name),
                        (unsigned long long)dwarf->damaged_at);
    if (has_symtab || (explainer->origins.dwarf != NULL && !explainer->origins.debug.found))
        return;
    if (!explainer->origins.debug.found && functions > 0)
        sxt_explain_why(explainer,
                        "the file is stripped: besides %zu exported functions and PLT entries it has no symbols",
                        functions);
    else if (!explainer->origins.debug.found)
        sxt_explain_why(explainer, "the file is stripped: it has no symbols at all");
    sxt_explain_debug_places(explainer);
}

static void explain_code(struct sxt_explainer *explainer, uint64_t address, const struct sxt_elf_section *section)
{
    if (explain_between(explainer, address, section))
        return;
    explain_left_out(explainer, address, SXT_SOURCE_ALL);
    sxt_explain_missing_parts(explainer);
    explain_sources(explainer);
}

void sxt_explain_no_line(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    const struct sxt_explanation *out = explainer->out;
    if (out->frame_count > 0 && strcmp(out->frames[0].record, "PLT entry") == 0) {
        sxt_explain_why(explainer, "no line: the linker made this code");
        return;
    }
    if (out->has_line) {
        sxt_explain_why(explainer, "no line: the row says 0, which is code that no line of the source stands for");
        return;
    }
    sxt_buffer_append(&explainer->why, "no line: ", 9);
    if (explain_left_out(explainer, address, SXT_SOURCE_DWARF))
        return;
    if (explainer->origins.dwarf == NULL) {
        if (explainer->origins.dwarf_problem.code != SXT_OK)
            sxt_explain_why(explainer, "the DWARF cannot be read: %.160s", explainer->origins.dwarf_problem.text);
        else
            sxt_explain_why(explainer, "the file has no DWARF");
        sxt_explain_debug_places(explainer);
        return;
    }
    sxt_explain_missing_parts(explainer);
    if (dwarf->missing_split.data != NULL)
        return;
    if (!dwarf->has_unit) {
        sxt_explain_why(explainer, "no unit of the DWARF in '%.160s' has this address", explainer->origins.dwarf_path);
        sxt_explain_todo(explainer, "what this code was compiled from was compiled without -g");
    } else if (!dwarf->has_lines) {
        sxt_explain_why(explainer, "the unit '%.*s' has no line table", EXPLAIN_NAME(dwarf->unit_name));
    } else {
        sxt_explain_why(explainer, "the line table at 0x%llx of .debug_line has no row for this address",
                        (unsigned long long)dwarf->lines);
    }
}

void sxt_explain_unloaded(struct sxt_explainer *explainer, uint64_t offset)
{
    const struct sxt_elf *elf = &explainer->elf;
    unsigned long long asked = offset;
    if (offset >= elf->size) {
        sxt_explain_why(explainer, "the file has only 0x%zx bytes", elf->size);
        sxt_explain_todo(explainer, "if 0x%llx is an address, leave --file-offset out", asked);
        return;
    }
    sxt_explain_why(explainer, "nothing is loaded from offset 0x%llx of the file", asked);
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if (section->type != SHT_NULL && section->type != SHT_NOBITS && offset >= section->offset &&
            offset - section->offset < section->size) {
            sxt_explain_why(explainer, "it is in the section %.*s", EXPLAIN_NAME(section->name));
            break;
        }
    }
    if (is_loaded(elf, offset))
        sxt_explain_todo(explainer, "0x%llx is an address of the file: leave --file-offset out if it is meant so",
                         asked);
}
