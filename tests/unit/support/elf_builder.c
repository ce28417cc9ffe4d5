/* elf_builder.c: ELF files made in memory, for tests. */
#include "support/elf_builder.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static void number_to(const struct sxt_builder *builder, uint8_t *to, uint64_t value, unsigned width);
static void place_sections(struct sxt_builder *builder);
static void write_header(struct sxt_builder *builder);
static void write_segments(struct sxt_builder *builder);
static void write_sections(struct sxt_builder *builder, const uint32_t *names);

static void *need(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static unsigned word_size(const struct sxt_builder *builder)
{
    return builder->is_64 ? 8 : 4;
}

void sxt_builder_init(struct sxt_builder *builder, bool is_64, bool big_endian, uint16_t type, uint16_t machine)
{
    *builder = (struct sxt_builder){.is_64 = is_64, .big_endian = big_endian, .type = type, .machine = machine};
    sxt_builder_section(builder, "", SHT_NULL, 0, NULL, 0);
    builder->sections[0].alignment = 0;
}

void sxt_builder_free(struct sxt_builder *builder)
{
    for (unsigned i = 0; i < builder->section_count; i++)
        sxt_buffer_free(&builder->sections[i].bytes);
    free(builder->sections);
    free(builder->segments);
    free(builder->data);
    memset(builder, 0, sizeof *builder);
}

unsigned sxt_builder_section(struct sxt_builder *builder, const char *name, uint32_t type, uint64_t flags,
                             const void *data, size_t size)
{
    if (builder->section_count == builder->section_capacity) {
        builder->section_capacity = builder->section_capacity * 2 + 16;
        builder->sections = need(realloc(builder->sections, builder->section_capacity * sizeof *builder->sections));
    }
    struct sxt_builder_section *section = &builder->sections[builder->section_count];
    *section = (struct sxt_builder_section){.name = name, .type = type, .flags = flags, .alignment = 1};
    sxt_buffer_init(&section->bytes, PTRDIFF_MAX);
    if (data != NULL)
        sxt_buffer_append(&section->bytes, data, size);
    section->size = size;
    return builder->section_count++;
}

struct sxt_builder_section *sxt_builder_at(struct sxt_builder *builder, unsigned number)
{
    if (number >= builder->section_count)
        abort();
    return &builder->sections[number];
}

void sxt_builder_word(struct sxt_builder *builder, unsigned section, uint64_t value, unsigned width)
{
    uint8_t bytes[8];
    number_to(builder, bytes, value, width);
    sxt_buffer_append(&sxt_builder_at(builder, section)->bytes, bytes, width);
}

void sxt_builder_address(struct sxt_builder *builder, unsigned section, uint64_t value)
{
    sxt_builder_word(builder, section, value, word_size(builder));
}

static unsigned table_of(struct sxt_builder *builder, uint32_t type)
{
    unsigned *table = type == SHT_SYMTAB ? &builder->symtab : &builder->dynsym;
    if (*table != 0)
        return *table;
    uint8_t null_symbol[sizeof(Elf64_Sym)] = {0};
    size_t entry = builder->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    unsigned strings = sxt_builder_section(builder, type == SHT_SYMTAB ? ".strtab" : ".dynstr", SHT_STRTAB, 0, "", 1);
    *table = sxt_builder_section(builder, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type, 0, null_symbol, entry);
    sxt_builder_at(builder, *table)->link = strings;
    sxt_builder_at(builder, *table)->entry_size = entry;
    sxt_builder_at(builder, *table)->alignment = word_size(builder);
    return *table;
}

/* Notes the section of symbol NUMBER in .symtab_shndx. */
static void escape(struct sxt_builder *builder, unsigned table, unsigned number, uint32_t section)
{
    unsigned indices = 0;
    for (unsigned i = 1; i < builder->section_count && indices == 0; i++)
        if (builder->sections[i].type == SHT_SYMTAB_SHNDX && builder->sections[i].link == table)
            indices = i;
    if (indices == 0) {
        indices = sxt_builder_section(builder, ".symtab_shndx", SHT_SYMTAB_SHNDX, 0, NULL, 0);
        sxt_builder_at(builder, indices)->link = table;
        sxt_builder_at(builder, indices)->entry_size = 4;
    }
    while (sxt_builder_at(builder, indices)->bytes.size < (size_t)number * 4)
        sxt_builder_word(builder, indices, 0, 4);
    sxt_builder_word(builder, indices, section, 4);
}

unsigned sxt_builder_symbol(struct sxt_builder *builder, uint32_t table, const struct sxt_builder_symbol *symbol)
{
    unsigned number = table_of(builder, table);
    struct sxt_buffer *strings = &sxt_builder_at(builder, sxt_builder_at(builder, number)->link)->bytes;
    uint32_t name = symbol->name_offset;
    if (symbol->name != NULL) {
        name = symbol->name[0] == 0 ? 0 : (uint32_t)strings->size;
        if (name != 0)
            sxt_buffer_append(strings, symbol->name, strlen(symbol->name) + 1);
    }
    unsigned index = (unsigned)(sxt_builder_at(builder, number)->bytes.size /
                                (builder->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)));
    uint32_t section = symbol->escaped ? SHN_XINDEX : symbol->section;
    unsigned info = symbol->binding << 4 | (symbol->type & 15);
    sxt_builder_word(builder, number, name, 4);
    if (!builder->is_64) {
        sxt_builder_word(builder, number, symbol->value, 4);
        sxt_builder_word(builder, number, symbol->size, 4);
    }
    sxt_builder_word(builder, number, info, 1);
    sxt_builder_word(builder, number, 0, 1);
    sxt_builder_word(builder, number, section, 2);
    if (builder->is_64) {
        sxt_builder_word(builder, number, symbol->value, 8);
        sxt_builder_word(builder, number, symbol->size, 8);
    }
    if (symbol->escaped)
        escape(builder, number, index, symbol->section);
    return index;
}

unsigned sxt_builder_function(struct sxt_builder *builder, uint32_t table, const char *name, uint64_t value,
                              uint64_t size, uint32_t section)
{
    return sxt_builder_symbol(
        builder, table,
        &(struct sxt_builder_symbol){
            .name = name, .value = value, .size = size, .type = STT_FUNC, .binding = STB_GLOBAL, .section = section});
}

void sxt_builder_segment(struct sxt_builder *builder, uint32_t type, uint32_t flags, unsigned first_section,
                         unsigned last_section)
{
    if (builder->segment_count == builder->segment_capacity) {
        builder->segment_capacity = builder->segment_capacity * 2 + 4;
        builder->segments = need(realloc(builder->segments, builder->segment_capacity * sizeof *builder->segments));
    }
    builder->segments[builder->segment_count++] = (struct sxt_builder_segment){
        .type = type, .flags = flags, .first_section = first_section, .last_section = last_section, .alignment = 1};
}

static void pad(struct sxt_buffer *buffer, unsigned alignment)
{
    while (alignment > 1 && buffer->size % alignment != 0)
        sxt_buffer_u8(buffer, 0);
}

void sxt_builder_note(struct sxt_builder *builder, unsigned section, uint32_t type, const char *name, const void *value,
                      size_t size, unsigned alignment)
{
    sxt_builder_word(builder, section, strlen(name) + 1, 4);
    sxt_builder_word(builder, section, size, 4);
    sxt_builder_word(builder, section, type, 4);
    struct sxt_buffer *bytes = &sxt_builder_at(builder, section)->bytes;
    sxt_buffer_append(bytes, name, strlen(name) + 1);
    pad(bytes, alignment);
    sxt_buffer_append(bytes, value, size);
    pad(bytes, alignment);
    sxt_builder_at(builder, section)->alignment = alignment;
}

unsigned sxt_builder_build_id(struct sxt_builder *builder, const void *id, size_t size)
{
    unsigned section = sxt_builder_section(builder, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, NULL, 0);
    sxt_builder_note(builder, section, NT_GNU_BUILD_ID, "GNU", id, size, 4);
    return section;
}

void sxt_builder_compress(struct sxt_builder *builder, unsigned section, uint32_t kind)
{
    struct sxt_buffer plain = sxt_builder_at(builder, section)->bytes;
    size_t room = (kind == ELFCOMPRESS_ZLIB ? compressBound(plain.size) : ZSTD_compressBound(plain.size)) + 64;
    uint8_t *packed = need(malloc(room));
    uLongf size = room;
    if (kind == ELFCOMPRESS_ZLIB) {
        if (compress2(packed, &size, plain.data, plain.size, 9) != Z_OK)
            abort();
    } else {
        size = ZSTD_compress(packed, room, plain.data, plain.size, 3);
        if (ZSTD_isError(size))
            abort();
    }
    sxt_buffer_init(&sxt_builder_at(builder, section)->bytes, PTRDIFF_MAX);
    sxt_builder_word(builder, section, kind, 4);
    if (builder->is_64)
        sxt_builder_word(builder, section, 0, 4);
    sxt_builder_address(builder, section, plain.size);
    sxt_builder_address(builder, section, sxt_builder_at(builder, section)->alignment);
    sxt_buffer_append(&sxt_builder_at(builder, section)->bytes, packed, size);
    sxt_builder_at(builder, section)->flags |= SHF_COMPRESSED;
    free(packed);
    sxt_buffer_free(&plain);
}

void sxt_builder_finish(struct sxt_builder *builder)
{
    builder->names = sxt_builder_section(builder, ".shstrtab", SHT_STRTAB, 0, "", 1);
    uint32_t *names = need(calloc(builder->section_count, sizeof *names));
    struct sxt_buffer *bytes = &sxt_builder_at(builder, builder->names)->bytes;
    for (unsigned i = 0; i < builder->section_count; i++) {
        if (builder->sections[i].name[0] == 0)
            continue;
        names[i] = (uint32_t)bytes->size;
        sxt_buffer_append(bytes, builder->sections[i].name, strlen(builder->sections[i].name) + 1);
    }
    place_sections(builder);
    builder->data = need(calloc(builder->size, 1));
    write_header(builder);
    write_segments(builder);
    write_sections(builder, names);
    free(names);
}

static uint64_t aligned(uint64_t at, uint64_t alignment)
{
    return alignment > 1 && alignment <= 4096 ? (at + alignment - 1) / alignment * alignment : at;
}

static void place_sections(struct sxt_builder *builder)
{
    uint64_t at = builder->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    at += (uint64_t)builder->segment_count * (builder->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
    for (unsigned i = 1; i < builder->section_count; i++) {
        struct sxt_builder_section *section = &builder->sections[i];
        section->offset = at = aligned(at, section->alignment);
        if (section->type == SHT_NOBITS)
            continue;
        section->size = section->bytes.size;
        at += section->size;
    }
    builder->section_headers = aligned(at, 8);
    builder->size = builder->section_headers +
                    (size_t)builder->section_count * (builder->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
}

static void number_to(const struct sxt_builder *builder, uint8_t *to, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        to[builder->big_endian ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

void sxt_builder_poke(struct sxt_builder *builder, uint64_t offset, uint64_t value, unsigned width)
{
    if (offset > builder->size || width > builder->size - offset)
        abort();
    number_to(builder, builder->data + offset, value, width);
}

/* Where a field of the header is, and how wide; the narrow ones follow e_flags (4) and e_ehsize (2). */
void sxt_builder_lie_header(struct sxt_builder *builder, enum sxt_builder_header_field field, uint64_t value)
{
    unsigned word = word_size(builder);
    unsigned tables = EI_NIDENT + 8 + word;
    if (field == SXT_HEADER_SEGMENTS || field == SXT_HEADER_SECTIONS)
        sxt_builder_poke(builder, tables + (field == SXT_HEADER_SECTIONS ? word : 0), value, word);
    else
        sxt_builder_poke(builder, tables + 2 * word + 6 + 2 * (field - SXT_HEADER_SEGMENT_SIZE), value, 2);
}

void sxt_builder_lie_section(struct sxt_builder *builder, unsigned number, enum sxt_builder_section_field field,
                             uint64_t value)
{
    static const uint8_t at_64[] = {0, 4, 8, 16, 24, 32, 40, 44, 48, 56};
    static const uint8_t at_32[] = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36};
    uint64_t header =
        builder->section_headers + (uint64_t)number * (builder->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    bool narrow = field == SXT_SECTION_NAME || field == SXT_SECTION_TYPE || field == SXT_SECTION_LINK ||
                  field == SXT_SECTION_INFO;
    sxt_builder_poke(builder, header + (builder->is_64 ? at_64 : at_32)[field], value, narrow ? 4 : word_size(builder));
}

static void write_header(struct sxt_builder *builder)
{
    unsigned word = word_size(builder);
    bool many = builder->section_count >= SHN_LORESERVE;
    memcpy(builder->data, ELFMAG, SELFMAG);
    builder->data[EI_CLASS] = builder->is_64 ? ELFCLASS64 : ELFCLASS32;
    builder->data[EI_DATA] = builder->big_endian ? ELFDATA2MSB : ELFDATA2LSB;
    builder->data[EI_VERSION] = EV_CURRENT;
    sxt_builder_poke(builder, 16, builder->type, 2);
    sxt_builder_poke(builder, 18, builder->machine, 2);
    sxt_builder_poke(builder, 20, EV_CURRENT, 4);
    sxt_builder_poke(builder, 24 + 3 * word, builder->flags, 4);
    sxt_builder_poke(builder, 28 + 3 * word, builder->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), 2);
    if (builder->segment_count > 0)
        sxt_builder_lie_header(builder, SXT_HEADER_SEGMENTS, builder->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr));
    sxt_builder_lie_header(builder, SXT_HEADER_SECTIONS, builder->section_headers);
    sxt_builder_lie_header(builder, SXT_HEADER_SEGMENT_SIZE, builder->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
    sxt_builder_lie_header(builder, SXT_HEADER_SEGMENT_COUNT, builder->segment_count);
    sxt_builder_lie_header(builder, SXT_HEADER_SECTION_SIZE, builder->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr));
    /* Numbers that do not fit stand in the first section. */
    sxt_builder_lie_header(builder, SXT_HEADER_SECTION_COUNT, many ? 0 : builder->section_count);
    sxt_builder_lie_header(builder, SXT_HEADER_NAMES, many ? SHN_XINDEX : builder->names);
    if (many) {
        builder->sections[0].size = builder->section_count;
        builder->sections[0].link = builder->names;
    }
}

static void write_segments(struct sxt_builder *builder)
{
    unsigned word = word_size(builder);
    for (unsigned i = 0; i < builder->segment_count; i++) {
        struct sxt_builder_segment segment = builder->segments[i];
        if (segment.first_section != 0) {
            const struct sxt_builder_section *first = sxt_builder_at(builder, segment.first_section);
            const struct sxt_builder_section *last = sxt_builder_at(builder, segment.last_section);
            segment.offset = first->offset;
            segment.address = first->address;
            segment.file_size = last->offset + (last->type == SHT_NOBITS ? 0 : last->size) - first->offset;
            segment.memory_size = segment.file_size + (last->type == SHT_NOBITS ? last->size : 0);
            if (segment.type == PT_NOTE)
                segment.alignment = first->alignment;
        }
        uint64_t at = (builder->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)) +
                      (uint64_t)i * (builder->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
        const uint64_t fields[] = {segment.offset,    segment.address,     segment.address,
                                   segment.file_size, segment.memory_size, segment.alignment};
        sxt_builder_poke(builder, at, segment.type, 4);
        sxt_builder_poke(builder, at + (builder->is_64 ? 4 : 24), segment.flags, 4);
        at += builder->is_64 ? 8 : 4;
        for (unsigned k = 0; k < 6; k++)
            /* In a 32-bit header the flags stand before the alignment. */
            sxt_builder_poke(builder, at + k * word + (!builder->is_64 && k == 5 ? 4 : 0), fields[k], word);
    }
}

static void write_sections(struct sxt_builder *builder, const uint32_t *names)
{
    for (unsigned i = 0; i < builder->section_count; i++) {
        const struct sxt_builder_section *section = &builder->sections[i];
        const uint64_t fields[] = {names[i],           section->type,      section->flags, section->address,
                                   section->offset,    section->size,      section->link,  section->info,
                                   section->alignment, section->entry_size};
        for (unsigned k = 0; k < sizeof fields / sizeof *fields; k++)
            sxt_builder_lie_section(builder, i, (enum sxt_builder_section_field)k, fields[k]);
        if (section->type != SHT_NOBITS && section->bytes.size > 0)
            memcpy(builder->data + section->offset, section->bytes.data, section->bytes.size);
    }
}
