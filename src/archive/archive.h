/*
 * archive.h: open anything. The only room that knows all formats. Its public side is sextant/archive.h; here is what
 * the program has beyond it.
 */
#ifndef SXT_ARCHIVE_ARCHIVE_H
#define SXT_ARCHIVE_ARCHIVE_H

#include <sextant/archive.h>
#include <sextant/lidia.h>

/*
 * Addresses of a running process: the map of its memory says which file an address comes from, and the archive of that
 * file says the rest. Files are opened when an address first needs them. One thread at a time.
 */
struct sxt_process;

/* From /proc/PID. */
int sxt_process_open_pid(long pid, const sxt_open_options *options, struct sxt_process **out, sxt_error *error);

/* From a saved copy of /proc/PID/maps; the files are opened under the names that stand in it. */
int sxt_process_open_maps(const char *path, const sxt_open_options *options, struct sxt_process **out,
                          sxt_error *error);
void sxt_process_close(struct sxt_process **process);

/* Where a run-time address leads. */
struct sxt_process_place {
    const char *module;  /* path of the mapped file; NULL when the address is not mapped from a file */
    uint64_t address;    /* virtual address inside that file */
    const char *problem; /* why the module cannot be asked; NULL when it can */
};

/* As sxt_archive_lookup, for a run-time ADDRESS. *PLACE is filled in any case; its texts live as long as PROCESS. */
size_t sxt_process_lookup(struct sxt_process *process, uint64_t address, sxt_frame *frames, size_t capacity,
                          struct sxt_process_place *place);

#endif
