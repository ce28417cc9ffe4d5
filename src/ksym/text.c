/* text.c: symbols from the text of /proc/kallsyms or nm. Every line is counted; none is dropped silently. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "base/utf8.h"
#include "ksym/ksym.h"

#define DEFAULT_TYPES "Tt"

struct text_reader {
    struct sxt_ksym_list *list;
    const struct sxt_ksym_text_options *options;
    struct sxt_ksym_text_report *report;
    bool wanted[SXT_KSYM_TYPES];
    bool any_address; /* other than 0 */
    struct sxt_buffer name;
};

static int read_lines(struct text_reader *reader, const char *data, size_t size, sxt_error *error);
static int read_line(struct text_reader *reader, sxt_string line, sxt_error *error);
static sxt_string take_field(sxt_string *line);
static bool is_undefined(sxt_string first, sxt_string second);
static bool parse_address(sxt_string text, uint64_t *address);
static bool is_type(sxt_string text);
static bool is_marker(sxt_string name);
static int add_symbol(struct text_reader *reader, uint64_t address, char type, sxt_string name, sxt_error *error);
static int join_name(struct text_reader *reader, sxt_string *name, sxt_error *error);
static void warn_of_lines(const struct text_reader *reader);
static void warn_of_long_names(const struct text_reader *reader, size_t first);
static int check_result(const struct text_reader *reader, sxt_error *error);

int sxt_ksym_read_text(struct sxt_ksym_list *list, const uint8_t *data, size_t size,
                       const struct sxt_ksym_text_options *options, struct sxt_ksym_text_report *report,
                       sxt_error *error)
{
    static const struct sxt_ksym_text_options defaults = {.types = NULL};
    struct sxt_ksym_text_report unseen;
    struct text_reader reader = {
        .list = list,
        .options = options != NULL ? options : &defaults,
        .report = report != NULL ? report : &unseen,
    };
    *reader.report = (struct sxt_ksym_text_report){.lines = 0};
    size_t before = list->count;
    sxt_buffer_init(&reader.name, SIZE_MAX);
    const char *types = reader.options->types != NULL ? reader.options->types : DEFAULT_TYPES;
    int status = sxt_ksym_parse_types(types, reader.wanted, error);
    if (status == SXT_OK)
        status = read_lines(&reader, (const char *)data, size, error);
    sxt_buffer_free(&reader.name);
    if (status != SXT_OK)
        return status;
    warn_of_lines(&reader);
    status = check_result(&reader, error);
    if (status == SXT_OK && reader.options->demangle)
        status = sxt_ksym_list_demangle(list, reader.options->threads, error);
    if (status == SXT_OK)
        warn_of_long_names(&reader, before);
    return status;
}

int sxt_ksym_parse_types(const char *types, bool wanted[SXT_KSYM_TYPES], sxt_error *error)
{
    bool all = strcmp(types, "all") == 0;
    memset(wanted, all, SXT_KSYM_TYPES * sizeof *wanted);
    if (all)
        return SXT_OK;
    if (*types == '\0')
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "no types of symbols are given");
    for (; *types != '\0'; types++) {
        /* nm has '-' and '?' as well. */
        bool is_letter = (*types >= 'A' && *types <= 'Z') || (*types >= 'a' && *types <= 'z');
        if (!is_letter && *types != '-' && *types != '?')
            return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                            "not a type of a symbol: '%c'; known are the letters that nm prints, and all", *types);
        wanted[(uint8_t)*types] = true;
    }
    return SXT_OK;
}

static int read_lines(struct text_reader *reader, const char *data, size_t size, sxt_error *error)
{
    int status = SXT_OK;
    for (size_t at = 0; status == SXT_OK && at < size;) {
        const char *newline = memchr(data + at, '\n', size - at);
        size_t length = newline != NULL ? (size_t)(newline - (data + at)) : size - at;
        reader->report->lines++;
        status = read_line(reader, (sxt_string){data + at, length}, error);
        at += length + 1;
    }
    return status;
}

static void count_line(const struct text_reader *reader, struct sxt_ksym_lines *kind)
{
    if (kind->count++ == 0)
        kind->first = reader->report->lines;
}

static int read_line(struct text_reader *reader, sxt_string line, sxt_error *error)
{
    struct sxt_ksym_text_report *report = reader->report;
    sxt_string first = take_field(&line);
    sxt_string second = take_field(&line);
    uint64_t address;
    if (first.size == 0) {
        report->blank++;
    } else if (is_undefined(first, second)) {
        report->undefined++;
    } else if (!parse_address(first, &address) || !is_type(second)) {
        count_line(reader, &report->malformed);
    } else if (!reader->wanted[(uint8_t)second.data[0]]) {
        report->other_types++;
        report->of_other_type[(uint8_t)second.data[0]]++;
    } else {
        return add_symbol(reader, address, second.data[0], line, error);
    }
    return SXT_OK;
}

static inline bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static sxt_string trim_start(sxt_string text)
{
    while (text.size > 0 && is_space(text.data[0])) {
        text.data++;
        text.size--;
    }
    return text;
}

/* Takes the next field, which is empty at the end of the line, and the white space around it. */
static sxt_string take_field(sxt_string *line)
{
    sxt_string left = trim_start(*line);
    sxt_string field = {left.data, 0};
    while (field.size < left.size && !is_space(left.data[field.size]))
        field.size++;
    *line = trim_start((sxt_string){left.data + field.size, left.size - field.size});
    return field;
}

/* What nm prints for symbols of other files: no address, and a letter that is not a hexadecimal digit. */
static bool is_undefined(sxt_string first, sxt_string second)
{
    return first.size == 1 && second.size > 0 && memchr("UwvWV", first.data[0], 5) != NULL;
}

static bool parse_address(sxt_string text, uint64_t *address)
{
    if (text.size > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x')
        text = (sxt_string){text.data + 2, text.size - 2};
    return sxt_hex_parse(text, address);
}

static bool is_type(sxt_string text)
{
    return text.size == 1 && text.data[0] > ' ' && text.data[0] <= '~';
}

/* "$x", "$d.12", "$xrv64i2p1": AAELF64 and the RISC-V ELF specification mark code and data with these. */
static bool is_marker(sxt_string name)
{
    if (name.size < 2 || name.data[0] != '$' || memchr("atxd", name.data[1], 4) == NULL)
        return false;
    bool is_instruction_set = sxt_string_begins(name, "$xrv");
    return name.size == 2 || name.data[2] == '.' || is_instruction_set;
}

static int add_symbol(struct text_reader *reader, uint64_t address, char type, sxt_string name, sxt_error *error)
{
    struct sxt_ksym_text_report *report = reader->report;
    int status = join_name(reader, &name, error);
    if (status != SXT_OK)
        return status;
    if (is_marker(name)) {
        report->markers++;
        return SXT_OK;
    }
    switch (sxt_ksym_name_fit(name)) {
    case SXT_KSYM_EMPTY:
        count_line(reader, &report->nameless);
        return SXT_OK;
    case SXT_KSYM_TOO_LONG:
        count_line(reader, &report->too_long);
        return SXT_OK;
    case SXT_KSYM_NOT_UTF8:
        count_line(reader, &report->not_utf8);
        return SXT_OK;
    case SXT_KSYM_FITS:
        break;
    }
    report->kept++;
    reader->any_address |= address != 0;
    return sxt_ksym_list_add(reader->list, address, type, name, error);
}

/* Replaces each run of white space inside a name by one space, and removes it at the end. Most names need no change. */
static int join_name(struct text_reader *reader, sxt_string *name, sxt_error *error)
{
    while (name->size > 0 && is_space(name->data[name->size - 1]))
        name->size--;
    size_t plain = 0;
    while (plain < name->size &&
           (!is_space(name->data[plain]) || (name->data[plain] == ' ' && !is_space(name->data[plain + 1]))))
        plain++;
    if (plain == name->size)
        return SXT_OK;
    sxt_buffer_clear(&reader->name);
    for (sxt_string left = *name; left.size > 0;) {
        sxt_string field = take_field(&left);
        if (reader->name.size > 0)
            sxt_buffer_u8(&reader->name, ' ');
        sxt_buffer_append(&reader->name, field.data, field.size);
    }
    *name = (sxt_string){(const char *)reader->name.data, reader->name.size};
    return sxt_buffer_status(&reader->name, error);
}

/* --- warnings at the end --- */

static void warn(const struct text_reader *reader, const struct sxt_ksym_lines *lines, const char *one,
                 const char *many)
{
    char text[200];
    if (lines->count == 0 || reader->options->warning == NULL)
        return;
    if (lines->count == 1)
        snprintf(text, sizeof text, "%s", one);
    else
        snprintf(text, sizeof text, "%" PRIu64 " %s, this one first", lines->count, many);
    reader->options->warning(reader->options->warning_data, lines->first, text);
}

static void warn_of_lines(const struct text_reader *reader)
{
    const struct sxt_ksym_text_report *report = reader->report;
    warn(reader, &report->malformed, "left out: not an address, a type and a name",
         "lines left out: not an address, a type and a name");
    warn(reader, &report->nameless, "left out: the symbol has no name", "symbols without a name left out");
    warn(reader, &report->not_utf8, "left out: the name is not UTF-8", "names that are not UTF-8 left out");
    warn(reader, &report->too_long, "left out: the name is longer than 65535 bytes",
         "names longer than 65535 bytes left out");
}

static void warn_of_long_names(const struct text_reader *reader, size_t first)
{
    char text[200];
    uint64_t address = 0;
    for (size_t i = first; i < reader->list->count; i++) {
        const struct sxt_ksym_input *symbol = &reader->list->symbols[i];
        if (sxt_strings_get(&reader->list->strings, symbol->name).size <= SXT_KSYM_NAME_SIZE_MOST)
            continue;
        if (reader->report->long_names++ == 0)
            address = symbol->address;
    }
    if (reader->report->long_names == 0 || reader->options->warning == NULL)
        return;
    snprintf(text, sizeof text,
             "names longer than %d bytes, which other readers will cut: %" PRIu64 ", the first at 0x%" PRIx64,
             SXT_KSYM_NAME_SIZE_MOST, reader->report->long_names, address);
    reader->options->warning(reader->options->warning_data, 0, text);
}

static int check_result(const struct text_reader *reader, sxt_error *error)
{
    const struct sxt_ksym_text_report *report = reader->report;
    uint64_t symbols = report->kept + report->other_types + report->undefined;
    if (report->kept > 1 && !reader->any_address)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "all %" PRIu64 " addresses are 0: read /proc/kallsyms as root, or set kernel.kptr_restrict=0",
                        report->kept);
    if (report->kept > 0)
        return SXT_OK;
    if (report->lines == report->blank)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no symbols: the text is empty");
    if (symbols == 0)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET,
                        "no symbols in %" PRIu64 " line%s: not the format of /proc/kallsyms or nm", report->lines,
                        report->lines == 1 ? "" : "s");
    return sxt_fail_reason(error, SXT_ERROR_NOT_FOUND, SXT_REASON_SYMBOL_TYPES, SXT_NO_OFFSET,
                           "no symbols of the types %s in %" PRIu64 " line%s",
                           reader->options->types != NULL ? reader->options->types : DEFAULT_TYPES, report->lines,
                           report->lines == 1 ? "" : "s");
}
