/* test_names.c: names that a trace gets after it was recorded, while every single allocation fails once. */
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/bytes.h"
#include "mlyze/mlyze.h"
#include "support/failing_allocations.h"
#include "support/lidia_image.h"
#include "support/test.h"
#include "trace/trace.h"

#define METADATA                                                                                                       \
    "{\"stack_traces\": {\"0\": [{\"file_id\": 0, \"line\": 0, \"func_id\": 0}, "                                      \
    "{\"file_id\": 0, \"line\": 0, \"func_id\": 1}]}, \"files\": {\"0\": \"/lib/x.so\"}, "                             \
    "\"functions\": {\"0\": \"x.so+0x11\", \"1\": \"x.so+0x999\", \"2\": \"mark\"}, \"kept\": [1.0], "                 \
    "\"modules\": [{\"path\": \"/lib/x.so\", \"build_id\": \"\"}], "                                                   \
    "\"unresolved\": {\"0\": {\"module\": 0, \"address\": \"0x11\"}, \"1\": {\"module\": 0, \"address\": \"0x999\"}}}"

#define NAMED                                                                                                          \
    "{\"stack_traces\": {\"0\": [{\"file_id\": 1, \"line\": 5, \"func_id\": 0}, "                                      \
    "{\"file_id\": 1, \"line\": 9, \"func_id\": 3}, "                                                                  \
    "{\"file_id\": 0, \"line\": 0, \"func_id\": 1}]}, \"files\": {\"0\": \"/lib/x.so\", \"1\": \"x.c\"}, "             \
    "\"functions\": {\"1\": \"x.so+0x999\", \"2\": \"mark\", \"0\": \"inner\", \"3\": \"outer\"}, \"kept\": [1.0], "   \
    "\"modules\": [{\"path\": \"/lib/x.so\", \"build_id\": \"\"}], "                                                   \
    "\"unresolved\": {\"1\": {\"module\": 0, \"address\": \"0x999\"}}}"

struct image {
    uint8_t *data;
    size_t size;
};

/* "inner" is inlined into "outer" at 0x10, where the call before the return address 0x11 is. */
static struct image make_archive(void)
{
    struct sxt_test_strings strings = {.nul = false};
    uint64_t outer = sxt_test_put_string(&strings, "outer"), inner = sxt_test_put_string(&strings, "inner");
    uint64_t file = sxt_test_put_string(&strings, "x.c");
    const struct sxt_test_row rows[] = {
        {.address = 0, .length = 0x100, .function = outer, .file = file},
        {.address = 0x10,
         .length = 0x10,
         .depth = 1,
         .function = inner,
         .file = file,
         .line_count = 1,
         .call_file = file,
         .call_line = 9},
    };
    const uint32_t lines[][2] = {{0, 5}};
    const struct sxt_test_lidia content = {
        .rows = rows, .row_count = 2, .strings = &strings, .lines = lines, .line_count = 1};
    struct image image;
    image.data = sxt_test_lidia_image(&content, &image.size);
    return image;
}

static sxt_archive *open_module(void *data, sxt_string path, sxt_string build_id, const uint64_t *addresses,
                                size_t count)
{
    const struct image *image = data;
    sxt_archive *archive = NULL;
    assert_int_equal(path.size, strlen("/lib/x.so"));
    assert_int_equal(build_id.size, 0);
    assert_int_equal(count, 2);
    assert_int_equal(addresses[0], 0x10);
    assert_int_equal(addresses[1], 0x998);
    (void)sxt_archive_open_memory(image->data, image->size, NULL, &archive, NULL);
    return archive;
}

static int give_names(const uint8_t *file, size_t size, struct image *image, struct sxt_buffer *json,
                      sxt_trace_named *named)
{
    const struct sxt_trace_name_source naming = {.open = open_module, .data = image};
    struct sxt_mlyze *trace;
    sxt_buffer_init(json, SIZE_MAX / 2);
    *named = (sxt_trace_named){0};
    int status = sxt_mlyze_open(file, size, &trace, NULL);
    if (status == SXT_OK)
        status = sxt_trace_name(trace, &naming, json, named, NULL);
    sxt_mlyze_close(&trace);
    return status;
}

TEST(names_with_little_memory)
{
    uint8_t file[SXT_MLYZE_HEADER_SIZE + sizeof METADATA - 1 + 3] = "MTRC";
    static const uint8_t marker[] = {SXT_TRACE_MARKER, 5, 2};
    sxt_store_u32le(file + 4, 1);
    sxt_store_u32le(file + 16, sizeof METADATA - 1);
    memcpy(file + SXT_MLYZE_HEADER_SIZE, METADATA, sizeof METADATA - 1);
    memcpy(file + sizeof file - 3, marker, 3);
    struct image image = make_archive();
    struct sxt_buffer json;
    sxt_trace_named named;
    failing = counted = 0;
    assert_int_equal(give_names(file, sizeof file, &image, &json, &named), SXT_OK);
    assert_int_equal(named.addresses, 2);
    assert_int_equal(named.named, 1);
    assert_int_equal(json.size, sizeof NAMED - 1);
    assert_memory_equal(json.data, NAMED, sizeof NAMED - 1);
    sxt_buffer_free(&json);
    unsigned long needed = counted;
    assert_true(needed > 20 && needed < 1000);
    for (unsigned long i = 1; i <= needed; i++) {
        failing = i;
        counted = 0;
        int status = give_names(file, sizeof file, &image, &json, &named);
        failing = 0;
        assert_true(status == SXT_OK || status == SXT_ERROR_MEMORY);
        /* A file that cannot be opened has no names to give. */
        if (status == SXT_OK && named.named > 0)
            assert_memory_equal(json.data, NAMED, sizeof NAMED - 1);
        else if (status == SXT_OK)
            assert_int_equal(json.size, 0);
        sxt_buffer_free(&json);
    }
    free(image.data);
}
