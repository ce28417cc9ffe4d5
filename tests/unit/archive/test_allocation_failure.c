/*
 * test_allocation_failure.c: every single allocation of a whole run fails once. Linked with --wrap for malloc, calloc
 * and realloc, so all of the library's own calls come through here. Each run ends with an error or with the very bytes
 * of a run without failures, and leaves nothing behind (AddressSanitizer looks for leaks).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sextant/sextant.h>

#include "archive/archive.h"
#include "ksym/ksym.h"
#include "measure/measure.h"
#include "size/size.h"
#include "source/linker_map/linker_map.h"
#include "support/dwarf_builder.h"
#include "support/elf_image.h"
#include "support/failing_allocations.h"
#include "support/model.h"
#include "support/test.h"
#include "symbfile/symbfile.h"

#define ALLOCATIONS_MAX 20000

/* What a run gave. */
struct outcome {
    int status;
    void *data;
    size_t size;
    sxt_error error;
};

/* Tries RUN once in peace, and then again and again, with another allocation failing each time. */
static void fail_each_allocation(void (*run)(struct outcome *outcome))
{
    struct outcome good = {0};
    failing = counted = 0;
    run(&good);
    unsigned long needed = counted;
    assert_int_equal(good.status, SXT_OK);
    assert_true(needed > 0 && needed < ALLOCATIONS_MAX);
    for (unsigned mode = 0; mode < 2; mode++)
        for (unsigned long i = 1; i <= needed; i++) {
            struct outcome outcome = {0};
            from_there_on = mode == 1;
            counted = 0;
            failing = i;
            run(&outcome);
            failing = 0;
            if (outcome.status == SXT_OK) {
                if (outcome.size != good.size || (good.size > 0 && memcmp(outcome.data, good.data, good.size) != 0))
                    fail_msg("allocation %lu of %lu failed, and the result is quietly another", i, needed);
            } else if (outcome.status != SXT_ERROR_MEMORY || outcome.error.code != SXT_ERROR_MEMORY) {
                fail_msg("allocation %lu of %lu failed, and the error is %d: %s", i, needed, outcome.status,
                         outcome.error.text);
            }
            free(outcome.data);
        }
    free(good.data);
}

static uint8_t *elf;
static size_t elf_size;

/* Enough symbols that tables of strings and symbols grow, with names of every language. */
static void make_elf(void)
{
    enum { COUNT = 300 };
    static struct sxt_test_symbol symbols[COUNT];
    static char names[COUNT][24];
    static const char *const mangled[] = {"_ZN3foo3barEi", "_RNvC6_123foo3bar",
                                          "_ZN4core3fmt5write17h0123456789abcdefE", "_ZN3foo3bazEv.cold"};
    for (unsigned i = 0; i < COUNT; i++) {
        for (unsigned k = 0, rest = i; k < 8; k++, rest /= 3)
            names[i][k] = (char)('a' + rest % 3);
        symbols[i] = (struct sxt_test_symbol){i < 4 ? mangled[i] : names[i], 0x401000 + i % 64 * 4, 4, 'F', 'G'};
    }
    uint64_t code_offset;
    elf = sxt_test_elf_image(symbols, COUNT, &elf_size, &code_offset);
}

static void extract_and_write(struct outcome *outcome)
{
    sxt_symbols *symbols;
    outcome->status = sxt_symbols_from_memory(elf, elf_size, NULL, &symbols, &outcome->error);
    if (outcome->status != SXT_OK) {
        assert_null(symbols);
        return;
    }
    outcome->status = sxt_lidia_write_memory(symbols, NULL, &outcome->data, &outcome->size, NULL, &outcome->error);
    sxt_symbols_free(&symbols);
}

TEST(extracting_and_writing_survive_every_failure)
{
    make_elf();
    fail_each_allocation(extract_and_write);
    free(elf);
}

static void extract_reference_and_write(struct outcome *outcome)
{
    sxt_extract_options options;
    sxt_extract_options_init(&options);
    options.flags = SXT_EXTRACT_REFERENCE;
    sxt_symbols *symbols;
    outcome->status = sxt_symbols_from_memory(elf, elf_size, &options, &symbols, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_lidia_write_memory(symbols, NULL, &outcome->data, &outcome->size, NULL, &outcome->error);
    sxt_symbols_free(&symbols);
}

TEST(the_reference_choice_survives_every_failure)
{
    make_elf();
    fail_each_allocation(extract_reference_and_write);
    free(elf);
}

/* Answers from the binary itself become the result. */
static void open_and_look_up(struct outcome *outcome)
{
    sxt_archive *archive;
    outcome->status = sxt_archive_open_memory(elf, elf_size, NULL, &archive, &outcome->error);
    if (outcome->status != SXT_OK) {
        assert_null(archive);
        return;
    }
    sxt_info info = {.struct_size = sizeof info};
    sxt_archive_info(archive, &info);
    outcome->size = info.functions * 40;
    outcome->data = __real_calloc(info.functions, 40);
    for (size_t i = 0; i < info.functions; i++) {
        sxt_frame frame = {0};
        sxt_archive_lookup(archive, 0x401000 + 4 * i, &frame, 1);
        memcpy((char *)outcome->data + i * 40, frame.function.data,
               frame.function.size < 40 ? frame.function.size : 40);
    }
    sxt_archive_close(&archive);
}

TEST(opening_a_binary_survives_every_failure)
{
    make_elf();
    fail_each_allocation(open_and_look_up);
    free(elf);
}

/* Units that need names and scopes of each other, lists of ranges, lines out of order, and compressed sections. */
static void make_debug(struct debug *debug)
{
    debug_init(debug, (struct debug_shape){.version = 5});
    debug->compression = ELFCOMPRESS_ZLIB;
    debug_begin_lines(debug, &(struct debug_line_shape){.directory = "sub", .directory_index = 1}, "a.c b.c");
    for (unsigned i = 4; i-- > 0;) {
        debug_line_address(debug, TEXT + 0x100 * i + 8);
        debug_line_row(debug, 0, 5);
        debug_line_address(debug, TEXT + 0x100 * i);
        debug_line_row(debug, 0, i);
        debug_line_end(debug, 0x180);
    }
    debug_end_lines(debug);
    uint64_t list = RANGE_LIST(debug, TEXT, TEXT + 0x40, TEXT + 0x100, TEXT + 0x180, TEXT + 0x80, TEXT + 0x90);
    debug_begin_unit(debug, LANGUAGE(C_PLUS_PLUS));
    OPEN(debug, DW_TAG_namespace, NAME("far"));
    uint64_t origin = ENTRY(debug, DW_TAG_subprogram, NAME("away"));
    debug_close(debug);
    debug_end_unit(debug);
    debug_new_abbreviations(debug);
    debug_begin_unit(debug, LINES(0), LOW(TEXT), HIGH(0x200), LANGUAGE(C_PLUS_PLUS));
    OPEN(debug, DW_TAG_namespace, NAME("n"));
    OPEN(debug, DW_TAG_subprogram, NAME("f"), LIST(list));
    for (unsigned i = 0; i < 80; i++)
        ENTRY(debug, DW_TAG_inlined_subroutine, ORIGIN(origin), LOW(TEXT + i * 2), HIGH(1), CALL(1 + i % 2, i));
    debug_close(debug);
    debug_close(debug);
    debug_end_unit(debug);
    debug_finish(debug);
}

static struct debug debug;

static void extract_debug_and_write(struct outcome *outcome)
{
    sxt_symbols *symbols;
    sxt_extract_options options;
    sxt_extract_options_init(&options);
    options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    outcome->status = sxt_symbols_from_memory(debug.elf.data, debug.elf.size, &options, &symbols, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_lidia_write_memory(symbols, NULL, &outcome->data, &outcome->size, NULL, &outcome->error);
    sxt_symbols_free(&symbols);
}

/* The same for a few addresses only. */
static void extract_some_debug_and_write(struct outcome *outcome)
{
    static const uint64_t addresses[] = {TEXT, TEXT + 0x100};
    sxt_symbols *symbols;
    sxt_extract_options options;
    sxt_extract_options_init(&options);
    options.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    options.addresses = addresses;
    options.address_count = 2;
    outcome->status = sxt_symbols_from_memory(debug.elf.data, debug.elf.size, &options, &symbols, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_lidia_write_memory(symbols, NULL, &outcome->data, &outcome->size, NULL, &outcome->error);
    sxt_symbols_free(&symbols);
}

TEST(reading_debug_information_survives_every_failure)
{
    make_debug(&debug);
    fail_each_allocation(extract_debug_and_write);
    fail_each_allocation(extract_some_debug_and_write);
    debug_free(&debug);
}

static sxt_symbols *model;

static void write_model(struct outcome *outcome)
{
    outcome->status = sxt_lidia_write_memory(model, NULL, &outcome->data, &outcome->size, NULL, &outcome->error);
}

TEST(writing_inlined_calls_and_lines_survives_every_failure)
{
    model = sxt_test_model();
    sxt_test_add_range(model, SXT_SOURCE_DWARF, 0, "_ZN3foo3barEi", 0, 1000);
    for (uint32_t i = 0; i < 100; i++)
        sxt_test_add_line(model, 10 * i, i % 2 ? "a.c" : "b.c", i);
    for (uint32_t i = 0; i < 100; i++)
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "g", 10 * i + 5, 10, "g.h", "a.c", i);
    sxt_test_finish(model);
    fail_each_allocation(write_model);
    sxt_symbols_free(&model);
}

/* All of the merging: cut functions, cut lines, cut calls. */
static void merge_and_write(struct outcome *outcome)
{
    struct sxt_symbols *merged = NULL;
    outcome->status = sxt_symbols_new(&merged, &outcome->error);
    if (outcome->status != SXT_OK)
        return;
    for (uint32_t i = 0; i < 70; i++) {
        sxt_test_add_function(merged, i % 2 ? "s" : "t", 90 * i, 200, 'G');
        sxt_test_add_range(merged, SXT_SOURCE_GO, 0, "go", 100 * i, 100);
        sxt_test_add_line(merged, 0, "a.go", i);
        sxt_test_add_line(merged, 50, "b.go", i);
        sxt_test_add_range(merged, SXT_SOURCE_GO, 1, "inner", 100 * i + 10, 80);
        sxt_test_add_range(merged, SXT_SOURCE_DWARF, 0, "dwarf", 100 * i + 30, 20);
    }
    outcome->status = sxt_symbols_finish(merged, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_lidia_write_memory(merged, NULL, &outcome->data, &outcome->size, NULL, &outcome->error);
    sxt_symbols_free(&merged);
}

TEST(merging_survives_every_failure)
{
    fail_each_allocation(merge_and_write);
}

/* --- symbfiles --- */

static uint8_t symbfile[1 << 17];
static size_t symbfile_size;

static int to_symbfile(void *context, const void *data, size_t size, sxt_error *error)
{
    (void)context;
    (void)error;
    assert_true(size <= sizeof symbfile - symbfile_size);
    memcpy(symbfile + symbfile_size, data, size);
    symbfile_size += size;
    return SXT_OK;
}

/* A copy of what a run gave, which no failure can hit. */
static void keep(struct outcome *outcome, const void *data, size_t size)
{
    outcome->data = __real_malloc(size);
    outcome->size = size;
    memcpy(outcome->data, data, size);
}

static int add_pads(struct sxt_symbfile_writer *writer, sxt_error *error)
{
    int status = SXT_OK;
    for (uint64_t i = 0; i < 200 && status == SXT_OK; i++) {
        /* One that is not UTF-8, again and again. */
        char name[] = {'p', (char)(0x80 + i % 64), 'q', 0};
        struct sxt_symbfile_frame frames[] = {{{name, 3}, {NULL, 0}, 5}, {{name + 2, 1}, {name + 2, 1}, 6}};
        status = sxt_symbfile_add_pad(writer, &(struct sxt_symbfile_pad){i, frames, 2}, error);
    }
    return status;
}

static void write_symbfile(struct outcome *outcome)
{
    struct sxt_symbfile_writer *writer;
    static const sxt_path_map map = {"a.c", "/the/a.c"};
    const struct sxt_symbfile_settings settings = {.demangle = true, .path_maps = {&map, 1}};
    sxt_error *error = &outcome->error;
    symbfile_size = 0;
    outcome->status = sxt_symbfile_writer_open(&writer, (struct sxt_symbfile_sink){to_symbfile, NULL}, error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_symbfile_write_ranges(model, &settings, writer, error);
    if (outcome->status == SXT_OK)
        outcome->status = add_pads(writer, error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_symbfile_writer_finish(writer, error);
    if (outcome->status == SXT_OK)
        keep(outcome, symbfile, symbfile_size);
    sxt_symbfile_writer_close(&writer);
}

static int from_symbfile(void *context, void *to, size_t size, size_t *got, sxt_error *error)
{
    size_t *at = context;
    (void)error;
    *got = size < symbfile_size - *at ? size : symbfile_size - *at;
    memcpy(to, symbfile + *at, *got);
    *at += *got;
    return SXT_OK;
}

/* As a stream; what counts is the number of lines and frames. */
static void read_symbfile(struct outcome *outcome)
{
    struct sxt_symbfile_reader *reader;
    struct sxt_symbfile_record record = {.kind = SXT_SYMBFILE_PAD};
    size_t at = 0, count = 0;
    outcome->status = sxt_symbfile_reader_open_stream(&reader, from_symbfile, &at, &outcome->error);
    while (outcome->status == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        outcome->status = sxt_symbfile_read(reader, &record, &outcome->error);
        if (record.kind != SXT_SYMBFILE_END)
            count += record.kind == SXT_SYMBFILE_RANGE ? record.range.line_count : record.pad.frame_count;
    }
    if (outcome->status == SXT_OK)
        keep(outcome, &count, sizeof count);
    sxt_symbfile_reader_close(&reader);
}

/* Into a model; what counts is the number of ranges and strings. */
static void read_symbfile_into_model(struct outcome *outcome)
{
    struct sxt_symbols *read;
    struct sxt_symbfile_reader *reader = NULL;
    outcome->status = sxt_symbols_new(&read, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_symbfile_reader_open(&reader, symbfile, symbfile_size, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_symbfile_read_ranges(reader, read, &outcome->error);
    if (outcome->status == SXT_OK) {
        const size_t counts[] = {read->range_count, read->strings.count};
        keep(outcome, counts, sizeof counts);
    }
    sxt_symbfile_reader_close(&reader);
    sxt_symbols_free(&read);
}

/* Without memory a check cannot say that all is well. */
static void check_symbfile(struct outcome *outcome)
{
    bool is_good = sxt_symbfile_verify(symbfile, symbfile_size, NULL, NULL) == 0;
    outcome->status = outcome->error.code = is_good ? SXT_OK : SXT_ERROR_MEMORY;
}

TEST(symbfiles_survive_every_failure)
{
    model = sxt_test_model();
    for (unsigned i = 0; i < 100; i++) {
        char name[20];
        snprintf(name, sizeof name, "_Z12function_%03uv", i);
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 0, name, 1000 * i, 900, "a.c", NULL, 0);
        for (uint32_t k = 0; k < i; k++)
            sxt_test_add_line(model, 4 * k, k % 5 == 4 ? "b.c" : "a.c", k);
        sxt_test_add_call(model, SXT_SOURCE_DWARF, 1, "g", 1000 * i + 8, 100, "g.h", "a.c", i);
    }
    sxt_test_finish(model);
    fail_each_allocation(write_symbfile);
    struct outcome whole = {0};
    write_symbfile(&whole);
    assert_int_equal(whole.status, SXT_OK);
    fail_each_allocation(read_symbfile);
    fail_each_allocation(read_symbfile_into_model);
    fail_each_allocation(check_symbfile);
    free(whole.data);
    sxt_symbols_free(&model);
}

/* --- sizes --- */

static char size_input[] = "/tmp/sxt-allocation-XXXXXX";
static char map_input[] = "/tmp/sxt-allocation-XXXXXX";

/* Of every kind of line that GNU ld prints, so often that the tables grow. */
static char *make_map(void)
{
    enum { ROOM = 1 << 16 };
    char *text = __real_malloc(ROOM);
    size_t size = (size_t)snprintf(text, ROOM,
                                   "Allocating common symbols\nCommon symbol       size              file\n\n"
                                   "common              0x190             a.o\n\nLinker script and memory map\n\n"
                                   "LOAD a.o\n\n.text           0x%016x      0x%x\n",
                                   SXT_TEST_CODE_ADDRESS, SXT_TEST_CODE_SIZE);
    for (unsigned i = 0; i < 120; i++)
        size += (size_t)snprintf(text + size, ROOM - size,
                                 " .text.f%u      0x%016x       0x10 lib%u.a(m%u.o)\n"
                                 "                0x%016x                f%u\n",
                                 i, 0x401000 + 32 * i, i % 7, i, 0x401000 + 32 * i, i);
    /* Literals are looked for in the objects that a map names. */
    snprintf(text + size, ROOM - size, " .text.str1.1   0x%016x       0x20 %s\n", SXT_TEST_CODE_ADDRESS + 0xe0,
             size_input);
    return text;
}

static void write_file(char *path, const void *data, size_t size)
{
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, data, size), size);
    close(descriptor);
}

static void make_size(struct outcome *outcome)
{
    static const char *const settings[] = {"key=value"};
    sxt_size_make_options options;
    sxt_extract_options extract;
    const char *failed, *path = size_input;
    struct sxt_size_info *size;
    sxt_size_make_options_init(&options);
    sxt_extract_options_init(&extract);
    options.extract = &extract;
    extract.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    options.map_path = map_input;
    options.title = "title";
    options.build_config = settings;
    options.build_config_count = 1;
    outcome->status = sxt_size_make(&path, 1, &options, &size, &failed, &outcome->error);
    if (outcome->status != SXT_OK) {
        assert_null(size);
        return;
    }
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    outcome->status = sxt_size_write_text(size, &text, &outcome->error);
    if (outcome->status == SXT_OK)
        keep(outcome, text.data, text.size);
    sxt_buffer_free(&text);
    sxt_size_info_free(&size);
}

TEST(making_sizes_survives_every_failure)
{
    make_elf();
    write_file(size_input, elf, elf_size);
    char *map = make_map();
    write_file(map_input, map, strlen(map));
    fail_each_allocation(make_size);
    unlink(size_input);
    unlink(map_input);
    free(map);
    free(elf);
}

static char *map_text;

/* What counts is the number of pieces and symbols, and what they are called. */
static void read_map(struct outcome *outcome)
{
    struct sxt_linker_map *map;
    outcome->status = sxt_linker_map_read((const uint8_t *)map_text, strlen(map_text), &map, &outcome->error);
    if (outcome->status != SXT_OK) {
        assert_null(map);
        return;
    }
    const size_t counts[] = {map->section_count, map->piece_count, map->symbol_count,
                             map->common_count,  map->cover_count, map->strings.count};
    keep(outcome, counts, sizeof counts);
    sxt_linker_map_free(map);
}

TEST(reading_linker_maps_survives_every_failure)
{
    map_text = make_map();
    fail_each_allocation(read_map);
    free(map_text);
}

/* --- ksym --- */

static void make_ksym(struct outcome *outcome)
{
    struct sxt_ksym_list list;
    uint8_t *data = NULL;
    size_t size = 0;
    outcome->status = sxt_ksym_list_init(&list, &outcome->error);
    if (outcome->status != SXT_OK)
        return;
    for (unsigned i = 0; i < 400 && outcome->status == SXT_OK; i++) {
        char name[40];
        int length = snprintf(name, sizeof name, "_Z22a_common_beginning_%03uv", i);
        outcome->status =
            sxt_ksym_list_add(&list, 0x1000 + 16 * i, 'T', (sxt_string){name, (size_t)length}, &outcome->error);
    }
    if (outcome->status == SXT_OK)
        outcome->status = sxt_ksym_list_demangle(&list, 0, &outcome->error);
    if (outcome->status == SXT_OK)
        outcome->status = sxt_ksym_encode(&list, NULL, &data, &size, NULL, &outcome->error);
    outcome->data = data;
    outcome->size = size;
    sxt_ksym_list_free(&list);
}

TEST(making_ksym_blobs_survives_every_failure)
{
    fail_each_allocation(make_ksym);
}
