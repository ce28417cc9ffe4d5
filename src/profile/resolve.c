/* resolve.c: names of functions and mappings of each module, and the questions that they answer. */
#include "profile/resolve.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "base/strings.h"
#include "demangle/demangle.h"

#define PAGE       ((uint64_t)4096)
#define FRAMES_MAX 64
/* Of a library that thousands of processes map, each elsewhere, the last ones are enough. */
#define MAPPINGS_MAX  4096
#define NAME_MAX_SIZE ((size_t)1 << 20)
#define MODULES_MAX   ((size_t)1 << 16)
#define NO_FUNCTION   UINT32_MAX
/* Names that are no name of a row are searched among all symbols, one by one; nobody asks for so many. */
#define ALIASES_MAX 2000

struct function {
    uint64_t address, size;
    uint32_t next; /* of the same name, or NO_FUNCTION */
};

/* What is known of a module beyond its files. */
struct knowledge {
    bool has_names;
    size_t alias_count; /* names that were searched among all symbols */
    struct sxt_strings names;
    uint32_t *first; /* by number of a name: its first function, or NO_FUNCTION */
    size_t first_capacity;
    struct function *functions;
    size_t function_count, function_capacity;
    struct sxt_layout_mapping *mappings; /* a ring, when it is full */
    size_t mapping_count, mapping_next, mapping_capacity;
};

struct sxt_resolver {
    struct sxt_modules *modules;
    struct knowledge *known; /* by number of the module */
    size_t known_count;
    struct sxt_buffer readable;
};

int sxt_resolver_open(struct sxt_modules *modules, struct sxt_resolver **out, sxt_error *error)
{
    struct sxt_resolver *resolver = calloc(1, sizeof *resolver);
    *out = resolver;
    if (resolver == NULL)
        return sxt_fail_memory(error, sizeof *resolver);
    resolver->modules = modules;
    modules->most = MODULES_MAX;
    sxt_buffer_init(&resolver->readable, NAME_MAX_SIZE);
    return SXT_OK;
}

void sxt_resolver_close(struct sxt_resolver **resolver)
{
    struct sxt_resolver *all = *resolver;
    if (all == NULL)
        return;
    for (size_t i = 0; i < all->known_count; i++) {
        if (all->known[i].has_names)
            sxt_strings_free(&all->known[i].names);
        free(all->known[i].first);
        free(all->known[i].functions);
        free(all->known[i].mappings);
    }
    free(all->known);
    sxt_buffer_free(&all->readable);
    free(all);
    *resolver = NULL;
}

/* NULL when memory is short. */
static struct knowledge *knowledge_of(struct sxt_resolver *resolver, const struct sxt_module *module)
{
    if (module->number >= resolver->known_count) {
        size_t wanted = 2 * module->number + 16;
        struct knowledge *moved = realloc(resolver->known, wanted * sizeof *moved);
        if (moved == NULL)
            return NULL;
        memset(moved + resolver->known_count, 0, (wanted - resolver->known_count) * sizeof *moved);
        resolver->known = moved;
        resolver->known_count = wanted;
    }
    return &resolver->known[module->number];
}

void sxt_resolver_add_mapping(struct sxt_resolver *resolver, sxt_string name, uint64_t start, uint64_t size,
                              uint64_t offset)
{
    /* The kernel's mapping is called [kernel.kallsyms]_text, and its frames [kernel.kallsyms]. */
    sxt_string key = name;
    const char *bracket = name.size > 0 && name.data[0] == '[' ? memchr(name.data, ']', name.size) : NULL;
    if (bracket != NULL)
        key.size = (size_t)(bracket + 1 - name.data);
    struct sxt_module *module = sxt_modules_find(resolver->modules, key, (sxt_string){"", 0});
    struct knowledge *known = module != NULL ? knowledge_of(resolver, module) : NULL;
    if (known == NULL)
        return;
    if (known->mapping_count < MAPPINGS_MAX) {
        void *moved = sxt_array_grow(known->mappings, &known->mapping_capacity, known->mapping_count + 1,
                                     sizeof *known->mappings);
        if (moved == NULL)
            return;
        known->mappings = moved;
        known->mapping_count++;
    }
    /* Only whether it ends in _text or _stext matters, and those names are ours to keep. */
    static const char of_text[] = "[kernel.kallsyms]_text";
    bool is_named = key.size < name.size && sxt_layout_is_kernel(name);
    known->mappings[known->mapping_next] = (struct sxt_layout_mapping){
        start, start + size, offset, is_named ? (sxt_string){of_text, sizeof of_text - 1} : module->name};
    known->mapping_next = (known->mapping_next + 1) % MAPPINGS_MAX;
}

/* Where the parameters of a readable C++ name begin; its size when it has none. */
static size_t without_parameters(sxt_string name)
{
    static const char anonymous[] = "(anonymous namespace)";
    unsigned depth = 0;
    for (size_t i = 1; i < name.size; i++) {
        if (name.data[i] == '<')
            depth++;
        else if (name.data[i] == '>' && depth > 0 && name.data[i - 1] != '-')
            depth--;
        else if (name.data[i] == '(' && depth == 0 &&
                 (name.size - i < sizeof anonymous - 1 || memcmp(name.data + i, anonymous, sizeof anonymous - 1) != 0))
            return i;
    }
    return name.size;
}

/* The number of a name, which has no functions if it is new; SXT_STRINGS_FULL when memory is short. */
static uint32_t add_name(struct knowledge *known, const char *data, size_t size)
{
    uint32_t before = known->names.count;
    uint32_t number = sxt_strings_add(&known->names, data, size);
    if (number == SXT_STRINGS_FULL || number < before)
        return number;
    void *moved = sxt_array_grow(known->first, &known->first_capacity, (size_t)number + 1, sizeof *known->first);
    if (moved == NULL)
        return SXT_STRINGS_FULL;
    known->first = moved;
    known->first[number] = NO_FUNCTION;
    return number;
}

static bool add_function(struct knowledge *known, uint32_t name, uint64_t address, uint64_t size)
{
    void *moved = sxt_array_grow(known->functions, &known->function_capacity, known->function_count + 1,
                                 sizeof *known->functions);
    if (name == SXT_STRINGS_FULL || moved == NULL || known->function_count >= NO_FUNCTION) {
        known->functions = moved != NULL ? moved : known->functions;
        return false;
    }
    known->functions = moved;
    known->functions[known->function_count] = (struct function){address, size, known->first[name]};
    known->first[name] = (uint32_t)known->function_count++;
    return true;
}

/* All functions, under their names and, as perf prints them, without parameters. */
static bool learn_names(struct knowledge *known, const sxt_archive *archive)
{
    if (known->has_names)
        return true;
    if (sxt_strings_init(&known->names, 0, NULL) != SXT_OK)
        return false;
    known->has_names = true;
    known->first = calloc(1, sizeof *known->first);
    known->first_capacity = known->first != NULL;
    bool fine = known->first != NULL;
    if (fine)
        known->first[0] = NO_FUNCTION;
    sxt_range range;
    for (size_t i = 0; fine && sxt_archive_row(archive, i, &range) == SXT_OK; i++) {
        if (range.depth > 0 || range.function.size == 0)
            continue;
        size_t shorter = without_parameters(range.function);
        uint32_t name = add_name(known, range.function.data, range.function.size);
        fine = add_function(known, name, range.address, range.length);
        if (fine && shorter < range.function.size)
            fine = add_function(known, add_name(known, range.function.data, shorter), range.address, range.length);
    }
    return fine;
}

struct alias {
    struct knowledge *known;
    uint32_t name;
};

static bool note_alias(void *data, const sxt_named *named)
{
    const struct alias *alias = data;
    return add_function(alias->known, alias->name, named->address, named->size);
}

/* An address has one name in a row, and may have others in the symbol tables of an ELF file. */
static void learn_alias(struct knowledge *known, const sxt_archive *archive, sxt_string name)
{
    if (known->alias_count >= ALIASES_MAX || sxt_strings_find(&known->names, name.data, name.size) != SXT_STRINGS_FULL)
        return;
    known->alias_count++;
    struct alias alias = {known, add_name(known, name.data, name.size)};
    if (alias.name != SXT_STRINGS_FULL)
        sxt_archive_find_name(archive, sxt_strings_get(&known->names, alias.name).data, note_alias, &alias);
}

/* The virtual address that a symbol, its offset and the last bits of an address lead to. */
static bool place_by_function(const struct function *function, const struct sxt_match *match, uint64_t *out)
{
    uint64_t offset = match->offset;
    if (match->has_size && match->size != function->size)
        return false;
    if (!match->has_offset) {
        /* Without an offset the bits decide, if the function is so small that they can. */
        if (!match->has_address || function->size > PAGE)
            return false;
        offset = (match->address - function->address) % PAGE;
    }
    /* A return address may be the one behind the function. */
    if (offset > function->size)
        return false;
    *out = function->address + offset;
    return match->kind != SXT_MATCH_PERF || !match->has_address || (*out - match->address) % PAGE == 0;
}

static bool place_by_name(struct knowledge *known, sxt_string name, const struct sxt_match *match, uint64_t *out)
{
    uint32_t number = sxt_strings_find(&known->names, name.data, name.size);
    if (number == SXT_STRINGS_FULL)
        return false;
    for (uint32_t i = known->first[number]; i != NO_FUNCTION; i = known->functions[i].next)
        if (place_by_function(&known->functions[i], match, out))
            return true;
    return false;
}

static bool has_symbol(const struct sxt_match *match)
{
    return match->symbol.size > 0 && !sxt_string_is(match->symbol, "[unknown]");
}

/* The symbol as it stands, and in its readable form: a backtrace has names as linked. */
static bool place_by_symbol(struct sxt_resolver *resolver, struct knowledge *known, const sxt_archive *archive,
                            const struct sxt_match *match, uint64_t *out)
{
    if (!has_symbol(match) || !learn_names(known, archive))
        return false;
    learn_alias(known, archive, match->symbol);
    if (place_by_name(known, match->symbol, match, out))
        return true;
    sxt_buffer_clear(&resolver->readable);
    if (!sxt_demangle(match->symbol, &resolver->readable))
        return false;
    sxt_string readable = {(const char *)resolver->readable.data, resolver->readable.size};
    return place_by_name(known, readable, match, out);
}

static bool place_by_mapping(const struct sxt_module *module, const struct knowledge *known, uint64_t address,
                             uint64_t *out)
{
    for (size_t i = 0; i < known->mapping_count; i++) {
        size_t newest = (known->mapping_next + MAPPINGS_MAX - 1 - i) % MAPPINGS_MAX;
        const struct sxt_layout_mapping *mapping = &known->mappings[newest];
        if (address >= mapping->start && address < mapping->limit)
            return sxt_layout_place(&module->layout, mapping, address, out);
    }
    return false;
}

/* An offset in the code of a file whose offsets are known. */
static bool place_by_offset(const struct sxt_layout *layout, uint64_t offset, uint64_t *out)
{
    for (size_t i = 0; i < layout->code_count && layout->has_offsets; i++) {
        const struct sxt_layout_segment *segment = &layout->segments[i];
        if (offset < segment->offset || offset - segment->offset >= segment->file_size)
            continue;
        *out = segment->address + (offset - segment->offset);
        return true;
    }
    return false;
}

static bool place_as_it_is(const struct sxt_layout *layout, uint64_t address, uint64_t *out)
{
    *out = address;
    return address >= layout->first && address < layout->end;
}

/*
 * Does ADDRESS lie where the line says, behind a symbol? The symbol may have another name here, but not another
 * beginning. A file that was found by its name alone, above all a kernel, may not be the one that ran.
 */
static bool is_credible(const sxt_archive *archive, const struct sxt_match *match, uint64_t address)
{
    sxt_frame frames[FRAMES_MAX];
    size_t count = sxt_archive_lookup(archive, address, frames, FRAMES_MAX);
    if (!has_symbol(match) || !match->has_offset || count == 0 || count > FRAMES_MAX)
        return true;
    sxt_frame *function = &frames[count - 1];
    sxt_archive_whole_range(archive, function);
    return address - function->start == match->offset;
}

static bool place_perf(struct sxt_resolver *resolver, struct sxt_module *module, struct knowledge *known,
                       const sxt_archive *archive, const struct sxt_match *match, uint64_t *out)
{
    const struct sxt_layout *layout = &module->layout;
    if (place_by_symbol(resolver, known, archive, match, out))
        return true;
    bool is_kernel = sxt_layout_is_kernel(module->name);
    if (is_kernel && has_symbol(match) && !match->has_offset)
        return false;
    bool is_placed = place_by_mapping(module, known, match->address, out) ||
                     (!is_kernel && place_by_offset(layout, match->address, out)) ||
                     place_as_it_is(layout, match->address, out);
    return is_placed && is_credible(archive, match, *out);
}

static bool place(struct sxt_resolver *resolver, struct sxt_module *module, const sxt_archive *archive,
                  const struct sxt_match *match, uint64_t *out)
{
    struct knowledge *known = knowledge_of(resolver, module);
    if (known == NULL)
        return false;
    switch (match->kind) {
    case SXT_MATCH_VIRTUAL:
        *out = match->offset;
        return true;
    case SXT_MATCH_ABSOLUTE:
        return place_as_it_is(&module->layout, match->address, out);
    case SXT_MATCH_SYMBOL:
    case SXT_MATCH_KERNEL:
        return place_by_symbol(resolver, known, archive, match, out);
    case SXT_MATCH_PERF:
        return place_perf(resolver, module, known, archive, match, out);
    }
    return false;
}

const sxt_archive *sxt_resolve(struct sxt_resolver *resolver, const struct sxt_match *match, bool is_return,
                               uint64_t *address)
{
    char bracketed[256];
    sxt_string name = match->module;
    if (match->kind == SXT_MATCH_KERNEL && name.size == 0) {
        name = (sxt_string){"[kernel.kallsyms]", 17};
    } else if (match->kind == SXT_MATCH_KERNEL && name.size + 2 < sizeof bracketed) {
        bracketed[0] = '[';
        memcpy(bracketed + 1, name.data, name.size);
        bracketed[name.size + 1] = ']';
        name = (sxt_string){bracketed, name.size + 2};
    }
    struct sxt_module *module = sxt_modules_find(resolver->modules, name, match->build_id);
    const sxt_archive *archive = module != NULL ? sxt_module_keep(resolver->modules, module) : NULL;
    if (archive == NULL || !sxt_module_lay_out(module, archive) || !place(resolver, module, archive, match, address))
        return NULL;
    if (is_return && *address > 0)
        (*address)--;
    return archive;
}
