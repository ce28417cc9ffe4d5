/* fuzz_s3_page.c: any bytes as a page of a listing of a bucket, or as an error of an S3 server. */
#include <string.h>

#include "property.h"
#include "store/key.h"
#include "store/s3.h"
#include "store/s3_list.h"

static void check_page(const uint8_t *data, size_t size, bool words)
{
    struct sxt_s3_page page;
    if (sxt_s3_page_read(&page, (const char *)data, size, words, NULL) == SXT_OK) {
        SXT_HOLDS(!page.more || *page.token != 0);
        for (size_t i = 0; i < page.count; i++) {
            const char *name = (const char *)page.names.data + page.entries[i].name;
            SXT_HOLDS(page.entries[i].name < page.names.size);
            SXT_HOLDS(page.entries[i].name + strlen(name) < page.names.size);
            SXT_HOLDS(i == 0 || strcmp((const char *)page.names.data + page.entries[i - 1].name, name) <= 0);
            SXT_HOLDS(page.entries[i].size != UINT64_MAX);
            (void)sxt_key_is_valid(name);
        }
    }
    sxt_s3_page_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[100];
    struct sxt_buffer answer;
    sxt_buffer_init(&answer, (size_t)1 << 24);
    sxt_buffer_append(&answer, data, size);
    check_page(data, size, false);
    check_page(data, size, true);
    if (sxt_s3_find_text(&answer, "Error", "Code", text, sizeof text))
        SXT_HOLDS(strlen(text) < sizeof text);
    (void)sxt_http_find_header(&answer, "etag", text, sizeof text);
    SXT_HOLDS(memchr(text, 0, sizeof text) != NULL);
    sxt_buffer_free(&answer);
    return 0;
}
