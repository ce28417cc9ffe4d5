/*
 * text_kernel.h: the lines of a kernel: symbols with offsets, bare addresses, and where the kernel was loaded.
 *
 * A kernel is loaded at an offset that it chooses when it starts. It prints the offset at the end of a panic; a line
 * with both an address and a symbol gives it as well. Without either, addresses are taken as linked.
 */
#ifndef SXT_PROFILE_TEXT_KERNEL_H
#define SXT_PROFILE_TEXT_KERNEL_H

#include "profile/kernel_symbols.h"
#include "profile/modules.h"

/* Where the running kernel is. */
struct sxt_text_kernel {
    bool has_bias; /* from a line with an address and a symbol: */
    uint64_t bias; /* to subtract from an address */
    bool has_offset;
    uint64_t offset, from; /* as the kernel prints them: moved by OFFSET, linked at FROM (0 if unknown) */
};

/* What is known of the kernel or a kernel module in addition to its files. Zero at first. */
struct sxt_text_kernel_module {
    struct sxt_kernel_symbols *symbols; /* NULL until they are needed; the owner frees them */
    bool is_other_build;                /* its sizes differ from those in the text, which has been reported */
    bool has_twins;                     /* functions could not be told apart, which has been reported */
};

/*
 * Reads what a line says about where the kernel was loaded: "Kernel Offset: 0x1a600000 from 0xffffffff81000000", or
 * that a kernel has started.
 */
void sxt_text_kernel_note(struct sxt_text_kernel *kernel, const char *line, size_t size);

/*
 * The virtual address that a match with a symbol means; false if unknown. IN_MODULE is the kernel module, if ARCHIVE
 * has the symbols of the kernel and of all modules; otherwise it is empty.
 */
bool sxt_text_kernel_place(struct sxt_text_kernel *kernel, const struct sxt_modules *modules,
                           const struct sxt_module *module, struct sxt_text_kernel_module *known,
                           const sxt_archive *archive, const struct sxt_text_match *match, sxt_string in_module,
                           uint64_t *out);

/* The virtual address that an address of the running kernel means; false if it is outside of the file. */
bool sxt_text_kernel_place_address(const struct sxt_text_kernel *kernel, const struct sxt_layout *layout,
                                   uint64_t address, uint64_t *out);

#endif
