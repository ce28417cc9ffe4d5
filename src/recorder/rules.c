/*
 * rules.c: how to get from a frame to its caller, by the tables that compilers leave for exceptions.
 *
 *     .eh_frame_hdr   version, encodings, count, then (address, FDE) pairs by address
 *     .eh_frame       CIE: what many functions have in common; FDE: a function, and how its frame changes on the way
 *
 * Of all that they can say, the rules that compilers use for frames between calls are kept in one word: which register
 * the frame's end counts from, and where in it the caller's frame pointer and the return address are saved.
 */
#include <string.h>

#include "recorder/recorder.h"

#if defined(__aarch64__)
enum { REGISTER_FRAME = 29, REGISTER_LINK = 30, REGISTER_STACK = 31 };
#else
enum { REGISTER_FRAME = 6, REGISTER_STACK = 7, REGISTER_LINK = 16 };
#endif

enum { DEPTH_MOST = 8, INSTRUCTIONS_MOST = 100000 };

/* Pointer encodings that occur in practice. */
enum { ENCODED_ABSOLUTE = 0, ENCODED_UDATA4 = 3, ENCODED_SDATA4 = 11, ENCODED_RELATIVE = 0x10, ENCODED_OMIT = 0xff };
enum { TABLE_OF_OFFSETS = 0x3b }; /* 32 bits, signed, from the beginning of the header */

enum saved_kind { SAVED_SAME, SAVED_AT, SAVED_AT_FRAME, SAVED_UNDEFINED, SAVED_OTHERWISE };

struct saved {
    enum saved_kind kind;
    int64_t offset; /* from the end of the frame; AT_FRAME: from the frame pointer */
};

/* One row of the table that the instructions build. */
struct row {
    enum { END_REGISTER, END_LOAD, END_OTHERWISE } end_kind;
    uint64_t end_register;
    int64_t end_offset;
    struct saved frame, link;
};

struct bytes {
    const uint8_t *at, *end;
    bool failed;
};

struct common {
    struct bytes instructions;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t encoding;
    bool is_signal;
    bool has_augmentation;
};

static uint64_t take_fixed(struct bytes *from, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(from->end - from->at) < size) {
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
    } while ((byte & 0x80) != 0 && !from->failed);
    if (is_signed && shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static uint64_t take_pointer(struct bytes *from, uint8_t encoding)
{
    uintptr_t here = (uintptr_t)from->at;
    uint64_t value;
    switch (encoding & 0x0f) {
    case ENCODED_ABSOLUTE:
    case 4:
    case 12:
        value = take_fixed(from, 8);
        break;
    case ENCODED_UDATA4:
        value = take_fixed(from, 4);
        break;
    case ENCODED_SDATA4:
        value = (uint64_t)(int64_t)(int32_t)take_fixed(from, 4);
        break;
    default:
        from->failed = true;
        return 0;
    }
    return (encoding & 0x70) == ENCODED_RELATIVE ? value + here : value;
}

/* --- finding the function's entry --- */

static const uint8_t *find_entry(const struct module *module, uintptr_t pc)
{
    const uint8_t *table = module->frame_table;
    if (table == NULL || module->frame_table_size < 12 || table[0] != 1 || table[2] != ENCODED_UDATA4 ||
        table[3] != TABLE_OF_OFFSETS)
        return NULL;
    if (table[1] != (ENCODED_RELATIVE | ENCODED_SDATA4))
        return NULL;
    uint32_t count;
    memcpy(&count, table + 8, sizeof count);
    if (count > (module->frame_table_size - 12) / 8)
        return NULL;
    const int32_t *pairs = (const void *)(table + 12);
    int64_t wanted = (int64_t)(pc - (uintptr_t)table);
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs[middle * 2] <= wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? table + pairs[(low - 1) * 2 + 1] : NULL;
}

/* The bytes of the CIE or FDE at ENTRY behind its length. */
static struct bytes open_entry(const struct module *module, const uint8_t *entry)
{
    struct bytes bytes = {entry, (const uint8_t *)module->end, false}; /* NOLINT: an address */
    if ((uintptr_t)entry < module->start || (uintptr_t)entry >= module->end) {
        bytes.failed = true;
        bytes.end = bytes.at;
        return bytes;
    }
    uint64_t size = take_fixed(&bytes, 4);
    if (size == 0 || size >= 0xfffffff0 || size > (size_t)(bytes.end - bytes.at))
        bytes.failed = true;
    else
        bytes.end = bytes.at + size;
    return bytes;
}

static bool read_augmentation(struct bytes *bytes, const char *letters, struct common *common)
{
    if (*letters != 'z')
        return *letters == 0;
    uint64_t size = take_leb(bytes, false);
    struct bytes data = {bytes->at, bytes->end, bytes->failed};
    if (size > (size_t)(bytes->end - bytes->at))
        return false;
    bytes->at += size;
    common->has_augmentation = true;
    for (letters++; *letters != 0; letters++) {
        if (*letters == 'R')
            common->encoding = (uint8_t)take_fixed(&data, 1);
        else if (*letters == 'L')
            take_fixed(&data, 1);
        else if (*letters == 'P')
            take_pointer(&data, (uint8_t)take_fixed(&data, 1));
        else if (*letters == 'S')
            common->is_signal = true;
    }
    return !data.failed;
}

static bool read_common(const struct module *module, const uint8_t *entry, struct common *common)
{
    *common = (struct common){0};
    struct bytes bytes = open_entry(module, entry);
    take_fixed(&bytes, 4);
    uint64_t version = take_fixed(&bytes, 1);
    const char *letters = (const char *)bytes.at;
    while (!bytes.failed && take_fixed(&bytes, 1) != 0)
        continue;
    common->code_factor = take_leb(&bytes, false);
    common->data_factor = (int64_t)take_leb(&bytes, true);
    if (version == 1)
        take_fixed(&bytes, 1);
    else
        take_leb(&bytes, false);
    if (bytes.failed || !read_augmentation(&bytes, letters, common))
        return false;
    common->instructions = bytes;
    return true;
}

/* --- running the instructions --- */

static void save(struct row *row, uint64_t number, enum saved_kind kind, int64_t offset)
{
    if (number == REGISTER_FRAME)
        row->frame = (struct saved){kind, offset};
    else if (number == REGISTER_LINK)
        row->link = (struct saved){kind, offset};
}

static void restore(struct row *row, uint64_t number, const struct row *initial)
{
    if (number == REGISTER_FRAME)
        row->frame = initial->frame;
    else if (number == REGISTER_LINK)
        row->link = initial->link;
}

/* "frame pointer + offset", with or without a load behind it: what code with a realigned stack has. */
static bool is_from_frame(struct bytes expression, bool with_load, int64_t *offset)
{
    if (take_fixed(&expression, 1) != 0x70 + REGISTER_FRAME)
        return false;
    *offset = (int64_t)take_leb(&expression, true);
    if (with_load && take_fixed(&expression, 1) != 0x06)
        return false;
    return !expression.failed && expression.at == expression.end;
}

static struct bytes take_block(struct bytes *from)
{
    uint64_t size = take_leb(from, false);
    struct bytes block = {from->at, from->at, from->failed};
    if (size > (size_t)(from->end - from->at)) {
        from->failed = block.failed = true;
        return block;
    }
    block.end = from->at += size;
    return block;
}

static void define_by_expression(struct row *row, struct bytes *from)
{
    struct bytes block = take_block(from);
    row->end_kind = is_from_frame(block, true, &row->end_offset) ? END_LOAD : END_OTHERWISE;
}

static void save_by_expression(struct row *row, struct bytes *from)
{
    uint64_t number = take_leb(from, false);
    struct bytes block = take_block(from);
    int64_t offset;
    if (is_from_frame(block, false, &offset))
        save(row, number, SAVED_AT_FRAME, offset);
    else
        save(row, number, SAVED_OTHERWISE, 0);
}

struct machine {
    const struct common *common;
    struct row row, initial;
    struct row kept[DEPTH_MOST];
    unsigned depth;
    uintptr_t location;
};

/* An instruction with its operand in separate bytes. False when it is none that is known. */
static bool run_long(struct machine *machine, uint8_t code, struct bytes *from)
{
    struct row *row = &machine->row;
    uint64_t number;
    int64_t factor = machine->common->data_factor;
    switch (code) {
    case 0x00: /* nop */
    case 0x2d: /* the return address is signed, or is not any more */
        return true;
    case 0x05: /* offset_extended */
        number = take_leb(from, false);
        save(row, number, SAVED_AT, (int64_t)take_leb(from, false) * factor);
        return true;
    case 0x06: /* restore_extended */
        restore(row, take_leb(from, false), &machine->initial);
        return true;
    case 0x07: /* undefined */
        save(row, take_leb(from, false), SAVED_UNDEFINED, 0);
        return true;
    case 0x08: /* same_value */
        save(row, take_leb(from, false), SAVED_SAME, 0);
        return true;
    case 0x09: /* register */
        save(row, take_leb(from, false), SAVED_OTHERWISE, 0);
        take_leb(from, false);
        return true;
    case 0x0a: /* remember_state */
        if (machine->depth == DEPTH_MOST)
            return false;
        machine->kept[machine->depth++] = *row;
        return true;
    case 0x0b: /* restore_state */
        if (machine->depth == 0)
            return false;
        *row = machine->kept[--machine->depth];
        return true;
    case 0x0c: /* def_cfa */
    case 0x12: /* def_cfa_sf */
        row->end_kind = END_REGISTER;
        row->end_register = take_leb(from, false);
        row->end_offset = code == 0x0c ? (int64_t)take_leb(from, false) : (int64_t)take_leb(from, true) * factor;
        return true;
    case 0x0d: /* def_cfa_register */
        row->end_kind = END_REGISTER;
        row->end_register = take_leb(from, false);
        return true;
    case 0x0e: /* def_cfa_offset */
        row->end_offset = (int64_t)take_leb(from, false);
        return true;
    case 0x13: /* def_cfa_offset_sf */
        row->end_offset = (int64_t)take_leb(from, true) * factor;
        return true;
    case 0x0f: /* def_cfa_expression */
        define_by_expression(row, from);
        return true;
    case 0x10: /* expression */
        save_by_expression(row, from);
        return true;
    case 0x16: /* val_expression */
        save(row, take_leb(from, false), SAVED_OTHERWISE, 0);
        take_block(from);
        return true;
    case 0x11: /* offset_extended_sf */
        number = take_leb(from, false);
        save(row, number, SAVED_AT, (int64_t)take_leb(from, true) * factor);
        return true;
    case 0x14: /* val_offset */
    case 0x15: /* val_offset_sf */
        save(row, take_leb(from, false), SAVED_OTHERWISE, 0);
        take_leb(from, false);
        return true;
    case 0x2e: /* GNU_args_size */
        take_leb(from, false);
        return true;
    default:
        return false;
    }
}

/* Instructions of FROM up to the row that holds at PC. */
static bool run(struct machine *machine, struct bytes from, uintptr_t pc)
{
    for (unsigned count = 0; from.at < from.end && !from.failed; count++) {
        uint8_t code = (uint8_t)take_fixed(&from, 1), low = code & 0x3f;
        uint64_t advance = 0;
        bool is_advance = true;
        if (count > INSTRUCTIONS_MOST)
            return false;
        switch (code >> 6 == 1 ? 0x40 : code) {
        case 0x40: /* advance_loc */
            advance = low;
            break;
        case 0x02:
            advance = take_fixed(&from, 1);
            break;
        case 0x03:
            advance = take_fixed(&from, 2);
            break;
        case 0x04:
            advance = take_fixed(&from, 4);
            break;
        default:
            is_advance = false;
        }
        if (is_advance) {
            machine->location += advance * machine->common->code_factor;
            if (machine->location > pc)
                return true;
        } else if (code >> 6 == 2) {
            save(&machine->row, low, SAVED_AT, (int64_t)take_leb(&from, false) * machine->common->data_factor);
        } else if (code >> 6 == 3) {
            restore(&machine->row, low, &machine->initial);
        } else if (code == 0x01) { /* set_loc */
            machine->location = take_pointer(&from, machine->common->encoding);
            if (machine->location > pc)
                return true;
        } else if (!run_long(machine, code, &from)) {
            return false;
        }
    }
    return !from.failed;
}

/* --- rows into rules --- */

static bool fits(int64_t value, int64_t most)
{
    return value >= 0 && value <= most;
}

static frame_rule make_rule(const struct row *row)
{
    if (row->link.kind == SAVED_UNDEFINED)
        return RULE_OUTERMOST;
    if (row->link.kind != SAVED_AT || !fits(-row->link.offset, 0xffff) || row->link.offset == 0)
        return RULE_GUESS;
    uint64_t link = (uint64_t)-row->link.offset;
    if (row->end_kind == END_LOAD && row->frame.kind == SAVED_AT_FRAME && row->frame.offset == 0 &&
        fits(-row->end_offset, 0xffff))
        return RULE_MAKE(RULE_FRAME_LOAD, -row->end_offset, 0, link);
    if (row->end_kind != END_REGISTER || !fits(row->end_offset, 0xffffff))
        return RULE_GUESS;
    if (row->frame.kind != SAVED_SAME && (row->frame.kind != SAVED_AT || !fits(-row->frame.offset, 0xffff)))
        return RULE_GUESS;
    uint64_t frame = row->frame.kind == SAVED_AT ? (uint64_t)-row->frame.offset : 0;
    if (row->end_register == REGISTER_STACK)
        return RULE_MAKE(RULE_STACK, row->end_offset, frame, link);
    if (row->end_register == REGISTER_FRAME)
        return RULE_MAKE(RULE_FRAME, row->end_offset, frame, link);
    return RULE_GUESS;
}

frame_rule sxt_rule_find(const struct module *module, uintptr_t pc, bool interrupted)
{
    /* A return address may be behind the end of its function; the call before it is not. But the kernel's frame begins
     * where nothing was called. */
    uintptr_t wanted = interrupted ? pc : pc - 1;
    for (int attempt = 0; attempt < 2; attempt++, wanted = pc) {
        const uint8_t *entry = find_entry(module, wanted);
        if (entry == NULL)
            return RULE_GUESS;
        struct bytes bytes = open_entry(module, entry);
        const uint8_t *here = bytes.at;
        int32_t back = (int32_t)take_fixed(&bytes, 4);
        struct common common;
        if (bytes.failed || back <= 0 || !read_common(module, here - back, &common))
            return RULE_GUESS;
        uintptr_t start = take_pointer(&bytes, common.encoding);
        uintptr_t size = take_pointer(&bytes, common.encoding & 0x0f);
        if (wanted - start >= size) {
            const uint8_t *next = attempt == 0 && !interrupted ? find_entry(module, pc) : NULL;
            if (next == NULL || next == entry)
                return RULE_GUESS;
            continue;
        }
        if (common.is_signal)
            return RULE_SIGNAL;
        if (common.has_augmentation)
            take_block(&bytes);
        struct machine machine = {.common = &common, .location = start};
        if (bytes.failed || !run(&machine, common.instructions, UINTPTR_MAX))
            return RULE_GUESS;
        machine.location = start;
        machine.initial = machine.row;
        return run(&machine, bytes, wanted) ? make_rule(&machine.row) : (frame_rule)RULE_GUESS;
    }
    return RULE_GUESS;
}
