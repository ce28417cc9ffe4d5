/* match_name.c: whether a readable name is the one that a user asked for. */
#include "archive/match_name.h"

#include "base/string.h"

static bool starts_with(sxt_string text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return text.size - at >= size && memcmp(text.data + at, word, size) == 0;
}

/* Where the template arguments end that begin at AT; AT if they do not end. */
static size_t after_arguments(sxt_string name, size_t at)
{
    size_t nesting = 0;
    for (size_t i = at; i < name.size; i++) {
        char c = name.data[i];
        if (c == '<' || c == '(')
            nesting++;
        else if (c == ')' || (c == '>' && (i == 0 || name.data[i - 1] != '-')))
            nesting--;
        if (nesting == 0)
            return i + 1;
    }
    return at;
}

/* Where the scope continues after the parameters at AT of a function around a class: "f(int) const::{lambda()#1}". */
static size_t after_parameters(sxt_string name, size_t at)
{
    size_t after = after_arguments(name, at);
    if (starts_with(name, after, " const"))
        after += strlen(" const");
    return starts_with(name, after, "::") ? after : at;
}

/*
 * Where in NAME the text from AT ends that is WANTED, leaving out template arguments, and parameters of functions
 * around a class, that WANTED does not have; 0 if it is something else.
 */
static size_t end_of_match(sxt_string name, size_t at, sxt_string wanted)
{
    size_t i = at;
    for (size_t k = 0; k < wanted.size;) {
        if (i < name.size && name.data[i] == wanted.data[k]) {
            i++;
            k++;
            continue;
        }
        size_t after = i;
        if (i < name.size && i > at && name.data[i] == '<')
            after = after_arguments(name, i);
        else if (i < name.size && i > at && name.data[i] == '(' && wanted.data[k] == ':')
            after = after_parameters(name, i);
        if (after == i)
            return 0;
        i = after;
    }
    return i;
}

/* A cold part is not the function, but code that was moved out of it. */
static enum sxt_name_match match_suffix(sxt_string name, size_t at)
{
    for (; at < name.size; at++)
        if (starts_with(name, at, ".cold"))
            return SXT_NAME_DIFFERS;
    return SXT_NAME_CLONE;
}

/* What follows the wanted name: parameters, template arguments, an ABI tag, a suffix of a clone, or nothing. */
static enum sxt_name_match match_rest(sxt_string name, size_t at)
{
    bool is_clone = name.data[name.size - 1] == ']';
    if (at == name.size)
        return SXT_NAME_FITS;
    if (name.data[at] == '.')
        return match_suffix(name, at); /* names that are not mangled: f.constprop.0 */
    if (starts_with(name, at, "[abi:")) {
        while (at < name.size && name.data[at] != ']')
            at++;
        at += at < name.size;
    }
    if (at < name.size && name.data[at] == '<')
        at = after_arguments(name, at);
    if (at == name.size)
        return SXT_NAME_FITS;
    if (name.data[at] != '(' && !starts_with(name, at, " [clone "))
        return SXT_NAME_DIFFERS;
    if (name.data[at] == '(' && after_parameters(name, at) != at)
        return SXT_NAME_DIFFERS; /* a class in the function */
    for (size_t i = at; is_clone && i < name.size; i++)
        if (starts_with(name, i, " [clone "))
            return match_suffix(name, i);
    return SXT_NAME_FITS;
}

/* Whether the wanted name can begin at AT: at the start, or after a return type. */
static bool can_begin(sxt_string name, size_t at)
{
    char before = at > 0 ? name.data[at - 1] : ' ';
    return before == ' ' || before == '*' || before == '&';
}

enum sxt_name_match sxt_match_name(sxt_string name, sxt_string wanted)
{
    if (sxt_string_equal(name, wanted))
        return SXT_NAME_FITS;
    if (wanted.size == 0 || name.size <= wanted.size)
        return SXT_NAME_DIFFERS;
    /* "operator" alone is part of a name; its parentheses are not parameters. */
    bool is_operator = wanted.size >= 8 && memcmp(wanted.data + wanted.size - 8, "operator", 8) == 0;
    size_t nesting = 0;
    enum sxt_name_match best = SXT_NAME_DIFFERS;
    for (size_t at = 0; at + wanted.size <= name.size && best != SXT_NAME_FITS && !is_operator; at++) {
        char c = name.data[at];
        if (nesting == 0 && c == wanted.data[0] && can_begin(name, at)) {
            size_t end = end_of_match(name, at, wanted);
            enum sxt_name_match match = end > 0 ? match_rest(name, end) : SXT_NAME_DIFFERS;
            best = match > best ? match : best;
        }
        /* Names in parameters and template arguments are other names; "(anonymous namespace)" is not a parameter. */
        if (starts_with(name, at, "(anonymous namespace)"))
            at += strlen("(anonymous namespace)") - 1;
        else if (c == '<' || (c == '(' && !starts_with(name, at, "(*") && !starts_with(name, at, "(&")))
            nesting++;
        else if (nesting > 0 && (c == ')' || c == '>'))
            nesting--;
    }
    return best;
}
