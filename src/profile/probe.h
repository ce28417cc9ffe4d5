/* probe.h: what an ELF file is, without reading its symbols: whose it is, what is in it, where it is loaded. */
#ifndef SXT_PROFILE_PROBE_H
#define SXT_PROFILE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "profile/layout.h"

#define SXT_PROBE_ID_MAX 64

struct sxt_probe {
    bool is_elf;
    bool has_code;    /* not a debug file, whose code was left out */
    bool has_symbols; /* .symtab */
    bool has_dwarf;
    uint8_t build_id[SXT_PROBE_ID_MAX];
    size_t build_id_size;
};

/* What cannot be read, or is no ELF file, has is_elf false. LAYOUT may be NULL; it is filled when it is an ELF file. */
void sxt_probe_path(const char *path, struct sxt_probe *probe, struct sxt_layout *layout);

#endif
