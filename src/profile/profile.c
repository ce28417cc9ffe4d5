/* profile.c: a profile of any kind, plain or compressed, is symbolized as a whole. */
#include "profile/profile.h"

#include "base/error.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/inflate.h"
#include "base/options.h"
#include "base/output.h"
#include "profile/fill.h"

#define INFLATE_LIMIT ((uint64_t)512 << 20)
/* Names may make a profile several times as large. */
#define OUTPUT_MAX ((size_t)4 << 30)

const char *sxt_unresolved_text(sxt_unresolved reason)
{
    static const char *const texts[SXT_UNRESOLVED_KINDS] = {
        [SXT_UNRESOLVED_MAPPING] = "without a mapping",
        [SXT_UNRESOLVED_FILE] = "no file found",
        [SXT_UNRESOLVED_BUILD_ID] = "only a file with another build ID found",
        [SXT_UNRESOLVED_DAMAGED] = "file cannot be read",
        [SXT_UNRESOLVED_OUTSIDE] = "not loaded from the file",
        [SXT_UNRESOLVED_UNKNOWN] = "no symbol there",
        [SXT_UNRESOLVED_SEGMENTS] = "segments of the file unknown",
        [SXT_UNRESOLVED_NOT_NATIVE] = "not native code",
    };
    return (size_t)reason < SXT_UNRESOLVED_KINDS ? texts[reason] : "unknown reason";
}

void sxt_profile_options_init(sxt_profile_options *options)
{
    *options = (sxt_profile_options){.struct_size = sizeof *options, .inflate_limit = INFLATE_LIMIT};
}

static int symbolize_pprof(sxt_modules *modules, const struct sxt_file *file, const sxt_profile_options *options,
                           struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_pprof pprof;
    int status = sxt_pprof_read(&pprof, file->data, file->size, error);
    if (status != SXT_OK)
        return status;
    status = sxt_fill_lines(&pprof, modules, NULL, options, report, error);
    if (status == SXT_OK) {
        report->functions = pprof.function_count;
        sxt_pprof_order_choices(&pprof);
        status = sxt_pprof_write(&pprof, out, error);
    }
    sxt_pprof_free(&pprof);
    return status;
}

/* Appends the plain profile in DATA to OUT, with lines in its locations. */
static int symbolize(sxt_modules *modules, const struct sxt_file *file, const sxt_profile_options *options,
                     struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    bool is_otlp = options->kind == SXT_PROFILE_OTLP;
    if (options->kind == SXT_PROFILE_ANY)
        is_otlp = sxt_otlp_is_json(file->data, file->size) || sxt_otlp_is_message(file->data, file->size);
    if (is_otlp)
        return sxt_otlp_symbolize(modules, file->data, file->size, options, out, report, error);
    return symbolize_pprof(modules, file, options, out, report, error);
}

static int compress(struct sxt_buffer *plain, sxt_error *error)
{
    struct sxt_buffer packed;
    sxt_buffer_init(&packed, OUTPUT_MAX);
    int status = sxt_gzip_fast(plain->data, plain->size, &packed, error);
    sxt_buffer_free(plain);
    *plain = packed;
    return status;
}

/* Inflates, symbolizes and compresses DATA into OUT. */
static int symbolize_memory(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *given,
                            struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    sxt_profile_options options;
    sxt_profile_report found = {.struct_size = sizeof found};
    struct sxt_file file;
    sxt_profile_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_profile_options_init", error);
    if (status != SXT_OK)
        return status;
    bool is_gzip = sxt_compression_of(data, size) == SXT_COMPRESSION_GZIP;
    sxt_file_from_memory(&file, data, size);
    sxt_error problem;
    status = sxt_file_inflate(&file, options.inflate_limit, &problem);
    if (status == SXT_ERROR_LIMIT)
        status = sxt_fail_reason(error, SXT_ERROR_LIMIT, SXT_REASON_INFLATE_LIMIT, SXT_NO_OFFSET,
                                 "expands to more than %llu MiB", (unsigned long long)(options.inflate_limit >> 20));
    else if (status != SXT_OK && error != NULL)
        *error = problem;
    if (status == SXT_OK)
        status = symbolize(modules, &file, &options, out, &found, error);
    if (status == SXT_OK && (options.form == SXT_PROFILE_GZIP || (options.form == SXT_PROFILE_AS_INPUT && is_gzip)))
        status = compress(out, error);
    sxt_file_close(&file);
    if (report != NULL)
        sxt_result_give(report, &found, sizeof found);
    return status;
}

int sxt_profile_symbolize(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *options,
                          void **out, size_t *out_size, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_buffer profile;
    sxt_buffer_init(&profile, OUTPUT_MAX);
    int status = symbolize_memory(modules, data, size, options, &profile, report, error);
    if (status != SXT_OK)
        sxt_buffer_free(&profile);
    *out = sxt_buffer_take(&profile, out_size);
    return status;
}

int sxt_profile_symbolize_fd(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *options,
                             int fd, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_buffer profile;
    sxt_buffer_init(&profile, OUTPUT_MAX);
    int status = symbolize_memory(modules, data, size, options, &profile, report, error);
    if (status == SXT_OK)
        status = sxt_write_all(fd, profile.data, profile.size, error);
    sxt_buffer_free(&profile);
    return status;
}
