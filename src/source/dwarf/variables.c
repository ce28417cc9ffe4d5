/*
 * variables.c: finds variables with a fixed address, and functions that are inlined, and the file in which each is
 * declared. For members and for what is declared before it is defined, the entry of the declaration has the file.
 */
#include "source/dwarf/variables.h"

#include "base/array.h"

#define CHAIN_MAX 8

/* Returns the size of the expression that begins at *AT; 0 if there is none. */
static uint64_t expression_size(const struct dwarf_context *context, uint16_t form, const uint8_t **at,
                                const uint8_t *end)
{
    uint64_t size = 0;
    bool big_endian = context->file->big_endian;
    if (form == DW_FORM_exprloc || form == DW_FORM_block)
        *at = dwarf_uleb(*at, end, &size);
    else if (form == DW_FORM_block1 && *at < end)
        size = *(*at)++;
    else if (form == DW_FORM_block2 && end - *at >= 2)
        size = sxt_load_u16(*at, big_endian), *at += 2;
    else if (form == DW_FORM_block4 && end - *at >= 4)
        size = sxt_load_u32(*at, big_endian), *at += 4;
    return *at == NULL || size > (uint64_t)(end - *at) ? 0 : size;
}

bool sxt_dwarf_plain_address(const struct dwarf_context *context, uint16_t form, bool indexed, const uint8_t *at,
                             const uint8_t *end, uint64_t *address)
{
    uint64_t size = expression_size(context, form, &at, end), index;
    unsigned width = context->unit->address_size;
    if (size == width + 1u && *at == DW_OP_addr) {
        *address = dwarf_uint(at + 1, width, context->file->big_endian);
        return true;
    }
    return indexed && size >= 2 && (*at == DW_OP_addrx || *at == DW_OP_GNU_addr_index) &&
           dwarf_uleb(at + 1, at + size, &index) == at + size && sxt_dwarf_indexed_address(context, index, address);
}

/* An offset, and "in the data of this thread". */
bool sxt_dwarf_thread_local_offset(const struct dwarf_context *context, uint16_t form, const uint8_t *at,
                                   const uint8_t *end, uint64_t *offset)
{
    uint64_t size = expression_size(context, form, &at, end);
    unsigned width = size == 6 && *at == DW_OP_const4u ? 4 : size == 10 && *at == DW_OP_const8u ? 8 : 0;
    if (width == 0 || (at[width + 1] != DW_OP_GNU_push_tls_address && at[width + 1] != DW_OP_form_tls_address))
        return false;
    *offset = dwarf_uint(at + 1, width, context->file->big_endian);
    return true;
}

/* The attributes of a variable. */
struct variable_entry {
    bool has_address, has_file, is_thread_local;
    uint64_t address, file;
    uint64_t declared_by; /* another entry; 0 if there is none */
};

/* AT is after the code of the entry. Returns the end of the entry. */
static const uint8_t *read_entry(const struct dwarf_context *context, const struct dwarf_abbrev *abbrev,
                                 const uint8_t *at, const uint8_t *end, struct variable_entry *out)
{
    *out = (struct variable_entry){.file = 0};
    for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
        const struct dwarf_attribute *attribute = &context->abbrevs->attributes[abbrev->first + i];
        if (attribute->name == DW_AT_location) {
            out->is_thread_local = sxt_dwarf_thread_local_offset(context, attribute->form, at, end, &out->address);
            out->has_address =
                out->is_thread_local || sxt_dwarf_plain_address(context, attribute->form, true, at, end, &out->address);
        }
        struct dwarf_value value;
        at = sxt_dwarf_read_value(context, attribute, at, end, &value);
        if (at == NULL)
            break;
        if (attribute->name == DW_AT_decl_file) {
            out->has_file = true;
            out->file = value.number;
        } else if ((attribute->name == DW_AT_specification || attribute->name == DW_AT_abstract_origin) &&
                   value.class == DWARF_REFERENCE) {
            out->declared_by = value.number;
        }
    }
    return at;
}

/*
 * Gets the number of the file that ENTRY, or the entry that declares it, names. Returns false if none does in this
 * unit.
 */
static bool find_file(const struct dwarf_context *context, struct variable_entry entry, uint64_t *file)
{
    const uint8_t *section = dwarf_unit_section(context->file, context->unit)->data;
    const uint8_t *end = section + context->unit->end;
    for (int i = 0; i < CHAIN_MAX && !entry.has_file; i++) {
        uint64_t code;
        if (entry.declared_by < context->unit->root || entry.declared_by >= context->unit->end)
            return false;
        const uint8_t *at = dwarf_uleb(section + entry.declared_by, end, &code);
        const struct dwarf_abbrev *abbrev = at != NULL ? dwarf_abbrev_find(context->abbrevs, code) : NULL;
        if (abbrev == NULL || read_entry(context, abbrev, at, end, &entry) == NULL)
            return false;
    }
    *file = entry.file;
    return entry.has_file;
}

/* FUNCTION is 0 for a variable. */
static bool add(struct dwarf_worker *worker, const struct dwarf_lines *lines, const struct variable_entry *entry,
                uint32_t function)
{
    struct dwarf_output *output = &worker->output;
    uint64_t file;
    bool is_dead =
        function == 0 && !entry->is_thread_local && dwarf_start_is_dead(&worker->dwarf->dead, entry->address);
    if (is_dead || !find_file(&worker->context, *entry, &file))
        return true;
    struct sxt_model_variable *variables =
        sxt_array_grow(output->variables, &output->variable_capacity, output->variable_count + 1, sizeof *variables);
    if (variables == NULL)
        return false;
    output->variables = variables;
    variables[output->variable_count++] = (struct sxt_model_variable){
        entry->address, lines != NULL ? sxt_dwarf_file_name(&worker->names, lines, &worker->root, file) : 0,
        entry->is_thread_local, function};
    return true;
}

/* The entry that all inlined copies of a function refer to. */
static bool is_inlined_function(const struct dwarf_context *context, const struct dwarf_abbrev *abbrev)
{
    for (uint32_t i = 0; abbrev->tag == DW_TAG_subprogram && i < abbrev->count; i++)
        if (context->abbrevs->attributes[abbrev->first + i].name == DW_AT_inline)
            return true;
    return false;
}

/* Reads the entry of a function at OFFSET, and finds its name. */
static const uint8_t *read_function(struct dwarf_worker *worker, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                                    uint64_t offset, struct variable_entry *entry, uint32_t *function)
{
    const struct dwarf_context *context = &worker->context;
    const uint8_t *end = dwarf_unit_section(context->file, context->unit)->data + context->unit->end;
    bool is_linkage;
    *function =
        sxt_dwarf_function_name(&worker->names, context, &worker->root, &worker->functions, offset, false, &is_linkage);
    return read_entry(context, abbrev, at, end, entry);
}

/* Types contain no variables with an address. */
static bool is_type(const struct dwarf_abbrev *abbrev)
{
    switch (abbrev->tag) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
        return true;
    default:
        return false;
    }
}

void sxt_dwarf_walk_variables(struct dwarf_worker *worker, const struct dwarf_lines *lines)
{
    const struct dwarf_context *context = &worker->context;
    const uint8_t *section = dwarf_unit_section(context->file, context->unit)->data;
    const uint8_t *end = section + context->unit->end;
    uint32_t flags = worker->dwarf->settings.options->flags;
    bool with_variables = (flags & SXT_EXTRACT_VARIABLES) != 0,
         with_functions = (flags & SXT_EXTRACT_DECLARATIONS) != 0;
    for (const uint8_t *at = section + context->unit->root; at != NULL && at < end;) {
        uint64_t code, offset = (uint64_t)(at - section);
        uint32_t function = 0;
        at = dwarf_uleb(at, end, &code);
        if (at == NULL || code == 0)
            continue;
        const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(context->abbrevs, code);
        if (abbrev == NULL)
            return;
        struct variable_entry entry = {.has_address = false};
        const uint8_t *sibling = is_type(abbrev) ? dwarf_sibling(context, abbrev, at, end) : NULL;
        if (sibling != NULL)
            at = sibling;
        else if (with_variables && abbrev->tag == DW_TAG_variable)
            at = read_entry(context, abbrev, at, end, &entry);
        else if (with_functions && is_inlined_function(context, abbrev))
            at = read_function(worker, abbrev, at, offset, &entry, &function);
        else
            at = dwarf_skip(context, abbrev, at, end);
        if ((entry.has_address || function != 0) && !add(worker, lines, &entry, function)) {
            worker->output.no_memory = true;
            return;
        }
    }
}
