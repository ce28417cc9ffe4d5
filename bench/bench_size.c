/*
 * bench_size.c: measures how fast .size files are read and written. Prints one JSON object.
 *
 *     bench_size make COUNT SEED FILE    makes a file of COUNT symbols; 2 % of them depend on SEED, none if it is 0
 *     bench_size load FILE               measures reading, compared with libdeflate's inflate alone
 *     bench_size save FILE               measures writing, stock and fast, compared with zlib at level 9 alone
 *     bench_size diff BEFORE AFTER       measures matching the symbols of two files in memory
 *
 * Times are processor times of one thread, except for diff, which has several threads and uses wall time. Reading is
 * the best of several rounds, because other load on the machine can only make a round slower. Stock compression takes
 * seconds and is measured once, right after zlib.
 */
#define ZLIB_CONST
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/file.h"
#include "base/inflate.h"
#include "base/output.h"
#include "size/size.h"

#define ROUNDS 7

static double seconds_of(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double now(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "bench_size: %s\n", what);
    exit(1);
}

/* --- making a file --- */

#define DIRECTORIES 600
#define FILES       40000
#define COMPONENTS  400

struct maker {
    struct sxt_size_info *size;
    uint64_t state, changes;
    bool is_changed; /* the current symbol depends on the seed */
};

static uint64_t scramble(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t value = *state;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static uint64_t below(uint64_t *state, uint64_t bound)
{
    return scramble(state) % bound;
}

static sxt_string text_of(struct maker *maker, const char *text)
{
    size_t size = strlen(text);
    const char *copy = sxt_arena_copy(&maker->size->arena, text, size);
    if (copy == NULL)
        give_up("out of memory");
    return (sxt_string){copy, size};
}

static void *items(struct maker *maker, size_t count, size_t size)
{
    void *memory = sxt_arena_calloc(&maker->size->arena, count, size);
    if (memory == NULL)
        give_up("out of memory");
    return memory;
}

/* Names as in a large C++ program: few words, many combinations. */
static sxt_string make_name(struct maker *maker, size_t index, char letter)
{
    static const char *const spaces[] = {"blink", "v8::internal", "net", "base::internal", "media", "cc", "viz", "gpu"};
    static const char *const nouns[] = {"Layout",  "Cache", "Stream", "Decoder",  "Session",  "Painter",
                                        "Context", "Queue", "Buffer", "Observer", "Registry", "Builder",
                                        "Worker",  "Frame", "Socket", "Node"};
    static const char *const verbs[] = {"Compute", "Update", "Create", "Destroy", "Notify", "Resolve", "Append", "On"};
    static const char *const types[] = {"int",
                                        "std::__Cr::basic_string<char>",
                                        "base::span<unsigned char const>",
                                        "unsigned long",
                                        "std::__Cr::unique_ptr<net::Request>",
                                        "bool",
                                        "float",
                                        "void*"};
    uint64_t *state = &maker->state;
    char text[400];
    const char *space = spaces[below(state, 8)], *first = nouns[below(state, 16)], *second = nouns[below(state, 16)];
    const char *verb = verbs[below(state, 8)], *third = nouns[below(state, 16)], *type = types[below(state, 8)];
    const char *argument = types[below(state, 8)];
    unsigned form = (unsigned)below(state, 4), number = (unsigned)below(state, 3000);
    if (letter != 't' && form < 2)
        snprintf(text, sizeof text, form == 0 ? "string literal" : "\"%s of %s %u\"", first, third, number);
    else if (form == 0)
        snprintf(text, sizeof text, "%s::%s%s<%s>::%s%s%u(%s, %s) const", space, first, second, type, verb, third,
                 number, argument, type);
    else
        snprintf(text, sizeof text, "%s::%s%s::%s%s%u(%s)%s", space, first, second, verb, third, number, argument,
                 maker->is_changed && index % 3 == 0 ? " [changed]" : "");
    return text_of(maker, text);
}

static void make_lists(struct maker *maker)
{
    struct sxt_size_info *size = maker->size;
    char text[200];
    size->path_count = FILES;
    size->paths = items(maker, FILES, sizeof *size->paths);
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(text, sizeof text, "obj/part%03u/library%u/file_%u.o", i % DIRECTORIES, i % 7, i);
        size->paths[i].object = text_of(maker, text);
        snprintf(text, sizeof text, "part%03u/library%u/file_%u.cc", i % DIRECTORIES, i % 7, i);
        size->paths[i].source = text_of(maker, text);
    }
    size->component_count = COMPONENTS;
    size->components = items(maker, COMPONENTS, sizeof *size->components);
    for (unsigned i = 0; i < COMPONENTS; i++) {
        snprintf(text, sizeof text, "Area%u>Component%u", i % 20, i);
        size->components[i] = text_of(maker, text);
    }
}

static void make_symbols(struct maker *maker, struct sxt_size_segment *segment, uint64_t address)
{
    struct sxt_size_info *size = maker->size;
    uint32_t path = 0;
    for (size_t i = segment->first; i < segment->first + segment->count; i++) {
        struct sxt_size_model_symbol *symbol = &size->symbols[i];
        uint64_t choice = maker->changes * 1000003 + i;
        maker->is_changed = maker->changes != 0 && below(&choice, 50) == 0;
        sxt_string name = make_name(maker, i, segment->letter);
        if (below(&maker->state, 8) == 0)
            path = (uint32_t)below(&maker->state, FILES);
        symbol->address = (int64_t)address;
        symbol->size = (int64_t)(1 + below(&maker->state, 12) * below(&maker->state, 60)) + maker->is_changed * 16;
        symbol->full_name = name.data;
        symbol->full_name_size = (uint32_t)name.size;
        symbol->path = path;
        symbol->component = path % COMPONENTS;
        symbol->segment = (uint32_t)(segment - size->segments);
        symbol->flags = below(&maker->state, 30) == 0 ? SXT_SIZE_ANONYMOUS : 0;
        bool is_alias = below(&maker->state, 12) == 0 && i > segment->first;
        if (is_alias) {
            const struct sxt_size_model_symbol *before = symbol - 1;
            symbol->address = before->address;
            symbol->size = before->size;
            if (before->group == 0)
                size->groups[size->group_count++] = (struct sxt_size_group){(uint32_t)i - 1, 1};
            symbol->group = symbol[-1].group = (uint32_t)size->group_count;
            size->groups[symbol->group - 1].count++;
        } else {
            address = (uint64_t)symbol->address + (uint64_t)symbol->size + below(&maker->state, 3) * 4;
        }
    }
}

static void make(size_t count, uint64_t changes, const char *path)
{
    static const char *const sections[] = {".text", ".rodata", ".data.rel.ro", ".bss"};
    static const unsigned shares[] = {60, 25, 10, 5};
    struct maker maker = {.changes = changes, .state = 1};
    sxt_error error;
    if (sxt_size_info_new(&maker.size, &error) != SXT_OK)
        give_up(error.text);
    struct sxt_size_info *size = maker.size;
    size->container_count = 1;
    size->containers = items(&maker, 1, sizeof *size->containers);
    size->symbol_count = count;
    size->symbols = items(&maker, count, sizeof *size->symbols);
    size->groups = items(&maker, count, sizeof *size->groups);
    size->segments = items(&maker, 4, sizeof *size->segments);
    size->segment_count = 4;
    make_lists(&maker);
    size_t first = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct sxt_size_segment *segment = &size->segments[i];
        segment->section = text_of(&maker, sections[i]);
        sxt_size_classify(segment);
        segment->first = first;
        segment->count = i == 3 ? count - first : count * shares[i] / 100;
        first += segment->count;
        make_symbols(&maker, segment, (uint64_t)(i + 1) << 32);
    }
    struct sxt_buffer out;
    sxt_buffer_init(&out, SIZE_MAX);
    if (sxt_size_save(size, SXT_SIZE_DEFLATE_STOCK, &out, &error) != SXT_OK ||
        sxt_output_save(path, out.data, out.size, &error) != SXT_OK)
        give_up(error.text);
    sxt_buffer_free(&out);
    sxt_size_info_free(&maker.size);
}

/* --- measuring --- */

static double best_inflate(const struct sxt_file *file, uint8_t *text, size_t text_size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    double best = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        double start = now();
        if (libdeflate_gzip_decompress(decompressor, file->data, file->size, text, text_size, NULL) !=
            LIBDEFLATE_SUCCESS)
            give_up("libdeflate cannot decompress the file");
        double taken = now() - start;
        best = taken < best ? taken : best;
    }
    libdeflate_free_decompressor(decompressor);
    return best;
}

static double best_load(const struct sxt_file *file, size_t *count)
{
    double best = 1e9;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct sxt_size_info *size;
        sxt_error error;
        double start = now();
        if (sxt_size_open(file->data, file->size, NULL, &size, &error) != SXT_OK)
            give_up(error.text);
        double taken = now() - start;
        best = taken < best ? taken : best;
        *count = size->symbol_count;
        sxt_size_info_free(&size);
    }
    return best;
}

static void measure_load(const struct sxt_file *file, uint8_t *text, size_t text_size)
{
    size_t count = 0;
    double inflate = best_inflate(file, text, text_size), load = best_load(file, &count);
    printf("{\"symbols\":%zu,\"bytes\":%zu,\"text_bytes\":%zu,\"libdeflate_seconds\":%.4f,\"load_seconds\":%.4f,"
           "\"load_ratio\":%.2f}\n",
           count, file->size, text_size, inflate, load, load / inflate);
}

static double time_zlib(const uint8_t *text, size_t text_size)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        give_up("out of memory");
    size_t bound = deflateBound(&stream, text_size);
    uint8_t *out = malloc(bound);
    if (out == NULL)
        give_up("out of memory");
    stream.next_in = text;
    stream.avail_in = (uInt)text_size;
    stream.next_out = out;
    stream.avail_out = (uInt)bound;
    double start = now();
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        give_up("zlib failed");
    double taken = now() - start;
    deflateEnd(&stream);
    free(out);
    return taken;
}

static double time_save(const struct sxt_size_info *size, enum sxt_size_deflate deflate, struct sxt_buffer *out)
{
    sxt_error error;
    sxt_buffer_clear(out);
    double start = now();
    if (sxt_size_save(size, deflate, out, &error) != SXT_OK)
        give_up(error.text);
    return now() - start;
}

static void measure_save(const struct sxt_file *file, const uint8_t *text, size_t text_size)
{
    struct sxt_size_info *size;
    struct sxt_buffer out;
    sxt_error error;
    sxt_buffer_init(&out, SIZE_MAX);
    if (sxt_size_open(file->data, file->size, NULL, &size, &error) != SXT_OK)
        give_up(error.text);
    double fast = 1e9;
    for (unsigned i = 0; i < 3; i++) {
        double taken = time_save(size, SXT_SIZE_DEFLATE_FAST, &out);
        fast = taken < fast ? taken : fast;
    }
    size_t fast_size = out.size;
    double zlib = time_zlib(text, text_size), stock = time_save(size, SXT_SIZE_DEFLATE_STOCK, &out);
    bool same = out.size == file->size && memcmp(out.data, file->data, out.size) == 0;
    printf("{\"bytes\":%zu,\"zlib_seconds\":%.3f,\"save_seconds\":%.3f,\"save_ratio\":%.3f,\"fast_seconds\":%.3f,"
           "\"fast_ratio\":%.1f,\"fast_bytes\":%zu,\"identical\":%s}\n",
           out.size, zlib, stock, stock / zlib, fast, stock / fast, fast_size, same ? "true" : "false");
    sxt_buffer_free(&out);
    sxt_size_info_free(&size);
}

static void measure_diff(const char *const paths[2])
{
    struct sxt_file files[2];
    struct sxt_size_info *sizes[2];
    sxt_error error;
    for (unsigned i = 0; i < 2; i++)
        if (sxt_file_open(&files[i], paths[i], &error) != SXT_OK ||
            sxt_size_open(files[i].data, files[i].size, NULL, &sizes[i], &error) != SXT_OK)
            give_up(error.text);
    double best = 1e9;
    struct sxt_size_delta delta;
    uint64_t counts[4];
    for (unsigned i = 0; i < ROUNDS; i++) {
        double start = seconds_of(CLOCK_MONOTONIC);
        if (sxt_size_delta_make(sizes[0], sizes[1], false, 0, &delta, &error) != SXT_OK)
            give_up(error.text);
        double taken = seconds_of(CLOCK_MONOTONIC) - start;
        best = taken < best ? taken : best;
        memcpy(counts, delta.counts, sizeof counts);
        sxt_size_delta_free(&delta);
    }
    printf("{\"diff_seconds\":%.4f,\"unchanged\":%" PRIu64 ",\"changed\":%" PRIu64 ",\"added\":%" PRIu64
           ",\"removed\":%" PRIu64 "}\n",
           best, counts[SXT_SIZE_UNCHANGED], counts[SXT_SIZE_CHANGED], counts[SXT_SIZE_ADDED],
           counts[SXT_SIZE_REMOVED]);
    for (unsigned i = 0; i < 2; i++) {
        sxt_size_info_free(&sizes[i]);
        sxt_file_close(&files[i]);
    }
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "diff") == 0) {
        measure_diff((const char *const[]){argv[2], argv[3]});
        return 0;
    }
    if (argc == 5 && strcmp(argv[1], "make") == 0) {
        make(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4]);
        return 0;
    }
    if (argc != 3) {
        fprintf(stderr, "usage: bench_size make COUNT SEED FILE, bench_size load|save FILE,\n"
                        "or bench_size diff BEFORE AFTER\n");
        return 2;
    }
    struct sxt_file file;
    sxt_error error;
    uint8_t *text;
    size_t text_size;
    if (sxt_file_open(&file, argv[2], &error) != SXT_OK ||
        sxt_inflate(SXT_COMPRESSION_GZIP, file.data, file.size, (uint64_t)4 << 30, &text, &text_size, &error) != SXT_OK)
        give_up(error.text);
    if (strcmp(argv[1], "load") == 0)
        measure_load(&file, text, text_size);
    else
        measure_save(&file, text, text_size);
    free(text);
    sxt_file_close(&file);
    return 0;
}
