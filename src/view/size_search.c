/* size_search.c: searches the symbols of a size file that its page has only sums of. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json_writer.h"
#include "view/size.h"

#define LISTED_MOST 200
#define TEXT_MOST   1000

struct found {
    size_t index;
    int64_t size;
};

struct search {
    const char *text; /* in lower case */
    size_t size;
    struct found *list;
    size_t count, capacity;
};

static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

/* Most bytes are not the first one of the text, so that is looked for first. */
static bool contains(const struct search *search, sxt_string text)
{
    for (size_t i = 0; i + search->size <= text.size; i++) {
        if (lower((uint8_t)text.data[i]) != (uint8_t)search->text[0])
            continue;
        size_t at = 1;
        while (at < search->size && lower((uint8_t)text.data[i + at]) == (uint8_t)search->text[at])
            at++;
        if (at == search->size)
            return true;
    }
    return false;
}

static int find(struct search *search, const sxt_size_info *info, uint64_t below, sxt_error *error)
{
    for (size_t i = 0; i < sxt_size_info_symbol_count(info); i++) {
        sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
        sxt_size_info_symbol(info, i, &symbol);
        if (symbol.aliases > 1 || symbol.size >= (int64_t)below ||
            (!contains(search, symbol.full_name) && !contains(search, symbol.source_path) &&
             !contains(search, symbol.object_path)))
            continue;
        struct found *list = sxt_array_grow(search->list, &search->capacity, search->count + 1, sizeof *list);
        if (list == NULL)
            return sxt_fail_memory(error, search->count * sizeof *list);
        search->list = list;
        list[search->count++] = (struct found){i, symbol.size};
    }
    return SXT_OK;
}

static int compare_found(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void write_found(struct search *search, const sxt_size_info *info, struct sxt_buffer *out)
{
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    if (search->count > 0)
        qsort(search->list, search->count, sizeof *search->list, compare_found);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_number(&json, "count", search->count);
    sxt_json_write_begin(&json, "symbols", '[');
    for (size_t i = 0; i < search->count && i < LISTED_MOST; i++) {
        sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
        sxt_size_info_symbol(info, search->list[i].index, &symbol);
        sxt_json_write_begin(&json, NULL, '{');
        sxt_json_write_string(&json, "name", symbol.full_name);
        sxt_json_write_number(&json, "size", symbol.size > 0 ? (uint64_t)symbol.size : 0);
        sxt_json_write_address(&json, "address", symbol.address);
        sxt_json_write_string(&json, "section", symbol.section);
        sxt_json_write_string(&json, "path", symbol.source_path.size > 0 ? symbol.source_path : symbol.object_path);
        sxt_json_write_end(&json, '}');
    }
    sxt_json_write_end(&json, ']');
    sxt_json_write_end(&json, '}');
}

int sxt_view_size_search(const sxt_size_info *info, const struct sxt_view_query *query, struct sxt_view_reply *reply,
                         sxt_error *error)
{
    const char *text = sxt_view_query_get(query, "text");
    char small[TEXT_MOST + 1];
    uint64_t below;
    if (text == NULL || *text == 0 || strlen(text) > TEXT_MOST || !sxt_view_query_number(query, "below", &below) ||
        below > INT64_MAX) {
        reply->status = 400;
        sxt_buffer_print(&reply->body, "text must have 1 to %d bytes, and below be a number", TEXT_MOST);
        return SXT_OK;
    }
    for (size_t i = 0; i <= strlen(text); i++)
        small[i] = (char)lower((uint8_t)text[i]);
    struct search search = {.text = small, .size = strlen(text)};
    reply->type = "application/json";
    int status = find(&search, info, below, error);
    if (status == SXT_OK)
        write_found(&search, info, &reply->body);
    free(search.list);
    return status;
}
