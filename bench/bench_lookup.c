/*
 * bench_lookup.c: measures the speed of lookups. Prints one JSON object.
 *
 *     bench_lookup FILE [ADDRESSES]
 *
 * Addresses are random between the archive's first and last function. Each figure is the best of several rounds,
 * because other load on the machine can only make a round slower.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sextant/sextant.h>

#define ROUNDS       7
#define FRAMES       64
#define BATCH        256
#define OPENS        2000
#define THREADS_MOST 2

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int by_value(const void *a, const void *b)
{
    uint64_t first, second;
    memcpy(&first, a, sizeof first);
    memcpy(&second, b, sizeof second);
    return first < second ? -1 : first > second;
}

struct load {
    const sxt_archive *archive;
    const uint64_t *addresses;
    size_t count;
    size_t found;
};

static void *look_up_all(void *data)
{
    struct load *load = data;
    sxt_frame frames[FRAMES];
    size_t found = 0;
    for (size_t i = 0; i < load->count; i++)
        found += sxt_archive_lookup(load->archive, load->addresses[i], frames, FRAMES) > 0;
    load->found = found;
    return NULL;
}

static double best_single(struct load *load)
{
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        look_up_all(load);
        double time = now_ns() - start;
        best = time < best ? time : best;
    }
    return best / (double)load->count;
}

/* One of several threads; they begin together. */
struct thread {
    pthread_t id;
    struct load load;
    pthread_barrier_t *ready;
    double start, end;
};

static void *look_up_together(void *data)
{
    struct thread *thread = data;
    pthread_barrier_wait(thread->ready);
    thread->start = now_ns();
    look_up_all(&thread->load);
    thread->end = now_ns();
    return NULL;
}

/* Nanoseconds per lookup if THREADS threads each do all lookups at the same time. Starting them does not count. */
static double best_threads(const struct load *load, unsigned threads)
{
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        struct thread all[THREADS_MOST];
        pthread_barrier_t ready;
        pthread_barrier_init(&ready, NULL, threads);
        for (unsigned i = 0; i < threads; i++) {
            all[i].load = *load;
            all[i].ready = &ready;
            if (pthread_create(&all[i].id, NULL, look_up_together, &all[i]) != 0)
                exit(1);
        }
        double start = 1e300, end = 0;
        for (unsigned i = 0; i < threads; i++) {
            pthread_join(all[i].id, NULL);
            start = all[i].start < start ? all[i].start : start;
            end = all[i].end > end ? all[i].end : end;
        }
        double time = end - start;
        pthread_barrier_destroy(&ready);
        best = time < best ? time : best;
    }
    return best / (double)load->count / threads;
}

static double best_batch(const struct load *load)
{
    static sxt_frame frames[BATCH * 8];
    static size_t first[BATCH + 1];
    double best = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (size_t at = 0; at < load->count;) {
            size_t want = load->count - at < BATCH ? load->count - at : BATCH;
            size_t done = sxt_archive_lookup_batch(load->archive, load->addresses + at, want, frames,
                                                   sizeof frames / sizeof *frames, first);
            if (done == 0)
                exit(1);
            at += done;
        }
        double time = now_ns() - start;
        best = time < best ? time : best;
    }
    return best / (double)load->count;
}

static double best_open(const char *path)
{
    double best = 1e300;
    for (int i = 0; i < OPENS; i++) {
        sxt_archive *archive;
        double start = now_ns();
        if (sxt_archive_open_path(path, NULL, &archive, NULL) != SXT_OK)
            exit(1);
        double time = now_ns() - start;
        sxt_archive_close(&archive);
        best = time < best ? time : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_lookup FILE [ADDRESSES]\n");
        return 2;
    }
    size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    sxt_archive *archive;
    sxt_error error;
    if (sxt_archive_open_path(argv[1], NULL, &archive, &error) != SXT_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], error.text);
        return 1;
    }
    size_t rows = sxt_archive_row_count(archive);
    sxt_range first, last;
    uint64_t *addresses = malloc((count + 1) * sizeof *addresses);
    if (addresses == NULL || sxt_archive_row(archive, 0, &first) != SXT_OK ||
        sxt_archive_row(archive, rows - 1, &last) != SXT_OK)
        return 1;
    uint64_t span = last.address + last.length - first.address;
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++)
        addresses[i] = first.address + random_next(&state) % span;

    struct load load = {archive, addresses, count, 0};
    double single = best_single(&load);
    double one = best_threads(&load, 1);
    double two = best_threads(&load, 2);
    double random_batch = best_batch(&load);
    qsort(addresses, count, sizeof *addresses, by_value);
    double sorted_single = best_single(&load);
    double sorted_batch = best_batch(&load);
    printf("{\"rows\":%zu,\"lookups\":%zu,\"found\":%zu,\"lookup_ns\":%.1f,\"random_batch_ns\":%.1f,"
           "\"sorted_ns\":%.1f,\"sorted_batch_ns\":%.1f,\"two_thread_scaling\":%.2f,\"open_us\":%.1f}\n",
           rows, count, load.found, single, random_batch, sorted_single, sorted_batch, one / two,
           best_open(argv[1]) / 1000);
    free(addresses);
    sxt_archive_close(&archive);
    return 0;
}
