/* size_image.c: texts of .size files. */
#include "support/size_image.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *sxt_test_size_text(const char *version, const char *json, const char *body)
{
    char *text = NULL;
    int size = asprintf(&text, "# Created by //tools/binary_size\nSize File Format v%s\n%zu\n%s\n%s", version,
                        strlen(json), json, body);
    assert_true(size > 0);
    return text;
}

char *sxt_test_size_plain(void)
{
    return sxt_test_size_text("1", SXT_TEST_SIZE_JSON, SXT_TEST_SIZE_BODY);
}

char *sxt_test_size_replace(char *text, const char *old, const char *new)
{
    char *place = strstr(text, old), *changed = NULL;
    assert_non_null(place);
    int size = asprintf(&changed, "%.*s%s%s", (int)(place - text), text, new, place + strlen(old));
    assert_true(size > 0);
    free(text);
    return changed;
}

struct sxt_size_info *sxt_test_size_open(const char *text)
{
    struct sxt_size_info *size = NULL;
    sxt_error error = {0};
    if (sxt_size_open((const uint8_t *)text, strlen(text), NULL, &size, &error) != SXT_OK)
        fail_msg("%s", error.text);
    return size;
}

char *sxt_test_size_written(const struct sxt_size_info *size)
{
    struct sxt_buffer out;
    sxt_error error = {0};
    sxt_buffer_init(&out, SIZE_MAX);
    if (sxt_size_write_text(size, &out, &error) != SXT_OK)
        fail_msg("%s", error.text);
    sxt_buffer_u8(&out, '\0');
    size_t bytes;
    return (char *)sxt_buffer_take(&out, &bytes);
}
