/*
 * process.c: run-time addresses, by the map of a process.
 *
 *     55d0c8a00000-55d0c8a28000 r-xp 00002000 fd:01 1234   /usr/bin/cat
 *
 * An address inside the first two numbers comes from the file at offset + (address - start), which the file's segments
 * turn into a virtual address.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/private.h"
#include "base/array.h"
#include "base/error.h"
#include "base/search.h"
#include "base/strings.h"
#include "profile/profile.h"

#define VDSO_MAX_SIZE ((uint64_t)1 << 20)

/* A file that is mapped somewhere. */
struct module {
    const char *path; /* as it stands in the map; "[vdso]" is one too */
    sxt_archive *archive;
    uint8_t *memory; /* the vdso's bytes, copied out of the process */
    char *problem;   /* why it could not be opened */
    bool tried;
};

struct mapping {
    uint64_t start, end, offset;
    size_t module;
};

struct sxt_process {
    long pid; /* 0 when only a saved map is known */
    struct sxt_opening options;
    struct mapping *mappings; /* ascending and disjoint, as the kernel lists them; sorted to be sure */
    size_t mapping_count, mapping_capacity;
    struct sxt_strings paths; /* of the modules: string N + 1 is that of module N */
    struct module *modules;
    size_t module_count, module_capacity;
};

static int read_maps(struct sxt_process *process, const char *path, sxt_error *error);
static bool read_line(struct sxt_process *process, const char *line, size_t size);
static void open_module(struct sxt_process *process, struct module *module, const struct mapping *mapping);

static int open_process(long pid, const char *maps, const sxt_open_options *options, struct sxt_process **out,
                        sxt_error *error)
{
    *out = NULL;
    struct sxt_process *process = calloc(1, sizeof *process);
    if (process == NULL)
        return sxt_fail_memory(error, sizeof *process);
    process->pid = pid;
    int status = sxt_opening_take(&process->options, options, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&process->paths, 0, error);
    if (status == SXT_OK)
        status = read_maps(process, maps, error);
    if (status != SXT_OK)
        sxt_process_close(&process);
    *out = process;
    return status;
}

int sxt_process_open_pid(long pid, const sxt_open_options *options, struct sxt_process **out, sxt_error *error)
{
    char maps[64];
    snprintf(maps, sizeof maps, "/proc/%ld/maps", pid);
    return open_process(pid, maps, options, out, error);
}

int sxt_process_open_maps(const char *path, const sxt_open_options *options, struct sxt_process **out, sxt_error *error)
{
    return open_process(0, path, options, out, error);
}

void sxt_process_close(struct sxt_process **process)
{
    struct sxt_process *all = *process;
    if (all == NULL)
        return;
    for (size_t i = 0; i < all->module_count; i++) {
        sxt_archive_close(&all->modules[i].archive);
        free(all->modules[i].memory);
        free(all->modules[i].problem);
    }
    sxt_strings_free(&all->paths);
    free(all->modules);
    free(all->mappings);
    free(all);
    *process = NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct mapping *first = a;
    const struct mapping *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

static int read_maps(struct sxt_process *process, const char *path, sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    for (size_t at = 0; at < file.size && status == SXT_OK;) {
        const char *line = (const char *)file.data + at;
        const char *end = memchr(line, '\n', file.size - at);
        size_t size = end != NULL ? (size_t)(end - line) : file.size - at;
        if (size > 0 && !read_line(process, line, size))
            status = sxt_fail(error, SXT_ERROR_FORMAT, at, "not a line of /proc/PID/maps");
        at += size + 1;
    }
    sxt_file_close(&file);
    if (process->mapping_count > 1)
        qsort(process->mappings, process->mapping_count, sizeof *process->mappings, by_start);
    return status;
}

/* The module with that path, which is added if it is new; SIZE_MAX when memory is short. */
static size_t module_for(struct sxt_process *process, const char *path)
{
    uint32_t number = sxt_strings_add(&process->paths, path, strlen(path));
    if (number == SXT_STRINGS_FULL || number <= process->module_count)
        return number == SXT_STRINGS_FULL ? SIZE_MAX : number - 1;
    void *moved = sxt_array_grow(process->modules, &process->module_capacity, process->module_count + 1,
                                 sizeof *process->modules);
    if (moved == NULL)
        return SIZE_MAX;
    process->modules = moved;
    process->modules[process->module_count] = (struct module){.path = sxt_strings_get(&process->paths, number).data};
    return process->module_count++;
}

/* False when the line is no mapping. Anonymous memory is left out. */
static bool read_line(struct sxt_process *process, const char *line, size_t size)
{
    char text[8192];
    if (size >= sizeof text)
        return false;
    memcpy(text, line, size);
    text[size] = 0;
    unsigned long long start, end, offset;
    char permissions[8];
    int path_at = 0;
    if (sscanf(text, "%llx-%llx %7s %llx %*s %*s %n", &start, &end, permissions, &offset, &path_at) < 4 || start > end)
        return false;
    const char *path = path_at > 0 ? text + path_at : "";
    if (path[0] != '/' && strcmp(path, "[vdso]") != 0)
        return true;
    size_t module = module_for(process, path);
    void *moved = sxt_array_grow(process->mappings, &process->mapping_capacity, process->mapping_count + 1,
                                 sizeof *process->mappings);
    if (module == SIZE_MAX || moved == NULL)
        return false;
    process->mappings = moved;
    process->mappings[process->mapping_count++] = (struct mapping){start, end, offset, module};
    return true;
}

static const struct mapping *mapping_at(const struct sxt_process *process, uint64_t address)
{
    size_t low = sxt_search_above(process->mappings, process->mapping_count, sizeof *process->mappings,
                                  offsetof(struct mapping, start), 64, address);
    return low > 0 && address < process->mappings[low - 1].end ? &process->mappings[low - 1] : NULL;
}

size_t sxt_process_lookup(struct sxt_process *process, uint64_t address, sxt_frame *frames, size_t capacity,
                          struct sxt_process_place *place)
{
    *place = (struct sxt_process_place){0};
    const struct mapping *mapping = mapping_at(process, address);
    if (mapping == NULL)
        return 0;
    struct module *module = &process->modules[mapping->module];
    place->module = module->path;
    if (!module->tried)
        open_module(process, module, mapping);
    if (module->archive == NULL) {
        place->problem = module->problem != NULL ? module->problem : "out of memory";
        return 0;
    }
    uint64_t offset = mapping->offset + (address - mapping->start);
    if (sxt_archive_address_of_offset(module->archive, offset, &place->address, NULL) != SXT_OK)
        return 0;
    return sxt_archive_lookup(module->archive, place->address, frames, capacity);
}

/* The vdso is in no file: its bytes are in the memory of the process. */
static int open_vdso(struct sxt_process *process, struct module *module, const struct mapping *mapping,
                     sxt_error *error)
{
    uint64_t size = mapping->end - mapping->start;
    if (process->pid == 0 || size > VDSO_MAX_SIZE)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the vdso can be read from a running process only");
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/mem", process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    module->memory = malloc(size);
    ssize_t got = -1;
    errno = fd >= 0 && module->memory == NULL ? ENOMEM : errno;
    if (fd >= 0 && module->memory != NULL)
        got = pread(fd, module->memory, size, (off_t)mapping->start);
    int problem = got < 0 ? errno : EIO;
    if (fd >= 0)
        close(fd);
    if (got != (ssize_t)size)
        return sxt_fail_errno(error, problem, "cannot read the vdso");
    return sxt_archive_open_memory(module->memory, size, &process->options.open, &module->archive, error);
}

/* A device that is mapped is nothing to read from, and a pipe that took the place of a file would keep us waiting. */
static int open_regular(const char *path, struct sxt_process *process, struct module *module, sxt_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return sxt_fail_errno(error, errno, "cannot open");
    if (!S_ISREG(status.st_mode))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "is not a regular file");
    return sxt_archive_open_path(path, &process->options.open, &module->archive, error);
}

/* The file as the process sees it: it may be deleted by now, or lie in another root. */
static int open_mapped_file(struct sxt_process *process, struct module *module, const struct mapping *mapping,
                            sxt_error *error)
{
    if (process->pid == 0)
        return open_regular(module->path, process, module, error);
    char path[8192 + 64];
    snprintf(path, sizeof path, "/proc/%ld/root%s", process->pid, module->path);
    int status = open_regular(path, process, module, error);
    if (status == SXT_ERROR_IO) {
        snprintf(path, sizeof path, "/proc/%ld/map_files/%llx-%llx", process->pid, (unsigned long long)mapping->start,
                 (unsigned long long)mapping->end);
        if (open_regular(path, process, module, NULL) == SXT_OK)
            return SXT_OK;
    }
    return status;
}

static void open_module(struct sxt_process *process, struct module *module, const struct mapping *mapping)
{
    sxt_error error;
    module->tried = true;
    int status = strcmp(module->path, "[vdso]") == 0 ? open_vdso(process, module, mapping, &error)
                                                     : open_mapped_file(process, module, mapping, &error);
    if (status != SXT_OK)
        module->problem = strdup(error.text);
}
