/* lookup_store.c: looks addresses up in the store of a symbol service, a directory or a bucket, without a server. */
#include "cli/lookup_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/lookup_by_id.h"
#include "cli/lookup_input.h"

/* Addresses that are looked up together: what they need of a bucket is fetched together. */
#define BATCH ((size_t)4096)

struct looking {
    const struct cli_arguments *arguments;
    const char *place;
    struct sxt_store *store;
    struct sxt_catalog *catalog;
    struct sxt_catalog_binary *binary;
    struct sxt_catalog_question question;
    uint64_t addresses[BATCH];
    struct sxt_emit emit;
    struct cli_by_id_batch batch;
};

static int check_options(const struct cli_arguments *arguments);
static int open_binary(struct looking *looking);
static int answer_batch(void *data, struct sxt_answer *answers, size_t count);

int cli_lookup_store(const struct cli_arguments *arguments)
{
    int status = check_options(arguments);
    if (status != CLI_DONE)
        return status;
    struct looking *looking = calloc(1, sizeof *looking);
    struct cli_lookup_input input;
    if (looking == NULL)
        return cli_fail_text(NULL, "out of memory");
    const struct cli_lookup_answers answers = {answer_batch, looking, BATCH, &looking->emit};
    looking->arguments = arguments;
    looking->place = arguments->words[0];
    sxt_emit_init(&looking->emit, stdout, cli_given(arguments, "json"));
    looking->batch.emit = &looking->emit;
    cli_lookup_input_init(&input);
    status = open_binary(looking);
    if (status == CLI_DONE)
        status =
            arguments->word_count > 1 ? cli_lookup_words(arguments, 1, &answers) : cli_lookup_stdin(&input, &answers);
    status = cli_finish(&looking->emit, status);
    cli_lookup_input_free(&input);
    if (looking->catalog != NULL)
        sxt_catalog_release(looking->catalog, &looking->binary);
    sxt_catalog_close(&looking->catalog);
    sxt_store_close(&looking->store);
    free(looking);
    return status;
}

static int check_options(const struct cli_arguments *arguments)
{
    static const char *const fitting[] = {"file-id",          "build-id",  "tenant", "file-offset",
                                          "return-addresses", "load-bias", "json",   NULL};
    int status = cli_by_id_check_options(arguments, fitting, "a store");
    if (status == CLI_DONE && arguments->word_count == 0)
        return cli_usage(arguments->verb,
                         "no store given: DIR or s3://BUCKET/PREFIX, or --url URL of a symbol service");
    return status;
}

/* A lookup does not create a store. */
static int open_store(struct looking *looking)
{
    struct stat folder;
    sxt_error error;
    bool is_local = strstr(looking->place, "://") == NULL;
    if (is_local && stat(looking->place, &folder) != 0)
        return cli_fail_text(looking->place, "cannot open: %s", strerror(errno));
    if (is_local && !S_ISDIR(folder.st_mode))
        return cli_usage(looking->arguments->verb, "not a store, which --file-id and --build-id are for: '%s'",
                         looking->place);
    int status = sxt_store_open(looking->place, NULL, &looking->store, &error);
    if (status == SXT_OK)
        status = sxt_catalog_open(looking->store, NULL, &looking->catalog, &error);
    if (status == SXT_ERROR_USAGE)
        return cli_usage(looking->arguments->verb, "%s", error.text);
    return status == SXT_OK ? CLI_DONE : cli_fail(looking->place, &error);
}

static bool has_segments(const struct sxt_catalog_binary *binary)
{
    const sxt_archive *layout = sxt_catalog_layout(binary);
    uint64_t ignored;
    return layout != NULL && sxt_archive_address_of_offset(layout, 0, &ignored, NULL) != SXT_ERROR_USAGE;
}

static int open_binary(struct looking *looking)
{
    const struct cli_arguments *arguments = looking->arguments;
    const char *bias = cli_value(arguments, "load-bias"), *tenant = cli_value(arguments, "tenant");
    struct sxt_catalog_id ids[CLI_BY_ID_MAX];
    size_t id_count;
    sxt_error error;
    looking->question = (struct sxt_catalog_question){
        .addresses = looking->addresses,
        .are_offsets = cli_given(arguments, "file-offset"),
        .are_returns = cli_given(arguments, "return-addresses"),
        .are_whole = sxt_emit_is_json(&looking->emit),
    };
    if (bias != NULL && !cli_parse_address(bias, &looking->batch.bias))
        return cli_usage(arguments->verb, "not a hexadecimal address: '%s'", bias);
    int status = cli_by_id_take(arguments, "a store", ids, &id_count);
    if (status == CLI_DONE)
        status = open_store(looking);
    if (status == CLI_DONE && sxt_catalog_find(looking->catalog, tenant != NULL ? tenant : "", ids, id_count, true,
                                               NULL, &looking->binary, &error) != SXT_OK)
        status = cli_fail(looking->place, &error);
    if (status == CLI_DONE && looking->question.are_offsets && !has_segments(looking->binary))
        cli_warn(looking->place, "the segments of the binary are not known; file offsets have no addresses");
    return status;
}

static int answer_batch(void *data, struct sxt_answer *answers, size_t count)
{
    struct looking *looking = data;
    struct sxt_catalog_question *question = &looking->question;
    sxt_error error;
    question->count = cli_by_id_begin(&looking->batch, answers, count, looking->place, looking->addresses);
    if (question->count > 0 &&
        sxt_catalog_lookup(looking->binary, question, cli_by_id_answer, &looking->batch, &error) != SXT_OK)
        return cli_fail(looking->place, &error);
    cli_by_id_end(&looking->batch);
    return CLI_DONE;
}
