/*
 * archive_many.c: archive of many inputs, each into an archive of its own that is named after the identity of its
 * binary.
 *
 * Inputs with the same build ID are files of one binary: it gets one archive, from the input with the most, and a debug
 * file among them completes a stripped binary. Archives are made in parallel; messages are in the order of the inputs.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/pool.h"
#include "base/progress.h"
#include "cli/making.h"
#include "cli/verbs.h"

struct item {
    const char *input;
    char *output;       /* NULL if the input cannot be identified */
    const char *debug;  /* a debug file among the inputs that completes it, or NULL */
    const char *served; /* the input whose archive is for this one too, or NULL */
    sxt_binary binary;
    int status; /* SXT_OK, or the code of: */
    sxt_error error;
    const char *failed; /* the file that the error is about */
    struct cli_made made;
    bool is_done;
};

struct many {
    const struct cli_arguments *arguments;
    const struct cli_making *making;
    const char *directory;
    struct item *items;
    size_t count;
    unsigned threads; /* for one archive */
    pthread_mutex_t lock;
    size_t printed; /* how many items have been reported */
    size_t finished;
    int status;
    struct sxt_progress progress;
    struct sxt_emit emit;
};

static int make_directory(const char *path);
static void identify(struct many *many, struct item *item);
static int share_names(struct many *many);
static int make(void *context, unsigned worker, size_t index);

int cli_archive_many(const struct cli_arguments *arguments, const struct cli_making *making)
{
    struct many many = {.arguments = arguments,
                        .making = making,
                        .directory = cli_value(arguments, "out-dir"),
                        .count = arguments->word_count};
    many.items = calloc(many.count, sizeof *many.items);
    if (many.items == NULL)
        return cli_fail_text(NULL, "out of memory");
    int status = make_directory(many.directory);
    if (status == CLI_DONE) {
        for (size_t i = 0; i < many.count; i++) {
            many.items[i].input = arguments->words[i];
            identify(&many, &many.items[i]);
        }
        status = share_names(&many);
    }
    if (status == CLI_DONE) {
        unsigned threads = sxt_pool_threads(making->extract.threads);
        unsigned workers = many.count < threads ? (unsigned)many.count : threads;
        many.threads = threads / workers;
        pthread_mutex_init(&many.lock, NULL);
        sxt_emit_init(&many.emit, stdout, cli_given(arguments, "json"));
        sxt_progress_open(&many.progress, stderr, false);
        sxt_progress_phase(&many.progress, "making archives", many.count);
        cli_expect_much_memory(true);
        (void)sxt_pool_run(workers, many.count, make, &many);
        sxt_progress_close(&many.progress);
        pthread_mutex_destroy(&many.lock);
        status = cli_finish(&many.emit, many.status);
    }
    for (size_t i = 0; i < many.count; i++)
        free(many.items[i].output);
    free(many.items);
    return status;
}

static int make_directory(const char *path)
{
    struct stat attributes;
    if (mkdir(path, 0777) == 0)
        return CLI_DONE;
    if (errno != EEXIST)
        return cli_fail_text(path, "cannot make the directory: %s", strerror(errno));
    if (stat(path, &attributes) != 0 || !S_ISDIR(attributes.st_mode))
        return cli_fail_text(path, "not a directory");
    return CLI_DONE;
}

/* Names the archive: after the build ID, or the FileID if there is none. */
static void identify(struct many *many, struct item *item)
{
    const char *format = many->making->format;
    char base64url[23];
    sxt_error *error = &item->error;
    item->binary.struct_size = sizeof item->binary;
    item->failed = item->input;
    if (strcmp(item->input, "-") == 0) {
        /* There may be only one, and it cannot be read twice. */
        item->status = SXT_ERROR_USAGE;
        *error = (sxt_error){.code = SXT_ERROR_USAGE};
        snprintf(error->text, sizeof error->text, "standard input cannot be used with --out-dir");
        return;
    }
    item->status = sxt_identify_binary(item->input, &item->binary, error);
    /* These two are also made from files that are not ELF files. */
    if (item->status == SXT_ERROR_UNSUPPORTED && (strcmp(format, "ksym") == 0 || strcmp(format, "size") == 0))
        item->status = sxt_file_id(item->input, item->binary.file_id, base64url, error);
    if (item->status != SXT_OK)
        return;
    const char *name = item->binary.build_id[0] != '\0' ? item->binary.build_id : item->binary.file_id;
    if (asprintf(&item->output, "%s/%s.%s", many->directory, name, format) < 0) {
        item->output = NULL;
        item->status = SXT_ERROR_MEMORY;
        snprintf(error->text, sizeof error->text, "out of memory");
    }
}

/* By output, then in the order of the inputs. */
static int by_output(const void *a, const void *b)
{
    const struct item *const *left = a, *const *right = b;
    int order = strcmp((*left)->output, (*right)->output);
    return order != 0 ? order : *left < *right ? -1 : *left > *right;
}

static int rank(const struct item *item)
{
    return 4 * item->binary.has_code + 2 * item->binary.has_dwarf + item->binary.has_symbols;
}

/* One of COUNT items with the same output is made; it serves the others. */
static void share(struct item *const *items, size_t count)
{
    struct item *best = items[0];
    const struct item *debug = NULL;
    for (size_t i = 1; i < count; i++)
        if (rank(items[i]) > rank(best))
            best = items[i];
    for (size_t i = 0; i < count; i++) {
        if (items[i] == best)
            continue;
        items[i]->served = best->input;
        if (!items[i]->binary.has_code && items[i]->binary.has_dwarf && debug == NULL)
            debug = items[i];
    }
    if (debug != NULL && best->binary.has_code && !best->binary.has_dwarf)
        best->debug = debug->input;
}

static int share_names(struct many *many)
{
    struct item **named = malloc(many->count * sizeof *named);
    size_t count = 0;
    if (named == NULL)
        return cli_fail_text(NULL, "out of memory");
    for (size_t i = 0; i < many->count; i++)
        if (many->items[i].output != NULL)
            named[count++] = &many->items[i];
    if (count > 1)
        qsort(named, count, sizeof *named, by_output);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && strcmp(named[begin]->output, named[end]->output) == 0;)
            end++;
        share(named + begin, end - begin);
    }
    free(named);
    return CLI_DONE;
}

static void print_item(struct many *many, const struct item *item);

/* Reports all items that are finished and have nothing unfinished before them. */
static void finish(struct many *many, struct item *item)
{
    pthread_mutex_lock(&many->lock);
    item->is_done = true;
    many->finished++;
    bool has_lines = many->printed < many->count && many->items[many->printed].is_done;
    if (has_lines)
        sxt_progress_close(&many->progress);
    for (; many->printed < many->count && many->items[many->printed].is_done; many->printed++)
        print_item(many, &many->items[many->printed]);
    /* The bar comes back below the lines. */
    if (has_lines && many->finished < many->count) {
        sxt_progress_open(&many->progress, stderr, false);
        sxt_progress_phase(&many->progress, "making archives", many->count);
        sxt_progress_advance(&many->progress, many->finished);
    } else if (!has_lines) {
        sxt_progress_advance(&many->progress, 1);
    }
    pthread_mutex_unlock(&many->lock);
}

/* Never fails: one bad input does not keep the others from being made. */
static int make(void *context, unsigned worker, size_t index)
{
    (void)worker;
    struct many *many = context;
    struct item *item = &many->items[index];
    if (item->status == SXT_OK && item->served == NULL) {
        struct cli_job job = {.input = item->input,
                              .output = item->output,
                              .debug = item->debug,
                              .threads = many->threads,
                              .failed = item->input};
        item->status = cli_make_one(many->making, &job, &item->made, &item->error);
        item->failed = job.failed;
    }
    finish(many, item);
    return 0;
}

static void print_json(struct many *many, const struct item *item)
{
    struct sxt_emit *emit = &many->emit;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "input", item->input);
    if (item->status == SXT_OK)
        sxt_emit_cstring(emit, "output", item->output);
    else
        sxt_emit_null(emit, "output");
    sxt_emit_cstring(emit, "format", many->making->format);
    if (item->status != SXT_OK)
        sxt_emit_cstring(emit, "error", item->error.text);
    else if (item->served != NULL)
        sxt_emit_cstring(emit, "served_by", item->served);
    else
        cli_emit_made(emit, &item->made);
    sxt_emit_record_end(emit);
}

static void print_item(struct many *many, const struct item *item)
{
    bool quiet = cli_given(many->arguments, "quiet");
    if (sxt_emit_is_json(&many->emit))
        print_json(many, item);
    if (item->status != SXT_OK)
        many->status = cli_fail(item->failed, &item->error);
    else if (sxt_emit_is_json(&many->emit) || quiet)
        return;
    else if (item->served != NULL)
        cli_note(item->input, "the same %s as '%s'; one archive is for both",
                 item->binary.build_id[0] != '\0' ? "build ID" : "file", item->served);
    else
        cli_print_made(item->input, item->output, &item->made);
}
