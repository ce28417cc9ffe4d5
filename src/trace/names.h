/* names.h: the metadata of a trace while it gets names: names.c finds them, names_write.c writes the new text. */
#ifndef SXT_TRACE_NAMES_H
#define SXT_TRACE_NAMES_H

#include "base/json_reader.h"
#include "trace/places.h"
#include "trace/trace.h"

#define SXT_NAMING_NO_PLACE UINT32_MAX

/* A loaded file. */
struct sxt_naming_module {
    sxt_string path, build_id;
    bool is_fine;
};

/* An entry of "unresolved", in the order of the text. */
struct sxt_naming_entry {
    size_t function_place; /* in the metadata */
    uint32_t module;
    uint64_t address; /* of the return */
    bool is_invalid;
};

/* Files or functions: those of the old metadata, and new ones. */
struct sxt_naming_table {
    const sxt_string *before; /* by place */
    const uint32_t *before_ids;
    size_t before_count;
    bool *is_used;             /* by place: it is still used */
    bool *is_gone;             /* by place: it is no longer used, and is dropped */
    struct sxt_strings *names; /* of the frames that were found */
    uint32_t *ids;             /* by number of a name */
    bool *is_new;              /* the same: it does not exist yet */
};

struct sxt_naming {
    const struct sxt_mlyze_metadata *metadata;
    const struct sxt_trace_name_source *source;
    struct sxt_naming_module *modules;
    size_t module_count;
    struct sxt_naming_entry *entries;
    size_t entry_count;
    struct sxt_places places;
    uint32_t *place_of; /* by place of a function in the metadata: where its frames are, or SXT_NAMING_NO_PLACE */
    uint32_t *chosen;   /* by node of a frame: the folded function it is of, or 0; NULL if no code is folded */
    struct sxt_naming_table files, functions;
};

/* The place whose frames replace FRAME; NULL if it stays. */
const struct sxt_place *sxt_naming_replacement(const struct sxt_naming *naming, const struct sxt_mlyze_frame *frame);

/* A decimal number below 2^32 - 1. */
bool sxt_naming_parse_id(sxt_string text, uint32_t *number);

/* A reader in the object that TEXT is. The text has been read as metadata, so it is well-formed. */
struct sxt_json_reader sxt_naming_open_text(sxt_string text, struct sxt_arena *arena);

/* Whether another member or element comes before CLOSE. */
bool sxt_naming_has_more(struct sxt_json_reader *reader, char close);

/* Appends the new metadata to JSON. TEXT is the old one. */
void sxt_naming_write(const struct sxt_naming *naming, sxt_string text, struct sxt_buffer *json);

#endif
