/*
 * fuzz_pprof.c: any bytes as a profile. What can be read is given lines, written and read again: then it has the lines
 * and is otherwise what it was. And where no file can be found, the very bytes come out.
 */
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"
#include "profile/pprof.h"
#include "profile/profile.h"
#include "property.h"

#define OUTPUT_MAX ((size_t)64 << 20)

static bool is_same(sxt_string left, sxt_string right)
{
    return left.size == right.size && (left.size == 0 || memcmp(left.data, right.data, left.size) == 0);
}

/* Some locations get one line, some several, some none. */
static void add_lines(struct sxt_pprof *pprof)
{
    static const char *const names[] = {"", "main", "_ZN1a1bEv", "a::b()"};
    for (size_t i = 0; i < pprof->location_count; i++)
        for (size_t line = 0; line < i % 4; line++) {
            const char *name = names[(i + line) % 4];
            uint32_t number = sxt_pprof_name(pprof, name, strlen(name));
            struct sxt_pprof_function function = {number, number, sxt_pprof_name(pprof, "a.c", line > 1 ? 3 : 0)};
            SXT_HOLDS(sxt_pprof_add_line(pprof, i, &function, (uint32_t)(i * line)));
        }
    for (size_t i = 0; i < pprof->mapping_count; i += 2)
        pprof->mappings[i].resolved = true;
}

static void compare(const struct sxt_pprof *before, const struct sxt_pprof *after)
{
    SXT_HOLDS(before->mapping_count == after->mapping_count);
    SXT_HOLDS(before->location_count == after->location_count);
    for (size_t i = 0; i < before->mapping_count; i++) {
        const struct sxt_pprof_mapping *left = &before->mappings[i], *right = &after->mappings[i];
        SXT_HOLDS(left->id == right->id && left->start == right->start && left->limit == right->limit);
        SXT_HOLDS(left->offset == right->offset);
        /* A number beyond the table may have become one inside it. */
        SXT_HOLDS(is_same(left->name, right->name) || left->name.size == 0);
    }
    for (size_t i = 0; i < before->location_count; i++) {
        const struct sxt_pprof_location *left = &before->locations[i], *right = &after->locations[i];
        SXT_HOLDS(left->id == right->id && left->address == right->address && left->mapping == right->mapping);
        SXT_HOLDS(left->is_return == right->is_return);
        SXT_HOLDS(right->has_lines == (left->has_lines || left->line_count > 0));
    }
    SXT_HOLDS(after->last_function == before->last_function + before->function_count);
    SXT_HOLDS(after->string_count >= before->string_count + before->new_string_count);
    for (size_t i = 0; i < before->new_string_count; i++) {
        sxt_string string = sxt_strings_get(&before->names, before->new_strings[i]);
        SXT_HOLDS(is_same(after->strings[before->table_index[before->new_strings[i]]], string));
    }
}

static void check_lines(const uint8_t *data, size_t size)
{
    struct sxt_pprof before, after;
    struct sxt_buffer out;
    sxt_error error;
    if (sxt_pprof_read(&before, data, size, &error) != SXT_OK) {
        SXT_HOLDS(error.text[0] != 0);
        return;
    }
    sxt_buffer_init(&out, OUTPUT_MAX);
    add_lines(&before);
    int status = sxt_pprof_write(&before, &out, &error);
    SXT_HOLDS(status == SXT_OK || before.last_function > UINT64_MAX - before.function_count);
    if (status == SXT_OK) {
        SXT_HOLDS(sxt_pprof_read(&after, out.data, out.size, &error) == SXT_OK);
        compare(&before, &after);
        sxt_pprof_free(&after);
    }
    sxt_buffer_free(&out);
    sxt_pprof_free(&before);
}

static void check_nothing_found(const uint8_t *data, size_t size)
{
    sxt_modules_options where;
    sxt_profile_options options;
    sxt_profile_report report = {.struct_size = sizeof report};
    sxt_modules *modules;
    void *out;
    size_t out_size;
    sxt_modules_options_init(&where);
    where.no_local = true;
    sxt_profile_options_init(&options);
    options.force = true;
    options.inflate_limit = OUTPUT_MAX;
    SXT_HOLDS(sxt_modules_open(&where, &modules, NULL) == SXT_OK);
    int status = sxt_profile_symbolize(modules, data, size, &options, &out, &out_size, &report, NULL);
    SXT_HOLDS(status == SXT_OK || out == NULL);
    if (status == SXT_OK) {
        bool is_compressed = sxt_compression_of(data, size) != SXT_COMPRESSION_NONE;
        SXT_HOLDS(is_compressed || (out_size == size && (size == 0 || memcmp(out, data, size) == 0)));
        SXT_HOLDS(report.unresolved[SXT_UNRESOLVED_MAPPING] + report.unresolved[SXT_UNRESOLVED_FILE] ==
                  report.locations);
    }
    sxt_free(out);
    sxt_modules_close(&modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_lines(data, size);
    check_nothing_found(data, size);
    return 0;
}
