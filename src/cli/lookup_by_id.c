/* lookup_by_id.c: options, ids and answers of lookups of a binary by its ID. */
#include "cli/lookup_by_id.h"

#include <string.h>

#include "base/string.h"
#include "cli/lookup_input.h"

int cli_by_id_check_options(const struct cli_arguments *arguments, const char *const *fitting, const char *with)
{
    for (size_t i = 0; arguments->verb->options[i].name != NULL; i++) {
        const char *name = arguments->verb->options[i].name;
        bool fits = !cli_given(arguments, name);
        for (size_t k = 0; fitting[k] != NULL; k++)
            fits |= strcmp(name, fitting[k]) == 0;
        if (!fits)
            return cli_usage(arguments->verb, "--%s cannot be used with %s", name, with);
    }
    return CLI_DONE;
}

int cli_by_id_take(const struct cli_arguments *arguments, const char *what, struct sxt_catalog_id ids[CLI_BY_ID_MAX],
                   size_t *count)
{
    const char *file_id = cli_value(arguments, "file-id"), *build_id = cli_value(arguments, "build-id");
    *count = 0;
    if (file_id == NULL && build_id == NULL)
        return cli_usage(arguments->verb, "%s needs the ID of a binary (--file-id ID or --build-id ID)", what);
    if (file_id != NULL && !sxt_catalog_parse_id(sxt_string_of(file_id), ids, count))
        return cli_usage(arguments->verb, "not a FileID in hexadecimal or base64url: '%s'", file_id);
    if (build_id != NULL && !sxt_catalog_parse_build_id(sxt_string_of(build_id), &ids[*count]))
        return cli_usage(arguments->verb, "not a build ID in hexadecimal: '%s'", build_id);
    *count += build_id != NULL;
    return CLI_DONE;
}

size_t cli_by_id_begin(struct cli_by_id_batch *batch, struct sxt_answer *answers, size_t count, const char *place,
                       uint64_t *addresses)
{
    size_t address_count = 0;
    batch->answers = answers;
    batch->count = count;
    batch->printed = 0;
    for (size_t i = 0; i < count; i++)
        if (cli_lookup_parse(&answers[i], place))
            addresses[address_count++] = answers[i].asked - batch->bias;
    return address_count;
}

void cli_by_id_end(struct cli_by_id_batch *batch)
{
    while (batch->printed < batch->count && !batch->answers[batch->printed].is_address)
        sxt_answer_print(batch->emit, &batch->answers[batch->printed++]);
}

int cli_by_id_answer(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct cli_by_id_batch *batch = data;
    (void)index;
    cli_by_id_end(batch); /* what comes before the address */
    struct sxt_answer *answer = &batch->answers[batch->printed++];
    answer->frames = (sxt_frame *)(uintptr_t)frames;
    answer->count = count;
    sxt_answer_print(batch->emit, answer);
    return SXT_OK;
}
