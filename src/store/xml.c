/* xml.c: reads the XML that S3 servers answer with, piece by piece; a piece is a tag, a comment or a character. */
#include "store/xml.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

#define ENTITY_MAX 12 /* bytes between '&' and ';' */

struct reader {
    const char *start, *at, *end;
    unsigned depth; /* open elements */
    char names[SXT_XML_DEPTH_MAX][SXT_XML_NAME_MAX + 1];
    char text[SXT_XML_TEXT_MAX + 1];
    size_t text_size;
    bool finished; /* the outermost element was closed */
    sxt_xml_visit *visit;
    void *data;
    sxt_error *error;
};

static int read_piece(struct reader *reader);

static int fail(struct reader *reader, const char *what)
{
    return sxt_fail(reader->error, SXT_ERROR_FORMAT, (uint64_t)(reader->at - reader->start), "invalid XML: %s", what);
}

int sxt_xml_read(const char *text, size_t size, sxt_xml_visit *visit, void *data, sxt_error *error)
{
    struct reader reader = {
        .start = text, .at = text, .end = text + size, .visit = visit, .data = data, .error = error};
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        reader.at += 3;
    int status = SXT_OK;
    while (status == SXT_OK && reader.at < reader.end)
        status = read_piece(&reader);
    if (status == SXT_OK && !reader.finished)
        status = fail(&reader, "the end is missing");
    return status;
}

static bool is_space(char character)
{
    return character == ' ' || character == '\t' || character == '\r' || character == '\n';
}

static bool has(const struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    return (size_t)(reader->end - reader->at) >= size && memcmp(reader->at, word, size) == 0;
}

/* Where WORD begins, or NULL. */
static const char *find(const struct reader *reader, const char *word)
{
    return memmem(reader->at, (size_t)(reader->end - reader->at), word, strlen(word));
}

static int skip_to(struct reader *reader, const char *word)
{
    const char *found = find(reader, word);
    if (found == NULL)
        return fail(reader, "the end is missing");
    reader->at = found + strlen(word);
    return SXT_OK;
}

static int add_text(struct reader *reader, const char *text, size_t size)
{
    if (size > SXT_XML_TEXT_MAX - reader->text_size)
        return fail(reader, "a text is too long");
    if (memchr(text, 0, size) != NULL)
        return fail(reader, "a text has a NUL byte");
    memcpy(reader->text + reader->text_size, text, size);
    reader->text_size += size;
    reader->text[reader->text_size] = 0;
    return SXT_OK;
}

static int read_cdata(struct reader *reader)
{
    reader->at += strlen("<![CDATA[");
    const char *end = find(reader, "]]>");
    if (end == NULL)
        return fail(reader, "the end is missing");
    if (reader->depth == 0)
        return fail(reader, "text outside of the element");
    int status = add_text(reader, reader->at, (size_t)(end - reader->at));
    reader->at = end + strlen("]]>");
    return status;
}

static size_t put_utf8(char to[4], uint32_t code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00 >> size) | code);
    return size;
}

/* The number of "#10" or "#xa", or 0 if it is not one that XML allows in a text. */
static uint32_t read_number(const char *text, size_t size)
{
    bool hexadecimal = size > 1 && text[1] == 'x';
    uint32_t value = 0;
    for (size_t i = hexadecimal ? 2 : 1; i < size; i++) {
        char digit = text[i];
        uint32_t number = digit >= '0' && digit <= '9'                  ? (uint32_t)(digit - '0')
                          : hexadecimal && digit >= 'a' && digit <= 'f' ? (uint32_t)(digit - 'a' + 10)
                          : hexadecimal && digit >= 'A' && digit <= 'F' ? (uint32_t)(digit - 'A' + 10)
                                                                        : 99;
        if (number == 99 || value > 0x10ffff)
            return 0;
        value = value * (hexadecimal ? 16 : 10) + number;
    }
    return value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? 0 : value;
}

static int read_entity(struct reader *reader)
{
    static const struct {
        const char *name, *text;
    } entities[] = {{"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
    const char *name = reader->at + 1;
    size_t room = (size_t)(reader->end - name);
    const char *end = memchr(name, ';', room < ENTITY_MAX ? room : ENTITY_MAX);
    if (end == NULL)
        return fail(reader, "not an entity");
    size_t size = (size_t)(end - name);
    char code[4];
    uint32_t number = size > 1 && *name == '#' ? read_number(name, size) : 0;
    int status = number > 0 ? add_text(reader, code, put_utf8(code, number)) : SXT_ERROR_NOT_FOUND;
    for (size_t i = 0; i < sizeof entities / sizeof *entities && status == SXT_ERROR_NOT_FOUND; i++)
        if (size == strlen(entities[i].name) && memcmp(name, entities[i].name, size) == 0)
            status = add_text(reader, entities[i].text, 1);
    if (status == SXT_ERROR_NOT_FOUND)
        return fail(reader, "not an entity");
    reader->at = end + 1;
    return status;
}

static int read_text(struct reader *reader)
{
    const char *end = reader->at;
    while (end < reader->end && *end != '<' && *end != '&')
        end++;
    int status = SXT_OK;
    if (reader->depth > 0)
        status = add_text(reader, reader->at, (size_t)(end - reader->at));
    else
        for (; reader->at < end && status == SXT_OK; reader->at++)
            if (!is_space(*reader->at))
                status = fail(reader, "text outside of the element");
    if (status == SXT_OK)
        reader->at = end;
    return status;
}

/* Reads the name at the reader's place into NAME without its prefix. */
static int read_name(struct reader *reader, char name[SXT_XML_NAME_MAX + 1])
{
    const char *first = reader->at, *last = first;
    for (; last < reader->end && !is_space(*last) && strchr("<>/=\"'&", *last) == NULL; last++)
        if (*last == ':')
            first = last + 1;
    size_t size = (size_t)(last - first);
    if (size == 0 || size > SXT_XML_NAME_MAX)
        return fail(reader, "not the name of an element");
    memcpy(name, first, size);
    name[size] = 0;
    reader->at = last;
    return SXT_OK;
}

/* Moves to the '>' or "/>" of a tag, over attributes, in whose values there may be a '>'. */
static int skip_attributes(struct reader *reader)
{
    while (reader->at < reader->end && *reader->at != '>' && !has(reader, "/>")) {
        char character = *reader->at;
        if (character == '<')
            return fail(reader, "a tag does not end");
        if (character == '"' || character == '\'') {
            const char *end = memchr(reader->at + 1, character, (size_t)(reader->end - reader->at - 1));
            if (end == NULL)
                return fail(reader, "the end is missing");
            reader->at = end;
        }
        reader->at++;
    }
    return reader->at < reader->end ? SXT_OK : fail(reader, "the end is missing");
}

static int close_element(struct reader *reader)
{
    reader->depth--;
    reader->finished = reader->depth == 0;
    int status = reader->visit(reader->data, SXT_XML_CLOSE, reader->depth, reader->names[reader->depth], reader->text);
    reader->text_size = 0;
    *reader->text = 0;
    return status;
}

static int read_closing_tag(struct reader *reader)
{
    char name[SXT_XML_NAME_MAX + 1];
    reader->at += 2;
    int status = read_name(reader, name);
    if (status != SXT_OK)
        return status;
    while (reader->at < reader->end && is_space(*reader->at))
        reader->at++;
    if (reader->at == reader->end || *reader->at != '>')
        return fail(reader, "a tag does not end");
    if (reader->depth == 0 || strcmp(name, reader->names[reader->depth - 1]) != 0)
        return fail(reader, "a closing tag without its opening tag");
    reader->at++;
    return close_element(reader);
}

static int read_opening_tag(struct reader *reader)
{
    if (reader->finished)
        return fail(reader, "more than one element");
    if (reader->depth == SXT_XML_DEPTH_MAX)
        return fail(reader, "the elements are nested too deeply");
    reader->at++;
    int status = read_name(reader, reader->names[reader->depth]);
    if (status == SXT_OK)
        status = skip_attributes(reader);
    if (status != SXT_OK)
        return status;
    bool empty = *reader->at == '/';
    reader->at += empty ? 2 : 1;
    reader->text_size = 0;
    *reader->text = 0;
    status = reader->visit(reader->data, SXT_XML_OPEN, reader->depth, reader->names[reader->depth], "");
    reader->depth++;
    return status == SXT_OK && empty ? close_element(reader) : status;
}

static int read_piece(struct reader *reader)
{
    if (*reader->at == '&' && reader->depth > 0)
        return read_entity(reader);
    if (*reader->at == '&')
        return fail(reader, "text outside of the element");
    if (*reader->at != '<')
        return read_text(reader);
    if (has(reader, "<?"))
        return skip_to(reader, "?>");
    if (has(reader, "<!--"))
        return skip_to(reader, "-->");
    if (has(reader, "<![CDATA["))
        return read_cdata(reader);
    if (has(reader, "<!"))
        return fail(reader, "a document type is not supported");
    return has(reader, "</") ? read_closing_tag(reader) : read_opening_tag(reader);
}
