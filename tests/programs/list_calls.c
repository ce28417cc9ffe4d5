/*
 * list_calls.c: the calls of each function of a linked ELF file, one "ADDRESS LENGTH" a line, in hexadecimal. A test
 * compares them with those that objdump shows.
 *
 * Functions are those of .symtab, or of .dynsym where there is no .symtab. Like objdump, it takes the word of an ARM
 * assembler for what is data ($d) and what is code ($x) inside a function.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "code/code.h"
#include "source/elf/elf.h"

struct mark {
    uint64_t address;
    bool data;
};

struct marks {
    struct mark *items;
    size_t count;
};

static int list(struct sxt_elf *elf, sxt_error *error);
static struct marks read_marks(struct sxt_elf_symbol_table *table);
static int list_function(const struct sxt_elf *elf, const struct marks *marks, uint64_t start, uint64_t size,
                         sxt_error *error);

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: list_calls FILE\n");
        return 2;
    }
    struct sxt_file file;
    struct sxt_elf elf;
    sxt_error error;
    int status = sxt_file_open(&file, argv[1], &error);
    if (status == SXT_OK) {
        status = sxt_elf_open(&elf, file.data, file.size, UINT64_MAX, &error);
        if (status == SXT_OK) {
            status = list(&elf, &error);
            sxt_elf_close(&elf);
        }
        sxt_file_close(&file);
    }
    if (status != SXT_OK)
        fprintf(stderr, "list_calls: %s: %s\n", argv[1], error.text);
    return status != SXT_OK || fflush(stdout) != 0;
}

static int list(struct sxt_elf *elf, sxt_error *error)
{
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, SHT_SYMTAB);
    if (section == NULL)
        section = sxt_elf_section_typed(elf, SHT_DYNSYM);
    struct sxt_elf_symbol_table table;
    if (section == NULL)
        return SXT_OK;
    int status = sxt_elf_symbol_table_open(elf, section, &table, error);
    if (status != SXT_OK)
        return status;
    struct marks marks = read_marks(&table);
    for (size_t i = 1; i < table.count && status == SXT_OK; i++) {
        struct sxt_elf_symbol symbol = sxt_elf_symbol_at(&table, i);
        unsigned type = symbol.info & 15;
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.section != SHN_UNDEF)
            status = list_function(elf, &marks, symbol.value, symbol.size, error);
    }
    free(marks.items);
    return status;
}

static int compare_marks(const void *a, const void *b)
{
    const struct mark *left = a, *right = b;
    return left->address < right->address ? -1 : left->address > right->address;
}

/* Where code begins and where data does, by address. */
static struct marks read_marks(struct sxt_elf_symbol_table *table)
{
    struct marks marks = {.items = calloc(table->count, sizeof *marks.items)};
    if (marks.items == NULL || table->elf->machine != EM_AARCH64)
        return marks;
    for (size_t i = 1; i < table->count; i++) {
        struct sxt_elf_symbol symbol = sxt_elf_symbol_at(table, i);
        sxt_string name = sxt_elf_symbol_name(table, &symbol);
        if ((symbol.info & 15) == STT_NOTYPE && name.size >= 2 && name.data[0] == '$' &&
            (name.data[1] == 'd' || name.data[1] == 'x'))
            marks.items[marks.count++] = (struct mark){symbol.value, name.data[1] == 'd'};
    }
    qsort(marks.items, marks.count, sizeof *marks.items, compare_marks);
    return marks;
}

static bool print_call(void *context, uint64_t address, unsigned length)
{
    (void)context;
    printf("%" PRIx64 " %x\n", address, length);
    return true;
}

/* Piece by piece, where there are marks. */
static int list_function(const struct sxt_elf *elf, const struct marks *marks, uint64_t start, uint64_t size,
                         sxt_error *error)
{
    int status = SXT_OK;
    bool data = false;
    size_t next = 0;
    while (next < marks->count && marks->items[next].address <= start)
        data = marks->items[next++].data;
    for (uint64_t at = start; at - start < size && status == SXT_OK;) {
        uint64_t end = start + size;
        if (next < marks->count && marks->items[next].address < end)
            end = marks->items[next].address;
        const uint8_t *code = sxt_elf_at_address(elf, at, end - at);
        if (code != NULL && !data)
            status = sxt_code_find_calls(elf->machine, elf->is_64, elf->big_endian, code, end - at, at, print_call,
                                         NULL, error);
        at = end;
        if (next < marks->count && marks->items[next].address == end)
            data = marks->items[next++].data;
    }
    return status;
}
