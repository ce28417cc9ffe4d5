/*
 * sextant/process.h: look up run-time addresses of a process, running or described by a saved copy of its maps.
 *
 * The memory map of a process says which file an address comes from; the address is then looked up in that file. A file
 * is opened when an address first needs it, and stays open until sxt_process_close. One thread at a time may use an
 * sxt_process.
 *
 *     sxt_process *process;
 *     sxt_process_place place = SXT_PROCESS_PLACE_INIT;
 *     sxt_frame frames[64];
 *     if (sxt_process_open_pid(pid, NULL, &process, &error) == SXT_OK) {
 *         size_t count = sxt_process_lookup(process, address, frames, 64, &place);
 *         ...
 *         sxt_process_close(&process);
 *     }
 */
#ifndef SEXTANT_PROCESS_H
#define SEXTANT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>
#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/profile.h>
#include <sextant/string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_process sxt_process;

/*
 * Open a running process by its process ID, or a saved copy of /proc/PID/maps, whose files are opened by the paths in
 * it. OPTIONS may be NULL; their strings must live as long as the sxt_process. On failure *OUT is NULL.
 */
SXT_API int sxt_process_open_pid(long pid, const sxt_open_options *options, sxt_process **out, sxt_error *error);
SXT_API int sxt_process_open_maps(const char *path, const sxt_open_options *options, sxt_process **out,
                                  sxt_error *error);

/* How to open a process. */
typedef struct sxt_process_options {
    size_t struct_size; /* set by sxt_process_options_init */
    long pid;           /* a running process, or, if 0, ... */
    const char *maps;   /* ...the path of a saved copy of its maps */
    /*
     * Directories with archives, binaries and debug files for the mapped files, which are preferred to those files
     * themselves; see sextant/profile.h. Only directories, open, warning, warning_data and assume_linear are used.
     * NULL: none. What they point to must live as long as the sxt_process.
     */
    const sxt_modules_options *modules;
    uintptr_t reserved[4];
} sxt_process_options;

SXT_API void sxt_process_options_init(sxt_process_options *options);

/* Opens what OPTIONS say; SXT_ERROR_USAGE if they name neither a process nor maps, or both. */
SXT_API int sxt_process_open(const sxt_process_options *options, sxt_process **out, sxt_error *error);
SXT_API void sxt_process_close(sxt_process **process);

/* Where a run-time address comes from. The strings live as long as the sxt_process. */
typedef struct sxt_process_place {
    size_t struct_size;  /* set by SXT_PROCESS_PLACE_INIT */
    const char *module;  /* path of the mapped file, or "[vdso]"; NULL if no file is mapped at the address */
    uint64_t address;    /* virtual address in that file */
    const char *problem; /* why the file cannot be read; NULL if it can */
} sxt_process_place;

/* clang-format off */
#define SXT_PROCESS_PLACE_INIT {sizeof(sxt_process_place), NULL, 0, NULL}
/* clang-format on */

/*
 * Looks up a run-time ADDRESS; see sxt_archive_lookup for the frames. *PLACE is always filled in. The strings of the
 * frames live as long as the sxt_process.
 */
SXT_API size_t sxt_process_lookup(sxt_process *process, uint64_t address, sxt_frame *frames, size_t capacity,
                                  sxt_process_place *place);

/* A range of memory that comes from a file. Later versions may add members at the end. */
typedef struct sxt_process_mapping {
    uint64_t start, end;
    uint64_t offset;    /* in the file, of the byte at start */
    const char *module; /* lives as long as the sxt_process */
} sxt_process_mapping;

/* Calls VISIT for each mapping of a file, in ascending order, until it returns false. */
SXT_API void sxt_process_visit_mappings(const sxt_process *process,
                                        bool (*visit)(void *data, const sxt_process_mapping *mapping), void *data);

#ifdef __cplusplus
}
#endif

#endif
