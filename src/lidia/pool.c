/* pool.c: which strings a Lidia file has, and where. */
#include "lidia/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"

#define NOT_PLACED SXT_LIDIA_NOT_PLACED

static const char overflow[] = "[overflow]"; /* replaces a string that is too long to be written */

static uint64_t append(struct sxt_lidia_pool *pool, sxt_string text);
static uint64_t intern(struct sxt_lidia_pool *pool, const char *data, size_t size);
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
        intern(pool, overflow, sizeof overflow - 1);
        return SXT_OK;
    }
    uint64_t offset = append(pool, (sxt_string){overflow, sizeof overflow - 1});
    uint32_t number = sxt_strings_find(&symbols->strings, overflow, sizeof overflow - 1);
    if (number != SXT_STRINGS_FULL)
        pool->path_of[number] = pool->function_of[number] = offset;
    return SXT_OK;
}

void sxt_lidia_pool_close(struct sxt_lidia_pool *pool)
{
    if (pool->renamed.views != NULL)
        sxt_strings_free(&pool->renamed);
    sxt_buffer_free(&pool->scratch);
    free(pool->order);
    free(pool->function_of);
    free(pool->path_of);
    free(pool->renamed_offset);
}

void sxt_lidia_pool_add_function(struct sxt_lidia_pool *pool, uint32_t number, sxt_string form)
{
    if (pool->function_of[number] != NOT_PLACED)
        return;
    if (form.data != NULL)
        pool->function_of[number] = intern(pool, form.data, form.size);
    else
        pool->function_of[number] = place(pool, number, pool->path_of[number]);
}

void sxt_lidia_pool_add_path(struct sxt_lidia_pool *pool, uint32_t number)
{
    const struct sxt_lidia_settings *settings = pool->settings;
    if (pool->path_of[number] != NOT_PLACED)
        return;
    sxt_buffer_clear(&pool->scratch);
    if (settings->path_maps.count > 0 &&
        sxt_map_path(&settings->path_maps, sxt_symbols_view(pool->symbols, number), &pool->scratch))
        pool->path_of[number] = intern(pool, (const char *)pool->scratch.data, pool->scratch.size);
    else
        pool->path_of[number] = place(pool, number, pool->function_of[number]);
    pool->failed |= pool->scratch.failed;
}

/* Adds a string of the model, unchanged. If nothing is renamed, its number shows whether it was added already. */
static uint64_t place(struct sxt_lidia_pool *pool, uint32_t number, uint64_t elsewhere)
{
    sxt_string text = sxt_symbols_view(pool->symbols, number);
    if (pool->renames)
        return intern(pool, text.data, text.size);
    return elsewhere != NOT_PLACED ? elsewhere : append(pool, text);
}

/* The offset of TEXT as a string of the file; it is added after the others if it is new. */
static uint64_t intern(struct sxt_lidia_pool *pool, const char *data, size_t size)
{
    uint32_t before = pool->renamed.count;
    uint32_t number = sxt_strings_add(&pool->renamed, data, size);
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
