/*
 * elf.c: header, section table and segment table of an ELF file, and the bytes of sections and segments.
 *
 * The numbers in the tables are stored unchecked; every access to bytes checks them against the size of the file.
 */
#include "source/elf/elf.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/inflate.h"
#include "base/string.h"

#define SECTION_NAME_MAX 4096

/* Not in every system's elf.h. */
#define COMPRESS_ZSTD 2

/*
 * Limits that a valid file does not reach: how much is read, and how much sections expand to, as a multiple of the file
 * size plus a constant.
 */
#define READ_TIMES    8
#define READ_MORE     ((uint64_t)4 << 20)
#define INFLATE_TIMES 64
#define INFLATE_MORE  ((uint64_t)64 << 20)

/* What the header says about the two tables. */
struct tables {
    uint64_t segments; /* file offsets; 0 if there is no such table */
    uint64_t sections;
    unsigned segment_count;
    unsigned section_count;
    unsigned names; /* index of the section with the names of sections */
};

static int read_header(struct sxt_elf *elf, struct tables *tables, sxt_error *error);
static int read_sections(struct sxt_elf *elf, const struct tables *tables, sxt_error *error);
static int read_segments(struct sxt_elf *elf, const struct tables *tables, sxt_error *error);
static void name_sections(struct sxt_elf *elf);
static void assign_addresses(struct sxt_elf *elf);

bool sxt_elf_is(const uint8_t *data, size_t size)
{
    return size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0;
}

int sxt_elf_open(struct sxt_elf *elf, const uint8_t *data, size_t size, uint64_t inflate_limit, sxt_error *error)
{
    memset(elf, 0, sizeof *elf);
    if (!sxt_elf_is(data, size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, 0, "not an ELF file");
    elf->data = data;
    elf->size = size;
    elf->inflate_limit = inflate_limit;
    sxt_arena_init(&elf->arena, 0, sxt_arena_separate_default);

    struct tables tables = {0};
    int status = read_header(elf, &tables, error);
    if (status == SXT_OK)
        status = read_segments(elf, &tables, error);
    if (status == SXT_OK)
        status = read_sections(elf, &tables, error);
    if (status == SXT_OK && elf->type == ET_REL)
        assign_addresses(elf);
    if (status != SXT_OK)
        sxt_elf_close(elf);
    return status;
}

void sxt_elf_close(struct sxt_elf *elf)
{
    sxt_arena_free(&elf->arena);
    memset(elf, 0, sizeof *elf);
}

static int read_header(struct sxt_elf *elf, struct tables *tables, sxt_error *error)
{
    if (elf->size < EI_NIDENT)
        return sxt_fail(error, SXT_ERROR_FORMAT, elf->size, "ELF header is cut off");
    uint8_t class = elf->data[EI_CLASS];
    uint8_t order = elf->data[EI_DATA];
    if (class != ELFCLASS32 && class != ELFCLASS64)
        return sxt_fail(error, SXT_ERROR_FORMAT, EI_CLASS, "unknown ELF class %u", class);
    if (order != ELFDATA2LSB && order != ELFDATA2MSB)
        return sxt_fail(error, SXT_ERROR_FORMAT, EI_DATA, "unknown ELF byte order %u", order);
    if (elf->data[EI_VERSION] != EV_CURRENT)
        return sxt_fail(error, SXT_ERROR_FORMAT, EI_VERSION, "unknown ELF version %u", elf->data[EI_VERSION]);
    elf->is_64 = class == ELFCLASS64;
    elf->big_endian = order == ELFDATA2MSB;

    struct sxt_cursor at = sxt_cursor_make(elf->data, elf->size, 0, elf->big_endian);
    unsigned word = elf->is_64 ? 8 : 4;
    sxt_cursor_skip(&at, EI_NIDENT);
    elf->type = sxt_cursor_u16(&at);
    elf->machine = sxt_cursor_u16(&at);
    elf->version = sxt_cursor_u32(&at);
    elf->entry = sxt_cursor_uint(&at, word);
    tables->segments = sxt_cursor_uint(&at, word);
    tables->sections = sxt_cursor_uint(&at, word);
    elf->flags = sxt_cursor_u32(&at);
    sxt_cursor_skip(&at, 2); /* e_ehsize */
    uint16_t segment_size = sxt_cursor_u16(&at);
    tables->segment_count = sxt_cursor_u16(&at);
    uint16_t section_size = sxt_cursor_u16(&at);
    tables->section_count = sxt_cursor_u16(&at);
    tables->names = sxt_cursor_u16(&at);
    if (at.failed)
        return sxt_fail(error, SXT_ERROR_FORMAT, elf->size, "ELF header is cut off");
    if (elf->type == ET_CORE)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "a core file contains no symbols; use the program that dumped core or one of its libraries");

    unsigned header_end = elf->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    if (tables->segment_count != 0 && segment_size != (elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)))
        return sxt_fail(error, SXT_ERROR_FORMAT, header_end - 10, "program header size is %u", segment_size);
    if (tables->sections != 0 && section_size != (elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)))
        return sxt_fail(error, SXT_ERROR_FORMAT, header_end - 6, "section header size is %u", section_size);
    return SXT_OK;
}

static int read_segments(struct sxt_elf *elf, const struct tables *tables, sxt_error *error)
{
    uint64_t offset = tables->segments;
    unsigned count = tables->segment_count;
    unsigned entry = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    unsigned word = elf->is_64 ? 8 : 4;
    if (offset == 0 || count == 0)
        return SXT_OK;
    if (!sxt_fits(offset, count, entry, elf->size))
        return sxt_fail(error, SXT_ERROR_FORMAT, offset,
                        "program headers: %u entries of %u bytes do not fit in %zu bytes", count, entry, elf->size);
    elf->segments = sxt_arena_calloc(&elf->arena, count, sizeof *elf->segments);
    if (elf->segments == NULL)
        return sxt_fail_memory(error, (uint64_t)count * sizeof *elf->segments);
    elf->segment_count = count;
    struct sxt_cursor at = sxt_cursor_make(elf->data, elf->size, 0, elf->big_endian);
    for (unsigned i = 0; i < count; i++) {
        struct sxt_elf_segment *segment = &elf->segments[i];
        sxt_cursor_seek(&at, offset + (uint64_t)i * entry);
        segment->type = sxt_cursor_u32(&at);
        if (elf->is_64)
            segment->flags = sxt_cursor_u32(&at);
        segment->offset = sxt_cursor_uint(&at, word);
        segment->address = sxt_cursor_uint(&at, word);
        sxt_cursor_skip(&at, word); /* p_paddr */
        segment->file_size = sxt_cursor_uint(&at, word);
        segment->memory_size = sxt_cursor_uint(&at, word);
        if (!elf->is_64)
            segment->flags = sxt_cursor_u32(&at);
        segment->alignment = sxt_cursor_uint(&at, word);
    }
    return SXT_OK;
}

static void read_section(struct sxt_elf *elf, uint64_t offset, struct sxt_elf_section *section)
{
    unsigned word = elf->is_64 ? 8 : 4;
    struct sxt_cursor at = sxt_cursor_make(elf->data, elf->size, 0, elf->big_endian);
    sxt_cursor_seek(&at, offset);
    section->name_offset = sxt_cursor_u32(&at);
    section->type = sxt_cursor_u32(&at);
    section->flags = sxt_cursor_uint(&at, word);
    section->address = sxt_cursor_uint(&at, word);
    section->offset = sxt_cursor_uint(&at, word);
    section->size = sxt_cursor_uint(&at, word);
    section->link = sxt_cursor_u32(&at);
    section->info = sxt_cursor_u32(&at);
    section->alignment = sxt_cursor_uint(&at, word);
    section->entry_size = sxt_cursor_uint(&at, word);
}

static int read_sections(struct sxt_elf *elf, const struct tables *tables, sxt_error *error)
{
    uint64_t offset = tables->sections;
    unsigned names = tables->names;
    unsigned entry = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (offset == 0)
        return SXT_OK;
    uint64_t real_count = tables->section_count;
    struct sxt_elf_section first = {0};
    if (sxt_fits(offset, 1, entry, elf->size)) {
        /* Numbers too large for the header are in the first section header, which is otherwise empty. */
        read_section(elf, offset, &first);
        if (real_count == 0)
            real_count = first.size;
        if (names == SHN_XINDEX)
            names = first.link;
    }
    if (real_count == 0)
        return SXT_OK;
    if (!sxt_fits(offset, real_count, entry, elf->size))
        return sxt_fail(error, SXT_ERROR_FORMAT, offset,
                        "section headers: %llu entries of %u bytes do not fit in %zu bytes",
                        (unsigned long long)real_count, entry, elf->size);
    elf->sections = sxt_arena_calloc(&elf->arena, real_count, sizeof *elf->sections);
    if (elf->sections == NULL)
        return sxt_fail_memory(error, real_count * sizeof *elf->sections);
    elf->section_count = real_count;
    for (size_t i = 0; i < real_count; i++) {
        read_section(elf, offset + i * entry, &elf->sections[i]);
        elf->sections[i].name = (sxt_string){"", 0};
    }
    elf->names = names;
    name_sections(elf);
    return SXT_OK;
}

static void name_sections(struct sxt_elf *elf)
{
    struct sxt_elf_bytes table;
    if (elf->names == 0 || elf->names >= elf->section_count ||
        sxt_elf_section_bytes(elf, &elf->sections[elf->names], &table, NULL) != SXT_OK)
        return;
    for (size_t i = 0; i < elf->section_count; i++) {
        uint32_t offset = elf->sections[i].name_offset;
        if (offset >= table.size)
            continue;
        const char *text = (const char *)table.data + offset;
        size_t most = table.size - offset < SECTION_NAME_MAX ? table.size - offset : SECTION_NAME_MAX;
        size_t length = strnlen(text, most);
        if (length < most)
            elf->sections[i].name = (sxt_string){text, length};
    }
}

/*
 * All sections of a relocatable file have address 0. Place them one after another, so that every byte has a unique
 * address.
 */
static void assign_addresses(struct sxt_elf *elf)
{
    uint64_t next = 0;
    for (size_t i = 0; i < elf->section_count; i++) {
        struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) == 0)
            continue;
        uint64_t alignment = section->alignment;
        if (alignment == 0 || (alignment & (alignment - 1)) != 0)
            alignment = 1;
        uint64_t base;
        if (!sxt_add_u64(next, alignment - 1, &base))
            return;
        base &= ~(alignment - 1);
        section->address = base;
        if (!sxt_add_u64(base, section->size, &next))
            return;
    }
}

const struct sxt_elf_section *sxt_elf_section_named(const struct sxt_elf *elf, const char *name)
{
    const sxt_string wanted = sxt_string_of(name);
    for (size_t i = 0; i < elf->section_count; i++)
        if (sxt_string_equal(elf->sections[i].name, wanted))
            return &elf->sections[i];
    return NULL;
}

const struct sxt_elf_section *sxt_elf_section_typed(const struct sxt_elf *elf, uint32_t type)
{
    for (size_t i = 0; i < elf->section_count; i++)
        if (elf->sections[i].type == type)
            return &elf->sections[i];
    return NULL;
}

static int begin_inflation(struct sxt_elf *elf, enum sxt_compression kind, const uint8_t *data, size_t size,
                           uint64_t expected, struct sxt_elf_bytes *out, struct sxt_elf_inflation *inflation,
                           sxt_error *error)
{
    if (expected > elf->inflate_limit)
        return sxt_fail(error, SXT_ERROR_LIMIT, out->offset,
                        "compressed section of %llu bytes exceeds the limit of %llu", (unsigned long long)expected,
                        (unsigned long long)elf->inflate_limit);
    if (expected > elf->inflate_limit - elf->inflated ||
        elf->inflated + expected > (uint64_t)elf->size * INFLATE_TIMES + INFLATE_MORE)
        return sxt_fail(error, SXT_ERROR_LIMIT, out->offset,
                        "compressed sections expand too much for a file of %zu bytes", elf->size);
    /* No stream expands by more than this (deflate: 1032), so a larger size is wrong and is not worth the memory. */
    uint64_t most = kind == SXT_COMPRESSION_ZLIB ? (uint64_t)size * 1040 + 64 : (uint64_t)size * 65536 + 65536;
    if (expected > most)
        return sxt_fail(error, SXT_ERROR_FORMAT, out->offset, "compressed section: %zu bytes cannot hold %llu", size,
                        (unsigned long long)expected);
    elf->inflated += expected;
    uint8_t *to = sxt_arena_alloc(&elf->arena, expected);
    if (to == NULL)
        return sxt_fail_memory(error, expected);
    *inflation = (struct sxt_elf_inflation){kind, data, size, to, expected, out->offset};
    out->data = to;
    out->size = expected;
    out->inflated = true;
    return SXT_OK;
}

int sxt_elf_inflate(const struct sxt_elf_inflation *inflation, sxt_error *error)
{
    sxt_error cause;
    int status = inflation->to == NULL ? SXT_OK
                                       : sxt_inflate_exactly(inflation->kind, inflation->data, inflation->size,
                                                             inflation->to, inflation->expected, &cause);
    if (status != SXT_OK)
        return sxt_fail(error, (sxt_status)status, inflation->offset, "compressed section: %.150s", cause.text);
    return SXT_OK;
}

int sxt_elf_section_bytes(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                          sxt_error *error)
{
    struct sxt_elf_inflation inflation;
    struct sxt_elf_bytes bytes;
    int status = sxt_elf_section_begin(elf, section, &bytes, &inflation, error);
    if (status == SXT_OK)
        status = sxt_elf_inflate(&inflation, error);
    *out = status == SXT_OK ? bytes : (struct sxt_elf_bytes){.offset = section->offset};
    return status;
}

int sxt_elf_section_begin(struct sxt_elf *elf, const struct sxt_elf_section *section, struct sxt_elf_bytes *out,
                          struct sxt_elf_inflation *inflation, sxt_error *error)
{
    *inflation = (struct sxt_elf_inflation){.to = NULL};
    *out = (struct sxt_elf_bytes){.data = NULL, .size = 0, .offset = section->offset, .inflated = false};
    int name_size = section->name.size > 60 ? 60 : (int)section->name.size;
    const char *name = section->name.data != NULL ? section->name.data : "";
    if (section->name.data == NULL)
        name_size = 0;
    if (section->type == SHT_NOBITS)
        return sxt_fail(error, SXT_ERROR_FORMAT, section->offset, "section '%.*s' has no bytes in the file", name_size,
                        name);
    if (!sxt_fits(section->offset, section->size, 1, elf->size))
        return sxt_fail(error, SXT_ERROR_FORMAT, section->offset,
                        "section '%.*s': %llu bytes do not fit in a file of %zu bytes", name_size, name,
                        (unsigned long long)section->size, elf->size);
    if (section->size > (uint64_t)elf->size * READ_TIMES + READ_MORE - elf->handed_out)
        return sxt_fail(error, SXT_ERROR_LIMIT, section->offset, "sections overlap too much");
    elf->handed_out += section->size;
    out->data = elf->data + section->offset;
    out->size = section->size;

    if (section->flags & SHF_COMPRESSED) {
        struct sxt_cursor at = sxt_elf_cursor(elf, out);
        uint32_t kind = sxt_cursor_u32(&at);
        if (elf->is_64)
            sxt_cursor_skip(&at, 4);
        uint64_t expected = sxt_cursor_uint(&at, elf->is_64 ? 8 : 4);
        sxt_cursor_skip(&at, elf->is_64 ? 8 : 4); /* ch_addralign */
        if (at.failed)
            return sxt_fail(error, SXT_ERROR_FORMAT, section->offset, "compression header of section '%.*s' is cut off",
                            name_size, name);
        if (kind != ELFCOMPRESS_ZLIB && kind != COMPRESS_ZSTD)
            return sxt_fail(error, SXT_ERROR_UNSUPPORTED, section->offset, "section '%.*s': unknown compression %u",
                            name_size, name, kind);
        return begin_inflation(elf, kind == COMPRESS_ZSTD ? SXT_COMPRESSION_ZSTD : SXT_COMPRESSION_ZLIB,
                               out->data + at.at, sxt_cursor_left(&at), expected, out, inflation, error);
    }
    /* The older GNU form: a name that begins with .zdebug, then "ZLIB" and a big-endian size. */
    if (name_size >= 7 && memcmp(name, ".zdebug", 7) == 0 && out->size >= 12 && memcmp(out->data, "ZLIB", 4) == 0)
        return begin_inflation(elf, SXT_COMPRESSION_ZLIB, out->data + 12, out->size - 12,
                               sxt_load_u64(out->data + 4, true), out, inflation, error);
    return SXT_OK;
}

/* Returns the bytes of the file that are loaded at ADDRESS, with their number in AVAILABLE, or NULL. */
static const uint8_t *loaded_at(const struct sxt_elf *elf, uint64_t address, uint64_t *available)
{
    *available = 0;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type != PT_LOAD || address < segment->address || address - segment->address >= segment->file_size)
            continue;
        uint64_t inside = address - segment->address;
        if (!sxt_fits(segment->offset, segment->file_size, 1, elf->size))
            continue;
        *available = segment->file_size - inside;
        return elf->data + segment->offset + inside;
    }
    if (elf->segment_count != 0)
        return NULL;
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) == 0 || section->type == SHT_NOBITS || (section->flags & SHF_COMPRESSED) ||
            address < section->address || address - section->address >= section->size)
            continue;
        if (!sxt_fits(section->offset, section->size, 1, elf->size))
            continue;
        uint64_t inside = address - section->address;
        *available = section->size - inside;
        return elf->data + section->offset + inside;
    }
    return NULL;
}

const uint8_t *sxt_elf_at_address(const struct sxt_elf *elf, uint64_t address, uint64_t size)
{
    uint64_t available;
    const uint8_t *bytes = loaded_at(elf, address, &available);
    return bytes != NULL && size <= available ? bytes : NULL;
}

uint64_t sxt_elf_available_at(const struct sxt_elf *elf, uint64_t address)
{
    uint64_t available;
    (void)loaded_at(elf, address, &available);
    return available;
}

struct sxt_cursor sxt_elf_cursor(const struct sxt_elf *elf, const struct sxt_elf_bytes *bytes)
{
    return sxt_cursor_make(bytes->data, bytes->size, bytes->offset, elf->big_endian);
}

const char *sxt_elf_arch(const struct sxt_elf *elf)
{
    switch (elf->machine) {
    case EM_X86_64:
        return elf->is_64 ? "x86_64" : "x32";
    case EM_386:
        return "i386";
    case EM_AARCH64:
        return elf->big_endian ? "aarch64_be" : "aarch64";
    case EM_ARM:
        return elf->big_endian ? "armeb" : "arm";
    case EM_RISCV:
        return elf->is_64 ? "riscv64" : "riscv32";
    case EM_PPC64:
        return elf->big_endian ? "ppc64" : "ppc64le";
    case EM_PPC:
        return "ppc";
    case EM_S390:
        return elf->is_64 ? "s390x" : "s390";
    case EM_MIPS:
        return elf->is_64 ? (elf->big_endian ? "mips64" : "mips64el") : (elf->big_endian ? "mips" : "mipsel");
    case EM_LOONGARCH:
        return elf->is_64 ? "loongarch64" : "loongarch32";
    case EM_SPARCV9:
        return "sparc64";
    case EM_SPARC:
        return "sparc";
    default:
        return NULL;
    }
}

/*
 * A note consists of name size, descriptor size, type, name, descriptor. The last two are padded to the alignment (4,
 * rarely 8).
 */
static size_t build_id_in_notes(const struct sxt_elf *elf, uint64_t offset, uint64_t size, uint64_t alignment,
                                uint8_t *out, size_t capacity)
{
    if (!sxt_fits(offset, size, 1, elf->size))
        return 0;
    uint64_t pad = alignment == 8 ? 7 : 3;
    struct sxt_cursor at = sxt_cursor_make(elf->data + offset, size, offset, elf->big_endian);
    while (sxt_cursor_left(&at) >= 12) {
        uint64_t name_size = sxt_cursor_u32(&at);
        uint64_t value_size = sxt_cursor_u32(&at);
        uint32_t type = sxt_cursor_u32(&at);
        const uint8_t *name = sxt_cursor_bytes(&at, name_size);
        sxt_cursor_skip(&at, -(uint64_t)at.at & pad);
        const uint8_t *value = sxt_cursor_bytes(&at, value_size);
        if (at.failed)
            return 0;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && value_size > 0) {
            size_t length = value_size < capacity ? value_size : capacity;
            memcpy(out, value, length);
            return length;
        }
        uint64_t padding = -(uint64_t)at.at & pad;
        if (padding > sxt_cursor_left(&at))
            return 0;
        sxt_cursor_skip(&at, padding);
    }
    return 0;
}

/* Overlapping notes could waste time, so all notes together may not be longer than the file. */
size_t sxt_elf_build_id(const struct sxt_elf *elf, uint8_t *out, size_t capacity)
{
    size_t found = 0;
    uint64_t left = elf->size;
    for (size_t i = 0; i < elf->section_count && found == 0; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if (section->type != SHT_NOTE || section->size > left)
            continue;
        left -= section->size;
        found = build_id_in_notes(elf, section->offset, section->size, section->alignment, out, capacity);
    }
    left = elf->size;
    for (size_t i = 0; i < elf->segment_count && found == 0; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type != PT_NOTE || segment->file_size > left)
            continue;
        left -= segment->file_size;
        found = build_id_in_notes(elf, segment->offset, segment->file_size, segment->alignment, out, capacity);
    }
    return found;
}

bool sxt_elf_in_code_segment(const struct sxt_elf *elf, uint64_t address)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type == PT_LOAD && (segment->flags & PF_X) && address >= segment->address &&
            address - segment->address < segment->memory_size)
            return true;
    }
    return false;
}
