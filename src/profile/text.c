/*
 * text.c: a filter that adds names to the addresses in text.
 *
 *     #1 0x55d0c8a01234 in inner /src/a.c:3 [inlined]  (/usr/bin/app+0x1234)
 *                          outer /src/a.c:9
 *
 * The line keeps its text; the frames that the innermost one was inlined into follow, each on a line.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/output.h"
#include "base/string.h"
#include "profile/modules.h"
#include "profile/profile.h"
#include "profile/text_address.h"
#include "profile/text_caller.h"
#include "profile/text_patterns.h"

#define LINE_MAX_SIZE ((size_t)64 << 10)
#define FRAMES_MAX    1024
#define READ_SIZE     ((size_t)64 << 10)
#define OUTPUT_MAX    ((size_t)4 << 30)
/* Lines that wait for one that says where the kernel was loaded. */
#define HELD_MAX ((size_t)1 << 20)
/* For how long a line waits for a later one, in milliseconds. */
#define HELD_TIME 200
/* Lines of outer frames are indented no further than this. */
#define INDENT_MAX 40

struct sxt_text_filter {
    struct sxt_modules *modules;
    sxt_text_write *write;
    void *write_data;
    struct sxt_text_addresses *addresses;
    struct sxt_buffer out;     /* not written yet */
    struct sxt_buffer pending; /* an incomplete line */
    bool is_too_long;          /* the incomplete line is passed on unchanged */
    bool in_stack;             /* the line before was a frame of perf script */
    struct sxt_buffer outer;   /* lines of outer frames */
    struct sxt_buffer held;    /* lines that wait for a later one */
    uint64_t held_address;     /* the first address in them that cannot be placed yet */
    bool is_releasing;         /* they wait no longer */
    struct sxt_buffer waiting; /* a line in folded code, which waits for its caller in the next line */
    bool is_folded;            /* the outermost frame below is of one of several functions, and which one is unknown */
    uint64_t address;          /* of `frames` in the file */
    sxt_frame frames[FRAMES_MAX];
};

/* What became of a line. */
enum outcome {
    WRITTEN,
    WAITS_FOR_KERNEL, /* a later line may say where the kernel was loaded */
    WAITS_FOR_CALLER  /* the next line may have the caller */
};

static void take_line(struct sxt_text_filter *text, const char *line, size_t size, struct sxt_buffer *out);
static void release(struct sxt_text_filter *text);

int sxt_text_filter_open(sxt_modules *modules, sxt_text_write *write, void *data, sxt_text_filter **out,
                         sxt_error *error)
{
    struct sxt_text_filter *text = calloc(1, sizeof *text);
    *out = text;
    if (text == NULL)
        return sxt_fail_memory(error, sizeof *text);
    text->modules = modules;
    text->write = write;
    text->write_data = data;
    sxt_buffer_init(&text->pending, LINE_MAX_SIZE);
    sxt_buffer_init(&text->outer, SIZE_MAX / 2);
    sxt_buffer_init(&text->out, OUTPUT_MAX);
    sxt_buffer_init(&text->held, HELD_MAX);
    sxt_buffer_init(&text->waiting, LINE_MAX_SIZE);
    int status = sxt_text_addresses_open(modules, &text->addresses, error);
    if (status != SXT_OK)
        sxt_text_filter_close(out);
    return status;
}

void sxt_text_filter_close(sxt_text_filter **filter)
{
    if (*filter == NULL)
        return;
    sxt_text_addresses_close(&(*filter)->addresses);
    sxt_buffer_free(&(*filter)->pending);
    sxt_buffer_free(&(*filter)->outer);
    sxt_buffer_free(&(*filter)->out);
    sxt_buffer_free(&(*filter)->held);
    sxt_buffer_free(&(*filter)->waiting);
    free(*filter);
    *filter = NULL;
}

/* Writes what is ready. */
static int flush(struct sxt_text_filter *text, sxt_error *error)
{
    int status = sxt_buffer_status(&text->pending, error);
    if (status == SXT_OK)
        status = sxt_buffer_status(&text->out, error);
    if (status == SXT_OK && text->out.size > 0 &&
        !text->write(text->write_data, (const char *)text->out.data, text->out.size))
        status = sxt_fail(error, SXT_ERROR_IO, SXT_NO_OFFSET, "the output was refused");
    sxt_buffer_clear(&text->out);
    return status;
}

/* Keeps a part of a line until its rest comes. */
static void keep_part(struct sxt_text_filter *text, const char *data, size_t size, struct sxt_buffer *out)
{
    if (!text->is_too_long && size <= LINE_MAX_SIZE - text->pending.size) {
        sxt_buffer_append(&text->pending, data, size);
        return;
    }
    release(text);
    sxt_buffer_append(out, text->pending.data, text->pending.size);
    sxt_buffer_append(out, data, size);
    sxt_buffer_clear(&text->pending);
    text->is_too_long = true;
}

int sxt_text_filter_feed(sxt_text_filter *text, const char *data, size_t size, sxt_error *error)
{
    struct sxt_buffer *out = &text->out;
    while (size > 0) {
        const char *newline = memchr(data, '\n', size);
        size_t part = newline != NULL ? (size_t)(newline - data) + 1 : size;
        if (newline == NULL || text->pending.size > 0 || text->is_too_long || part > LINE_MAX_SIZE)
            keep_part(text, data, part, out);
        else
            take_line(text, data, part, out);
        if (newline != NULL) {
            if (text->pending.size > 0)
                take_line(text, (const char *)text->pending.data, text->pending.size, out);
            sxt_buffer_clear(&text->pending);
            text->is_too_long = false;
        }
        data += part;
        size -= part;
    }
    return flush(text, error);
}

int sxt_text_filter_end(sxt_text_filter *text, sxt_error *error)
{
    if (text->pending.size > 0)
        take_line(text, (const char *)text->pending.data, text->pending.size, &text->out);
    sxt_buffer_clear(&text->pending);
    text->is_too_long = false;
    return sxt_text_filter_flush(text, error);
}

int sxt_text_filter_flush(sxt_text_filter *text, sxt_error *error)
{
    release(text);
    return flush(text, error);
}

void sxt_text_visit_modules(const char *line, size_t size,
                            void (*visit)(void *data, sxt_string module, sxt_string build_id), void *data)
{
    struct sxt_text_match match;
    for (size_t at = 0; sxt_text_match_next(line, size, at, &match); at = match.start + 1)
        visit(data, match.module, match.build_id);
}

/* The output of sxt_text_filter_fd. */
struct descriptor {
    int fd;
    sxt_error error; /* of the last write */
};

static bool write_descriptor(void *data, const char *text, size_t size)
{
    struct descriptor *output = data;
    return sxt_write_all(output->fd, text, size, &output->error) == SXT_OK;
}

int sxt_text_filter_fd(sxt_modules *modules, int input, int output, sxt_error *error)
{
    struct descriptor descriptor = {.fd = output};
    sxt_text_filter *filter;
    char data[READ_SIZE];
    int status = sxt_text_filter_open(modules, write_descriptor, &descriptor, &filter, error);
    for (ssize_t got = 1; got > 0 && status == SXT_OK;) {
        struct pollfd ready = {.fd = input, .events = POLLIN};
        if ((filter->held.size > 0 || filter->waiting.size > 0) && poll(&ready, 1, HELD_TIME) == 0)
            status = sxt_text_filter_flush(filter, error);
        do
            got = read(input, data, sizeof data);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            status = sxt_fail_errno(error, errno, "cannot read");
        else if (status == SXT_OK)
            status =
                got > 0 ? sxt_text_filter_feed(filter, data, (size_t)got, error) : sxt_text_filter_end(filter, error);
    }
    if (descriptor.error.code != SXT_OK && error != NULL)
        *error = descriptor.error;
    sxt_text_filter_close(&filter);
    return status;
}

static void put_frame(const struct sxt_text_filter *text, const sxt_frame *frame, struct sxt_buffer *out)
{
    sxt_escape_text(out, frame->function.size > 0 ? frame->function : (sxt_string){"??", 2});
    if (frame->file.size > 0) {
        sxt_buffer_u8(out, ' ');
        sxt_escape_text(out, frame->file);
        if (frame->line != 0)
            sxt_buffer_print(out, ":%u", (unsigned)frame->line);
    }
    if (frame->depth > 0)
        sxt_buffer_append(out, " [inlined]", 10);
    else if (text->is_folded)
        sxt_buffer_append(out, " [folded]", 9);
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

/* A mapping that perf prints: "PERF_RECORD_MMAP2 1/1: [0x7f1000(0x26000) @ 0x1000 fe:00 3 0]: r-xp /lib/ld.so". */
static void note_mapping(struct sxt_text_filter *text, const char *line, size_t size)
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
    /* The permissions follow "]: ". */
    path = strchr(path + 3, ' ');
    if (path == NULL)
        return;
    size_t path_size = strcspn(++path, "\r\n");
    sxt_text_addresses_add_mapping(text->addresses, (sxt_string){path, path_size}, start, length, offset);
}

/*
 * The frames for a match of LINE, in text->frames; 0 if unknown. NEXT is the next line: empty if there is none, NULL if
 * it is not known yet.
 */
static size_t answer(struct sxt_text_filter *text, const char *line, const struct sxt_text_match *match,
                     const sxt_string *next)
{
    sxt_string called;
    uint64_t address;
    bool is_return = match->kind == SXT_TEXT_MATCH_PERF ? text->in_stack : match->is_return;
    const sxt_archive *archive = sxt_text_address(text->addresses, match, is_return, &address);
    if (archive == NULL)
        return 0;
    text->address = address;
    size_t count = sxt_archive_lookup(archive, address, text->frames, FRAMES_MAX);
    count = count < FRAMES_MAX ? count : FRAMES_MAX;
    text->is_folded = count > 0 && sxt_archive_is_ambiguous(archive, &text->frames[count - 1]);
    if (!text->is_folded || next == NULL || !sxt_text_may_have_caller(line, match) ||
        !sxt_text_find_called(text->addresses, archive, &text->frames[count - 1], line, match, *next, &called))
        return count;
    text->is_folded = false;
    if (sxt_string_equal(called, text->frames[count - 1].function))
        return count;
    /* The lines and inlined calls are those of the function whose code was kept. */
    text->frames[0] = (sxt_frame){.function = called};
    return 1;
}

/* LINE ends with a newline, unless it is the last one. NEXT: see `answer`. Nothing is written if the line waits. */
static enum outcome filter_line(struct sxt_text_filter *text, const char *line, size_t size, const sxt_string *next,
                                struct sxt_buffer *out)
{
    static const sxt_string none = {"", 0};
    size_t end = size - (line[size - 1] == '\n');
    size_t content = end - (end > 0 && line[end - 1] == '\r');
    const char *newline = content < end ? "\r\n" : "\n";
    size_t copied = 0, before = out->size;
    bool is_frame = false;
    sxt_buffer_clear(&text->outer);
    if (text->modules->source != NULL)
        text->modules->source->begin(text->modules->source->data);
    note_mapping(text, line, end);
    struct sxt_text_match match;
    for (size_t at = 0; sxt_text_match_next(line, content, at, &match);) {
        is_frame |= match.kind == SXT_TEXT_MATCH_PERF;
        if (!text->is_releasing && sxt_text_address_may_change(text->addresses, &match)) {
            text->held_address = match.address;
            out->size = before;
            return WAITS_FOR_KERNEL;
        }
        size_t count = answer(text, line, &match, copied == 0 ? next : &none);
        if (count > 0 && text->is_folded && copied == 0 && next == NULL && sxt_text_may_have_caller(line, &match))
            return WAITS_FOR_CALLER;
        at = count > 0 ? match.end : match.start + 1;
        if (count == 0)
            continue;
        if (text->modules->source != NULL)
            text->modules->source->answer(text->modules->source->data, match.module, text->address, text->frames,
                                          count);
        sxt_buffer_append(out, line + copied, match.from - copied);
        sxt_buffer_append(out, match.separator, strlen(match.separator));
        put_frame(text, &text->frames[0], out);
        copied = match.to;
        for (size_t i = 1; i < count; i++) {
            sxt_buffer_append(&text->outer, newline, strlen(newline));
            put_indent(&text->outer, line, match.from);
            sxt_buffer_append(&text->outer, match.separator, strlen(match.separator));
            put_frame(text, &text->frames[i], &text->outer);
        }
    }
    text->in_stack = is_frame;
    if (text->modules->source != NULL)
        text->modules->source->end(text->modules->source->data, line, content);
    if (text->outer.size == 0) {
        sxt_buffer_append(out, line + copied, size - copied);
        return WRITTEN;
    }
    sxt_buffer_append(out, line + copied, content - copied);
    sxt_buffer_append(out, text->outer.data, text->outer.size);
    sxt_buffer_append(out, line + content, size - content);
    return WRITTEN;
}

/* The first line of TEXT, with its newline. */
static sxt_string first_line(const char *text, size_t size)
{
    const char *newline = size > 0 ? memchr(text, '\n', size) : NULL;
    return (sxt_string){text, newline != NULL ? (size_t)(newline - text) + 1 : size};
}

/* Filters the line that waits for its caller. NEXT is the line after it, or empty. */
static void release_callee(struct sxt_text_filter *text, sxt_string next)
{
    if (text->waiting.size == 0)
        return;
    text->is_releasing = true;
    filter_line(text, (const char *)text->waiting.data, text->waiting.size, &next, &text->out);
    text->is_releasing = false;
    sxt_buffer_clear(&text->waiting);
}

/* Filters the lines that wait. */
static void release(struct sxt_text_filter *text)
{
    const char *data = (const char *)text->held.data;
    release_callee(text, (sxt_string){"", 0});
    text->is_releasing = true;
    for (size_t at = 0; at < text->held.size;) {
        sxt_string line = first_line(data + at, text->held.size - at);
        at += line.size;
        sxt_string next = first_line(data + at, text->held.size - at);
        filter_line(text, line.data, line.size, &next, &text->out);
    }
    text->is_releasing = false;
    sxt_buffer_clear(&text->held);
}

/* A line with both the address and the symbol of a place shows where the kernel was loaded. */
static void learn(struct sxt_text_filter *text, const char *line, size_t size)
{
    struct sxt_text_match match;
    uint64_t address;
    for (size_t at = 0; sxt_text_match_next(line, size, at, &match); at = match.start + 1)
        if (match.kind == SXT_TEXT_MATCH_KERNEL && match.has_address)
            sxt_text_address(text->addresses, &match, false, &address);
}

/*
 * A kernel prints where it was loaded at the end of a panic, after the addresses. A line that depends on it waits, and
 * so do the lines after it.
 */
static void take_line(struct sxt_text_filter *text, const char *line, size_t size, struct sxt_buffer *out)
{
    release_callee(text, (sxt_string){line, size});
    if (text->held.size > HELD_MAX - LINE_MAX_SIZE)
        release(text);
    sxt_text_addresses_note_kernel(text->addresses, line, size);
    if (text->held.size == 0) {
        enum outcome outcome = filter_line(text, line, size, NULL, out);
        if (outcome != WRITTEN)
            sxt_buffer_append(outcome == WAITS_FOR_CALLER ? &text->waiting : &text->held, line, size);
        return;
    }
    sxt_buffer_append(&text->held, line, size);
    learn(text, line, size);
    struct sxt_text_match match = {.kind = SXT_TEXT_MATCH_ADDRESS, .address = text->held_address};
    if (!sxt_text_address_may_change(text->addresses, &match))
        release(text);
}
