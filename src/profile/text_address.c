/* text_address.c: keeps the function names and mappings of each module, and places addresses by them. */
#include "profile/text_address.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"
#include "base/strings.h"
#include "demangle/demangle.h"
#include "profile/text_kernel.h"

#define PAGE       ((uint64_t)4096)
#define FRAMES_MAX 64
/* A library may be mapped by thousands of processes; only the latest mappings are kept. */
#define MAPPINGS_MAX  4096
#define NAME_MAX_SIZE ((size_t)1 << 20)
#define MODULES_MAX   ((size_t)1 << 16)
#define NO_FUNCTION   UINT32_MAX
/* No function of a kernel is larger. */
#define KERNEL_FUNCTION_MAX ((uint64_t)1 << 20)
/* A name that no row has is searched among all symbols, which is slow; so there is a limit. */
#define ALIASES_MAX 2000

struct function {
    uint64_t address, size;
    uint32_t next; /* of the same name, or NO_FUNCTION */
};

/* What is known of a module in addition to its files. */
struct module_facts {
    bool has_names;
    size_t alias_count; /* names searched among all symbols so far */
    struct sxt_strings names;
    uint32_t *first; /* by number of a name: its first function, or NO_FUNCTION */
    size_t first_capacity;
    struct function *functions;
    size_t function_count, function_capacity;
    struct sxt_layout_mapping *mappings; /* a ring once it is full */
    size_t mapping_count, mapping_next, mapping_capacity;
    struct sxt_text_kernel_module kernel;
};

struct sxt_text_addresses {
    struct sxt_modules *modules;
    struct module_facts *known; /* by number of the module */
    size_t known_count;
    struct sxt_text_kernel kernel;
    struct sxt_buffer readable;
};

int sxt_text_addresses_open(struct sxt_modules *modules, struct sxt_text_addresses **out, sxt_error *error)
{
    struct sxt_text_addresses *addresses = calloc(1, sizeof *addresses);
    *out = addresses;
    if (addresses == NULL)
        return sxt_fail_memory(error, sizeof *addresses);
    addresses->modules = modules;
    modules->most = MODULES_MAX;
    sxt_buffer_init(&addresses->readable, NAME_MAX_SIZE);
    return SXT_OK;
}

void sxt_text_addresses_close(struct sxt_text_addresses **addresses)
{
    struct sxt_text_addresses *all = *addresses;
    if (all == NULL)
        return;
    for (size_t i = 0; i < all->known_count; i++) {
        if (all->known[i].has_names)
            sxt_strings_free(&all->known[i].names);
        free(all->known[i].first);
        free(all->known[i].functions);
        free(all->known[i].mappings);
        sxt_kernel_symbols_free(&all->known[i].kernel.symbols);
    }
    free(all->known);
    sxt_buffer_free(&all->readable);
    free(all);
    *addresses = NULL;
}

/* NULL when out of memory. */
static struct module_facts *facts_of(struct sxt_text_addresses *addresses, const struct sxt_module *module)
{
    if (module->number >= addresses->known_count) {
        size_t wanted = 2 * module->number + 16;
        struct module_facts *moved = realloc(addresses->known, wanted * sizeof *moved);
        if (moved == NULL)
            return NULL;
        memset(moved + addresses->known_count, 0, (wanted - addresses->known_count) * sizeof *moved);
        addresses->known = moved;
        addresses->known_count = wanted;
    }
    return &addresses->known[module->number];
}

void sxt_text_addresses_add_mapping(struct sxt_text_addresses *addresses, sxt_string name, uint64_t start,
                                    uint64_t size, uint64_t offset)
{
    /* The kernel's mapping is called [kernel.kallsyms]_text, and its frames [kernel.kallsyms]. */
    sxt_string key = name;
    const char *bracket = name.size > 0 && name.data[0] == '[' ? memchr(name.data, ']', name.size) : NULL;
    if (bracket != NULL)
        key.size = (size_t)(bracket + 1 - name.data);
    struct sxt_module *module = sxt_modules_find(addresses->modules, key, (sxt_string){"", 0});
    struct module_facts *known = module != NULL ? facts_of(addresses, module) : NULL;
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
    /* NAME is not kept: of a kernel's mapping, only the ending _text or _stext is needed. */
    static const char of_text[] = "[kernel.kallsyms]_text";
    bool is_named = key.size < name.size && sxt_layout_is_kernel(name);
    known->mappings[known->mapping_next] = (struct sxt_layout_mapping){
        start, start + size, offset, is_named ? (sxt_string){of_text, sizeof of_text - 1} : module->name};
    known->mapping_next = (known->mapping_next + 1) % MAPPINGS_MAX;
}

/* Where the parameters of a demangled C++ name start; its size if it has none. */
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

/* The number of a name, which has no functions if it is new; SXT_STRINGS_FULL when out of memory. */
static uint32_t add_name(struct module_facts *known, const char *data, size_t size)
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

static bool add_function(struct module_facts *known, uint32_t name, uint64_t address, uint64_t size)
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

/* Adds all functions under their names and, as perf prints them, without parameters. */
static bool read_names(struct module_facts *known, const sxt_archive *archive)
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
    struct module_facts *known;
    uint32_t name;
};

static bool add_alias(void *data, const sxt_named *named)
{
    const struct alias *alias = data;
    return add_function(alias->known, alias->name, named->address, named->size);
}

/* A row has one name for an address; the symbol tables of an ELF file may have others. */
static void find_alias(struct module_facts *known, const sxt_archive *archive, sxt_string name)
{
    if (known->alias_count >= ALIASES_MAX || sxt_strings_find(&known->names, name.data, name.size) != SXT_STRINGS_FULL)
        return;
    known->alias_count++;
    struct alias alias = {known, add_name(known, name.data, name.size)};
    if (alias.name != SXT_STRINGS_FULL)
        sxt_archive_find_name(archive, sxt_strings_get(&known->names, alias.name).data, add_alias, &alias, NULL, NULL);
}

/* The virtual address by a symbol, its offset, and the lowest bits of an address. */
static bool place_by_function(const struct function *function, const struct sxt_text_match *match, uint64_t *out)
{
    uint64_t offset = match->offset;
    if (match->has_size && match->size != function->size)
        return false;
    if (!match->has_offset) {
        /* Without an offset, the lowest bits decide if the function is small enough. */
        if (!match->has_address || function->size > PAGE)
            return false;
        offset = (match->address - function->address) % PAGE;
    }
    /* A return address may be the first one after the function. */
    if (offset > function->size)
        return false;
    *out = function->address + offset;
    return match->kind != SXT_TEXT_MATCH_PERF || !match->has_address || (*out - match->address) % PAGE == 0;
}

static bool place_by_name(struct module_facts *known, sxt_string name, const struct sxt_text_match *match,
                          uint64_t *out)
{
    uint32_t number = sxt_strings_find(&known->names, name.data, name.size);
    if (number == SXT_STRINGS_FULL)
        return false;
    for (uint32_t i = known->first[number]; i != NO_FUNCTION; i = known->functions[i].next)
        if (place_by_function(&known->functions[i], match, out))
            return true;
    return false;
}

static bool has_symbol(const struct sxt_text_match *match)
{
    return match->symbol.size > 0 && !sxt_string_is(match->symbol, "[unknown]");
}

/* By the symbol as printed, and by its demangled form: a backtrace has mangled names. */
static bool place_by_symbol(struct sxt_text_addresses *addresses, struct module_facts *known,
                            const sxt_archive *archive, const struct sxt_text_match *match, uint64_t *out)
{
    if (!has_symbol(match) || !read_names(known, archive))
        return false;
    find_alias(known, archive, match->symbol);
    if (place_by_name(known, match->symbol, match, out))
        return true;
    sxt_buffer_clear(&addresses->readable);
    if (!sxt_demangle(match->symbol, &addresses->readable))
        return false;
    sxt_string readable = {(const char *)addresses->readable.data, addresses->readable.size};
    return place_by_name(known, readable, match, out);
}

static bool place_in(const struct sxt_modules *modules, struct sxt_module *module,
                     const struct sxt_layout_mapping *mapping, uint64_t address, uint64_t *out)
{
    enum sxt_layout_answer answer = sxt_layout_place(&module->layout, mapping, address, out);
    if (answer == SXT_LAYOUT_NO_SEGMENTS)
        sxt_module_warn_of_segments(modules, module);
    return answer == SXT_LAYOUT_PLACED;
}

static bool place_by_mapping(const struct sxt_text_addresses *addresses, struct sxt_module *module,
                             const struct module_facts *known, uint64_t address, uint64_t *out)
{
    for (size_t i = 0; i < known->mapping_count; i++) {
        size_t newest = (known->mapping_next + MAPPINGS_MAX - 1 - i) % MAPPINGS_MAX;
        const struct sxt_layout_mapping *mapping = &known->mappings[newest];
        if (address >= mapping->start && address < mapping->limit)
            return place_in(addresses->modules, module, mapping, address, out);
    }
    return false;
}

static bool place_unmoved(const struct sxt_layout *layout, uint64_t address, uint64_t *out)
{
    *out = address;
    return address >= layout->first && address < layout->end;
}

/*
 * Whether ADDRESS is as far from the start of its function as the line says. The function may have another name here,
 * but not another start. A file found only by name, a kernel in particular, may not be the one that ran.
 */
static bool has_stated_offset(const sxt_archive *archive, const struct sxt_text_match *match, uint64_t address)
{
    sxt_frame frames[FRAMES_MAX];
    size_t count = sxt_archive_lookup(archive, address, frames, FRAMES_MAX);
    if (!has_symbol(match) || !match->has_offset || count == 0 || count > FRAMES_MAX)
        return true;
    sxt_frame *function = &frames[count - 1];
    sxt_archive_whole_range(archive, function);
    return address - function->start == match->offset;
}

static bool place_perf(struct sxt_text_addresses *addresses, struct sxt_module *module, struct module_facts *known,
                       const sxt_archive *archive, const struct sxt_text_match *match, uint64_t *out)
{
    const struct sxt_layout *layout = &module->layout;
    if (place_by_symbol(addresses, known, archive, match, out))
        return true;
    bool is_kernel = sxt_layout_is_kernel(module->name);
    if (is_kernel && has_symbol(match) && !match->has_offset)
        return false;
    bool is_placed = place_by_mapping(addresses, module, known, match->address, out) ||
                     (!is_kernel && sxt_layout_place_code_offset(layout, match->address, out)) ||
                     place_unmoved(layout, match->address, out);
    return is_placed && has_stated_offset(archive, match, *out);
}

static bool is_kernel_address(uint64_t address)
{
    return address >> 63 != 0 || (address >= (uint64_t)1 << 31 && address <= UINT32_MAX);
}

static struct sxt_module *find_kernel(struct sxt_text_addresses *addresses)
{
    return sxt_modules_find(addresses->modules, (sxt_string){"[kernel.kallsyms]", 17}, (sxt_string){"", 0});
}

void sxt_text_addresses_note_kernel(struct sxt_text_addresses *addresses, const char *line, size_t size)
{
    sxt_text_kernel_note(&addresses->kernel, line, size);
}

bool sxt_text_address_may_change(struct sxt_text_addresses *addresses, const struct sxt_text_match *match)
{
    const struct sxt_text_kernel *kernel = &addresses->kernel;
    if (match->kind != SXT_TEXT_MATCH_ADDRESS || kernel->has_bias || kernel->has_offset ||
        !is_kernel_address(match->address))
        return false;
    const struct sxt_module *module = find_kernel(addresses);
    return module != NULL && sxt_module_is_found(module);
}

/* A function of a kernel module, in a ksym blob that has the symbols of the kernel and all modules. */
static const sxt_archive *place_in_blob(struct sxt_text_addresses *addresses, const struct sxt_text_match *match,
                                        uint64_t *address)
{
    struct sxt_module *kernel = find_kernel(addresses);
    const sxt_archive *archive = kernel != NULL ? sxt_module_keep(addresses->modules, kernel) : NULL;
    struct module_facts *known = archive != NULL ? facts_of(addresses, kernel) : NULL;
    bool is_blob = known != NULL && sxt_archive_kind(archive) == SXT_KIND_KSYM;
    return is_blob && sxt_text_kernel_place(&addresses->kernel, addresses->modules, kernel, &known->kernel, archive,
                                            match, match->module, address)
               ? archive
               : NULL;
}

static bool place_match(struct sxt_text_addresses *addresses, struct sxt_module *module, const sxt_archive *archive,
                        const struct sxt_text_match *match, uint64_t *out)
{
    struct module_facts *known = facts_of(addresses, module);
    if (known == NULL)
        return false;
    switch (match->kind) {
    case SXT_TEXT_MATCH_VIRTUAL:
        *out = match->offset;
        return true;
    case SXT_TEXT_MATCH_ABSOLUTE:
        return place_unmoved(&module->layout, match->address, out);
    case SXT_TEXT_MATCH_SYMBOL:
        return place_by_symbol(addresses, known, archive, match, out);
    case SXT_TEXT_MATCH_KERNEL:
        return sxt_text_kernel_place(&addresses->kernel, addresses->modules, module, &known->kernel, archive, match,
                                     (sxt_string){"", 0}, out);
    case SXT_TEXT_MATCH_ADDRESS:
        /* Nothing in a bare address would show that another build wrote it. */
        return !known->kernel.is_other_build &&
               sxt_text_kernel_place_address(&addresses->kernel, &module->layout, match->address, out);
    case SXT_TEXT_MATCH_PERF:
        return place_perf(addresses, module, known, archive, match, out);
    }
    return false;
}

/* In a ksym blob a symbol extends to the next one: the last one of a kernel up to the first module. */
static bool is_in_gap(const sxt_archive *archive, uint64_t address)
{
    sxt_frame frame;
    return sxt_archive_kind(archive) == SXT_KIND_KSYM && sxt_archive_lookup(archive, address, &frame, 1) > 0 &&
           address - frame.start > KERNEL_FUNCTION_MAX;
}

/* The module that a match is about; "[ext4]" for a kernel module. */
static struct sxt_module *module_of(struct sxt_text_addresses *addresses, const struct sxt_text_match *match)
{
    char bracketed[256];
    sxt_string name = match->module;
    if (match->kind == SXT_TEXT_MATCH_ADDRESS) {
        /* A small number is hardly ever an address of a kernel: look only where the user says. */
        bool is_likely = is_kernel_address(match->address) || addresses->modules->options.directory_count > 0 ||
                         addresses->modules->source != NULL;
        return is_likely ? find_kernel(addresses) : NULL;
    }
    if (match->kind == SXT_TEXT_MATCH_KERNEL && name.size == 0)
        return find_kernel(addresses);
    if (match->kind == SXT_TEXT_MATCH_KERNEL && name.size + 2 < sizeof bracketed) {
        bracketed[0] = '[';
        memcpy(bracketed + 1, name.data, name.size);
        bracketed[name.size + 1] = ']';
        name = (sxt_string){bracketed, name.size + 2};
    }
    return sxt_modules_find(addresses->modules, name, match->build_id);
}

const sxt_archive *sxt_text_address(struct sxt_text_addresses *addresses, const struct sxt_text_match *match,
                                    bool is_return, uint64_t *address)
{
    struct sxt_module *module = module_of(addresses, match);
    const sxt_archive *archive = module != NULL ? sxt_module_keep(addresses->modules, module) : NULL;
    bool is_placed = archive != NULL && sxt_module_lay_out(addresses->modules, module, archive) &&
                     place_match(addresses, module, archive, match, address);
    if (archive == NULL && match->kind == SXT_TEXT_MATCH_KERNEL && match->module.size > 0) {
        archive = place_in_blob(addresses, match, address);
        is_placed = archive != NULL;
    }
    if (is_placed && is_return && *address > 0)
        (*address)--;
    if (is_placed && match->kind == SXT_TEXT_MATCH_ADDRESS && is_in_gap(archive, *address))
        is_placed = false;
    return is_placed ? archive : NULL;
}
