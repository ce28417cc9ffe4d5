/*
 * fuzz_maps.c: any bytes as a copy of /proc/PID/maps. Every slash leads to a folder that is not there first, so that no
 * file of this machine is opened.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/output.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "property.h"
#include "trace/trace.h"

static const char nowhere[] = "/no such folder/";

static int write_safely(int fd, const uint8_t *data, size_t size)
{
    int status = SXT_OK;
    for (size_t at = 0; at < size && status == SXT_OK;) {
        const uint8_t *slash = memchr(data + at, '/', size - at);
        size_t end = slash != NULL ? (size_t)(slash - data) : size;
        status = sxt_write_all(fd, data + at, end - at, NULL);
        if (slash != NULL && status == SXT_OK)
            status = sxt_write_all(fd, nowhere, sizeof nowhere - 1, NULL);
        at = slash != NULL ? end + 1 : size;
    }
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    sxt_process *process = NULL;
    sxt_error error;
    if (write_safely(fd, data, size) == SXT_OK && sxt_process_open_maps(path, NULL, &process, &error) == SXT_OK) {
        const uint64_t addresses[] = {0, 0x1000, 0x401000, 0x7f0000000000, UINT64_MAX};
        for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
            sxt_process_place place = SXT_PROCESS_PLACE_INIT;
            sxt_frame frames[4];
            SXT_HOLDS(sxt_process_lookup(process, addresses[i], frames, 4, &place) == 0);
            SXT_HOLDS(place.module == NULL || place.problem != NULL);
        }
        sxt_process_close(&process);
    }
    SXT_HOLDS(process == NULL);
    close(fd);
    return 0;
}
