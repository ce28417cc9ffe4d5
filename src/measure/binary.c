/*
 * binary.c: one ELF file as a container: a symbol for every byte of it.
 *
 *   sections that SuperSize knows      symbols, as the symbol table has them; what lies between them is the padding of
 *                                      the next one, or where it is more than that, "** .text (unattributed)"
 *   other sections                     in .other: their symbols, and "** ELF Section: NAME" for the rest
 *   headers and what aligns sections   in .other: "Overhead: ELF file"
 *
 * So the symbols of a section add up to its size, and all of them to that of the stripped file.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"
#include "demangle/demangle.h"
#include "measure/private.h"
#include "source/extract.h"

/* The most bytes that a linker skips to align the next symbol. A larger gap is something without a name. */
#define PADDING_MAX 64

/* A file while it is added. */
struct binary {
    struct measure_maker *maker;
    struct sxt_elf elf;
    struct measure_section *sections;
    struct sxt_symbols *symbols;
    const struct sxt_linker_map *map; /* NULL for none */
    sxt_string member;                /* of a library: its path; absent otherwise */
    uint32_t container;
    uint32_t other;         /* the segment .other */
    uint32_t *section_of;   /* by the number of a name in the model: the first section that has it */
    uint32_t *next_section; /* the next one of the same name; 0 at the end */
    uint32_t *readable;     /* by the number of a name in the model: that in the maker + 1; 0: not known yet */
    uint64_t *seen_at;      /* by the number of a name in the model: where it was last, plus 1 */
    struct sxt_buffer text;
    uint64_t tls; /* the base of thread-local addresses */
    struct measure_sources sources;
    struct measure_claim *claims;
    size_t claim_count, claim_capacity;
    struct measure_pieces pieces;
    bool no_memory;
};

static bool list_sections(struct binary *binary);

static void release(struct binary *binary)
{
    free(binary->sections);
    free(binary->section_of);
    free(binary->next_section);
    free(binary->readable);
    free(binary->seen_at);
    sxt_measure_sources_free(&binary->sources);
    free(binary->claims);
    free(binary->pieces.list);
    sxt_buffer_free(&binary->text);
    sxt_symbols_free(&binary->symbols);
    sxt_elf_close(&binary->elf);
}

/* Thread-local symbols of a linked file are offsets in the segment of thread-local data. */
static uint64_t find_tls(const struct sxt_elf *elf)
{
    for (size_t i = 0; i < elf->segment_count && elf->type != ET_REL; i++)
        if (elf->segments[i].type == PT_TLS)
            return elf->segments[i].address;
    return 0;
}

static int read_binary(struct binary *binary, const struct sxt_file *file, const char *path, sxt_error *error)
{
    sxt_extract_options extract = *binary->maker->extract;
    /* The file of a range is known without its lines. */
    extract.flags |= SXT_EXTRACT_VARIABLES | SXT_EXTRACT_NO_LINES;
    int status = sxt_elf_open(&binary->elf, file->data, file->size, extract.inflate_limit, error);
    if (status == SXT_OK)
        status = sxt_extract_elf(&binary->elf, path, &extract, &binary->symbols, error);
    if (status != SXT_OK)
        return status;
    binary->tls = find_tls(&binary->elf);
    binary->sections = sxt_measure_sections(&binary->elf, binary->maker->options->with_debug);
    if (binary->sections == NULL || !list_sections(binary) ||
        !sxt_measure_sources_init(&binary->sources, binary->symbols, binary->tls))
        return sxt_fail_memory(error, binary->elf.section_count * sizeof *binary->sections);
    return sxt_measure_check_sections(&binary->elf, binary->sections, error);
}

static bool list_sections(struct binary *binary)
{
    struct sxt_symbols *symbols = binary->symbols;
    size_t count = binary->elf.section_count;
    for (size_t i = 1; i < count; i++)
        sxt_symbols_string(symbols, binary->elf.sections[i].name.data, binary->elf.sections[i].name.size);
    size_t names = symbols->strings.count;
    binary->section_of = calloc(names + 1, sizeof *binary->section_of);
    binary->next_section = calloc(count + 1, sizeof *binary->next_section);
    binary->readable = calloc(names + 1, sizeof *binary->readable);
    binary->seen_at = calloc(names + 1, sizeof *binary->seen_at);
    if (binary->section_of == NULL || binary->next_section == NULL || binary->readable == NULL ||
        binary->seen_at == NULL || symbols->failed)
        return false;
    for (size_t i = count; i-- > 1;) {
        uint32_t name =
            sxt_symbols_string(symbols, binary->elf.sections[i].name.data, binary->elf.sections[i].name.size);
        binary->next_section[i] = binary->section_of[name];
        binary->section_of[name] = (uint32_t)i;
    }
    return true;
}

/* Tabs and newlines would end a name in the file. */
static void replace_separators(struct sxt_buffer *name)
{
    for (size_t i = 0; i < name->size; i++)
        if (name->data[i] == '\t' || name->data[i] == '\n')
            name->data[i] = ' ';
}

/* The name of a symbol as it is stored. */
static uint32_t name_of(struct binary *binary, uint32_t number)
{
    if (binary->readable[number] != 0)
        return binary->readable[number] - 1;
    sxt_string name = sxt_symbols_view(binary->symbols, number);
    sxt_buffer_clear(&binary->text);
    if (!sxt_demangle(name, &binary->text)) {
        binary->no_memory |= binary->text.memory_was_short;
        sxt_buffer_clear(&binary->text);
        sxt_buffer_append(&binary->text, name.data, name.size);
    }
    binary->no_memory |= binary->text.memory_was_short;
    replace_separators(&binary->text);
    uint32_t made =
        sxt_measure_maker_name(binary->maker, (sxt_string){(const char *)binary->text.data, binary->text.size});
    binary->readable[number] = made + 1;
    return made;
}

/* The section that a symbol is in, by its name and its address; 0 for none. */
static uint32_t section_at(const struct binary *binary, uint32_t name, uint64_t address)
{
    for (uint32_t i = binary->section_of[name]; i != 0; i = binary->next_section[i]) {
        const struct sxt_elf_section *section = &binary->elf.sections[i];
        if (address >= section->address && address - section->address < section->size)
            return i;
    }
    return 0;
}

/* A symbol of the model and its section. */
struct placed {
    uint32_t section;
    uint32_t symbol;
};

static int by_section(const void *a, const void *b)
{
    const struct placed *first = a;
    const struct placed *second = b;
    if (first->section != second->section)
        return first->section < second->section ? -1 : 1;
    return first->symbol < second->symbol ? -1 : first->symbol > second->symbol;
}

static uint64_t address_of(const struct binary *binary, const struct sxt_model_symbol *symbol)
{
    return symbol->type == 'T' ? symbol->address + binary->tls : symbol->address;
}

/* Labels have no size. In code they reach to the next symbol, unless they are inside one. */
static bool is_label(const struct sxt_elf_section *section, const struct sxt_model_symbol *symbol)
{
    return symbol->size == 0 && (section->flags & SHF_EXECINSTR) &&
           (symbol->type == 'F' || symbol->type == 'I' || symbol->type == 'N');
}

static void claim(struct binary *binary, uint64_t start, uint64_t end, uint32_t name)
{
    struct measure_claim *claims =
        sxt_array_grow(binary->claims, &binary->claim_capacity, binary->claim_count + 1, sizeof *claims);
    if (claims == NULL) {
        binary->no_memory = true;
        return;
    }
    binary->claims = claims;
    claims[binary->claim_count] = (struct measure_claim){start, end, name, (uint32_t)binary->claim_count};
    binary->claim_count++;
}

/* The claims of the symbols that have a size. ITEMS are those of one section, by address. */
static void claim_symbols(struct binary *binary, const struct sxt_elf_section *section, const struct placed *items,
                          size_t count)
{
    uint64_t end = section->address + section->size;
    for (size_t i = 0; i < count; i++) {
        const struct sxt_model_symbol *symbol = &binary->symbols->symbols[items[i].symbol];
        uint64_t start = address_of(binary, symbol);
        if (symbol->size > 0)
            claim(binary, start, symbol->size < end - start ? start + symbol->size : end,
                  name_of(binary, symbol->name));
    }
}

/* Labels, where no symbol has a size. */
static void claim_rest(struct binary *binary, const struct sxt_elf_section *section, const struct placed *items,
                       size_t count)
{
    size_t sized_count = binary->claim_count, at = 0, following = 0;
    uint64_t section_end = section->address + section->size, covered = section->address;
    const struct sxt_model_symbol *symbols = binary->symbols->symbols;
    /* Symbols come in order of address, and so do the claims. */
    for (size_t i = 0; i < count && !binary->no_memory; i++) {
        const struct sxt_model_symbol *symbol = &symbols[items[i].symbol];
        if (!is_label(section, symbol))
            continue;
        for (; at < sized_count && binary->claims[at].start <= symbol->address; at++)
            covered = binary->claims[at].end > covered ? binary->claims[at].end : covered;
        while (following < count && symbols[items[following].symbol].address <= symbol->address)
            following++;
        if (symbol->address < covered)
            continue;
        claim(binary, symbol->address, following < count ? symbols[items[following].symbol].address : section_end,
              name_of(binary, symbol->name));
    }
}

static int by_start(const void *a, const void *b)
{
    const struct measure_claim *first = a;
    const struct measure_claim *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

/* Ranges of code whose symbols were stripped. */
static void claim_ranges(struct binary *binary, const struct sxt_elf_section *section)
{
    const struct sxt_symbols *symbols = binary->symbols;
    uint64_t end = section->address + section->size, covered = section->address;
    size_t sized_count = binary->claim_count, at = 0;
    if (sized_count > 1)
        qsort(binary->claims, sized_count, sizeof *binary->claims, by_start);
    const struct measure_sources *sources = &binary->sources;
    for (size_t i = sxt_measure_first_root(sources, section->address); i < sources->root_count; i++) {
        const struct sxt_model_range *range = &symbols->ranges[sources->roots[i]];
        if (range->address >= end)
            break;
        for (; at < sized_count && binary->claims[at].start <= range->address; at++)
            covered = binary->claims[at].end > covered ? binary->claims[at].end : covered;
        if (range->address < covered || range->function == 0)
            continue;
        uint64_t limit = at < sized_count && binary->claims[at].start < end ? binary->claims[at].start : end;
        claim(binary, range->address, range->length < limit - range->address ? range->address + range->length : limit,
              name_of(binary, range->function));
    }
}

/* The path of a piece: the object from the map, or the member of the library; the source from DWARF. */
static uint32_t path_of(struct binary *binary, const struct sxt_elf_section *section, uint64_t address)
{
    sxt_string object = binary->member.data != NULL ? binary->member : (sxt_string){"", 0};
    if (binary->map != NULL)
        object = sxt_measure_object_at(binary->map, address);
    return sxt_measure_maker_path(binary->maker, object,
                                  sxt_measure_source_at(&binary->sources, section->flags, address));
}

/* A made-up name: BEFORE, the name of a section, AFTER. */
static uint32_t made_up_name(struct binary *binary, const char *before, sxt_string section, const char *after)
{
    sxt_buffer_clear(&binary->text);
    sxt_buffer_append(&binary->text, before, strlen(before));
    sxt_buffer_append(&binary->text, section.data, section.size);
    sxt_buffer_append(&binary->text, after, strlen(after));
    binary->no_memory |= binary->text.memory_was_short;
    replace_separators(&binary->text);
    return sxt_measure_maker_name(binary->maker, (sxt_string){(const char *)binary->text.data, binary->text.size});
}

static void add_made_up(struct binary *binary, const struct measure_section *section, uint32_t segment, uint64_t start,
                        uint64_t end, uint32_t name)
{
    sxt_measure_maker_add(binary->maker, segment, section->address + (start - section->elf->address), end - start, name,
                          path_of(binary, section->elf, start), 0, false);
}

/* Bytes that nothing claims. A linker map may say which object they are from. */
static void add_filler(struct binary *binary, const struct measure_section *section, uint32_t segment, uint64_t start,
                       uint64_t end)
{
    uint32_t unknown = made_up_name(binary, "** ", section->name, " (unattributed)");
    while (start < end && binary->map != NULL && !binary->no_memory) {
        const struct sxt_linker_map_piece *piece = sxt_linker_map_piece_at(binary->map, start);
        if (piece == NULL)
            break;
        uint64_t until = piece->address + piece->size < end ? piece->address + piece->size : end;
        if (until <= start)
            break;
        sxt_string input = piece->input_section;
        if (piece->kind == SXT_PIECE_MERGED_STRINGS)
            sxt_measure_add_literals(binary->maker, &(struct measure_literals){
                                                        .elf = &binary->elf,
                                                        .segment = segment,
                                                        .shift = section->address - section->elf->address,
                                                        .path = path_of(binary, section->elf, start),
                                                        .start = start,
                                                        .end = until,
                                                    });
        else if (piece->kind == SXT_PIECE_MERGED_CONSTANTS)
            add_made_up(binary, section, segment, start, until,
                        made_up_name(binary, "** merge constants", (sxt_string){"", 0}, ""));
        else if (piece->kind == SXT_PIECE_PLAIN && piece->stem > 0 && piece->stem < input.size)
            add_made_up(binary, section, segment, start, until,
                        made_up_name(binary, "", (sxt_string){input.data + piece->stem, input.size - piece->stem}, ""));
        else
            add_made_up(binary, section, segment, start, until, unknown);
        start = until;
    }
    if (start < end)
        add_made_up(binary, section, segment, start, end, unknown);
}

/* Does the gap align what follows? */
static bool is_padding(const struct binary *binary, uint64_t start, uint64_t gap)
{
    const struct sxt_linker_map_piece *piece = binary->map != NULL ? sxt_linker_map_piece_at(binary->map, start) : NULL;
    if (piece != NULL && piece->kind != SXT_PIECE_PLAIN)
        return piece->kind == SXT_PIECE_FILL;
    return gap < PADDING_MAX;
}

/* The pieces of a section that has a segment, and what is between them. */
static void add_native(struct binary *binary, const struct measure_section *section)
{
    const struct sxt_elf_section *elf = section->elf;
    uint32_t segment = sxt_measure_maker_segment(binary->maker, binary->container, section->name);
    uint64_t done = elf->address, end = elf->address + elf->size;
    for (size_t i = 0; i < binary->pieces.count; i++) {
        struct measure_piece *piece = &binary->pieces.list[i];
        uint64_t gap = piece->joins ? 0 : piece->start - done;
        /* The first symbol has no padding: a reader would not know where it begins. */
        if (gap > 0 && (i == 0 || !is_padding(binary, done, gap)))
            add_filler(binary, section, segment, done, piece->start);
        sxt_measure_maker_add(binary->maker, segment, section->address + (piece->start - elf->address),
                              piece->end - piece->start, piece->name, path_of(binary, elf, piece->start), piece->flags,
                              piece->joins);
        done = piece->end;
    }
    if (done < end)
        add_filler(binary, section, segment, done, end);
}

/* The pieces of another section, and the rest of it. */
static void add_other(struct binary *binary, const struct measure_section *section)
{
    uint64_t rest = section->is_bss ? 0 : section->size;
    const struct sxt_elf_section *elf = section->elf;
    for (size_t i = 0; i < binary->pieces.count && !section->is_bss; i++) {
        struct measure_piece *piece = &binary->pieces.list[i];
        if (!piece->joins)
            rest -= piece->end - piece->start;
        sxt_measure_maker_add(binary->maker, binary->other, section->address + (piece->start - elf->address),
                              piece->end - piece->start, piece->name, path_of(binary, elf, piece->start), piece->flags,
                              piece->joins);
    }
    bool is_literals = (elf->flags & SHF_ALLOC) && (elf->flags & SHF_MERGE) && (elf->flags & SHF_STRINGS) &&
                       elf->entry_size <= 1 && binary->pieces.count == 0;
    if (is_literals)
        sxt_measure_add_literals(binary->maker, &(struct measure_literals){
                                                    .elf = &binary->elf,
                                                    .segment = binary->other,
                                                    .shift = section->address - elf->address,
                                                    .path = path_of(binary, elf, elf->address),
                                                    .start = elf->address,
                                                    .end = elf->address + elf->size,
                                                });
    else if (rest > 0)
        sxt_measure_maker_add(
            binary->maker, binary->other, 0, rest, made_up_name(binary, "** ELF Section: ", section->name, ""),
            sxt_measure_maker_path(binary->maker, binary->member.data != NULL ? binary->member : (sxt_string){"", 0},
                                   (sxt_string){"", 0}),
            0, false);
}

/* ITEMS are the symbols of the section, in the order of the model. */
static void add_pieces(struct binary *binary, size_t index, const struct placed *items, size_t count)
{
    const struct measure_section *section = &binary->sections[index];
    if (section->place == MEASURE_LEFT_OUT || section->place == MEASURE_MEMORY || section->size == 0)
        return;
    binary->claim_count = binary->pieces.count = 0;
    if (section->elf->flags & SHF_ALLOC && section->elf->size < UINT64_MAX - section->elf->address) {
        claim_symbols(binary, section->elf, items, count);
        claim_rest(binary, section->elf, items, count);
        if (section->elf->flags & SHF_EXECINSTR)
            claim_ranges(binary, section->elf);
        if (!sxt_measure_cut(binary->claims, binary->claim_count, &binary->pieces))
            binary->no_memory = true;
    }
    if (section->place == MEASURE_NATIVE)
        add_native(binary, section);
    else
        add_other(binary, section);
}

static int add_symbols(struct binary *binary, sxt_error *error)
{
    const struct sxt_symbols *symbols = binary->symbols;
    struct placed *items = malloc((symbols->symbol_count + 1) * sizeof *items);
    if (items == NULL)
        return sxt_fail_memory(error, symbols->symbol_count * sizeof *items);
    size_t count = 0;
    for (size_t i = 0; i < symbols->symbol_count; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        uint64_t address = address_of(binary, symbol);
        uint32_t section = symbol->letter != 0 ? section_at(binary, symbol->section, address) : 0;
        /* Dynamic symbols are in the other table too. */
        if (section == 0 || binary->seen_at[symbol->name] == address + 1)
            continue;
        binary->seen_at[symbol->name] = address + 1;
        items[count++] = (struct placed){section, (uint32_t)i};
    }
    qsort(items, count, sizeof *items, by_section);
    size_t at = 0;
    for (size_t i = 1; i < binary->elf.section_count && !binary->no_memory; i++) {
        size_t first = at;
        while (at < count && items[at].section == i)
            at++;
        add_pieces(binary, i, items + first, at - first);
    }
    free(items);
    return binary->no_memory ? sxt_fail_memory(error, symbols->symbol_count) : SXT_OK;
}

int sxt_measure_add_binary(struct measure_maker *maker, const struct measure_input *input, sxt_error *error)
{
    struct binary binary = {.maker = maker, .map = input->map, .member = input->member, .container = input->container};
    sxt_buffer_init(&binary.text, (size_t)2 << 20);
    int status = read_binary(&binary, input->file, input->path, error);
    uint64_t stripped = 0, in_file = 0;
    if (status == SXT_OK && !sxt_measure_strip(&binary.elf, binary.sections, &stripped))
        status = sxt_fail_memory(error, binary.elf.section_count);
    if (status == SXT_OK && (binary.elf.type == ET_REL || input->member.data != NULL))
        sxt_measure_lay_out(maker, &binary.elf, binary.sections);
    if (status == SXT_OK) {
        binary.other = sxt_measure_maker_segment(maker, binary.container, (sxt_string){".other", 6});
        struct measure_described described = {.path = input->path,
                                              .map_path = input->map_path,
                                              .elf = &binary.elf,
                                              .symbols = binary.symbols,
                                              .has_file_time = !input->is_inside};
        struct sxt_size_container *container = &maker->containers[binary.container];
        if (container->metadata == NULL)
            container->metadata = sxt_measure_metadata(maker, &described);
        maker->no_memory |= container->metadata == NULL;
        in_file = sxt_measure_count_sections(maker, binary.container, &described, binary.sections);
        status = add_symbols(&binary, error);
    }
    static const char overhead[] = "Overhead: ELF file";
    if (status == SXT_OK && stripped > in_file)
        sxt_measure_maker_add(maker, binary.other, 0, stripped - in_file,
                              sxt_measure_maker_name(maker, (sxt_string){overhead, sizeof overhead - 1}),
                              sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}), 0, false);
    release(&binary);
    return status;
}
