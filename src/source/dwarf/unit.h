/*
 * unit.h: debug sections, the units in them, and the attributes of an entry. Private to this folder.
 *
 *     .debug_info   [ header | entry entry ... ][ header | entry ... ] ...     one unit after another
 *     an entry      code, then values; the code selects a declaration in .debug_abbrev: tag, children?, (name, form)...
 *
 * An entry is identified by its offset in its section. All reading is bounded by the unit of the entry.
 */
#ifndef SXT_SOURCE_DWARF_UNIT_H
#define SXT_SOURCE_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/bytes.h"
#include "source/dwarf/budget.h"
#include "source/dwarf/constants.h"
#include "source/elf/elf.h"

enum dwarf_section {
    DWARF_INFO,
    DWARF_TYPES,
    DWARF_ABBREV,
    DWARF_LINE,
    DWARF_STR,
    DWARF_LINE_STR,
    DWARF_STR_OFFSETS,
    DWARF_ADDR,
    DWARF_RANGES,
    DWARF_RNGLISTS,
    DWARF_CU_INDEX, /* in a .dwp */
    DWARF_SECTION_COUNT
};

struct dwarf_bytes {
    const uint8_t *data;
    size_t size;
};

/* What the header of a unit says. */
struct dwarf_unit {
    uint64_t offset; /* of the header */
    uint64_t end;
    uint64_t root; /* its first entry */
    uint64_t abbrev_offset;
    uint64_t id;        /* type unit: signature; split or skeleton unit: the number they share; 0: none */
    uint64_t type_root; /* type unit: the entry of the type */
    uint16_t version;
    uint8_t type; /* DW_UT_... */
    uint8_t address_size;
    uint8_t offset_size; /* 4 or 8 */
    bool in_types;       /* is in .debug_types */
};

/* The debug sections of one file: a binary, its debug file, an alternate file, a .dwo, or one unit's part of a .dwp. */
struct dwarf_file {
    struct dwarf_bytes sections[DWARF_SECTION_COUNT];
    struct dwarf_unit *units; /* those of .debug_info by offset, then those of .debug_types */
    size_t unit_count;
    size_t info_unit_count; /* how many are in .debug_info */
    uint64_t bad_header;    /* offset of the first unit with an invalid header */
    uint64_t bad_count;     /* number of units with an invalid header */
    const struct dwarf_file *alternate;
    bool big_endian;
    bool split; /* a .dwo or .dwp */
};

/* One (name, form) of an abbreviation. */
struct dwarf_attribute {
    uint16_t name;
    uint16_t form;
    uint8_t size; /* of the value, or DWARF_VARIABLE */
    int64_t constant;
};

#define DWARF_VARIABLE UINT8_MAX

/* How the walk over a unit treats an entry. */
enum dwarf_role {
    DWARF_ROLE_NONE,  /* ignores it, but not its children */
    DWARF_ROLE_PRUNE, /* ignores it and its children */
    DWARF_ROLE_FUNCTION,
    DWARF_ROLE_INLINED,
    DWARF_ROLE_SCOPE, /* its name is a scope for its children */
};

struct dwarf_abbrev {
    uint64_t code;
    uint32_t number; /* index in the table */
    uint32_t first;  /* in attributes */
    uint32_t count;
    uint32_t first_step; /* in steps */
    uint32_t step_count;
    uint32_t sibling_at; /* offset of a four-byte DW_AT_sibling after the code, or DWARF_NO_SIBLING */
    uint16_t tag;
    uint8_t role;
    bool has_children;
    bool has_code;              /* low_pc or ranges */
    bool has_linkage;           /* a linkage name */
    bool has_alternate_linkage; /* a linkage name whose text is in the alternate file */
    bool is_declared;           /* it is a declaration, and has code elsewhere */
};

#define DWARF_NO_SIBLING UINT32_MAX

/* How to skip the values of an entry: BYTES bytes, then one value of a form without a fixed size (0: none). */
struct dwarf_step {
    uint32_t bytes;
    uint32_t form;
};

/* All forms of DWARF 5 are below. */
#define DWARF_FORMS_MAX 0x30

/* The abbreviations at one offset, for units with the same version and sizes. */
struct dwarf_abbrevs {
    struct dwarf_abbrev *list;
    size_t count, capacity;
    struct dwarf_attribute *attributes;
    size_t attribute_count, attribute_capacity;
    struct dwarf_step *steps;
    size_t step_count, step_capacity;
    bool dense;                  /* code n is list[n - 1] */
    size_t size;                 /* bytes in .debug_abbrev */
    struct dwarf_budget *budget; /* limits what is read; NULL: no limit */
    bool no_memory;
    /* The unit that they were read for; offset UINT64_MAX: none yet. */
    const struct dwarf_file *file;
    uint64_t offset;
    uint16_t version;
    uint8_t address_size, offset_size;
    uint8_t sizes[DWARF_FORMS_MAX]; /* sxt_dwarf_fixed_size of the first forms, for such a unit */
};

/* Everything needed to read the entries of a unit. */
struct dwarf_context {
    const struct dwarf_file *file; /* contains the entries */
    const struct dwarf_file *main; /* contains addresses, lines and old range lists; differs only for a split unit */
    const struct dwarf_unit *unit;
    const struct dwarf_abbrevs *abbrevs;
    uint64_t str_offsets_base;
    uint64_t addr_base;
    uint64_t ranges_base;   /* added to range offsets of a split unit of DWARF 4 */
    uint64_t rnglists_base; /* of DW_FORM_rnglistx */
};

enum dwarf_class {
    DWARF_NOTHING,
    DWARF_CONSTANT,  /* number; also flags */
    DWARF_ADDRESS,   /* number */
    DWARF_OFFSET,    /* into another section: number */
    DWARF_LIST,      /* index of a range list: number */
    DWARF_STRING,    /* text */
    DWARF_REFERENCE, /* to an entry of the same file: number is its offset in .debug_info */
    DWARF_ALTERNATE, /* to an entry of the alternate file */
    DWARF_SIGNATURE, /* to a type unit */
    DWARF_OTHER,
};

struct dwarf_value {
    enum dwarf_class class;
    uint64_t number;
    sxt_string text;
};

/* The attributes of the root entry of a unit. */
struct dwarf_root {
    uint16_t tag;
    uint16_t language;
    bool has_lines;
    uint64_t lines; /* offset in .debug_line */
    sxt_string name, directory, split_name;
    struct dwarf_value low, high, ranges;
    uint64_t split_id;
};

/*
 * Loads the sections of an ELF file: plain, .zdebug, or .dwo ones (SPLIT). At most THREADS threads inflate large ones.
 * A section that cannot be read is left empty. Fails only if out of memory.
 */
int sxt_dwarf_load_sections(struct dwarf_file *file, struct sxt_elf *elf, bool split, unsigned threads,
                            sxt_error *error);

/*
 * Finds the units. A unit with an invalid header is skipped and counted; if even its length is invalid, nothing after
 * it can be found.
 */
int sxt_dwarf_find_units(struct dwarf_file *file, sxt_error *error);

/* Reads the header of one unit. Returns false if it is invalid; unit->end is 0 if even its length is invalid. */
bool sxt_dwarf_read_unit_header(const struct dwarf_file *file, bool in_types, uint64_t offset, struct dwarf_unit *unit);

/* Says whether the version and the address size are supported. */
bool sxt_dwarf_unit_is_known(const struct dwarf_unit *unit);

/* Returns the unit that contains the entry at OFFSET of .debug_info, or NULL. */
const struct dwarf_unit *sxt_dwarf_unit_at(const struct dwarf_file *file, uint64_t offset);

/* Returns the section that contains UNIT. */
static inline const struct dwarf_bytes *dwarf_unit_section(const struct dwarf_file *file, const struct dwarf_unit *unit)
{
    return &file->sections[unit->in_types ? DWARF_TYPES : DWARF_INFO];
}

/*
 * Reads the abbreviations of UNIT unless ABBREVS has them already. Returns false if they are damaged or if out of
 * memory.
 */
bool sxt_dwarf_abbrevs_read(struct dwarf_abbrevs *abbrevs, const struct dwarf_file *file,
                            const struct dwarf_unit *unit);

/* Reads only the abbreviation CODE of UNIT. Returns false if there is none before any damage, or if out of memory. */
bool sxt_dwarf_abbrevs_read_one(struct dwarf_abbrevs *abbrevs, const struct dwarf_file *file,
                                const struct dwarf_unit *unit, uint64_t code);
void sxt_dwarf_abbrevs_init(struct dwarf_abbrevs *abbrevs);
void sxt_dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs);

static inline const struct dwarf_abbrev *dwarf_abbrev_dense(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
    return code - 1 < abbrevs->count ? &abbrevs->list[code - 1] : NULL;
}
const struct dwarf_abbrev *sxt_dwarf_abbrev_search(const struct dwarf_abbrevs *abbrevs, uint64_t code);

static inline const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
    return abbrevs->dense ? dwarf_abbrev_dense(abbrevs, code) : sxt_dwarf_abbrev_search(abbrevs, code);
}

/* Returns the size of all values of FORM in UNIT, or DWARF_VARIABLE. */
uint8_t sxt_dwarf_fixed_size(const struct dwarf_unit *unit, uint64_t form);

/* Reads a number of up to 64 bits; higher bits are dropped. Returns NULL if it is cut off. */
static inline const uint8_t *dwarf_uleb(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    if (at < end && *at < 0x80) {
        *value = *at;
        return at + 1;
    }
    uint64_t result = 0;
    for (unsigned shift = 0; at < end; shift += 7) {
        uint8_t byte = *at++;
        if (shift < 64)
            result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            return at;
        }
    }
    return NULL;
}

static inline const uint8_t *dwarf_sleb(const uint8_t *at, const uint8_t *end, int64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; at < end;) {
        uint8_t byte = *at++;
        if (shift < 64)
            result |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte < 0x80) {
            if ((byte & 0x40) && shift < 64)
                result |= UINT64_MAX << shift;
            *value = (int64_t)result;
            return at;
        }
    }
    return NULL;
}

/* Reads an unsigned number of WIDTH bytes (1, 2, 3, 4 or 8), which must exist. */
static inline uint64_t dwarf_uint(const uint8_t *at, unsigned width, bool big_endian)
{
    switch (width) {
    case 1:
        return *at;
    case 2:
        return sxt_load_u16(at, big_endian);
    case 3:
        return big_endian ? (uint64_t)at[0] << 16 | (uint64_t)at[1] << 8 | at[2]
                          : (uint64_t)at[2] << 16 | (uint64_t)at[1] << 8 | at[0];
    case 4:
        return sxt_load_u32(at, big_endian);
    default:
        return sxt_load_u64(at, big_endian);
    }
}

/* Skips one value of a form without a fixed size. Returns NULL if it is cut off or unknown. */
const uint8_t *sxt_dwarf_skip_form(const struct dwarf_context *context, uint32_t form, const uint8_t *at,
                                   const uint8_t *end);

/* Skips all values of an entry. */
static inline const uint8_t *dwarf_skip(const struct dwarf_context *context, const struct dwarf_abbrev *abbrev,
                                        const uint8_t *at, const uint8_t *end)
{
    for (uint32_t i = 0; i < abbrev->step_count; i++) {
        const struct dwarf_step *step = &context->abbrevs->steps[abbrev->first_step + i];
        if ((uint64_t)(end - at) < step->bytes)
            return NULL;
        at += step->bytes;
        if (step->form != 0 && (at = sxt_dwarf_skip_form(context, step->form, at, end)) == NULL)
            return NULL;
    }
    return at;
}

/*
 * Returns the entry after this one and its children, or NULL if DW_AT_sibling is absent. AT is after the entry's code.
 */
static inline const uint8_t *dwarf_sibling(const struct dwarf_context *context, const struct dwarf_abbrev *abbrev,
                                           const uint8_t *at, const uint8_t *end)
{
    if (abbrev->sibling_at == DWARF_NO_SIBLING || (uint64_t)(end - at) < (uint64_t)abbrev->sibling_at + 4)
        return NULL;
    uint64_t offset = context->unit->offset + sxt_load_u32(at + abbrev->sibling_at, context->file->big_endian);
    const uint8_t *section = dwarf_unit_section(context->file, context->unit)->data;
    const uint8_t *there = offset < context->unit->end ? section + offset : NULL;
    return there > at ? there : NULL;
}

/* Reads one value. Returns NULL if it is cut off or its form is unknown. */
const uint8_t *sxt_dwarf_read_value(const struct dwarf_context *context, const struct dwarf_attribute *attribute,
                                    const uint8_t *at, const uint8_t *end, struct dwarf_value *value);

/* Returns the string at OFFSET of a section; absent if it is outside or not terminated. */
sxt_string sxt_dwarf_string_at(const struct dwarf_bytes *section, uint64_t offset);

/* Gets the unit's address number INDEX. Returns false if there is none. */
bool sxt_dwarf_indexed_address(const struct dwarf_context *context, uint64_t index, uint64_t *address);

/*
 * Prepares CONTEXT for UNIT of FILE and reads its root entry. Fills ABBREVS with its abbreviations. A split unit
 * inherits bases from its skeleton: SKELETON is the context of the skeleton, otherwise NULL.
 */
bool sxt_dwarf_enter(struct dwarf_context *context, struct dwarf_root *root, struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_file *file, const struct dwarf_unit *unit,
                     const struct dwarf_context *skeleton);

/*
 * Does the same for a unit that is not a split unit if only its root entry is needed: ABBREVS gets only the
 * abbreviation of that entry.
 */
bool sxt_dwarf_enter_root(struct dwarf_context *context, struct dwarf_root *root, struct dwarf_abbrevs *abbrevs,
                          const struct dwarf_file *file, const struct dwarf_unit *unit);

#endif
