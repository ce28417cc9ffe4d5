/* recordable.c: whether the recorder can be loaded into a program. */
#include <sextant/record.h>

#include <elf.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"

#define NAME_MOST 256 /* of a library that is looked for */

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

/* Program headers of a 64-bit file. */
struct segments {
    const uint8_t *data, *table;
    size_t size, entry_size, count;
};

static struct segments segments_of(const uint8_t *data, size_t size)
{
    uint64_t table = sxt_load_u64le(data + 32);
    uint16_t entry_size = sxt_load_u16le(data + 54), count = sxt_load_u16le(data + 56);
    if (entry_size < sizeof(Elf64_Phdr) || !sxt_fits(table, count, entry_size, size))
        return (struct segments){.data = data, .size = size};
    return (struct segments){data, data + table, size, entry_size, count};
}

/* The bytes of the first segment of a type; absent if there is none. */
static sxt_string segment(const struct segments *segments, uint32_t type)
{
    for (size_t i = 0; i < segments->count; i++) {
        const uint8_t *at = segments->table + i * segments->entry_size;
        uint64_t offset = sxt_load_u64le(at + 8), length = sxt_load_u64le(at + 32);
        if (sxt_load_u32le(at) == type && length > 0 && sxt_fits(offset, length, 1, segments->size))
            return (sxt_string){(const char *)segments->data + offset, length};
    }
    return (sxt_string){NULL, 0};
}

/* The bytes of the file from an address on; absent if nothing is loaded there. */
static sxt_string bytes_at(const struct segments *segments, uint64_t address)
{
    for (size_t i = 0; i < segments->count; i++) {
        const uint8_t *at = segments->table + i * segments->entry_size;
        uint64_t offset = sxt_load_u64le(at + 8), start = sxt_load_u64le(at + 16), length = sxt_load_u64le(at + 32);
        if (sxt_load_u32le(at) == PT_LOAD && address >= start && address - start < length &&
            sxt_fits(offset, length, 1, segments->size))
            return (sxt_string){(const char *)segments->data + offset + (address - start), length - (address - start)};
    }
    return (sxt_string){NULL, 0};
}

/* Whether TEXT, a library's name or a list of them, names the runtime of a sanitizer. */
static bool is_sanitizer(const char *text, size_t size)
{
    static const char *const names[] = {"libasan.so",       "libtsan.so",       "liblsan.so",        "libhwasan.so",
                                        "libclang_rt.asan", "libclang_rt.tsan", "libclang_rt.hwasan"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (memmem(text, size, names[i], strlen(names[i])) != NULL)
            return true;
    return false;
}

/* Whether one of the libraries that it needs is the runtime of a sanitizer. */
static bool needs_sanitizer(const struct segments *segments)
{
    sxt_string dynamic = segment(segments, PT_DYNAMIC), names = {NULL, 0};
    for (size_t at = 0; dynamic.size - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn))
        if (sxt_load_u64le((const uint8_t *)dynamic.data + at) == DT_STRTAB)
            names = bytes_at(segments, sxt_load_u64le((const uint8_t *)dynamic.data + at + 8));
    for (size_t at = 0; dynamic.size - at >= sizeof(Elf64_Dyn); at += sizeof(Elf64_Dyn)) {
        uint64_t name = sxt_load_u64le((const uint8_t *)dynamic.data + at + 8);
        if (sxt_load_u64le((const uint8_t *)dynamic.data + at) != DT_NEEDED || name >= names.size)
            continue;
        size_t left = names.size - name;
        if (is_sanitizer(names.data + name, strnlen(names.data + name, left < NAME_MOST ? left : NAME_MOST)))
            return true;
    }
    return false;
}

static sxt_recordable check_elf(const uint8_t *data, size_t size)
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
    struct segments segments = segments_of(data, size);
    sxt_string linker = segment(&segments, PT_INTERP);
    if (linker.data == NULL)
        return SXT_RECORDABLE_STATIC;
    if (memmem(linker.data, linker.size, "ld-linux", 8) == NULL)
        return SXT_RECORDABLE_NOT_LIBRARY;
    return needs_sanitizer(&segments) ? SXT_RECORDABLE_SANITIZED : SXT_RECORDABLE;
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

static sxt_recordable judge(const char *path, unsigned depth)
{
    struct sxt_file file;
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode) || depth > 4)
        return SXT_RECORDABLE;
    bool privileged = is_privileged(path, &status);
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return privileged ? SXT_RECORDABLE_NOT_PRIVILEGED : SXT_RECORDABLE;
    sxt_recordable result = SXT_RECORDABLE;
    char name[4096];
    if (file.size >= 4 && memcmp(file.data, ELFMAG, SELFMAG) == 0)
        result = privileged ? SXT_RECORDABLE_NOT_PRIVILEGED : check_elf(file.data, file.size);
    else if (file.size > 2 && memcmp(file.data, "#!", 2) == 0 && script_interpreter(file.data, file.size, name))
        result = judge(name, depth + 1);
    sxt_file_close(&file);
    return result;
}

sxt_recordable sxt_check_recordable(const char *path, const char *preload)
{
    sxt_recordable result = judge(path, 0);
    if (result == SXT_RECORDABLE && preload != NULL && is_sanitizer(preload, strlen(preload)))
        return SXT_RECORDABLE_SANITIZED;
    return result;
}
