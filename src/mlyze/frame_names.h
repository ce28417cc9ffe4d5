/*
 * frame_names.h: numbers for the names of frames, so that frames are compared by what is shown of them. Ids are not
 * enough: several may have the same text. Each name is looked at once, however many frames have it.
 */
#ifndef SXT_MLYZE_FRAME_NAMES_H
#define SXT_MLYZE_FRAME_NAMES_H

#include "base/strings.h"
#include "mlyze/mlyze.h"

/* Begins as {0}. For one thread at a time. */
struct sxt_frame_names {
    const struct sxt_mlyze_metadata *metadata;
    bool shortens; /* names are those of sxt_trace_shorten_name */
    bool no_memory;
    struct sxt_strings strings;
    uint32_t *functions, *files, *bases;  /* by place in the metadata: number of the text; 0: not known yet */
    uint8_t *function_kinds, *file_kinds; /* by place: kind + 1; 0: not known yet */
    char *scratch;
    size_t scratch_capacity;
};

int sxt_frame_names_init(struct sxt_frame_names *names, const struct sxt_mlyze_metadata *metadata, bool shortens,
                         sxt_error *error);
void sxt_frame_names_free(struct sxt_frame_names *names);

/* Numbers of the texts: of the function, of the file, and of the file without its folder. */
uint32_t sxt_frame_names_function(struct sxt_frame_names *names, uint32_t id);
uint32_t sxt_frame_names_file(struct sxt_frame_names *names, uint32_t id);
uint32_t sxt_frame_names_base(struct sxt_frame_names *names, uint32_t id);

/* See frame_kind.h. */
unsigned sxt_frame_names_kind(struct sxt_frame_names *names, const struct sxt_mlyze_frame *frame);

#endif
