/* pool.c: which strings a Lidia file has, and where. */
#include "lidia/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

#define NOT_PLACED SXT_LIDIA_NOT_PLACED

/* Forms ahead of the one that is added whose place in the table is requested from memory. */
#define AHEAD 16

static const char overflow[] = "[overflow]"; /* replaces a string that is too long to be written */

static uint64_t append(struct sxt_lidia_pool *pool, sxt_string text);
static uint64_t intern_text(struct sxt_lidia_pool *pool, sxt_string text);
static uint64_t intern(struct sxt_lidia_pool *pool, uint32_t number, uint32_t before);
static uint64_t place(struct sxt_lidia_pool *pool, uint32_t number, uint64_t elsewhere);

int sxt_lidia_pool_open(struct sxt_lidia_pool *pool, const struct sxt_symbols *symbols,
                        const struct sxt_lidia_settings *settings, sxt_error *error)
{
    *pool = (struct sxt_lidia_pool){.symbols = symbols, .settings = settings};
    sxt_buffer_init(&pool->scratch, SIZE_MAX);
    uint32_t count = symbols->strings.count;
    pool->function_of = malloc(count * sizeof *pool->function_of);
    pool->path_of = malloc(count * sizeof *pool->path_of);
    if (pool->path_of == NULL || pool->function_of == NULL)
        return sxt_fail_memory(error, 2 * (uint64_t)count * sizeof *pool->path_of);
    for (uint32_t i = 0; i < count; i++)
        pool->path_of[i] = pool->function_of[i] = NOT_PLACED;
    pool->renames = settings->demangle || settings->path_maps.count > 0;
    int status = pool->renames ? sxt_strings_init(&pool->renamed, 0, error) : SXT_OK;
    if (status != SXT_OK)
        return status;

    pool->path_of[0] = pool->function_of[0] = append(pool, (sxt_string){"", 0});
    if (settings->nul_strings)
        return SXT_OK;
    if (pool->renames) {
        intern_text(pool, (sxt_string){overflow, sizeof overflow - 1});
        return SXT_OK;
    }
    uint64_t offset = append(pool, (sxt_string){overflow, sizeof overflow - 1});
    uint32_t number = sxt_strings_find(&symbols->strings, overflow, sizeof overflow - 1);
    if (number != SXT_STRINGS_FULL)
        pool->path_of[number] = pool->function_of[number] = offset;
    return SXT_OK;
}

int sxt_lidia_pool_make_names(struct sxt_lidia_pool *pool, const struct sxt_range_list *list, sxt_error *error)
{
    if (!pool->settings->demangle)
        return SXT_OK;
    int status = sxt_names_make(&pool->names, pool->symbols, list, &pool->renamed, pool->settings->threads, error);
    if (status == SXT_OK)
        sxt_strings_reserve(&pool->renamed, pool->names.count);
    return status;
}

void sxt_lidia_pool_close(struct sxt_lidia_pool *pool)
{
    sxt_names_free(&pool->names);
    if (pool->renamed.views != NULL)
        sxt_strings_free(&pool->renamed);
    sxt_buffer_free(&pool->scratch);
    free(pool->order);
    free(pool->function_of);
    free(pool->path_of);
    free(pool->renamed_offset);
}

void sxt_lidia_pool_add_function(struct sxt_lidia_pool *pool, uint32_t number)
{
    if (pool->function_of[number] != NOT_PLACED)
        return;
    const struct sxt_demangled *demangled = &pool->names.demangled;
    size_t at = demangled->count > 0 ? pool->names.place_of[number] : 0;
    if (demangled->count == 0 || demangled->forms[at].data == NULL) {
        pool->function_of[number] = place(pool, number, pool->path_of[number]);
        return;
    }
    /* Names are added in the order of their places, but their numbers are in any order. */
    if (at + AHEAD < demangled->count) {
        uint32_t later = pool->names.numbers[at + AHEAD];
        sxt_strings_prefetch(&pool->renamed, demangled->hashes[at + AHEAD]);
        __builtin_prefetch(&pool->function_of[later]);
        __builtin_prefetch(&pool->names.place_of[later]);
    }
    uint32_t before = pool->renamed.count;
    pool->function_of[number] =
        intern(pool, sxt_strings_lend(&pool->renamed, demangled->forms[at], demangled->hashes[at]), before);
}

void sxt_lidia_pool_add_path(struct sxt_lidia_pool *pool, uint32_t number)
{
    const struct sxt_lidia_settings *settings = pool->settings;
    if (pool->path_of[number] != NOT_PLACED)
        return;
    sxt_buffer_clear(&pool->scratch);
    if (settings->path_maps.count > 0 &&
        sxt_map_path(&settings->path_maps, sxt_symbols_view(pool->symbols, number), &pool->scratch))
        pool->path_of[number] = intern_text(pool, (sxt_string){(const char *)pool->scratch.data, pool->scratch.size});
    else
        pool->path_of[number] = place(pool, number, pool->function_of[number]);
    pool->failed |= pool->scratch.failed;
}

/* Adds a string of the model, unchanged. If nothing is renamed, its number shows whether it was added already. */
static uint64_t place(struct sxt_lidia_pool *pool, uint32_t number, uint64_t elsewhere)
{
    sxt_string text = sxt_symbols_view(pool->symbols, number);
    if (pool->renames)
        return intern_text(pool, text);
    return elsewhere != NOT_PLACED ? elsewhere : append(pool, text);
}

/* The offset of TEXT as a string of the file. */
static uint64_t intern_text(struct sxt_lidia_pool *pool, sxt_string text)
{
    uint32_t before = pool->renamed.count;
    return intern(pool, sxt_strings_add(&pool->renamed, text.data, text.size), before);
}

/* The same for string NUMBER of `renamed`, which had BEFORE strings. A new one is added after the others. */
static uint64_t intern(struct sxt_lidia_pool *pool, uint32_t number, uint32_t before)
{
    void *moved = number != SXT_STRINGS_FULL ? sxt_array_grow(pool->renamed_offset, &pool->renamed_capacity,
                                                              (size_t)number + 1, sizeof *pool->renamed_offset)
                                             : NULL;
    if (moved == NULL) {
        pool->failed = true;
        return 0;
    }
    pool->renamed_offset = moved;
    if (number == 0)
        pool->renamed_offset[0] = 0;
    else if (number >= before)
        pool->renamed_offset[number] = append(pool, sxt_strings_get(&pool->renamed, number));
    return pool->renamed_offset[number];
}

static uint64_t append(struct sxt_lidia_pool *pool, sxt_string text)
{
    void *moved = sxt_array_grow(pool->order, &pool->capacity, pool->count + 1, sizeof *pool->order);
    if (moved == NULL) {
        pool->failed = true;
        return 0;
    }
    pool->order = moved;
    /* A string cannot hold the byte that ends it. */
    if (pool->settings->nul_strings)
        text.size = strnlen(text.data, text.size);
    uint64_t offset = pool->size;
    pool->order[pool->count++] = text;
    pool->last = offset;
    pool->size += text.size + (pool->settings->nul_strings ? 1 : 4);
    return offset;
}

void sxt_lidia_pool_write(const struct sxt_lidia_pool *pool, uint8_t *to)
{
    for (size_t i = 0; i < pool->count; i++) {
        sxt_string text = pool->order[i];
        if (!pool->settings->nul_strings) {
            sxt_store_u32le(to, (uint32_t)text.size);
            to += 4;
        }
        if (text.size > 0)
            memcpy(to, text.data, text.size);
        to += text.size;
        if (pool->settings->nul_strings)
            *to++ = 0;
    }
}
