/*
 * elf.h: an ELF file taken apart: header, sections, segments. 32 and 64 bit, both byte orders.
 *
 * Nothing in the file is trusted: a section or segment that does not lie inside the file is kept with its numbers, but
 * asking for its bytes fails. Tables of sections are limited by the bytes that are really there.
 */
#ifndef SXT_SOURCE_ELF_H
#define SXT_SOURCE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/arena.h"
#include "base/cursor.h"

struct sxt_elf_section {
    sxt_string name; /* "" when it cannot be read */
    uint32_t name_offset;
    uint32_t type;
    uint64_t flags;
    uint64_t address; /* in a relocatable file: where it was laid out (see sxt_elf_open) */
    uint64_t offset;
    uint64_t size;
    uint32_t link;
    uint32_t info;
    uint64_t alignment;
    uint64_t entry_size;
};

struct sxt_elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t alignment;
};

struct sxt_elf {
    const uint8_t *data; /* borrowed */
    size_t size;
    bool is_64;
    bool big_endian;
    uint16_t type;    /* ET_... */
    uint16_t machine; /* EM_... */
    uint32_t version; /* e_version, which nobody looks at */
    uint32_t flags;
    uint64_t entry;
    uint32_t names; /* the section that holds the names of sections; 0 for none */
    struct sxt_elf_section *sections;
    size_t section_count;
    struct sxt_elf_segment *segments;
    size_t segment_count;
    uint64_t inflate_limit; /* the most that one section, and all that were asked for together, may expand to */
    uint64_t inflated;      /* so far */
    uint64_t handed_out; /* bytes of sections so far: sections may overlap, and the same bytes come again and again */
    struct sxt_arena arena; /* the two tables and inflated sections */
};

/* The bytes of a section, inflated when they are compressed. Borrowed from the file or from the sxt_elf. */
struct sxt_elf_bytes {
    const uint8_t *data;
    size_t size;
    uint64_t offset; /* of the section in the file, for messages */
    bool inflated;   /* offsets inside the bytes are not offsets in the file */
};

/*
 * Reads the header and the two tables. Core files are refused. In a relocatable file (ET_REL) the allocated sections
 * get addresses one after another in file order, each aligned as it asks. DATA must outlive ELF. On failure ELF is
 * empty.
 */
int sxt_elf_open(struct sxt_elf *elf, const uint8_t *data, size_t size, uint64_t inflate_limit, sxt_error *error);
void sxt_elf_close(struct sxt_elf *elf);

/* Is it an ELF file, by its magic? */
bool sxt_elf_is(const uint8_t *data, size_t size);

/* The first section with that name or type, or NULL. */
const struct sxt_elf_section *sxt_elf_section_named(const struct sxt_elf *elf, const char *name);
const struct sxt_elf_section *sxt_elf_section_typed(const struct sxt_elf *elf, uint32_t type);

/*
 * Its bytes; fails for a section without bytes (NOBITS), outside the file, or with a damaged compressed stream. In all,
 * a few times the size of the file is given out, and then SXT_ERROR_LIMIT: a file that needs more is made to waste
 * time.
 */
int sxt_elf_section_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                          sxt_error *error);

/* SIZE bytes that are loaded at virtual ADDRESS (by segments, otherwise by allocated sections), or NULL. */
const uint8_t *sxt_elf_at_address(const struct sxt_elf *elf, uint64_t address, uint64_t size);

/* How many bytes of the file are loaded contiguously from ADDRESS on; 0 when none. */
uint64_t sxt_elf_available_at(const struct sxt_elf *elf, uint64_t address);

/* A cursor over bytes, in the file's byte order. */
struct sxt_cursor sxt_elf_cursor(const struct sxt_elf *elf, const struct sxt_elf_bytes *bytes);

/* "x86_64", "aarch64", ...; NULL for a machine that has no name here. */
const char *sxt_elf_arch(const struct sxt_elf *elf);

/* The GNU build ID (from the note sections or segments); returns its size, 0 when there is none. */
size_t sxt_elf_build_id(const struct sxt_elf *elf, uint8_t *out, size_t capacity);

#endif
