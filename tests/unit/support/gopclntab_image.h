/*
 * gopclntab_image.h: a small ELF file with a Go function table, written by hand in every version of the format.
 *
 *     main.main   0x00 - 0x40   a.go:10, then lib.outer (b.go:3, called at a.go:10) with lib.inner (c.go:4, called at
 *                               b.go:3) inside, then b.go:5 of lib.outer again, then a.go:11
 *     main.plain  0x40 - 0x60   a.go:20 and 21
 *     main.empty  0x60 - 0x60
 *     main.last   0x60 - 0x80   a.go:30
 *
 * Addresses are file offsets plus IMAGE_BASE. C code comes first in .text, so the Go text starts after its beginning.
 */
#ifndef SXT_TESTS_GOPCLNTAB_IMAGE_H
#define SXT_TESTS_GOPCLNTAB_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define IMAGE_BASE      0x400000u
#define IMAGE_TEXT      0x1000u /* .text */
#define IMAGE_GO_TEXT   0x1040u
#define IMAGE_RODATA    0x2000u
#define IMAGE_TREE      0x2040u
#define IMAGE_TABLE     0x3000u
#define IMAGE_DATA      0x4000u
#define IMAGE_MODULE    0x4040u
#define IMAGE_DYNAMIC   0x4400u
#define IMAGE_RELA      0x4500u
#define IMAGE_SYMBOLS   0x5000u
#define IMAGE_STRINGS   0x5100u
#define IMAGE_NAMES     0x5200u
#define IMAGE_HEADERS   0x5400u
#define IMAGE_SIZE      0x5800u

#define IMAGE_TEXT_SIZE 0x200u

enum image_sections { SECTIONS_NAMED, SECTIONS_RENAMED, SECTIONS_NONE };

/* How to make the image. `go` is the minor version: 9, 12, 13, 16, 18, 20 or 27. */
struct image_recipe {
    int go;
    bool is_64;
    bool big_endian;
    bool relocated; /* pointers stand in relocations only (64 bit) */
    bool no_header_text;
    bool no_module;
    bool symbols; /* runtime.text and go:func.* */
    enum image_sections sections;
};

struct image {
    uint8_t bytes[IMAGE_SIZE];
    struct image_recipe recipe;
    unsigned word;
    size_t table_size;
    unsigned relocation_count;
    /* Where parts are in the file. */
    size_t names, file_lists, file_names, pc_values, functab;
    size_t records[4];
    size_t main_nodes; /* the pc-value table of main.main that says what was inlined */
};

struct image_step {
    int upto; /* 0 ends the list */
    int value;
};

static void image_put(struct image *image, size_t at, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++)
        image->bytes[at + i] = (uint8_t)(value >> 8 * (image->recipe.big_endian ? width - 1 - i : i));
}

static size_t image_text(struct image *image, size_t at, const char *text)
{
    memcpy(image->bytes + at, text, strlen(text) + 1);
    return at + strlen(text) + 1;
}

/* An address: as it is, or as a relocation of a zero word. */
static void image_address(struct image *image, size_t at, uint64_t value)
{
    if (!image->recipe.relocated) {
        image_put(image, at, image->word, value);
        return;
    }
    size_t entry = IMAGE_RELA + image->relocation_count++ * 24;
    image_put(image, entry, 8, IMAGE_BASE + at);
    image_put(image, entry + 8, 8, image->recipe.big_endian ? R_390_RELATIVE : R_X86_64_RELATIVE);
    image_put(image, entry + 16, 8, value);
}

static size_t image_varint(struct image *image, size_t at, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        image->bytes[at++] = (uint8_t)(value | 0x80);
    image->bytes[at++] = (uint8_t)value;
    return at;
}

static unsigned image_quantum(const struct image *image)
{
    return image->recipe.is_64 ? 1 : 4;
}

static size_t image_steps(struct image *image, size_t at, const struct image_step *steps, int file_base)
{
    int value = -1, pc = 0;
    for (; steps->upto != 0; steps++) {
        int change = steps->value + file_base - value;
        at = image_varint(image, at, (uint32_t)(change < 0 ? -2 * change - 1 : 2 * change));
        at = image_varint(image, at, (uint32_t)(steps->upto - pc) / image_quantum(image));
        value = steps->value + file_base;
        pc = steps->upto;
    }
    image->bytes[at] = 0;
    return at + 1;
}

static const struct image_function {
    const char *name;
    unsigned start;
    struct image_step lines[8], files[8], nodes[8];
} image_functions[] = {
    {"main.main",
     0x00,
     {{8, 10}, {16, 3}, {24, 4}, {32, 5}, {64, 11}},
     {{8, 0}, {16, 1}, {24, 2}, {32, 1}, {64, 0}},
     {{8, -1}, {16, 0}, {24, 1}, {32, 0}, {64, -1}}},
    {"main.plain", 0x40, {{16, 20}, {32, 21}}, {{32, 0}}, {{0, 0}}},
    {"main.empty", 0x60, {{0, 0}}, {{0, 0}}, {{0, 0}}},
    {"main.last", 0x60, {{32, 30}}, {{32, 0}}, {{0, 0}}},
};

#define IMAGE_FUNCTIONS 4u
#define IMAGE_END       0x80u

/* Where things are in the table, counted from what their offsets count from. */
struct image_offsets {
    uint32_t names[IMAGE_FUNCTIONS + 2]; /* the two inlined functions last */
    uint32_t lines[IMAGE_FUNCTIONS], pc_files[IMAGE_FUNCTIONS], nodes[IMAGE_FUNCTIONS];
};

static size_t image_align(size_t at)
{
    return (at + 7) & ~(size_t)7;
}

static void image_write_tree(struct image *image, const struct image_offsets *offsets)
{
    static const int parents[] = {-1, 0}, files[] = {0, 1}, lines[] = {10, 3}, pcs[] = {4, 8};
    int go = image->recipe.go;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t name = offsets->names[IMAGE_FUNCTIONS + i];
        if (go >= 20) {
            size_t at = IMAGE_TREE + i * 16;
            image_put(image, at + 4, 4, name);
            image_put(image, at + 8, 4, (uint32_t)pcs[i]);
            image_put(image, at + 12, 4, 1);
            continue;
        }
        size_t at = IMAGE_TREE + i * (go >= 12 ? 20 : 16);
        image_put(image, at, go >= 12 ? 2 : 4, (uint64_t)(int64_t)parents[i]);
        image_put(image, at + 4, 4, (uint32_t)files[i] + (go < 16));
        image_put(image, at + 8, 4, (uint32_t)lines[i]);
        image_put(image, at + 12, 4, name);
        if (go >= 12)
            image_put(image, at + 16, 4, (uint32_t)pcs[i]);
    }
}

/* The record of function INDEX at AT; returns what is after it. */
static size_t image_write_record(struct image *image, size_t at, unsigned index, const struct image_offsets *offsets)
{
    int go = image->recipe.go;
    bool inlines = offsets->nodes[index] != 0;
    unsigned tree_funcdata = go < 13 ? 2 : go < 16 ? 4 : 3;
    unsigned node_pcdata = go < 13 ? 1 : 2;
    image->records[index] = at;
    uint64_t entry = image_functions[index].start;
    if (go >= 18)
        image_put(image, at, 4, entry);
    else
        image_address(image, at, IMAGE_BASE + IMAGE_GO_TEXT + entry);
    at += go >= 18 ? 4 : image->word;
    image_put(image, at, 4, offsets->names[index]);
    image_put(image, at + 16, 4, offsets->pc_files[index]);
    image_put(image, at + 20, 4, offsets->lines[index]);
    image_put(image, at + 24, 4, inlines ? node_pcdata + 1 : 0);
    at += 28;
    if (go >= 16) {
        image_put(image, at, 4, 2); /* two entries of another list come first */
        at += 4;
    }
    if (go >= 20) {
        image_put(image, at, 4, 9);
        at += 4;
    }
    if (inlines)
        image_put(image, at + (go < 12 ? 0 : 3), go < 12 ? 4 : 1, tree_funcdata + 1);
    at += 4;
    if (!inlines)
        return image_align(at);
    image_put(image, at + node_pcdata * 4, 4, offsets->nodes[index]);
    at += (node_pcdata + 1) * 4;
    if (go < 18)
        at = (at + image->word - 1) & ~(size_t)(image->word - 1);
    for (unsigned i = 0; i <= tree_funcdata; i++, at += go >= 18 ? 4 : image->word) {
        if (go >= 18)
            image_put(image, at, 4, i == tree_funcdata ? IMAGE_TREE - IMAGE_RODATA : UINT32_MAX);
        else if (i == tree_funcdata)
            image_address(image, at, IMAGE_BASE + IMAGE_TREE);
    }
    return image_align(at);
}

/* Names of functions, then the lists of files, then their names. */
static void image_write_texts(struct image *image, struct image_offsets *offsets)
{
    static const char *const inlined[] = {"lib.outer", "lib.inner"}, *const files[] = {"a.go", "b.go", "c.go"};
    bool old = image->recipe.go < 16;
    size_t at = image->names, base = old ? IMAGE_TABLE : image->names;
    for (unsigned i = 0; i < IMAGE_FUNCTIONS + 2; i++) {
        offsets->names[i] = (uint32_t)(at - base);
        at = image_text(image, at, i < IMAGE_FUNCTIONS ? image_functions[i].name : inlined[i - IMAGE_FUNCTIONS]);
    }
    /* Before 1.16 one list whose first entry is its length; since then one for each unit, here after two entries. */
    unsigned first = old ? 1 : 2;
    image->file_lists = image_align(at);
    image->file_names = at = image->file_lists + (first + 3) * 4;
    if (old)
        image_put(image, image->file_lists, 4, first + 3);
    base = old ? IMAGE_TABLE : at;
    for (unsigned i = 0; i < 3; i++) {
        image_put(image, image->file_lists + (first + i) * 4, 4, at - base);
        at = image_text(image, at, files[i]);
    }
    image->pc_values = at;
}

static size_t image_write_pc_values(struct image *image, struct image_offsets *offsets)
{
    bool old = image->recipe.go < 16;
    size_t at = image->pc_values + 1; /* offset 0 means "no table" */
    size_t base = old ? IMAGE_TABLE : image->pc_values;
    for (unsigned i = 0; i < IMAGE_FUNCTIONS; i++) {
        const struct image_function *function = &image_functions[i];
        if (function->lines[0].upto == 0)
            continue;
        offsets->lines[i] = (uint32_t)(at - base);
        at = image_steps(image, at, function->lines, 0);
        offsets->pc_files[i] = (uint32_t)(at - base);
        at = image_steps(image, at, function->files, old);
        if (function->nodes[0].upto == 0)
            continue;
        image->main_nodes = at;
        offsets->nodes[i] = (uint32_t)(at - base);
        at = image_steps(image, at, function->nodes, 0);
    }
    return image_align(at);
}

/* functab, and from AT on the records that it points to; returns what is after them. */
static size_t image_write_functions(struct image *image, size_t at, const struct image_offsets *offsets)
{
    int go = image->recipe.go;
    unsigned field = go >= 18 ? 4 : image->word;
    size_t base = go < 16 ? IMAGE_TABLE : image->functab;
    for (unsigned i = 0; i <= IMAGE_FUNCTIONS; i++) {
        size_t entry = image->functab + 2 * i * field;
        unsigned pc = i < IMAGE_FUNCTIONS ? image_functions[i].start : IMAGE_END;
        if (go >= 18)
            image_put(image, entry, 4, pc);
        else
            image_address(image, entry, IMAGE_BASE + IMAGE_GO_TEXT + pc);
        if (i == IMAGE_FUNCTIONS)
            break;
        image_put(image, entry + field, field, at - base);
        at = image_write_record(image, at, i, offsets);
    }
    return at;
}

static void image_write_table(struct image *image)
{
    struct image_offsets offsets;
    memset(&offsets, 0, sizeof offsets);
    int go = image->recipe.go;
    unsigned word = image->word;
    unsigned words = go >= 18 ? 8 : go >= 16 ? 7 : 1;
    size_t functab_size = (IMAGE_FUNCTIONS * 2 + 1) * (go >= 18 ? 4 : word);
    uint32_t magic = go >= 20 ? 0xFFFFFFF1u : go >= 18 ? 0xFFFFFFF0u : go >= 16 ? 0xFFFFFFFAu : 0xFFFFFFFBu;
    image_put(image, IMAGE_TABLE, 4, magic);
    image->bytes[IMAGE_TABLE + 6] = (uint8_t)image_quantum(image);
    image->bytes[IMAGE_TABLE + 7] = (uint8_t)word;
    image_put(image, IMAGE_TABLE + 8, word, IMAGE_FUNCTIONS);

    bool old = go < 16; /* everything counts from the header, and functab comes first */
    image->functab = image->names = IMAGE_TABLE + 8 + words * word;
    if (old)
        image->names += functab_size + 4;
    image_write_texts(image, &offsets);
    size_t at = image_write_pc_values(image, &offsets);
    if (!old) {
        image->functab = at;
        at = image_align(at + functab_size);
    }
    image->table_size = image_write_functions(image, at, &offsets) - IMAGE_TABLE;
    image_write_tree(image, &offsets);

    if (old) {
        image_put(image, image->functab + functab_size, 4, image->file_lists - IMAGE_TABLE);
        return;
    }
    image_put(image, IMAGE_TABLE + 8 + word, word, 3);
    if (go >= 18 && !image->recipe.no_header_text)
        image_address(image, IMAGE_TABLE + 8 + 2 * word, IMAGE_BASE + IMAGE_GO_TEXT);
    size_t parts[] = {image->names, image->file_lists, image->file_names, image->pc_values, image->functab};
    for (unsigned i = 0; i < 5; i++)
        image_put(image, IMAGE_TABLE + 8 + (words - 5 + i) * word, word, parts[i] - IMAGE_TABLE);
}

static void image_write_module(struct image *image)
{
    int go = image->recipe.go;
    unsigned word = image->word, text = go < 16 ? 12 : 22;
    image_address(image, IMAGE_MODULE, IMAGE_BASE + IMAGE_TABLE);
    image_address(image, IMAGE_MODULE + (go < 16 ? 3 : 16) * word, IMAGE_BASE + image->functab);
    if (go >= 16)
        image_address(image, IMAGE_MODULE + word, IMAGE_BASE + image->names);
    image_address(image, IMAGE_MODULE + text * word, IMAGE_BASE + IMAGE_GO_TEXT);
    image_address(image, IMAGE_MODULE + (text + 1) * word, IMAGE_BASE + IMAGE_GO_TEXT + IMAGE_END);
    if (go >= 18)
        image_address(image, IMAGE_MODULE + (go >= 27 ? 43 : go >= 20 ? 40 : 38) * word, IMAGE_BASE + IMAGE_RODATA);
}

static void image_write_segment(struct image *image, unsigned index, uint32_t type, uint32_t flags, size_t offset,
                                size_t size)
{
    unsigned word = image->word;
    size_t at = (image->recipe.is_64 ? 64 : 52) + index * (image->recipe.is_64 ? 56u : 32u);
    image_put(image, at, 4, type);
    image_put(image, at + (image->recipe.is_64 ? 4 : 24), 4, flags);
    at += image->recipe.is_64 ? 8 : 4;
    image_put(image, at, word, offset);
    image_put(image, at + word, word, IMAGE_BASE + offset);
    image_put(image, at + 3 * word, word, size);
    image_put(image, at + 4 * word, word, size);
}

static size_t image_section_header(const struct image *image, unsigned index)
{
    return IMAGE_HEADERS + index * (image->recipe.is_64 ? 64u : 40u);
}

static void image_write_section(struct image *image, unsigned index, uint32_t name, uint32_t type, uint64_t flags,
                                size_t offset, size_t size, uint32_t link)
{
    unsigned word = image->word;
    size_t at = image_section_header(image, index);
    image_put(image, at, 4, name);
    image_put(image, at + 4, 4, type);
    image_put(image, at + 8, word, flags);
    image_put(image, at + 8 + word, word, flags & SHF_ALLOC ? IMAGE_BASE + offset : 0);
    image_put(image, at + 8 + 2 * word, word, offset);
    image_put(image, at + 8 + 3 * word, word, size);
    image_put(image, at + 8 + 4 * word, 4, link);
}

/* Numbers of sections. */
enum { SECTION_TEXT = 1, SECTION_RODATA, SECTION_TABLE, SECTION_DATA, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_NAMES };

/* Says how long the section of the table is. */
static void image_set_table_size(struct image *image, size_t size)
{
    image_put(image, image_section_header(image, SECTION_TABLE) + 8 + 3 * image->word, image->word, size);
}

static void image_write_sections(struct image *image)
{
    static const char *const names[] = {"",      ".text",   ".rodata", ".gopclntab",
                                        ".data", ".symtab", ".strtab", ".shstrtab"};
    uint32_t offsets[8];
    size_t at = IMAGE_NAMES;
    for (unsigned i = 0; i < 8; i++) {
        offsets[i] = (uint32_t)(at - IMAGE_NAMES);
        at = image_text(image, at, image->recipe.sections == SECTIONS_RENAMED && i > 0 ? ".x" : names[i]);
    }
    size_t symbol = image->recipe.is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    image_write_section(image, SECTION_TEXT, offsets[1], SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, IMAGE_TEXT,
                        IMAGE_TEXT_SIZE, 0);
    image_write_section(image, SECTION_RODATA, offsets[2], SHT_PROGBITS, SHF_ALLOC, IMAGE_RODATA, 0x400, 0);
    image_write_section(image, SECTION_TABLE, offsets[3], SHT_PROGBITS, SHF_ALLOC, IMAGE_TABLE, image->table_size, 0);
    image_write_section(image, SECTION_DATA, offsets[4], SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, IMAGE_DATA, 0x400, 0);
    image_write_section(image, SECTION_SYMBOLS, offsets[5], image->recipe.symbols ? SHT_SYMTAB : SHT_NULL, 0,
                        IMAGE_SYMBOLS, 3 * symbol, SECTION_STRINGS);
    image_write_section(image, SECTION_STRINGS, offsets[6], SHT_STRTAB, 0, IMAGE_STRINGS, 0x40, 0);
    image_write_section(image, SECTION_NAMES, offsets[7], SHT_STRTAB, 0, IMAGE_NAMES, at - IMAGE_NAMES, 0);

    const char *base_name = image->recipe.go >= 20 ? "go:func.*" : "go.func.*";
    size_t second = image_text(image, IMAGE_STRINGS + 1, "runtime.text");
    image_text(image, second, base_name);
    for (unsigned i = 1; i <= 2; i++) {
        size_t entry = IMAGE_SYMBOLS + i * symbol;
        image_put(image, entry, 4, i == 1 ? 1 : second - IMAGE_STRINGS);
        image_put(image, entry + (image->recipe.is_64 ? 8 : 4), image->word,
                  IMAGE_BASE + (i == 1 ? IMAGE_GO_TEXT : IMAGE_RODATA));
        image_put(image, entry + (image->recipe.is_64 ? 6 : 14), 2, i == 1 ? SECTION_TEXT : SECTION_RODATA);
    }
}

static void image_make(struct image *image, struct image_recipe recipe)
{
    memset(image, 0, sizeof *image);
    image->recipe = recipe;
    image->word = recipe.is_64 ? 8 : 4;
    unsigned word = image->word;
    image_write_table(image);
    if (!recipe.no_module)
        image_write_module(image);
    bool headers = recipe.sections != SECTIONS_NONE;

    memcpy(image->bytes, ELFMAG, SELFMAG);
    image->bytes[EI_CLASS] = recipe.is_64 ? ELFCLASS64 : ELFCLASS32;
    image->bytes[EI_DATA] = recipe.big_endian ? ELFDATA2MSB : ELFDATA2LSB;
    image->bytes[EI_VERSION] = EV_CURRENT;
    image_put(image, 16, 2, recipe.relocated ? ET_DYN : ET_EXEC);
    image_put(image, 18, 2, recipe.big_endian ? EM_S390 : recipe.is_64 ? EM_X86_64 : EM_386);
    image_put(image, 20, 4, EV_CURRENT);
    size_t at = 24;
    image_put(image, at + word, word, recipe.is_64 ? 64 : 52);
    image_put(image, at + 2 * word, word, headers ? IMAGE_HEADERS : 0);
    at += 3 * word + 4;
    image_put(image, at, 2, recipe.is_64 ? 64 : 52);
    image_put(image, at + 2, 2, recipe.is_64 ? 56 : 32);
    image_put(image, at + 4, 2, recipe.relocated ? 4 : 3);
    image_put(image, at + 6, 2, recipe.is_64 ? 64 : 40);
    image_put(image, at + 8, 2, headers ? 8 : 0);
    image_put(image, at + 10, 2, headers ? SECTION_NAMES : 0);

    image_write_segment(image, 0, PT_LOAD, PF_R | PF_X, IMAGE_TEXT, IMAGE_TEXT_SIZE);
    image_write_segment(image, 1, PT_LOAD, PF_R, IMAGE_RODATA, IMAGE_TABLE + image->table_size - IMAGE_RODATA);
    image_write_segment(image, 2, PT_LOAD, PF_R | PF_W, IMAGE_DATA, 0x1000);
    if (recipe.relocated)
        image_write_segment(image, 3, PT_DYNAMIC, PF_R, IMAGE_DYNAMIC, 0x40);
    image_put(image, IMAGE_DYNAMIC, word, DT_RELA);
    image_put(image, IMAGE_DYNAMIC + word, word, IMAGE_BASE + IMAGE_RELA);
    image_put(image, IMAGE_DYNAMIC + 2 * word, word, DT_RELASZ);
    image_put(image, IMAGE_DYNAMIC + 3 * word, word, image->relocation_count * 24);
    if (headers)
        image_write_sections(image);
}

#endif
