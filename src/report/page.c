/* page.c: a template and its data become one HTML file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/inflate.h"
#include "report/templates.h"

/* Where the data goes in a template. */
#define PLACE "<!--data-->"

/* A level that takes a second for 50 MB of names; the highest takes ten times as long and gains 4 %. */
#define LEVEL          8
#define SERVED_LEVEL   1 /* for what does not leave the machine */

#define TEMPLATE_LIMIT ((uint64_t)16 << 20)

static int open_template(struct sxt_page *page, enum sxt_page_kind kind, size_t *size, sxt_error *error)
{
    const struct sxt_page_template *template = &sxt_page_templates[kind];
    if (template->size == 0)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "this program was built without pages: npm was missing");
    return sxt_inflate(SXT_COMPRESSION_GZIP, template->data, template->size, TEMPLATE_LIMIT, &page->template, size,
                       error);
}

int sxt_page_begin(struct sxt_page *page, enum sxt_page_kind kind, sxt_error *error)
{
    *page = (struct sxt_page){.template = NULL};
    sxt_buffer_init(&page->html, SIZE_MAX);
    size_t size;
    int status = open_template(page, kind, &size, error);
    if (status != SXT_OK)
        return status;
    const uint8_t *place = memmem(page->template, size, PLACE, strlen(PLACE));
    if (place == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a template of pages has no place for data");
    sxt_buffer_append(&page->html, page->template, (size_t)(place - page->template));
    page->rest = place + strlen(PLACE);
    page->rest_size = size - (size_t)(page->rest - page->template);
    return SXT_OK;
}

void sxt_page_begin_data(struct sxt_page *page)
{
    *page = (struct sxt_page){.is_served = true};
    sxt_buffer_init(&page->html, SIZE_MAX);
}

/* Keeps DATA, which is the page's afterwards. False if memory is short. */
static bool keep_block(struct sxt_page *page, const char *name, uint8_t *data, size_t size)
{
    struct sxt_page_block *blocks =
        sxt_array_grow(page->blocks, &page->block_capacity, page->block_count + 1, sizeof *blocks);
    if (blocks == NULL || data == NULL) {
        page->blocks = blocks != NULL ? blocks : page->blocks;
        free(data);
        return false;
    }
    page->blocks = blocks;
    blocks[page->block_count] = (struct sxt_page_block){.data = data, .size = size};
    snprintf(blocks[page->block_count++].name, sizeof blocks->name, "%s", name);
    return true;
}

/* No name in the data can end the element: '<' is only in strings, where it can be written as an escape. */
static void write_json(struct sxt_buffer *html, const char *id, const struct sxt_buffer *json)
{
    sxt_buffer_print(html, "<script type=\"application/json\" id=\"%s\">", id);
    size_t from = 0;
    for (size_t i = 0; i <= json->size; i++) {
        if (i < json->size && json->data[i] != '<')
            continue;
        sxt_buffer_append(html, json->data + from, i - from);
        if (i < json->size)
            sxt_buffer_print(html, "\\u003c");
        from = i + 1;
    }
    sxt_buffer_print(html, "</script>\n");
    html->failed |= json->failed;
}

void sxt_page_add_json(struct sxt_page *page, const struct sxt_buffer *json)
{
    if (!page->is_served) {
        write_json(&page->html, "page", json);
        return;
    }
    uint8_t *copy = malloc(json->size + 1);
    if (copy != NULL && json->size > 0)
        memcpy(copy, json->data, json->size);
    page->html.failed |= json->failed | !keep_block(page, "page", copy, json->size);
}

int sxt_page_write_served(enum sxt_page_kind kind, const struct sxt_buffer *served, struct sxt_buffer *html,
                          sxt_error *error)
{
    static const char before[] = "default-src 'none'; ", added[] = "connect-src 'self'; ";
    struct sxt_page page;
    int status = sxt_page_begin(&page, kind, error);
    const uint8_t *policy = status == SXT_OK ? memmem(page.html.data, page.html.size, before, strlen(before)) : NULL;
    if (status == SXT_OK && policy == NULL)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a template of pages has no policy");
    if (status == SXT_OK) {
        size_t size = (size_t)(policy - page.html.data) + strlen(before);
        sxt_buffer_append(html, page.html.data, size);
        sxt_buffer_print(html, "%s", added);
        sxt_buffer_append(html, page.html.data + size, page.html.size - size);
        write_json(html, "served", served);
        sxt_buffer_append(html, page.rest, page.rest_size);
        status = sxt_buffer_status(html, error);
    }
    sxt_page_free(&page);
    return status;
}

const struct sxt_page_block *sxt_page_find_block(const struct sxt_page *page, const char *name)
{
    for (size_t i = 0; i < page->block_count; i++)
        if (strcmp(page->blocks[i].name, name) == 0)
            return &page->blocks[i];
    return NULL;
}

int sxt_page_add_block(struct sxt_page *page, const char *name, const struct sxt_buffer *bytes, sxt_error *error)
{
    int status = sxt_buffer_status(bytes, error);
    if (status != SXT_OK)
        return status;
    struct libdeflate_compressor *deflater = libdeflate_alloc_compressor(page->is_served ? SERVED_LEVEL : LEVEL);
    size_t room = libdeflate_deflate_compress_bound(deflater, bytes->size);
    uint8_t *packed = malloc(room);
    size_t size = 0;
    if (deflater != NULL && packed != NULL)
        size = libdeflate_deflate_compress(deflater, bytes->data, bytes->size, packed, room);
    libdeflate_free_compressor(deflater);
    if (page->is_served) {
        uint8_t *fitting = size > 0 ? realloc(packed, size) : NULL;
        if (fitting == NULL)
            free(packed);
        return keep_block(page, name, fitting, size) ? SXT_OK : sxt_fail_memory(error, room);
    }
    sxt_buffer_print(&page->html, "<script type=\"text/plain\" id=\"block-%s\">", name);
    uint8_t *text = size > 0 ? sxt_buffer_extend(&page->html, SXT_BASE64_ROOM(size)) : NULL;
    if (text != NULL) {
        sxt_base64_encode((char *)text, packed, size);
        page->html.size--; /* the NUL */
    }
    free(packed);
    sxt_buffer_print(&page->html, "</script>\n");
    return text != NULL ? SXT_OK : sxt_fail_memory(error, room);
}

int sxt_page_end(struct sxt_page *page, sxt_error *error)
{
    if (!page->is_served)
        sxt_buffer_append(&page->html, page->rest, page->rest_size);
    return sxt_buffer_status(&page->html, error);
}

void sxt_page_free(struct sxt_page *page)
{
    sxt_buffer_free(&page->html);
    free(page->template);
    for (size_t i = 0; i < page->block_count; i++)
        free(page->blocks[i].data);
    free(page->blocks);
    *page = (struct sxt_page){.template = NULL};
}
