/*
 * otlp_message.h: an OTLP message that was read, from protobuf or JSON. Private to this room.
 *
 *     ProfilesData   1 resource profiles  2 dictionary                 (ExportProfilesServiceRequest is the same)
 *     Dictionary     1 mappings  2 locations  3 functions  4 links  5 strings  6 attributes  7 stacks
 *     Mapping        1 start  2 limit  3 file offset  4 file name  5 attributes
 *     Location       1 mapping  2 address  3 lines, the innermost inlined call first  4 attributes
 *     Line           1 function  2 line  3 column
 *     Function       1 name  2 system name  3 file name  4 start line
 *     Attribute      1 key  2 value {1 string, 8 index of a string}  3 unit
 *     Stack          1 locations, the leaf first
 *
 * References are indices in the tables, and 0 means none: the first record of each table is empty. That is version 1.8
 * to 1.11. Version 1.7 has attributes whose keys are strings, is_folded in field 4 of locations, no stacks, and 0 is an
 * index like any other:
 *
 *     ResourceProfiles {2 scope profiles {2 Profile}}
 *     Profile        2 samples  3 locations of all samples
 *     Sample         1 the first of its locations  2 how many
 *
 * What is read is kept in a struct sxt_pprof, whose ids are indices here. The functions of the message are the first
 * ones there, so that a function is not added again.
 */
#ifndef SXT_PROFILE_OTLP_MESSAGE_H
#define SXT_PROFILE_OTLP_MESSAGE_H

#include "base/arena.h"
#include "profile/otlp.h"
#include "profile/pprof.h"

/* What an attribute says, if it matters here. */
enum sxt_otlp_meaning {
    SXT_OTLP_NOTHING,
    SXT_OTLP_BUILD_ID,
    SXT_OTLP_FILE_ID,
    SXT_OTLP_GO_ID,
    SXT_OTLP_OTHER_CODE, /* the frame is not native */
};

struct sxt_otlp_attribute {
    enum sxt_otlp_meaning meaning;
    sxt_string value;
};

/* Where something is written in JSON: in place of the bytes from `at` to `end`, which may be none. */
struct sxt_otlp_place {
    size_t at, end;
    bool needs_key;   /* as a new member; otherwise as the value of one, or as elements */
    bool needs_comma; /* before it */
};

struct sxt_otlp {
    struct sxt_pprof profile;
    size_t most;            /* records of a table */
    size_t table_functions; /* functions that the message has */
    bool is_old;            /* version 1.7 */
    bool is_json;
    bool uses_snake;   /* JSON: keys are "mapping_index", not "mappingIndex" */
    bool has_line_key; /* JSON: a location has "line", as in version 1.7 */
    struct sxt_otlp_attribute *attributes;
    size_t attribute_count, attribute_capacity;

    /* Of the profile that is being read, in version 1.7. */
    uint32_t *indices;
    size_t index_count, index_capacity;
    int32_t *depths; /* how many more samples have this index as a caller than have the one before it */
    uint8_t *leaves; /* whether a sample begins there */

    /* JSON */
    struct sxt_arena arena;        /* strings with escapes */
    struct sxt_otlp_place *places; /* of the lines, by location */
    size_t place_capacity;
    struct sxt_otlp_place functions, strings; /* the ends of the tables */
};

/* --- filled by the readers, in this order: strings, attributes, functions, mappings, locations, stacks --- */

/* Free it also after a failure. */
int sxt_otlp_init(struct sxt_otlp *otlp, const void *data, size_t size, size_t most, sxt_error *error);
void sxt_otlp_free(struct sxt_otlp *otlp);

int sxt_otlp_take_attribute(struct sxt_otlp *otlp, sxt_string key, sxt_string value, sxt_error *error);

/* HAS_START: it has a line where it begins, which new functions do not have. */
int sxt_otlp_take_function(struct sxt_otlp *otlp, const uint64_t strings[3], bool has_start, sxt_error *error);

/* A new mapping, which is filled by the caller; NULL on failure. */
struct sxt_pprof_mapping *sxt_otlp_take_mapping(struct sxt_otlp *otlp, sxt_error *error);
void sxt_otlp_describe_mapping(const struct sxt_otlp *otlp, struct sxt_pprof_mapping *mapping, uint64_t attribute,
                               sxt_string *go_id);
int sxt_otlp_finish_mapping(struct sxt_otlp *otlp, struct sxt_pprof_mapping *mapping, sxt_string go_id,
                            sxt_error *error);

/* A new location; MAPPING of it is set by sxt_otlp_finish_location. */
struct sxt_pprof_location *sxt_otlp_take_location(struct sxt_otlp *otlp, sxt_error *error);
void sxt_otlp_describe_location(const struct sxt_otlp *otlp, struct sxt_pprof_location *location, uint64_t attribute);
void sxt_otlp_finish_location(const struct sxt_otlp *otlp, struct sxt_pprof_location *location, bool has_mapping,
                              uint64_t mapping);

/* Location INDEX, which may be out of range, is in a stack. */
void sxt_otlp_mark(struct sxt_otlp *otlp, uint64_t index, bool is_leaf);

/* Version 1.7: the indices of a profile, then its samples, then the end. */
int sxt_otlp_take_index(struct sxt_otlp *otlp, uint64_t index, sxt_error *error);
int sxt_otlp_begin_samples(struct sxt_otlp *otlp, sxt_error *error);
void sxt_otlp_take_sample(struct sxt_otlp *otlp, uint64_t start, uint64_t length);
void sxt_otlp_end_samples(struct sxt_otlp *otlp);

/* --- the two forms --- */

int sxt_otlp_read_protobuf(struct sxt_otlp *otlp, sxt_error *error);
int sxt_otlp_write_protobuf(const struct sxt_otlp *otlp, struct sxt_buffer *out, sxt_error *error);
int sxt_otlp_read_json(struct sxt_otlp *otlp, sxt_error *error);
int sxt_otlp_write_json(const struct sxt_otlp *otlp, struct sxt_buffer *out, sxt_error *error);

/* Whether anything was added. */
static inline bool sxt_otlp_is_changed(const struct sxt_otlp *otlp)
{
    return otlp->profile.line_count > 0;
}

#endif
