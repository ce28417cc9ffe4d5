/* info.c: the public view of the sizes of one build: figures, symbols and their names, the header, writing. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/output.h"
#include "base/search.h"
#include "size/private.h"

size_t sxt_size_info_symbol_count(const sxt_size_info *info)
{
    return info->symbol_count;
}

void sxt_size_view_symbol(const struct sxt_size_info *info, size_t index, sxt_size_symbol *out)
{
    const struct sxt_size_model_symbol *symbol = &info->symbols[index];
    const struct sxt_size_segment *segment = &info->segments[symbol->segment];
    const struct sxt_size_path *path = &info->paths[symbol->path];
    *out = (sxt_size_symbol){
        .struct_size = sizeof *out,
        .container = info->containers[segment->container].name,
        .section = segment->section,
        .full_name = sxt_size_full_name(symbol),
        .object_path = path->object,
        .source_path = path->source,
        .component =
            symbol->component < info->component_count ? info->components[symbol->component] : (sxt_string){"", 0},
        .address = symbol->address,
        .size = symbol->size,
        .padding = symbol->padding,
        .pss = sxt_size_pss(info, symbol),
        .aliases = sxt_size_alias_count(info, symbol),
        .flags = symbol->flags,
        .is_bss = segment->is_bss,
    };
}

int sxt_size_info_symbol(const sxt_size_info *info, size_t index, sxt_size_symbol *out)
{
    if (index >= info->symbol_count)
        return SXT_ERROR_USAGE;
    sxt_size_symbol symbol;
    sxt_size_view_symbol(info, index, &symbol);
    sxt_result_give(out, &symbol, sizeof symbol);
    return SXT_OK;
}

int sxt_size_info_disassembly(const sxt_size_info *info, size_t index, sxt_string *text)
{
    *text = (sxt_string){NULL, 0};
    size_t found = SXT_SEARCH_FROM(info->disassemblies, info->disassembly_count, symbol, index);
    if (found == info->disassembly_count || info->disassemblies[found].symbol != index)
        return SXT_ERROR_USAGE;
    *text = info->disassemblies[found].text;
    return SXT_OK;
}

int sxt_size_symbol_names(const sxt_size_symbol *symbol, sxt_size_names *names, sxt_error *error)
{
    struct sxt_buffer *buffer = names->memory;
    if (buffer == NULL) {
        buffer = malloc(sizeof *buffer);
        if (buffer == NULL)
            return sxt_fail_memory(error, sizeof *buffer);
        sxt_buffer_init(buffer, (size_t)1 << 30);
        names->memory = buffer;
    }
    struct sxt_size_segment segment = {.section = symbol->section};
    struct sxt_size_derived_names derived;
    sxt_size_classify(&segment);
    sxt_size_derive_names(&segment, symbol->full_name, buffer, &derived);
    sxt_size_names made = {.full_name = derived.full_name,
                           .template_name = derived.template_name,
                           .name = derived.name,
                           .flags = derived.flags,
                           .memory = buffer};
    sxt_result_give(names, &made, sizeof made);
    return SXT_OK;
}

void sxt_size_names_free(sxt_size_names *names)
{
    if (names->memory != NULL)
        sxt_buffer_free(names->memory);
    free(names->memory);
    names->memory = NULL;
}

/* Sizes come from files, so a sum may overflow; it is clamped. */
static uint64_t file_bytes(const struct sxt_size_info *info)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < info->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &info->symbols[i];
        bool is_first = symbol->group == 0 || info->groups[symbol->group - 1].first == i;
        if (is_first && !info->segments[symbol->segment].is_bss)
            sum += (uint64_t)symbol->size;
    }
    return sum;
}

void sxt_size_info_summary(const sxt_size_info *info, sxt_size_summary *out)
{
    sxt_size_summary summary = {.symbols = info->symbol_count,
                                .containers = info->container_count,
                                .sections = info->segment_count,
                                .paths = info->path_count,
                                .file_bytes = file_bytes(info),
                                .is_sparse = info->is_sparse,
                                .components = info->component_count,
                                .disassemblies = info->disassembly_count};
    sxt_result_give(out, &summary, sizeof summary);
}

void sxt_size_put_on_one_line(struct sxt_buffer *text)
{
    size_t out = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] != '\n') {
            text->data[out++] = text->data[i];
            continue;
        }
        while (i + 1 < text->size && text->data[i + 1] == ' ')
            i++;
    }
    text->size = out;
}

int sxt_size_info_header(const sxt_size_info *info, char **text, size_t *size, sxt_error *error)
{
    struct sxt_buffer buffer;
    *text = NULL;
    *size = 0;
    sxt_buffer_init(&buffer, (size_t)1 << 30);
    int status = sxt_size_print_header(info, &buffer, error);
    if (status == SXT_OK) {
        sxt_size_put_on_one_line(&buffer);
        *text = (char *)sxt_buffer_take(&buffer, size);
    }
    sxt_buffer_free(&buffer);
    return status;
}

/* --- writing --- */

void sxt_size_write_options_init(sxt_size_write_options *options)
{
    *options = (sxt_size_write_options){.struct_size = sizeof *options};
}

int sxt_size_write_options_take(const sxt_size_write_options *given, sxt_size_write_options *out, sxt_error *error)
{
    sxt_size_write_options_init(out);
    return sxt_options_take(out, sizeof *out, given, "sxt_size_write_options_init", error);
}

int sxt_size_give_memory(struct sxt_buffer *buffer, int status, void **data, size_t *size)
{
    *size = 0;
    *data = status == SXT_OK ? sxt_buffer_take(buffer, size) : NULL;
    sxt_buffer_free(buffer);
    return status;
}

int sxt_size_give_file(struct sxt_buffer *buffer, int status, const char *path, uint64_t *bytes, sxt_error *error)
{
    if (status == SXT_OK)
        status = sxt_output_save(path, buffer->data, buffer->size, error);
    if (bytes != NULL)
        *bytes = status == SXT_OK ? buffer->size : 0;
    sxt_buffer_free(buffer);
    return status;
}

static int write_info(const sxt_size_info *info, const sxt_size_write_options *given, struct sxt_buffer *out,
                      sxt_error *error)
{
    sxt_size_write_options options;
    int status = sxt_size_write_options_take(given, &options, error);
    if (status == SXT_OK && options.disassembly != NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "a disassembly is stored with a diff");
    if (status == SXT_OK)
        status = sxt_size_save(info, options.fast ? SXT_SIZE_DEFLATE_FAST : SXT_SIZE_DEFLATE_STOCK, out, error);
    return status;
}

int sxt_size_info_write_memory(const sxt_size_info *info, const sxt_size_write_options *options, void **data,
                               size_t *size, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    return sxt_size_give_memory(&buffer, write_info(info, options, &buffer, error), data, size);
}

int sxt_size_info_write(const sxt_size_info *info, const char *path, const sxt_size_write_options *options,
                        uint64_t *bytes, sxt_error *error)
{
    struct sxt_buffer buffer;
    sxt_buffer_init(&buffer, PTRDIFF_MAX);
    return sxt_size_give_file(&buffer, write_info(info, options, &buffer, error), path, bytes, error);
}
