/* recording.c: a spool, made for a recorder to write to, and the programs that a recorder can be loaded into. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "archive/archive.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "mlyze/spool.h"

struct sxt_recording {
    uint8_t *page; /* the first of the spool, mapped */
    struct sxt_spool_control *control;
};

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct sxt_spool_moment moment(const struct sxt_spool_control *control)
{
    uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    return (struct sxt_spool_moment){(control->options & SXT_SPOOL_TSC) != 0 ? sxt_spool_counter() : now, now};
}

/* Does the kernel itself keep time by the processor's counter? Then it runs evenly, and is the same everywhere. */
static bool counter_is_good(void)
{
#if defined(__aarch64__)
    return true;
#else
    char text[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    return size > 0 && (strncmp(text, "tsc\n", 4) == 0 || strncmp(text, "kvm-clock\n", 10) == 0);
#endif
}

static void fill_page(uint8_t page[SXT_SPOOL_WINDOWS_OFFSET], const struct sxt_recording_options *options)
{
    struct sxt_spool_control control = {
        .magic = SXT_SPOOL_CONTROL_MAGIC,
        .version = SXT_SPOOL_VERSION,
        .options = (options->with_mappings ? SXT_SPOOL_MAPPINGS : 0u) | (options->follow ? SXT_SPOOL_FOLLOW : 0u) |
                   (counter_is_good() ? SXT_SPOOL_TSC : 0u),
        .period = options->period,
        .tail = SXT_SPOOL_WINDOWS_OFFSET,
        .start_us = nanoseconds(CLOCK_REALTIME) / 1000,
    };
    control.first = control.last = moment(&control);
    memset(page, 0, SXT_SPOOL_WINDOWS_OFFSET);
    memcpy(page, "MTRC", 4);
    sxt_store_u32le(page + 4, 1);
    sxt_store_u64le(page + 8, control.start_us);
    sxt_store_u32le(page + 20, SXT_MLYZE_UNCLEAN | (options->period != 0 ? SXT_MLYZE_SAMPLED : 0u));
    sxt_store_u32le(page + 24, SXT_MLYZE_SPOOL);
    sxt_store_u64le(page + 72, options->period);
    memcpy(page + SXT_SPOOL_CONTROL_OFFSET, &control, sizeof control);
}

static int write_and_map(int fd, const struct sxt_recording_options *options, struct sxt_recording *recording,
                         sxt_error *error)
{
    uint8_t page[SXT_SPOOL_WINDOWS_OFFSET];
    fill_page(page, options);
    ssize_t written = pwrite(fd, page, sizeof page, 0);
    if (written != (ssize_t)sizeof page)
        return sxt_fail_errno(error, written < 0 ? errno : ENOSPC, "cannot write");
    void *mapped = mmap(NULL, sizeof page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        return sxt_fail_errno(error, errno, "cannot be mapped");
    recording->page = mapped;
    recording->control = (void *)(recording->page + SXT_SPOOL_CONTROL_OFFSET);
    return SXT_OK;
}

int sxt_recording_create(const char *path, const struct sxt_recording_options *options, struct sxt_recording **out,
                         sxt_error *error)
{
    *out = NULL;
    struct sxt_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL)
        return sxt_fail_memory(error, sizeof *recording);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    struct stat status;
    int result;
    if (fd < 0 || fstat(fd, &status) != 0)
        result = sxt_fail_errno(error, errno, "cannot create");
    else if (!S_ISREG(status.st_mode))
        result = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "is not a regular file");
    else
        result = write_and_map(fd, options, recording, error);
    if (fd >= 0)
        close(fd);
    if (result == SXT_OK)
        *out = recording;
    else
        free(recording);
    return result;
}

void sxt_recording_of(struct sxt_recording *recording, long pid)
{
    recording->control->pid = (uint32_t)pid;
    sxt_store_u32le(recording->page + 88, (uint32_t)pid);
}

void sxt_recording_stop(struct sxt_recording *recording)
{
    __atomic_store_n(&recording->control->stop, 1, __ATOMIC_RELAXED);
}

void sxt_recording_note_end(struct sxt_recording *recording)
{
    recording->control->last = moment(recording->control);
}

void sxt_recording_close(struct sxt_recording **recording)
{
    if (*recording == NULL)
        return;
    munmap((*recording)->page, SXT_SPOOL_WINDOWS_OFFSET);
    free(*recording);
    *recording = NULL;
}

/* --- programs --- */

static bool is_privileged(const char *path, const struct stat *status)
{
    if (geteuid() != 0 && (status->st_mode & S_ISUID) != 0 && status->st_uid != geteuid())
        return true;
    if ((status->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status->st_gid != getegid())
        return true;
    if (geteuid() == 0 && (status->st_mode & S_ISUID) != 0 && status->st_uid != 0)
        return true;
    return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* The dynamic linker that the file asks for; absent when it asks for none. */
static sxt_string interpreter(const uint8_t *data, size_t size)
{
    const sxt_string none = {NULL, 0};
    uint64_t table = sxt_load_u64le(data + 32);
    uint16_t entry_size = sxt_load_u16le(data + 54), count = sxt_load_u16le(data + 56);
    if (entry_size < sizeof(Elf64_Phdr) || !sxt_fits(table, count, entry_size, size))
        return none;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *segment = data + table + i * entry_size;
        uint64_t offset = sxt_load_u64le(segment + 8), length = sxt_load_u64le(segment + 32);
        if (sxt_load_u32le(segment) == PT_INTERP && length > 0 && sxt_fits(offset, length, 1, size))
            return (sxt_string){(const char *)data + offset, strnlen((const char *)data + offset, length)};
    }
    return none;
}

static enum sxt_recordable judge_elf(const uint8_t *data, size_t size)
{
#if defined(__aarch64__)
    enum { MACHINE = EM_AARCH64 };
#else
    enum { MACHINE = EM_X86_64 };
#endif
    if (size < sizeof(Elf64_Ehdr))
        return SXT_RECORDABLE;
    if (data[EI_CLASS] != ELFCLASS64)
        return SXT_RECORDABLE_NOT_32_BIT;
    if (sxt_load_u16le(data + 18) != MACHINE)
        return SXT_RECORDABLE_NOT_MACHINE;
    sxt_string linker = interpreter(data, size);
    if (linker.data == NULL)
        return SXT_RECORDABLE_STATIC;
    return memmem(linker.data, linker.size, "ld-linux", 8) != NULL ? SXT_RECORDABLE : SXT_RECORDABLE_NOT_LIBRARY;
}

/* "#!/bin/sh -e": the name between the blanks. */
static bool script_interpreter(const uint8_t *data, size_t size, char name[4096])
{
    size_t at = 2, end;
    while (at < size && (data[at] == ' ' || data[at] == '\t'))
        at++;
    for (end = at; end < size && end - at < 4095 && data[end] > ' '; end++)
        name[end - at] = (char)data[end];
    name[end - at] = 0;
    return end > at;
}

static enum sxt_recordable judge(const char *path, unsigned depth)
{
    struct sxt_file file;
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || depth > 4)
        return SXT_RECORDABLE;
    bool privileged = is_privileged(path, &status);
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return privileged ? SXT_RECORDABLE_NOT_PRIVILEGED : SXT_RECORDABLE;
    enum sxt_recordable result = SXT_RECORDABLE;
    char name[4096];
    if (file.size >= 4 && memcmp(file.data, ELFMAG, SELFMAG) == 0)
        result = privileged ? SXT_RECORDABLE_NOT_PRIVILEGED : judge_elf(file.data, file.size);
    else if (file.size > 2 && memcmp(file.data, "#!", 2) == 0 && script_interpreter(file.data, file.size, name))
        result = judge(name, depth + 1);
    sxt_file_close(&file);
    return result;
}

enum sxt_recordable sxt_recordable(const char *path)
{
    return judge(path, 0);
}
