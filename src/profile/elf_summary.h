/* elf_summary.h: what an ELF file or an archive of one is and contains, without reading its symbols. */
#ifndef SXT_PROFILE_ELF_SUMMARY_H
#define SXT_PROFILE_ELF_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/layout.h"

#define SXT_ELF_SUMMARY_ID_MAX   64
#define SXT_ELF_SUMMARY_NAME_MAX 256

struct sxt_elf_summary {
    bool is_elf;
    bool has_code;    /* false in a debug file, whose code was removed */
    bool has_symbols; /* .symtab */
    bool has_dwarf;
    uint8_t build_id[SXT_ELF_SUMMARY_ID_MAX];
    size_t build_id_size;
    bool is_archive;                     /* a Lidia file or symbfile that has facts about its binary */
    uint8_t file_id[16];                 /* archive: of its binary, as build_id is */
    bool has_file_id;                    /* archive */
    char name[SXT_ELF_SUMMARY_NAME_MAX]; /* archive: the last component of the binary's path; "" if unknown */
};

/*
 * A file that cannot be read or is not an ELF file has is_elf false. LAYOUT, which may be NULL, is filled if it is one;
 * the facts of an archive are then not read.
 */
void sxt_elf_summary_read(const char *path, struct sxt_elf_summary *summary, struct sxt_layout *layout);

/* The same for an ELF file in memory. */
void sxt_elf_summary_of_memory(const void *data, size_t size, struct sxt_elf_summary *summary,
                               struct sxt_layout *layout);

#endif
