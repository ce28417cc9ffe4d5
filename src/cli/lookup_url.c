/* lookup_url.c: asks a symbol service for addresses of a binary that it knows by an ID. */
#include "cli/lookup_url.h"

#include <stdlib.h>
#include <string.h>

#include <sextant/remote.h>

#include "base/string.h"
#include "catalog/catalog.h"
#include "cli/lookup_input.h"
#include "cli/server_options.h"

/* Addresses in a request. */
#define BATCH ((size_t)2000)

struct asking {
    const struct cli_arguments *arguments;
    struct cli_server server;
    sxt_remote *remote;
    sxt_remote_question question;
    uint64_t bias;
    uint64_t addresses[BATCH];
    struct sxt_emit emit;
    struct cli_answer *answers; /* of the batch that is asked for */
    size_t count;
    size_t printed;
};

static int check_options(const struct cli_arguments *arguments);
static int open_service(struct asking *asking);
static int answer_batch(void *data, struct cli_answer *answers, size_t count);

int cli_lookup_url(const struct cli_arguments *arguments)
{
    int status = check_options(arguments);
    if (status != CLI_DONE)
        return status;
    struct asking *asking = calloc(1, sizeof *asking);
    struct cli_lookup_input input;
    if (asking == NULL)
        return cli_fail_text(NULL, "out of memory");
    const struct cli_lookup_answers answers = {answer_batch, asking, BATCH, &asking->emit};
    asking->arguments = arguments;
    sxt_emit_init(&asking->emit, stdout, cli_given(arguments, "json"));
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

/* The other options say how to read a file. */
static int check_options(const struct cli_arguments *arguments)
{
    static const char *const fitting[] = {"url",      "api-key",     "api-key-file",     "ca",        "file-id",
                                          "build-id", "file-offset", "return-addresses", "load-bias", "json"};
    for (size_t i = 0; arguments->verb->options[i].name != NULL; i++) {
        const char *name = arguments->verb->options[i].name;
        bool fits = !cli_given(arguments, name);
        for (size_t k = 0; k < sizeof fitting / sizeof *fitting; k++)
            fits |= strcmp(name, fitting[k]) == 0;
        if (!fits)
            return cli_usage(arguments->verb, "--%s cannot be used with --url", name);
    }
    return CLI_DONE;
}

static int take_ids(struct asking *asking)
{
    const struct cli_arguments *arguments = asking->arguments;
    const char *file_id = cli_value(arguments, "file-id"), *build_id = cli_value(arguments, "build-id");
    struct sxt_catalog_id ids[2];
    size_t count;
    if (file_id == NULL && build_id == NULL)
        return cli_usage(arguments->verb, "--url needs the ID of a binary (--file-id ID or --build-id ID)");
    if (file_id != NULL && !sxt_catalog_parse_id(sxt_string_of(file_id), ids, &count))
        return cli_usage(arguments->verb, "not a FileID in hexadecimal or base64url: '%s'", file_id);
    if (build_id != NULL && !sxt_catalog_parse_build_id(sxt_string_of(build_id), &ids[0]))
        return cli_usage(arguments->verb, "not a build ID in hexadecimal: '%s'", build_id);
    if (file_id != NULL)
        asking->question.file_id = sxt_string_of(file_id);
    if (build_id != NULL)
        asking->question.build_id = sxt_string_of(build_id);
    return CLI_DONE;
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
    if (bias != NULL && !cli_parse_address(bias, &asking->bias))
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

/* Prints the questions before the next address: they are not addresses. */
static void print_until_address(struct asking *asking)
{
    while (asking->printed < asking->count && !asking->answers[asking->printed].is_address)
        cli_print_answer(&asking->emit, &asking->answers[asking->printed++]);
}

static int take_answer(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct asking *asking = data;
    (void)index;
    print_until_address(asking);
    struct cli_answer *answer = &asking->answers[asking->printed++];
    answer->frames = (sxt_frame *)(uintptr_t)frames;
    answer->count = count;
    cli_print_answer(&asking->emit, answer);
    return SXT_OK;
}

static int answer_batch(void *data, struct cli_answer *answers, size_t count)
{
    struct asking *asking = data;
    sxt_remote_question *question = &asking->question;
    bool is_known;
    sxt_error error;
    asking->answers = answers;
    asking->count = count;
    asking->printed = 0;
    question->count = 0;
    for (size_t i = 0; i < count; i++) {
        answers[i].has_no_starts = true;
        if (cli_lookup_parse(&answers[i], asking->server.url))
            asking->addresses[question->count++] = answers[i].asked - asking->bias;
    }
    if (question->count > 0) {
        int status = sxt_remote_ask(asking->remote, question, take_answer, asking, &is_known, &error);
        if (status != SXT_OK || !is_known)
            return cli_fail(NULL, &error);
    }
    print_until_address(asking);
    return CLI_DONE;
}
