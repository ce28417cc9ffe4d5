/* model.c: writes the ranges of the model to a symbfile, and reads them back. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "symbfile/recent.h"
#include "symbfile/symbfile.h"

/* --- from the model --- */

/* Strings in the form in which they are written; a path is absent until it is needed. */
struct forms {
    const struct sxt_symbols *symbols;
    const struct sxt_symbfile_settings *settings;
    struct sxt_names functions;
    sxt_string *paths; /* NULL where paths are not mapped */
    struct sxt_arena arena;
    struct sxt_buffer scratch;
};

static int open_forms(struct forms *forms, const struct sxt_range_list *list, sxt_error *error);
static void close_forms(struct forms *forms);
static sxt_string function_form(const struct forms *forms, uint32_t number);
static sxt_string path_form(struct forms *forms, uint32_t number);
static size_t choose_lines(const struct sxt_range_list *list, const struct sxt_model_range *range,
                           struct sxt_symbfile_line *lines);

int sxt_symbfile_write_ranges(const struct sxt_symbols *symbols, const struct sxt_symbfile_settings *settings,
                              struct sxt_symbfile_writer *writer, sxt_error *error)
{
    struct forms forms = {.symbols = symbols, .settings = settings};
    struct sxt_range_list list = {0};
    struct sxt_symbfile_line *lines = NULL;
    sxt_arena_init(&forms.arena, 0, sxt_arena_separate_default);
    sxt_buffer_init(&forms.scratch, SIZE_MAX);
    size_t line_capacity = 0;
    int status = sxt_ranges_one_file(symbols, settings->threads, &list, error);
    if (status == SXT_OK)
        status = open_forms(&forms, &list, error);
    for (size_t i = 0; i < list.range_count && status == SXT_OK; i++) {
        const struct sxt_model_range *range = &list.ranges[i];
        void *moved = sxt_array_grow(lines, &line_capacity, (size_t)range->line_count + 1, sizeof *lines);
        if (moved == NULL) {
            status = sxt_fail_memory(error, range->line_count * sizeof *lines);
            break;
        }
        lines = moved;
        struct sxt_symbfile_range record = {
            .address = range->address,
            .length = range->length,
            .depth = range->depth,
            .call_line = range->call_line,
            .function = function_form(&forms, range->function),
            .file = path_form(&forms, range->file),
            .call_file = path_form(&forms, range->call_file),
            .lines = lines,
            .line_count = choose_lines(&list, range, lines),
            .continues = (range->flags & SXT_RANGE_CONTINUES) != 0,
        };
        status = forms.scratch.failed ? sxt_buffer_status(&forms.scratch, error)
                                      : sxt_symbfile_add_range(writer, &record, error);
    }
    free(lines);
    sxt_range_list_free(&list);
    close_forms(&forms);
    return status;
}

static int open_forms(struct forms *forms, const struct sxt_range_list *list, sxt_error *error)
{
    uint32_t count = forms->symbols->strings.count;
    if (forms->settings->path_maps.count > 0) {
        forms->paths = calloc(count, sizeof *forms->paths);
        if (forms->paths == NULL)
            return sxt_fail_memory(error, count * sizeof *forms->paths);
    }
    if (!forms->settings->demangle)
        return SXT_OK;
    return sxt_names_make(&forms->functions, forms->symbols, list, NULL, forms->settings->threads, error);
}

static void close_forms(struct forms *forms)
{
    sxt_names_free(&forms->functions);
    free(forms->paths);
    sxt_arena_free(&forms->arena);
    sxt_buffer_free(&forms->scratch);
}

/* The text in scratch if MAPPED, otherwise TEXT. It lives as long as the forms. */
static sxt_string keep_form(struct forms *forms, bool mapped, sxt_string text)
{
    if (!mapped || forms->scratch.failed)
        return text;
    size_t size = forms->scratch.size;
    char *copy = sxt_arena_copy(&forms->arena, size > 0 ? (const void *)forms->scratch.data : "", size);
    if (copy == NULL)
        forms->scratch.failed = forms->scratch.memory_was_short = true;
    return copy != NULL ? (sxt_string){copy, size} : text;
}

static sxt_string function_form(const struct forms *forms, uint32_t number)
{
    sxt_string form = sxt_names_get(&forms->functions, number);
    return form.data != NULL ? form : sxt_symbols_view(forms->symbols, number);
}

static sxt_string path_form(struct forms *forms, uint32_t number)
{
    sxt_string text = number != 0 ? sxt_symbols_view(forms->symbols, number) : (sxt_string){NULL, 0};
    if (number == 0 || forms->paths == NULL || forms->scratch.failed)
        return text;
    if (forms->paths[number].data == NULL) {
        sxt_buffer_clear(&forms->scratch);
        bool mapped = sxt_map_path(&forms->settings->path_maps, text, &forms->scratch);
        forms->paths[number] = keep_form(forms, mapped, text);
    }
    return forms->paths[number];
}

/* Of several entries at one address the last one counts; an entry that repeats the one before it is dropped. */
static size_t choose_lines(const struct sxt_range_list *list, const struct sxt_model_range *range,
                           struct sxt_symbfile_line *lines)
{
    size_t count = 0;
    const struct sxt_model_line *line = sxt_range_list_lines(list, range);
    for (uint32_t i = 0; i < range->line_count; i++, line++) {
        bool is_last = i + 1 == range->line_count || line[1].offset != line->offset;
        if (is_last && (count == 0 || lines[count - 1].line != line->line))
            lines[count++] = (struct sxt_symbfile_line){line->offset, line->line};
    }
    return count;
}

/* --- into the model --- */

struct import {
    struct sxt_symbols *symbols;
    /* The ranges that may enclose the next one, outermost first. */
    struct open_range {
        uint64_t address, length;
        uint32_t depth; /* in the file */
    } open[SXT_SYMBOLS_MAX_DEPTH + 1];
    uint32_t levels;
    struct sxt_symbfile_recent recent;
};

static void add_range(struct import *import, const struct sxt_symbfile_range *range);

int sxt_symbfile_read_ranges(struct sxt_symbfile_reader *reader, struct sxt_symbols *symbols, sxt_error *error)
{
    struct import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return sxt_fail_memory(error, sizeof *import);
    import->symbols = symbols;
    struct sxt_symbfile_record record;
    int status;
    while ((status = sxt_symbfile_read(reader, &record, error)) == SXT_OK && record.kind != SXT_SYMBFILE_END) {
        if (record.kind == SXT_SYMBFILE_RANGE)
            add_range(import, &record.range);
        if (symbols->failed) {
            status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading ranges");
            break;
        }
    }
    if (status == SXT_OK && !sxt_module_merge(&symbols->module, sxt_symbfile_module(reader)))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading ranges");
    free(import);
    return status;
}

/*
 * The depth of RANGE in the model: the number of ranges around it. Its depth in the file may be larger, because a call
 * without a name is left out while the calls inside it are not. An inlined call with nothing around it keeps its depth.
 */
static uint32_t find_depth(struct import *import, const struct sxt_symbfile_range *range)
{
    while (import->levels > 0) {
        const struct open_range *around = &import->open[import->levels - 1];
        if (around->depth < range->depth && range->address - around->address < around->length)
            return import->levels;
        import->levels--;
    }
    return range->depth;
}

/*
 * Does RANGE continue the range that was added last, in another source file? Then it is a piece of the same range.
 * Writers that cut a range like this put all its pieces before the ranges inlined into them, so that only the last
 * piece would be taken as the enclosing range. It may also be another function with the same name, so this is assumed.
 */
static bool goes_on(const struct sxt_symbols *symbols, const struct sxt_model_range *range,
                    const struct sxt_symbfile_line *lines, size_t line_count)
{
    if (symbols->range_count == 0 || line_count == 0 || range->file == 0 || lines[0].offset != 0)
        return false;
    const struct sxt_model_range *last = &symbols->ranges[symbols->range_count - 1];
    if (last->line_count == 0 || last->depth != range->depth || last->function != range->function ||
        last->call_file != range->call_file || last->call_line != range->call_line)
        return false;
    const struct sxt_model_line *end = &symbols->lines[symbols->line_count - 1];
    return end->file != 0 && end->file != range->file && end->offset < last->length &&
           last->length <= UINT32_MAX - lines[line_count - 1].offset && range->address - last->address == last->length;
}

static uint32_t add_string(struct import *import, sxt_string text)
{
    uint32_t number = sxt_symbfile_recent_add(&import->recent, &import->symbols->strings, text);
    if (number != SXT_STRINGS_FULL)
        return number;
    import->symbols->failed = true;
    return 0;
}

static void add_range(struct import *import, const struct sxt_symbfile_range *range)
{
    struct sxt_symbols *symbols = import->symbols;
    struct sxt_model_range added = {
        .address = range->address,
        .length = range->length,
        .depth = find_depth(import, range),
        .function = add_string(import, range->function),
        .file = add_string(import, range->file),
        .call_file = add_string(import, range->call_file),
        .call_line = range->call_line,
        .flags = range->continues ? SXT_RANGE_CONTINUES : 0,
    };
    uint32_t moved = 0;
    if (!range->continues && goes_on(symbols, &added, range->lines, range->line_count)) {
        struct sxt_model_range *last = &symbols->ranges[symbols->range_count - 1];
        moved = (uint32_t)last->length;
        last->length += range->length;
        last->flags |= SXT_RANGE_ASSUMED;
    } else {
        sxt_symbols_add_range(symbols, &added);
    }
    for (size_t i = 0; i < range->line_count; i++)
        sxt_symbols_add_line(symbols, &(struct sxt_model_line){.offset = moved + range->lines[i].offset,
                                                               .file = added.file,
                                                               .line = range->lines[i].line});
    if (import->levels <= SXT_SYMBOLS_MAX_DEPTH && !symbols->failed) {
        const struct sxt_model_range *last = &symbols->ranges[symbols->range_count - 1];
        import->open[import->levels++] = (struct open_range){last->address, last->length, range->depth};
    }
}
