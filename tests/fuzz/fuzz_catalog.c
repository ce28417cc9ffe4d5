/*
 * fuzz_catalog.c: any bytes as an entry of a catalog, as names of objects, one a line, and as ids. What is read is
 * written again, and means the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "catalog/private.h"
#include "property.h"

static void check_entry(const char *text, size_t size)
{
    struct sxt_arena arena;
    struct sxt_catalog_entry entry, again;
    struct sxt_buffer texts[2];
    sxt_arena_init(&arena, (size_t)16 << 20, sxt_arena_separate_default);
    if (sxt_catalog_entry_read(text, size, &arena, &entry, NULL) == SXT_OK) {
        for (int i = 0; i < 2; i++)
            sxt_buffer_init(&texts[i], (size_t)16 << 20);
        sxt_catalog_entry_write(&entry, &texts[0]);
        SXT_HOLDS(sxt_catalog_entry_read((const char *)texts[0].data, texts[0].size, &arena, &again, NULL) == SXT_OK);
        sxt_catalog_entry_write(&again, &texts[1]);
        SXT_HOLDS(texts[0].size == texts[1].size && memcmp(texts[0].data, texts[1].data, texts[0].size) == 0);
        for (int i = 0; i < 2; i++)
            sxt_buffer_free(&texts[i]);
    }
    sxt_arena_free(&arena);
}

static void check_sets(const struct sxt_catalog_listing *listing)
{
    static const struct sxt_catalog catalog = {.options = {.stale_seconds = 3600}};
    struct sxt_catalog_sets sets;
    SXT_HOLDS(sxt_catalog_find_sets(&catalog, listing, &sets, NULL) == SXT_OK);
    for (size_t i = 0; i < sets.complete_count; i++) {
        const struct sxt_catalog_set *set = &sets.complete[i];
        SXT_HOLDS(set->there == set->parts);
        for (uint32_t k = 0; k < set->parts; k++)
            SXT_HOLDS(set->items[k] != NULL && set->items[k]->part == k && set->items[k]->time <= set->time);
    }
    for (size_t i = 0; i < sets.collecting_count; i++)
        SXT_HOLDS(sets.collecting[i].there > 0);
    sxt_catalog_sets_free(&sets);
}

/* A name that is understood is the one that would be written. */
static void check_name(const struct sxt_catalog_listing *listing, sxt_string name)
{
    char text[160] = "";
    if (listing->part_count > 0)
        sxt_catalog_print_part(text, sizeof text, &listing->parts[0]);
    else if (listing->entry_count > 0)
        sxt_catalog_print_entry_name(text, sizeof text, &listing->entries[0]);
    if (*text != 0)
        SXT_HOLDS(sxt_string_is(name, text));
}

static void check_names(const char *text, size_t size)
{
    struct sxt_catalog_listing listing = {0};
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        sxt_string name = {text + at, end != NULL ? (size_t)(end - text) - at : size - at};
        struct sxt_catalog_listing one = {0};
        struct sxt_catalog_source source;
        char tenant[SXT_CATALOG_KEY_ROOM];
        SXT_HOLDS(sxt_catalog_listing_add(&one, name) && sxt_catalog_listing_add(&listing, name));
        check_name(&one, name);
        sxt_catalog_listing_free(&one);
        sxt_catalog_parse_source(name, &source);
        if (sxt_catalog_tenant_of(name, tenant)) {
            char prefix[SXT_CATALOG_KEY_ROOM];
            SXT_HOLDS(sxt_catalog_tenant_prefix(prefix, tenant, NULL) == SXT_OK);
        }
        at += name.size + 1;
    }
    sxt_catalog_listing_sort(&listing);
    check_sets(&listing);
    sxt_catalog_listing_free(&listing);
}

static void check_id(const char *text, size_t size)
{
    struct sxt_catalog_id ids[2];
    size_t count;
    if (sxt_catalog_parse_id((sxt_string){text, size}, ids, &count))
        for (size_t i = 0; i < count; i++)
            SXT_HOLDS(sxt_catalog_id_is_valid(sxt_string_of(ids[i].text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of the exact size, so that a read beyond it is noticed. */
    char *text = malloc(size > 0 ? size : 1);
    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    check_entry(text, size);
    check_names(text, size);
    check_id(text, size);
    free(text);
    return 0;
}
