/* test_otlp.c: OTLP messages are given lines by a source, in both forms; and damaged ones. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/otlp.h"
#include "support/test.h"

/* Messages are short here, so every tag, length and number is one byte, unless it is written out. */
#define KEY "process.executable.build_id.gnu" /* 31 bytes */
#define STRINGS                                                                                                        \
    "\x2a\0\x2a\x1f" KEY "\x2a\2"                                                                                      \
    "ab"
#define ATTRIBUTES     "\x32\0\x32\6\x08\1\x12\2\x40\2" /* key 1, value: string 2 */
#define MAPPINGS       "\x0a\0\x0a\x09\x08\x10\x10\x50\x18\5\x2a\1\1"
#define ZERO_MAPPINGS  "\x0a\0\x0a\3\x2a\1\1"
#define LOCATIONS      "\x12\0\x12\4\x08\1\x10\x20\x12\4\x08\1\x10\x30"
#define STACK(indices) "\x3a\4\x0a\2" indices
#define DICTIONARY     MAPPINGS LOCATIONS STRINGS ATTRIBUTES STACK("\1\2")
#define BYTES(text)    (text), sizeof(text) - 1

/* A source that knows everything, and notes the questions. */
struct source {
    bool knows_nothing, fails;
    size_t finds, releases, asked;
    uint64_t addresses[16];
    bool are_offsets;
    sxt_string build_id, file_id;
};

static int find(void *data, const struct sxt_otlp_ids *ids, void **binary, const sxt_archive **archive,
                sxt_error *error)
{
    struct source *source = data;
    (void)archive;
    source->finds++;
    source->build_id = ids->build_id;
    source->file_id = ids->file_id;
    *binary = source->knows_nothing ? NULL : source;
    return source->fails ? sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "the store is away") : SXT_OK;
}

static int look_up(void *data, void *binary, const uint64_t *addresses, size_t count, bool are_offsets,
                   sxt_otlp_answer *answer, void *answer_data, sxt_error *error)
{
    static const sxt_frame frames[] = {{.function = {"in", 2}, .file = {"a.c", 3}, .line = 7},
                                       {.function = {"out", 3}, .line = 9}};
    struct source *source = data;
    int status = SXT_OK;
    (void)binary;
    (void)error;
    source->are_offsets = are_offsets;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        if (source->asked < 16)
            source->addresses[source->asked++] = addresses[i];
        status = answer(answer_data, i, frames, 2);
    }
    return status;
}

static void release(void *data, void *binary)
{
    struct source *source = data;
    (void)binary;
    source->releases++;
}

static int fill(struct source *state, const void *data, size_t size, struct sxt_buffer *out, sxt_profile_report *report,
                sxt_error *error)
{
    const struct sxt_otlp_source source = {state, find, look_up, release};
    sxt_buffer_init(out, (size_t)1 << 20);
    *report = (sxt_profile_report){0};
    return sxt_otlp_fill(data, size, sxt_otlp_is_json(data, size), &source, out, report, error);
}

/* The dictionary of a message as one submessage. */
static size_t wrap(char *to, const char *dictionary, size_t size)
{
    to[0] = 0x12;
    to[1] = (char)(size | 0x80);
    to[2] = (char)(size >> 7);
    memcpy(to + 3, dictionary, size);
    return size + 3;
}

TEST(a_source_is_asked_for_offsets_or_virtual_addresses)
{
    char message[512];
    sxt_profile_report report;
    struct sxt_buffer out;
    struct source state = {0};
    size_t size = wrap(message, BYTES(DICTIONARY));
    assert_int_equal(fill(&state, message, size, &out, &report, NULL), SXT_OK);
    sxt_buffer_free(&out);
    sxt_test_assert_text(state.build_id, "ab");
    assert_true(state.are_offsets);
    assert_int_equal(state.asked, 2);
    assert_int_equal(state.addresses[0], 0x20 - 0x10 + 5);
    assert_int_equal(state.addresses[1], 0x30 - 0x10 + 5 - 1); /* a caller */
    assert_int_equal(state.finds, 1);
    assert_int_equal(state.releases, 1);
    assert_int_equal(report.locations, 2);
    assert_int_equal(report.symbolized, 2);
    assert_int_equal(report.functions, 2);
    assert_int_equal(report.leaf_and_caller, 0);

    state = (struct source){0};
    size = wrap(message, BYTES(ZERO_MAPPINGS LOCATIONS STRINGS ATTRIBUTES STACK("\2\1") STACK("\1\2")));
    assert_int_equal(fill(&state, message, size, &out, &report, NULL), SXT_OK);
    sxt_buffer_free(&out);
    assert_false(state.are_offsets);
    assert_int_equal(state.addresses[0], 0x1f);
    assert_int_equal(state.addresses[1], 0x2f);
    assert_int_equal(report.leaf_and_caller, 2);
}

TEST(lines_functions_and_strings_are_added_in_the_order_of_fields)
{
    static const char expected[] = "\x12\xe7\1" MAPPINGS "\x12\0"
                                   "\x12\x10\x08\1\x10\x20\x1a\4\x08\1\x10\7\x1a\4\x08\2\x10\x09"
                                   "\x12\x10\x08\1\x10\x30\x1a\4\x08\1\x10\7\x1a\4\x08\2\x10\x09"
                                   "\x1a\0\x1a\6\x08\3\x10\3\x18\4\x1a\4\x08\5\x10\5" STRINGS "\x2a\2in\x2a\3"
                                   "a.c"
                                   "\x2a\3out" ATTRIBUTES STACK("\1\2");
    char message[512];
    sxt_profile_report report;
    struct sxt_buffer out;
    struct source state = {0};
    size_t size = wrap(message, BYTES(DICTIONARY));
    assert_int_equal(fill(&state, message, size, &out, &report, NULL), SXT_OK);
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(out.data + 3, expected + 3, out.size - 3);
    sxt_buffer_free(&out);
}

TEST(an_unknown_binary_leaves_the_message_as_it_is)
{
    char message[512];
    sxt_profile_report report;
    struct sxt_buffer out;
    sxt_error error;
    struct source state = {.knows_nothing = true};
    size_t size = wrap(message, BYTES(DICTIONARY));
    assert_int_equal(fill(&state, message, size, &out, &report, NULL), SXT_OK);
    assert_int_equal(out.size, size);
    assert_memory_equal(out.data, message, size);
    assert_int_equal(report.unresolved[SXT_UNRESOLVED_FILE], 2);
    assert_int_equal(state.releases, 0);
    sxt_buffer_free(&out);
    state = (struct source){.fails = true};
    assert_int_equal(fill(&state, message, size, &out, &report, &error), SXT_ERROR_IO);
    assert_string_equal(error.text, "the store is away");
    sxt_buffer_free(&out);
}

/* Many samples of version 1.7 that all have all locations take no longer than few. */
TEST(overlapping_samples)
{
    enum { COUNT = 200000, SAMPLE = 8 };
    static const char sample[SAMPLE] = "\x12\6\x08\0\x10\xff\xff\x03";
    char *message = malloc((size_t)COUNT * (SAMPLE + 1) + 64), *profile = message + 32;
    assert_non_null(message);
    size_t size = 0;
    for (size_t i = 0; i < COUNT; i++, size += SAMPLE)
        memcpy(profile + size, sample, SAMPLE);
    memcpy(profile + size, "\x1a\xc0\x9a\x0c", 4); /* 200,000 indices */
    memset(profile + size + 4, 1, COUNT);
    size += 4 + COUNT;
    /* scope profiles {profiles {}} in resource profiles: three headers with a length of four bytes */
    for (unsigned level = 0; level < 3; level++, size += 5) {
        profile -= 5;
        profile[0] = level == 2 ? 0x0a : 0x12;
        for (unsigned i = 0; i < 4; i++)
            profile[1 + i] = (char)((size >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
    }
    struct source state = {0};
    sxt_profile_report report;
    struct sxt_buffer out;
    const struct sxt_otlp_source source = {&state, find, look_up, release};
    sxt_buffer_init(&out, (size_t)8 << 20);
    assert_int_equal(sxt_otlp_fill(profile, size, false, &source, &out, &report, NULL), SXT_OK);
    assert_int_equal(out.size, size);
    sxt_buffer_free(&out);
    free(message);
}

static const char json[] =
    "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"samples\":[{\"stackIndex\":1}]}]}]}],"
    "\"dictionary\":{\"mappingTable\":[{},{\"memoryStart\":\"16\",\"memoryLimit\":80,\"attributeIndices\":[1]}],"
    "\"locationTable\":[{},{\"mappingIndex\":1,\"address\":\"32\"},"
    "{\"mappingIndex\":1,\"address\":\"48\",\"lines\":[]}],"
    "\"functionTable\":[{}],\"stringTable\":[\"\",\"" KEY "\",\"\\u00e9\"],"
    "\"attributeTable\":[{},{\"keyStrindex\":1,\"value\":{\"stringValue\":\"ab\"}}],"
    "\"stackTable\":[{},{\"locationIndices\":[1,2]}]}}";

/* Any byte may be changed or missing: there is an answer or an error, and what is written can be read. */
static void sweep(const char *data, size_t size)
{
    static const uint8_t values[] = {0, 1, 0x0a, 0x12, 0x22, 0x5b, 0x5d, 0x7b, 0x7d, 0x7f, 0x80, 0xff};
    sxt_profile_report report;
    struct sxt_buffer out, again;
    for (size_t at = 0; at < size; at++)
        for (size_t value = 0; value <= sizeof values; value++) {
            /* A copy on the heap, so that ASan sees a read beyond its end. */
            size_t kept = value < sizeof values ? size : at;
            char *copy = malloc(kept + 1);
            assert_non_null(copy);
            memcpy(copy, data, kept);
            if (value < sizeof values)
                copy[at] = (char)values[value];
            struct source state = {0};
            sxt_error error;
            int status = fill(&state, copy, kept, &out, &report, &error);
            assert_true(status == SXT_OK || error.text[0] != 0);
            assert_int_equal(state.releases, state.finds);
            if (status == SXT_OK) {
                assert_int_equal(fill(&state, out.data, out.size, &again, &report, NULL), SXT_OK);
                assert_int_equal(report.symbolized, 0);
                sxt_buffer_free(&again);
            }
            sxt_buffer_free(&out);
            free(copy);
        }
}

TEST(damaged_messages)
{
    char message[512];
    sweep(message, wrap(message, BYTES(DICTIONARY)));
    sweep(BYTES(json));
}

TEST(messages_are_told_from_profiles)
{
    char message[512];
    assert_true(sxt_otlp_is_message(message, wrap(message, BYTES(DICTIONARY))));
    assert_true(sxt_otlp_is_message(BYTES("\x0a\2\x12\0")));
    assert_false(sxt_otlp_is_message(BYTES("")));
    assert_false(sxt_otlp_is_message(BYTES("\x0a\0")));
    assert_false(sxt_otlp_is_message(BYTES("\x0a\4\x08\1\x10\2\x12\4\x0a\2\1\2\x32\0")));
    assert_false(sxt_otlp_is_message(BYTES("\x12\4\x0a\2\1")));
    assert_true(sxt_otlp_is_json(BYTES(" \n{")));
    assert_false(sxt_otlp_is_json(BYTES("[")));
    assert_false(sxt_otlp_is_json(BYTES("")));
}
