/* abbrev.c: reads tables of abbreviations, and prepares them for skipping entries quickly. */
#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "source/dwarf/unit.h"

/* An entry of one byte can have any number of attributes without bytes; valid ones have at most some dozens. */
#define ATTRIBUTES_MAX 256
/* How many bytes of abbreviations are read in the time for one byte of other data. */
#define BYTES_A_PIECE 4

static uint8_t role_of(uint64_t tag);
static bool read_attributes(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev, const struct dwarf_unit *unit,
                            const uint8_t **at, const uint8_t *end);

void sxt_dwarf_abbrevs_init(struct dwarf_abbrevs *abbrevs)
{
    *abbrevs = (struct dwarf_abbrevs){.offset = UINT64_MAX};
}

void sxt_dwarf_abbrevs_free(struct dwarf_abbrevs *abbrevs)
{
    free(abbrevs->list);
    free(abbrevs->attributes);
    free(abbrevs->steps);
    *abbrevs = (struct dwarf_abbrevs){.offset = UINT64_MAX, .budget = abbrevs->budget};
}

static int compare_codes(const void *a, const void *b)
{
    const struct dwarf_abbrev *first = a;
    const struct dwarf_abbrev *second = b;
    if (first->code != second->code)
        return first->code < second->code ? -1 : 1;
    return first->number < second->number ? -1 : first->number > second->number;
}

/* Of abbreviations with the same code, the first one counts. */
static void sort(struct dwarf_abbrevs *abbrevs)
{
    qsort(abbrevs->list, abbrevs->count, sizeof *abbrevs->list, compare_codes);
    size_t kept = 0;
    for (size_t i = 0; i < abbrevs->count; i++)
        if (kept == 0 || abbrevs->list[kept - 1].code != abbrevs->list[i].code)
            abbrevs->list[kept++] = abbrevs->list[i];
    abbrevs->count = kept;
}

const struct dwarf_abbrev *sxt_dwarf_abbrev_search(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
    size_t at = SXT_SEARCH_FROM(abbrevs->list, abbrevs->count, code, code);
    return at < abbrevs->count && abbrevs->list[at].code == code ? &abbrevs->list[at] : NULL;
}

/* Begins the abbreviation with this code. AT is after the code. Returns NULL if it is cut off or if out of memory. */
static struct dwarf_abbrev *begin(struct dwarf_abbrevs *abbrevs, uint64_t code, const uint8_t **at, const uint8_t *end)
{
    uint64_t tag;
    if ((*at = dwarf_uleb(*at, end, &tag)) == NULL || *at >= end)
        return NULL;
    struct dwarf_abbrev *list = sxt_array_grow(abbrevs->list, &abbrevs->capacity, abbrevs->count + 1, sizeof *list);
    if (list == NULL) {
        abbrevs->no_memory = true;
        return NULL;
    }
    abbrevs->list = list;
    struct dwarf_abbrev *abbrev = &list[abbrevs->count];
    *abbrev = (struct dwarf_abbrev){.code = code,
                                    .number = (uint32_t)abbrevs->count,
                                    .first = (uint32_t)abbrevs->attribute_count,
                                    .first_step = (uint32_t)abbrevs->step_count,
                                    .sibling_at = DWARF_NO_SIBLING,
                                    .tag = (uint16_t)tag,
                                    .role = role_of(tag),
                                    .has_children = *(*at)++ != 0};
    return abbrev;
}

/* Notes the sizes of the common forms, which depend on the unit. */
static void note_sizes(struct dwarf_abbrevs *abbrevs, const struct dwarf_unit *unit)
{
    if (abbrevs->version == unit->version && abbrevs->address_size == unit->address_size &&
        abbrevs->offset_size == unit->offset_size)
        return;
    for (unsigned form = 0; form < DWARF_FORMS_MAX; form++)
        abbrevs->sizes[form] = sxt_dwarf_fixed_size(unit, form);
    abbrevs->version = unit->version;
    abbrevs->address_size = unit->address_size;
    abbrevs->offset_size = unit->offset_size;
}

/* Empties ABBREVS and returns where the table of UNIT begins, or NULL if it is outside of its section. */
static const uint8_t *table_of(struct dwarf_abbrevs *abbrevs, const struct dwarf_file *file,
                               const struct dwarf_unit *unit)
{
    const struct dwarf_bytes *section = &file->sections[DWARF_ABBREV];
    abbrevs->offset = UINT64_MAX;
    abbrevs->count = abbrevs->attribute_count = abbrevs->step_count = 0;
    note_sizes(abbrevs, unit);
    return unit->abbrev_offset < section->size ? section->data + unit->abbrev_offset : NULL;
}

bool sxt_dwarf_abbrevs_read(struct dwarf_abbrevs *abbrevs, const struct dwarf_file *file, const struct dwarf_unit *unit)
{
    if (abbrevs->offset == unit->abbrev_offset && abbrevs->file == file && abbrevs->version == unit->version &&
        abbrevs->address_size == unit->address_size && abbrevs->offset_size == unit->offset_size)
        return dwarf_budget_spend(abbrevs->budget, abbrevs->size / BYTES_A_PIECE);
    const struct dwarf_bytes *section = &file->sections[DWARF_ABBREV];
    const uint8_t *at = table_of(abbrevs, file, unit);
    if (at == NULL)
        return false;
    const uint8_t *end = section->data + section->size;
    bool dense = true, ordered = true;
    for (;;) {
        const uint8_t *start = at;
        uint64_t code = 0;
        /* The last table may end with the section. */
        if (at < end && (at = dwarf_uleb(at, end, &code)) == NULL)
            return false;
        if (code == 0)
            break;
        struct dwarf_abbrev *abbrev = begin(abbrevs, code, &at, end);
        if (abbrev == NULL || !read_attributes(abbrevs, abbrev, unit, &at, end) ||
            !dwarf_budget_spend(abbrevs->budget, (uint64_t)(at - start) / BYTES_A_PIECE + 1))
            return false;
        abbrev->is_declared = abbrev->is_declared && !abbrev->has_code;
        dense = dense && code == abbrevs->count + 1;
        ordered = ordered && (abbrevs->count == 0 || abbrev[-1].code < code);
        abbrevs->count++;
    }
    if (!ordered)
        sort(abbrevs);
    abbrevs->dense = dense;
    abbrevs->size = (size_t)(at - section->data) - (size_t)unit->abbrev_offset;
    abbrevs->file = file;
    abbrevs->offset = unit->abbrev_offset;
    return true;
}

/* Skips an abbreviation. AT is after its code. Returns NULL if it is cut off. */
static const uint8_t *skip(const uint8_t *at, const uint8_t *end)
{
    uint64_t name, form;
    int64_t constant;
    if ((at = dwarf_uleb(at, end, &name)) == NULL || at >= end)
        return NULL;
    at++;
    do {
        if ((at = dwarf_uleb(at, end, &name)) == NULL || (at = dwarf_uleb(at, end, &form)) == NULL)
            return NULL;
        if (form == DW_FORM_implicit_const && (at = dwarf_sleb(at, end, &constant)) == NULL)
            return NULL;
    } while (name != 0 || form != 0);
    return at;
}

bool sxt_dwarf_abbrevs_read_one(struct dwarf_abbrevs *abbrevs, const struct dwarf_file *file,
                                const struct dwarf_unit *unit, uint64_t code)
{
    const struct dwarf_bytes *section = &file->sections[DWARF_ABBREV];
    const uint8_t *start = table_of(abbrevs, file, unit), *at = start;
    if (start == NULL)
        return false;
    const uint8_t *end = section->data + section->size;
    uint64_t here = 0;
    while (at != NULL && (at = dwarf_uleb(at, end, &here)) != NULL && here != code && here != 0)
        at = skip(at, end);
    if (at == NULL || here != code || code == 0)
        return false;
    struct dwarf_abbrev *abbrev = begin(abbrevs, code, &at, end);
    if (abbrev == NULL || !read_attributes(abbrevs, abbrev, unit, &at, end) ||
        !dwarf_budget_spend(abbrevs->budget, (uint64_t)(at - start) / BYTES_A_PIECE + 1))
        return false;
    abbrevs->count = 1;
    abbrevs->dense = false;
    return true;
}

static uint8_t role_of(uint64_t tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
        return DWARF_ROLE_FUNCTION;
    case DW_TAG_inlined_subroutine:
        return DWARF_ROLE_INLINED;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        return DWARF_ROLE_SCOPE;
    case DW_TAG_array_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return DWARF_ROLE_PRUNE;
    default:
        return DWARF_ROLE_NONE;
    }
}

static void note_attribute(struct dwarf_abbrev *abbrev, uint64_t name, uint64_t form)
{
    switch (name) {
    case DW_AT_low_pc:
    case DW_AT_ranges:
        abbrev->has_code = true;
        break;
    case DW_AT_linkage_name:
    case DW_AT_MIPS_linkage_name:
        abbrev->has_linkage = true;
        abbrev->has_alternate_linkage = form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup;
        break;
    case DW_AT_declaration:
        abbrev->is_declared = true;
        break;
    default:
        break;
    }
}

/* Makes room for one more attribute and one more step. */
static inline bool make_room(struct dwarf_abbrevs *abbrevs)
{
    if (abbrevs->attribute_count < abbrevs->attribute_capacity && abbrevs->step_count < abbrevs->step_capacity)
        return true;
    struct dwarf_attribute *attributes = sxt_array_grow(abbrevs->attributes, &abbrevs->attribute_capacity,
                                                        abbrevs->attribute_count + 1, sizeof *attributes);
    abbrevs->attributes = attributes != NULL ? attributes : abbrevs->attributes;
    struct dwarf_step *steps =
        sxt_array_grow(abbrevs->steps, &abbrevs->step_capacity, abbrevs->step_count + 1, sizeof *steps);
    abbrevs->steps = steps != NULL ? steps : abbrevs->steps;
    abbrevs->no_memory = attributes == NULL || steps == NULL;
    return !abbrevs->no_memory;
}

/* Appends to the steps of the current abbreviation, for which there is room: SIZE more bytes, or one value of FORM. */
static inline void add_step(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev, uint8_t size, uint64_t form)
{
    struct dwarf_step *last = abbrev->step_count > 0 ? &abbrevs->steps[abbrevs->step_count - 1] : NULL;
    if (last == NULL || last->form != 0) {
        last = &abbrevs->steps[abbrevs->step_count++];
        *last = (struct dwarf_step){0, 0};
        abbrev->step_count++;
    }
    if (size == DWARF_VARIABLE)
        last->form = (uint32_t)form;
    else
        last->bytes += size;
}

static bool read_attributes(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev, const struct dwarf_unit *unit,
                            const uint8_t **from, const uint8_t *end)
{
    const uint8_t *at = *from;
    for (;;) {
        uint64_t name, form;
        int64_t constant = 0;
        if ((at = dwarf_uleb(at, end, &name)) == NULL || (at = dwarf_uleb(at, end, &form)) == NULL)
            return false;
        if (form == DW_FORM_implicit_const && (at = dwarf_sleb(at, end, &constant)) == NULL)
            return false;
        if (name == 0 && form == 0)
            break;
        if (abbrev->count >= ATTRIBUTES_MAX || abbrevs->attribute_count >= UINT32_MAX || form > UINT16_MAX ||
            !make_room(abbrevs))
            return false;
        uint8_t size = form < DWARF_FORMS_MAX ? abbrevs->sizes[form] : sxt_dwarf_fixed_size(unit, form);
        abbrevs->attributes[abbrevs->attribute_count++] =
            (struct dwarf_attribute){.name = name <= UINT16_MAX ? (uint16_t)name : 0,
                                     .form = (uint16_t)form,
                                     .size = size,
                                     .constant = constant};
        abbrev->count++;
        note_attribute(abbrev, name, form);
        if (name == DW_AT_sibling && form == DW_FORM_ref4 && abbrev->step_count == 0)
            abbrev->sibling_at = 0;
        else if (name == DW_AT_sibling && form == DW_FORM_ref4 && abbrev->step_count == 1 &&
                 abbrevs->steps[abbrevs->step_count - 1].form == 0)
            abbrev->sibling_at = abbrevs->steps[abbrevs->step_count - 1].bytes;
        add_step(abbrevs, abbrev, size, form);
    }
    *from = at;
    return true;
}

uint8_t sxt_dwarf_fixed_size(const struct dwarf_unit *unit, uint64_t form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return unit->address_size;
    case DW_FORM_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return unit->offset_size;
    case DW_FORM_ref_addr:
        return unit->version <= 2 ? unit->address_size : unit->offset_size;
    default:
        return DWARF_VARIABLE;
    }
}
