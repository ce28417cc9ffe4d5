/* serve.c: the symbol service. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_count.h"
#include "cli/numbers.h"
#include "cli/verbs.h"
#include "service/service.h"

static const struct cli_option options[] = {
    {"store", 0, "PLACE", "keep symbols in this directory, or in s3://BUCKET/PREFIX", NULL},
    {"listen", 0, "HOST:PORT", "listen there (default: 127.0.0.1:8240); port 0 is any", NULL},
    {"api-key-file", 0, "FILE",
     "the keys, a line each: id:key[:scopes[:tenant]]; needed unless\nHOST is this machine; read again on SIGHUP",
     NULL},
    {"public-read", 0, NULL, "everybody may read what belongs to no tenant", NULL},
    {"trust-proxy", 0, NULL, "a proxy speaks TLS for this server: believe its X-Forwarded-Proto", NULL},
    {"cors-origin", 0, "ORIGIN", "pages of this origin may ask; * is all; may be repeated", NULL},
    {"tls-cert", 0, "FILE", "speak TLS, with this certificate chain (PEM)", NULL},
    {"tls-key", 0, "FILE", "the key of the certificate (PEM)", NULL},
    {"forward", 0, "URL", "send OTLP profiles there when they have names", NULL},
    {"upstream", 0, "URL", "ask this debuginfod server for what is missing; may be repeated", NULL},
    {"upstream-allow-private", 0, NULL, "upstream servers may have private addresses", NULL},
    {"upstream-limit", 0, "SIZE", "the largest file to fetch (default: that of --body-limit)", NULL},
    {"upstream-timeout", 0, "SECONDS", "the longest that fetching a file may take (default: 300)", NULL},
    {"upstream-wait", 0, "SECONDS", "the longest that a question waits for that (default: 20)", NULL},
    {"upstream-pause", 0, "SECONDS", "do not ask a server that fails for this long (default: 60)", NULL},
    {"upstream-recheck", 0, "TIME", "ask again for what servers did not have (default: 1h)", NULL},
    {"body-limit", 0, "SIZE", "the largest body of a request (default: 2G)", NULL},
    {"inflate-limit", 0, "SIZE", "the most that a compressed body may expand to (default: 4G)", NULL},
    {"key-limit", 0, "SIZE", "the most that a key may send in a day (default: no limit)", NULL},
    {"memory-limit", 0, "SIZE", "the most that large requests and replies may have in memory (default: 1G)", NULL},
    {"parts-limit", 0, "N", "the most parts of an upload (default: 10000)", NULL},
    {"connection-limit", 0, "N", "the most connections (default: 4096)", NULL},
    {"timeout", 0, "SECONDS", "close connections that are silent for this long (default: 30)", NULL},
    {"drain", 0, "SECONDS", "after SIGTERM, finish requests for this long (default: 30)", NULL},
    {"retention", 0, "TIME", "remove symbols after this time: 12h, 90d (default: never)", NULL},
    {"stale", 0, "TIME", "remove incomplete uploads after this time (default: 1d)", NULL},
    {"cache", 0, "DIR", "of a bucket: keep what was fetched here", NULL},
    {"cache-limit", 0, "SIZE", "the most that is kept there (default: 4G)", NULL},
    {"worker-memory", 0, "SIZE", "memory for reading the symbols of an ELF file (default: 4G)", NULL},
    {"worker-seconds", 0, "N", "processor time for the same (default: 300)", NULL},
    {"workers", 0, "N", "threads that may wait for the store (default: four a processor)", NULL},
    CLI_OPTION_THREADS,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct cli_example examples[] = {
    {"sextant serve --store symbols", "for this machine, at http://127.0.0.1:8240"},
    {"sextant serve --store s3://bucket/symbols --listen :8240 --api-key-file keys", "for others, over a bucket"},
    {"sextant serve --store symbols --cors-origin https://profiler.firefox.com", "for the Firefox Profiler"},
    {"sextant serve --store symbols --upstream https://debuginfod.debian.net", "fetch what is missing"},
    {"kill -HUP $(pidof sextant)", "read the keys again"},
    {NULL, NULL},
};

static int run(const struct cli_arguments *arguments);

const struct cli_verb cli_serve = {
    .name = "serve",
    .synopsis = "[OPTION...] --store PLACE",
    .summary = "run the symbol service: receive symbols and answer questions",
    .description =
        "Receives symbols and answers questions about addresses by HTTP until SIGTERM. Prints one line with its\n"
        "address when it is ready, and logs each request as a line of JSON on standard error. SIZE may end with\n"
        "k, M or G; TIME with s, m, h or d. See docs/service.md for the requests that it answers.",
    .options = options,
    .examples = examples,
    .run = run,
};

/* A number of bytes, such as 4G. */
static int size_option(const struct cli_arguments *arguments, const char *name, uint64_t *out)
{
    const char *text = cli_value(arguments, name);
    double value;
    *out = 0;
    if (text == NULL)
        return CLI_DONE;
    if (!sxt_byte_count_parse(text, strlen(text), &value) || value < 1 || value > 9e18)
        return cli_usage(arguments->verb, "--%s takes a number of bytes, such as 512M, not '%s'", name, text);
    *out = (uint64_t)value;
    return CLI_DONE;
}

static int count_option(const struct cli_arguments *arguments, const char *name, uint32_t *out)
{
    uint64_t number = 0;
    int status = cli_count_option(arguments, name, 0, &number);
    if (status == CLI_DONE && (number > 1000000 || (number == 0 && cli_given(arguments, name))))
        return cli_usage(arguments->verb, "--%s takes a number from 1 to 1000000", name);
    *out = (uint32_t)number;
    return status;
}

static int read_limits(const struct cli_arguments *arguments, struct sxt_service_options *service)
{
    unsigned threads = 0;
    int status = size_option(arguments, "body-limit", &service->body_limit);
    const struct {
        const char *name;
        uint64_t *place;
    } sizes[] = {{"inflate-limit", &service->inflate_limit},
                 {"key-limit", &service->key_limit},
                 {"memory-limit", &service->memory_limit},
                 {"upstream-limit", &service->upstream_limit},
                 {"cache-limit", &service->store_options.cache_limit},
                 {"worker-memory", &service->catalog_options.worker_memory}};
    const struct {
        const char *name;
        uint32_t *place;
    } counts[] = {{"parts-limit", &service->parts_limit},
                  {"connection-limit", &service->connection_limit},
                  {"timeout", &service->timeout_seconds},
                  {"drain", &service->drain_seconds},
                  {"upstream-timeout", &service->upstream_seconds},
                  {"upstream-wait", &service->upstream_wait_seconds},
                  {"upstream-pause", &service->upstream_pause_seconds},
                  {"worker-seconds", &service->catalog_options.worker_seconds},
                  {"workers", &service->workers}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == CLI_DONE; i++)
        status = size_option(arguments, sizes[i].name, sizes[i].place);
    for (size_t i = 0; i < sizeof counts / sizeof *counts && status == CLI_DONE; i++)
        status = count_option(arguments, counts[i].name, counts[i].place);
    if (status == CLI_DONE)
        status = cli_time_option(arguments, "retention", &service->retention_seconds);
    if (status == CLI_DONE)
        status = cli_time_option(arguments, "stale", &service->stale_seconds);
    if (status == CLI_DONE)
        status = cli_time_option(arguments, "upstream-recheck", &service->upstream_recheck_seconds);
    if (status == CLI_DONE)
        status = cli_threads(arguments, &threads);
    service->threads = threads;
    return status;
}

/* All arguments of an option that may be repeated; the caller frees the list. */
static const char **list_option(const struct cli_arguments *arguments, const char *name, size_t *count)
{
    const char **list = calloc(arguments->given_count + 1, sizeof *list);
    for (*count = 0; list != NULL; ++*count)
        if ((list[*count] = cli_value_at(arguments, name, *count)) == NULL)
            break;
    return list;
}

static int serve(const struct cli_arguments *arguments, const struct sxt_service_options *service)
{
    sxt_error error;
    cli_expect_long_run();
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an ordinary error */
    switch (sxt_service_run(service, &error)) {
    case SXT_OK:
        return CLI_DONE;
    case SXT_ERROR_USAGE:
        return cli_usage(arguments->verb, "%s", error.text);
    default:
        return cli_fail(NULL, &error);
    }
}

static int run(const struct cli_arguments *arguments)
{
    struct sxt_service_options service = {
        .store = cli_value(arguments, "store"),
        .listen = cli_value(arguments, "listen"),
        .api_key_file = cli_value(arguments, "api-key-file"),
        .public_read = cli_given(arguments, "public-read"),
        .trust_proxy = cli_given(arguments, "trust-proxy"),
        .tls_cert = cli_value(arguments, "tls-cert"),
        .tls_key = cli_value(arguments, "tls-key"),
        .forward = cli_value(arguments, "forward"),
        .upstream_allow_private = cli_given(arguments, "upstream-allow-private"),
        .store_options = {.cache = cli_value(arguments, "cache")},
    };
    if (arguments->word_count > 0)
        return cli_usage(arguments->verb, "unexpected argument '%s'", arguments->words[0]);
    if (service.store == NULL)
        return cli_usage(arguments->verb, "no store given; use --store DIR or --store s3://BUCKET/PREFIX");
    int status = read_limits(arguments, &service);
    if (status != CLI_DONE)
        return status;
    const char **origins = list_option(arguments, "cors-origin", &service.cors_origin_count);
    const char **upstreams = list_option(arguments, "upstream", &service.upstream_count);
    service.cors_origins = origins;
    service.upstreams = upstreams;
    if (origins == NULL || upstreams == NULL)
        status = cli_fail_text(NULL, "out of memory");
    else
        status = serve(arguments, &service);
    free(origins);
    free(upstreams);
    return status;
}
