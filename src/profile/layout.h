/*
 * layout.h: from an address of a process to a virtual address of the file that is mapped there.
 *
 * A mapping says that the bytes at `offset` of a file are at `start` of memory. Rules, the first that applies:
 *
 * 1. start and offset are 0, and limit is 0 or all ones: the profiler has made the addresses file-relative already.
 * 2. The kernel: addresses are virtual ones, moved by where the kernel was put at boot. What a map calls the beginning
 *    (the address of _text in `[kernel.kallsyms]_text`, otherwise start) is compared with the lowest address of the
 *    file; the kernel moves in steps of 2 MiB.
 * 3. A relocatable file (a kernel module): start is where its .text is.
 * 4. An ELF file: address - start + offset is an offset in the file, and a segment tells the virtual address that is
 *    loaded from there. This is right for executables at fixed addresses, for PIE, libraries, prelinked or not, vdso.
 * 5. An archive or a debug file does not know segments of the file. If the mapping touches the addresses that it has,
 *    the file was loaded where it is linked, and addresses stay as they are; otherwise the virtual address is address -
 *    start + offset, as it is in files whose segments lie in memory as in the file. A debug file knows how large its
 *    code is: if that is the size of the mapping, the mapping is the code.
 * 6. Nothing is known of the file, and a service will be asked. The kernel's addresses stay as they are, and those of a
 *    file that is mapped below 4 GiB, where only files with fixed addresses are; otherwise it is as in rule 5.
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
    uint64_t first, end; /* addresses that there are */
};

struct sxt_layout_mapping {
    uint64_t start, limit, offset;
    sxt_string name;
};

/* False when memory is short. */
bool sxt_layout_of_elf(struct sxt_layout *layout, const struct sxt_elf *elf);

/* ARCHIVE is not asked again afterwards. */
void sxt_layout_of_archive(struct sxt_layout *layout, const sxt_archive *archive);
void sxt_layout_free(struct sxt_layout *layout);

/* Is it the kernel, by the name of its mapping? */
bool sxt_layout_is_kernel(sxt_string name);

/* False when nothing of the file is loaded at ADDRESS. */
bool sxt_layout_place(const struct sxt_layout *layout, const struct sxt_layout_mapping *mapping, uint64_t address,
                      uint64_t *out);

#endif
