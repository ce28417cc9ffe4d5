/* frame_names.c: numbers for the names of frames. */
#include "mlyze/frame_names.h"

#include <stdlib.h>
#include <string.h>

#include <sextant/trace_view.h>

#include "base/array.h"
#include "base/error.h"
#include "mlyze/frame_kind.h"

int sxt_frame_names_init(struct sxt_frame_names *names, const struct sxt_mlyze_metadata *metadata, bool shortens,
                         sxt_error *error)
{
    size_t functions = metadata->function_count + 1, files = metadata->file_count + 1;
    *names = (struct sxt_frame_names){.metadata = metadata, .shortens = shortens};
    int status = sxt_strings_init(&names->strings, 0, error);
    if (status != SXT_OK)
        return status;
    names->functions = calloc(functions, sizeof *names->functions);
    names->files = calloc(files, sizeof *names->files);
    names->bases = calloc(files, sizeof *names->bases);
    names->function_kinds = calloc(functions, 1);
    names->file_kinds = calloc(files, 1);
    if (names->functions != NULL && names->files != NULL && names->bases != NULL && names->function_kinds != NULL &&
        names->file_kinds != NULL)
        return SXT_OK;
    sxt_frame_names_free(names);
    return sxt_fail_memory(error, functions * sizeof *names->functions);
}

void sxt_frame_names_free(struct sxt_frame_names *names)
{
    sxt_strings_free(&names->strings);
    free(names->functions);
    free(names->files);
    free(names->bases);
    free(names->function_kinds);
    free(names->file_kinds);
    free(names->scratch);
    *names = (struct sxt_frame_names){0};
}

static uint32_t number_of(struct sxt_frame_names *names, sxt_string text)
{
    uint32_t number = sxt_strings_add(&names->strings, text.data, text.size);
    names->no_memory |= number == SXT_STRINGS_FULL;
    return number;
}

/* The text of a function as it is shown. */
static sxt_string shown_function(struct sxt_frame_names *names, uint32_t id, char room[24])
{
    sxt_string text = sxt_mlyze_function(names->metadata, id, room);
    if (!names->shortens)
        return text;
    char *moved = sxt_array_grow(names->scratch, &names->scratch_capacity, text.size + 1, 1);
    names->no_memory |= moved == NULL;
    if (moved == NULL)
        return text;
    names->scratch = moved;
    return (sxt_string){moved, sxt_trace_shorten_name(text, moved)};
}

uint32_t sxt_frame_names_function(struct sxt_frame_names *names, uint32_t id)
{
    char room[24];
    size_t place = sxt_mlyze_place(names->metadata->function_ids, names->metadata->function_count, id);
    if (place == SIZE_MAX)
        return number_of(names, shown_function(names, id, room));
    if (names->functions[place] == 0)
        names->functions[place] = number_of(names, shown_function(names, id, room));
    return names->functions[place];
}

static sxt_string base_of(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    size_t start = slash != NULL ? (size_t)(slash - path.data) + 1 : 0;
    return (sxt_string){path.data + start, path.size - start};
}

static uint32_t file_number(struct sxt_frame_names *names, uint32_t id, uint32_t *numbers)
{
    char room[24];
    size_t place = sxt_mlyze_place(names->metadata->file_ids, names->metadata->file_count, id);
    if (place != SIZE_MAX && numbers[place] != 0)
        return numbers[place];
    sxt_string text = sxt_mlyze_file(names->metadata, id, room);
    uint32_t number = number_of(names, numbers == names->bases ? base_of(text) : text);
    if (place != SIZE_MAX)
        numbers[place] = number;
    return number;
}

uint32_t sxt_frame_names_file(struct sxt_frame_names *names, uint32_t id)
{
    return file_number(names, id, names->files);
}

uint32_t sxt_frame_names_base(struct sxt_frame_names *names, uint32_t id)
{
    return file_number(names, id, names->bases);
}

unsigned sxt_frame_names_kind(struct sxt_frame_names *names, const struct sxt_mlyze_frame *frame)
{
    const struct sxt_mlyze_metadata *metadata = names->metadata;
    size_t function = sxt_mlyze_place(metadata->function_ids, metadata->function_count, frame->function);
    size_t file = sxt_mlyze_place(metadata->file_ids, metadata->file_count, frame->file);
    if (function != SIZE_MAX && names->function_kinds[function] == 0)
        names->function_kinds[function] = (uint8_t)(sxt_frame_kind_of_function(metadata->functions[function]) + 1);
    if (file != SIZE_MAX && names->file_kinds[file] == 0)
        names->file_kinds[file] = (uint8_t)(sxt_frame_kind_of_file(metadata->files[file]) + 1);
    return sxt_frame_kind(function != SIZE_MAX ? names->function_kinds[function] - 1u : 0,
                          file != SIZE_MAX ? names->file_kinds[file] - 1u : 0);
}
