/* names.c: finds all functions and symbols with a given name. */
#include <stdlib.h>
#include <string.h>

#include "archive/private.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"
#include "demangle/demangle.h"

struct places {
    sxt_named *items;
    size_t count, capacity;
    bool failed; /* memory is short */
};

static void find_in_symbols(const struct sxt_symbols *symbols, sxt_string name, struct places *places);
static void find_in_rows(const struct sxt_lidia *lidia, sxt_string name, struct places *places);
static void find_in_ksym(const sxt_ksym *ksym, sxt_string name, struct places *places, struct sxt_buffer *names);

static int by_address(const void *a, const void *b)
{
    const sxt_named *first = a;
    const sxt_named *second = b;
    return first->address < second->address ? -1 : first->address > second->address;
}

static void add(struct places *places, const sxt_named *named);

/* Reports the places to the caller, unless some are missing. */
static int give(struct places *places, bool (*found)(void *data, const sxt_named *named), void *data, size_t *count,
                sxt_error *error)
{
    size_t calls = 0;
    if (places->count > 1 && !places->failed)
        qsort(places->items, places->count, sizeof *places->items, by_address);
    while (!places->failed && calls < places->count && found(data, &places->items[calls++]))
        continue;
    if (count != NULL)
        *count = calls;
    free(places->items);
    return places->failed ? sxt_fail_memory(error, places->capacity * sizeof *places->items) : SXT_OK;
}

int sxt_archive_find_name(const sxt_archive *archive, const char *name,
                          bool (*found)(void *data, const sxt_named *named), void *data, size_t *count,
                          sxt_error *error)
{
    struct places places = {0};
    sxt_string wanted = {name, strlen(name)};
    struct sxt_buffer names;
    sxt_buffer_init(&names, SIZE_MAX / 2);
    if (archive->kind == SXT_KIND_KSYM) {
        find_in_ksym(&archive->ksym, wanted, &places, &names);
    } else {
        if (archive->symbols != NULL)
            find_in_symbols(archive->symbols, wanted, &places);
        find_in_rows(&archive->lidia, wanted, &places);
    }
    int status = give(&places, found, data, count, error);
    sxt_buffer_free(&names);
    return status;
}

static void add(struct places *places, const sxt_named *named)
{
    void *moved = sxt_array_grow(places->items, &places->capacity, places->count + 1, sizeof *places->items);
    if (moved == NULL) {
        places->failed = true;
        return;
    }
    places->items = moved;
    places->items[places->count++] = *named;
}

static void find_in_symbols(const struct sxt_symbols *symbols, sxt_string name, struct places *places)
{
    struct sxt_buffer readable;
    sxt_buffer_init(&readable, (size_t)2 << 20);
    /* If many short names have very long readable forms, the remaining names are compared only as linked. */
    uint64_t made = 0, allowed = (uint64_t)64 << 20;
    for (size_t i = 0; i < symbols->symbol_count; i++) {
        const struct sxt_model_symbol *symbol = &symbols->symbols[i];
        sxt_string linked = sxt_symbols_view(symbols, symbol->name);
        bool same = sxt_string_equal(linked, name);
        sxt_buffer_clear(&readable);
        allowed += linked.size * 16;
        if (!same && linked.size > 1 && linked.data[0] == '_' && made <= allowed && sxt_demangle(linked, &readable))
            same = sxt_string_equal((sxt_string){(const char *)readable.data, readable.size}, name);
        made += readable.size;
        if (same)
            add(places, &(sxt_named){.name = linked,
                                     .address = symbol->address,
                                     .size = symbol->size,
                                     .type = symbol->type,
                                     .letter = symbol->letter});
    }
    sxt_buffer_free(&readable);
}

/* Is NAME the string at OFFSET? No more bytes are read than NAME has, because many rows may share a long string. */
static bool is_called(const struct sxt_lidia *lidia, uint64_t offset, sxt_string name)
{
    if (!lidia->nul_strings) {
        sxt_string function = sxt_lidia_string(lidia, offset);
        return function.data != NULL && sxt_string_equal(function, name);
    }
    return sxt_fits(offset, 1, (uint64_t)name.size + 1, lidia->strings_size) &&
           memcmp(lidia->strings + offset, name.data, name.size) == 0 && lidia->strings[offset + name.size] == 0;
}

/* Functions that no symbol has; in an archive, all functions. */
static void find_in_rows(const struct sxt_lidia *lidia, sxt_string name, struct places *places)
{
    /* Symbols are in order of address, as rows are, so one pass over both is enough. */
    size_t symbols = places->count, next = 0;
    uint64_t listed_until = 0; /* the end of what the symbols before this row cover */
    for (uint64_t i = 0; i < lidia->count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i, &row);
        if (row.depth != 0)
            continue;
        if (!is_called(lidia, row.function, name))
            continue;
        sxt_string function = sxt_lidia_string(lidia, row.function);
        /* Pieces of a symbol that is listed already are not places of their own. */
        bool starts_there = false;
        for (; next < symbols && places->items[next].address <= row.address; next++) {
            uint64_t end;
            if (!sxt_add_u64(places->items[next].address, places->items[next].size, &end))
                end = UINT64_MAX;
            listed_until = end > listed_until ? end : listed_until;
            starts_there = places->items[next].address == row.address;
        }
        if (!starts_there && row.address >= listed_until)
            add(places, &(sxt_named){.name = function, .address = row.address, .size = row.length});
    }
}

/* Stored names differ from NAME by their modules: they are collected in NAMES, and pointed to when it is complete. */
static void find_in_ksym(const sxt_ksym *ksym, sxt_string name, struct places *places, struct sxt_buffer *names)
{
    struct sxt_buffer one;
    sxt_ksym_matches matches;
    size_t index;
    sxt_buffer_init(&one, SIZE_MAX / 2);
    sxt_ksym_find(ksym, name.data, name.size, &matches);
    while (sxt_ksym_next(&matches, &index) && !one.failed) {
        sxt_ksym_symbol symbol;
        sxt_string called = sxt_ksym_name_of(ksym, index, &one);
        if (called.data == NULL || !sxt_ksym_symbol_at(ksym, index, &symbol))
            continue;
        sxt_buffer_append(names, called.data, called.size);
        add(places, &(sxt_named){.name = {NULL, called.size},
                                 .address = symbol.address,
                                 .size = symbol.size,
                                 .module = {NULL, symbol.module_size},
                                 .letter = symbol.type});
    }
    const char *at = (const char *)names->data;
    for (size_t i = 0; i < places->count; i++) {
        sxt_named *item = &places->items[i];
        item->name.data = at;
        at += item->name.size;
        if (item->module.size > 0)
            item->module.data = at - 1 - item->module.size;
    }
    places->failed |= names->failed || one.failed;
    sxt_buffer_free(&one);
}
