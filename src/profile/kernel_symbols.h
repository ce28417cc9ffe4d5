/*
 * kernel_symbols.h: the symbols of a kernel or a kernel module, as the kernel itself prints them.
 *
 * An oops has lines like `vfs_read+0x2c/0x310 [ext4]`. The second number is not the size of the function: it is the
 * distance to the next symbol in the kernel's own table (kallsyms), which has labels, aliases and padding symbols. A
 * symbol table has all of them, so the number must be the distance to one of its symbols. An archive has functions
 * only, and a ksym blob may lack some types, so the number may be smaller than the distance that is known there. The
 * number chooses between static functions of the same name, and a number that fits none of them comes from another
 * kernel.
 */
#ifndef SXT_PROFILE_KERNEL_SYMBOLS_H
#define SXT_PROFILE_KERNEL_SYMBOLS_H

#include "archive/archive.h"
#include "profile/text_patterns.h"

struct sxt_kernel_symbols;

/* NULL if memory is short. */
struct sxt_kernel_symbols *sxt_kernel_symbols_read(const sxt_archive *archive);
void sxt_kernel_symbols_free(struct sxt_kernel_symbols **symbols);

enum sxt_kernel_fit {
    SXT_KERNEL_NO_NAME,    /* no symbol has the name, or the address or offset of MATCH contradicts it */
    SXT_KERNEL_OTHER_SIZE, /* symbols have the name, but none has the size that the text says */
    SXT_KERNEL_FITS
};

struct sxt_kernel_place {
    uint64_t address; /* what the line means */
    uint64_t size;    /* OTHER_SIZE: that of a symbol with the name */
};

#define SXT_KERNEL_PLACES_MAX 8

/*
 * The addresses that MATCH may mean, those that fit best; several if functions of one name and size cannot be told
 * apart. MODULE is the kernel module in a table of the whole kernel; empty for the kernel itself, and in the table of a
 * module. *COUNT is at most SXT_KERNEL_PLACES_MAX, or for OTHER_SIZE 1.
 */
enum sxt_kernel_fit sxt_kernel_symbols_place(const struct sxt_kernel_symbols *symbols,
                                             const struct sxt_text_match *match, sxt_string module,
                                             struct sxt_kernel_place places[SXT_KERNEL_PLACES_MAX], size_t *count);

#endif
