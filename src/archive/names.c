/* names.c: finds all functions and symbols with a given name. */
#include <stdlib.h>
#include <string.h>

#include "archive/match_name.h"
#include "archive/private.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"
#include "demangle/demangle.h"

/* How many functions that were listed last a piece may belong to: a function can lie inside another one. */
#define PIECES_AMONG 16

struct places {
    sxt_named *items;
    size_t count, capacity;
    enum sxt_name_match match; /* how well these fit */
    bool failed;               /* memory is short */
};

static void find_in_symbols(const struct sxt_symbols *symbols, sxt_string name, struct places *places);
static void find_in_rows(const struct sxt_lidia *lidia, sxt_string name, struct places *places);
static int find_in_ksym(const sxt_ksym *ksym, sxt_string name, struct places *places, struct sxt_buffer *names,
                        sxt_error *error);

static int by_address(const void *a, const void *b)
{
    const sxt_named *first = a;
    const sxt_named *second = b;
    return first->address < second->address ? -1 : first->address > second->address;
}

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
    int status = SXT_OK;
    if (archive->kind == SXT_KIND_KSYM) {
        status = find_in_ksym(&archive->ksym, wanted, &places, &names, error);
    } else {
        if (archive->symbols != NULL)
            find_in_symbols(archive->symbols, wanted, &places);
        find_in_rows(&archive->lidia, wanted, &places);
    }
    if (status == SXT_OK)
        status = give(&places, found, data, count, error);
    free(places.items);
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

/* Adds what fits, unless something fits better. What fits better replaces everything. */
static void add_match(struct places *places, enum sxt_name_match match, const sxt_named *named)
{
    if (match == SXT_NAME_DIFFERS || match < places->match)
        return;
    if (match > places->match)
        places->count = 0;
    places->match = match;
    add(places, named);
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
        enum sxt_name_match match = sxt_match_name(linked, name);
        sxt_buffer_clear(&readable);
        allowed += linked.size * 16;
        if (match != SXT_NAME_FITS && linked.size > 1 && linked.data[0] == '_' && made <= allowed &&
            sxt_demangle(linked, &readable))
            match = sxt_match_name((sxt_string){(const char *)readable.data, readable.size}, name);
        made += readable.size;
        add_match(places, match,
                  &(sxt_named){.name = linked,
                               .address = symbol->address,
                               .size = symbol->size,
                               .type = symbol->type,
                               .letter = symbol->letter});
    }
    sxt_buffer_free(&readable);
}

/* Compares the names of rows. Rows of one function follow each other, and many rows may share a long string. */
struct row_names {
    const struct sxt_lidia *lidia;
    sxt_string wanted;
    uint64_t offset; /* of the name compared last */
    enum sxt_name_match match;
    uint64_t allowed; /* bytes that may still be read or made */
    struct sxt_buffer readable;
};

static void use_up(struct row_names *names, size_t size)
{
    names->allowed -= size < names->allowed ? size : names->allowed;
}

/* Archives of other programs, and those made with --mangled, have mangled names. */
static enum sxt_name_match match_row(struct row_names *names, uint64_t offset)
{
    if (offset == names->offset)
        return names->match;
    names->offset = offset;
    names->match = SXT_NAME_DIFFERS;
    if (names->allowed == 0)
        return SXT_NAME_DIFFERS;
    sxt_string function = sxt_lidia_string(names->lidia, offset);
    if (function.data == NULL)
        return SXT_NAME_DIFFERS;
    use_up(names, function.size);
    names->match = sxt_match_name(function, names->wanted);
    sxt_buffer_clear(&names->readable);
    if (names->match != SXT_NAME_FITS && function.size > 1 && function.data[0] == '_' &&
        sxt_demangle(function, &names->readable))
        names->match =
            sxt_match_name((sxt_string){(const char *)names->readable.data, names->readable.size}, names->wanted);
    use_up(names, names->readable.size);
    return names->match;
}

/* Does row INDEX continue the function that was listed last? Then that one is longer. */
static bool extend_piece(const struct sxt_lidia *lidia, uint64_t index, const struct sxt_lidia_row *row,
                         struct places *places)
{
    if (!sxt_lidia_row_continues(lidia, index))
        return false;
    sxt_string function = sxt_lidia_string(lidia, row->function);
    for (size_t i = places->count; i > 0 && places->count - i < PIECES_AMONG; i--) {
        sxt_named *named = &places->items[i - 1];
        if (named->name.data == function.data && named->type == 0) {
            named->size = row->address + row->length - named->address;
            return true;
        }
    }
    return false;
}

/* Functions that no symbol has; in an archive, all functions. */
static void find_in_rows(const struct sxt_lidia *lidia, sxt_string name, struct places *places)
{
    struct row_names names = {.lidia = lidia,
                              .wanted = name,
                              .offset = UINT64_MAX,
                              .allowed = lidia->strings_size * 16 + ((uint64_t)64 << 20)};
    sxt_buffer_init(&names.readable, (size_t)2 << 20);
    /* Symbols are in order of address, as rows are, so one pass over both is enough. */
    size_t symbols = places->count, next = 0;
    uint64_t listed_until = 0; /* the end of what the symbols before this row cover */
    for (uint64_t i = 0; i < lidia->count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i, &row);
        if (row.depth != 0)
            continue;
        enum sxt_name_match match = match_row(&names, row.function);
        if (match == SXT_NAME_DIFFERS || match < places->match)
            continue;
        if (match > places->match)
            symbols = next = listed_until = 0;
        /* Pieces of what is listed already are not places of their own. */
        bool starts_there = false;
        for (; next < symbols && places->items[next].address <= row.address; next++) {
            uint64_t end;
            if (!sxt_add_u64(places->items[next].address, places->items[next].size, &end))
                end = UINT64_MAX;
            listed_until = end > listed_until ? end : listed_until;
            starts_there = places->items[next].address == row.address;
        }
        if (starts_there || row.address < listed_until || extend_piece(lidia, i, &row, places))
            continue;
        add_match(
            places, match,
            &(sxt_named){.name = sxt_lidia_string(lidia, row.function), .address = row.address, .size = row.length});
    }
    sxt_buffer_free(&names.readable);
}

/* Adds a symbol of a blob. Its name goes to NAMES, and is pointed to when NAMES is complete. */
static void add_ksym(struct places *places, enum sxt_name_match match, const sxt_ksym_symbol *symbol, sxt_string name,
                     struct sxt_buffer *names)
{
    if (match > places->match)
        sxt_buffer_clear(names);
    if (match >= places->match)
        sxt_buffer_append(names, name.data, name.size);
    add_match(places, match,
              &(sxt_named){.name = {NULL, name.size},
                           .address = symbol->address,
                           .size = symbol->size,
                           .module = {NULL, symbol->module_size},
                           .letter = symbol->type});
}

struct ksym_search {
    struct places *places;
    struct sxt_buffer *names;
    struct sxt_buffer readable;
    sxt_string wanted;
};

static bool match_ksym(void *data, const sxt_ksym_symbol *symbol, sxt_string name)
{
    struct ksym_search *search = data;
    sxt_string own = {name.data, symbol->module_size > 0 ? symbol->name_size : name.size};
    enum sxt_name_match match = sxt_match_name(own, search->wanted);
    sxt_buffer_clear(&search->readable);
    if (match == SXT_NAME_DIFFERS && own.size > 1 && own.data[0] == '_' && sxt_demangle(own, &search->readable))
        match =
            sxt_match_name((sxt_string){(const char *)search->readable.data, search->readable.size}, search->wanted);
    if (match != SXT_NAME_DIFFERS)
        add_ksym(search->places, match, symbol, name, search->names);
    return !search->places->failed;
}

/* The index of names finds a name as it is stored, with or without its module; otherwise all names are compared. */
static int find_in_ksym(const sxt_ksym *ksym, sxt_string name, struct places *places, struct sxt_buffer *names,
                        sxt_error *error)
{
    struct ksym_search search = {.places = places, .names = names, .wanted = name};
    sxt_ksym_matches matches;
    size_t index;
    int status = SXT_OK;
    sxt_buffer_init(&search.readable, (size_t)2 << 20);
    sxt_ksym_find(ksym, name.data, name.size, &matches);
    while (sxt_ksym_next(&matches, &index) && !search.readable.failed) {
        sxt_ksym_symbol symbol;
        sxt_string called = sxt_ksym_name_of(ksym, index, &search.readable);
        if (called.data != NULL && sxt_ksym_symbol_at(ksym, index, &symbol))
            add_ksym(places, SXT_NAME_FITS, &symbol, called, names);
    }
    if (places->count == 0)
        status = sxt_ksym_visit(ksym, match_ksym, &search, error);
    const char *at = (const char *)names->data;
    for (size_t i = 0; i < places->count; i++) {
        sxt_named *item = &places->items[i];
        item->name.data = at;
        at += item->name.size;
        if (item->module.size > 0)
            item->module.data = at - 1 - item->module.size;
    }
    places->failed |= names->failed;
    sxt_buffer_free(&search.readable);
    return status;
}
