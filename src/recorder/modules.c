/*
 * modules.c: which files are loaded where.
 *
 * The list is made anew when an address is met that it does not cover, and when a library was closed. It is never
 * changed in place, so that walks need no lock; an old one is never given back, since a walk may still be in it.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define PATH_MOST     4096
#define BUILD_ID_MOST 64
#define MODULES_MOST  4096

struct module_list {
    uint32_t generation;
    size_t count;
    struct module modules[]; /* by address */
};

static const struct module_list none;

static struct {
    const struct module_list *list;
    int lock;
    unsigned long long added, removed; /* as the dynamic linker counts */
} modules = {.list = &none};

/* What a scan knows on its way. */
struct scan {
    struct writer *writer;
    const struct module_list *old;
    struct module_list *list;
    size_t room;
    bool is_first;
    unsigned long long added, removed;
};

/* Does the program use a malloc of its own that comes before ours? NULL when it does not. */
void *sxt_first_malloc(void);

void *sxt_first_malloc(void)
{
    Dl_info first, ours;
    void *found = dlsym(RTLD_DEFAULT, "malloc");
    if (found == NULL || dladdr(found, &first) == 0 || dladdr(&modules, &ours) == 0)
        return NULL;
    return first.dli_fbase != ours.dli_fbase ? found : NULL;
}

static const struct module *find(const struct module_list *list, uintptr_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->modules[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < list->modules[low - 1].end ? &list->modules[low - 1] : NULL;
}

static int read_counts(struct dl_phdr_info *info, size_t size, void *data)
{
    struct scan *scan = data;
    (void)size;
    scan->added = info->dlpi_adds;
    scan->removed = info->dlpi_subs;
    return 1;
}

const struct module *sxt_module_at(struct writer *writer, uintptr_t address)
{
    const struct module *found = find(__atomic_load_n(&modules.list, __ATOMIC_ACQUIRE), address);
    if (found != NULL)
        return found;
    struct scan scan = {0};
    dl_iterate_phdr(read_counts, &scan);
    if (scan.added == modules.added && scan.removed == modules.removed)
        return NULL;
    sxt_modules_scan(writer);
    return find(__atomic_load_n(&modules.list, __ATOMIC_ACQUIRE), address);
}

uint32_t sxt_generation(void)
{
    return __atomic_load_n(&modules.list, __ATOMIC_RELAXED)->generation;
}

static size_t note_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * segment, const uint8_t **id)
{
    const uint8_t *at = (const uint8_t *)info->dlpi_addr + segment->p_vaddr; /* NOLINT: an address */
    const uint8_t *end = at + segment->p_memsz;
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name_size = (note.n_namesz + 3) & ~(size_t)3, size = (note.n_descsz + 3) & ~(size_t)3;
        at += sizeof note;
        if (name_size > (size_t)(end - at) || size > (size_t)(end - at) - name_size)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
            *id = at + name_size;
            return note.n_descsz <= BUILD_ID_MOST ? note.n_descsz : 0;
        }
        at += name_size + size;
    }
    return 0;
}

/* An absolute path, as far as it can be told. */
static size_t path_of(const struct dl_phdr_info *info, bool is_program, char path[PATH_MOST])
{
    if (is_program) {
        long size = syscall(SYS_readlinkat, -100, "/proc/self/exe", path, (size_t)PATH_MOST);
        return size > 0 ? (size_t)size : 0;
    }
    size_t size = strlen(info->dlpi_name), before = 0;
    if (strchr(info->dlpi_name, '/') != NULL && info->dlpi_name[0] != '/') {
        long got = syscall(SYS_getcwd, path, (size_t)PATH_MOST);
        before = got > 1 ? (size_t)got - 1 : 0;
        if (before > 0 && before < PATH_MOST)
            path[before++] = '/';
    }
    if (before + size >= PATH_MOST)
        return 0;
    memcpy(path + before, info->dlpi_name, size);
    return before + size;
}

static void note_module(const struct scan *scan, const struct dl_phdr_info *info, const struct module *module,
                        bool is_program)
{
    char path[PATH_MOST];
    const uint8_t *build_id = NULL;
    size_t build_id_size = 0;
    for (size_t i = 0; i < info->dlpi_phnum && build_id_size == 0; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            build_id_size = note_build_id(info, &info->dlpi_phdr[i], &build_id);
    size_t path_size = path_of(info, is_program, path);
    struct sxt_spool_module note = {
        .start = module->start,
        .end = module->end,
        .bias = module->bias,
        .generation = scan->list->generation,
        .path_size = (uint16_t)path_size,
        .build_id_size = (uint16_t)build_id_size,
    };
    sxt_put_note(scan->writer, SXT_SPOOL_MODULE, &note, sizeof note, path, path_size, build_id, build_id_size);
}

/* Where its segments lie, and its table of frames. False when it has no code. */
static bool measure(const struct dl_phdr_info *info, struct module *module)
{
    *module = (struct module){.start = UINTPTR_MAX, .bias = info->dlpi_addr};
    bool has_code = false;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_GNU_EH_FRAME) {
            module->frame_table = (const uint8_t *)start; /* NOLINT: an address */
            module->frame_table_size = segment->p_memsz;
        }
        if (segment->p_type != PT_LOAD)
            continue;
        has_code |= (segment->p_flags & PF_X) != 0;
        if (start < module->start)
            module->start = start;
        if (start + segment->p_memsz > module->end)
            module->end = start + segment->p_memsz;
    }
    return has_code && module->start < module->end;
}

static bool is_same(const struct module *one, const struct module *other)
{
    return one->start == other->start && one->end == other->end && one->frame_table == other->frame_table;
}

static bool is_in(const struct module_list *list, const struct module *module)
{
    const struct module *found = find(list, module->start);
    return found != NULL && is_same(found, module);
}

static int take_module(struct dl_phdr_info *info, size_t size, void *data)
{
    struct scan *scan = data;
    struct module module;
    (void)size;
    scan->added = info->dlpi_adds;
    scan->removed = info->dlpi_subs;
    bool is_program = scan->is_first;
    scan->is_first = false;
    if (!measure(info, &module) || scan->list->count >= scan->room)
        return 0;
    size_t at = scan->list->count++;
    for (; at > 0 && scan->list->modules[at - 1].start > module.start; at--)
        scan->list->modules[at] = scan->list->modules[at - 1];
    scan->list->modules[at] = module;
    if (!is_in(scan->old, &module))
        note_module(scan, info, &module, is_program);
    return 0;
}

static int is_still_there(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module module;
    (void)size;
    return measure(info, &module) && is_same(&module, data);
}

/* Modules of the old list that are not loaded any more: a new generation begins before the new ones are noted. */
static void note_unloaded(struct scan *scan)
{
    bool any = false;
    for (size_t i = 0; i < scan->old->count; i++) {
        struct module module = scan->old->modules[i];
        if (dl_iterate_phdr(is_still_there, &module) != 0)
            continue;
        scan->list->generation += !any;
        any = true;
        uint64_t gone[3] = {module.start, module.end, scan->list->generation};
        sxt_put_note(scan->writer, SXT_SPOOL_UNLOAD, gone, sizeof gone, NULL, 0, NULL, 0);
    }
}

static int count_module(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size;
    (*(size_t *)data)++;
    return 0;
}

static void scan_all(struct writer *writer)
{
    size_t room = 0;
    dl_iterate_phdr(count_module, &room);
    room = room < MODULES_MOST ? room + 16 : MODULES_MOST;
    size_t bytes = sizeof(struct module_list) + room * sizeof(struct module);
    struct module_list *list = sxt_map_memory(bytes);
    if (list == NULL)
        return;
    struct scan scan = {.writer = writer, .old = modules.list, .list = list, .room = room, .is_first = true};
    list->generation = modules.list->generation;
    note_unloaded(&scan);
    dl_iterate_phdr(take_module, &scan);
    modules.added = scan.added;
    modules.removed = scan.removed;
    __atomic_store_n(&modules.list, list, __ATOMIC_RELEASE);
}

void sxt_modules_scan(struct writer *writer)
{
    int kept = errno;
    while (__atomic_exchange_n(&modules.lock, 1, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_sched_yield);
    scan_all(writer);
    __atomic_store_n(&modules.lock, 0, __ATOMIC_RELEASE);
    errno = kept;
}

void sxt_modules_forget(void)
{
    modules.list = &none;
    modules.lock = 0;
}
