/* aliases.c: the chunk with the names of functions that have several, and with calls that say which one was meant. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/search.h"
#include "lidia/lidia.h"

#define GROUP_SIZE SXT_LIDIA_GROUP_SIZE
#define ENTRY_SIZE SXT_LIDIA_ENTRY_SIZE
#define CALL_SIZE  16
#define AMBIGUOUS  1

/* --- written --- */

/* The chunk that is being put together. */
struct content {
    const struct sxt_symbols *symbols;
    const struct sxt_names *names;
    struct sxt_buffer groups, entries, calls, strings;
    uint32_t ambiguous_groups;
    uint32_t *offsets; /* by number in the model: where the name is in STRINGS; UINT32_MAX if it is not */
};

/* Appends the name as lookups give it, once, and returns where it is. */
static uint32_t put_name(struct content *content, uint32_t number)
{
    if (content->offsets[number] != UINT32_MAX)
        return content->offsets[number];
    sxt_string name = sxt_names_get(content->names, number);
    if (name.data == NULL)
        name = sxt_symbols_view(content->symbols, number);
    content->offsets[number] = (uint32_t)content->strings.size;
    sxt_buffer_u32le(&content->strings, (uint32_t)name.size);
    sxt_buffer_append(&content->strings, name.data, name.size);
    return content->offsets[number];
}

static void put_groups(struct content *content)
{
    const struct sxt_symbols *symbols = content->symbols;
    for (size_t i = 0; i < symbols->alias_count; i++) {
        const struct sxt_model_alias *alias = &symbols->aliases[i];
        if (i == 0 || alias->address != alias[-1].address) {
            sxt_buffer_u64le(&content->groups, alias->address);
            sxt_buffer_u32le(&content->groups, (uint32_t)i);
            sxt_buffer_u32le(&content->groups, alias->ambiguous ? AMBIGUOUS : 0);
            content->ambiguous_groups += alias->ambiguous;
        }
        sxt_buffer_u32le(&content->entries, put_name(content, alias->name));
    }
    for (size_t i = 0; i < symbols->call_count; i++) {
        sxt_buffer_u64le(&content->calls, symbols->calls[i].return_address);
        sxt_buffer_u32le(&content->calls, put_name(content, symbols->calls[i].function));
        sxt_buffer_u32le(&content->calls, 0);
    }
}

bool sxt_lidia_add_aliases(struct sxt_buffer *chunks, const struct sxt_symbols *symbols, const struct sxt_names *names)
{
    if (symbols->alias_count == 0)
        return true;
    struct content content = {.symbols = symbols, .names = names};
    struct sxt_buffer *parts[] = {&content.groups, &content.entries, &content.calls, &content.strings};
    struct sxt_buffer all;
    sxt_buffer_init(&all, SIZE_MAX);
    for (size_t i = 0; i < 4; i++)
        sxt_buffer_init(parts[i], UINT32_MAX);
    content.offsets = malloc(symbols->strings.count * sizeof *content.offsets);
    bool fine = content.offsets != NULL;
    if (fine) {
        memset(content.offsets, 0xff, symbols->strings.count * sizeof *content.offsets);
        put_groups(&content);
        sxt_buffer_u32le(&all, (uint32_t)(content.groups.size / GROUP_SIZE));
        sxt_buffer_u32le(&all, (uint32_t)(content.entries.size / ENTRY_SIZE));
        sxt_buffer_u32le(&all, (uint32_t)(content.calls.size / CALL_SIZE));
        sxt_buffer_u32le(&all, content.ambiguous_groups + 1);
    }
    for (size_t i = 0; i < 4; i++) {
        sxt_buffer_append(&all, parts[i]->data, parts[i]->size);
        fine = fine && !parts[i]->failed;
        sxt_buffer_free(parts[i]);
    }
    fine = fine && !all.failed;
    if (fine)
        sxt_lidia_add_chunk(chunks, SXT_LIDIA_ALIASES, SXT_LIDIA_ALIASES_VERSION, all.data, all.size);
    sxt_buffer_free(&all);
    free(content.offsets);
    return fine;
}

/* --- read --- */

void sxt_lidia_find_aliases(struct sxt_lidia *lidia)
{
    struct sxt_lidia_chunk chunk;
    lidia->aliases = (struct sxt_lidia_aliases){0};
    if (sxt_lidia_find_chunk(lidia, SXT_LIDIA_ALIASES, SXT_LIDIA_ALIASES_VERSION, &chunk))
        (void)sxt_lidia_aliases_open(&lidia->aliases, chunk.data, chunk.size);
}

bool sxt_lidia_aliases_open(struct sxt_lidia_aliases *aliases, const uint8_t *data, uint64_t size)
{
    *aliases = (struct sxt_lidia_aliases){0};
    if (size < 16)
        return false;
    uint64_t groups = sxt_load_u32le(data), entries = sxt_load_u32le(data + 4), calls = sxt_load_u32le(data + 8);
    /* Counts have 32 bits, so that the sum cannot overflow. */
    uint64_t tables = groups * GROUP_SIZE + entries * ENTRY_SIZE + calls * CALL_SIZE;
    if (tables > size - 16)
        return false;
    aliases->groups = data + 16;
    aliases->group_count = groups;
    aliases->entries = aliases->groups + groups * GROUP_SIZE;
    aliases->entry_count = entries;
    aliases->calls = aliases->entries + entries * ENTRY_SIZE;
    aliases->call_count = calls;
    aliases->strings = aliases->calls + calls * CALL_SIZE;
    aliases->strings_size = size - 16 - tables;
    aliases->ambiguous_groups = sxt_load_u32le(data + 12);
    return true;
}

struct sxt_lidia_names sxt_lidia_names_at(const struct sxt_lidia_aliases *aliases, uint64_t address)
{
    struct sxt_bisection search = {.high = aliases->group_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_load_u64le(aliases->groups + search.middle * GROUP_SIZE) < address);
    const uint8_t *group = search.low < aliases->group_count ? aliases->groups + search.low * GROUP_SIZE : NULL;
    if (group == NULL || sxt_load_u64le(group) != address)
        return (struct sxt_lidia_names){0};
    return sxt_lidia_names_of(aliases, search.low);
}

struct sxt_lidia_names sxt_lidia_names_of(const struct sxt_lidia_aliases *aliases, uint64_t index)
{
    const uint8_t *group = aliases->groups + index * GROUP_SIZE;
    uint64_t first = sxt_load_u32le(group + 8);
    uint64_t end = index + 1 < aliases->group_count ? sxt_load_u32le(group + GROUP_SIZE + 8) : aliases->entry_count;
    if (first > end || end > aliases->entry_count)
        return (struct sxt_lidia_names){0};
    return (struct sxt_lidia_names){.address = sxt_load_u64le(group),
                                    .first = first,
                                    .count = end - first,
                                    .ambiguous = (sxt_load_u32le(group + 12) & AMBIGUOUS) != 0};
}

/* The string at OFFSET; absent if it does not lie inside. */
static sxt_string string_at(const struct sxt_lidia_aliases *aliases, uint64_t offset)
{
    if (!sxt_fits(offset, 1, 4, aliases->strings_size))
        return (sxt_string){NULL, 0};
    uint64_t size = sxt_load_u32le(aliases->strings + offset);
    if (!sxt_fits(offset + 4, 1, size, aliases->strings_size))
        return (sxt_string){NULL, 0};
    return (sxt_string){(const char *)aliases->strings + offset + 4, size};
}

sxt_string sxt_lidia_alias(const struct sxt_lidia_aliases *aliases, uint64_t entry)
{
    return string_at(aliases, sxt_load_u32le(aliases->entries + entry * ENTRY_SIZE));
}

sxt_string sxt_lidia_call(const struct sxt_lidia_aliases *aliases, uint64_t index, uint64_t *return_address)
{
    const uint8_t *call = aliases->calls + index * CALL_SIZE;
    *return_address = sxt_load_u64le(call);
    return string_at(aliases, sxt_load_u32le(call + 8));
}

sxt_string sxt_lidia_called(const struct sxt_lidia_aliases *aliases, uint64_t return_address)
{
    uint64_t found;
    struct sxt_bisection search = {.high = aliases->call_count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, sxt_load_u64le(aliases->calls + search.middle * CALL_SIZE) < return_address);
    if (search.low == aliases->call_count)
        return (sxt_string){NULL, 0};
    sxt_string name = sxt_lidia_call(aliases, search.low, &found);
    return found == return_address ? name : (sxt_string){NULL, 0};
}
