/* size_names.c: the short name and the namespace of a symbol by the simple rule; web/src/size/names.ts is the same. */
#include <string.h>

#include "base/string.h"
#include "report/size_labels.h"

#define ANONYMOUS     "(anonymous namespace)::"
#define PREFIX_WINDOW 30

static bool starts(sxt_string text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return text.size - at >= size && memcmp(text.data + at, word, size) == 0;
}

static bool ends(const struct sxt_buffer *text, const char *word)
{
    size_t size = strlen(word);
    return text->size >= size && memcmp(text->data + text->size - size, word, size) == 0;
}

static sxt_string content(const struct sxt_buffer *buffer)
{
    return (sxt_string){(const char *)buffer->data, buffer->size};
}

/* "vtable for X" is "X [vtable]". ROOM has the result if it is another text. */
static sxt_string prefix_as_suffix(sxt_string name, const char *word, struct sxt_buffer *room)
{
    for (size_t at = 0; at + strlen(word) <= PREFIX_WINDOW && at < name.size; at++) {
        if (memchr("<({[", name.data[at], 4) != NULL)
            return name;
        if (!starts(name, at, word))
            continue;
        size_t after = at + strlen(word);
        sxt_buffer_clear(room);
        sxt_buffer_append(room, name.data + after, name.size - after);
        sxt_buffer_append(room, " [", 2);
        sxt_buffer_append(room, name.data, at);
        sxt_buffer_append(room, "]", 1);
        return content(room);
    }
    return name;
}

/* Where "()", "<", "<<", "<=" or "<=>" at AT ends. */
static size_t end_of_operator(sxt_string name, size_t at)
{
    if (name.data[at] == '(')
        return starts(name, at, "()") ? at + 2 : at + 1;
    if (starts(name, at, "<=>"))
        return at + 3;
    return starts(name, at, "<<") || starts(name, at, "<=") ? at + 2 : at + 1;
}

/* What is after the last ')'. */
static sxt_string after_parameters(sxt_string name)
{
    const char *end = memrchr(name.data, ')', name.size);
    const char *from = end != NULL ? end + 1 : name.data;
    return (sxt_string){from, name.size - (size_t)(from - name.data)};
}

/* Removes the return type, which is what is before SPACE, and adds what is after the parameters. */
static void finish(struct sxt_buffer *out, size_t space, sxt_string rest)
{
    if (space > 0)
        memmove(out->data, out->data + space, out->size - space);
    out->size -= space;
    sxt_buffer_append(out, rest.data, rest.size);
}

static void strip(sxt_string name, struct sxt_buffer *out)
{
    size_t depth = 0, space = 0;
    bool is_operator = false;
    sxt_buffer_clear(out);
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (c == '(' && starts(name, i, ANONYMOUS)) {
            i += strlen(ANONYMOUS) - 1;
            continue;
        }
        if (depth == 0 && (c == '(' || c == '<') && ends(out, "operator")) {
            size_t end = end_of_operator(name, i);
            sxt_buffer_append(out, name.data + i, end - i);
            i = end - 1;
            continue;
        }
        if (c == '(' && depth == 0 && i > 0) {
            finish(out, space, after_parameters(name));
            return;
        }
        if (c == '[' && depth == 0 && starts(name, i, "[abi:")) {
            const char *end = memchr(name.data + i, ']', name.size - i);
            if (end != NULL) {
                i = (size_t)(end - name.data);
                continue;
            }
        }
        if (c == '>' && depth > 0 && name.data[i - 1] != '-')
            depth--;
        if (depth == 0) {
            sxt_buffer_u8(out, (uint8_t)c);
            is_operator = is_operator || (c == 'r' && ends(out, "operator"));
            if (c == ' ' && !is_operator)
                space = out->size;
        }
        if (c == '<')
            depth++;
    }
}

sxt_string sxt_page_short_name(sxt_string stored, struct sxt_page_name_room *room)
{
    sxt_string name = prefix_as_suffix(stored, " for ", &room->first);
    strip(prefix_as_suffix(name, " to ", &room->second), &room->out);
    return content(&room->out);
}

sxt_string sxt_page_namespace(sxt_string short_name)
{
    size_t end = 0, open = 0;
    for (size_t i = 0; i < short_name.size; i++) {
        char c = short_name.data[i];
        if (memchr("<({[", c, 4) != NULL)
            open++;
        else if (open > 0 && memchr(">)}]", c, 4) != NULL)
            open--;
        else if (c == ':' && open == 0 && starts(short_name, i, "::"))
            end = i++;
    }
    return (sxt_string){short_name.data, end};
}
