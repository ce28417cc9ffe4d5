/* lookup_store.c: looks addresses up in the store of a symbol service, a directory or a bucket, without a server. */
#include "cli/lookup_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/string.h"
#include "catalog/catalog.h"
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
    uint64_t bias;
    uint64_t addresses[BATCH];
    struct sxt_emit emit;
    struct cli_answer *answers; /* of the batch that is looked up */
    size_t count;
    size_t printed;
};

static int check_options(const struct cli_arguments *arguments);
static int open_binary(struct looking *looking);
static int answer_batch(void *data, struct cli_answer *answers, size_t count);

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

/* The other options say how to read a file. */
static int check_options(const struct cli_arguments *arguments)
{
    static const char *const fitting[] = {"file-id",          "build-id",  "tenant", "file-offset",
                                          "return-addresses", "load-bias", "json"};
    for (size_t i = 0; arguments->verb->options[i].name != NULL; i++) {
        const char *name = arguments->verb->options[i].name;
        bool fits = !cli_given(arguments, name);
        for (size_t k = 0; k < sizeof fitting / sizeof *fitting; k++)
            fits |= strcmp(name, fitting[k]) == 0;
        if (!fits)
            return cli_usage(arguments->verb, "--%s cannot be used with a store", name);
    }
    if (arguments->word_count == 0)
        return cli_usage(arguments->verb,
                         "no store given: DIR or s3://BUCKET/PREFIX, or --url URL of a symbol service");
    return CLI_DONE;
}

static int take_ids(const struct looking *looking, struct sxt_catalog_id ids[3], size_t *count)
{
    const struct cli_arguments *arguments = looking->arguments;
    const char *file_id = cli_value(arguments, "file-id"), *build_id = cli_value(arguments, "build-id");
    *count = 0;
    if (file_id == NULL && build_id == NULL)
        return cli_usage(arguments->verb, "a store needs the ID of a binary (--file-id ID or --build-id ID)");
    if (file_id != NULL && !sxt_catalog_parse_id(sxt_string_of(file_id), ids, count))
        return cli_usage(arguments->verb, "not a FileID in hexadecimal or base64url: '%s'", file_id);
    if (build_id != NULL && !sxt_catalog_parse_build_id(sxt_string_of(build_id), &ids[*count]))
        return cli_usage(arguments->verb, "not a build ID in hexadecimal: '%s'", build_id);
    *count += build_id != NULL;
    return CLI_DONE;
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
    struct sxt_catalog_id ids[3];
    size_t id_count;
    sxt_error error;
    looking->question = (struct sxt_catalog_question){
        .addresses = looking->addresses,
        .are_offsets = cli_given(arguments, "file-offset"),
        .are_returns = cli_given(arguments, "return-addresses"),
        .are_whole = sxt_emit_is_json(&looking->emit),
    };
    if (bias != NULL && !cli_parse_address(bias, &looking->bias))
        return cli_usage(arguments->verb, "not a hexadecimal address: '%s'", bias);
    int status = take_ids(looking, ids, &id_count);
    if (status == CLI_DONE)
        status = open_store(looking);
    if (status == CLI_DONE && sxt_catalog_find(looking->catalog, tenant != NULL ? tenant : "", ids, id_count, true,
                                               NULL, &looking->binary, &error) != SXT_OK)
        status = cli_fail(looking->place, &error);
    if (status == CLI_DONE && looking->question.are_offsets && !has_segments(looking->binary))
        cli_warn(looking->place, "the segments of the binary are not known; file offsets have no addresses");
    return status;
}

/* Prints the questions before the next address: they are not addresses. */
static void print_until_address(struct looking *looking)
{
    while (looking->printed < looking->count && !looking->answers[looking->printed].is_address)
        cli_print_answer(&looking->emit, &looking->answers[looking->printed++]);
}

static int take_answer(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct looking *looking = data;
    (void)index;
    print_until_address(looking);
    struct cli_answer *answer = &looking->answers[looking->printed++];
    answer->frames = (sxt_frame *)(uintptr_t)frames;
    answer->count = count;
    cli_print_answer(&looking->emit, answer);
    return SXT_OK;
}

static int answer_batch(void *data, struct cli_answer *answers, size_t count)
{
    struct looking *looking = data;
    struct sxt_catalog_question *question = &looking->question;
    sxt_error error;
    looking->answers = answers;
    looking->count = count;
    looking->printed = 0;
    question->count = 0;
    for (size_t i = 0; i < count; i++)
        if (cli_lookup_parse(&answers[i], looking->place))
            looking->addresses[question->count++] = answers[i].asked - looking->bias;
    if (question->count > 0 && sxt_catalog_lookup(looking->binary, question, take_answer, looking, &error) != SXT_OK)
        return cli_fail(looking->place, &error);
    print_until_address(looking);
    return CLI_DONE;
}
