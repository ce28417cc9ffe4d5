/*
 * rules.c: how to get from a frame to its caller, from the tables that compilers write for exceptions.
 *
 *     .eh_frame_hdr   version, encodings, count, then pairs (address, FDE), sorted by address
 *     .eh_frame       CIE: what many functions share; FDE: one function, and how its frame changes with the address
 *
 * The canonical frame address (CFA) is the end of a frame: the stack pointer of the caller after the return. The rules
 * that compilers use at calls fit in one word: which register the CFA is computed from, and where below it the caller's
 * frame pointer and the return address are saved. All other rules become RULE_GUESS.
 *
 * The tables are those of a program that already runs, but they may be damaged: nothing outside of the module is read.
 */
#include <string.h>

#include "recorder/recorder.h"

/* Numbers that DWARF gives to registers. On x86-64 the return address is a register too. */
#if defined(__aarch64__)
enum { REGISTER_FRAME = 29, REGISTER_RETURN = 30, REGISTER_STACK = 31 };
#else
enum { REGISTER_FRAME = 6, REGISTER_STACK = 7, REGISTER_RETURN = 16 };
#endif

enum { STATES_MOST = 8, INSTRUCTIONS_MOST = 100000 };

/* Pointer encodings: the low four bits are the size, the next three what it is relative to. */
enum {
    SIZE_MASK = 0x0f,
    SIZE_ABSOLUTE = 0x00,
    SIZE_UDATA4 = 0x03,
    SIZE_UDATA8 = 0x04,
    SIZE_SDATA4 = 0x0b,
    SIZE_SDATA8 = 0x0c,
    FROM_MASK = 0x70,
    FROM_HERE = 0x10,
    FROM_TABLE = 0x30,
    FROM_ALIGNED = 0x50
};

/* Operations of expressions. */
enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };

enum saved_kind { SAVED_SAME, SAVED_AT_CFA, SAVED_AT_FRAME, SAVED_UNDEFINED, SAVED_OTHER };

/* Where the caller's value of a register is. */
struct saved {
    enum saved_kind kind;
    int64_t offset; /* SAVED_AT_CFA: from the CFA; SAVED_AT_FRAME: from the frame pointer */
};

/* One row of the table that the instructions build. */
struct row {
    enum { CFA_REGISTER, CFA_LOAD, CFA_OTHER } cfa_kind; /* CFA_LOAD: stored at the frame pointer + cfa_offset */
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct saved frame, link; /* the frame pointer and the return address */
};

/* Bytes to read. The first failure is sticky; a read that fails gives 0. */
struct bytes {
    const uint8_t *at, *end;
    bool failed;
};

struct cie {
    struct bytes instructions;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t encoding; /* of the addresses in FDEs */
    bool is_signal;
    bool has_augmentation;
};

static uint64_t take_fixed(struct bytes *from, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < size) {
        from->at = from->end;
        from->failed = true;
        return 0;
    }
    memcpy(&value, from->at, size);
    from->at += size;
    return value;
}

static uint64_t take_leb(struct bytes *from, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)take_fixed(from, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return value;
}

/* An offset in units of FACTOR. Overflow wraps: such an offset fits in no rule, or is a valid one by accident. */
static int64_t take_factored(struct bytes *from, bool is_signed, int64_t factor)
{
    return (int64_t)(take_leb(from, is_signed) * (uint64_t)factor);
}

/* SIZE as the low bits of an encoding. */
static uint64_t take_sized(struct bytes *from, uint8_t size)
{
    switch (size) {
    case SIZE_ABSOLUTE:
    case SIZE_UDATA8:
    case SIZE_SDATA8:
        return take_fixed(from, 8);
    case SIZE_UDATA4:
        return take_fixed(from, 4);
    case SIZE_SDATA4:
        return (uint64_t)(int64_t)(int32_t)take_fixed(from, 4);
    default:
        from->failed = true;
        return 0;
    }
}

static uint64_t take_address(struct bytes *from, uint8_t encoding)
{
    uintptr_t here = (uintptr_t)from->at;
    uint64_t value = take_sized(from, encoding & SIZE_MASK);
    return (encoding & FROM_MASK) == FROM_HERE ? value + here : value;
}

static struct bytes take_block(struct bytes *from)
{
    uint64_t size = take_leb(from, false);
    if (size > (size_t)(from->end - from->at)) {
        from->at = from->end;
        from->failed = true;
        size = 0;
    }
    struct bytes block = {from->at, from->at + size, from->failed};
    from->at += size;
    return block;
}

/* --- finding the function's entry --- */

/* The number at INDEX among the 32-bit ones after the header of the table: address, FDE, address, FDE, ... */
static int64_t table_value(const uint8_t *table, size_t index)
{
    int32_t value;
    memcpy(&value, table + 12 + index * sizeof value, sizeof value);
    return value;
}

/* The address of the last FDE that begins at or below PC; 0: none. */
static uintptr_t find_entry(const struct module *module, uintptr_t pc)
{
    const uint8_t *table = module->frame_table;
    if (table == NULL || module->frame_table_size < 12 || table[0] != 1 || table[1] != (FROM_HERE | SIZE_SDATA4) ||
        table[2] != SIZE_UDATA4 || table[3] != (FROM_TABLE | SIZE_SDATA4))
        return 0;
    uint32_t count;
    memcpy(&count, table + 8, sizeof count);
    if (count > (module->frame_table_size - 12) / 8)
        return 0;
    int64_t wanted = (int64_t)(pc - (uintptr_t)table);
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table_value(table, middle * 2) <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? (uintptr_t)table + (uintptr_t)table_value(table, low * 2 - 1) : 0;
}

/* The bytes of the CIE or FDE at the address ENTRY, after its length. */
static struct bytes open_entry(const struct module *module, uintptr_t entry)
{
    if (entry < module->start || entry >= module->end)
        return (struct bytes){.failed = true};
    struct bytes bytes = {(const uint8_t *)entry, (const uint8_t *)module->end, false}; /* NOLINT: addresses */
    uint64_t size = take_fixed(&bytes, 4);
    /* A length of 0 ends the section; large ones announce a 64-bit length, which no compiler writes here. */
    if (size == 0 || size >= 0xfffffff0 || size > (size_t)(bytes.end - bytes.at)) {
        bytes.at = bytes.end;
        bytes.failed = true;
    } else {
        bytes.end = bytes.at + size;
    }
    return bytes;
}

static bool read_augmentation(struct bytes *bytes, const char *letters, struct cie *cie)
{
    if (*letters != 'z')
        return *letters == 0;
    struct bytes data = take_block(bytes);
    cie->has_augmentation = true;
    for (letters++; *letters != 0; letters++)
        switch (*letters) {
        case 'R':
            cie->encoding = (uint8_t)take_fixed(&data, 1);
            break;
        case 'L':
            take_fixed(&data, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)take_fixed(&data, 1);
            if ((encoding & FROM_MASK) == FROM_ALIGNED)
                return false;
            take_sized(&data, encoding & SIZE_MASK);
            break;
        }
        case 'S':
            cie->is_signal = true;
            break;
        case 'B': /* return addresses are signed with the second key of AArch64 */
        case 'G': /* frames are tagged */
            break;
        default:
            return false;
        }
    return !data.failed;
}

/* Addresses in FDEs are absolute or relative to where they are; an indirect one has bit 7 set. */
static bool is_known_encoding(uint8_t encoding)
{
    return (encoding & ~SIZE_MASK) == 0 || (encoding & ~SIZE_MASK) == FROM_HERE;
}

static bool read_cie(const struct module *module, uintptr_t entry, struct cie *cie)
{
    *cie = (struct cie){0};
    struct bytes bytes = open_entry(module, entry);
    uint64_t id = take_fixed(&bytes, 4), version = take_fixed(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (!bytes.failed && take_fixed(&bytes, 1) != 0)
        continue;
    if (bytes.failed || id != 0 || (version != 1 && version != 3))
        return false;
    cie->code_factor = take_leb(&bytes, false);
    cie->data_factor = (int64_t)take_leb(&bytes, true);
    uint64_t return_register = version == 1 ? take_fixed(&bytes, 1) : take_leb(&bytes, false);
    if (bytes.failed || return_register != REGISTER_RETURN || !read_augmentation(&bytes, letters, cie))
        return false;
    cie->instructions = bytes;
    return !bytes.failed && is_known_encoding(cie->encoding);
}

/* --- running the instructions --- */

struct machine {
    const struct cie *cie;
    struct row row, initial;
    struct row states[STATES_MOST]; /* that were remembered */
    unsigned state_count;
    uintptr_t location;
};

static void set_saved(struct row *row, uint64_t number, enum saved_kind kind, int64_t offset)
{
    if (number == REGISTER_FRAME)
        row->frame = (struct saved){kind, offset};
    else if (number == REGISTER_RETURN)
        row->link = (struct saved){kind, offset};
}

static void restore(struct row *row, uint64_t number, const struct row *initial)
{
    if (number == REGISTER_FRAME)
        row->frame = initial->frame;
    else if (number == REGISTER_RETURN)
        row->link = initial->link;
}

/* Is it "frame pointer + offset", with a load after it when WITH_LOAD? Code that realigns its stack has these. */
static bool is_from_frame(struct bytes expression, bool with_load, int64_t *offset)
{
    if (take_fixed(&expression, 1) != OP_BREG0 + REGISTER_FRAME)
        return false;
    *offset = (int64_t)take_leb(&expression, true);
    if (with_load && take_fixed(&expression, 1) != OP_DEREF)
        return false;
    return !expression.failed && expression.at == expression.end;
}

static void define_by_expression(struct row *row, struct bytes *from)
{
    struct bytes block = take_block(from);
    row->cfa_kind = is_from_frame(block, true, &row->cfa_offset) ? CFA_LOAD : CFA_OTHER;
}

static void save_by_expression(struct row *row, struct bytes *from)
{
    uint64_t number = take_leb(from, false);
    struct bytes block = take_block(from);
    int64_t offset;
    if (is_from_frame(block, false, &offset))
        set_saved(row, number, SAVED_AT_FRAME, offset);
    else
        set_saved(row, number, SAVED_OTHER, 0);
}

/* Only a CFA that is a register and an offset has an offset to change. */
static void set_cfa_offset(struct row *row, int64_t offset)
{
    if (row->cfa_kind != CFA_REGISTER)
        row->cfa_kind = CFA_OTHER;
    row->cfa_offset = offset;
}

/* An instruction that neither advances nor has a register in its code. False when it is not known. */
static bool run_other(struct machine *machine, uint8_t code, struct bytes *from)
{
    struct row *row = &machine->row;
    uint64_t number;
    int64_t factor = machine->cie->data_factor;
    switch (code) {
    case 0x00: /* nop */
    case 0x2d: /* the return address is signed, or is not any more */
        return true;
    case 0x05: /* offset_extended */
        number = take_leb(from, false);
        set_saved(row, number, SAVED_AT_CFA, take_factored(from, false, factor));
        return true;
    case 0x06: /* restore_extended */
        restore(row, take_leb(from, false), &machine->initial);
        return true;
    case 0x07: /* undefined */
        set_saved(row, take_leb(from, false), SAVED_UNDEFINED, 0);
        return true;
    case 0x08: /* same_value */
        set_saved(row, take_leb(from, false), SAVED_SAME, 0);
        return true;
    case 0x09: /* register */
        set_saved(row, take_leb(from, false), SAVED_OTHER, 0);
        take_leb(from, false);
        return true;
    case 0x0a: /* remember_state */
        if (machine->state_count == STATES_MOST)
            return false;
        machine->states[machine->state_count++] = *row;
        return true;
    case 0x0b: /* restore_state */
        if (machine->state_count == 0)
            return false;
        *row = machine->states[--machine->state_count];
        return true;
    case 0x0c: /* def_cfa */
    case 0x12: /* def_cfa_sf */
        row->cfa_kind = CFA_REGISTER;
        row->cfa_register = take_leb(from, false);
        row->cfa_offset = code == 0x0c ? (int64_t)take_leb(from, false) : take_factored(from, true, factor);
        return true;
    case 0x0d: /* def_cfa_register */
        row->cfa_kind = CFA_REGISTER;
        row->cfa_register = take_leb(from, false);
        return true;
    case 0x0e: /* def_cfa_offset */
        set_cfa_offset(row, (int64_t)take_leb(from, false));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        set_cfa_offset(row, take_factored(from, true, factor));
        return true;
    case 0x0f: /* def_cfa_expression */
        define_by_expression(row, from);
        return true;
    case 0x10: /* expression */
        save_by_expression(row, from);
        return true;
    case 0x16: /* val_expression */
        set_saved(row, take_leb(from, false), SAVED_OTHER, 0);
        take_block(from);
        return true;
    case 0x11: /* offset_extended_sf */
        number = take_leb(from, false);
        set_saved(row, number, SAVED_AT_CFA, take_factored(from, true, factor));
        return true;
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        set_saved(row, take_leb(from, false), SAVED_OTHER, 0);
        take_leb(from, false);
        return true;
    case 0x2e: /* GNU_args_size */
        take_leb(from, false);
        return true;
    default:
        return false;
    }
}

/* The code of an instruction without its operand, where the operand is in its low six bits. */
enum { ADVANCE = 0x40, OFFSET = 0x80, RESTORE = 0xc0 };

/* Is it an instruction that begins a new row? Then *NEXT is where that row begins. */
static bool take_advance(const struct machine *machine, uint8_t code, struct bytes *from, uintptr_t *next)
{
    uint64_t delta;
    switch ((code & 0xc0) == ADVANCE ? ADVANCE : code) {
    case ADVANCE:
        delta = code & 0x3f;
        break;
    case 0x01: /* set_loc */
        *next = take_address(from, machine->cie->encoding);
        return true;
    case 0x02: /* advance_loc1 */
        delta = take_fixed(from, 1);
        break;
    case 0x03: /* advance_loc2 */
        delta = take_fixed(from, 2);
        break;
    case 0x04: /* advance_loc4 */
        delta = take_fixed(from, 4);
        break;
    default:
        return false;
    }
    if (__builtin_mul_overflow(delta, machine->cie->code_factor, &delta) ||
        __builtin_add_overflow(machine->location, delta, next))
        *next = UINTPTR_MAX;
    return true;
}

/* Runs the instructions FROM up to the row that is valid at PC. */
static bool run(struct machine *machine, struct bytes from, uintptr_t pc)
{
    for (unsigned count = 0; from.at < from.end && !from.failed; count++) {
        uint8_t code = (uint8_t)take_fixed(&from, 1), low = code & 0x3f;
        uintptr_t next;
        if (count > INSTRUCTIONS_MOST)
            return false;
        if (take_advance(machine, code, &from, &next)) {
            if (next > pc)
                return !from.failed;
            machine->location = next;
        } else if ((code & 0xc0) == OFFSET) {
            set_saved(&machine->row, low, SAVED_AT_CFA, take_factored(&from, false, machine->cie->data_factor));
        } else if ((code & 0xc0) == RESTORE) {
            restore(&machine->row, low, &machine->initial);
        } else if (!run_other(machine, code, &from)) {
            return false;
        }
    }
    return !from.failed;
}

/* --- from rows to rules --- */

/* Is a value saved below the CFA, and not too far? */
static bool is_below(const struct saved *saved)
{
    return saved->kind == SAVED_AT_CFA && saved->offset < 0 && saved->offset >= -0xffff;
}

static frame_rule make_rule(const struct row *row)
{
    if (row->link.kind == SAVED_UNDEFINED)
        return RULE_OUTERMOST;
    if (!is_below(&row->link))
        return RULE_GUESS;
    uint64_t link = (uint64_t)-row->link.offset;
    if (row->cfa_kind == CFA_LOAD && row->frame.kind == SAVED_AT_FRAME && row->frame.offset == 0 &&
        row->cfa_offset <= 0 && row->cfa_offset >= -0xffff)
        return RULE_MAKE(RULE_FROM_LOAD, -row->cfa_offset, 0, link);
    if (row->cfa_kind != CFA_REGISTER || row->cfa_offset < 0 || row->cfa_offset > 0xffffff)
        return RULE_GUESS;
    if (row->frame.kind != SAVED_SAME && !is_below(&row->frame))
        return RULE_GUESS;
    uint64_t frame = row->frame.kind == SAVED_AT_CFA ? (uint64_t)-row->frame.offset : 0;
    if (row->cfa_register == REGISTER_STACK)
        return RULE_MAKE(RULE_FROM_STACK, row->cfa_offset, frame, link);
    if (row->cfa_register == REGISTER_FRAME)
        return RULE_MAKE(RULE_FROM_FRAME, row->cfa_offset, frame, link);
    return RULE_GUESS;
}

/* The rule from the FDE at the address ENTRY for WANTED. RULE_NONE: the function does not reach that far. */
static frame_rule rule_of_entry(const struct module *module, uintptr_t entry, uintptr_t wanted)
{
    struct bytes bytes = open_entry(module, entry);
    uintptr_t here = (uintptr_t)bytes.at;
    int32_t back = (int32_t)take_fixed(&bytes, 4); /* from here to the CIE */
    struct cie cie;
    if (bytes.failed || back <= 0 || !read_cie(module, here - (uintptr_t)back, &cie))
        return RULE_GUESS;
    uintptr_t start = take_address(&bytes, cie.encoding);
    uintptr_t size = take_sized(&bytes, cie.encoding & SIZE_MASK);
    if (cie.has_augmentation)
        take_block(&bytes);
    if (bytes.failed)
        return RULE_GUESS;
    if (wanted - start >= size)
        return RULE_NONE;
    if (cie.is_signal)
        return RULE_SIGNAL;
    struct machine machine = {.cie = &cie, .location = start};
    if (!run(&machine, cie.instructions, UINTPTR_MAX))
        return RULE_GUESS;
    machine.location = start;
    machine.initial = machine.row;
    return run(&machine, bytes, wanted) ? make_rule(&machine.row) : (frame_rule)RULE_GUESS;
}

frame_rule sxt_rule_find(const struct module *module, uintptr_t pc, bool interrupted)
{
    /* A return address may be after the end of its function; the call before it is inside. */
    uintptr_t entry = find_entry(module, interrupted ? pc : pc - 1);
    frame_rule rule = entry != 0 ? rule_of_entry(module, entry, interrupted ? pc : pc - 1) : (frame_rule)RULE_GUESS;
    if (rule != RULE_NONE)
        return rule;
    /* The frame of a signal handler returns to the beginning of a function that called nothing. */
    uintptr_t next = interrupted ? entry : find_entry(module, pc);
    rule = next != entry ? rule_of_entry(module, next, pc) : (frame_rule)RULE_NONE;
    return rule != RULE_NONE ? rule : (frame_rule)RULE_GUESS;
}
