/*
 * fuzz_size_query.c: any bytes as a query about a small size. What is understood is run; a row holds at least one item,
 * and no item is in two rows.
 */
#include "property.h"
#include "size/query.h"

#define VIEW(text)                                                                                                     \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }
#define NAME(text) .full_name = text, .full_name_size = sizeof(text) - 1

static struct sxt_size_container containers[] = {{.name = VIEW("app")}, {.name = VIEW("lib?")}};
static struct sxt_size_segment segments[] = {
    {.section = VIEW(".text"), .letter = 't', .is_native = true, .first = 0, .count = 4},
    {.section = VIEW(".bss"), .letter = 'b', .is_native = true, .is_bss = true, .first = 4, .count = 1},
    {.container = 1, .section = VIEW(".pak.translations"), .letter = 'p', .is_pak = true, .first = 5, .count = 1},
};
static struct sxt_size_path paths[] = {{VIEW("obj/a.o"), VIEW("dir/sub/a.c")}, {VIEW(""), VIEW("")}};
static sxt_string components[] = {VIEW(""), VIEW("Core")};
static struct sxt_size_group groups[] = {{1, 2}};
static struct sxt_size_model_symbol symbols[] = {
    {.address = 0x1000, .size = 100, NAME("f(int)"), .component = 1},
    {.address = 0x1070, .size = 61, .padding = 1, NAME("ns::g()"), .group = 1},
    {.address = 0x1070, .size = 61, .padding = 1, NAME("ns::h()"), .path = 1, .group = 1, .flags = 128},
    {.address = 0x2000, .size = 4096, NAME("std::list<int>::sort()"), .path = 1},
    {.address = 0x9000, .size = 5000, NAME("buffer"), .segment = 1},
    {.size = 50, NAME("de: IDR_TEXT"), .path = 1, .segment = 2, .flags = 512},
};
static const struct sxt_size_info size = {
    .containers = containers,
    .container_count = 2,
    .segments = segments,
    .segment_count = 3,
    .paths = paths,
    .path_count = 2,
    .components = components,
    .component_count = 2,
    .symbols = symbols,
    .symbol_count = 6,
    .groups = groups,
    .group_count = 1,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t count)
{
    struct sxt_size_query *query;
    struct sxt_size_result result;
    sxt_error error;
    int status = sxt_size_query_parse((const char *)data, count, &query, &error);
    if (status != SXT_OK) {
        SXT_HOLDS(query == NULL);
        SXT_HOLDS(status == SXT_ERROR_USAGE || status == SXT_ERROR_LIMIT || status == SXT_ERROR_MEMORY);
        SXT_HOLDS(error.offset <= count);
        return 0;
    }
    const struct sxt_size_query_subject subject = {.size = &size};
    status = sxt_size_query_run(query, &subject, &result, &error);
    sxt_size_query_free(&query);
    /* A status is something that only a diff has. */
    if (status == SXT_ERROR_USAGE)
        return 0;
    SXT_HOLDS(status == SXT_OK);
    uint64_t items = 0;
    for (size_t i = 0; i < result.row_count; i++) {
        SXT_HOLDS(result.rows[i].count > 0 && result.rows[i].item < size.symbol_count);
        items += result.rows[i].count;
    }
    SXT_HOLDS(items <= size.symbol_count && result.row_count <= result.all_rows);
    sxt_size_result_clear(&result);
    return 0;
}
