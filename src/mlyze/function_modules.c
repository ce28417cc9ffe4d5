/*
 * function_modules.c: which loaded file each function is in: a string in the metadata, "function_modules", with runs of
 * functions 0, 1, ...
 *
 *     "0*12 -*1 3*2"     12 functions of the first of "modules", one that is unknown or in several, 2 of the fourth
 */
#include <stdlib.h>

#include "base/array.h"
#include "mlyze/analysis.h"

#define FUNCTIONS_MOST ((size_t)1 << 24)
#define SEVERAL        (SXT_FUNCTION_NO_MODULE - 1)

/* Makes room for function ID. False if there is none. */
static bool make_room(struct sxt_function_modules *modules, size_t id)
{
    uint32_t *moved =
        id < FUNCTIONS_MOST ? sxt_array_grow(modules->list, &modules->capacity, id + 1, sizeof *moved) : NULL;
    if (moved == NULL)
        return false;
    modules->list = moved;
    while (modules->count <= id)
        modules->list[modules->count++] = SXT_FUNCTION_NO_MODULE;
    return true;
}

void sxt_function_modules_add(struct sxt_function_modules *modules, uint32_t function, uint32_t module)
{
    if (!make_room(modules, function))
        return;
    uint32_t *known = &modules->list[function];
    if (*known == SXT_FUNCTION_NO_MODULE)
        *known = module;
    else if (*known != module)
        *known = SEVERAL;
}

uint32_t sxt_function_modules_find(const struct sxt_function_modules *modules, uint32_t function)
{
    uint32_t found = function < modules->count ? modules->list[function] : SXT_FUNCTION_NO_MODULE;
    return found == SEVERAL ? SXT_FUNCTION_NO_MODULE : found;
}

/* The number at *AT, which moves after it and after the letter that ends it. */
static uint64_t read_number(const char **at, const char *end)
{
    uint64_t number = 0;
    for (; *at < end && **at != '*' && **at != ' '; ++*at)
        if (**at >= '0' && **at <= '9' && number < UINT32_MAX)
            number = number * 10 + (uint64_t)(**at - '0');
    *at += *at < end;
    return number;
}

void sxt_function_modules_read(struct sxt_function_modules *modules, sxt_string text, size_t limit)
{
    const char *at = text.data, *end = text.data + text.size;
    limit = limit < FUNCTIONS_MOST ? limit : FUNCTIONS_MOST;
    for (size_t id = 0; at < end;) {
        bool is_known = *at != '-';
        uint64_t module = read_number(&at, end), count = read_number(&at, end);
        for (; count > 0 && id < limit; count--)
            sxt_function_modules_add(modules, (uint32_t)id++,
                                     is_known && module < SEVERAL ? (uint32_t)module : SEVERAL);
    }
}

void sxt_function_modules_write(const struct sxt_function_modules *modules, struct sxt_buffer *out)
{
    for (size_t i = 0, next; i < modules->count; i = next) {
        uint32_t module = sxt_function_modules_find(modules, (uint32_t)i);
        for (next = i + 1; next < modules->count;)
            if (sxt_function_modules_find(modules, (uint32_t)next) == module)
                next++;
            else
                break;
        if (i > 0)
            sxt_buffer_u8(out, ' ');
        if (module == SXT_FUNCTION_NO_MODULE)
            sxt_buffer_print(out, "-*%zu", next - i);
        else
            sxt_buffer_print(out, "%u*%zu", (unsigned)module, next - i);
    }
}

void sxt_function_modules_free(struct sxt_function_modules *modules)
{
    free(modules->list);
    *modules = (struct sxt_function_modules){0};
}

/* The loaded files of all functions, from the text in the metadata. */
static void fill_paths(const struct sxt_mlyze_metadata *metadata, const struct sxt_json *list,
                       const struct sxt_function_modules *modules, sxt_string *paths)
{
    sxt_string *of_module = calloc(list->count + 1, sizeof *of_module);
    size_t count = 0;
    if (of_module == NULL)
        return;
    for (const struct sxt_json *module = list->child; module != NULL && count < list->count; module = module->next) {
        const struct sxt_json *path = module->type == SXT_JSON_OBJECT ? sxt_json_member(module, "path") : NULL;
        of_module[count++] = path != NULL && path->type == SXT_JSON_STRING ? path->string : (sxt_string){NULL, 0};
    }
    for (size_t i = 0; i < metadata->function_count; i++) {
        uint32_t module = sxt_function_modules_find(modules, sxt_mlyze_id_at(metadata->function_ids, i));
        if (module < count)
            paths[i] = of_module[module];
    }
    free(of_module);
}

sxt_string *sxt_function_modules_paths(const struct sxt_mlyze_metadata *metadata)
{
    const struct sxt_json *text = sxt_json_member(metadata->root, "function_modules");
    const struct sxt_json *list = sxt_json_member(metadata->root, "modules");
    sxt_string *paths = calloc(metadata->function_count + 1, sizeof *paths);
    struct sxt_function_modules modules = {0};
    if (paths == NULL || text == NULL || text->type != SXT_JSON_STRING || list == NULL || list->type != SXT_JSON_ARRAY)
        return paths;
    sxt_function_modules_read(&modules, text->string, metadata->function_count);
    fill_paths(metadata, list, &modules, paths);
    sxt_function_modules_free(&modules);
    return paths;
}
