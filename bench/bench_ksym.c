/*
 * bench_ksym.c: measures the speed of the freestanding ksym reader. Prints one JSON object.
 *
 *     bench_ksym BLOB [LOOKUPS]
 *
 * Addresses are those of random symbols, plus 1, and names are theirs: the questions that the reference is asked. Each
 * figure is the best of several rounds, because other load on the machine can only make a round slower. The time to
 * copy the names of the same symbols, without a search, shows what a lookup takes at least.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sextant/ksym.h>

#define ROUNDS        7
#define NAME_CAPACITY 4097

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

static void *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        return NULL;
    *size = (size_t)ftell(file);
    void *bytes = malloc(*size + 1);
    rewind(file);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
        return NULL;
    fclose(file);
    return bytes;
}

/* The addresses and names to look up, the same in every round. */
struct load {
    sxt_ksym ksym;
    size_t count;
    uint64_t *addresses;
    char *names; /* adjacent, so that cache misses on them do not count */
    size_t *sizes;
    size_t *indices;
    size_t found;
};

static void prepare(struct load *load, size_t count)
{
    uint64_t state = 1;
    size_t *indices = load->indices = calloc(count, sizeof *indices);
    size_t all = 1;
    load->count = count;
    load->addresses = calloc(count, sizeof *load->addresses);
    load->sizes = calloc(count, sizeof *load->sizes);
    if (indices == NULL || load->addresses == NULL || load->sizes == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        indices[i] = (size_t)(random_next(&state) % load->ksym.count);
        load->addresses[i] = sxt_ksym_address(&load->ksym, indices[i]) + 1;
        load->sizes[i] = sxt_ksym_name(&load->ksym, indices[i], NULL, 0);
        all += load->sizes[i];
    }
    char *end = load->names = malloc(all);
    if (end == NULL)
        exit(1);
    for (size_t i = 0; i < count; i++)
        end += sxt_ksym_name(&load->ksym, indices[i], end, load->sizes[i] + 1);
}

static void by_index(struct load *load)
{
    char name[NAME_CAPACITY];
    for (size_t i = 0; i < load->count; i++)
        load->found += sxt_ksym_name(&load->ksym, load->indices[i], name, sizeof name);
}

static void by_address(struct load *load)
{
    char name[NAME_CAPACITY];
    sxt_ksym_symbol symbol;
    for (size_t i = 0; i < load->count; i++)
        load->found += sxt_ksym_lookup(&load->ksym, load->addresses[i], name, sizeof name, &symbol);
}

static void by_address_without_name(struct load *load)
{
    sxt_ksym_symbol symbol;
    for (size_t i = 0; i < load->count; i++)
        load->found += sxt_ksym_lookup(&load->ksym, load->addresses[i], NULL, 0, &symbol);
}

static void by_name(struct load *load)
{
    const char *name = load->names;
    for (size_t i = 0; i < load->count; name += load->sizes[i++]) {
        sxt_ksym_matches matches;
        size_t index;
        sxt_ksym_find(&load->ksym, name, load->sizes[i], &matches);
        if (!sxt_ksym_next(&matches, &index))
            exit(1);
        load->found += sxt_ksym_address(&load->ksym, index) != 0;
    }
}

static void by_name_all(struct load *load)
{
    const char *name = load->names;
    for (size_t i = 0; i < load->count; name += load->sizes[i++]) {
        sxt_ksym_matches matches;
        size_t index;
        sxt_ksym_find(&load->ksym, name, load->sizes[i], &matches);
        while (sxt_ksym_next(&matches, &index))
            load->found++;
    }
}

static double best(struct load *load, void (*work)(struct load *load))
{
    double least = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        load->found = 0;
        double start = now_ns();
        work(load);
        double time = now_ns() - start;
        least = time < least ? time : least;
    }
    return least / (double)load->count;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_ksym BLOB [LOOKUPS]\n");
        return 2;
    }
    size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 500000;
    size_t size = 0;
    struct load load;
    const void *blob = read_whole(argv[1], &size);
    if (blob == NULL || count == 0) {
        fprintf(stderr, "%s: cannot be read\n", argv[1]);
        return 1;
    }
    double open_time = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        const char *wrong = sxt_ksym_open(&load.ksym, blob, size, 0, 0, NULL);
        double time = now_ns() - start;
        open_time = time < open_time ? time : open_time;
        if (wrong != NULL || load.ksym.count == 0) {
            fprintf(stderr, "%s: %s\n", argv[1], wrong != NULL ? wrong : "no symbols");
            return 1;
        }
    }
    prepare(&load, count);
    printf("{\"symbols\":%zu,\"bytes\":%zu,\"lookups\":%zu,\"open_ns\":%.0f", load.ksym.count, size, count, open_time);
    printf(",\"address_ns\":%.1f", best(&load, by_address));
    printf(",\"address_without_name_ns\":%.1f", best(&load, by_address_without_name));
    printf(",\"copy_ns\":%.1f", best(&load, by_index));
    printf(",\"name_ns\":%.1f", best(&load, by_name));
    printf(",\"name_all_ns\":%.1f}\n", best(&load, by_name_all));
    return 0;
}
