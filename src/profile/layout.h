/*
 * layout.h: turns an address of a process into a virtual address of the file that is mapped there.
 *
 * A mapping says that the bytes at `offset` of a file are at `start` of memory. The first rule that applies is used:
 *
 * 1. start and offset are 0, and limit is 0 or all ones: the profiler has already made the addresses file-relative.
 * 2. The kernel: addresses are virtual ones plus the offset at which the kernel was placed at boot. The start (the
 *    address of _text in `[kernel.kallsyms]_text`, otherwise `start`) is compared with the lowest address of the file;
 *    the kernel moves in steps of 2 MiB.
 * 3. A relocatable file (a kernel module): start is where its .text is.
 * 4. An ELF file, or an archive that has the segments of its binary: address - start + offset is an offset in the file,
 *    and the segment with that offset gives the virtual address. This holds for executables at fixed addresses, PIE,
 *    libraries, prelinked or not, and the vdso.
 * 5. A debug file, and an archive of one, has the segments, but not their offsets; other archives have neither. If the
 *    mapping overlaps the addresses of the file, the file was loaded where it is linked, and addresses are unchanged.
 * If the code of a debug file has the size of the mapping, the mapping is the code. Otherwise the virtual address is
 *    address - start + offset, as in files whose segments are in memory as in the file: if the mapping begins with the
 *    file and has all of the code, if the code of a debug file would be mapped at this offset then, or if the user says
 *    so. If not, nothing is known.
 * 6. Nothing is known of the file, and a service will be asked. Addresses of the kernel, and of a file mapped below
 *    4 GiB, where only files with fixed addresses are, are unchanged; otherwise the offset in the file is all that is
 *    known.
 */
#ifndef SXT_PROFILE_LAYOUT_H
#define SXT_PROFILE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>

struct sxt_elf;

struct sxt_layout_segment {
    uint64_t offset, file_size;
    uint64_t address, memory_size;
};

struct sxt_layout {
    struct sxt_layout_segment *segments; /* of code first */
    size_t segment_count;
    size_t code_count;   /* segments of code */
    bool is_relocatable; /* rule 3, and then: */
    uint64_t text;       /* where .text was laid out */
    bool has_offsets;    /* rule 4 can be used */
    bool is_unknown;     /* rule 6 */
    bool assume_linear;  /* rule 5: the user says that segments are in memory as in the file */
    uint64_t first, end; /* the addresses of the file */
};

struct sxt_layout_mapping {
    uint64_t start, limit, offset;
    sxt_string name;
};

/* False when out of memory. */
bool sxt_layout_of_elf(struct sxt_layout *layout, const struct sxt_elf *elf);

/* ARCHIVE is needed only during the call. False when out of memory. */
bool sxt_layout_of_archive(struct sxt_layout *layout, const sxt_archive *archive);
void sxt_layout_free(struct sxt_layout *layout);

/* Whether the name of a mapping is that of the kernel. */
bool sxt_layout_is_kernel(sxt_string name);

/* Rule 4: the virtual address of an offset in the file. False if no segment has it, or none of the code. */
bool sxt_layout_place_offset(const struct sxt_layout *layout, uint64_t offset, uint64_t *out);
bool sxt_layout_place_code_offset(const struct sxt_layout *layout, uint64_t offset, uint64_t *out);

/* Whether an address was turned into a virtual address of the file. */
enum sxt_layout_answer {
    SXT_LAYOUT_NOT_LOADED,  /* nothing of the file is loaded there */
    SXT_LAYOUT_PLACED,      /* it was */
    SXT_LAYOUT_NO_SEGMENTS, /* rule 5: only the offset in the file is known */
};

/* *OUT is the virtual address; an offset in the file for SXT_LAYOUT_NO_SEGMENTS. */
enum sxt_layout_answer sxt_layout_place(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping,
                                        uint64_t address, uint64_t *out);

#endif
