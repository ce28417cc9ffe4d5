/* model.c: see model.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/model.h"
#include "support/test.h"

struct sxt_symbols *sxt_test_model(void)
{
    struct sxt_symbols *model;
    assert_int_equal(sxt_symbols_new(&model, NULL), SXT_OK);
    return model;
}

uint32_t sxt_test_string(struct sxt_symbols *model, const char *text)
{
    return text == NULL ? 0 : sxt_symbols_string(model, text, strlen(text));
}

void sxt_test_add_function(struct sxt_symbols *model, const char *name, uint64_t address, uint64_t size, char binding)
{
    sxt_symbols_add_symbol(model, &(struct sxt_model_symbol){.address = address,
                                                             .size = size,
                                                             .name = sxt_test_string(model, name),
                                                             .type = 'F',
                                                             .binding = binding,
                                                             .source = SXT_SOURCE_SYMTAB});
}

void sxt_test_add_range(struct sxt_symbols *model, uint8_t source, uint32_t depth, const char *function,
                        uint64_t address, uint64_t length)
{
    sxt_test_add_call(model, source, depth, function, address, length, NULL, NULL, 0);
}

void sxt_test_add_call(struct sxt_symbols *model, uint8_t source, uint32_t depth, const char *function,
                       uint64_t address, uint64_t length, const char *file, const char *call_file, uint32_t call_line)
{
    sxt_symbols_add_range(model, &(struct sxt_model_range){.address = address,
                                                           .length = length,
                                                           .depth = depth,
                                                           .function = sxt_test_string(model, function),
                                                           .file = sxt_test_string(model, file),
                                                           .call_file = sxt_test_string(model, call_file),
                                                           .call_line = call_line,
                                                           .source = source});
}

void sxt_test_add_line(struct sxt_symbols *model, uint32_t offset, const char *file, uint32_t line)
{
    sxt_symbols_add_line(
        model, &(struct sxt_model_line){.offset = offset, .file = sxt_test_string(model, file), .line = line});
}

void sxt_test_finish(struct sxt_symbols *model)
{
    sxt_error error;
    if (sxt_symbols_finish(model, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

const struct sxt_model_line *sxt_test_line_at(const struct sxt_model_line *lines, const struct sxt_model_range *range,
                                              uint64_t address)
{
    const struct sxt_model_line *found = NULL;
    for (uint32_t i = 0; i < range->line_count; i++)
        if (lines[range->first_line + i].offset <= address - range->address)
            found = &lines[range->first_line + i];
    return found;
}

char *sxt_test_ranges_text(const struct sxt_symbols *model, const struct sxt_model_range *ranges, size_t count,
                           const struct sxt_model_line *lines)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < count; i++) {
        const struct sxt_model_range *range = &ranges[i];
        fputs(i > 0 ? " " : "", out);
        for (uint32_t depth = 0; depth < range->depth; depth++)
            fputc('>', out);
        fprintf(out, "%s@%llx-%llx", sxt_symbols_view(model, range->function).data, (unsigned long long)range->address,
                (unsigned long long)(range->address + range->length));
        for (uint32_t k = 0; k < range->line_count; k++) {
            const struct sxt_model_line *line = &lines[range->first_line + k];
            fprintf(out, "%s%x:%s:%u", k == 0 ? "{" : " ", line->offset, sxt_symbols_view(model, line->file).data,
                    line->line);
        }
        fputs(range->line_count > 0 ? "}" : "", out);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

void sxt_test_assert_model(const struct sxt_symbols *model, const char *expected)
{
    char *text = sxt_test_ranges_text(model, model->ranges, model->range_count, model->lines);
    assert_string_equal(text, expected);
    free(text);
}
