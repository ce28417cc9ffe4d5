/* names.c: finds the names of functions. */
#include "source/dwarf/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/string.h"

/* The maximum length of a chain of references; in valid files it is three. */
#define CHAIN_MAX 16
/* The maximum number of nested scopes in a name; outer scopes beyond that are omitted. */
#define SCOPE_MAX  64
#define PARTS_MAX  (SCOPE_MAX + 1)
#define KNOWN_MAX  ((size_t)1 << 19)
#define KNOWN_KEPT ((size_t)1 << 14)

/* The attributes of an entry that concern its name. */
struct naming {
    sxt_string linkage;
    sxt_string name;
    struct dwarf_value next; /* abstract origin or specification */
};

/* How to read an entry. */
struct place {
    const struct dwarf_context *context;
    const struct dwarf_root *root;
    const struct dwarf_functions *functions; /* NULL if its scopes were not read yet */
    struct dwarf_cached_unit *cached;        /* NULL for the current unit */
};

/* What the references of an entry lead to. */
struct chain {
    struct place place; /* of the last entry */
    uint64_t last;
    sxt_string linkage;
    sxt_string name;
};

static uint32_t find_name(struct dwarf_names *names, struct place here, uint64_t entry, bool alternate,
                          bool *is_linkage);
static bool locate(struct dwarf_names *names, const struct place *here, const struct dwarf_file *file, uint64_t entry,
                   struct place *out);
static bool read_naming(const struct dwarf_context *context, uint64_t entry, bool gnu, struct naming *out);
static uint32_t qualified(struct dwarf_names *names, const struct place *here, struct chain *chain);

bool sxt_dwarf_names_init(struct dwarf_names *names, bool gnu, struct dwarf_budget *budget, sxt_error *error)
{
    memset(names, 0, sizeof *names);
    names->gnu = gnu;
    names->budget = budget;
    for (size_t i = 0; i < DWARF_CACHED_UNITS; i++) {
        sxt_dwarf_abbrevs_init(&names->cached_units[i].abbrevs);
        names->cached_units[i].abbrevs.budget = budget;
    }
    sxt_buffer_init(&names->text, SIZE_MAX);
    return sxt_strings_init(&names->strings, 0, error) == SXT_OK;
}

void sxt_dwarf_names_free(struct dwarf_names *names)
{
    for (size_t i = 0; i < DWARF_CACHED_UNITS; i++) {
        sxt_dwarf_abbrevs_free(&names->cached_units[i].abbrevs);
        sxt_dwarf_functions_free(&names->cached_units[i].scopes);
    }
    sxt_strings_free(&names->strings);
    sxt_buffer_free(&names->text);
    free(names->known);
    memset(names, 0, sizeof *names);
}

void sxt_dwarf_names_forget(struct dwarf_names *names)
{
    /* A large table for one unit would make clearing slow for all others. */
    if (names->known_capacity > KNOWN_KEPT) {
        free(names->known);
        names->known = NULL;
        names->known_capacity = 0;
    } else if (names->known_count > 0) {
        memset(names->known, 0, names->known_capacity * sizeof *names->known);
    }
    names->known_count = 0;
    for (size_t i = 0; i < DWARF_CACHED_UNITS; i++)
        names->cached_units[i].file = NULL;
}

static uint32_t add_string(struct dwarf_names *names, sxt_string text)
{
    if (!dwarf_budget_spend(names->budget, text.size))
        return 0;
    uint32_t number = sxt_strings_add(&names->strings, text.data, text.size);
    if (number != SXT_STRINGS_FULL)
        return number;
    names->no_memory = true;
    return 0;
}

/* Returns the slot of KEY in the table of known names, which must have a free slot. */
static struct dwarf_known_name *find_known(const struct dwarf_names *names, uint64_t key)
{
    size_t mask = names->known_capacity - 1;
    size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (names->known[slot].key != 0 && names->known[slot].key != key)
        slot = (slot + 1) & mask;
    return &names->known[slot];
}

static bool make_room(struct dwarf_names *names)
{
    if (names->known_count * 2 < names->known_capacity)
        return true;
    if (names->known_capacity >= KNOWN_MAX) {
        memset(names->known, 0, names->known_capacity * sizeof *names->known);
        names->known_count = 0;
        return true;
    }
    struct dwarf_known_name *old = names->known;
    size_t old_capacity = names->known_capacity;
    size_t capacity = old_capacity == 0 ? 1024 : old_capacity * 2;
    struct dwarf_known_name *larger = calloc(capacity, sizeof *larger);
    if (larger == NULL) {
        names->no_memory = true;
        return false;
    }
    names->known = larger;
    names->known_capacity = capacity;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].key != 0)
            *find_known(names, old[i].key) = old[i];
    free(old);
    return true;
}

uint32_t sxt_dwarf_function_name(struct dwarf_names *names, const struct dwarf_context *context,
                                 const struct dwarf_root *root, const struct dwarf_functions *functions, uint64_t entry,
                                 bool alternate, bool *is_linkage)
{
    *is_linkage = false;
    if (!make_room(names))
        return 0;
    /* Entry 0 does not exist, so no key is 0. The lowest bit of a known name says whether it is a linkage name. */
    uint64_t key = entry << 1 | alternate;
    struct dwarf_known_name *known = find_known(names, key);
    if (known->key == 0 && key != 0) {
        struct place here = {context, root, functions, NULL};
        uint32_t name = find_name(names, here, entry, alternate, is_linkage);
        *known = (struct dwarf_known_name){key, name << 1 | *is_linkage};
        names->known_count++;
    }
    *is_linkage = known->name & 1;
    return known->name >> 1;
}

/*
 * The languages whose plain names GNU addr2line uses as linkage names. It does not know newer languages of this kind.
 */
static bool gnu_is_linkage(uint16_t language)
{
    switch (language) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_Cobol74:
    case DW_LANG_Cobol85:
    case DW_LANG_Fortran77:
    case DW_LANG_Pascal83:
    case DW_LANG_C99:
    case DW_LANG_PLI:
    case DW_LANG_UPC:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
        return true;
    default:
        return false;
    }
}

/*
 * Follows the references from ENTRY of FILE. OUT gets the first linkage name and the first plain one; absent if
 * there is none. If a linkage name is wanted, the chain ends with it. False if not even ENTRY can be read.
 */
static bool follow(struct dwarf_names *names, const struct place *here, const struct dwarf_file *file, uint64_t entry,
                   bool wants_linkage, struct chain *out)
{
    *out = (struct chain){.last = entry};
    for (int i = 0; i < CHAIN_MAX; i++) {
        struct place there;
        struct naming naming;
        if (file == NULL || !locate(names, here, file, entry, &there) ||
            !read_naming(there.context, entry, names->gnu, &naming))
            break;
        out->place = there;
        out->last = entry;
        if (out->name.size == 0)
            out->name = naming.name;
        if (wants_linkage && naming.linkage.size > 0) {
            out->linkage = naming.linkage;
            break;
        }
        if (naming.next.class != DWARF_REFERENCE && naming.next.class != DWARF_ALTERNATE)
            break;
        if (naming.next.class == DWARF_ALTERNATE)
            file = file->alternate;
        entry = naming.next.number;
    }
    return out->place.context != NULL;
}

static uint32_t find_name(struct dwarf_names *names, struct place here, uint64_t entry, bool alternate,
                          bool *is_linkage)
{
    struct chain chain;
    const struct dwarf_file *file = alternate ? here.context->file->alternate : here.context->file;
    *is_linkage = false;
    if (!follow(names, &here, file, entry, true, &chain))
        return 0;
    *is_linkage = chain.linkage.size > 0;
    if (*is_linkage)
        return add_string(names, chain.linkage);
    if (chain.name.size == 0)
        return 0;
    *is_linkage = names->gnu && gnu_is_linkage(chain.place.root->language);
    if (names->gnu || !sxt_dwarf_has_scopes(chain.place.root->language))
        return add_string(names, chain.name);
    return qualified(names, &here, &chain);
}

bool sxt_dwarf_gnu_name(const struct dwarf_context *context, const struct dwarf_root *root, uint64_t entry,
                        sxt_string *name, bool *is_linkage)
{
    *name = (sxt_string){NULL, 0};
    *is_linkage = false;
    for (int i = 0; i < CHAIN_MAX; i++) {
        struct naming naming;
        if (entry < context->unit->root || entry >= context->unit->end)
            return false;
        if (!read_naming(context, entry, true, &naming))
            break;
        if (naming.linkage.size > 0) {
            *name = naming.linkage;
            *is_linkage = true;
            return true;
        }
        if (name->size == 0)
            *name = naming.name;
        if (naming.next.class == DWARF_ALTERNATE)
            return false;
        if (naming.next.class != DWARF_REFERENCE)
            break;
        entry = naming.next.number;
    }
    *is_linkage = name->size > 0 && gnu_is_linkage(root->language);
    return true;
}

/* Prepares for reading ENTRY of FILE, which may be in the current unit or in another one. */
static bool locate(struct dwarf_names *names, const struct place *here, const struct dwarf_file *file, uint64_t entry,
                   struct place *out)
{
    const struct dwarf_unit *own = here->context->unit;
    if (file == here->context->file && entry >= own->root && entry < own->end) {
        *out = *here;
        return true;
    }
    const struct dwarf_unit *unit = sxt_dwarf_unit_at(file, entry);
    if (unit == NULL)
        return false;
    struct dwarf_cached_unit *cached = &names->cached_units[(size_t)(unit - file->units) % DWARF_CACHED_UNITS];
    if (cached->file != file || cached->unit != unit) {
        cached->file = file;
        cached->unit = unit;
        cached->has_scopes = false;
        cached->broken = !sxt_dwarf_enter(&cached->context, &cached->root, &cached->abbrevs, file, unit, NULL);
        names->no_memory = names->no_memory || cached->abbrevs.no_memory;
        /* The budget of the next unit may be large enough. */
        if (cached->broken && names->budget != NULL && names->budget->exhausted)
            cached->file = NULL;
    }
    *out = (struct place){&cached->context, &cached->root, NULL, cached};
    return !cached->broken;
}

static bool read_naming(const struct dwarf_context *context, uint64_t entry, bool gnu, struct naming *out)
{
    const struct dwarf_bytes *section = dwarf_unit_section(context->file, context->unit);
    const uint8_t *end = section->data + context->unit->end;
    uint64_t code;
    *out = (struct naming){.linkage = {NULL, 0}};
    const uint8_t *at = dwarf_uleb(section->data + entry, end, &code);
    const struct dwarf_abbrev *abbrev = at != NULL ? dwarf_abbrev_find(context->abbrevs, code) : NULL;
    if (abbrev == NULL)
        return false;
    for (uint32_t i = 0; i < abbrev->count && at != NULL; i++) {
        const struct dwarf_attribute *attribute = &context->abbrevs->attributes[abbrev->first + i];
        struct dwarf_value value;
        at = sxt_dwarf_read_value(context, attribute, at, end, &value);
        if (at == NULL)
            break;
        switch (attribute->name) {
        case DW_AT_linkage_name:
        case DW_AT_MIPS_linkage_name:
            out->linkage = value.text;
            break;
        case DW_AT_name:
            out->name = value.text;
            break;
        case DW_AT_abstract_origin:
            /*
             * GNU addr2line follows one reference of this kind, which the caller has done already, and no second one.
             */
            if (!gnu)
                out->next = value;
            break;
        case DW_AT_specification:
            out->next = value;
            break;
        default:
            break;
        }
    }
    return true;
}

/* A part of a qualified name. */
struct name_part {
    sxt_string name;
    uint16_t tag;
    uint32_t ordinal; /* of a class without a name */
};

/* What stands for a scope without a name. A class whose function is NEXT may be that of a lambda. */
static void append_nameless(struct sxt_buffer *text, const struct name_part *part, sxt_string next)
{
    bool is_lambda = part->tag != DW_TAG_namespace && part->tag != DW_TAG_union_type &&
                     (sxt_string_is(next, "operator()") || sxt_string_is(next, "_FUN"));
    if (is_lambda)
        sxt_buffer_print(text, "{lambda#%u}", part->ordinal);
    else if (part->tag == DW_TAG_namespace)
        sxt_buffer_print(text, "(anonymous namespace)");
    else if (part->tag == DW_TAG_union_type)
        sxt_buffer_print(text, "(anonymous union)");
    else if (part->tag == DW_TAG_class_type)
        sxt_buffer_print(text, "(anonymous class)");
    else
        sxt_buffer_print(text, "(anonymous struct)");
}

/* The scopes of the unit of PLACE; NULL if they cannot be read. */
static const struct dwarf_functions *scopes_of(struct dwarf_names *names, const struct place *place)
{
    struct dwarf_cached_unit *cached = place->cached;
    if (place->functions != NULL || cached == NULL)
        return place->functions;
    uint64_t cost = cached->unit->end - cached->unit->offset;
    if (!cached->has_scopes && dwarf_budget_spend(names->budget, cost)) {
        static const struct dwarf_dead nothing = {.narrow = false};
        sxt_dwarf_walk(&cached->context, &cached->root, &nothing, DWARF_WALK_SCOPES, &cached->scopes);
        cached->has_scopes = true;
        names->no_memory = names->no_memory || cached->scopes.no_memory;
    }
    return cached->has_scopes ? &cached->scopes : NULL;
}

/*
 * Lists the parts of a qualified name from the last to the first; the last is the name at the end of CHAIN. A class in
 * a function has the name of the function before it, which may itself be in a class: CHAIN then goes on from there.
 */
static size_t list_parts(struct dwarf_names *names, const struct place *here, struct chain *chain,
                         struct name_part parts[PARTS_MAX])
{
    size_t count = 0;
    parts[count++] = (struct name_part){.name = chain->name, .tag = DW_TAG_subprogram};
    const struct dwarf_functions *functions = scopes_of(names, &chain->place);
    uint32_t number = functions != NULL ? sxt_dwarf_scope_of(functions, chain->last) : 0;
    while (number != 0 && count < PARTS_MAX) {
        const struct dwarf_scope *scope = &functions->scopes[number];
        if (scope->function == 0) {
            parts[count++] = (struct name_part){scope->name, scope->tag, scope->ordinal};
            number = scope->parent;
            continue;
        }
        if (!follow(names, here, chain->place.context->file, scope->function, false, chain) || chain->name.size == 0)
            break;
        parts[count++] = (struct name_part){.name = chain->name, .tag = DW_TAG_subprogram};
        functions = scopes_of(names, &chain->place);
        number = functions != NULL ? sxt_dwarf_scope_of(functions, chain->last) : 0;
    }
    return count;
}

/* Returns the name at the end of CHAIN, preceded by the scopes around it. */
static uint32_t qualified(struct dwarf_names *names, const struct place *here, struct chain *chain)
{
    struct name_part parts[PARTS_MAX];
    size_t count = list_parts(names, here, chain, parts), size = 0;
    for (size_t i = 0; i < count; i++)
        size += parts[i].name.size;
    if (count == 1)
        return add_string(names, parts[0].name);
    if (!dwarf_budget_spend(names->budget, size))
        return 0;
    names->text.size = 0;
    while (count > 0) {
        const struct name_part *part = &parts[--count];
        if (part->name.size > 0)
            sxt_buffer_append(&names->text, part->name.data, part->name.size);
        else
            append_nameless(&names->text, part, parts[count - 1].name);
        if (count > 0)
            sxt_buffer_append(&names->text, "::", 2);
    }
    if (names->text.failed) {
        names->no_memory = true;
        return 0;
    }
    return add_string(names, (sxt_string){(const char *)names->text.data, names->text.size});
}
