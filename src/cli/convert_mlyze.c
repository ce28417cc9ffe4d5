/* convert_mlyze.c: heap traces, plain to compressed and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive/archive.h"
#include "cli/heap.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "mlyze/mlyze.h"
#include "profile/profile.h"
#include "trace/trace.h"

bool cli_is_trace(const char *file)
{
    char path[4096], magic[4] = "";
    const char *at = strrchr(file, '@');
    bool is_moment = at != NULL && at != file && access(file, F_OK) != 0;
    size_t size = is_moment ? (size_t)(at - file) : strlen(file);
    if (size >= sizeof path || strcmp(file, "-") == 0)
        return false;
    memcpy(path, file, size);
    path[size] = 0;
    FILE *stream = fopen(path, "rbe");
    bool is_trace = stream != NULL && fread(magic, 1, sizeof magic, stream) == sizeof magic &&
                    sxt_mlyze_is((const uint8_t *)magic, sizeof magic);
    if (stream != NULL)
        fclose(stream);
    return is_trace;
}

static void warn_recovering(void *data, const char *path, const char *text)
{
    (void)data;
    cli_warn(path, "%s", text);
}

/* A spool of the recorder's becomes a trace; any other that was cut off loses what cannot be read. */
static int convert(const struct cli_arguments *arguments, const char *output, unsigned codec, bool recover)
{
    const char *input = arguments->words[0], *failed = input;
    uint64_t lost = 0;
    struct sxt_mlyze_oddities oddities = {0};
    struct cli_finishing finishing = {0};
    struct sxt_recover_options options = {.codec = codec, .warning = warn_recovering, .data = &finishing};
    sxt_error error;
    if (!cli_given(arguments, "quiet"))
        options.progress = cli_show_finishing;
    int status = sxt_trace_convert(input, output, &options, recover ? &lost : NULL, &oddities, &failed, &error);
    cli_end_finishing(&finishing);
    if (status != SXT_OK)
        return cli_fail(failed, &error);
    cli_warn_oddities(input, &oddities);
    if (lost > 0)
        cli_warn(input, "%llu bytes cannot be read, and were left out", (unsigned long long)lost);
    return CLI_DONE;
}

int cli_convert_mlyze(const struct cli_arguments *arguments)
{
    const char *output = cli_value(arguments, "output");
    bool compress = cli_given(arguments, "compress"), recover = cli_given(arguments, "recover");
    if (compress && cli_given(arguments, "decompress"))
        return cli_usage(arguments->verb, "--compress and --decompress contradict each other");
    if (arguments->word_count != 1)
        return cli_usage(arguments->verb, "one heap trace at a time");
    sxt_error error;
    int status = convert(arguments, output, compress ? SXT_MLYZE_COLUMNS : SXT_MLYZE_RAW, recover);
    if (status != CLI_DONE)
        return status;
    if (compress && sxt_trace_save_index(output, &error) != SXT_OK)
        return cli_fail(output, &error);
    return compress && strcmp(output, "-") != 0 ? cli_trace_save_states(output) : CLI_DONE;
}
