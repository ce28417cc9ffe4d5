/*
 * fuzz_otlp.c: any bytes as an OTLP message. What can be read is given lines by a source that answers for some
 * addresses, written and read again: then the lines are there, and giving it lines again changes nothing. Where nothing
 * is known, the very bytes come out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"
#include "profile/otlp.h"
#include "profile/profile.h"
#include "property.h"

#define OUTPUT_MAX ((size_t)64 << 20)

static int find(void *data, const struct sxt_otlp_ids *ids, void **binary, const sxt_archive **archive,
                sxt_error *error)
{
    (void)archive;
    (void)error;
    *binary = ids->build_id.size + ids->file_id.size > 0 ? data : NULL;
    return SXT_OK;
}

/* All addresses have frames, so that nothing is left for a second time. */
static int look_up(void *data, void *binary, const uint64_t *addresses, size_t count, bool are_offsets,
                   sxt_otlp_answer *answer, void *answer_data, sxt_error *error)
{
    static const sxt_frame frames[] = {
        {.function = {"_ZN1a1bEv", 9}, .file = {"a.c", 3}, .line = 7},
        {.function = {"ma\xffin", 5}},
        {.function = {"\"\\\n", 3}, .file = {"\xe2\x82\xac", 3}, .line = 1},
    };
    int status = SXT_OK;
    (void)data;
    (void)binary;
    (void)are_offsets;
    (void)error;
    for (size_t i = 0; i < count && status == SXT_OK; i++)
        status = answer(answer_data, i, frames, 1 + addresses[i] % 3);
    return status;
}

static void release(void *data, void *binary)
{
    SXT_HOLDS(data == binary);
}

static void check_filled(const uint8_t *data, size_t size)
{
    int token = 0;
    const struct sxt_otlp_source source = {&token, find, look_up, release};
    sxt_profile_report report = {0}, again = {0};
    struct sxt_buffer once, twice;
    bool is_json = sxt_otlp_is_json(data, size);
    sxt_error error;
    sxt_buffer_init(&once, OUTPUT_MAX);
    sxt_buffer_init(&twice, OUTPUT_MAX);
    int status = sxt_otlp_fill(data, size, is_json, &source, &once, &report, &error);
    SXT_HOLDS(status == SXT_OK || error.text[0] != 0);
    if (status == SXT_OK) {
        SXT_HOLDS(sxt_otlp_fill(once.data, once.size, is_json, &source, &twice, &again, &error) == SXT_OK);
        SXT_HOLDS(again.locations == report.locations);
        /* A second dictionary or key of version 1.7 may show what the first reading could not know. */
        SXT_HOLDS(again.symbolized == 0 && again.kept == report.kept + report.symbolized);
        SXT_HOLDS(twice.size == once.size && (once.size == 0 || memcmp(once.data, twice.data, once.size) == 0));
        if (report.symbolized == 0)
            SXT_HOLDS(once.size == size && (size == 0 || memcmp(once.data, data, size) == 0));
    }
    sxt_buffer_free(&once);
    sxt_buffer_free(&twice);
}

/* As the program does it, without any file. */
static void check_nothing_found(const uint8_t *data, size_t size)
{
    sxt_modules_options where;
    sxt_profile_options options;
    sxt_modules *modules;
    void *out;
    size_t out_size;
    sxt_modules_options_init(&where);
    where.no_local = true;
    sxt_profile_options_init(&options);
    options.inflate_limit = OUTPUT_MAX;
    options.kind = SXT_PROFILE_OTLP;
    SXT_HOLDS(sxt_modules_open(&where, &modules, NULL) == SXT_OK);
    int status = sxt_profile_symbolize(modules, data, size, &options, &out, &out_size, NULL, NULL);
    SXT_HOLDS(status == SXT_OK || out == NULL);
    if (status == SXT_OK && sxt_compression_of(data, size) == SXT_COMPRESSION_NONE)
        SXT_HOLDS(out_size == size && (size == 0 || memcmp(out, data, size) == 0));
    sxt_free(out);
    sxt_modules_close(&modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_filled(data, size);
    check_nothing_found(data, size);
    return 0;
}
