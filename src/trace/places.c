/* places.c: sorting addresses by file, and looking them up file by file. */
#include "trace/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define CHAIN_MOST   64 /* inlined calls at one address */
#define ALIASES_MOST 256
#define MARKED_MOST  4096

int sxt_places_init(struct sxt_places *places, sxt_error *error)
{
    *places = (struct sxt_places){0};
    int status = sxt_strings_init(&places->files, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&places->functions, 0, error);
    return status == SXT_OK ? sxt_strings_init(&places->folded, 0, error) : status;
}

void sxt_places_free(struct sxt_places *places)
{
    sxt_strings_free(&places->files);
    sxt_strings_free(&places->functions);
    sxt_strings_free(&places->folded);
    free(places->function_of);
    free(places->list);
    free(places->frames);
    free(places->aliases);
}

bool sxt_places_add(struct sxt_places *places, uint32_t module, uint64_t address)
{
    void *moved = sxt_array_grow(places->list, &places->capacity, places->count + 1, sizeof *places->list);
    if (moved == NULL)
        return false;
    places->list = moved;
    places->list[places->count++] = (struct sxt_place){.module = module, .address = address};
    return true;
}

static int by_module(const void *a, const void *b)
{
    const struct sxt_place *first = a, *second = b;
    if (first->module != second->module)
        return first->module < second->module ? -1 : 1;
    return first->address < second->address ? -1 : first->address > second->address;
}

void sxt_places_sort(struct sxt_places *places)
{
    if (places->count == 0)
        return;
    qsort(places->list, places->count, sizeof *places->list, by_module);
    size_t kept = 1;
    for (size_t i = 1; i < places->count; i++)
        if (by_module(&places->list[i], &places->list[kept - 1]) != 0)
            places->list[kept++] = places->list[i];
    places->count = kept;
}

const struct sxt_place *sxt_places_find(const struct sxt_places *places, uint32_t module, uint64_t address)
{
    struct sxt_place wanted = {.module = module, .address = address};
    return places->count > 0 ? bsearch(&wanted, places->list, places->count, sizeof *places->list, by_module) : NULL;
}

bool sxt_is_operator_new(sxt_string function)
{
    /* Debug information has a blank in it where the linked name is not known. */
    static const char *const names[] = {"operator new", "operator new[]", "operator new []"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (sxt_string_begins(function, names[i]) && (function.size == size || function.data[size] == '('))
            return true;
    }
    return false;
}

bool sxt_is_no_site(sxt_string function)
{
    return sxt_is_operator_new(function) || sxt_string_is(function, SXT_TRUNCATED);
}

static bool add_name(struct sxt_strings *strings, sxt_string name, uint32_t *number)
{
    /* The empty string is number 0 of any table, and not a name. */
    if (name.size == 0)
        name = (sxt_string){"?", 1};
    *number = sxt_strings_add(strings, name.data, name.size);
    return *number != SXT_STRINGS_FULL;
}

bool sxt_places_add_frame(struct sxt_places *places, struct sxt_place *place, sxt_string file, sxt_string function,
                          uint32_t line)
{
    struct sxt_place_frame frame = {.line = line};
    void *moved =
        sxt_array_grow(places->frames, &places->frame_capacity, places->frame_count + 1, sizeof *places->frames);
    if (moved == NULL)
        return false;
    places->frames = moved;
    if (!add_name(&places->files, file, &frame.file) || !add_name(&places->functions, function, &frame.function))
        return false;
    if (place->operators == place->count && sxt_is_no_site(function))
        place->operators++;
    if (place->count++ == 0)
        place->first = places->frame_count;
    places->frames[places->frame_count++] = frame;
    return true;
}

static bool add_alias(struct sxt_places *places, struct sxt_place *place, sxt_string name)
{
    uint32_t *moved = sxt_array_grow(places->aliases, &places->alias_capacity, places->alias_count + 1, sizeof *moved);
    if (moved == NULL)
        return false;
    places->aliases = moved;
    place->alias_count++;
    return add_name(&places->folded, name, &places->aliases[places->alias_count++]);
}

/* Notes the names of the function of FRAME, if they are of several functions, and marks the one that it has. */
static bool add_aliases(struct sxt_places *places, struct sxt_place *place, const sxt_archive *archive,
                        const sxt_frame *frame, sxt_string path, char marked[MARKED_MOST], sxt_string *name)
{
    sxt_string names[ALIASES_MOST];
    bool ambiguous = false;
    size_t count = sxt_archive_aliases(archive, frame, names, ALIASES_MOST, &ambiguous);
    if (!ambiguous)
        return true;
    place->first_alias = places->alias_count;
    if (!add_name(&places->files, path, &place->module_file) || !add_alias(places, place, frame->function))
        return false;
    for (size_t i = 0; i < count && i < ALIASES_MOST; i++)
        if (!add_alias(places, place, names[i]))
            return false;
    int size =
        snprintf(marked, MARKED_MOST, "%.*s [folded]", (int)(frame->function.size % MARKED_MOST), frame->function.data);
    if (frame->function.size < MARKED_MOST - 16 && size > 0)
        *name = (sxt_string){marked, (size_t)size};
    return true;
}

static bool look_up(struct sxt_places *places, struct sxt_place *place, const sxt_archive *archive, sxt_string path)
{
    sxt_frame chain[CHAIN_MOST];
    char marked[MARKED_MOST];
    sxt_string called;
    size_t found = sxt_archive_lookup(archive, place->address, chain, CHAIN_MOST);
    for (size_t i = 0; i < found && i < CHAIN_MOST; i++) {
        sxt_string file = chain[i].file.size > 0 ? chain[i].file : path;
        sxt_string name = chain[i].function;
        if (i + 1 == found && !add_aliases(places, place, archive, &chain[i], path, marked, &name))
            return false;
        if (!sxt_places_add_frame(places, place, file, name, chain[i].line))
            return false;
    }
    return !sxt_archive_called(archive, NULL, place->address + 1, &called) ||
           add_name(&places->folded, called, &place->called);
}

uint32_t sxt_places_choose(struct sxt_places *places, const struct sxt_place *place, const struct sxt_place *caller)
{
    if (place->alias_count == 0 || caller == NULL || caller->called == 0 || caller->module != place->module)
        return 0;
    uint32_t called = caller->called;
    for (size_t i = 0; i < place->alias_count; i++) {
        if (places->aliases[place->first_alias + i] != called)
            continue;
        if (places->function_of[called] == 0 &&
            !add_name(&places->functions, sxt_strings_get(&places->folded, called), &places->function_of[called]))
            places->function_of[called] = 0;
        return places->function_of[called] != 0 ? called : 0;
    }
    return 0;
}

static bool has_its_lines(const struct sxt_places *places, const struct sxt_place *place, uint32_t chosen)
{
    return chosen == 0 || chosen == places->aliases[place->first_alias];
}

size_t sxt_places_frame_count(const struct sxt_places *places, const struct sxt_place *place, uint32_t chosen,
                              size_t *operators)
{
    bool is_whole = has_its_lines(places, place, chosen);
    *operators = is_whole ? place->operators : sxt_is_operator_new(sxt_strings_get(&places->folded, chosen));
    return is_whole ? place->count : 1;
}

struct sxt_place_frame sxt_places_frame(const struct sxt_places *places, const struct sxt_place *place, uint32_t chosen,
                                        size_t index)
{
    struct sxt_place_frame frame = {.file = place->module_file};
    bool is_whole = has_its_lines(places, place, chosen);
    if (is_whole)
        frame = places->frames[place->first + index];
    if (chosen != 0 && (!is_whole || index + 1 == place->count))
        frame.function = places->function_of[chosen];
    return frame;
}

/* Places of one file that are asked for. */
struct asking {
    struct sxt_places *places;
    struct sxt_place *next; /* the first of them whose answer has not come */
    sxt_string path;
    sxt_error *error;
};

static int take_answer(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct asking *asking = data;
    (void)index;
    while (asking->next->count > 0)
        asking->next++;
    struct sxt_place *place = asking->next++;
    for (size_t i = 0; i < count && i < CHAIN_MOST; i++)
        if (!sxt_places_add_frame(asking->places, place, frames[i].file.size > 0 ? frames[i].file : asking->path,
                                  frames[i].function, frames[i].line))
            return sxt_fail_memory(asking->error, count * sizeof *asking->places->frames);
    return SXT_OK;
}

/* Asks for the places from FIRST up to END, all of one file, that have no frames yet. */
static int ask(struct sxt_places *places, size_t first, size_t end, const struct sxt_places_source *source,
               uint64_t *addresses, sxt_error *error)
{
    struct asking asking = {places, &places->list[first], source->path(source->data, places->list[first].module),
                            error};
    size_t count = 0;
    for (size_t i = first; i < end; i++)
        if (places->list[i].count == 0)
            addresses[count++] = places->list[i].address;
    return count > 0
               ? source->ask(source->data, places->list[first].module, addresses, count, take_answer, &asking, error)
               : SXT_OK;
}

/* Looks up the places from FIRST up to END, all of one file. ADDRESSES is room for as many. */
static int look_up_file(struct sxt_places *places, size_t first, size_t end, const struct sxt_places_source *source,
                        uint64_t *addresses, sxt_error *error)
{
    uint32_t module = places->list[first].module;
    if (module == SXT_NO_MODULE)
        return SXT_OK;
    for (size_t i = first; i < end; i++)
        addresses[i - first] = places->list[i].address;
    sxt_archive *archive = source->open(source->data, module, addresses, end - first);
    bool done = true;
    for (size_t i = first; i < end && done && archive != NULL; i++)
        done = look_up(places, &places->list[i], archive, source->path(source->data, module));
    sxt_archive_close(&archive);
    if (!done)
        return sxt_fail_memory(error, places->count * sizeof *addresses);
    return source->ask != NULL ? ask(places, first, end, source, addresses, error) : SXT_OK;
}

int sxt_places_look_up(struct sxt_places *places, const struct sxt_places_source *source, sxt_error *error)
{
    uint64_t *addresses = calloc(places->count + 1, sizeof *addresses);
    int status = addresses != NULL ? SXT_OK : sxt_fail_memory(error, places->count * sizeof *addresses);
    for (size_t i = 0, end; i < places->count && status == SXT_OK; i = end) {
        for (end = i; end < places->count && places->list[end].module == places->list[i].module;)
            end++;
        status = look_up_file(places, i, end, source, addresses, error);
    }
    free(addresses);
    if (status == SXT_OK && places->alias_count > 0) {
        places->function_of = calloc((size_t)places->folded.count + 1, sizeof *places->function_of);
        if (places->function_of == NULL)
            status = sxt_fail_memory(error, places->folded.count * sizeof *places->function_of);
    }
    return status;
}

void sxt_places_write_frame(struct sxt_json_writer *json, uint32_t file, uint32_t line, uint32_t function)
{
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_number(json, "file_id", file);
    sxt_json_write_number(json, "line", line);
    sxt_json_write_number(json, "func_id", function);
    sxt_json_write_end(json, '}');
}

static void add_module(struct sxt_function_modules *modules, const uint32_t *ids, uint32_t function, uint32_t module)
{
    if (function > 0 && module != SXT_NO_MODULE)
        sxt_function_modules_add(modules, ids != NULL ? ids[function] : function - 1, module);
}

void sxt_places_write_modules(const struct sxt_places *places, const uint32_t *ids, struct sxt_function_modules *before,
                              struct sxt_json_writer *json)
{
    struct sxt_buffer text;
    for (size_t i = 0; i < places->count; i++) {
        const struct sxt_place *place = &places->list[i];
        for (size_t k = 0; k < place->count; k++)
            add_module(before, ids, places->frames[place->first + k].function, place->module);
        for (size_t k = 0; k < place->alias_count && places->function_of != NULL; k++)
            add_module(before, ids, places->function_of[places->aliases[place->first_alias + k]], place->module);
    }
    sxt_buffer_init(&text, (size_t)1 << 28);
    sxt_function_modules_write(before, &text);
    if (!text.failed && text.size > 0)
        sxt_json_write_string(json, "function_modules", (sxt_string){(const char *)text.data, text.size});
    sxt_buffer_free(&text);
}
