/*
 * text.c: a filter that puts names behind addresses.
 *
 *     #1 0x55d0c8a01234 in inner /src/a.c:3 [inlined]  (/usr/bin/app+0x1234)
 *                          outer /src/a.c:9
 *
 * What stood in the line stays; the frames that the innermost one was inlined into follow on lines of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "profile/modules.h"
#include "profile/profile.h"
#include "profile/text_address.h"
#include "profile/text_patterns.h"

#define LINE_MAX_SIZE ((size_t)64 << 10)
#define FRAMES_MAX    1024
/* Lines of outer frames are not pushed further to the right than this. */
#define INDENT_MAX 40

struct sxt_text {
    struct sxt_modules *modules;
    struct sxt_text_addresses *addresses;
    struct sxt_buffer pending; /* a line that is not complete */
    bool is_too_long;          /* the line that is not complete is passed on as it comes */
    bool in_stack;             /* the line before was a frame of perf script */
    struct sxt_buffer outer;   /* lines of outer frames */
    sxt_frame frames[FRAMES_MAX];
};

static void filter_line(struct sxt_text *text, const char *line, size_t size, struct sxt_buffer *out);

int sxt_text_open(struct sxt_modules *modules, struct sxt_text **out, sxt_error *error)
{
    struct sxt_text *text = calloc(1, sizeof *text);
    *out = text;
    if (text == NULL)
        return sxt_fail_memory(error, sizeof *text);
    text->modules = modules;
    sxt_buffer_init(&text->pending, LINE_MAX_SIZE);
    sxt_buffer_init(&text->outer, SIZE_MAX / 2);
    int status = sxt_text_addresses_open(modules, &text->addresses, error);
    if (status != SXT_OK)
        sxt_text_close(out);
    return status;
}

void sxt_text_close(struct sxt_text **text)
{
    if (*text == NULL)
        return;
    sxt_text_addresses_close(&(*text)->addresses);
    sxt_buffer_free(&(*text)->pending);
    sxt_buffer_free(&(*text)->outer);
    free(*text);
    *text = NULL;
}

/* A part of a line whose rest has not come yet. */
static void keep_part(struct sxt_text *text, const char *data, size_t size, struct sxt_buffer *out)
{
    if (!text->is_too_long && size <= LINE_MAX_SIZE - text->pending.size) {
        sxt_buffer_append(&text->pending, data, size);
        return;
    }
    sxt_buffer_append(out, text->pending.data, text->pending.size);
    sxt_buffer_append(out, data, size);
    sxt_buffer_clear(&text->pending);
    text->is_too_long = true;
}

int sxt_text_feed(struct sxt_text *text, const char *data, size_t size, struct sxt_buffer *out, sxt_error *error)
{
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t part = newline != NULL ? (size_t)(newline - data) + 1 : size;
        if (newline == NULL || text->pending.size > 0 || text->is_too_long || part > LINE_MAX_SIZE)
            keep_part(text, data, part, out);
        else
            filter_line(text, data, part, out);
        if (newline != NULL) {
            if (text->pending.size > 0)
                filter_line(text, (const char *)text->pending.data, text->pending.size, out);
            sxt_buffer_clear(&text->pending);
            text->is_too_long = false;
        }
        data += part;
        size -= part;
    }
    int status = sxt_buffer_status(&text->pending, error);
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}

int sxt_text_end(struct sxt_text *text, struct sxt_buffer *out, sxt_error *error)
{
    if (text->pending.size > 0)
        filter_line(text, (const char *)text->pending.data, text->pending.size, out);
    sxt_buffer_clear(&text->pending);
    text->is_too_long = false;
    return sxt_buffer_status(out, error);
}

/* A name from a file must not drive the terminal. */
static void put_name(struct sxt_buffer *out, sxt_string name)
{
    size_t done = 0;
    for (size_t i = 0; i < name.size; i++) {
        unsigned char byte = (unsigned char)name.data[i];
        if (byte >= 0x20 && byte != 0x7f)
            continue;
        sxt_buffer_append(out, name.data + done, i - done);
        sxt_buffer_print(out, "\\x%02x", byte);
        done = i + 1;
    }
    if (done < name.size)
        sxt_buffer_append(out, name.data + done, name.size - done);
}

static void put_frame(struct sxt_buffer *out, const sxt_frame *frame)
{
    put_name(out, frame->function);
    if (frame->file.size > 0) {
        sxt_buffer_u8(out, ' ');
        put_name(out, frame->file);
        if (frame->line != 0)
            sxt_buffer_print(out, ":%u", (unsigned)frame->line);
    }
    if (frame->depth > 0)
        sxt_buffer_append(out, " [inlined]", 10);
}

/* Blanks, as wide as the text that ends where the answer begins; tabs stay tabs. */
static void put_indent(struct sxt_buffer *out, const char *line, size_t size)
{
    size_t put = 0;
    for (size_t i = 0; i < size && put < INDENT_MAX; i++) {
        bool goes_on = ((unsigned char)line[i] & 0xc0) == 0x80;
        if (goes_on)
            continue;
        sxt_buffer_u8(out, line[i] == '\t' ? '\t' : ' ');
        put++;
    }
}

/* The mapping that perf tells of: "PERF_RECORD_MMAP2 1/1: [0x7f1000(0x26000) @ 0x1000 fe:00 3 0]: r-xp /lib/ld.so". */
static void note_mapping(struct sxt_text *text, const char *line, size_t size)
{
    static const char mark[] = "PERF_RECORD_MMAP";
    const char *at = size > 0 ? memmem(line, size, mark, sizeof mark - 1) : NULL;
    char copy[8192];
    if (at == NULL || (size_t)(line + size - at) >= sizeof copy)
        return;
    size_t copied = (size_t)(line + size - at);
    memcpy(copy, at, copied);
    copy[copied] = 0;
    const char *range = strchr(copy, '[');
    char *path = range != NULL ? strstr(range, "]: ") : NULL;
    unsigned long long start, length, offset;
    if (path == NULL || sscanf(range, "[0x%llx(0x%llx) @ %llx", &start, &length, &offset) != 3)
        return;
    /* Behind "]: " come the permissions. */
    path = strchr(path + 3, ' ');
    if (path == NULL)
        return;
    size_t path_size = strcspn(++path, "\r\n");
    sxt_text_addresses_add_mapping(text->addresses, (sxt_string){path, path_size}, start, length, offset);
}

/* The frames for a match, in text->frames; 0 when nothing is known. */
static size_t answer(struct sxt_text *text, const struct sxt_text_match *match)
{
    uint64_t address;
    bool is_return = match->kind == SXT_TEXT_MATCH_PERF ? text->in_stack : match->is_return;
    const sxt_archive *archive = sxt_text_address(text->addresses, match, is_return, &address);
    if (archive == NULL)
        return 0;
    size_t count = sxt_archive_lookup(archive, address, text->frames, FRAMES_MAX);
    return count < FRAMES_MAX ? count : FRAMES_MAX;
}

/* LINE ends with a newline, unless it is the last one. */
static void filter_line(struct sxt_text *text, const char *line, size_t size, struct sxt_buffer *out)
{
    size_t end = size - (line[size - 1] == '\n');
    size_t content = end - (end > 0 && line[end - 1] == '\r');
    const char *newline = content < end ? "\r\n" : "\n";
    size_t copied = 0;
    bool is_frame = false;
    sxt_buffer_clear(&text->outer);
    note_mapping(text, line, end);
    struct sxt_text_match match;
    for (size_t at = 0; sxt_text_match_next(line, content, at, &match);) {
        is_frame |= match.kind == SXT_TEXT_MATCH_PERF;
        size_t count = answer(text, &match);
        at = count > 0 ? match.end : match.start + 1;
        if (count == 0)
            continue;
        sxt_buffer_append(out, line + copied, match.from - copied);
        sxt_buffer_append(out, match.separator, strlen(match.separator));
        put_frame(out, &text->frames[0]);
        copied = match.to;
        for (size_t i = 1; i < count; i++) {
            sxt_buffer_append(&text->outer, newline, strlen(newline));
            put_indent(&text->outer, line, match.from);
            sxt_buffer_append(&text->outer, match.separator, strlen(match.separator));
            put_frame(&text->outer, &text->frames[i]);
        }
    }
    text->in_stack = is_frame;
    if (text->outer.size == 0) {
        sxt_buffer_append(out, line + copied, size - copied);
        return;
    }
    sxt_buffer_append(out, line + copied, content - copied);
    sxt_buffer_append(out, text->outer.data, text->outer.size);
    sxt_buffer_append(out, line + content, size - content);
}
