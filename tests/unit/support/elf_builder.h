/*
 * elf_builder.h: ELF files made in memory, for tests: 32 and 64 bit, both byte orders, and with lies where they are
 * wanted.
 *
 *     struct sxt_builder builder;
 *     sxt_builder_init(&builder, true, false, ET_EXEC, EM_X86_64);
 *     unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, size);
 *     sxt_builder_at(&builder, text)->address = 0x401000;
 *     sxt_builder_function(&builder, SHT_SYMTAB, "main", 0x401000, 16, text);
 *     sxt_builder_finish(&builder);
 *     ... builder.data, builder.size; then sxt_builder_lie_... to spoil it ...
 *     sxt_builder_free(&builder);
 *
 * The file is: header, segment headers, the bytes of the sections in order, section headers. Running out of memory ends
 * the test program.
 */
#ifndef SXT_TEST_ELF_BUILDER_H
#define SXT_TEST_ELF_BUILDER_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct sxt_builder_section {
    const char *name; /* borrowed until finish */
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    uint64_t offset; /* known after finish */
    struct sxt_buffer bytes;
    uint64_t size; /* of a section without bytes (SHT_NOBITS); otherwise that of `bytes` after finish */
    uint32_t link;
    uint32_t info;
    uint64_t alignment;
    uint64_t entry_size;
};

struct sxt_builder_segment {
    uint32_t type;
    uint32_t flags;
    unsigned first_section, last_section; /* what it loads; both 0 for the numbers below as they stand */
    uint64_t offset, address, file_size, memory_size, alignment;
};

struct sxt_builder {
    bool is_64;
    bool big_endian;
    uint16_t type;
    uint16_t machine;
    uint32_t flags;
    struct sxt_builder_section *sections; /* 0 is the null section */
    unsigned section_count, section_capacity;
    struct sxt_builder_segment *segments;
    unsigned segment_count, segment_capacity;
    unsigned symtab, dynsym; /* numbers of those sections; 0 while there are none */
    unsigned names;          /* of .shstrtab */
    /* The file. */
    uint8_t *data;
    size_t size;
    uint64_t section_headers;
};

struct sxt_builder_symbol {
    const char *name;     /* NULL: name_offset */
    uint32_t name_offset; /* in the string table */
    uint64_t value;
    uint64_t size;
    unsigned type;    /* STT_... */
    unsigned binding; /* STB_... */
    uint32_t section;
    bool escaped; /* SHN_XINDEX, and the number in .symtab_shndx */
};

void sxt_builder_init(struct sxt_builder *builder, bool is_64, bool big_endian, uint16_t type, uint16_t machine);
void sxt_builder_free(struct sxt_builder *builder);

/* A section with a copy of SIZE bytes (DATA may be NULL for SHT_NOBITS or none). Returns its number. */
unsigned sxt_builder_section(struct sxt_builder *builder, const char *name, uint32_t type, uint64_t flags,
                             const void *data, size_t size);

/* The section with that number, to set more of it; valid until the next one is added. */
struct sxt_builder_section *sxt_builder_at(struct sxt_builder *builder, unsigned number);

/* A number of WIDTH bytes at the end of a section, in the file's byte order. */
void sxt_builder_word(struct sxt_builder *builder, unsigned section, uint64_t value, unsigned width);

/* As wide as an address of the file. */
void sxt_builder_address(struct sxt_builder *builder, unsigned section, uint64_t value);

/* A symbol of TABLE (SHT_SYMTAB or SHT_DYNSYM, made with its strings when it is not there). Returns its number. */
unsigned sxt_builder_symbol(struct sxt_builder *builder, uint32_t table, const struct sxt_builder_symbol *symbol);

/* The most frequent kind: a global function. */
unsigned sxt_builder_function(struct sxt_builder *builder, uint32_t table, const char *name, uint64_t value,
                              uint64_t size, uint32_t section);

/* A segment that loads some sections, which must follow each other in the file. */
void sxt_builder_segment(struct sxt_builder *builder, uint32_t type, uint32_t flags, unsigned first_section,
                         unsigned last_section);

/* A note, padded to ALIGNMENT (4 or 8), at the end of a section. */
void sxt_builder_note(struct sxt_builder *builder, unsigned section, uint32_t type, const char *name, const void *value,
                      size_t size, unsigned alignment);

/* A whole .note.gnu.build-id section. Returns its number. */
unsigned sxt_builder_build_id(struct sxt_builder *builder, const void *id, size_t size);

/* Replaces the bytes of a section by their compressed form: SHF_COMPRESSED with ELFCOMPRESS_ZLIB (1) or zstd (2). */
void sxt_builder_compress(struct sxt_builder *builder, unsigned section, uint32_t kind);

/* Puts the file together. Sections and symbols cannot be added any more. */
void sxt_builder_finish(struct sxt_builder *builder);

/* --- lies, in the finished file --- */

enum sxt_builder_header_field {
    SXT_HEADER_SEGMENTS, /* e_phoff */
    SXT_HEADER_SECTIONS, /* e_shoff */
    SXT_HEADER_SEGMENT_SIZE,
    SXT_HEADER_SEGMENT_COUNT,
    SXT_HEADER_SECTION_SIZE,
    SXT_HEADER_SECTION_COUNT,
    SXT_HEADER_NAMES, /* e_shstrndx */
};

enum sxt_builder_section_field {
    SXT_SECTION_NAME,
    SXT_SECTION_TYPE,
    SXT_SECTION_FLAGS,
    SXT_SECTION_ADDRESS,
    SXT_SECTION_OFFSET,
    SXT_SECTION_SIZE,
    SXT_SECTION_LINK,
    SXT_SECTION_INFO,
    SXT_SECTION_ALIGNMENT,
    SXT_SECTION_ENTRY_SIZE,
};

void sxt_builder_lie_header(struct sxt_builder *builder, enum sxt_builder_header_field field, uint64_t value);
void sxt_builder_lie_section(struct sxt_builder *builder, unsigned number, enum sxt_builder_section_field field,
                             uint64_t value);

/* A number of WIDTH bytes at OFFSET of the finished file. */
void sxt_builder_poke(struct sxt_builder *builder, uint64_t offset, uint64_t value, unsigned width);

#endif
