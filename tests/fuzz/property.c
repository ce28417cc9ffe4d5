/* property.c: see property.h. */
#include "property.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/sextant.h>

#include "lidia/lidia.h"
#include "symbols/symbols.h"

#define ADDRESSES_MAX 256
#define CHAIN_MAX     (SXT_SYMBOLS_MAX_DEPTH + 2)

/* The same ranges, written with an index and without. */
struct archives {
    void *indexed_bytes, *plain_bytes;
    size_t indexed_size, plain_size;
    sxt_archive *indexed, *plain;
};

static void write_both(const sxt_symbols *symbols, const sxt_lidia_options *options, struct archives *archives);
static void check_written(const void *bytes, size_t size, bool reference, sxt_archive **archive);
static size_t choose_addresses(const sxt_symbols *symbols, uint64_t *addresses);
static void check_lookups(const struct archives *archives, const uint64_t *addresses, size_t count);
static void check_against_model(const sxt_archive *archive, const sxt_symbols *symbols, uint64_t address);

void sxt_fuzz_holds(int holds, const char *condition, const char *file, int line)
{
    if (holds)
        return;
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

void sxt_fuzz_check_elf(const uint8_t *data, size_t size, uint32_t flags)
{
    sxt_extract_options options;
    sxt_symbols *symbols;
    sxt_error error;
    sxt_extract_options_init(&options);
    options.flags = flags | SXT_EXTRACT_NO_DEBUG_SEARCH;
    options.inflate_limit = SXT_FUZZ_INFLATE_LIMIT;
    if (sxt_symbols_from_memory(data, size, &options, &symbols, &error) != SXT_OK) {
        SXT_HOLDS(symbols == NULL);
        SXT_HOLDS(error.text[0] != 0 && strchr(error.text, '\n') == NULL);
        return;
    }
    bool reference = (flags & SXT_EXTRACT_REFERENCE) != 0;
    sxt_lidia_options lidia;
    sxt_lidia_options_init(&lidia);
    lidia.mangled = true;
    lidia.nul_strings = !reference && (size & 1) != 0;
    struct archives archives = {0};
    write_both(symbols, &lidia, &archives);
    check_written(archives.indexed_bytes, archives.indexed_size, reference, &archives.indexed);
    check_written(archives.plain_bytes, archives.plain_size, reference, &archives.plain);

    uint64_t addresses[ADDRESSES_MAX];
    size_t count = choose_addresses(symbols, addresses);
    check_lookups(&archives, addresses, count);
    for (size_t i = 0; i < count && !reference; i++)
        check_against_model(archives.indexed, symbols, addresses[i]);

    sxt_archive_close(&archives.indexed);
    sxt_archive_close(&archives.plain);
    sxt_free(archives.indexed_bytes);
    sxt_free(archives.plain_bytes);
    sxt_symbols_free(&symbols);
}

static void write_both(const sxt_symbols *symbols, const sxt_lidia_options *options, struct archives *archives)
{
    sxt_lidia_options plain = *options;
    plain.no_index = true;
    void *again;
    size_t again_size;
    SXT_HOLDS(sxt_lidia_write_memory(symbols, options, &archives->indexed_bytes, &archives->indexed_size, NULL, NULL) ==
              SXT_OK);
    SXT_HOLDS(sxt_lidia_write_memory(symbols, &plain, &archives->plain_bytes, &archives->plain_size, NULL, NULL) ==
              SXT_OK);
    SXT_HOLDS(sxt_lidia_write_memory(symbols, options, &again, &again_size, NULL, NULL) == SXT_OK);
    SXT_HOLDS(again_size == archives->indexed_size && memcmp(again, archives->indexed_bytes, again_size) == 0);
    SXT_HOLDS(archives->plain_size <= archives->indexed_size);
    /* Up to the end of the lines, both are the same. */
    struct sxt_lidia lidia;
    SXT_HOLDS(sxt_lidia_open(&lidia, archives->plain_bytes, archives->plain_size, false, NULL) == SXT_OK);
    uint64_t line_bytes = lidia.line_count * 2 * lidia.line_size;
    size_t end = (size_t)(lidia.strings - lidia.data + lidia.strings_size + line_bytes);
    SXT_HOLDS(memcmp(archives->plain_bytes, archives->indexed_bytes, end) == 0);
    sxt_free(again);
}

struct problems {
    bool reference;
    uint64_t excused;
};

/* The reference writes what the symbols say, and these may go beyond the last address. */
static void note_problem(void *data, const sxt_problem *problem)
{
    struct problems *problems = data;
    if (problems->reference && strcmp(problem->rule, "length") == 0)
        problems->excused++;
    else
        fprintf(stderr, "%s: %s (0x%llx)\n", problem->rule, problem->message, (unsigned long long)problem->offset);
}

static void check_written(const void *bytes, size_t size, bool reference, sxt_archive **archive)
{
    struct problems problems = {.reference = reference};
    uint64_t count = 0;
    SXT_HOLDS(sxt_verify_memory(bytes, size, note_problem, &problems, &count, NULL) == SXT_OK);
    SXT_HOLDS(count == problems.excused);
    sxt_open_options options;
    sxt_open_options_init(&options);
    options.check_crc = true;
    SXT_HOLDS(sxt_archive_open_memory(bytes, size, &options, archive, NULL) == SXT_OK);
    sxt_range row;
    sxt_line line;
    size_t rows = sxt_archive_row_count(*archive);
    for (size_t i = 0; i < rows; i++) {
        SXT_HOLDS(sxt_archive_row(*archive, i, &row) == SXT_OK);
        for (size_t k = 0; k < row.line_count; k++)
            SXT_HOLDS(sxt_archive_line(*archive, i, k, &line) == SXT_OK);
        SXT_HOLDS(sxt_archive_line(*archive, i, row.line_count, &line) != SXT_OK);
    }
    SXT_HOLDS(sxt_archive_row(*archive, rows, &row) != SXT_OK);
}

/* The edges of ranges, spread over all of them when there are many, and a few places far away. */
static size_t choose_addresses(const sxt_symbols *symbols, uint64_t *addresses)
{
    size_t count = 0, ranges = sxt_symbols_range_count(symbols);
    size_t step = ranges / ((ADDRESSES_MAX - 8) / 4) + 1;
    for (size_t i = 0; i < ranges; i += step) {
        sxt_range range;
        SXT_HOLDS(sxt_symbols_range(symbols, i, &range) == SXT_OK);
        addresses[count++] = range.address - 1;
        addresses[count++] = range.address;
        addresses[count++] = range.address + range.length - 1;
        addresses[count++] = range.address + range.length;
    }
    const uint64_t far[] = {0, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        addresses[count++] = far[i];
    return count;
}

static bool equal(sxt_string a, sxt_string b)
{
    return a.size == b.size && (a.data == NULL) == (b.data == NULL) &&
           (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool equal_frames(const sxt_frame *a, const sxt_frame *b)
{
    return equal(a->function, b->function) && equal(a->file, b->file) && a->line == b->line && a->depth == b->depth &&
           a->start == b->start && a->length == b->length;
}

static void check_lookups(const struct archives *archives, const uint64_t *addresses, size_t count)
{
    static sxt_frame one[CHAIN_MAX], other[CHAIN_MAX], batch[ADDRESSES_MAX * 8];
    size_t first[ADDRESSES_MAX + 1];
    size_t done = 0;
    while (done < count) {
        size_t answered = sxt_archive_lookup_batch(archives->indexed, addresses + done, count - done, batch,
                                                   sizeof batch / sizeof *batch, first);
        for (size_t i = 0; i < answered; i++) {
            uint64_t address = addresses[done + i];
            size_t frames = sxt_archive_lookup(archives->indexed, address, one, CHAIN_MAX);
            SXT_HOLDS(sxt_archive_lookup(archives->plain, address, other, CHAIN_MAX) == frames);
            SXT_HOLDS(frames <= CHAIN_MAX && first[i + 1] - first[i] == frames);
            SXT_HOLDS(sxt_archive_lookup(archives->indexed, address, NULL, 0) == frames);
            for (size_t k = 0; k < frames; k++) {
                SXT_HOLDS(equal_frames(&one[k], &other[k]));
                SXT_HOLDS(equal_frames(&one[k], &batch[first[i] + k]));
                SXT_HOLDS(address - one[k].start < one[k].length);
            }
        }
        /* A single chain that is longer than the room for all of them. */
        done += answered > 0 ? answered : 1;
    }
}

/* The line entry in effect, or NULL. */
static const struct sxt_model_line *line_at(const sxt_symbols *symbols, const struct sxt_model_range *range,
                                            uint64_t address)
{
    const struct sxt_model_line *found = NULL;
    for (uint32_t i = 0; i < range->line_count; i++)
        if (symbols->lines[range->first_line + i].offset <= address - range->address)
            found = &symbols->lines[range->first_line + i];
    return found;
}

static void check_against_model(const sxt_archive *archive, const sxt_symbols *symbols, uint64_t address)
{
    static sxt_frame frames[CHAIN_MAX];
    const struct sxt_model_range *chain[CHAIN_MAX];
    size_t count = 0;
    for (size_t i = symbols->range_count; i-- > 0;) {
        const struct sxt_model_range *range = &symbols->ranges[i];
        if (address < range->address || address - range->address >= range->length)
            continue;
        SXT_HOLDS(count < CHAIN_MAX);
        chain[count++] = range;
    }
    SXT_HOLDS(sxt_archive_lookup(archive, address, frames, CHAIN_MAX) == count);
    for (size_t i = 0; i < count; i++) {
        /* Ranges are in order of address and depth, so going backwards, what is inside comes first. */
        SXT_HOLDS(chain[i]->depth == count - 1 - i && frames[i].depth == chain[i]->depth);
        sxt_string function = sxt_symbols_view(symbols, chain[i]->function);
        SXT_HOLDS(frames[i].function.size == function.size);
        SXT_HOLDS(function.size == 0 || memcmp(frames[i].function.data, function.data, function.size) == 0);
        SXT_HOLDS(frames[i].start >= chain[i]->address);
        SXT_HOLDS(frames[i].start - chain[i]->address + frames[i].length <= chain[i]->length);
        const struct sxt_model_line *line = i == 0 ? line_at(symbols, chain[i], address) : NULL;
        SXT_HOLDS(frames[i].line == (i > 0 ? chain[i - 1]->call_line : line != NULL ? line->line : 0));
        if (line != NULL && line->file != 0)
            SXT_HOLDS(equal(frames[i].file, sxt_symbols_view(symbols, line->file)));
    }
}

static bool stop(void *data, const sxt_named *named)
{
    (void)named;
    return ++*(unsigned *)data < 100;
}

void sxt_fuzz_exercise(const sxt_archive *archive)
{
    enum { BATCH = 40, ROOM = 100 };
    sxt_frame frames[ROOM];
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(archive, &info);
    size_t rows = sxt_archive_row_count(archive);
    size_t step = rows / 200 + 1;
    uint64_t addresses[BATCH] = {0, UINT32_MAX, UINT64_MAX};
    unsigned used = 3;
    for (size_t i = 0; i < rows; i += step) {
        sxt_range row;
        sxt_line line;
        SXT_HOLDS(sxt_archive_row(archive, i, &row) == SXT_OK);
        (void)sxt_archive_line(archive, i, 0, &line);
        (void)sxt_archive_line(archive, i, row.line_count, &line);
        (void)sxt_archive_line(archive, i, SIZE_MAX, &line);
        const uint64_t near[] = {row.address, row.address + row.length - 1, row.address + row.length};
        for (unsigned k = 0; k < 3; k++) {
            size_t count = sxt_archive_lookup(archive, near[k], frames, ROOM);
            /* Every byte of the answer can be read. */
            unsigned sum = 0;
            for (size_t f = 0; f < count && f < ROOM; f++)
                for (size_t b = 0; b < frames[f].function.size; b++)
                    sum += (unsigned char)frames[f].function.data[b];
            (void)sum;
            if (used < BATCH)
                addresses[used++] = near[k];
        }
    }
    size_t first[BATCH + 1];
    size_t answered = sxt_archive_lookup_batch(archive, addresses, used, frames, ROOM, first);
    SXT_HOLDS(answered <= used && first[answered] <= ROOM);
    unsigned calls = 0;
    (void)sxt_archive_find_name(archive, "main", stop, &calls, NULL, NULL);
}
