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
#include "measure/binary.h"
#include "source/extract.h"

static bool list_sections(struct binary *binary);

static void release(struct binary *binary)
{
    free(binary->sections);
    free(binary->section_of);
    free(binary->next_section);
    free(binary->readable);
    free(binary->seen_at);
    sxt_measure_sources_free(&binary->sources);
    sxt_measure_free_literal_index(&binary->literals);
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
    binary->sections = sxt_measure_sections(&binary->elf, binary->maker->options->with_debug || binary->entry != NULL);
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

uint32_t sxt_measure_readable_name(struct binary *binary, sxt_string name)
{
    sxt_buffer_clear(&binary->text);
    if (!sxt_demangle(name, &binary->text)) {
        binary->no_memory |= binary->text.memory_was_short;
        sxt_buffer_clear(&binary->text);
        sxt_buffer_append(&binary->text, name.data, name.size);
    }
    binary->no_memory |= binary->text.memory_was_short;
    replace_separators(&binary->text);
    return sxt_measure_maker_name(binary->maker, (sxt_string){(const char *)binary->text.data, binary->text.size});
}

/* The name of a symbol of the model. */
static uint32_t name_of(struct binary *binary, uint32_t number)
{
    if (binary->readable[number] == 0)
        binary->readable[number] = sxt_measure_readable_name(binary, sxt_symbols_view(binary->symbols, number)) + 1;
    return binary->readable[number] - 1;
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

const struct sxt_linker_map_piece *sxt_measure_map_piece(const struct binary *binary,
                                                         const struct measure_section *section, uint64_t address)
{
    return binary->map != NULL ? sxt_linker_map_piece_in(binary->map, section->elf->name, address) : NULL;
}

uint32_t sxt_measure_path_at(struct binary *binary, const struct measure_section *section,
                             const struct sxt_linker_map_piece *piece, uint64_t address)
{
    sxt_string object = piece != NULL                 ? sxt_linker_map_string(binary->map, piece->object)
                        : binary->member.data != NULL ? binary->member
                                                      : (sxt_string){"", 0};
    return sxt_measure_maker_path(binary->maker, object,
                                  sxt_measure_source_at(&binary->sources, section->elf->flags, address));
}

uint32_t sxt_measure_map_flags(const struct sxt_linker_map_piece *piece)
{
    static const struct {
        uint8_t of_map;
        uint32_t of_symbol;
    } flags[] = {{SXT_PIECE_STARTUP, SXT_SIZE_STARTUP},
                 {SXT_PIECE_UNLIKELY, SXT_SIZE_UNLIKELY},
                 {SXT_PIECE_HOT, SXT_SIZE_HOT},
                 {SXT_PIECE_REL, SXT_SIZE_REL},
                 {SXT_PIECE_REL_LOCAL, SXT_SIZE_REL_LOCAL}};
    uint32_t found = 0;
    for (size_t i = 0; piece != NULL && i < sizeof flags / sizeof *flags; i++)
        found |= piece->flags & flags[i].of_map ? flags[i].of_symbol : 0;
    return found;
}

/* A piece that a symbol claims. */
static void add_piece(struct binary *binary, const struct measure_section *section, uint32_t segment,
                      const struct measure_piece *piece)
{
    const struct sxt_linker_map_piece *of_map = sxt_measure_map_piece(binary, section, piece->start);
    sxt_measure_maker_add(binary->maker, segment, section->address + (piece->start - section->elf->address),
                          piece->end - piece->start, piece->name,
                          sxt_measure_path_at(binary, section, of_map, piece->start),
                          piece->flags | sxt_measure_map_flags(of_map), piece->joins);
}

/* The pieces of a section that has a segment, and what is between them. */
static void add_native(struct binary *binary, const struct measure_section *section)
{
    const struct sxt_elf_section *elf = section->elf;
    struct measure_gap gap = {.section = section, .start = elf->address, .is_first = true};
    gap.segment = sxt_measure_maker_segment(binary->maker, binary->container, section->name);
    for (size_t i = 0; i < binary->pieces.count; i++) {
        struct measure_piece *piece = &binary->pieces.list[i];
        gap.end = piece->start;
        if (!piece->joins && gap.end > gap.start)
            sxt_measure_add_gap(binary, &gap);
        add_piece(binary, section, gap.segment, piece);
        gap.start = piece->end;
        gap.is_first = false;
    }
    gap.end = elf->address + elf->size;
    gap.is_last = true;
    if (gap.start < gap.end)
        sxt_measure_add_gap(binary, &gap);
}

/* The pieces of another section, and the rest of it. */
static void add_other(struct binary *binary, const struct measure_section *section)
{
    uint64_t rest = section->is_bss ? 0 : section->size;
    for (size_t i = 0; i < binary->pieces.count && !section->is_bss; i++) {
        struct measure_piece *piece = &binary->pieces.list[i];
        if (!piece->joins)
            rest -= piece->end - piece->start;
        add_piece(binary, section, binary->other, piece);
    }
    if (rest > 0)
        sxt_measure_add_whole_section(binary, section, rest);
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

/* Writes the folder of PATH to OUT: "." for a plain name. */
static void folder_of(const char *path, char *out, size_t capacity)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    snprintf(out, capacity, "%.*s", slash != NULL && size < capacity ? (int)size : 1, slash != NULL ? path : ".");
}

static void index_literals(struct binary *binary, const struct measure_input *input)
{
    char of_map[4096], of_binary[4096];
    const char *source = binary->maker->options->source_directory;
    folder_of(input->map_path, of_map, sizeof of_map);
    folder_of(input->path, of_binary, sizeof of_binary);
    const char *folders[] = {"", of_map, of_binary, source};
    sxt_measure_index_literals(&binary->literals, &binary->elf, binary->map, folders, source != NULL ? 4 : 3);
    binary->no_memory |= binary->literals.no_memory;
}

/* "$NATIVE/libfoo.so (arm64)" for what has no symbol in a library of a package; otherwise no path. */
static void find_package_path(struct binary *binary)
{
    const struct sxt_json *arch = sxt_json_member(binary->maker->containers[binary->container].metadata, "elf_arch");
    const char *slash = binary->entry != NULL ? strrchr(binary->entry, '/') : NULL;
    sxt_buffer_clear(&binary->text);
    if (binary->entry != NULL)
        sxt_buffer_print(&binary->text, "$NATIVE/%s (%.*s)", slash != NULL ? slash + 1 : binary->entry,
                         arch != NULL ? (int)arch->string.size : 0, arch != NULL ? arch->string.data : "");
    binary->no_memory |= binary->text.memory_was_short;
    sxt_string path = {binary->text.size > 0 ? (const char *)binary->text.data : "", binary->text.size};
    binary->package_path = sxt_measure_maker_path(binary->maker, (sxt_string){"", 0}, path);
}

int sxt_measure_add_binary(struct measure_maker *maker, const struct measure_input *input, sxt_error *error)
{
    struct binary binary = {.maker = maker,
                            .map = input->map,
                            .member = input->member,
                            .entry = input->entry,
                            .container = input->container};
    sxt_buffer_init(&binary.text, (size_t)2 << 20);
    int status = read_binary(&binary, input->file, input->path, error);
    if (status == SXT_OK && input->map != NULL)
        index_literals(&binary, input);
    uint64_t stripped = 0, in_file = 0;
    if (status == SXT_OK && !sxt_measure_strip(&binary.elf, binary.sections, &stripped))
        status = sxt_fail_memory(error, binary.elf.section_count);
    if (status == SXT_OK && (binary.elf.type == ET_REL || input->member.data != NULL))
        sxt_measure_lay_out(maker, &binary.elf, binary.sections);
    if (status == SXT_OK) {
        binary.other = sxt_measure_maker_segment(maker, binary.container, (sxt_string){".other", 6});
        struct measure_described described = {.path = input->entry != NULL ? input->entry : input->path,
                                              .map_path = input->map_path,
                                              .elf = &binary.elf,
                                              .symbols = binary.symbols,
                                              .has_file_time = !input->is_inside};
        struct sxt_size_container *container = &maker->containers[binary.container];
        if (container->metadata == NULL)
            container->metadata = sxt_measure_metadata(maker, &described);
        maker->no_memory |= container->metadata == NULL;
        find_package_path(&binary);
        in_file = sxt_measure_count_sections(maker, binary.container, &described, binary.sections);
        status = add_symbols(&binary, error);
    }
    static const char overhead[] = "Overhead: ELF file";
    if (status == SXT_OK && stripped > in_file)
        sxt_measure_maker_add(maker, binary.other, 0, stripped - in_file,
                              sxt_measure_maker_name(maker, (sxt_string){overhead, sizeof overhead - 1}),
                              binary.package_path, 0, false);
    release(&binary);
    return status;
}
