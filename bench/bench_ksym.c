/*
 * bench_ksym.c: measures the speed of the freestanding ksym reader. Prints one JSON object.
 *
 *     bench_ksym BLOB < QUESTIONS
 *
 * A question is a line "ADDRESS NAME", and the reference is asked the same ones. They are asked in chunks, all of them
 * several times. Each figure is made of the best time of every chunk, because other load on the machine can only make
 * one slower. A lookup by address finds a symbol and copies its name: the times of both parts alone show the limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sextant/ksym.h>

#define ROUNDS        25
#define CHUNK         1000
#define NAME_CAPACITY 4097

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *read_whole(FILE *file, size_t *size)
{
    size_t capacity = 1 << 16;
    char *bytes = malloc(capacity);
    *size = 0;
    while (bytes != NULL) {
        *size += fread(bytes + *size, 1, capacity - *size, file);
        if (*size < capacity)
            break;
        capacity *= 2;
        bytes = realloc(bytes, capacity);
    }
    return bytes;
}

struct question {
    uint64_t address;
    const char *name;
    size_t size;
    size_t index; /* of the symbol */
};

struct load {
    sxt_ksym ksym;
    size_t count;
    struct question *questions;
    size_t found;
};

/* Splits TEXT, which must end with a line feed, into questions. */
static void read_questions(struct load *load, char *text, size_t size)
{
    size_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    load->questions = calloc(lines + 1, sizeof *load->questions);
    load->count = 0;
    for (char *end = text + size; load->questions != NULL && text < end && load->count < lines;) {
        struct question *question = &load->questions[load->count++];
        char *line_end = memchr(text, '\n', (size_t)(end - text));
        sxt_ksym_symbol symbol;
        question->address = strtoull(text, &text, 16);
        question->name = text + 1;
        question->size = (size_t)(line_end - question->name);
        if (!sxt_ksym_lookup(&load->ksym, question->address, NULL, 0, &symbol)) {
            fprintf(stderr, "no symbol at 0x%llx\n", (unsigned long long)question->address);
            exit(1);
        }
        question->index = symbol.index;
        text = line_end + 1;
    }
}

static size_t by_index(const sxt_ksym *ksym, const struct question *question)
{
    char name[NAME_CAPACITY];
    return sxt_ksym_name(ksym, question->index, name, sizeof name);
}

static size_t by_address(const sxt_ksym *ksym, const struct question *question)
{
    char name[NAME_CAPACITY];
    sxt_ksym_symbol symbol;
    return sxt_ksym_lookup(ksym, question->address, name, sizeof name, &symbol);
}

static size_t by_address_without_name(const sxt_ksym *ksym, const struct question *question)
{
    sxt_ksym_symbol symbol;
    return sxt_ksym_lookup(ksym, question->address, NULL, 0, &symbol);
}

static size_t by_name(const sxt_ksym *ksym, const struct question *question)
{
    sxt_ksym_matches matches;
    size_t index;
    sxt_ksym_find(ksym, question->name, question->size, &matches);
    if (!sxt_ksym_next(&matches, &index))
        exit(1);
    return sxt_ksym_address(ksym, index) != 0;
}

static size_t by_name_all(const sxt_ksym *ksym, const struct question *question)
{
    sxt_ksym_matches matches;
    size_t index, found = 0;
    sxt_ksym_find(ksym, question->name, question->size, &matches);
    while (found < 10 && sxt_ksym_next(&matches, &index))
        found++;
    return found;
}

/* Inlined, so that ASK is called directly. */
static inline double best(struct load *load, size_t (*ask)(const sxt_ksym *ksym, const struct question *question))
{
    size_t chunks = (load->count + CHUNK - 1) / CHUNK;
    double *times = malloc((chunks + 1) * sizeof *times), sum = 0;
    if (times == NULL)
        exit(1);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t chunk = 0; chunk < chunks; chunk++) {
            size_t end = chunk + 1 < chunks ? (chunk + 1) * CHUNK : load->count;
            double start = now_ns();
            for (size_t i = chunk * CHUNK; i < end; i++)
                load->found += ask(&load->ksym, &load->questions[i]);
            double time = now_ns() - start;
            if (round == 0 || time < times[chunk])
                times[chunk] = time;
        }
    }
    for (size_t chunk = 0; chunk < chunks; chunk++)
        sum += times[chunk];
    free(times);
    return sum / (double)load->count;
}

static double open_blob(sxt_ksym *ksym, const char *path, const void *blob, size_t size)
{
    double least = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        const char *wrong = sxt_ksym_open(ksym, blob, size, 0, 0, NULL);
        double time = now_ns() - start;
        least = time < least ? time : least;
        if (wrong != NULL || ksym->count == 0) {
            fprintf(stderr, "%s: %s\n", path, wrong != NULL ? wrong : "no symbols");
            exit(1);
        }
    }
    return least;
}

/* The figures that the index in the caller's memory changes. */
static void measure_index(struct load *load)
{
    size_t size = sxt_ksym_index_size(&load->ksym);
    void *memory = malloc(size);
    double least = 1e300;
    for (int round = 0; round < ROUNDS / 5; round++) {
        double start = now_ns();
        if (memory == NULL || !sxt_ksym_use_index(&load->ksym, memory, size))
            exit(1);
        double time = now_ns() - start;
        least = time < least ? time : least;
    }
    printf(",\"index_bytes\":%zu,\"index_build_ns\":%.0f", size, least);
    printf(",\"index_address_ns\":%.1f", best(load, by_address));
    printf(",\"index_address_without_name_ns\":%.1f", best(load, by_address_without_name));
    printf(",\"index_name_ns\":%.1f", best(load, by_name));
}

int main(int argc, char **argv)
{
    static struct load load;
    size_t size = 0, text_size = 0;
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: bench_ksym BLOB < QUESTIONS\n");
        return 2;
    }
    const void *blob = read_whole(file, &size);
    char *text = read_whole(stdin, &text_size);
    if (blob == NULL || text == NULL || text_size == 0 || text[text_size - 1] != '\n')
        return 1;
    double open_time = open_blob(&load.ksym, argv[1], blob, size);
    read_questions(&load, text, text_size);
    printf("{\"symbols\":%zu,\"bytes\":%zu,\"lookups\":%zu,\"open_ns\":%.0f", load.ksym.count, size, load.count,
           open_time);
    printf(",\"table_bytes\":%zu", sizeof load.ksym);
    printf(",\"address_ns\":%.1f", best(&load, by_address));
    printf(",\"address_without_name_ns\":%.1f", best(&load, by_address_without_name));
    printf(",\"copy_ns\":%.1f", best(&load, by_index));
    printf(",\"name_ns\":%.1f", best(&load, by_name));
    printf(",\"name_all_ns\":%.1f", best(&load, by_name_all));
    measure_index(&load);
    printf("}\n");
    return 0;
}
