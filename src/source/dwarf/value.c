/* value.c: reads the values of attributes, in all their forms. */
#include <string.h>

#include "source/dwarf/unit.h"

/* DW_FORM_indirect can refer to itself again; in valid files it does not. */
#define INDIRECT_MAX 4
/* The maximum length of a string: names are shorter. */
#define STRING_MAX ((size_t)64 << 10)

static const uint8_t *skip_bytes(const uint8_t *at, const uint8_t *end, uint64_t size)
{
    return at != NULL && size <= (uint64_t)(end - at) ? at + size : NULL;
}

const uint8_t *sxt_dwarf_skip_form(const struct dwarf_context *context, uint32_t form, const uint8_t *at,
                                   const uint8_t *end)
{
    uint64_t size = 0;
    switch (form) {
    case DW_FORM_exprloc:
    case DW_FORM_block:
        at = dwarf_uleb(at, end, &size);
        return skip_bytes(at, end, size);
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        return dwarf_uleb(at, end, &size);
    case DW_FORM_string:
        at = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        return at != NULL ? at + 1 : NULL;
    case DW_FORM_block1:
        return at < end ? skip_bytes(at + 1, end, *at) : NULL;
    case DW_FORM_block2:
        return end - at >= 2 ? skip_bytes(at + 2, end, sxt_load_u16(at, context->file->big_endian)) : NULL;
    case DW_FORM_block4:
        return end - at >= 4 ? skip_bytes(at + 4, end, sxt_load_u32(at, context->file->big_endian)) : NULL;
    case DW_FORM_indirect: {
        struct dwarf_value value;
        struct dwarf_attribute attribute = {.form = DW_FORM_indirect, .size = DWARF_VARIABLE};
        return sxt_dwarf_read_value(context, &attribute, at, end, &value);
    }
    default:
        return NULL;
    }
}

sxt_string sxt_dwarf_string_at(const struct dwarf_bytes *section, uint64_t offset)
{
    if (offset >= section->size)
        return (sxt_string){NULL, 0};
    const uint8_t *start = section->data + offset;
    size_t most = section->size - offset < STRING_MAX ? section->size - (size_t)offset : STRING_MAX;
    const uint8_t *end = memchr(start, 0, most);
    return end != NULL ? (sxt_string){(const char *)start, (size_t)(end - start)} : (sxt_string){NULL, 0};
}

static sxt_string indexed_string(const struct dwarf_context *context, uint64_t index)
{
    const struct dwarf_bytes *offsets = &context->file->sections[DWARF_STR_OFFSETS];
    unsigned width = context->unit->offset_size;
    uint64_t at;
    if (!sxt_mul_u64(index, width, &at) || !sxt_add_u64(at, context->str_offsets_base, &at) || offsets->size < width ||
        at > offsets->size - width)
        return (sxt_string){NULL, 0};
    return sxt_dwarf_string_at(&context->file->sections[DWARF_STR],
                               dwarf_uint(offsets->data + at, width, context->file->big_endian));
}

bool sxt_dwarf_indexed_address(const struct dwarf_context *context, uint64_t index, uint64_t *address)
{
    const struct dwarf_bytes *addresses = &context->main->sections[DWARF_ADDR];
    unsigned width = context->unit->address_size;
    uint64_t at;
    if (!sxt_mul_u64(index, width, &at) || !sxt_add_u64(at, context->addr_base, &at) || addresses->size < width ||
        at > addresses->size - width)
        return false;
    *address = dwarf_uint(addresses->data + at, width, context->main->big_endian);
    return true;
}

static void set_string(const struct dwarf_file *file, int section, uint64_t offset, struct dwarf_value *value)
{
    value->class = DWARF_STRING;
    value->text = file != NULL ? sxt_dwarf_string_at(&file->sections[section], offset) : (sxt_string){NULL, 0};
}

static void set_indexed_address(const struct dwarf_context *context, uint64_t index, struct dwarf_value *value)
{
    value->class = sxt_dwarf_indexed_address(context, index, &value->number) ? DWARF_ADDRESS : DWARF_OTHER;
}

/* Interprets a value whose bytes are a plain number, which is in value->number. */
static void interpret_number(const struct dwarf_context *context, uint16_t form, struct dwarf_value *value)
{
    switch (form) {
    case DW_FORM_addr:
        value->class = DWARF_ADDRESS;
        break;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        value->class = DWARF_REFERENCE;
        value->number += context->unit->offset;
        break;
    case DW_FORM_ref_addr:
        value->class = DWARF_REFERENCE;
        break;
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        value->class = DWARF_ALTERNATE;
        break;
    case DW_FORM_ref_sig8:
        value->class = DWARF_SIGNATURE;
        break;
    case DW_FORM_sec_offset:
        value->class = DWARF_OFFSET;
        break;
    case DW_FORM_strp:
        set_string(context->file, DWARF_STR, value->number, value);
        break;
    case DW_FORM_line_strp:
        set_string(context->main, DWARF_LINE_STR, value->number, value);
        break;
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        set_string(context->file->alternate, DWARF_STR, value->number, value);
        break;
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        value->class = DWARF_STRING;
        value->text = indexed_string(context, value->number);
        break;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        set_indexed_address(context, value->number, value);
        break;
    case DW_FORM_rnglistx:
        value->class = DWARF_LIST;
        break;
    default:
        value->class = DWARF_CONSTANT;
    }
}

static const uint8_t *read_variable(const struct dwarf_context *context, uint16_t form, const uint8_t *at,
                                    const uint8_t *end, struct dwarf_value *value)
{
    switch (form) {
    case DW_FORM_sdata: {
        int64_t number = 0;
        at = dwarf_sleb(at, end, &number);
        value->class = DWARF_CONSTANT;
        value->number = (uint64_t)number;
        return at;
    }
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        at = dwarf_uleb(at, end, &value->number);
        if (at != NULL)
            interpret_number(context, form, value);
        return at;
    case DW_FORM_string: {
        const uint8_t *start = at;
        at = sxt_dwarf_skip_form(context, form, at, end);
        if (at != NULL) {
            value->class = DWARF_STRING;
            value->text = (sxt_string){(const char *)start, (size_t)(at - start) - 1};
        }
        return at;
    }
    default:
        value->class = DWARF_OTHER;
        return sxt_dwarf_skip_form(context, form, at, end);
    }
}

/* The form precedes the value. Its size is found as for any other form, with a table of one attribute. */
static const uint8_t *read_indirect(const struct dwarf_context *context, const uint8_t *at, const uint8_t *end,
                                    struct dwarf_value *value)
{
    uint64_t form = DW_FORM_indirect;
    for (int i = 0; i < INDIRECT_MAX && form == DW_FORM_indirect; i++)
        if ((at = dwarf_uleb(at, end, &form)) == NULL)
            return NULL;
    if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX)
        return NULL;
    struct dwarf_attribute attribute = {.form = (uint16_t)form, .size = sxt_dwarf_fixed_size(context->unit, form)};
    return sxt_dwarf_read_value(context, &attribute, at, end, value);
}

const uint8_t *sxt_dwarf_read_value(const struct dwarf_context *context, const struct dwarf_attribute *attribute,
                                    const uint8_t *at, const uint8_t *end, struct dwarf_value *value)
{
    *value = (struct dwarf_value){.class = DWARF_CONSTANT};
    switch (attribute->size) {
    case DWARF_VARIABLE:
        if (attribute->form == DW_FORM_indirect)
            return read_indirect(context, at, end, value);
        return read_variable(context, attribute->form, at, end, value);
    case 0:
        value->number = attribute->form == DW_FORM_implicit_const ? (uint64_t)attribute->constant : 1;
        return at;
    case 16:
        value->class = DWARF_OTHER;
        return skip_bytes(at, end, 16);
    default:
        if (attribute->size > end - at)
            return NULL;
        value->number = dwarf_uint(at, attribute->size, context->file->big_endian);
        interpret_number(context, attribute->form, value);
        return at + attribute->size;
    }
}
