/*
 * strings.c: who owns the strings of a dex file. Those that code loads belong to the classes whose code that is; of the
 * others, those that describe types, name fields and methods, and describe prototypes are counted together, in this
 * order. What is left (names of source files, annotations) has no owner.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/string.h"
#include "source/dex/private.h"

static int by_string_and_class(const void *a, const void *b)
{
    const struct dex_use *first = a;
    const struct dex_use *second = b;
    if (first->string != second->string)
        return first->string < second->string ? -1 : 1;
    return first->class_number < second->class_number ? -1 : first->class_number > second->class_number;
}

static int by_text(const void *a, const void *b)
{
    return sxt_string_compare(*(const sxt_string *)a, *(const sxt_string *)b);
}

/* The bytes of a string and of its entry in the table. TEXT becomes its text; 0 if it is counted already. */
static uint64_t claim_string(struct dex_file *file, uint32_t number, sxt_string *text)
{
    uint64_t entry = file->tables[DEX_STRINGS].offset + (uint64_t)number * 4;
    if (number >= file->tables[DEX_STRINGS].count || sxt_dex_claim(file, entry, 4) < 4)
        return 0;
    uint64_t offset = sxt_load_u32le(file->data + entry);
    struct sxt_cursor cursor = sxt_dex_cursor(file, offset);
    if (sxt_dex_is_claimed(file, offset) && offset < file->size)
        return 4;
    sxt_cursor_uleb128(&cursor);
    uint64_t start = cursor.at;
    while (!cursor.failed && !sxt_dex_is_claimed(file, cursor.at) && file->data[cursor.at] != 0)
        cursor.at++;
    if (cursor.failed || cursor.at == cursor.size) {
        sxt_dex_damage(file, offset, "a string reaches beyond the dex file");
        return 4;
    }
    *text = (sxt_string){(const char *)file->data + start, (size_t)(cursor.at - start)};
    return 4 + sxt_dex_claim(file, offset, cursor.at + 1 - offset);
}

/* The names of the classes that use a string. They are in one buffer, so they are found after all are made. */
static size_t name_users(struct dex_file *file, const struct dex_use *uses, size_t count, struct sxt_buffer *text,
                         sxt_string *users)
{
    size_t found = 0;
    sxt_buffer_clear(text);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && uses[i].class_number == uses[i - 1].class_number)
            continue;
        const uint8_t *item = sxt_dex_item(file, DEX_CLASSES, uses[i].class_number);
        sxt_dex_name_class(file, sxt_load_u32le(item));
        if (!sxt_dex_spend_name(file))
            return 0;
        sxt_buffer_append(text, file->name.data, file->name.size);
        users[found++].size = text->failed ? 0 : file->name.size;
    }
    const char *at = text->size > 0 ? (const char *)text->data : "";
    for (size_t i = 0; i < found; i++) {
        users[i].data = at;
        at += users[i].size;
    }
    qsort(users, found, sizeof *users, by_text);
    return found;
}

static void report_literals(struct dex_file *file)
{
    struct sxt_buffer text;
    if (file->use_count == 0)
        return;
    sxt_string *users = malloc((file->tables[DEX_CLASSES].count + (size_t)1) * sizeof *users);
    if (users == NULL) {
        file->status = sxt_fail_memory(file->error, file->tables[DEX_CLASSES].count * sizeof *users);
        return;
    }
    sxt_buffer_init(&text, SIZE_MAX / 2);
    qsort(file->uses, file->use_count, sizeof *file->uses, by_string_and_class);
    for (size_t first = 0, end; first < file->use_count && file->status == SXT_OK; first = end) {
        for (end = first + 1; end < file->use_count && file->uses[end].string == file->uses[first].string;)
            end++;
        struct sxt_dex_literal literal = {.text = {"", 0}, .users = users};
        literal.size = claim_string(file, file->uses[first].string, &literal.text);
        if (literal.size == 0)
            continue;
        literal.user_count = name_users(file, file->uses + first, end - first, &text, users);
        if (text.failed)
            file->status = sxt_buffer_status(&text, file->error);
        if (file->status == SXT_OK && file->reader->literal != NULL)
            file->reader->literal(file->reader->data, &literal);
    }
    sxt_buffer_free(&text);
    free(users);
}

/* Counts the string whose number is at PLACE of each item of a table. */
static void count_names(struct dex_file *file, enum dex_table_kind table, size_t place, enum sxt_dex_strings kind)
{
    sxt_string text;
    for (uint32_t i = 0; i < file->tables[table].count; i++)
        file->reader->strings[kind] += claim_string(file, sxt_load_u32le(sxt_dex_item(file, table, i) + place), &text);
}

void sxt_dex_read_strings(struct dex_file *file)
{
    report_literals(file);
    count_names(file, DEX_TYPES, 0, SXT_DEX_TYPE_STRINGS);
    count_names(file, DEX_METHODS, 4, SXT_DEX_MEMBER_STRINGS);
    count_names(file, DEX_FIELDS, 4, SXT_DEX_MEMBER_STRINGS);
    count_names(file, DEX_PROTOS, 0, SXT_DEX_PROTOTYPE_STRINGS);
}
