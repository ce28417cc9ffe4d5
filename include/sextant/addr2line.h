/*
 * sextant/addr2line.h: the answers of GNU addr2line.
 *
 * GNU addr2line picks compilation units, functions and names by its own rules (see docs/addr2line.md), which differ
 * from those of sextant/archive.h. They apply to ELF files; an archive gives the answers of sextant/archive.h.
 * sxt_addr2line_load reads what the given addresses need, on several threads, and keeps it. One thread at a time may
 * use an sxt_addr2line.
 *
 *     sxt_addr2line_frame frame = SXT_ADDR2LINE_FRAME_INIT;
 *     if (sxt_addr2line_load(addr2line, &address, 1, &error) == SXT_OK &&
 *         sxt_addr2line_find(addr2line, address, &frame))
 *         do
 *             print(&frame);
 *         while (sxt_addr2line_caller(addr2line, &frame));
 */
#ifndef SEXTANT_ADDR2LINE_H
#define SEXTANT_ADDR2LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/export.h>
#include <sextant/string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sxt_addr2line sxt_addr2line;

typedef struct sxt_addr2line_options {
    size_t struct_size;    /* set by sxt_addr2line_options_init */
    const char *section;   /* addresses are offsets in this section of an ELF file; NULL: virtual addresses */
    const char *style;     /* of demangling: "auto", "gnu-v3", "rust" ...; NULL: auto */
    bool no_nesting_limit; /* demangle names however deep they nest */
    unsigned threads;      /* the most threads; 0: see sxt_extract_options */
    uintptr_t reserved[4];
} sxt_addr2line_options;

SXT_API void sxt_addr2line_options_init(sxt_addr2line_options *options);

/* The strings live as long as the sxt_addr2line. */
typedef struct sxt_addr2line_frame {
    size_t struct_size;  /* set by SXT_ADDR2LINE_FRAME_INIT */
    sxt_string function; /* as linked; absent if unknown */
    sxt_string file;     /* absent if unknown */
    uint32_t line;       /* 0 if unknown */
    uint32_t discriminator;
} sxt_addr2line_frame;

/* clang-format off */
#define SXT_ADDR2LINE_FRAME_INIT {sizeof(sxt_addr2line_frame), {NULL, 0}, {NULL, 0}, 0, 0}
/* clang-format on */

/*
 * Opens the ELF file or archive at PATH. OPTIONS may be NULL, and are not needed after the call. On failure *OUT is
 * NULL. SXT_ERROR_NOT_FOUND if the file has no section of the given name, SXT_ERROR_USAGE for an unknown style.
 */
SXT_API int sxt_addr2line_open(const char *path, const sxt_addr2line_options *options, sxt_addr2line **out,
                               sxt_error *error);

/* Frees *ADDR2LINE and sets it to NULL. *ADDR2LINE may be NULL. */
SXT_API void sxt_addr2line_close(sxt_addr2line **addr2line);

/* Whether STYLE is the name of a demangling style. */
SXT_API bool sxt_addr2line_knows_style(const char *style);

/* The number of hexadecimal digits of an address: 8 or 16. */
SXT_API unsigned sxt_addr2line_digits(const sxt_addr2line *addr2line);

/* Parses WORD as an address: hexadecimal digits, or a symbol with or without "+OFFSET"; 0 for anything else. */
SXT_API uint64_t sxt_addr2line_address(sxt_addr2line *addr2line, const char *word);

/* Reads what COUNT addresses need, on several threads. */
SXT_API int sxt_addr2line_load(sxt_addr2line *addr2line, const uint64_t *addresses, size_t count, sxt_error *error);

/* The innermost frame at ADDRESS, which must have been loaded; false if unknown. */
SXT_API bool sxt_addr2line_find(sxt_addr2line *addr2line, uint64_t address, sxt_addr2line_frame *frame);

/* The frame that the last frame returned was inlined into; false if that frame was the outermost. */
SXT_API bool sxt_addr2line_caller(sxt_addr2line *addr2line, sxt_addr2line_frame *frame);

/* NAME demangled, or NAME itself if it is not mangled. Valid until the next call. */
SXT_API sxt_string sxt_addr2line_demangle(sxt_addr2line *addr2line, sxt_string name);

#ifdef __cplusplus
}
#endif

#endif
