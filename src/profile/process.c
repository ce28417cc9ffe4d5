/*
 * process.c: run-time addresses, by the map of a process.
 *
 *     55d0c8a00000-55d0c8a28000 r-xp 00002000 fd:01 1234   /usr/bin/cat
 *
 * The byte at an address in that range is at offset + (address - start) of the file; layout.h turns that into a virtual
 * address of the file. The files are modules, which stay open.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/options.h"
#include "base/search.h"
#include "profile/modules.h"

#define VDSO_MAX_SIZE ((uint64_t)1 << 20)
#define PATH_MAX_SIZE 8192

struct mapping {
    struct sxt_layout_mapping range;
    struct sxt_module *module;
};

struct sxt_process {
    long pid; /* 0 for a saved map */
    struct sxt_modules *modules;
    struct mapping *mappings; /* ascending and disjoint */
    size_t mapping_count, mapping_capacity;
};

static int read_maps(struct sxt_process *process, const char *path, sxt_error *error);
static bool read_line(struct sxt_process *process, const char *line, size_t size);
static void open_module(struct sxt_process *process, const struct mapping *mapping);

static int open_process(long pid, const char *maps, const sxt_modules_options *where, sxt_process **out,
                        sxt_error *error)
{
    *out = NULL;
    struct sxt_process *process = calloc(1, sizeof *process);
    if (process == NULL)
        return sxt_fail_memory(error, sizeof *process);
    process->pid = pid;
    int status = sxt_modules_open(where, &process->modules, error);
    if (status == SXT_OK) {
        /* The strings of answers point into the archives, so all of them stay open. */
        process->modules->most_open = SIZE_MAX;
        /* A file on this machine is opened as the process sees it: see choose_path. */
        process->modules->options.no_local = true;
        status = read_maps(process, maps, error);
    }
    if (status != SXT_OK)
        sxt_process_close(&process);
    *out = process;
    return status;
}

static int open_pid(long pid, const sxt_modules_options *where, sxt_process **out, sxt_error *error)
{
    char maps[64];
    snprintf(maps, sizeof maps, "/proc/%ld/maps", pid);
    return open_process(pid, maps, where, out, error);
}

int sxt_process_open_pid(long pid, const sxt_open_options *options, sxt_process **out, sxt_error *error)
{
    sxt_modules_options where;
    sxt_modules_options_init(&where);
    where.open = options;
    return open_pid(pid, &where, out, error);
}

int sxt_process_open_maps(const char *path, const sxt_open_options *options, sxt_process **out, sxt_error *error)
{
    sxt_modules_options where;
    sxt_modules_options_init(&where);
    where.open = options;
    return open_process(0, path, &where, out, error);
}

void sxt_process_options_init(sxt_process_options *options)
{
    *options = (sxt_process_options){.struct_size = sizeof *options};
}

int sxt_process_open(const sxt_process_options *given, sxt_process **out, sxt_error *error)
{
    *out = NULL;
    sxt_process_options options;
    sxt_process_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_process_options_init", error);
    if (status == SXT_OK && (options.pid != 0) == (options.maps != NULL))
        status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "either a process or saved maps must be given");
    if (status != SXT_OK)
        return status;
    return options.maps != NULL ? open_process(0, options.maps, options.modules, out, error)
                                : open_pid(options.pid, options.modules, out, error);
}

void sxt_process_close(sxt_process **process)
{
    if (*process == NULL)
        return;
    sxt_modules_close(&(*process)->modules);
    free((*process)->mappings);
    free(*process);
    *process = NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct mapping *first = a, *second = b;
    return first->range.start < second->range.start ? -1 : first->range.start > second->range.start;
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
    /* The kernel lists mappings in order; a saved copy may not. */
    if (process->mapping_count > 1)
        qsort(process->mappings, process->mapping_count, sizeof *process->mappings, by_start);
    return status;
}

/* False if the line is not a mapping. Anonymous memory is left out. */
static bool read_line(struct sxt_process *process, const char *line, size_t size)
{
    char text[PATH_MAX_SIZE];
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
    bool is_new;
    struct sxt_module *module =
        sxt_modules_add(process->modules, (sxt_string){path, strlen(path)}, (sxt_string){"", 0}, &is_new);
    void *moved = sxt_array_grow(process->mappings, &process->mapping_capacity, process->mapping_count + 1,
                                 sizeof *process->mappings);
    if (moved != NULL)
        process->mappings = moved;
    if (module == NULL || moved == NULL)
        return false;
    process->mappings[process->mapping_count++] = (struct mapping){{start, end, offset, module->name}, module};
    return true;
}

static const struct mapping *mapping_at(const struct sxt_process *process, uint64_t address)
{
    size_t low = SXT_SEARCH_ABOVE(process->mappings, process->mapping_count, range.start, address);
    return low > 0 && address < process->mappings[low - 1].range.limit ? &process->mappings[low - 1] : NULL;
}

/* The virtual address in the module, which is laid out. */
static bool place_address(const struct sxt_process *process, const struct mapping *mapping, const sxt_archive *archive,
                          uint64_t address, uint64_t *out)
{
    struct sxt_module *module = mapping->module;
    uint64_t offset = address - mapping->range.start + mapping->range.offset;
    /* A mapped archive contains no code that could run. */
    if (module->archive == NULL && sxt_archive_kind(archive) != SXT_KIND_ELF)
        return false;
    if (module->layout.has_offsets)
        return sxt_layout_place_offset(&module->layout, offset, out);
    if (module->archive == NULL)
        return false;
    enum sxt_layout_answer answer = sxt_layout_place(&module->layout, &mapping->range, address, out);
    if (answer == SXT_LAYOUT_NO_SEGMENTS)
        sxt_module_warn_of_segments(process->modules, module);
    return answer == SXT_LAYOUT_PLACED;
}

static size_t look_up(struct sxt_process *process, const struct mapping *mapping, uint64_t address, sxt_frame *frames,
                      size_t capacity, sxt_process_place *place)
{
    struct sxt_module *module = mapping->module;
    place->module = module->name.data;
    if (!sxt_module_is_found(module) && module->problem == NULL)
        open_module(process, mapping);
    const sxt_archive *archive = module->problem == NULL ? sxt_module_keep(process->modules, module) : NULL;
    if (archive == NULL) {
        place->problem = module->problem != NULL ? module->problem : "out of memory";
        return 0;
    }
    if (!sxt_module_lay_out(process->modules, module, archive) ||
        !place_address(process, mapping, archive, address, &place->address))
        return 0;
    return sxt_archive_lookup(archive, place->address, frames, capacity);
}

size_t sxt_process_lookup(sxt_process *process, uint64_t address, sxt_frame *frames, size_t capacity,
                          sxt_process_place *place)
{
    sxt_process_place found = {.struct_size = sizeof found};
    const struct mapping *mapping = mapping_at(process, address);
    size_t count = mapping != NULL ? look_up(process, mapping, address, frames, capacity, &found) : 0;
    sxt_result_give(place, &found, sizeof found);
    return count;
}

void sxt_process_visit_mappings(const sxt_process *process,
                                bool (*visit)(void *data, const sxt_process_mapping *mapping), void *data)
{
    for (size_t i = 0; i < process->mapping_count; i++) {
        const struct mapping *mapping = &process->mappings[i];
        const sxt_process_mapping out = {mapping->range.start, mapping->range.limit, mapping->range.offset,
                                         mapping->module->name.data};
        if (!visit(data, &out))
            return;
    }
}

/* The vdso is in no file: copies it from the memory of the process. */
static int read_vdso(const struct sxt_process *process, const struct mapping *mapping, sxt_error *error)
{
    struct sxt_module *module = mapping->module;
    uint64_t size = mapping->range.limit - mapping->range.start;
    if (process->pid == 0 || size > VDSO_MAX_SIZE)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the vdso can only be read from a running process");
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/mem", process->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *image = malloc(size + 1);
    ssize_t got = -1;
    errno = fd >= 0 && image == NULL ? ENOMEM : errno;
    if (fd >= 0 && image != NULL)
        got = pread(fd, image, size, (off_t)mapping->range.start);
    int problem = got < 0 ? errno : EIO;
    if (fd >= 0)
        close(fd);
    if (got != (ssize_t)size) {
        free(image);
        return sxt_fail_errno(error, problem, "cannot read the vdso");
    }
    module->image = image;
    module->image_size = size;
    return SXT_OK;
}

/* A device is not opened, and neither is a pipe, which would block. */
static int check_file(const char *path, sxt_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return sxt_fail_errno(error, errno, "cannot open");
    if (!S_ISREG(status.st_mode))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a regular file");
    return access(path, R_OK) == 0 ? SXT_OK : sxt_fail_errno(error, errno, "cannot open");
}

/* The path of the file as the process sees it: it may be deleted, or be in another root. */
static int choose_path(const struct sxt_process *process, const struct mapping *mapping, char *path, size_t size,
                       sxt_error *error)
{
    const char *name = mapping->module->name.data;
    if (process->pid == 0) {
        snprintf(path, size, "%s", name);
        return check_file(path, error);
    }
    snprintf(path, size, "/proc/%ld/root%s", process->pid, name);
    int status = check_file(path, error);
    if (status == SXT_ERROR_IO) {
        snprintf(path, size, "/proc/%ld/map_files/%llx-%llx", process->pid, (unsigned long long)mapping->range.start,
                 (unsigned long long)mapping->range.limit);
        if (check_file(path, NULL) == SXT_OK)
            return SXT_OK;
    }
    return status;
}

/*
 * Searches the user's directories for the file at PATH, of which the build ID may be known, or, if PATH is NULL, by its
 * name alone.
 */
static void search_module(const struct sxt_process *process, struct sxt_module *module, const char *path)
{
    struct sxt_elf_summary summary = {0};
    char hex[SXT_HEX_ROOM(SXT_ELF_SUMMARY_ID_MAX)];
    sxt_string build_id = module->build_id;
    if (process->modules->options.directory_count == 0)
        return;
    if (path != NULL)
        sxt_elf_summary_read(path, &summary, NULL);
    if (summary.is_elf && summary.build_id_size > 0)
        module->build_id = (sxt_string){hex, sxt_hex_encode(hex, summary.build_id, summary.build_id_size)};
    sxt_module_choose_files(process->modules, module);
    module->build_id = build_id;
    module->is_other_build = false;
}

/* Gives the module its files, or the problem. */
static void open_module(struct sxt_process *process, const struct mapping *mapping)
{
    struct sxt_module *module = mapping->module;
    char path[PATH_MAX_SIZE + 64];
    sxt_error error;
    int status;
    if (strcmp(module->name.data, "[vdso]") == 0) {
        status = read_vdso(process, mapping, &error);
    } else {
        status = choose_path(process, mapping, path, sizeof path, &error);
        search_module(process, module, status == SXT_OK ? path : NULL);
        if (status == SXT_OK && module->binary == NULL)
            module->binary = strdup(path);
    }
    if (status != SXT_OK && !sxt_module_is_found(module))
        module->problem = strdup(error.text);
}
