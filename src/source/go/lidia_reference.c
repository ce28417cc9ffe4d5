/*
 * lidia_reference.c: reads Go functions as the reference Lidia writer does, with its limits and mistakes. Where the
 * reference fails for the whole file, this is an error; a table that the reference cannot read gives no functions and
 * no error.
 */
#include <elf.h>

#include "base/error.h"
#include "source/go/go.h"
#include "source/go/table.h"

#define HEADER_SIZE 64

static int read_text_start(const struct sxt_elf *elf, const struct sxt_elf_section *text,
                           const struct sxt_elf_bytes *bytes, uint64_t *out, sxt_error *error);
static bool read_name(const struct sxt_go_table *table, size_t index, sxt_string *name);

int sxt_go_read_reference(struct sxt_elf *elf, struct sxt_symbols *symbols, sxt_error *error)
{
    const struct sxt_elf_section *text = sxt_elf_section_named(elf, ".text");
    if (text == NULL)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "empty text");
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gopclntab");
    if (section == NULL)
        return SXT_OK;
    if (section->type == SHT_NOBITS)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "unexpected read from SHT_NOBITS section");
    if (!sxt_fits(section->offset, section->size, 1, elf->size))
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s",
                        section->offset < elf->size ? "unexpected EOF" : "EOF");
    struct sxt_elf_bytes bytes;
    int status = sxt_elf_section_bytes(elf, section, &bytes, error);
    if (status != SXT_OK)
        return status;
    uint64_t text_start = 0;
    status = read_text_start(elf, text, &bytes, &text_start, error);
    if (status != SXT_OK)
        return status;

    struct sxt_go_table table;
    if (sxt_go_table_open(&table, bytes.data, bytes.size, section->address, bytes.offset, NULL) != SXT_OK)
        return SXT_OK;
    if (table.version >= SXT_GO_1_18)
        table.text_start = text_start;
    /* All or nothing: one bad function discards all of them. */
    sxt_string name;
    uint64_t name_bytes = 0;
    for (size_t i = 0; i < table.function_count; i++) {
        if (!read_name(&table, i, &name))
            return SXT_OK;
        name_bytes += name.size;
        if (name_bytes / 64 > table.size)
            return sxt_fail(error, SXT_ERROR_LIMIT, table.offset, "go function table: names overlap too much");
    }
    for (size_t i = 0; i < table.function_count; i++) {
        uint64_t start = sxt_go_table_pc(&table, i);
        (void)read_name(&table, i, &name);
        struct sxt_model_range range = {.address = start,
                                        .length = (uint32_t)(sxt_go_table_pc(&table, i + 1) - start),
                                        .function = sxt_symbols_string(symbols, name.data, name.size),
                                        .source = SXT_SOURCE_GO};
        sxt_symbols_add_range(symbols, &range);
    }
    return SXT_OK;
}

/* The reference reads eight little-endian bytes from any file. */
static int read_text_start(const struct sxt_elf *elf, const struct sxt_elf_section *text,
                           const struct sxt_elf_bytes *bytes, uint64_t *out, sxt_error *error)
{
    if (bytes->size < HEADER_SIZE)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "invalid .gopclntab header");
    /* Sections of a relocatable file have no address yet; text->address was assigned by sxt_elf_open. */
    uint64_t text_address = elf->type == ET_REL ? 0 : text->address;
    uint32_t magic = sxt_load_u32le(bytes->data);
    uint64_t start = magic == 0xFFFFFFF0u || magic == 0xFFFFFFF1u ? sxt_load_u64le(bytes->data + 24) : 0;
    if (start == 0)
        start = text_address;
    if (start < text_address || start >= text_address + text->size)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "runtime.text out of .text bounds %llu %llu %llu",
                        (unsigned long long)start, (unsigned long long)text_address, (unsigned long long)text->size);
    *out = start;
    return SXT_OK;
}

/* The reference reads the name and also the fourth field of the record, which it does not use. */
static bool read_name(const struct sxt_go_table *table, size_t index, sxt_string *name)
{
    uint64_t offset = sxt_go_word(table, table->functions + (index * 2 + 1) * table->field_size, table->field_size);
    if (!sxt_fits(offset, 1, table->field_size + 12, table->size - table->records))
        return false;
    uint32_t at = sxt_go_u32(table, table->records + offset + table->field_size);
    *name = sxt_go_table_text(table, table->names + (uint64_t)at, SIZE_MAX);
    return name->data != NULL;
}
