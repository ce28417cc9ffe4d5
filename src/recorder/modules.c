/*
 * modules.c: which files are loaded at which addresses.
 *
 * A new list is made when an address is in no known module, and when a library was closed. There are two lists: the
 * current one, which walks use, and the one that is being made. So walks need no lock; a reader that finds the lists
 * exchanged during its search repeats the search. Lists are made under the lock of the dynamic linker, by one thread at
 * a time, and under no other lock: a program may hold that one while it allocates.
 *
 * Signals are blocked under that lock. It belongs to a thread by the thread's number, which is another one in a forked
 * child: if a signal handler forked while the lock is held, the child could neither take nor release it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/recorder.h"

#define PATH_MOST     4096
#define BUILD_ID_MOST 64
#define MODULES_MOST  4096
#define NAMES_SIZE    ((size_t)2 << 20) /* for each path and build ID that was ever loaded, once */

/* Never changed and never freed: a forked child has no other record of what is loaded. */
struct module_name {
    uint16_t path_size, build_id_size;
    char bytes[]; /* the path, then the build ID */
};

struct module_list {
    size_t count;
    struct module modules[MODULES_MOST]; /* by address */
};

static struct {
    struct module_list *lists; /* two; NULL until the first is made */
    uint32_t turn;             /* lists[turn % 2] is the current one */
    uint32_t generation;
    bool is_known;                     /* is there a list? */
    unsigned long long added, removed; /* counters of the dynamic linker */
    bool is_written;                   /* is the list in the spool? */
    char *names;
    size_t names_used;
    char path[PATH_MOST]; /* of the module being scanned; here because stacks may be small */
    char program[PATH_MOST];
    size_t program_size;
} modules;

/* The state of a scan. */
struct scan {
    struct writer *writer;
    const struct module_list *old;
    struct module_list *list;
    uint32_t generation;
    bool is_first;
    unsigned long long added, removed;
};

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

/* Is MODULE the one that is loaded at the address now? A list may be out of date for a moment. */
enum presence { PRESENT, ABSENT, OTHER };

#ifdef DLFO_STRUCT_HAS_EH_DBASE
/* Newer dynamic linkers can look up an address without a lock. */
extern int _dl_find_object(void *address, struct dl_find_object *result) __attribute__((weak));

static enum presence presence_at(uintptr_t address, const struct module *module)
{
    struct dl_find_object result;
    if (_dl_find_object == NULL)
        return module != NULL ? PRESENT : OTHER;
    if (_dl_find_object((void *)address, &result) != 0) /* NOLINT: an address */
        return ABSENT;
    return module != NULL && (const uint8_t *)result.dlfo_eh_frame == module->frame_table ? PRESENT : OTHER;
}
#else
static enum presence presence_at(uintptr_t address, const struct module *module)
{
    (void)address;
    return module != NULL ? PRESENT : OTHER;
}
#endif

/* From the current list. The result is a copy in the writer. */
static const struct module *look_up(struct writer *writer, uintptr_t address)
{
    for (;;) {
        uint32_t turn = __atomic_load_n(&modules.turn, __ATOMIC_ACQUIRE);
        const struct module_list *lists = __atomic_load_n(&modules.lists, __ATOMIC_ACQUIRE);
        const struct module *found = lists != NULL ? find(&lists[turn % 2], address) : NULL;
        if (found != NULL)
            writer->module = *found;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (LIKELY(__atomic_load_n(&modules.turn, __ATOMIC_RELAXED) == turn))
            return found != NULL ? &writer->module : NULL;
    }
}

/* Has the dynamic linker loaded or unloaded modules since the last scan? */
static bool are_changed(void)
{
    struct scan scan = {0};
    struct signal_mask mask = sxt_signals_block();
    dl_iterate_phdr(read_counts, &scan);
    sxt_signals_restore(&mask);
    return scan.added != modules.added || scan.removed != modules.removed;
}

const struct module *sxt_module_at(struct writer *writer, uintptr_t address)
{
    const struct module *found = look_up(writer, address);
    enum presence presence = presence_at(address, found);
    if (presence != OTHER)
        return presence == PRESENT ? found : NULL;
    if (sxt_recording.alive->is_alive == 0 || !are_changed()) /* perhaps a forked child, see sxt_modules_forget */
        return found;
    sxt_modules_scan(writer);
    return look_up(writer, address);
}

uint32_t sxt_generation(void)
{
    return __atomic_load_n(&modules.generation, __ATOMIC_RELAXED);
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

void sxt_modules_begin(void)
{
    long size = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", modules.program, sizeof modules.program);
    const char *name = (const char *)getauxval(AT_EXECFN); /* NOLINT: an address */
    modules.program_size = size > 0 ? (size_t)size : 0;
    if (size > 0 || name == NULL)
        return;
    while (modules.program_size < PATH_MOST && name[modules.program_size] != 0)
        modules.program_size++;
    memcpy(modules.program, name, modules.program_size);
}

/* An absolute path, as far as it can be told. */
static size_t path_of(const struct dl_phdr_info *info, bool is_program, char path[PATH_MOST])
{
    if (is_program) {
        memcpy(path, modules.program, modules.program_size);
        return modules.program_size;
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

static size_t size_of_name(size_t path_size, size_t build_id_size)
{
    return (sizeof(struct module_name) + path_size + build_id_size + 7) & ~(size_t)7;
}

/* Stores a name once; the same file gets the same one. NULL: no room. */
static const struct module_name *keep_name(const char *path, size_t path_size, const uint8_t *build_id,
                                           size_t build_id_size)
{
    if (modules.names == NULL)
        modules.names = sxt_map_memory(NAMES_SIZE);
    if (modules.names == NULL)
        return NULL;
    for (size_t at = 0; at < modules.names_used;) {
        const struct module_name *known = (const void *)(modules.names + at);
        if (known->path_size == path_size && known->build_id_size == build_id_size &&
            memcmp(known->bytes, path, path_size) == 0 &&
            (build_id_size == 0 || memcmp(known->bytes + path_size, build_id, build_id_size) == 0))
            return known;
        at += size_of_name(known->path_size, known->build_id_size);
    }
    size_t size = size_of_name(path_size, build_id_size);
    if (size > NAMES_SIZE - modules.names_used)
        return NULL;
    struct module_name *name = (void *)(modules.names + modules.names_used);
    *name = (struct module_name){(uint16_t)path_size, (uint16_t)build_id_size};
    memcpy(name->bytes, path, path_size);
    if (build_id_size > 0)
        memcpy(name->bytes + path_size, build_id, build_id_size);
    modules.names_used += size;
    return name;
}

static const struct module_name *name_of(const struct dl_phdr_info *info, bool is_program)
{
    const uint8_t *build_id = NULL;
    size_t build_id_size = 0;
    for (size_t i = 0; i < info->dlpi_phnum && build_id_size == 0; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            build_id_size = note_build_id(info, &info->dlpi_phdr[i], &build_id);
    size_t path_size = path_of(info, is_program, modules.path);
    return keep_name(modules.path, path_size, build_id, build_id_size);
}

static void note_module(struct writer *writer, uint32_t generation, const struct module *module)
{
    static const struct module_name unknown;
    const struct module_name *name = module->name != NULL ? module->name : &unknown;
    struct sxt_spool_module note = {
        .start = module->start,
        .end = module->end,
        .bias = module->bias,
        .generation = generation,
        .path_size = name->path_size,
        .build_id_size = name->build_id_size,
    };
    sxt_put_note(writer, SXT_SPOOL_MODULE, &note, sizeof note, name->bytes,
                 (size_t)name->path_size + name->build_id_size, NULL, 0);
}

/* Finds the addresses of its segments and its table of frames. False: it has no code. */
static bool measure(const struct dl_phdr_info *info, struct module *module)
{
    *module = (struct module){.start = UINTPTR_MAX, .code_start = UINTPTR_MAX, .bias = info->dlpi_addr};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_GNU_EH_FRAME) {
            module->frame_table = (const uint8_t *)start; /* NOLINT: an address */
            module->frame_table_size = segment->p_memsz;
        }
        if (segment->p_type != PT_LOAD)
            continue;
        uintptr_t end = start + segment->p_memsz;
        module->start = start < module->start ? start : module->start;
        module->end = end > module->end ? end : module->end;
        if ((segment->p_flags & PF_X) == 0)
            continue;
        module->code_start = start < module->code_start ? start : module->code_start;
        module->code_end = end > module->code_end ? end : module->code_end;
    }
    return module->code_start < module->code_end;
}

static bool is_same(const struct module *one, const struct module *other)
{
    return one->start == other->start && one->end == other->end && one->frame_table == other->frame_table;
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
    if (!measure(info, &module) || scan->list->count >= MODULES_MOST)
        return 0;
    const struct module *before = find(scan->old, module.start);
    bool is_known = before != NULL && is_same(before, &module);
    module.name = is_known ? before->name : name_of(info, is_program);
    size_t at = scan->list->count++;
    for (; at > 0 && scan->list->modules[at - 1].start > module.start; at--)
        scan->list->modules[at] = scan->list->modules[at - 1];
    scan->list->modules[at] = module;
    if (!is_known) {
        if (sxt_rules_outside_modules()) /* which may be at these addresses */
            sxt_rules_forget(module.start, module.end);
        note_module(scan->writer, scan->generation, &module);
    }
    return 0;
}

static int is_still_there(struct dl_phdr_info *info, size_t size, void *data)
{
    struct module module;
    (void)size;
    return measure(info, &module) && is_same(&module, data);
}

/* Notes modules that were unloaded. A new generation begins before new modules are noted. */
static void note_unloaded(struct scan *scan)
{
    bool any = false;
    for (size_t i = 0; i < scan->old->count; i++) {
        struct module module = scan->old->modules[i];
        if (dl_iterate_phdr(is_still_there, &module) != 0)
            continue;
        scan->generation += !any;
        any = true;
        sxt_rules_forget(module.start, module.end);
        uint64_t gone[3] = {module.start, module.end, scan->generation};
        sxt_put_note(scan->writer, SXT_SPOOL_UNLOAD, gone, sizeof gone, NULL, 0, NULL, 0);
    }
}

static void exchange(const struct scan *scan)
{
    modules.added = scan->added;
    modules.removed = scan->removed;
    modules.is_known = modules.is_written = true;
    __atomic_store_n(&modules.turn, modules.turn + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&modules.generation, scan->generation, __ATOMIC_RELEASE);
}

static void scan_all(struct writer *writer)
{
    struct scan scan = {.writer = writer, .generation = modules.generation, .is_first = true};
    dl_iterate_phdr(read_counts, &scan);
    if (modules.is_known && scan.added == modules.added && scan.removed == modules.removed)
        return;
    if (modules.lists == NULL)
        __atomic_store_n(&modules.lists, sxt_map_memory(2 * sizeof *modules.lists), __ATOMIC_RELEASE);
    if (modules.lists == NULL)
        return;
    scan.old = &modules.lists[modules.turn % 2];
    scan.list = &modules.lists[(modules.turn + 1) % 2];
    scan.list->count = 0;
    note_unloaded(&scan);
    dl_iterate_phdr(take_module, &scan);
    exchange(&scan);
}

/* Called with the dynamic linker's lock held. */
static int scan_locked(struct dl_phdr_info *info, size_t size, void *writer)
{
    (void)info, (void)size;
    scan_all(writer);
    return 1;
}

/* Writes the list at the beginning of the spool of a forked child. */
static void write_all(struct writer *writer)
{
    const struct module_list *list = &modules.lists[modules.turn % 2];
    for (size_t i = 0; i < list->count; i++)
        note_module(writer, modules.generation, &list->modules[i]);
    modules.is_written = true;
}

void sxt_modules_scan(struct writer *writer)
{
    if (sxt_recording.is_confined)
        return;
    if (sxt_recording.alive->is_alive == 0) /* perhaps a forked child, see sxt_modules_forget */
        return;
    int saved_errno = errno;
    struct signal_mask mask = sxt_signals_block(); /* a handler may unload a library, and scan too */
    if (modules.is_known && !modules.is_written)
        write_all(writer);
    else
        dl_iterate_phdr(scan_locked, writer);
    sxt_signals_restore(&mask);
    errno = saved_errno;
}

/*
 * In a forked child. It has the same modules and the same rules. They cannot be scanned again: the lock of the dynamic
 * linker may be held forever, by a thread that does not exist in the child.
 */
void sxt_modules_forget(void)
{
    modules.is_written = false;
}
