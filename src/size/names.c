/*
 * names.c: the three names of a symbol, by the kind of its section.
 *
 * The rules are those by which SuperSize normalizes names when it loads a file. SuperSize also writes the results back
 * into the file; here the stored name stays, and the derived ones are made where they are needed.
 */
#include "size/names.h"

#include "base/string.h"

#define PREFIX_WINDOW 30 /* "vtable for " and the like are within this many bytes */

static bool derive(const struct sxt_size_segment *segment, sxt_string stored, bool full_only, struct sxt_buffer *buffer,
                   struct sxt_size_derived_names *out);
static void native_names(char letter, sxt_string stored, bool full_only, struct sxt_size_room *room,
                         struct sxt_size_derived_names *out);
static sxt_string without_clone_suffix(char letter, sxt_string name, uint32_t *flags);
static sxt_string prefix_as_suffix(sxt_string name, const char *word, struct sxt_size_room *room);
static bool is_go_number(sxt_string name, size_t dot);
static bool is_full_name(char letter, sxt_string stored);

bool sxt_size_is_string_literal(sxt_string name)
{
    return sxt_string_begins(name, "\"") || sxt_string_is(name, "string literal");
}

void sxt_size_derive_names(const struct sxt_size_segment *segment, sxt_string stored, struct sxt_buffer *buffer,
                           struct sxt_size_derived_names *out)
{
    if (!derive(segment, stored, false, buffer, out))
        *out = (struct sxt_size_derived_names){stored, stored, stored, 0};
}

sxt_string sxt_size_derive_full_name(const struct sxt_size_segment *segment, sxt_string stored,
                                     struct sxt_buffer *buffer)
{
    struct sxt_size_derived_names names;
    return derive(segment, stored, true, buffer, &names) ? names.full_name : stored;
}

/* Is the name one that no rule takes apart? */
static bool is_atom(const struct sxt_size_segment *segment, sxt_string stored)
{
    return sxt_size_starts(stored, 0, "**") || sxt_size_starts(stored, 0, "Overhead: ") ||
           sxt_size_is_string_literal(stored) || !(segment->is_dex || segment->is_native);
}

/* False when memory is short. */
static bool derive(const struct sxt_size_segment *segment, sxt_string stored, bool full_only, struct sxt_buffer *buffer,
                   struct sxt_size_derived_names *out)
{
    if (stored.data == NULL)
        stored = (sxt_string){"", 0};
    *out = (struct sxt_size_derived_names){stored, stored, stored, 0};
    if (segment->is_pak) {
        size_t space = sxt_size_find_last(stored, stored.size, ' ');
        if (space != SIZE_MAX)
            out->template_name = out->name = sxt_size_slice(stored, space + 1, stored.size);
        return true;
    }
    if (is_atom(segment, stored) || (full_only && segment->is_native && is_full_name(segment->letter, stored)))
        return true;
    sxt_buffer_clear(buffer);
    uint8_t *memory = stored.size > SIZE_MAX / 16 ? NULL : sxt_buffer_reserve(buffer, SXT_SIZE_ROOM(stored.size));
    if (memory == NULL)
        return false;
    struct sxt_size_room room = {(char *)memory};
    if (segment->is_dex)
        sxt_size_java_names(stored, &room, out);
    else
        native_names(segment->letter, stored, full_only, &room, out);
    return true;
}

static void native_names(char letter, sxt_string stored, bool full_only, struct sxt_size_room *room,
                         struct sxt_size_derived_names *out)
{
    static const char anonymous[] = "(anonymous namespace)::";
    sxt_string name = without_clone_suffix(letter, stored, &out->flags);
    name = prefix_as_suffix(name, " for ", room);
    name = prefix_as_suffix(name, " to ", room);
    sxt_size_signature_names(name, full_only, room, out);
    out->full_name = sxt_size_without(room, out->full_name, anonymous);
    if (full_only)
        return;
    size_t size = out->name.size;
    out->template_name = sxt_size_without(room, out->template_name, anonymous);
    out->name = sxt_size_without(room, out->name, anonymous);
    if (out->name.size != size)
        out->flags |= SXT_SIZE_ANONYMOUS;
}

static size_t without_digits(sxt_string name, size_t end)
{
    while (end > 0 && sxt_size_is_digit(name.data[end - 1]))
        end--;
    return end;
}

/* Where the identifier that ends before END begins. */
static size_t identifier_before(sxt_string name, size_t end)
{
    while (end > 0 && sxt_size_is_word(name.data[end - 1]))
        end--;
    return end;
}

/* "f(int) [clone .part.1]" and, of C functions, "f.part.1" and "f.2": all are f. */
static sxt_string without_clone_suffix(char letter, sxt_string name, uint32_t *flags)
{
    size_t clone = sxt_size_find(name, 1, "[clone ");
    while (clone != SIZE_MAX && name.data[clone - 1] != ' ')
        clone = sxt_size_find(name, clone + 1, "[clone ");
    if (clone != SIZE_MAX) {
        name.size = clone - 1;
        *flags |= SXT_SIZE_CLONE;
    }
    size_t dot = without_digits(name, name.size);
    if (letter != 't' || dot == name.size || dot == 0 || name.data[dot - 1] != '.')
        return name;
    dot--;
    sxt_string without = sxt_size_slice(name, 0, dot);
    /* Numbered by the compiler, but not clones. */
    if ((dot == 7 && sxt_size_starts(without, 0, "__tcf_0")) || (dot == 7 && sxt_size_starts(without, 0, "startup")) ||
        is_go_number(name, dot))
        return name;
    *flags |= SXT_SIZE_CLONE;
    /* The word for the kind of clone: .part, .isra, .constprop, ... A local label ".L.str" keeps its word. */
    size_t word = identifier_before(without, dot);
    bool is_label = word == 1 || sxt_size_find_last(without, word > 0 ? word - 1 : 0, '.') == 0;
    if (word > 0 && word < dot && without.data[word - 1] == '.' && !is_label)
        without.size = word - 1;
    return without;
}

/* Does the number after the dot belong to a closure or an init function of Go: "main.main.func1.2", "main.init.0"? */
static bool is_go_number(sxt_string name, size_t dot)
{
    size_t begin = identifier_before(name, dot);
    while (begin > 0 && begin < dot && without_digits(name, dot) == begin && name.data[begin - 1] == '.') {
        dot = begin - 1;
        begin = identifier_before(name, dot);
    }
    static const char *const words[] = {"func", "gowrap", "deferwrap"};
    sxt_string word = sxt_size_slice(name, begin, dot);
    if (begin == 0 || name.data[begin - 1] != '.')
        return false;
    if (word.size == 4 && sxt_size_starts(word, 0, "init"))
        return true;
    size_t letters = without_digits(word, word.size);
    for (size_t i = 0; letters < word.size && i < sizeof words / sizeof *words; i++)
        if (letters == strlen(words[i]) && sxt_size_starts(word, 0, words[i]))
            return true;
    return false;
}

/* "vtable for X" is "X [vtable]". Words inside brackets are a part of a name ("<impl A for B>::f"). */
static sxt_string prefix_as_suffix(sxt_string name, const char *word, struct sxt_size_room *room)
{
    sxt_string window = {name.data, name.size < PREFIX_WINDOW ? name.size : PREFIX_WINDOW};
    size_t at = sxt_size_find(window, 0, word);
    if (at == SIZE_MAX)
        return name;
    for (size_t i = 0; i < at; i++)
        if (memchr("<({[", name.data[i], 4) != NULL)
            return name;
    sxt_string parts[] = {
        sxt_size_slice(name, at + strlen(word), name.size), {" [", 2}, sxt_size_slice(name, 0, at), {"]", 1}};
    return sxt_size_join(room, parts, 4);
}

/* May the space inside brackets, or after the parameters, be one that a rule looks for? */
static bool is_space_of_rule(sxt_string stored, size_t at)
{
    char next = at + 1 < stored.size ? stored.data[at + 1] : 0;
    return next == '[' || (next == 'n' && at >= 10 && memcmp(stored.data + at - 10, "(anonymous", 10) == 0);
}

/*
 * A quick answer for most names: true if the derived full name is certainly the stored one. A clone's suffix, a prefix,
 * a return type, an anonymous namespace or a lambda would change it.
 */
static bool is_full_name(char letter, sxt_string stored)
{
    static const bool is_special[256] = {
        ['('] = 1, [')'] = 1, ['<'] = 1, ['>'] = 1, [' '] = 1, ['{'] = 1, ['['] = 1, ['$'] = 1, ['\''] = 1, ['o'] = 1};
    size_t digits = without_digits(stored, letter == 't' ? stored.size : 0);
    if (digits > 0 && digits < stored.size && stored.data[digits - 1] == '.')
        return false;
    size_t at, angles = 0, parentheses = 0;
    for (at = 0; at < stored.size; at++) {
        char byte = stored.data[at];
        if (!is_special[(uint8_t)byte])
            continue;
        if (byte == '(' && angles == 0 && parentheses == 0)
            break;
        if (byte == 'o'   ? sxt_size_starts(stored, at, "operator")
            : byte == ' ' ? angles + parentheses == 0 || is_space_of_rule(stored, at)
            : byte == '>' ? angles == 0 || parentheses > 0 || stored.data[at - 1] == '-'
            : byte == ')' ? parentheses == 0
            : byte == '<' ? parentheses > 0
                          : byte != '(')
            return false;
        angles += (size_t)(byte == '<') - (size_t)(byte == '>');
        parentheses += (size_t)(byte == '(') - (size_t)(byte == ')');
    }
    if (at == stored.size)
        return true;
    struct sxt_size_scan scan = {.text = stored, .at = at};
    if (!sxt_size_scan_is_parameters(&scan))
        return false;
    for (at = sxt_size_find(stored, at, " "); at != SIZE_MAX; at = sxt_size_find(stored, at + 1, " "))
        if (is_space_of_rule(stored, at))
            return false;
    return true;
}

sxt_string sxt_size_join(struct sxt_size_room *room, const sxt_string *parts, size_t count)
{
    sxt_string result = {room->next, 0};
    for (size_t i = 0; i < count; i++) {
        memcpy(room->next, parts[i].data, parts[i].size);
        room->next += parts[i].size;
        result.size += parts[i].size;
    }
    return result;
}

sxt_string sxt_size_without(struct sxt_size_room *room, sxt_string text, const char *word)
{
    size_t found = sxt_size_find(text, 0, word);
    if (found == SIZE_MAX)
        return text;
    sxt_string result = {room->next, 0};
    size_t copied = 0;
    for (; found != SIZE_MAX; found = sxt_size_find(text, copied, word)) {
        sxt_string part = sxt_size_slice(text, copied, found);
        result.size += sxt_size_join(room, &part, 1).size;
        copied = found + strlen(word);
    }
    sxt_string rest = sxt_size_slice(text, copied, text.size);
    result.size += sxt_size_join(room, &rest, 1).size;
    return result;
}
