/* addr2line.c: the answers of GNU addr2line, from an ELF file or from an archive. */
#include <sextant/addr2line.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "source/elf/elf.h"
#include "source/gnu/gnu.h"

#define FRAMES_AT_FIRST 64
#define READABLE_MAX    ((size_t)2 << 20)

struct sxt_addr2line {
    struct sxt_file file;
    struct sxt_gnu *gnu;  /* an ELF file, or... */
    sxt_archive *archive; /* ...an archive */
    sxt_frame *frames;    /* the last answer of the archive */
    size_t frame_count, frame_capacity;
    size_t frame;           /* given last */
    uint32_t discriminator; /* of the innermost frame; GNU prints it for all of them */
    enum sxt_gnu_style style;
    bool no_limit; /* of nesting */
    struct sxt_buffer text;
};

bool sxt_addr2line_knows_style(const char *style)
{
    enum sxt_gnu_style ignored;
    return sxt_gnu_style_named(style, &ignored);
}

static int open_kind(struct sxt_addr2line *addr2line, const char *path, const sxt_addr2line_options *options,
                     sxt_error *error)
{
    int status = sxt_file_open(&addr2line->file, path, error);
    if (status != SXT_OK)
        return status;
    if (sxt_elf_is(addr2line->file.data, addr2line->file.size))
        return sxt_gnu_open(&addr2line->file, path, options->section, options->threads, &addr2line->gnu, error);
    if (options->section != NULL)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "only ELF files have sections");
    addr2line->frame_capacity = FRAMES_AT_FIRST;
    addr2line->frames = malloc(addr2line->frame_capacity * sizeof *addr2line->frames);
    if (addr2line->frames == NULL)
        return sxt_fail_memory(error, addr2line->frame_capacity * sizeof *addr2line->frames);
    return sxt_archive_open_path(path, NULL, &addr2line->archive, error);
}

void sxt_addr2line_options_init(sxt_addr2line_options *options)
{
    *options = (sxt_addr2line_options){.struct_size = sizeof *options};
}

int sxt_addr2line_open(const char *path, const sxt_addr2line_options *given, sxt_addr2line **out, sxt_error *error)
{
    *out = NULL;
    sxt_addr2line_options options;
    sxt_addr2line_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_addr2line_options_init", error);
    if (status != SXT_OK)
        return status;
    enum sxt_gnu_style style = SXT_GNU_AUTO;
    if (options.style != NULL && !sxt_gnu_style_named(options.style, &style))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "no demangling style named '%.40s'", options.style);
    struct sxt_addr2line *addr2line = calloc(1, sizeof *addr2line);
    if (addr2line == NULL)
        return sxt_fail_memory(error, sizeof *addr2line);
    sxt_file_from_memory(&addr2line->file, NULL, 0);
    sxt_buffer_init(&addr2line->text, READABLE_MAX);
    addr2line->style = style;
    addr2line->no_limit = options.no_nesting_limit;
    status = open_kind(addr2line, path, &options, error);
    if (status == SXT_OK)
        *out = addr2line;
    else
        sxt_addr2line_close(&addr2line);
    return status;
}

void sxt_addr2line_close(struct sxt_addr2line **addr2line)
{
    struct sxt_addr2line *closing = *addr2line;
    if (closing == NULL)
        return;
    sxt_gnu_close(&closing->gnu);
    sxt_archive_close(&closing->archive);
    sxt_file_close(&closing->file);
    sxt_buffer_free(&closing->text);
    free(closing->frames);
    free(closing);
    *addr2line = NULL;
}

unsigned sxt_addr2line_digits(const struct sxt_addr2line *addr2line)
{
    return addr2line->gnu != NULL && sxt_gnu_is_narrow(addr2line->gnu) ? 8 : 16;
}

/* --- words --- */

/* "main", "main+4", "main + 0x10", but not "f00d": hexadecimal digits are a number, unless a '+' follows. */
static bool is_symbol(const char *word, sxt_string *name, uint64_t *offset)
{
    while (isspace((unsigned char)*word))
        word++;
    if (*word == 0 || isdigit((unsigned char)*word) || (isxdigit((unsigned char)*word) && strchr(word, '+') == NULL))
        return false;
    name->data = word;
    while (*word != 0 && *word != '+' && !isspace((unsigned char)*word))
        word++;
    name->size = (size_t)(word - name->data);
    while (isspace((unsigned char)*word))
        word++;
    *offset = *word == '+' ? strtoull(word + 1, NULL, 0) : 0;
    return true;
}

static bool note_address(void *data, const sxt_named *named)
{
    uint64_t *address = data;
    *address = named->address;
    return false;
}

static bool symbol_address(struct sxt_addr2line *addr2line, sxt_string name, uint64_t *address)
{
    if (addr2line->gnu != NULL)
        return sxt_gnu_symbol(addr2line->gnu, name, addr2line->style, addr2line->no_limit, address);
    char *text = strndup(name.data, name.size);
    size_t count = 0;
    if (text != NULL)
        (void)sxt_archive_find_name(addr2line->archive, text, note_address, address, &count, NULL);
    free(text);
    return count > 0;
}

uint64_t sxt_addr2line_address(struct sxt_addr2line *addr2line, const char *word)
{
    sxt_string name = {NULL, 0};
    uint64_t address = 0, offset = 0;
    if (!is_symbol(word, &name, &offset))
        address = strtoull(word, NULL, 16);
    else if (symbol_address(addr2line, name, &address))
        address += offset;
    else
        address = 0;
    return sxt_addr2line_digits(addr2line) == 8 ? (uint32_t)address : address;
}

/* --- answers --- */

int sxt_addr2line_load(struct sxt_addr2line *addr2line, const uint64_t *addresses, size_t count, sxt_error *error)
{
    return addr2line->gnu != NULL ? sxt_gnu_load(addr2line->gnu, addresses, count, error) : SXT_OK;
}

static void give_archive_frame(const struct sxt_addr2line *addr2line, sxt_addr2line_frame *frame)
{
    const sxt_frame *from = &addr2line->frames[addr2line->frame];
    const sxt_addr2line_frame found = {
        .struct_size = sizeof found, .function = from->function, .file = from->file, .line = from->line};
    sxt_result_give(frame, &found, sizeof found);
}

static bool find_in_archive(struct sxt_addr2line *addr2line, uint64_t address, sxt_addr2line_frame *frame)
{
    size_t count = sxt_archive_lookup(addr2line->archive, address, addr2line->frames, addr2line->frame_capacity);
    if (count > addr2line->frame_capacity) {
        sxt_frame *more = realloc(addr2line->frames, count * sizeof *more);
        if (more != NULL) {
            addr2line->frames = more;
            addr2line->frame_capacity = count;
            sxt_archive_lookup(addr2line->archive, address, more, count);
        } else {
            count = addr2line->frame_capacity;
        }
    }
    addr2line->frame_count = count;
    addr2line->frame = 0;
    if (count > 0)
        give_archive_frame(addr2line, frame);
    return count > 0;
}

static void give_gnu_frame(const struct sxt_gnu_frame *from, sxt_addr2line_frame *frame)
{
    const sxt_addr2line_frame found = {.struct_size = sizeof found,
                                       .function = from->function,
                                       .file = from->file,
                                       .line = from->line,
                                       .discriminator = from->discriminator};
    sxt_result_give(frame, &found, sizeof found);
}

bool sxt_addr2line_find(struct sxt_addr2line *addr2line, uint64_t address, sxt_addr2line_frame *frame)
{
    struct sxt_gnu_frame found;
    if (addr2line->gnu == NULL)
        return find_in_archive(addr2line, address, frame);
    if (!sxt_gnu_find(addr2line->gnu, address, &found))
        return false;
    addr2line->discriminator = found.discriminator;
    give_gnu_frame(&found, frame);
    return true;
}

bool sxt_addr2line_caller(struct sxt_addr2line *addr2line, sxt_addr2line_frame *frame)
{
    if (addr2line->gnu == NULL) {
        if (addr2line->frame + 1 >= addr2line->frame_count)
            return false;
        addr2line->frame++;
        give_archive_frame(addr2line, frame);
        return true;
    }
    struct sxt_gnu_frame found = {.discriminator = addr2line->discriminator};
    if (!sxt_gnu_caller(addr2line->gnu, &found))
        return false;
    give_gnu_frame(&found, frame);
    return true;
}

sxt_string sxt_addr2line_demangle(struct sxt_addr2line *addr2line, sxt_string name)
{
    sxt_buffer_clear(&addr2line->text);
    if (!sxt_gnu_demangle(name, addr2line->style, addr2line->no_limit, &addr2line->text))
        return name;
    return (sxt_string){(const char *)addr2line->text.data, addr2line->text.size};
}
