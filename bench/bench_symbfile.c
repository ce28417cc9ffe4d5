/*
 * bench_symbfile.c: measures how fast a symbfile is read. Prints one JSON object.
 *
 *     bench_symbfile FILE
 *
 * All records are decoded, with their strings and lines, on one thread. The time is the best of several rounds, because
 * other load on the machine can only make a round slower.
 */
#include <stdio.h>
#include <time.h>

#include "base/file.h"
#include "symbfile/symbfile.h"

#define ROUNDS 9

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct counts {
    size_t records, lines, frames;
};

static int read_all(const struct sxt_file *file, struct counts *counts, sxt_error *error)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record = {.kind = SXT_SYMBFILE_PAD};
    *counts = (struct counts){0};
    int status = sxt_symbfile_reader_open(&reader, file->data, file->size, error);
    while (status == SXT_OK) {
        status = sxt_symbfile_read(reader, &record, error);
        if (status != SXT_OK || record.kind == SXT_SYMBFILE_END)
            break;
        counts->records++;
        counts->lines += record.kind == SXT_SYMBFILE_RANGE ? record.range.line_count : 0;
        counts->frames += record.kind == SXT_SYMBFILE_PAD ? record.pad.frame_count : 0;
    }
    sxt_symbfile_reader_close(&reader);
    return status;
}

int main(int argc, char **argv)
{
    struct sxt_file file;
    sxt_error error;
    if (argc != 2) {
        fprintf(stderr, "usage: bench_symbfile FILE\n");
        return 2;
    }
    if (sxt_file_open(&file, argv[1], &error) != SXT_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], error.text);
        return 1;
    }
    struct counts counts;
    double best = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double start = now();
        if (read_all(&file, &counts, &error) != SXT_OK) {
            fprintf(stderr, "%s: %s\n", argv[1], error.text);
            return 1;
        }
        double taken = now() - start;
        best = taken < best ? taken : best;
    }
    printf("{\"bytes\": %zu, \"records\": %zu, \"lines\": %zu, \"frames\": %zu, \"seconds\": %.6f}\n", file.size,
           counts.records, counts.lines, counts.frames, best);
    sxt_file_close(&file);
    return 0;
}
