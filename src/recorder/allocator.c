/*
 * allocator.c: which loaded object defines a function? And does the program have an allocator whose calls the hooks do
 * not see?
 *
 * The answers come from the dynamic symbol tables of the loaded objects, since dlsym can mislead: where an executable
 * that is not position-independent uses the address of malloc, the linker makes the PLT entry of malloc in the
 * executable that address, and dlsym finds it. The symbol has a value then, but it is undefined, and calls go to the
 * first object that defines it.
 */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "recorder/recorder.h"

/* The parts of an object's dynamic section that a lookup needs; NULL: absent. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash, *hash;
};

/* The dynamic linker adds BIAS to the pointers of a dynamic section, but not where the section is read-only. */
static const void *pointer_of(const ElfW(Dyn) * entry, uintptr_t bias)
{
    uintptr_t address = entry->d_un.d_ptr;
    return (const void *)(address < bias ? address + bias : address); /* NOLINT: an address */
}

static struct dynamic read_dynamic(const struct dl_phdr_info *info)
{
    struct dynamic dynamic = {0};
    const ElfW(Dyn) *entry = NULL;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr); /* NOLINT: an address */
    for (; entry != NULL && entry->d_tag != DT_NULL; entry++)
        switch (entry->d_tag) {
        case DT_SYMTAB:
            dynamic.symbols = pointer_of(entry, info->dlpi_addr);
            break;
        case DT_STRTAB:
            dynamic.strings = pointer_of(entry, info->dlpi_addr);
            break;
        case DT_GNU_HASH:
            dynamic.gnu_hash = pointer_of(entry, info->dlpi_addr);
            break;
        case DT_HASH:
            dynamic.hash = pointer_of(entry, info->dlpi_addr);
            break;
        default:
            break;
        }
    return dynamic;
}

/* The symbol at INDEX if it defines NAME; otherwise NULL. */
static const ElfW(Sym) * definition(const struct dynamic *dynamic, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &dynamic->symbols[index];
    bool is_it = symbol->st_shndx != SHN_UNDEF && strcmp(dynamic->strings + symbol->st_name, name) == 0;
    return is_it ? symbol : NULL;
}

/* DT_HASH: the number of buckets, and of symbols. */
static const ElfW(Sym) * find_by_hash(const struct dynamic *dynamic, const char *name)
{
    const ElfW(Sym) *found = NULL;
    for (uint32_t i = 1; i < dynamic->hash[1] && found == NULL; i++)
        found = definition(dynamic, i, name);
    return found;
}

/*
 * DT_GNU_HASH: the number of buckets, the first symbol that is in the table, the number of 64-bit words of a filter,
 * and its shift; the filter; for every bucket its first symbol; for every symbol its hash, with bit 0 set at the end of
 * a bucket.
 */
static const ElfW(Sym) * find_by_gnu_hash(const struct dynamic *dynamic, const char *name)
{
    const uint32_t *table = dynamic->gnu_hash, *buckets = table + 4 + (size_t)table[2] * 2;
    const uint32_t *hashes = buckets + table[0];
    uint32_t hash = 5381;
    for (const char *at = name; *at != 0; at++)
        hash = hash * 33 + (uint8_t)*at;
    uint32_t index = table[0] != 0 ? buckets[hash % table[0]] : 0;
    if (index < table[1])
        return NULL;
    for (;; index++) {
        uint32_t of_symbol = hashes[index - table[1]];
        const ElfW(Sym) *found = (of_symbol | 1) == (hash | 1) ? definition(dynamic, index, name) : NULL;
        if (found != NULL || (of_symbol & 1) != 0)
            return found;
    }
}

static const ElfW(Sym) * find_symbol(const struct dynamic *dynamic, const char *name)
{
    if (dynamic->symbols == NULL || dynamic->strings == NULL)
        return NULL;
    if (dynamic->gnu_hash != NULL)
        return find_by_gnu_hash(dynamic, name);
    return dynamic->hash != NULL ? find_by_hash(dynamic, name) : NULL;
}

static bool defines(const struct dynamic *dynamic, const char *name)
{
    return find_symbol(dynamic, name) != NULL;
}

static bool is_recorder(const struct dl_phdr_info *info)
{
    uintptr_t address = (uintptr_t)&sxt_recording - info->dlpi_addr;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && address - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
            return true;
    return false;
}

static int take_path(struct dl_phdr_info *info, size_t size, void *path)
{
    (void)size;
    bool is_found = is_recorder(info);
    if (is_found)
        *(const char **)path = info->dlpi_name;
    return is_found;
}

const char *sxt_own_path(void)
{
    const char *path = "";
    dl_iterate_phdr(take_path, &path);
    return path;
}

static int look_for_sanitizer(struct dl_phdr_info *info, size_t size, void *found)
{
    static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init", "__hwasan_init", "__lsan_init"};
    struct dynamic dynamic = read_dynamic(info);
    (void)size;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (defines(&dynamic, names[i]))
            *(bool *)found = true;
    return *(bool *)found;
}

bool sxt_has_sanitizer(void)
{
    bool found = false;
    dl_iterate_phdr(look_for_sanitizer, &found);
    return found;
}

/* Objects come in the order in which symbols are searched: the executable first, then preloaded libraries. */
static int look_for_malloc(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    if (is_recorder(info))
        return 1;
    struct dynamic dynamic = read_dynamic(info);
    *(bool *)found = defines(&dynamic, "malloc");
    return *(bool *)found;
}

bool sxt_has_other_malloc(void)
{
    bool found = false;
    dl_iterate_phdr(look_for_malloc, &found);
    return found;
}

/* A search for a function in the objects after the recorder. */
struct search {
    const char *name;
    bool is_after;
    struct definition *found;
};

static bool begins_with(const char *text, const char *with)
{
    return strlen(text) >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static bool is_cpp_runtime(const char *path)
{
    const char *name = path;
    for (const char *at = path; *at != 0; at++)
        if (*at == '/')
            name = at + 1;
    return begins_with(name, "libstdc++.so") || begins_with(name, "libc++.so") || begins_with(name, "libc++abi.so");
}

static void take_object(const struct dl_phdr_info *info, struct definition *found)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        low = segment->p_vaddr < low ? segment->p_vaddr : low;
        high = segment->p_vaddr + segment->p_memsz > high ? segment->p_vaddr + segment->p_memsz : high;
    }
    found->low = low + info->dlpi_addr;
    found->size = high > low ? high - low : 0;
}

static int look_for_function(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    (void)size;
    if (!search->is_after) {
        search->is_after = is_recorder(info);
        return 0;
    }
    struct dynamic dynamic = read_dynamic(info);
    const ElfW(Sym) *symbol = find_symbol(&dynamic, search->name);
    if (symbol == NULL)
        return 0;
    search->found->address = symbol->st_value + info->dlpi_addr;
    search->found->is_indirect = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
    search->found->has_malloc = defines(&dynamic, "malloc");
    search->found->is_cpp_runtime = is_cpp_runtime(info->dlpi_name);
    take_object(info, search->found);
    return 1;
}

bool sxt_find_definition(const char *name, struct definition *found)
{
    struct search search = {.name = name, .found = found};
    return dl_iterate_phdr(look_for_function, &search) != 0;
}
