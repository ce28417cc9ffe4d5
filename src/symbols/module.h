/*
 * module.h: facts about the binary that addresses belong to. Archives keep them, so that offsets in the binary can be
 * turned into addresses without it, and so that an archive is found by the identity of its binary.
 *
 * Formats store them in one encoding, version 1. All integers are little-endian:
 *
 *     0x00 2  flags: 1 relocatable, 2 the offsets are not those of the binary
 *     0x02 1  size of the build ID, at most 64
 *     0x03 1  size of the FileID, 0 or 16
 *     0x04 2  size of the architecture's name
 *     0x06 2  0
 *     0x08 4  size of the path
 *     0x0c 4  segments
 *     0x10 8  relocatable: where .text was laid out; otherwise 0
 *     0x18    segments, 40 bytes each: offset (8), size in the file (8), address (8), size in memory (8), flags (4), 0
 * (4) build ID, FileID, architecture, path
 *
 * Later versions of sextant may add bytes at the end; a reader ignores them.
 */
#ifndef SXT_SYMBOLS_MODULE_H
#define SXT_SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>

#include "base/buffer.h"
#include "base/file_id.h"

#define SXT_BUILD_ID_MAX     64
#define SXT_ARCH_ROOM        24
#define SXT_MODULE_ITEMS_MAX 65536 /* a file with more is stored without them */
#define SXT_MODULE_PATH_MAX  65535
#define SXT_MODULE_FIXED     0x18
#define SXT_MODULE_ITEM_SIZE 40

/* A part of the file that is loaded: a PT_LOAD segment, or a section of a relocatable file. */
struct sxt_model_segment {
    uint64_t offset; /* in the file */
    uint64_t file_size;
    uint64_t address;
    uint64_t memory_size;
    uint32_t flags; /* PF_R, PF_W and PF_X of ELF */
};

/* All zero: nothing is known. */
struct sxt_model_module {
    struct sxt_model_segment *segments;
    size_t segment_count, segment_capacity;
    char *path;               /* as the user gave it; NULL if unknown */
    char arch[SXT_ARCH_ROOM]; /* "" if unknown */
    uint8_t build_id[SXT_BUILD_ID_MAX];
    size_t build_id_size;
    uint8_t file_id[SXT_FILE_ID_SIZE];
    bool has_file_id;
    bool is_relocatable;
    bool no_offsets;   /* made from a debug file: its offsets are not those of the binary */
    bool is_ambiguous; /* several different modules were merged; nothing is kept then */
    uint64_t text;     /* relocatable: where .text was laid out */
};

void sxt_module_free(struct sxt_model_module *module);

/* Whether anything is known. */
bool sxt_module_is_known(const struct sxt_model_module *module);

/* False when memory is short. */
bool sxt_module_add_segment(struct sxt_model_module *module, const struct sxt_model_segment *segment);

/* Appends the encoding, with PATH (may be NULL) in place of the path of the module. */
void sxt_module_encode(const struct sxt_model_module *module, const char *path, struct sxt_buffer *out);

/* Reads an encoding, at OFFSET of a file, into *OUT, which the caller frees even after a failure. */
int sxt_module_decode(const uint8_t *data, size_t size, uint64_t offset, struct sxt_model_module *out,
                      sxt_error *error);

/*
 * Adds what FROM knows to INTO: both describe parts of one binary. If they contradict each other, INTO knows nothing
 * from then on. False when memory is short.
 */
bool sxt_module_merge(struct sxt_model_module *into, const struct sxt_model_module *from);

/* The address where OFFSET of the file is loaded. False if no segment has it. */
bool sxt_module_address_of(const struct sxt_model_module *module, uint64_t offset, uint64_t *address);

#endif
