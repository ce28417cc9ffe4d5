/* size_labels.c: short names and namespaces of symbols, for pages. */
#include "report/size_labels.h"

#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "report/columns.h"

struct labels {
    const struct sxt_size_query_subject *subject;
    const bool *is_left_out;
    size_t more; /* rows that are not symbols */
    struct sxt_column codes;
    struct sxt_strings texts;
    struct sxt_page_name_room rule;
};

static bool is_same(sxt_string a, sxt_string b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool add_text(struct labels *labels, sxt_string text, uint32_t first)
{
    uint32_t number = sxt_strings_add(&labels->texts, text.data, text.size);
    sxt_column_add(&labels->codes, (uint64_t)number + first);
    return number != SXT_STRINGS_FULL;
}

static sxt_string stored_name(const struct labels *labels, size_t index)
{
    struct sxt_size_query_item item;
    sxt_size_query_get_item(labels->subject, index, &item);
    return item.full_name;
}

static bool add_name(void *data, size_t index, sxt_string label)
{
    struct labels *labels = data;
    if (labels->is_left_out[index])
        return true;
    sxt_string stored = stored_name(labels, index);
    if (is_same(sxt_page_short_name(stored, &labels->rule), label))
        sxt_column_add(&labels->codes, 0);
    else if (is_same(stored, label))
        sxt_column_add(&labels->codes, 1);
    else
        return add_text(labels, label, 2);
    return true;
}

static bool add_namespace(void *data, size_t index, sxt_string label)
{
    struct labels *labels = data;
    if (labels->is_left_out[index])
        return true;
    if (!is_same(sxt_page_namespace(sxt_page_short_name(stored_name(labels, index), &labels->rule)), label))
        return add_text(labels, label, 1);
    sxt_column_add(&labels->codes, 0);
    return true;
}

static void write_texts(const struct sxt_strings *texts, struct sxt_buffer *table)
{
    struct sxt_string_column column;
    sxt_string_column_init(&column);
    for (uint32_t i = 0; i < texts->count; i++)
        sxt_string_column_add(&column, sxt_strings_get(texts, i));
    sxt_string_column_finish(&column, table);
}

static void init_room(struct sxt_page_name_room *room)
{
    sxt_buffer_init(&room->first, SIZE_MAX);
    sxt_buffer_init(&room->second, SIZE_MAX);
    sxt_buffer_init(&room->out, SIZE_MAX);
}

static void free_room(struct sxt_page_name_room *room)
{
    sxt_buffer_free(&room->first);
    sxt_buffer_free(&room->second);
    sxt_buffer_free(&room->out);
}

/* Fills LISTS with the texts, which come after both columns. */
static int add_labels(struct labels *labels, const char *key, sxt_size_visit_label *visit, struct sxt_buffer *table,
                      struct sxt_buffer *lists, sxt_error *error)
{
    sxt_column_init(&labels->codes);
    init_room(&labels->rule);
    int status = sxt_strings_init(&labels->texts, 0, error);
    if (status == SXT_OK)
        status = sxt_size_query_visit_labels(labels->subject, key, visit, labels, error);
    if (status == SXT_OK)
        status = sxt_buffer_status(&labels->rule.out, error);
    for (size_t i = 0; i < labels->more; i++)
        sxt_column_add(&labels->codes, strcmp(key, "name") == 0 ? 1 : 0);
    sxt_column_finish(&labels->codes, table);
    write_texts(&labels->texts, lists);
    free_room(&labels->rule);
    sxt_strings_free(&labels->texts);
    return status;
}

int sxt_page_write_labels(const struct sxt_size_query_subject *subject, const bool *is_left_out, size_t more,
                          struct sxt_buffer *table, sxt_error *error)
{
    struct labels labels = {.subject = subject, .is_left_out = is_left_out, .more = more};
    struct sxt_buffer lists;
    sxt_buffer_init(&lists, SIZE_MAX);
    int status = add_labels(&labels, "name", add_name, table, &lists, error);
    if (status == SXT_OK)
        status = add_labels(&labels, "namespace", add_namespace, table, &lists, error);
    sxt_buffer_append(table, lists.data, lists.size);
    table->failed |= lists.failed;
    sxt_buffer_free(&lists);
    return status;
}
