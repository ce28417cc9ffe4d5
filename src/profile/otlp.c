/* otlp.c: OTLP messages of either form are read, filled and written. */
#include "profile/otlp.h"

#include <string.h>

#include "base/error.h"
#include "base/json_reader.h"
#include "base/protobuf.h"
#include "profile/fill.h"
#include "profile/otlp_message.h"

/*
 * Records of a table. An empty record takes two bytes and many more in memory: a message with more of them was made to
 * exhaust memory. A service has less of it to give away than a program that one person runs.
 */
#define RECORDS_MAX         ((size_t)1 << 24)
#define RECORDS_MAX_SERVICE ((size_t)1 << 20)

bool sxt_otlp_is_json(const void *data, size_t size)
{
    const char *text = data;
    size_t at = 0;
    while (at < size && memchr(" \t\r\n", text[at], 4) != NULL)
        at++;
    return at < size && text[at] == '{';
}

/* Whether there are fields and all are submessages or texts, as in resource profiles and dictionaries. */
static bool has_only_messages(struct sxt_cursor message)
{
    bool is_so = message.size > 0;
    for (struct sxt_protobuf_field field; is_so && sxt_protobuf_next(&message, &field);)
        is_so = field.wire == SXT_PROTOBUF_BYTES || field.number > 16;
    return is_so && !message.failed;
}

/*
 * pprof has sample types in field 1 and samples in field 2, whose fields are numbers, and strings in field 6. A sample
 * may have packed numbers only, but a profile with samples has strings.
 */
bool sxt_otlp_is_message(const void *data, size_t size)
{
    struct sxt_cursor message = sxt_cursor_make(data, size, 0, false);
    bool has_any = false;
    for (struct sxt_protobuf_field field; sxt_protobuf_next(&message, &field);) {
        if (field.number > 2 && field.number < 15)
            return false;
        if (field.number > 2 || (field.wire == SXT_PROTOBUF_BYTES && field.size == 0))
            continue;
        if (field.wire != SXT_PROTOBUF_BYTES || !has_only_messages(sxt_protobuf_inside(&message, &field)))
            return false;
        has_any = true;
    }
    return has_any && !message.failed;
}

/* One message. */
static int fill(struct sxt_otlp *otlp, bool is_json, struct sxt_modules *modules, const struct sxt_otlp_source *source,
                const sxt_profile_options *options, struct sxt_buffer *out, sxt_profile_report *report,
                sxt_error *error)
{
    struct sxt_pprof *profile = &otlp->profile;
    const uint64_t none[3] = {0};
    int status = is_json ? sxt_otlp_read_json(otlp, error) : sxt_otlp_read_protobuf(otlp, error);
    otlp->table_functions = profile->function_count;
    /* Function 0 means none. */
    if (status == SXT_OK && profile->function_count == 0)
        status = sxt_otlp_take_function(otlp, none, false, error);
    size_t before = profile->function_count;
    if (status == SXT_OK)
        status = sxt_fill_lines(profile, modules, source, options, report, error);
    if (status != SXT_OK)
        return status;
    report->functions += profile->function_count - before;
    return is_json ? sxt_otlp_write_json(otlp, out, error) : sxt_otlp_write_protobuf(otlp, out, error);
}

static int fill_message(const void *data, size_t size, bool is_json, size_t most, struct sxt_modules *modules,
                        const struct sxt_otlp_source *source, const sxt_profile_options *options,
                        struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_otlp otlp;
    sxt_error problem;
    sxt_error_clear(&problem);
    int status = sxt_otlp_init(&otlp, data, size, most, &problem);
    if (status == SXT_OK)
        status = fill(&otlp, is_json, modules, source, options, out, report, &problem);
    sxt_otlp_free(&otlp);
    if (status != SXT_OK && error != NULL)
        *error = problem;
    return status;
}

int sxt_otlp_fill(const void *data, size_t size, bool is_json, const struct sxt_otlp_source *source,
                  struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    sxt_profile_report unused = {.struct_size = sizeof unused};
    sxt_profile_options options;
    sxt_modules *modules;
    sxt_profile_options_init(&options);
    int status = sxt_modules_open(NULL, &modules, error);
    if (status == SXT_OK)
        status = fill_message(data, size, is_json, RECORDS_MAX_SERVICE, modules, source, &options, out,
                              report != NULL ? report : &unused, error);
    sxt_modules_close(&modules);
    return status;
}

/* A collector writes one message a line. */
static int symbolize_json(sxt_modules *modules, const char *text, size_t size, const sxt_profile_options *options,
                          struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_arena arena;
    struct sxt_json_reader reader;
    sxt_arena_init(&arena, 0, false);
    int status = sxt_json_reader_init(&reader, "not an OTLP message", text, size, &arena, error);
    reader.replace_surrogates = true;
    for (size_t at = 0; status == SXT_OK && at < size;) {
        status = sxt_json_read_skip(&reader, NULL);
        size_t end = reader.position;
        /* White space at the end, or what is not a message and will be reported. */
        if (!sxt_otlp_is_json(text + end, size - end))
            end = size;
        if (status == SXT_OK)
            status = fill_message(text + at, end - at, true, RECORDS_MAX, modules, NULL, options, out, report, error);
        if (status != SXT_OK && error != NULL && error->offset != SXT_NO_OFFSET && reader.position > at && at > 0)
            error->offset += at;
        at = end;
    }
    sxt_arena_free(&arena);
    return status;
}

int sxt_otlp_symbolize(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *options,
                       struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    if (sxt_otlp_is_json(data, size))
        return symbolize_json(modules, data, size, options, out, report, error);
    return fill_message(data, size, false, RECORDS_MAX, modules, NULL, options, out, report, error);
}
