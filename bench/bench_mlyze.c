/*
 * bench_mlyze.c: measures how fast heap traces are read and written, and how large they are. Prints one JSON object.
 *
 *     bench_mlyze FILE COPY
 *
 * FILE is any heap trace. It is copied to COPY with each codec, and all events of the copy are decoded on one thread.
 * Seconds are the best of several rounds, because other load on the machine can only make a round slower.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/output.h"
#include "mlyze/mlyze.h"

#define ROUNDS 7
#define BATCH  256

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int read_all(const struct sxt_mlyze *trace, uint64_t *count, sxt_error *error)
{
    static sxt_trace_event events[BATCH];
    struct sxt_mlyze_cursor *cursor;
    size_t taken = 0;
    *count = 0;
    int status = sxt_mlyze_cursor_open(trace, &cursor, error);
    if (status != SXT_OK)
        return status;
    do {
        status = sxt_mlyze_read(cursor, events, BATCH, &taken, error);
        *count += status == SXT_OK ? taken : 0;
    } while (status == SXT_OK && taken > 0);
    sxt_mlyze_cursor_close(&cursor);
    return status;
}

static int copy(const struct sxt_mlyze *trace, const char *path, enum sxt_mlyze_codec codec, sxt_error *error)
{
    struct sxt_output output;
    struct sxt_mlyze_writer *writer;
    struct sxt_mlyze_settings settings = {.start_us = sxt_mlyze_header(trace)->start_us, .codec = codec};
    int status = sxt_output_open(&output, path, error);
    if (status != SXT_OK)
        return status;
    status = sxt_mlyze_writer_open(&output, &settings, sxt_mlyze_metadata_text(trace), &writer, error);
    if (status == SXT_OK)
        status = sxt_mlyze_copy(trace, writer, NULL, NULL, error);
    if (status == SXT_OK)
        status = sxt_mlyze_writer_finish(writer, error);
    sxt_mlyze_writer_close(&writer);
    if (status == SXT_OK)
        return sxt_output_commit(&output, error);
    sxt_output_abandon(&output);
    return status;
}

/* Measures one codec: writes once, reads several times. */
static int measure(const struct sxt_mlyze *trace, const char *path, enum sxt_mlyze_codec codec, const char *name,
                   sxt_error *error)
{
    double start = now();
    int status = copy(trace, path, codec, error);
    double writing = now() - start, reading = 1e9;
    struct sxt_file file;
    struct sxt_mlyze *again;
    uint64_t count = 0;
    if (status != SXT_OK || (status = sxt_file_open(&file, path, error)) != SXT_OK)
        return status;
    status = sxt_mlyze_open(file.data, file.size, &again, error);
    for (unsigned i = 0; status == SXT_OK && i < ROUNDS; i++) {
        start = now();
        status = read_all(again, &count, error);
        double taken = now() - start;
        reading = taken < reading ? taken : reading;
    }
    if (status == SXT_OK && count > 0)
        printf("\"%s\": {\"bytes\": %zu, \"bytes_an_event\": %.3f, \"write_seconds\": %.6f, \"read_seconds\": %.6f, "
               "\"events_a_second\": %.0f}, ",
               name, file.size, (double)sxt_mlyze_events(again).size / (double)count, writing, reading,
               (double)count / reading);
    sxt_mlyze_close(&again);
    sxt_file_close(&file);
    unlink(path);
    return status;
}

static int measure_index(const struct sxt_mlyze *trace, sxt_error *error)
{
    struct sxt_mlyze_index index;
    double start = now();
    int status = sxt_mlyze_index_make(trace, &index, error);
    if (status == SXT_OK)
        printf("\"events\": %llu, \"index_seconds\": %.6f}\n", (unsigned long long)index.event_count, now() - start);
    sxt_mlyze_index_free(&index);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench_mlyze FILE COPY\n");
        return 2;
    }
    struct sxt_file file;
    struct sxt_mlyze *trace;
    sxt_error error;
    int status = sxt_file_open(&file, argv[1], &error);
    if (status == SXT_OK)
        status = sxt_mlyze_open(file.data, file.size, &trace, &error);
    if (status == SXT_OK) {
        printf("{");
        status = measure(trace, argv[2], SXT_MLYZE_RAW, "plain", &error);
        if (status == SXT_OK)
            status = measure(trace, argv[2], SXT_MLYZE_LZ4, "lz4", &error);
        if (status == SXT_OK)
            status = measure(trace, argv[2], SXT_MLYZE_COLUMNS_ZSTD, "columns", &error);
        if (status == SXT_OK)
            status = measure_index(trace, &error);
        sxt_mlyze_close(&trace);
    }
    if (status != SXT_OK)
        fprintf(stderr, "%s: %s\n", argv[1], error.text);
    sxt_file_close(&file);
    return status == SXT_OK ? 0 : 1;
}
