/*
 * use_store.c: works with a store, for tests: use_store [OPTION...] PLACE COMMAND...
 *
 *     -c CACHE  -l LIMIT  -t SECONDS  -a ATTEMPTS      options of the store
 *
 *     put KEY FILE             write KEY FILE          stores a file; write in pieces
 *     get KEY LIMIT            map KEY                 copies an object to standard output
 *     ranges KEY OFFSET:SIZE...                        copies ranges to standard output
 *     list PREFIX              words PREFIX            prints a line for each: key, size, time
 *     remove KEY               check                   sweep SECONDS
 *     place                                            copies the object that is PLACE to standard output
 *     fill PREFIX COUNT SIZE                           writes objects, and prints the key of each that is stored
 *
 * Prints the figures as one line of JSON on standard error. A failure is "use_store: CODE: text" there, status 1.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/output.h"
#include "store/store.h"

static sxt_error error;

static int usage(void)
{
    return sxt_fail(&error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "wrong arguments");
}

static int put(struct sxt_store *store, char **arguments, bool in_pieces)
{
    struct sxt_file file;
    struct sxt_store_writing *writing;
    int status = sxt_file_open(&file, arguments[1], &error);
    if (status != SXT_OK)
        return status;
    if (!in_pieces) {
        status = sxt_store_put(store, arguments[0], file.data, file.size, &error);
    } else if ((status = sxt_store_write_begin(store, &writing, &error)) == SXT_OK) {
        for (size_t done = 0; done < file.size && status == SXT_OK; done += 100000)
            status = sxt_store_write(writing, file.data + done, file.size - done < 100000 ? file.size - done : 100000,
                                     &error);
        if (status == SXT_OK)
            status = sxt_store_write_commit(&writing, arguments[0], &error);
        sxt_store_write_abandon(&writing);
    }
    sxt_file_close(&file);
    return status;
}

static int get(struct sxt_store *store, char **arguments)
{
    char *data;
    size_t size;
    int status = sxt_store_get(store, arguments[0], strtoull(arguments[1], NULL, 10), &data, &size, &error);
    if (status == SXT_OK)
        status = sxt_write_all(STDOUT_FILENO, data, size, &error);
    free(data);
    return status;
}

static int map_object(struct sxt_store_object *object)
{
    struct sxt_file file;
    int status = sxt_store_map(object, &file, &error);
    if (status == SXT_OK)
        status = sxt_write_all(STDOUT_FILENO, file.data, file.size, &error);
    sxt_file_close(&file);
    return status;
}

static int map(struct sxt_store *store, char **arguments)
{
    struct sxt_store_object *object;
    int status = sxt_store_open_object(store, arguments[0], &object, &error);
    if (status == SXT_OK)
        status = map_object(object);
    sxt_store_close_object(&object);
    return status;
}

static int read_ranges(struct sxt_store *store, char **arguments, size_t count)
{
    struct sxt_store_object *object;
    struct sxt_store_range ranges[100];
    int status = sxt_store_open_object(store, arguments[0], &object, &error);
    count = count < 100 ? count : 100;
    for (size_t i = 0; i < count; i++) {
        char *colon;
        ranges[i].offset = strtoull(arguments[i + 1], &colon, 10);
        ranges[i].size = *colon == ':' ? strtoull(colon + 1, NULL, 10) : 0;
        ranges[i].to = malloc(ranges[i].size + 1);
    }
    if (status == SXT_OK)
        status = sxt_store_read(object, ranges, count, &error);
    for (size_t i = 0; i < count; i++) {
        if (status == SXT_OK)
            status = sxt_write_all(STDOUT_FILENO, ranges[i].to, ranges[i].size, &error);
        free(ranges[i].to);
    }
    sxt_store_close_object(&object);
    return status;
}

static int print_line(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)data;
    printf("%s %" PRIu64 " %" PRId64 "\n", key, size, modified_us);
    return SXT_OK;
}

static int fill(struct sxt_store *store, char **arguments)
{
    size_t count = strtoull(arguments[1], NULL, 10), size = strtoull(arguments[2], NULL, 10);
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        char key[600], *content = malloc(size + 1);
        struct sxt_store_writing *writing = NULL;
        snprintf(key, sizeof key, "%s%06zu", arguments[0], i);
        memset(content, 'a' + (int)(i % 26), size);
        status = sxt_store_write_begin(store, &writing, &error);
        if (status == SXT_OK)
            status = sxt_store_write(writing, content, size, &error);
        if (status == SXT_OK)
            status = sxt_store_write_commit(&writing, key, &error);
        sxt_store_write_abandon(&writing);
        free(content);
        if (status == SXT_OK) {
            printf("%s\n", key);
            fflush(stdout);
        }
    }
    return status;
}

static int run(struct sxt_store *store, const char *command, char **arguments, size_t count)
{
    if (strcmp(command, "put") == 0 && count == 2)
        return put(store, arguments, false);
    if (strcmp(command, "write") == 0 && count == 2)
        return put(store, arguments, true);
    if (strcmp(command, "get") == 0 && count == 2)
        return get(store, arguments);
    if (strcmp(command, "map") == 0 && count == 1)
        return map(store, arguments);
    if (strcmp(command, "ranges") == 0 && count >= 1)
        return read_ranges(store, arguments, count - 1);
    if (strcmp(command, "list") == 0 && count == 1)
        return sxt_store_list(store, arguments[0], print_line, NULL, &error);
    if (strcmp(command, "words") == 0 && count == 1)
        return sxt_store_list_words(store, arguments[0], print_line, NULL, &error);
    if (strcmp(command, "remove") == 0 && count == 1)
        return sxt_store_remove(store, arguments[0], &error);
    if (strcmp(command, "check") == 0 && count == 0)
        return sxt_store_check(store, &error);
    if (strcmp(command, "sweep") == 0 && count == 1)
        return sxt_store_sweep(store, strtoull(arguments[0], NULL, 10), NULL, &error);
    if (strcmp(command, "fill") == 0 && count == 3)
        return fill(store, arguments);
    return usage();
}

static void print_figures(struct sxt_store *store)
{
    struct sxt_store_figures figures;
    sxt_store_get_figures(store, &figures);
    fprintf(stderr,
            "{\"reads\":%" PRIu64 ",\"writes\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"retries\":%" PRIu64
            ",\"bytes_read\":%" PRIu64 ",\"cache_hits\":%" PRIu64 ",\"cache_misses\":%" PRIu64
            ",\"cache_bytes\":%" PRIu64 "}\n",
            figures.reads, figures.writes, figures.errors, figures.retries, figures.bytes_read, figures.cache_hits,
            figures.cache_misses, figures.cache_bytes);
}

int main(int count, char **arguments)
{
    struct sxt_store_options options = {0};
    struct sxt_store *store = NULL;
    struct sxt_store_object *object = NULL;
    int option, status = SXT_OK;
    while ((option = getopt(count, arguments, "+c:l:t:a:")) != -1) {
        if (option == 'c')
            options.cache = optarg;
        else if (option == 'l')
            options.cache_limit = strtoull(optarg, NULL, 10);
        else if (option == 't')
            options.timeout_seconds = (unsigned)strtoul(optarg, NULL, 10);
        else if (option == 'a')
            options.attempts = (unsigned)strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (count - optind < 2)
        return 2;
    char **rest = arguments + optind;
    if (strcmp(rest[1], "place") == 0) {
        status = sxt_store_open_place(rest[0], &options, &store, &object, &error);
        if (status == SXT_OK)
            status = map_object(object);
        sxt_store_close_object(&object);
    } else {
        status = sxt_store_open(rest[0], &options, &store, &error);
        if (status == SXT_OK)
            status = run(store, rest[1], rest + 2, (size_t)(count - optind - 2));
    }
    if (store != NULL)
        print_figures(store);
    if (status != SXT_OK)
        fprintf(stderr, "use_store: %d: %s\n", status, error.text);
    sxt_store_close(&store);
    return status == SXT_OK ? 0 : 1;
}
