/*
 * otlp.h: OTLP profiles (opentelemetry.proto.profiles.v1development), as protobuf and as JSON, given lines.
 *
 * Nothing in a message changes but its dictionary: locations get lines, new functions and strings come after the
 * others of their tables. Everything else is copied byte for byte.
 */
#ifndef SXT_PROFILE_OTLP_H
#define SXT_PROFILE_OTLP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/archive.h>
#include <sextant/profile.h>

#include "base/buffer.h"

/* What a mapping says about its binary; a string may be absent. */
struct sxt_otlp_ids {
    sxt_string build_id; /* GNU build ID in hexadecimal, or what follows from that of Go */
    sxt_string file_id;  /* htlhash */
};

/* The frames of address INDEX, innermost first. Anything but SXT_OK ends the lookups. */
typedef int sxt_otlp_answer(void *data, size_t index, const sxt_frame *frames, size_t count);

/* Where the frames come from. */
struct sxt_otlp_source {
    void *data;
    /*
     * Finds a binary; *BINARY stays NULL if it is unknown. *ARCHIVE may be set to an archive of it, which shows how
     * its segments are loaded.
     */
    int (*find)(void *data, const struct sxt_otlp_ids *ids, void **binary, const sxt_archive **archive,
                sxt_error *error);
    /* Calls ANSWER for each address: virtual ones, or offsets in the file. */
    int (*look_up)(void *data, void *binary, const uint64_t *addresses, size_t count, bool are_offsets,
                   sxt_otlp_answer *answer, void *answer_data, sxt_error *error);
    void (*release)(void *data, void *binary);
};

/* Is this JSON? Otherwise it is protobuf. */
bool sxt_otlp_is_json(const void *data, size_t size);

/* Is this an OTLP message, and not a pprof profile? Both are protobuf without a marker. */
bool sxt_otlp_is_message(const void *data, size_t size);

/*
 * Appends the message in DATA, which is not compressed, to OUT, with lines in the locations that SOURCE has frames of.
 * REPORT may be NULL; what it has is added to. Offsets in errors count from the first byte of DATA.
 */
int sxt_otlp_fill(const void *data, size_t size, bool is_json, const struct sxt_otlp_source *source,
                  struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error);

/* The same with files and symbol services. JSON may have several messages, one after another. */
int sxt_otlp_symbolize(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *options,
                       struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error);

#endif
