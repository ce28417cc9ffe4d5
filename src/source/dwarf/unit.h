/*
 * unit.h: debug sections, the units in them, and the attributes of an entry. Private to this folder.
 *
 *     .debug_info   [ header | entry entry ... ][ header | entry ... ] ...     one unit after another
 *     an entry      code, then values; the code picks a declaration in .debug_abbrev: tag, children?, (name, form)...
 *
 * An entry is known by its offset in its section. All reading is bounded by the unit it is in.
 */
#ifndef SXT_SOURCE_DWARF_UNIT_H
#define SXT_SOURCE_DWARF_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/symbols.h>

#include "base/bytes.h"
#include "source/dwarf/constants.h"
#include "source/dwarf/effort.h"
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
    DWARF_CU_INDEX, /* of a .dwp */
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
    uint64_t id;        /* of a type unit: its signature; of a split or skeleton unit: what joins the two; 0: none */
    uint64_t type_root; /* of a type unit: the type's own entry */
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
    uint64_t bad_header;    /* offset of the first unit whose header makes no sense */
    uint64_t bad_count;     /* how many of them there are */
    const struct dwarf_file *alternate;
    bool big_endian;
    bool split; /* a .dwo or .dwp */
};

/* One (name, form) of an abbreviation. */
struct dwarf_attribute {
    uint16_t name;
    uint16_t form;
    uint8_t size; /* of the value where the form has one size, otherwise DWARF_VARIABLE */
    int64_t constant;
};

#define DWARF_VARIABLE UINT8_MAX

/* What the walk over a unit does with an entry. */
enum dwarf_role {
    DWARF_ROLE_NONE,  /* nothing; its children may matter */
    DWARF_ROLE_PRUNE, /* neither it nor its children matter */
    DWARF_ROLE_FUNCTION,
    DWARF_ROLE_INLINED,
    DWARF_ROLE_SCOPE, /* gives its name to what is inside */
};

struct dwarf_abbrev {
    uint64_t code;
    uint32_t number; /* its place in the table */
    uint32_t first;  /* in attributes */
    uint32_t count;
    uint32_t first_step; /* in steps */
    uint32_t step_count;
    uint32_t sibling_at; /* offset of a four-byte DW_AT_sibling behind the code, or DWARF_NO_SIBLING */
    uint16_t tag;
    uint8_t role;
    bool has_children;
    bool has_code;    /* low_pc or ranges */
    bool has_linkage; /* a linkage name */
    bool is_declared; /* somewhere else it has code */
};

#define DWARF_NO_SIBLING UINT32_MAX

/* How to step over the values of an entry: so many bytes, then one value of a form without a fixed size (0: none). */
struct dwarf_step {
    uint32_t bytes;
    uint32_t form;
};

/* The abbreviations at one offset, for units of one shape. */
struct dwarf_abbrevs {
    struct dwarf_abbrev *list;
    size_t count, capacity;
    struct dwarf_attribute *attributes;
    size_t attribute_count, attribute_capacity;
    struct dwarf_step *steps;
    size_t step_count, step_capacity;
    bool dense;                  /* code n is list[n - 1] */
    size_t size;                 /* bytes in .debug_abbrev */
    struct dwarf_effort *effort; /* pays for reading them; NULL: nobody does */
    bool no_memory;
    /* What it is for; offset UINT64_MAX: nothing yet. */
    const struct dwarf_file *file;
    uint64_t offset;
    uint16_t version;
    uint8_t address_size, offset_size;
};

/* Everything that is needed to read the entries of a unit. */
struct dwarf_context {
    const struct dwarf_file *file; /* where the entries are */
    const struct dwarf_file
        *main; /* where addresses, lines and old range lists are; the same unless the unit is split */
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

/* What the root entry of a unit says. */
struct dwarf_root {
    uint16_t tag;
    uint16_t language;
    bool has_lines;
    uint64_t lines; /* offset in .debug_line */
    sxt_string name, directory, split_name;
    struct dwarf_value low, high, ranges;
    uint64_t split_id;
};

/* Sections: the plain, .zdebug or (SPLIT) .dwo ones of an ELF file. Those that cannot be read are missing; fails only
 * when memory is short. */
int sxt_dwarf_load_sections(struct dwarf_file *file, struct sxt_elf *elf, bool split, sxt_error *error);

/*
 * Finds the units. One whose header makes no sense is left out and counted; where not even its length does, nothing
 * that follows can be found.
 */
int sxt_dwarf_find_units(struct dwarf_file *file, sxt_error *error);

/* Reads the header of one unit. False when it makes no sense; its end is 0 when not even its length does. */
bool sxt_dwarf_read_unit_header(const struct dwarf_file *file, bool in_types, uint64_t offset, struct dwarf_unit *unit);

/* Is it of a version that is known here, with addresses of a size that is? */
bool sxt_dwarf_unit_is_known(const struct dwarf_unit *unit);

/* The unit that the entry at OFFSET of .debug_info is in, or NULL. */
const struct dwarf_unit *sxt_dwarf_unit_at(const struct dwarf_file *file, uint64_t offset);

/* The bytes of the section that UNIT is in. */
static inline const struct dwarf_bytes *dwarf_unit_section(const struct dwarf_file *file, const struct dwarf_unit *unit)
{
    return &file->sections[unit->in_types ? DWARF_TYPES : DWARF_INFO];
}

/* Reads the abbreviations of UNIT, unless ABBREVS has them already. False when they are damaged or memory is short. */
bool sxt_dwarf_abbrevs_read(struct dwarf_abbrevs *abbrevs, const struct dwarf_file *file,
                            const struct dwarf_unit *unit);
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

/* The size of all values of FORM in UNIT, or DWARF_VARIABLE. */
uint8_t sxt_dwarf_fixed_size(const struct dwarf_unit *unit, uint64_t form);

/* A number of up to 64 bits; higher bits are dropped. NULL when it is cut off. */
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

/* An unsigned number of WIDTH bytes (1, 2, 3, 4 or 8), which must be there. */
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

/* Steps over one value of a form without a fixed size; NULL when it is cut off or unknown. */
const uint8_t *sxt_dwarf_skip_form(const struct dwarf_context *context, uint32_t form, const uint8_t *at,
                                   const uint8_t *end);

/* Steps over all values of an entry. */
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

/* Where the entry behind this one and its children begins, or NULL when it does not say so. AT is behind its code. */
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

/* Reads one value. NULL when it is cut off or of an unknown form. */
const uint8_t *sxt_dwarf_read_value(const struct dwarf_context *context, const struct dwarf_attribute *attribute,
                                    const uint8_t *at, const uint8_t *end, struct dwarf_value *value);

/* The string at OFFSET of a section; absent when it is not inside or has no end. */
sxt_string sxt_dwarf_string_at(const struct dwarf_bytes *section, uint64_t offset);

/* Address number INDEX of the unit; false when there is none. */
bool sxt_dwarf_indexed_address(const struct dwarf_context *context, uint64_t index, uint64_t *address);

/*
 * Makes CONTEXT ready for UNIT of FILE and reads what its root entry says. ABBREVS is filled with its abbreviations. A
 * split unit inherits bases from its skeleton: SKELETON is that one's context, otherwise NULL.
 */
bool sxt_dwarf_enter(struct dwarf_context *context, struct dwarf_root *root, struct dwarf_abbrevs *abbrevs,
                     const struct dwarf_file *file, const struct dwarf_unit *unit,
                     const struct dwarf_context *skeleton);

#endif
