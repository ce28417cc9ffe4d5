/* s3_page.c: reads one page of a listing. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/error.h"
#include "store/s3_list.h"
#include "store/xml.h"

#define NAMES_MAX ((size_t)32 << 20)

/* The page is read; so is the entry that is open. */
struct parser {
    struct sxt_s3_page *page;
    bool words, inside; /* INSIDE: the outermost element is the right one */
    bool has_name;
    struct sxt_s3_entry entry;
    sxt_error *error;
};

/* "123" to a number. UINT64_MAX if it is not one. */
static uint64_t read_number(const char *text)
{
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
            return UINT64_MAX;
    return *text == 0 ? value : UINT64_MAX;
}

int64_t sxt_s3_read_time(const char *text)
{
    struct tm time = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &time);
    if (rest == NULL || time.tm_year > 8000)
        return 0;
    int64_t fraction = 0, unit = 100000;
    if (*rest == '.')
        for (rest++; *rest >= '0' && *rest <= '9'; rest++, unit /= 10)
            fraction += (*rest - '0') * unit;
    return *rest == 'Z' && rest[1] == 0 ? (int64_t)timegm(&time) * 1000000 + fraction : 0;
}

static int take_name(struct parser *parser, const char *text)
{
    parser->entry.name = parser->page->names.size;
    sxt_buffer_append(&parser->page->names, text, strlen(text) + 1);
    parser->has_name = true;
    return sxt_buffer_status(&parser->page->names, parser->error);
}

static int add_entry(struct parser *parser)
{
    struct sxt_s3_page *page = parser->page;
    if (!parser->has_name)
        return sxt_fail(parser->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "an object of the listing has no name");
    if (parser->entry.size == UINT64_MAX)
        return sxt_fail(parser->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "an object of the listing has no size");
    struct sxt_s3_entry *entries = sxt_array_grow(page->entries, &page->capacity, page->count + 1, sizeof *entries);
    if (entries == NULL)
        return sxt_fail_memory(parser->error, sizeof *entries);
    page->entries = entries;
    entries[page->count++] = parser->entry;
    return SXT_OK;
}

static int take_setting(struct parser *parser, const char *name, const char *text)
{
    struct sxt_s3_page *page = parser->page;
    if (strcmp(name, "IsTruncated") == 0)
        page->more = strcmp(text, "true") == 0;
    if (strcmp(name, "NextContinuationToken") != 0)
        return SXT_OK;
    if (strlen(text) >= sizeof page->token)
        return sxt_fail(parser->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the token of the listing is too long");
    memcpy(page->token, text, strlen(text) + 1);
    return SXT_OK;
}

static int take_property(struct parser *parser, const char *name, const char *text)
{
    if (strcmp(name, "Key") == 0 || strcmp(name, "Prefix") == 0)
        return take_name(parser, text);
    if (strcmp(name, "Size") == 0)
        parser->entry.size = read_number(text);
    if (strcmp(name, "LastModified") == 0)
        parser->entry.modified_us = sxt_s3_read_time(text);
    return SXT_OK;
}

static int visit(void *data, enum sxt_xml_event event, unsigned depth, const char *name, const char *text)
{
    struct parser *parser = data;
    bool is_object = strcmp(name, "Contents") == 0, is_word = strcmp(name, "CommonPrefixes") == 0;
    if (event == SXT_XML_OPEN && depth == 0)
        parser->inside = strcmp(name, "ListBucketResult") == 0;
    if (!parser->inside)
        return sxt_fail(parser->error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "not a listing of a bucket");
    if (depth == 1 && event == SXT_XML_OPEN) {
        parser->entry = (struct sxt_s3_entry){.size = is_object ? UINT64_MAX : 0};
        parser->has_name = false;
    }
    if (depth == 1 && event == SXT_XML_CLOSE && (is_object || (is_word && parser->words)))
        return add_entry(parser);
    if (depth == 1 && event == SXT_XML_CLOSE && !is_word)
        return take_setting(parser, name, text);
    /* Deeper elements describe the owner of an object. */
    return depth == 2 && event == SXT_XML_CLOSE ? take_property(parser, name, text) : SXT_OK;
}

static int compare_entries(const void *a, const void *b, void *names)
{
    const struct sxt_s3_entry *first = a, *second = b;
    return strcmp((const char *)names + first->name, (const char *)names + second->name);
}

int sxt_s3_page_read(struct sxt_s3_page *page, const char *text, size_t size, bool words, sxt_error *error)
{
    *page = (struct sxt_s3_page){0};
    sxt_buffer_init(&page->names, NAMES_MAX);
    struct parser parser = {.page = page, .words = words, .error = error};
    int status = sxt_xml_read(text, size, visit, &parser, error);
    if (status == SXT_OK && page->count > 0)
        qsort_r(page->entries, page->count, sizeof *page->entries, compare_entries, page->names.data);
    if (status == SXT_OK && page->more && *page->token == 0)
        status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the listing has no token for its next page");
    return status;
}

void sxt_s3_page_free(struct sxt_s3_page *page)
{
    sxt_buffer_free(&page->names);
    free(page->entries);
    page->entries = NULL;
    page->count = page->capacity = 0;
}
