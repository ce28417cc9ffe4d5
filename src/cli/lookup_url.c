/* lookup_url.c: asks a symbol service for addresses of a binary that it knows by an ID. */
#include "cli/lookup_url.h"

#include <stdlib.h>
#include <string.h>

#include <sextant/remote.h>

#include "base/string.h"
#include "cli/lookup_by_id.h"
#include "cli/lookup_input.h"
#include "cli/server_options.h"

/* Addresses in a request. */
#define BATCH ((size_t)2000)

struct asking {
    const struct cli_arguments *arguments;
    struct cli_server server;
    sxt_remote *remote;
    sxt_remote_question question;
    uint64_t addresses[BATCH];
    struct sxt_emit emit;
    struct cli_by_id_batch batch;
};

static int open_service(struct asking *asking);
static int answer_batch(void *data, struct sxt_answer *answers, size_t count);

int cli_lookup_url(const struct cli_arguments *arguments)
{
    static const char *const fitting[] = {"url",      "api-key",     "api-key-file",     "ca",        "file-id",
                                          "build-id", "file-offset", "return-addresses", "load-bias", "json",
                                          NULL};
    int status = cli_by_id_check_options(arguments, fitting, "--url");
    if (status != CLI_DONE)
        return status;
    struct asking *asking = calloc(1, sizeof *asking);
    struct cli_lookup_input input;
    if (asking == NULL)
        return cli_fail_text(NULL, "out of memory");
    const struct cli_lookup_answers answers = {answer_batch, asking, BATCH, &asking->emit};
    asking->arguments = arguments;
    sxt_emit_init(&asking->emit, stdout, cli_given(arguments, "json"));
    asking->batch.emit = &asking->emit;
    cli_lookup_input_init(&input);
    status = open_service(asking);
    if (status == CLI_DONE)
        status =
            arguments->word_count > 0 ? cli_lookup_words(arguments, 0, &answers) : cli_lookup_stdin(&input, &answers);
    status = cli_finish(&asking->emit, status);
    cli_lookup_input_free(&input);
    sxt_remote_close(&asking->remote);
    cli_server_free(&asking->server);
    free(asking);
    return status;
}

static int take_ids(struct asking *asking)
{
    const char *file_id = cli_value(asking->arguments, "file-id"), *build_id = cli_value(asking->arguments, "build-id");
    struct sxt_catalog_id ids[CLI_BY_ID_MAX];
    size_t count;
    if (file_id != NULL)
        asking->question.file_id = sxt_string_of(file_id);
    if (build_id != NULL)
        asking->question.build_id = sxt_string_of(build_id);
    return cli_by_id_take(asking->arguments, "--url", ids, &count);
}

static int open_service(struct asking *asking)
{
    const struct cli_arguments *arguments = asking->arguments;
    const char *bias = cli_value(arguments, "load-bias");
    sxt_remote_options options;
    sxt_error error;
    sxt_remote_question_init(&asking->question);
    asking->question.are_offsets = cli_given(arguments, "file-offset");
    asking->question.are_returns = cli_given(arguments, "return-addresses");
    asking->question.addresses = asking->addresses;
    if (bias != NULL && !cli_parse_address(bias, &asking->batch.bias))
        return cli_usage(arguments->verb, "not a hexadecimal address: '%s'", bias);
    int status = take_ids(asking);
    if (status == CLI_DONE)
        status = cli_server_options(arguments, &asking->server);
    if (status != CLI_DONE)
        return status;
    sxt_remote_options_init(&options);
    options.url = asking->server.url;
    options.api_key = asking->server.api_key;
    options.ca_file = asking->server.ca_file;
    if (sxt_remote_open(&options, &asking->remote, &error) != SXT_OK)
        return error.code == SXT_ERROR_USAGE ? cli_usage(arguments->verb, "%s", error.text) : cli_fail(NULL, &error);
    return CLI_DONE;
}

static int answer_batch(void *data, struct sxt_answer *answers, size_t count)
{
    struct asking *asking = data;
    sxt_remote_question *question = &asking->question;
    bool is_known;
    sxt_error error;
    for (size_t i = 0; i < count; i++)
        answers[i].has_no_starts = true;
    question->count = cli_by_id_begin(&asking->batch, answers, count, asking->server.url, asking->addresses);
    if (question->count > 0) {
        int status = sxt_remote_ask(asking->remote, question, cli_by_id_answer, &asking->batch, &is_known, &error);
        if (status != SXT_OK || !is_known)
            return cli_fail(NULL, &error);
    }
    cli_by_id_end(&asking->batch);
    return CLI_DONE;
}
