/* fileid.c: the identity by which the OpenTelemetry profiler knows a file. */
#include "cli/verbs.h"

static const struct cli_option options[] = {
    CLI_OPTION_JSON,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant fileid /usr/bin/bash", "hex, base64url, and the file's name"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_fileid = {
    .name = "fileid",
    .synopsis = "[OPTION...] FILE...",
    .summary = "print the FileID of files",
    .description = "The FileID names an executable by its first and last 4 KiB and its size, as the OpenTelemetry\n"
                   "profiler does. It is printed in hexadecimal and as base64url without padding.",
    .options = options,
    .examples = examples,
    .run = run,
};

static int run(const struct cli_arguments *arguments)
{
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb, "no file given");
    struct sxt_emit emit;
    sxt_emit_init(&emit, stdout, cli_given(arguments, "json"));
    int status = CLI_DONE;
    for (size_t i = 0; i < arguments->word_count; i++) {
        const char *file = arguments->words[i];
        char hex[33], base64url[23];
        sxt_error error;
        if (sxt_file_id(file, hex, base64url, &error) != SXT_OK) {
            status = cli_fail(file, &error);
            continue;
        }
        sxt_emit_record(&emit);
        if (sxt_emit_is_json(&emit)) {
            sxt_emit_cstring(&emit, "file", file);
            sxt_emit_cstring(&emit, "hex", hex);
            sxt_emit_cstring(&emit, "base64url", base64url);
        }
        sxt_emit_text(&emit, "%s  %s  %s\n", hex, base64url, file);
        sxt_emit_record_end(&emit);
    }
    return cli_finish(&emit, status);
}
