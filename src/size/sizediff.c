/*
 * sizediff.c: two sparse .size files in one.
 *
 *     # Created by //tools/binary_size        not compressed
 *     DIFF
 *     49                                      bytes of JSON
 *     {before_length, version, and where there are such lists: removed_sources_length, added_sources_length}
 *     removed sources, added sources          gzip: their number, then one a line
 *     before, after                           gzip: .size files; the last one reaches to the end
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "size/private.h"

#define VERSION 1

/* The parts of a file, in their order. */
enum part { REMOVED, ADDED, BEFORE, AFTER, PARTS };

static const char *const part_names[PARTS] = {"removed sources", "added sources", "before", "after"};
static const char *const length_keys[AFTER] = {"removed_sources_length", "added_sources_length", "before_length"};

struct parts {
    size_t offset[PARTS], size[PARTS];
};

static int read_header(const uint8_t *data, size_t size, struct sxt_json **root, struct sxt_arena *arena,
                       size_t *header_size, sxt_error *error);
static int find_parts(struct sxt_json *root, size_t offset, size_t size, struct parts *parts, sxt_error *error);
static int read_list(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, struct sxt_arena *arena,
                     sxt_string **list, size_t *count, sxt_error *error);
static int save_list(const sxt_string *list, size_t count, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                     sxt_error *error);

/* --- reading --- */

static int open_parts(const uint8_t *data, const struct parts *parts, const struct sxt_size_limits *limits,
                      struct sxt_sizediff *out, sxt_error *error)
{
    int status = sxt_size_open(data + parts->offset[BEFORE], parts->size[BEFORE], limits, &out->before, error);
    if (status != SXT_OK)
        return sxt_size_error_in(error, status, part_names[BEFORE], 0);
    status = sxt_size_open(data + parts->offset[AFTER], parts->size[AFTER], limits, &out->after, error);
    if (status != SXT_OK)
        return sxt_size_error_in(error, status, part_names[AFTER], 0);
    status = read_list(data + parts->offset[REMOVED], parts->size[REMOVED], limits, &out->before->arena,
                       &out->removed_sources, &out->removed_source_count, error);
    if (status != SXT_OK)
        return sxt_size_error_in(error, status, part_names[REMOVED], 0);
    status = read_list(data + parts->offset[ADDED], parts->size[ADDED], limits, &out->after->arena, &out->added_sources,
                       &out->added_source_count, error);
    return sxt_size_error_in(error, status, part_names[ADDED], 0);
}

/* The JSON in the first SIZE bytes of a file: what follows three lines. */
static sxt_string copy_header(struct sxt_arena *arena, const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    for (int line = 0; line < 3; line++)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    return (sxt_string){sxt_arena_copy(arena, at, (size_t)(end - at) - 1), (size_t)(end - at) - 1};
}

int sxt_sizediff_open(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, struct sxt_sizediff *out,
                      sxt_error *error)
{
    *out = (struct sxt_sizediff){0};
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    struct sxt_json *root = NULL;
    struct parts parts;
    size_t header_size = 0;
    int status = read_header(data, size, &root, &arena, &header_size, error);
    if (status == SXT_OK)
        status = find_parts(root, header_size, size, &parts, error);
    if (status == SXT_OK)
        status = open_parts(data, &parts, limits, out, error);
    if (status == SXT_OK) {
        out->header = copy_header(&out->before->arena, data, header_size);
        status = out->header.data == NULL ? sxt_fail_memory(error, header_size) : SXT_OK;
    }
    if (status == SXT_OK && root->count > 0) {
        out->extra = sxt_json_copy(&out->before->arena, root);
        status = out->extra == NULL ? sxt_fail_memory(error, sizeof *root) : SXT_OK;
    }
    sxt_arena_free(&arena);
    if (status != SXT_OK)
        sxt_sizediff_free(out);
    return status;
}

void sxt_sizediff_free(struct sxt_sizediff *diff)
{
    sxt_size_info_free(&diff->before);
    sxt_size_info_free(&diff->after);
    *diff = (struct sxt_sizediff){0};
}

static int read_header(const uint8_t *data, size_t size, struct sxt_json **root, struct sxt_arena *arena,
                       size_t *header_size, sxt_error *error)
{
    if (!sxt_sizediff_is(data, size))
        return sxt_fail(error, SXT_ERROR_FORMAT, 0, "not a .sizediff file");
    const uint8_t *at = (const uint8_t *)memchr(data, '\n', size) + 1 + strlen("DIFF\n"), *end = data + size;
    uint64_t json_size = 0;
    const uint8_t *digits = at;
    /* 15 digits are more than any file has bytes. */
    while (at < end && at - digits < 15 && *at >= '0' && *at <= '9')
        json_size = json_size * 10 + (uint64_t)(*at++ - '0');
    uint64_t offset = (uint64_t)(digits - data);
    if (at == digits || at == end || *at != '\n')
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "line 3: not the number of bytes of the JSON");
    at++;
    size_t left = (size_t)(end - at);
    if (json_size >= left || at[json_size] != '\n')
        return sxt_fail(error, SXT_ERROR_FORMAT, offset, "line 3: the JSON of %" PRIu64 " bytes %s", json_size,
                        json_size >= left ? "reaches beyond the end" : "does not end a line");
    *header_size = (size_t)(at - data) + (size_t)json_size + 1;
    return sxt_size_parse_json(arena, (const char *)at, (size_t)json_size, (uint64_t)(at - data), root, error);
}

static int find_parts(struct sxt_json *root, size_t offset, size_t size, struct parts *parts, sxt_error *error)
{
    const struct sxt_json *version = sxt_json_take(root, "version");
    if (version == NULL || !version->is_unsigned || version->unsigned_value != VERSION)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "header: the version is not %d", VERSION);
    for (enum part part = REMOVED; part < AFTER; part++) {
        const struct sxt_json *length = sxt_json_take(root, length_keys[part]);
        if (length == NULL && part == BEFORE)
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "header: there is no '%s'", length_keys[part]);
        uint64_t bytes = length == NULL ? 0 : length->unsigned_value;
        if (length != NULL && (!length->is_unsigned || bytes > size - offset))
            return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET,
                            "header: '%s' is not a number, or reaches beyond the end", length_keys[part]);
        parts->offset[part] = offset;
        parts->size[part] = (size_t)bytes;
        offset += (size_t)bytes;
    }
    parts->offset[AFTER] = offset;
    parts->size[AFTER] = size - offset;
    return SXT_OK;
}

static int split_list(struct sxt_size_text *text, struct sxt_arena *arena, sxt_string **list, size_t *count)
{
    uint64_t wanted;
    int status = sxt_size_text_count(text, "the number of paths", (uint64_t)(text->end - text->at), &wanted);
    if (status != SXT_OK)
        return status;
    *list = sxt_arena_calloc(arena, (size_t)wanted, sizeof **list);
    if (*list == NULL)
        return sxt_fail_memory(text->error, wanted * sizeof **list);
    for (size_t i = 0; i < wanted && status == SXT_OK; i++)
        status = sxt_size_text_line(text, "the paths", &(*list)[i]);
    if (status == SXT_OK && text->at != text->end)
        status = sxt_size_text_error(text, text->at, "more text after the paths");
    *count = (size_t)wanted;
    return status;
}

static int read_list(const uint8_t *data, size_t size, const struct sxt_size_limits *limits, struct sxt_arena *arena,
                     sxt_string **list, size_t *count, sxt_error *error)
{
    if (size == 0)
        return SXT_OK;
    uint8_t *inflated;
    size_t inflated_size;
    int status = sxt_size_inflate(data, size, limits, &inflated, &inflated_size, error);
    if (status != SXT_OK)
        return status;
    const char *copy = sxt_arena_copy(arena, inflated, inflated_size);
    free(inflated);
    if (copy == NULL)
        return sxt_fail_memory(error, inflated_size);
    struct sxt_size_text text = {copy, copy, copy + inflated_size, error};
    return split_list(&text, arena, list, count);
}

/* --- writing --- */

static int save_list(const sxt_string *list, size_t count, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                     sxt_error *error)
{
    if (count == 0)
        return SXT_OK;
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    sxt_buffer_print(&text, "%zu\n", count);
    int status = SXT_OK;
    for (size_t i = 0; i < count && status == SXT_OK; i++) {
        if (list[i].size > 0 && memchr(list[i].data, '\n', list[i].size) != NULL)
            status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "a source path has a newline in it");
        sxt_buffer_append(&text, list[i].data, list[i].size);
        sxt_buffer_u8(&text, '\n');
    }
    if (status == SXT_OK)
        status = sxt_buffer_status(&text, error);
    if (status == SXT_OK)
        status = sxt_size_deflate(text.data, text.size, deflate, out, error);
    sxt_buffer_free(&text);
    return status;
}

static int save_parts(const struct sxt_sizediff *diff, enum sxt_size_deflate deflate, struct sxt_buffer *parts,
                      sxt_error *error)
{
    int status = save_list(diff->removed_sources, diff->removed_source_count, deflate, &parts[REMOVED], error);
    if (status == SXT_OK)
        status = save_list(diff->added_sources, diff->added_source_count, deflate, &parts[ADDED], error);
    if (status == SXT_OK)
        status = sxt_size_save(diff->before, deflate, &parts[BEFORE], error);
    if (status == SXT_OK)
        status = sxt_size_save(diff->after, deflate, &parts[AFTER], error);
    return status;
}

static int save_header(const struct sxt_sizediff *diff, const struct sxt_buffer *parts, struct sxt_buffer *out,
                       sxt_error *error)
{
    struct sxt_arena arena;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    struct sxt_json *root = diff->extra != NULL ? sxt_json_copy(&arena, diff->extra) : sxt_json_object(&arena);
    bool good = root != NULL && sxt_json_add_number(&arena, root, "version", VERSION);
    for (enum part part = REMOVED; part < AFTER && good; part++)
        if (part == BEFORE || parts[part].size > 0)
            good = sxt_json_add_number(&arena, root, length_keys[part], (int64_t)parts[part].size);
    sxt_buffer_append(out, SXT_SIZE_VANITY "DIFF\n", strlen(SXT_SIZE_VANITY "DIFF\n"));
    int status = good ? sxt_size_write_json_block(root, out, error) : sxt_fail_memory(error, sizeof *root);
    sxt_arena_free(&arena);
    return status;
}

int sxt_sizediff_save(const struct sxt_sizediff *diff, enum sxt_size_deflate deflate, struct sxt_buffer *out,
                      sxt_error *error)
{
    struct sxt_buffer parts[PARTS];
    for (enum part part = REMOVED; part < PARTS; part++)
        sxt_buffer_init(&parts[part], SIZE_MAX);
    int status = save_parts(diff, deflate, parts, error);
    if (status == SXT_OK)
        status = save_header(diff, parts, out, error);
    for (enum part part = REMOVED; part < PARTS; part++) {
        sxt_buffer_append(out, parts[part].data, parts[part].size);
        sxt_buffer_free(&parts[part]);
    }
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}
