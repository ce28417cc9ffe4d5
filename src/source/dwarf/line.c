/* line.c: runs a line program, and sorts its sequences. */
#include "source/dwarf/line.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The registers of the state machine of line programs. */
struct machine {
    struct dwarf_lines *lines;
    bool details;
    bool backwards; /* the rows of this sequence are not sorted */
    size_t first;   /* first row of this sequence */
    uint64_t start; /* address of the row that the program emitted first, even if sorting moves it */
    uint64_t address;
    uint32_t operation; /* index in a very long instruction word */
    uint64_t file;
    uint32_t line;
    uint64_t column;
    uint64_t discriminator;
};

static const uint8_t *run_standard(struct machine *machine, uint8_t opcode, const uint8_t *at, const uint8_t *end);
static const uint8_t *run_extended(struct machine *machine, const uint8_t *at, const uint8_t *end,
                                   dwarf_is_dead *is_dead, const void *dead_context);
static void order_sequences(struct dwarf_lines *lines);

static void reset(struct machine *machine)
{
    machine->backwards = false;
    machine->first = machine->lines->row_count;
    machine->address = 0;
    machine->operation = 0;
    machine->file = machine->lines->first_file;
    machine->line = 1;
    machine->column = 0;
    machine->discriminator = 0;
}

/* If line_range is 0, a special opcode advances by nothing. */
static void advance(struct machine *machine, uint64_t operations)
{
    const struct dwarf_lines *lines = machine->lines;
    if (lines->operations == 1) {
        machine->address += operations * lines->instruction_length;
        return;
    }
    uint64_t sum = machine->operation + operations;
    machine->address += sum / lines->operations * lines->instruction_length;
    machine->operation = (uint32_t)(sum % lines->operations);
}

static bool make_room(struct dwarf_lines *lines)
{
    struct dwarf_row *moved = sxt_array_grow(lines->rows, &lines->row_capacity, lines->row_count + 1, sizeof *moved);
    if (moved == NULL) {
        lines->no_memory = true;
        return false;
    }
    lines->rows = moved;
    return true;
}

static bool says_the_same(const struct dwarf_row *a, const struct dwarf_row *b)
{
    return a->line == b->line && a->file == b->file && a->column == b->column && a->discriminator == b->discriminator;
}

static inline void add_row(struct machine *machine)
{
    struct dwarf_lines *lines = machine->lines;
    struct dwarf_row row = {.address = machine->address,
                            .file = machine->file < UINT32_MAX - 1 ? (uint32_t)machine->file + 1 : UINT32_MAX,
                            .line = machine->line};
    if (machine->details) {
        row.column = machine->column < UINT32_MAX ? (uint32_t)machine->column : 0;
        row.discriminator = (uint32_t)machine->discriminator;
    }
    machine->discriminator = 0;
    size_t count = lines->row_count - machine->first;
    struct dwarf_row *last = count > 0 ? &lines->rows[lines->row_count - 1] : NULL;
    if (count == 0)
        machine->start = row.address;
    if (last != NULL && last->address == row.address) {
        /* It replaces the previous row, and may now repeat the row before that. */
        *last = row;
        if (count > 1 && !machine->backwards && says_the_same(last - 1, last))
            lines->row_count--;
        return;
    }
    if (last != NULL && row.address < last->address)
        machine->backwards = true;
    if (last != NULL && !machine->backwards && says_the_same(last, &row))
        return;
    if (lines->row_count == lines->row_capacity && !make_room(lines))
        return;
    lines->rows[lines->row_count++] = row;
}

static int compare_addresses(const void *a, const void *b)
{
    const struct dwarf_row *first = a;
    const struct dwarf_row *second = b;
    return first->address < second->address ? -1 : first->address > second->address;
}

/* A merge sort, because it is stable: of rows with equal addresses, the last counts. */
static void sort_rows(struct dwarf_lines *lines, size_t first)
{
    size_t count = lines->row_count - first;
    struct dwarf_row *rows = &lines->rows[first];
    struct dwarf_row *scratch = malloc((count + 1) * sizeof *scratch);
    if (scratch == NULL) {
        lines->no_memory = true;
        return;
    }
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t left = 0; left < count; left += 2 * width) {
            size_t middle = left + width < count ? left + width : count;
            size_t right = middle + width < count ? middle + width : count;
            size_t i = left, k = middle;
            for (size_t to = left; to < right; to++)
                scratch[to] =
                    i < middle && (k == right || compare_addresses(&rows[i], &rows[k]) <= 0) ? rows[i++] : rows[k++];
        }
        memcpy(rows, scratch, count * sizeof *rows);
    }
    free(scratch);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || rows[i + 1].address != rows[i].address)
            rows[kept++] = rows[i];
    lines->row_count = first + kept;
}

static void end_sequence(struct machine *machine, dwarf_is_dead *is_dead, const void *dead_context)
{
    struct dwarf_lines *lines = machine->lines;
    if (machine->backwards)
        sort_rows(lines, machine->first);
    size_t count = lines->row_count - machine->first;
    uint64_t start = count > 0 ? lines->rows[machine->first].address : 0;
    /* Rows after the end of an unsorted sequence belong to nothing. */
    while (count > 0 && lines->rows[lines->row_count - 1].address >= machine->address) {
        lines->row_count--;
        count--;
    }
    void *moved = count > 0 ? sxt_array_grow(lines->sequences, &lines->sequence_capacity, lines->sequence_count + 1,
                                             sizeof *lines->sequences)
                            : lines->sequences;
    /* A sequence at -1 continues at 0, but is discarded code nevertheless. */
    if (count == 0 || is_dead(dead_context, start) || is_dead(dead_context, machine->start)) {
        lines->row_count = machine->first;
    } else if (moved == NULL || !make_room(lines)) {
        lines->no_memory = true;
        lines->row_count = machine->first;
    } else {
        lines->sequences = moved;
        lines->rows[lines->row_count++] = (struct dwarf_row){.address = machine->address};
        lines->sequences[lines->sequence_count++] =
            (struct dwarf_sequence){start, machine->address, machine->first, count + 1};
    }
    if (moved != NULL)
        lines->sequences = moved;
    reset(machine);
}

void sxt_dwarf_lines_run(struct dwarf_lines *lines, bool details, dwarf_is_dead *is_dead, const void *dead_context)
{
    lines->row_count = lines->sequence_count = 0;
    struct machine machine = {.lines = lines, .details = details};
    reset(&machine);
    const uint8_t *at = lines->program;
    const uint8_t *end = lines->end;
    while (at != NULL && at < end && !lines->no_memory) {
        uint8_t opcode = *at++;
        if (opcode >= lines->opcode_base) {
            uint8_t adjusted = opcode - lines->opcode_base;
            if (lines->line_range != 0) {
                machine.line += (uint32_t)(lines->line_base + adjusted % lines->line_range);
                advance(&machine, adjusted / lines->line_range);
            }
            add_row(&machine);
        } else if (opcode == 0) {
            at = run_extended(&machine, at, end, is_dead, dead_context);
        } else {
            at = run_standard(&machine, opcode, at, end);
        }
    }
    /* Rows of a sequence without an end have no known length. */
    if (at == NULL || lines->row_count != machine.first)
        lines->damaged = true;
    lines->row_count = machine.first;
    order_sequences(lines);
}

static const uint8_t *run_standard(struct machine *machine, uint8_t opcode, const uint8_t *at, const uint8_t *end)
{
    struct dwarf_lines *lines = machine->lines;
    uint64_t number = 0;
    int64_t difference = 0;
    switch (opcode) {
    case DW_LNS_copy:
        add_row(machine);
        return at;
    case DW_LNS_advance_pc:
        at = dwarf_uleb(at, end, &number);
        advance(machine, number);
        return at;
    case DW_LNS_advance_line:
        at = dwarf_sleb(at, end, &difference);
        machine->line += (uint32_t)difference;
        return at;
    case DW_LNS_set_file:
        return dwarf_uleb(at, end, &machine->file);
    case DW_LNS_set_column:
        return dwarf_uleb(at, end, &machine->column);
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
        return at;
    case DW_LNS_const_add_pc:
        if (lines->line_range != 0)
            advance(machine, (255u - lines->opcode_base) / lines->line_range);
        return at;
    case DW_LNS_fixed_advance_pc:
        if (end - at < 2)
            return NULL;
        machine->address += sxt_load_u16(at, lines->big_endian);
        machine->operation = 0;
        return at + 2;
    default:
        for (uint8_t i = 0; i < lines->operand_counts[opcode - 1] && at != NULL; i++)
            at = dwarf_uleb(at, end, &number);
        return at;
    }
}

static const uint8_t *run_extended(struct machine *machine, const uint8_t *at, const uint8_t *end,
                                   dwarf_is_dead *is_dead, const void *dead_context)
{
    struct dwarf_lines *lines = machine->lines;
    uint64_t size;
    if ((at = dwarf_uleb(at, end, &size)) == NULL || size > (uint64_t)(end - at))
        return NULL;
    if (size == 0)
        return at;
    const uint8_t *next = at + size;
    switch (*at++) {
    case DW_LNE_end_sequence:
        end_sequence(machine, is_dead, dead_context);
        break;
    case DW_LNE_set_address:
        /* The size of the operand is the rest of the instruction, whatever the header says. */
        if (size - 1 == 8 || size - 1 == 4 || size - 1 == 2)
            machine->address = dwarf_uint(at, (unsigned)size - 1, lines->big_endian);
        machine->operation = 0;
        break;
    case DW_LNE_define_file: {
        const uint8_t *name_end = memchr(at, 0, (size_t)(next - at));
        uint64_t directory = 0;
        if (lines->version < 5 && name_end != NULL && dwarf_uleb(name_end + 1, next, &directory) != NULL)
            sxt_dwarf_lines_add_file(lines, (sxt_string){(const char *)at, (size_t)(name_end - at)}, directory);
        break;
    }
    case DW_LNE_set_discriminator:
        if (dwarf_uleb(at, next, &machine->discriminator) == NULL)
            machine->discriminator = 0;
        break;
    default:
        break;
    }
    return next;
}

static int compare_starts(const void *a, const void *b)
{
    const struct dwarf_sequence *first = a;
    const struct dwarf_sequence *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    if (first->end != second->end)
        return first->end > second->end ? -1 : 1;
    return first->first < second->first ? -1 : first->first > second->first;
}

/*
 * Sorts sequences by address. If two overlap, the one that begins first keeps its addresses (the longer one, if they
 * begin together), and the other keeps the rest.
 */
static void order_sequences(struct dwarf_lines *lines)
{
    bool ordered = true;
    for (size_t i = 1; i < lines->sequence_count && ordered; i++)
        ordered = lines->sequences[i - 1].end <= lines->sequences[i].start;
    if (ordered)
        return;
    qsort(lines->sequences, lines->sequence_count, sizeof *lines->sequences, compare_starts);
    struct dwarf_row *spare =
        sxt_array_grow(lines->spare, &lines->spare_capacity, lines->row_count, sizeof *lines->spare);
    if (spare == NULL) {
        lines->no_memory = true;
        return;
    }
    lines->spare = spare;
    size_t count = 0;
    uint64_t taken = 0;
    for (size_t i = 0; i < lines->sequence_count; i++) {
        const struct dwarf_sequence *sequence = &lines->sequences[i];
        if (sequence->end <= taken)
            continue;
        const struct dwarf_row *rows = &lines->rows[sequence->first];
        size_t first = 0;
        while (first + 1 < sequence->count && rows[first + 1].address <= taken)
            first++;
        for (size_t k = first; k < sequence->count; k++) {
            spare[count] = rows[k];
            if (spare[count].address < taken)
                spare[count].address = taken;
            count++;
        }
        taken = sequence->end;
    }
    /* Swap the two arrays. */
    size_t capacity = lines->row_capacity;
    lines->spare = lines->rows;
    lines->rows = spare;
    lines->row_capacity = lines->spare_capacity;
    lines->spare_capacity = capacity;
    lines->row_count = count;
}
