/* table.c: reads the header, functab and records of the Go function table. See table.h for the layout. */
#include "source/go/table.h"

#include <string.h>

#include "base/error.h"

#define MAGIC_1_2    0xFFFFFFFBu
#define MAGIC_1_16   0xFFFFFFFAu
#define MAGIC_1_18   0xFFFFFFF0u
#define MAGIC_1_20   0xFFFFFFF1u

#define HEADER_BYTES 8

static bool read_magic(struct sxt_go_table *table);
static int read_parts(struct sxt_go_table *table, sxt_error *error);
static int read_parts_of_1_2(struct sxt_go_table *table, sxt_error *error);
static int check_functab(const struct sxt_go_table *table, sxt_error *error);

int sxt_go_table_open(struct sxt_go_table *table, const uint8_t *data, size_t size, uint64_t address, uint64_t offset,
                      sxt_error *error)
{
    *table = (struct sxt_go_table){.data = data, .size = size, .address = address, .offset = offset};
    if (size < HEADER_BYTES + 8)
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "go function table: too short for its header (%zu bytes)",
                        size);
    if (!read_magic(table))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, offset, "go function table: unknown magic %02x%02x%02x%02x",
                        data[0], data[1], data[2], data[3]);
    table->quantum = data[6];
    table->pointer_size = data[7];
    if (data[4] != 0 || data[5] != 0 || (table->quantum != 1 && table->quantum != 2 && table->quantum != 4) ||
        (table->pointer_size != 4 && table->pointer_size != 8))
        return sxt_fail(error, SXT_ERROR_FORMAT, offset + 4,
                        "go function table: header says instruction size %u, pointer size %u", table->quantum,
                        table->pointer_size);
    table->field_size = table->version >= SXT_GO_1_18 ? 4 : table->pointer_size;
    /* The linker writes a word; the runtime reads 32 bits of it. */
    table->function_count = (uint32_t)sxt_go_word(table, HEADER_BYTES, table->pointer_size);
    return table->version == SXT_GO_1_2 ? read_parts_of_1_2(table, error) : read_parts(table, error);
}

static bool read_magic(struct sxt_go_table *table)
{
    for (int order = 0; order < 2; order++) {
        table->big_endian = order == 1;
        switch (sxt_go_u32(table, 0)) {
        case MAGIC_1_2:
            table->version = SXT_GO_1_2;
            return true;
        case MAGIC_1_16:
            table->version = SXT_GO_1_16;
            return true;
        case MAGIC_1_18:
            table->version = SXT_GO_1_18;
            return true;
        case MAGIC_1_20:
            table->version = SXT_GO_1_20;
            return true;
        default:
            break;
        }
    }
    return false;
}

static int read_parts(struct sxt_go_table *table, sxt_error *error)
{
    static const char *const part_names[] = {"names", "file lists", "file names", "pc-value tables", "functab"};
    enum { NAMES, FILE_LISTS, FILE_NAMES, PC_VALUES, FUNCTAB, PART_COUNT };
    unsigned first = table->version >= SXT_GO_1_18 ? 3 : 2;
    if (!sxt_fits(HEADER_BYTES, first + PART_COUNT, table->pointer_size, table->size))
        return sxt_fail(error, SXT_ERROR_FORMAT, table->offset,
                        "go function table: too short for its header (%zu bytes)", table->size);
    if (table->version >= SXT_GO_1_18)
        table->header_text = sxt_go_word(table, HEADER_BYTES + 2 * table->pointer_size, table->pointer_size);

    uint64_t parts[PART_COUNT];
    for (unsigned i = 0; i < PART_COUNT; i++) {
        size_t at = HEADER_BYTES + (size_t)(first + i) * table->pointer_size;
        parts[i] = sxt_go_word(table, at, table->pointer_size);
        if (parts[i] > table->size)
            return sxt_fail(error, SXT_ERROR_FORMAT, table->offset + at,
                            "go function table: offset 0x%llx of its %s is outside its %zu bytes",
                            (unsigned long long)parts[i], part_names[i], table->size);
    }
    table->names = parts[NAMES];
    table->files = parts[FILE_LISTS];
    table->file_names = parts[FILE_NAMES];
    table->pc_values = parts[PC_VALUES];
    table->functions = parts[FUNCTAB];
    table->records = parts[FUNCTAB];
    uint64_t lists_end = parts[FILE_NAMES] > parts[FILE_LISTS] ? parts[FILE_NAMES] : table->size;
    table->file_count = (lists_end - parts[FILE_LISTS]) / 4;
    return check_functab(table, error);
}

static int read_parts_of_1_2(struct sxt_go_table *table, sxt_error *error)
{
    table->functions = HEADER_BYTES + table->pointer_size;
    int status = check_functab(table, error);
    if (status != SXT_OK)
        return status;

    /* A table without a readable list of files is still useful for names and lines. */
    size_t end = table->functions + ((size_t)table->function_count * 2 + 1) * table->field_size;
    if (!sxt_fits(end, 1, 4, table->size))
        return SXT_OK;
    uint32_t files = sxt_go_u32(table, end);
    if (!sxt_fits(files, 1, 4, table->size))
        return SXT_OK;
    uint32_t count = sxt_go_u32(table, files);
    if (sxt_fits(files, count, 4, table->size)) {
        table->files = files;
        table->file_count = count;
    }
    return SXT_OK;
}

static int check_functab(const struct sxt_go_table *table, sxt_error *error)
{
    if (!sxt_fits(table->functions, (uint64_t)table->function_count * 2 + 1, table->field_size, table->size))
        return sxt_fail(error, SXT_ERROR_FORMAT, table->offset + HEADER_BYTES,
                        "go function table: %u functions do not fit in its %zu bytes", table->function_count,
                        table->size);
    return SXT_OK;
}

uint64_t sxt_go_table_pc(const struct sxt_go_table *table, size_t index)
{
    return sxt_go_word(table, table->functions + index * 2 * table->field_size, table->field_size) + table->text_start;
}

bool sxt_go_table_record(const struct sxt_go_table *table, size_t index, struct sxt_go_record *record)
{
    enum { NAME, PC_FILE = 4, PC_LINE, PCDATA_COUNT, FILES };
    uint64_t offset = sxt_go_word(table, table->functions + (index * 2 + 1) * table->field_size, table->field_size);
    unsigned words = table->version >= SXT_GO_1_20 ? 10 : table->version >= SXT_GO_1_16 ? 9 : 8;
    size_t room = table->size - table->records;
    unsigned fixed = table->field_size + words * 4;
    if (!sxt_fits(offset, 1, fixed, room))
        return false;
    size_t at = table->records + offset + table->field_size;
    record->name = sxt_go_u32(table, at + NAME * 4);
    record->pc_file = sxt_go_u32(table, at + PC_FILE * 4);
    record->pc_line = sxt_go_u32(table, at + PC_LINE * 4);
    record->pcdata_count = sxt_go_u32(table, at + PCDATA_COUNT * 4);
    record->files = table->version >= SXT_GO_1_16 ? sxt_go_u32(table, at + FILES * 4) : 0;
    record->pcdata = at + words * 4;
    record->count_word = record->pcdata - 4;
    if (!sxt_fits(record->pcdata, record->pcdata_count, 4, table->size))
        record->pcdata_count = 0;
    return true;
}

sxt_string sxt_go_table_text(const struct sxt_go_table *table, uint64_t at, size_t limit)
{
    if (at >= table->size)
        return (sxt_string){NULL, 0};
    size_t room = table->size - at < limit ? table->size - at : limit;
    const uint8_t *text = table->data + at;
    const uint8_t *end = memchr(text, 0, room);
    if (end == NULL)
        return (sxt_string){NULL, 0};
    return (sxt_string){(const char *)text, (size_t)(end - text)};
}
