/*
 * functions.c: walks over the entries of a unit.
 *
 * Most entries describe types and variables. They are skipped, with all their children if none of them can be a
 * function. Entries may nest to any depth: only functions, inlined calls and scopes are kept on a stack.
 */
#include "source/dwarf/functions.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/search.h"
#include "symbols/symbols.h"

/* The maximum nesting of functions and scopes; a deeper file wastes memory. */
#define OPEN_MAX 65536

/* State of the walk. */
struct walk {
    const struct dwarf_context *context;
    const struct dwarf_dead *dead;
    struct dwarf_functions *functions;
    enum sxt_dwarf_walk mode;
    bool scoped;    /* functions of this language are in scopes */
    uint64_t base;  /* the unit's low address */
    uint64_t level; /* nesting level; the children of the root entry have 1 */
    const uint8_t *section;
    const uint8_t *end;
};

/* The attributes of a function or inlined call that are needed. */
struct function_entry {
    struct dwarf_value low, high, ranges, origin;
    uint64_t call_file, call_line;
    bool has_call_file;
};

static const uint8_t *visit(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at, uint64_t entry);
static const uint8_t *visit_function(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                                     uint64_t entry, uint32_t *opened);
static void add_scoped_function(struct walk *walk, const struct dwarf_abbrev *abbrev, uint64_t entry, uint32_t scope);
static const uint8_t *visit_scope(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                                  uint32_t *opened);
static void visit_call(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at);

void sxt_dwarf_functions_free(struct dwarf_functions *functions)
{
    free(functions->nodes);
    free(functions->ranges.list);
    free(functions->scopes);
    free(functions->scoped_functions);
    free(functions->open);
    free(functions->calls);
    *functions = (struct dwarf_functions){.node_count = 0};
}

bool sxt_dwarf_has_scopes(uint16_t language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_C17:
    case DW_LANG_C23:
    case DW_LANG_UPC:
    case DW_LANG_Go:
    case DW_LANG_Mips_Assembler:
        return false;
    default:
        return true;
    }
}

uint32_t sxt_dwarf_scope_of(const struct dwarf_functions *functions, uint64_t entry)
{
    size_t at = SXT_SEARCH_FROM(functions->scoped_functions, functions->scoped_function_count, entry, entry);
    return at < functions->scoped_function_count && functions->scoped_functions[at].entry == entry
               ? functions->scoped_functions[at].scope
               : 0;
}

static struct dwarf_open *innermost(const struct walk *walk)
{
    return &walk->functions->open[walk->functions->open_count - 1];
}

static bool push(struct walk *walk, uint64_t function, uint32_t node, uint32_t scope)
{
    struct dwarf_functions *functions = walk->functions;
    struct dwarf_open *open =
        sxt_array_grow(functions->open, &functions->open_capacity, functions->open_count + 1, sizeof *open);
    if (open == NULL) {
        functions->no_memory = true;
        return false;
    }
    functions->open = open;
    open[functions->open_count] = (struct dwarf_open){
        .level = functions->open_count == 0 ? 0 : walk->level + 1, .function = function, .node = node, .scope = scope};
    functions->open_count++;
    return true;
}

static uint32_t add_scope(struct walk *walk, const struct dwarf_scope *scope)
{
    struct dwarf_functions *functions = walk->functions;
    struct dwarf_scope *scopes =
        sxt_array_grow(functions->scopes, &functions->scope_capacity, functions->scope_count + 1, sizeof *scopes);
    functions->scopes = scopes != NULL ? scopes : functions->scopes;
    if (scopes == NULL || functions->scope_count >= DWARF_NONE) {
        functions->no_memory = true;
        return 0;
    }
    scopes[functions->scope_count] = *scope;
    if (scope->name.size == 0 && scope->function == 0 && functions->scope_count > 0)
        scopes[functions->scope_count].ordinal = ++scopes[scope->parent].nameless;
    return (uint32_t)functions->scope_count++;
}

uint64_t sxt_dwarf_walk(const struct dwarf_context *context, const struct dwarf_root *root,
                        const struct dwarf_dead *dead, enum sxt_dwarf_walk mode, struct dwarf_functions *functions)
{
    const struct dwarf_bytes *section = dwarf_unit_section(context->file, context->unit);
    functions->node_count = functions->ranges.count = functions->scoped_function_count = 0;
    functions->ranges.damaged = false;
    functions->scope_count = functions->open_count = functions->call_count = 0;
    struct walk walk = {.context = context,
                        .dead = dead,
                        .functions = functions,
                        .mode = mode,
                        .scoped = sxt_dwarf_has_scopes(root->language),
                        .base = root->low.class == DWARF_ADDRESS ? root->low.number : 0,
                        .section = section->data,
                        .end = section->data + context->unit->end};
    add_scope(&walk, &(struct dwarf_scope){.parent = 0});
    if (!push(&walk, 0, DWARF_NONE, 0))
        return context->unit->root;

    const uint8_t *at = section->data + context->unit->root;
    while (at < walk.end) {
        const uint8_t *start = at;
        uint64_t code;
        if ((at = dwarf_uleb(at, walk.end, &code)) == NULL)
            return (uint64_t)(start - section->data);
        if (code == 0) {
            /* The end of a list of children; zeros after the last entry are padding. */
            if (walk.level > 0)
                walk.level--;
            if (walk.level == 0)
                break;
            if (innermost(&walk)->level > walk.level)
                functions->open_count--;
            continue;
        }
        const struct dwarf_abbrev *abbrev = dwarf_abbrev_find(context->abbrevs, code);
        if (abbrev == NULL)
            return (uint64_t)(start - section->data);
        at = visit(&walk, abbrev, at, (uint64_t)(start - section->data));
        if (at == NULL || functions->no_memory || functions->ranges.no_memory)
            return (uint64_t)(start - section->data);
        /* A root entry without children is the whole unit. */
        if (walk.level == 0)
            break;
    }
    return UINT64_MAX;
}

/* AT is after the code of the entry. Returns the start of the next entry (the first child, if there are children). */
static const uint8_t *visit(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at, uint64_t entry)
{
    uint32_t opened = DWARF_NONE; /* the size of the stack before something was pushed */
    const uint8_t *next = NULL;
    switch (abbrev->role) {
    case DWARF_ROLE_FUNCTION:
    case DWARF_ROLE_INLINED:
        if (!abbrev->is_declared) {
            next = visit_function(walk, abbrev, at, entry, &opened);
            break;
        }
        /* Only its scope is needed, and only if its name alone is not enough. */
        add_scoped_function(walk, abbrev, entry, innermost(walk)->scope);
        if (abbrev->has_children && (next = dwarf_sibling(walk->context, abbrev, at, walk->end)) != NULL)
            return next;
        break;
    case DWARF_ROLE_SCOPE:
    case DWARF_ROLE_PRUNE:
        if (walk->functions->wants_calls && (abbrev->tag == DW_TAG_call_site || abbrev->tag == DW_TAG_GNU_call_site))
            visit_call(walk, abbrev, at);
        if (abbrev->role == DWARF_ROLE_SCOPE && walk->scoped)
            next = visit_scope(walk, abbrev, at, &opened);
        else if (abbrev->has_children && (next = dwarf_sibling(walk->context, abbrev, at, walk->end)) != NULL)
            return next; /* without scopes, a structure contains no functions either */
        break;
    default:
        break;
    }
    if (next == NULL)
        next = dwarf_skip(walk->context, abbrev, at, walk->end);
    if (abbrev->has_children)
        walk->level++;
    else if (opened != DWARF_NONE)
        walk->functions->open_count = opened;
    return next;
}

static const uint8_t *read_function(const struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                                    struct function_entry *out)
{
    *out = (struct function_entry){.has_call_file = false};
    for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
        const struct dwarf_attribute *attribute = &walk->context->abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value, *wanted = &value;
        switch (attribute->name) {
        case DW_AT_low_pc:
            wanted = &out->low;
            break;
        case DW_AT_high_pc:
            wanted = &out->high;
            break;
        case DW_AT_ranges:
            wanted = &out->ranges;
            break;
        case DW_AT_abstract_origin:
            wanted = &out->origin;
            break;
        case DW_AT_call_file:
        case DW_AT_call_line:
            break;
        default:
            if (attribute->size != DWARF_VARIABLE) {
                at = attribute->size <= walk->end - at ? at + attribute->size : NULL;
                continue;
            }
            at = sxt_dwarf_skip_form(walk->context, attribute->form, at, walk->end);
            continue;
        }
        at = sxt_dwarf_read_value(walk->context, attribute, at, walk->end, wanted);
        if (attribute->name == DW_AT_call_file) {
            out->call_file = value.number;
            out->has_call_file = true;
        } else if (attribute->name == DW_AT_call_line) {
            out->call_line = value.number;
        }
    }
    return at;
}

static void add_scoped_function(struct walk *walk, const struct dwarf_abbrev *abbrev, uint64_t entry, uint32_t scope)
{
    struct dwarf_functions *functions = walk->functions;
    bool has_linkage =
        abbrev->has_linkage && (!abbrev->has_alternate_linkage || walk->context->file->alternate != NULL);
    if (scope == 0 || has_linkage)
        return;
    struct dwarf_scoped_function *scoped_functions =
        sxt_array_grow(functions->scoped_functions, &functions->scoped_function_capacity,
                       functions->scoped_function_count + 1, sizeof *scoped_functions);
    if (scoped_functions == NULL) {
        functions->no_memory = true;
        return;
    }
    functions->scoped_functions = scoped_functions;
    scoped_functions[functions->scoped_function_count++] = (struct dwarf_scoped_function){entry, scope};
}

static uint32_t add_node(struct walk *walk, const struct dwarf_abbrev *abbrev, const struct function_entry *function,
                         uint64_t entry, uint32_t parent)
{
    struct dwarf_functions *functions = walk->functions;
    struct dwarf_node *nodes =
        sxt_array_grow(functions->nodes, &functions->node_capacity, functions->node_count + 1, sizeof *nodes);
    functions->nodes = nodes != NULL ? nodes : functions->nodes;
    if (nodes == NULL || functions->node_count >= DWARF_NONE || functions->ranges.count >= DWARF_NONE) {
        functions->no_memory = true;
        return DWARF_NONE;
    }
    uint32_t number = (uint32_t)functions->node_count++;
    struct dwarf_node *node = &nodes[number];
    *node = (struct dwarf_node){.entry = entry,
                                .origin = entry,
                                .parent = parent,
                                .root = parent == DWARF_NONE ? number : nodes[parent].root,
                                .next = DWARF_NONE,
                                .last = number,
                                .depth = parent == DWARF_NONE ? 0 : nodes[parent].depth + 1,
                                .first_range = (uint32_t)functions->ranges.count};
    if (!abbrev->has_linkage &&
        (function->origin.class == DWARF_REFERENCE || function->origin.class == DWARF_ALTERNATE)) {
        node->origin = function->origin.number;
        node->origin_is_alternate = function->origin.class == DWARF_ALTERNATE;
    }
    if (function->has_call_file && function->call_file < UINT32_MAX)
        node->call_file = (uint32_t)function->call_file + 1;
    node->call_line = function->call_line <= UINT32_MAX ? (uint32_t)function->call_line : 0;
    return number;
}

/* Appends a node to the list of its root. */
static void link_node(struct dwarf_functions *functions, uint32_t number)
{
    uint32_t root = functions->nodes[number].root;
    functions->nodes[functions->nodes[root].last].next = number;
    functions->nodes[root].last = number;
}

static const uint8_t *visit_function(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                                     uint64_t entry, uint32_t *opened)
{
    struct dwarf_functions *functions = walk->functions;
    uint32_t scope = innermost(walk)->scope;
    uint32_t parent = abbrev->role == DWARF_ROLE_INLINED ? innermost(walk)->node : DWARF_NONE;
    if (abbrev->role == DWARF_ROLE_FUNCTION)
        add_scoped_function(walk, abbrev, entry, scope);
    bool wanted = walk->mode == DWARF_WALK_FUNCTIONS || walk->mode == DWARF_WALK_GNU ||
                  (walk->mode == DWARF_WALK_ROOTS && abbrev->role == DWARF_ROLE_FUNCTION);
    /* Ignore an inlined call outside any function, or one that is nested too deeply. */
    if (abbrev->role == DWARF_ROLE_INLINED &&
        (parent == DWARF_NONE || functions->nodes[parent].depth >= SXT_SYMBOLS_MAX_DEPTH))
        wanted = false;
    uint32_t node = abbrev->role == DWARF_ROLE_INLINED ? parent : DWARF_NONE;
    struct function_entry function;
    const uint8_t *next = NULL;
    if (wanted && (abbrev->has_code || abbrev->role == DWARF_ROLE_INLINED)) {
        next = read_function(walk, abbrev, at, &function);
        node = next != NULL ? add_node(walk, abbrev, &function, entry, parent) : DWARF_NONE;
        if (node == DWARF_NONE)
            return next;
        if (parent != DWARF_NONE)
            link_node(functions, node);
        if (walk->mode == DWARF_WALK_GNU && function.ranges.class == DWARF_LIST)
            function.ranges.class = DWARF_NOTHING;
        /* Of a damaged list, the ranges before the damage are kept. */
        (void)sxt_dwarf_read_ranges(walk->context, walk->dead, walk->base, &function.low, &function.high,
                                    &function.ranges, &functions->ranges);
        functions->nodes[node].range_count = (uint32_t)functions->ranges.count - functions->nodes[node].first_range;
    }
    if (functions->open_count < OPEN_MAX) {
        *opened = (uint32_t)functions->open_count;
        push(walk, entry, node, scope);
    }
    return next;
}

static const uint8_t *visit_scope(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at,
                                  uint32_t *opened)
{
    struct dwarf_functions *functions = walk->functions;
    if (!abbrev->has_children)
        return NULL;
    sxt_string name = {NULL, 0};
    const uint8_t *next = at;
    for (uint32_t i = 0; i < abbrev->count && next != NULL; i++) {
        const struct dwarf_attribute *attribute = &walk->context->abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value;
        next = sxt_dwarf_read_value(walk->context, attribute, next, walk->end, &value);
        if (attribute->name != DW_AT_name)
            continue;
        /* A name in a missing alternate file is unknown; the scope is not an anonymous one. */
        static const sxt_string unknown = {"??", 2};
        name = value.text.data != NULL ? value.text : unknown;
    }
    if (next == NULL || functions->open_count >= OPEN_MAX)
        return next;
    struct dwarf_open *around = innermost(walk);
    if (around->function != 0 && around->function_scope == 0)
        around->function_scope = add_scope(
            walk,
            &(struct dwarf_scope){.parent = around->scope, .tag = DW_TAG_subprogram, .function = around->function});
    uint32_t parent = around->function != 0 ? around->function_scope : around->scope;
    uint32_t scope = add_scope(walk, &(struct dwarf_scope){.parent = parent, .tag = abbrev->tag, .name = name});
    uint32_t node = around->node;
    *opened = (uint32_t)functions->open_count;
    push(walk, 0, node, scope);
    return next;
}

/* Notes a call of a known function. DWARF 4 has GNU's entry for it, with other attributes. */
static void visit_call(struct walk *walk, const struct dwarf_abbrev *abbrev, const uint8_t *at)
{
    struct dwarf_functions *functions = walk->functions;
    struct dwarf_value address = {.class = DWARF_NOTHING}, origin = {.class = DWARF_NOTHING};
    bool gnu = abbrev->tag == DW_TAG_GNU_call_site;
    for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
        const struct dwarf_attribute *attribute = &walk->context->abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value;
        at = sxt_dwarf_read_value(walk->context, attribute, at, walk->end, &value);
        if (attribute->name == (gnu ? DW_AT_low_pc : DW_AT_call_return_pc))
            address = value;
        else if (attribute->name == (gnu ? DW_AT_abstract_origin : DW_AT_call_origin))
            origin = value;
    }
    if (at == NULL || address.class != DWARF_ADDRESS ||
        (origin.class != DWARF_REFERENCE && origin.class != DWARF_ALTERNATE))
        return;
    struct dwarf_call *calls =
        sxt_array_grow(functions->calls, &functions->call_capacity, functions->call_count + 1, sizeof *calls);
    if (calls == NULL) {
        functions->no_memory = true;
        return;
    }
    functions->calls = calls;
    calls[functions->call_count++] =
        (struct dwarf_call){address.number, origin.number, origin.class == DWARF_ALTERNATE};
}
