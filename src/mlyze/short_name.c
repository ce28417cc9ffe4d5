/*
 * short_name.c: names of functions as people read them: without template arguments, return type and long parameters.
 *
 *     void std::__cxx11::basic_string<char, std::char_traits<char> >::_M_construct<char*>(char*, char*, std::tag)
 *     std::basic_string<>::_M_construct<>(...)
 *
 * A result is never longer than the name. Every step is one pass over the name, whatever it contains.
 */
#include <string.h>

#include "base/string.h"
#include "mlyze/analysis.h"

#define PARAMETERS_MOST 32 /* bytes of a parameter list that is shown */

static bool is_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_' || letter == '$' || (unsigned char)letter >= 0x80;
}

static bool begins_at(sxt_string text, size_t at, const char *word)
{
    return sxt_string_begins((sxt_string){text.data + at, text.size - at}, word);
}

/* The bytes of the word "operator" and the symbol after it at AT, such as "operator<<"; 0 if there is none. */
static size_t operator_at(sxt_string name, size_t at)
{
    static const char *const symbols[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "<", ">"};
    if (!begins_at(name, at, "operator") || (at > 0 && is_letter(name.data[at - 1])))
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (begins_at(name, at + 8, symbols[i]))
            return 8 + strlen(symbols[i]);
    size_t size = 8;
    while (at + size < name.size && strchr("+-*/%^&|~!=,[]", name.data[at + size]) != NULL && name.data[at + size] != 0)
        size++;
    return at + size < name.size && size == 8 && is_letter(name.data[at + 8]) ? 0 : size;
}

/* After the ">" that belongs to the "<" at AT; 0 if there is none. What is in parentheses has its own brackets. */
static size_t end_of_arguments(sxt_string name, size_t at)
{
    size_t depth = 0, inner = 0;
    while (at < name.size) {
        size_t skipped = operator_at(name, at);
        if (skipped > 0) {
            at += skipped;
            continue;
        }
        char letter = name.data[at++];
        if (strchr("([{", letter) != NULL && letter != 0)
            inner++;
        else if (strchr(")]}", letter) != NULL && letter != 0 && inner > 0)
            inner--;
        else if (letter == '<' && inner == 0)
            depth++;
        else if (letter == '>' && inner == 0 && (at < 2 || name.data[at - 2] != '-') && --depth == 0)
            return at;
    }
    return 0;
}

/*
 * Whether the "<" at AT begins arguments. Others begin a path of Rust (<T as Trait>::f) or a name (<lambda(int)>).
 * OPERATOR_END is the end of the last operator: "operator<< <char>" and "operator+<char>" have arguments.
 */
static bool begins_arguments(sxt_string name, size_t at, size_t operator_end)
{
    static const char *const names[] = {"<lambda", "<unnamed", "<anonymous", "<impl "};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins_at(name, at, names[i]))
            return false;
    if (operator_end > 0 && (at == operator_end || (at == operator_end + 1 && name.data[at - 1] == ' ')))
        return true;
    return at > 0 && (is_letter(name.data[at - 1]) || strchr(":>)]}", name.data[at - 1]) != NULL);
}

/* The bytes of an inline namespace at AT, which is not part of the name in the source; 0 if there is none. */
static size_t inline_namespace_at(sxt_string name, size_t at)
{
    static const char *const names[] = {"__cxx11::", "__1::", "__ndk1::", "_V2::", "__debug::"};
    if (at < 2 || name.data[at - 1] != ':')
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins_at(name, at, names[i]))
            return strlen(names[i]);
    return 0;
}

/* Writes NAME without template arguments. */
static size_t fold_arguments(sxt_string name, char *out)
{
    size_t size = 0, operator_end = 0;
    bool is_balanced = true;
    for (size_t at = 0; at < name.size;) {
        size_t end = 0, kept = operator_at(name, at);
        if (kept > 0)
            operator_end = at + kept;
        at += inline_namespace_at(name, at);
        if (at < name.size && name.data[at] == '<' && is_balanced && begins_arguments(name, at, operator_end)) {
            end = end_of_arguments(name, at);
            is_balanced = end > 0;
        }
        if (end > 0) {
            out[size++] = '<';
            out[size++] = '>';
            at = end;
            continue;
        }
        for (kept = kept > 0 ? kept : 1; kept > 0 && at < name.size; kept--)
            out[size++] = name.data[at++];
    }
    return size;
}

/* Where the parameters of a function begin: the last "(" outside of all brackets. SIZE if there are none. */
static size_t find_parameters(const char *name, size_t size)
{
    size_t depth = 0, found = size;
    for (size_t at = 0; at < size; at++) {
        size_t skipped = operator_at((sxt_string){name, size}, at);
        at += skipped;
        if (at >= size)
            break;
        if (name[at] == '(' && depth == 0)
            found = at;
        if (strchr("([{<", name[at]) != NULL && name[at] != 0)
            depth++;
        else if (strchr(")]}>", name[at]) != NULL && name[at] != 0 && depth > 0)
            depth--;
    }
    return found;
}

/* Where the name begins after its return type: after the last space outside of all brackets that is before END. */
static size_t find_name(const char *name, size_t end)
{
    size_t depth = 0, found = 0;
    for (size_t at = 0; at < end; at++) {
        if (operator_at((sxt_string){name, end}, at) > 0)
            break;
        if (name[at] == ' ' && depth == 0)
            found = at + 1;
        if (strchr("([{<", name[at]) != NULL && name[at] != 0)
            depth++;
        else if (strchr(")]}>", name[at]) != NULL && name[at] != 0 && depth > 0)
            depth--;
    }
    return found;
}

size_t sxt_trace_shorten_name(sxt_string name, char *out)
{
    size_t size = fold_arguments(name, out);
    size_t parameters = find_parameters(out, size);
    if (parameters == size || parameters == 0)
        return size;
    size_t start = find_name(out, parameters);
    size_t end = parameters;
    for (size_t depth = 0; end < size; end++) {
        depth += out[end] == '(';
        if (out[end] == ')' && --depth == 0)
            break;
    }
    if (start >= parameters || end == size)
        return size;
    if (end - parameters + 1 > PARAMETERS_MOST) {
        memcpy(out + parameters + 1, "...", 3);
        memmove(out + parameters + 4, out + end, size - end);
        size -= end - parameters - 4;
    }
    memmove(out, out + start, size - start);
    return size - start;
}
