/*
 * itanium.c: the common C++ names, decoded into the same text as libiberty in a quarter of its time.
 *
 *     _ZN 1A 1f I i E E  v  RK T_
 *         └─prefix─┘args   └─types─┘       void A::f<int>(int const&)
 *
 * The decoder knows names, template arguments that are types or numbers, packs of them, substitutions, constructors,
 * operators, ABI tags, thunks, tables of a class, clones, and the types that are written after their subject (pointers,
 * references, const). It gives up on everything else: local names, lambdas, expressions, pointers to functions and
 * members, arrays, Rust. libiberty decodes those. Rules that libiberty has beyond the specification are followed, or
 * given up on.
 */
#include "demangle/itanium.h"

#include <limits.h>

#include "base/search.h"
#include "demangle/itanium_parser.h"

#define LIBIBERTY_BUFFER 250 /* bytes; a few less than it has */

/* The text between `start` and `end` in the order in which it is written: what comes first, the name, the rest. */
struct layout {
    unsigned name, returned, rest; /* where the name, what the function returns, and the rest begin */
};

static bool parse_special(struct itanium_parser *parser, struct layout *layout);
static bool parse_function(struct itanium_parser *parser, struct layout *layout);
static bool append_clones(struct itanium_parser *parser);

bool sxt_itanium_demangle(const char *name, size_t size, struct sxt_buffer *out)
{
    if (size < 4 || size > ITANIUM_TEXT_MAX || name[0] != '_' || name[1] != 'Z')
        return false;
    struct itanium_parser parser;
    memset(&parser, 0, offsetof(struct itanium_parser, substitutions));
    parser.at = name + 2;
    parser.end = name + size;
    parser.removed_at = UINT_MAX;
    struct layout layout = {0};
    bool fine = name[2] == 'T' || name[2] == 'G' ? parse_special(&parser, &layout) : parse_function(&parser, &layout);
    if (!fine || !append_clones(&parser) || parser.overflowed)
        return false;
    /* libiberty does not remove a comma that is at the end of its buffer. */
    if (parser.removed > 0 && parser.size + parser.removed >= LIBIBERTY_BUFFER)
        return false;
    /* What the function returns goes before the name, with a space. */
    unsigned returned = layout.rest - layout.returned, named = layout.returned - layout.name;
    uint8_t *to = sxt_buffer_extend(out, parser.size + (returned > 0));
    if (to == NULL)
        return true;
    memcpy(to, parser.text, layout.name);
    to += layout.name;
    if (returned > 0) {
        memcpy(to, parser.text + layout.returned, returned);
        to += returned;
        *to++ = ' ';
    }
    memcpy(to, parser.text + layout.name, named);
    memcpy(to + named, parser.text + layout.rest, parser.size - layout.rest);
    return true;
}

/* A number, which may be negative, and an underscore. */
static bool skip_offset(struct itanium_parser *parser)
{
    parser->at += itanium_peek(parser) == 'n';
    const char *digits = parser->at;
    while (itanium_is_digit(itanium_peek(parser)))
        parser->at++;
    /* libiberty fails on numbers that do not fit in an int. */
    if (parser->at == digits || parser->at - digits > 9 || itanium_peek(parser) != '_')
        return false;
    parser->at++;
    return true;
}

/* Tables of a class, and functions that adjust a pointer before they call another one. */
static bool parse_special(struct itanium_parser *parser, struct layout *layout)
{
    static const struct {
        char code[3];
        const char *text;
    } types[] = {{"TV", "vtable for "}, {"TT", "VTT for "}, {"TI", "typeinfo for "}, {"TS", "typeinfo name for "}};
    const char *code = parser->at;
    parser->at += 2;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (memcmp(code, types[i].code, 2) == 0) {
            itanium_append(parser, types[i].text, strlen(types[i].text));
            return sxt_itanium_type(parser).kind != ITANIUM_GAVE_UP;
        }
    if (memcmp(code, "GV", 2) == 0) {
        itanium_append(parser, "guard variable for ", 19);
        return sxt_itanium_name(parser, NULL) != ITANIUM_GAVE_UP;
    }
    bool is_virtual = memcmp(code, "Tv", 2) == 0;
    if (!is_virtual && memcmp(code, "Th", 2) != 0)
        return false;
    if (!skip_offset(parser) || (is_virtual && !skip_offset(parser)))
        return false;
    itanium_append(parser, is_virtual ? "virtual thunk to " : "non-virtual thunk to ", is_virtual ? 17 : 21);
    layout->name = parser->size;
    return parse_function(parser, layout);
}

/* A function with the types of its parameters, or a variable. */
static bool parse_function(struct itanium_parser *parser, struct layout *layout)
{
    struct itanium_function function = {0};
    if (sxt_itanium_name(parser, &function) == ITANIUM_GAVE_UP)
        return false;
    layout->returned = layout->rest = parser->size;
    if (parser->at == parser->end)
        return !function.is_const;
    parser->in_signature = true;
    if (!function.is_template)
        parser->argument_count = 0;
    if (function.is_template && !function.is_constructor) {
        struct itanium_part returned = sxt_itanium_type(parser);
        if (returned.kind == ITANIUM_GAVE_UP || returned.kind == ITANIUM_EXPANSION)
            return false;
        layout->rest = parser->size;
    }
    itanium_append_char(parser, '(');
    if (!sxt_itanium_parameters(parser))
        return false;
    itanium_append_char(parser, ')');
    if (function.is_const)
        itanium_append(parser, " const", 6);
    return true;
}

static bool begins_clone(char c)
{
    return itanium_is_lower(c) || itanium_is_digit(c) || c == '_';
}

/* The suffixes of copies that the compiler made: ".isra.0.cold" is two of them. False if anything else is left. */
static bool append_clones(struct itanium_parser *parser)
{
    while (itanium_peek(parser) == '.' && begins_clone(itanium_peek_next(parser))) {
        const char *suffix = parser->at++;
        while (begins_clone(itanium_peek(parser)))
            parser->at++;
        while (itanium_peek(parser) == '.' && itanium_is_digit(itanium_peek_next(parser)))
            for (parser->at++; itanium_is_digit(itanium_peek(parser));)
                parser->at++;
        itanium_append(parser, " [clone ", 8);
        itanium_append(parser, suffix, (size_t)(parser->at - suffix));
        itanium_append_char(parser, ']');
    }
    return parser->at == parser->end;
}

/* --- names --- */

static const struct itanium_part gave_up = {.kind = ITANIUM_GAVE_UP};

/* The name of a class, whose constructor may follow; the size is 0 if there is none. */
struct class_name {
    unsigned start, size;
};

static bool append_source_name(struct itanium_parser *parser)
{
    const char *at = parser->at, *const end = parser->end;
    size_t size = 0;
    for (; at < end && itanium_is_digit(*at) && size < ITANIUM_TEXT_MAX; at++)
        size = size * 10 + (size_t)(*at - '0');
    size_t left = (size_t)(end - at);
    /* The last part of a Rust name is a hash of 17 letters. */
    if (size == 0 || size > left || *parser->at == '0' || (size == 17 && at[0] == 'h'))
        return false;
    parser->at = at + size;
    if (at[0] == '_' && size >= 10 && memcmp(at, "_GLOBAL_", 8) == 0 &&
        (at[8] == '_' || at[8] == '.' || at[8] == '$') && at[9] == 'N')
        itanium_append(parser, "(anonymous namespace)", 21);
    else if (left >= ITANIUM_BLOCK)
        itanium_append_block(parser, at, size);
    else
        itanium_append(parser, at, size);
    return true;
}

static bool append_operator(struct itanium_parser *parser)
{
    static const struct {
        char code[3], text[9];
    } operators[] = {
        {"aN", "&="}, {"aS", "="},   {"aa", "&&"},  {"ad", "&"},        {"an", "&"},     {"cl", "()"},
        {"cm", ","},  {"co", "~"},   {"dV", "/="},  {"da", "delete[]"}, {"de", "*"},     {"dl", "delete"},
        {"dv", "/"},  {"eO", "^="},  {"eo", "^"},   {"eq", "=="},       {"ge", ">="},    {"gt", ">"},
        {"ix", "[]"}, {"lS", "<<="}, {"le", "<="},  {"ls", "<<"},       {"lt", "<"},     {"mI", "-="},
        {"mL", "*="}, {"mi", "-"},   {"ml", "*"},   {"mm", "--"},       {"na", "new[]"}, {"ne", "!="},
        {"ng", "-"},  {"nt", "!"},   {"nw", "new"}, {"oR", "|="},       {"oo", "||"},    {"or", "|"},
        {"pL", "+="}, {"pl", "+"},   {"pm", "->*"}, {"pp", "++"},       {"ps", "+"},     {"pt", "->"},
        {"rM", "%="}, {"rS", ">>="}, {"rm", "%"},   {"rs", ">>"},
    };
    const size_t count = sizeof operators / sizeof *operators;
    struct sxt_bisection search = {.high = count};
    while (sxt_bisect(&search))
        sxt_bisect_after(&search, memcmp(operators[search.middle].code, parser->at, 2) < 0);
    if (search.low == count || memcmp(operators[search.low].code, parser->at, 2) != 0)
        return false;
    const char *text = operators[search.low].text;
    parser->at += 2;
    itanium_append(parser, "operator ", itanium_is_lower(text[0]) ? 9 : 8);
    itanium_append(parser, text, strlen(text));
    return true;
}

/* Tags of the ABI, as in "name[abi:cxx11]". */
static bool append_tags(struct itanium_parser *parser)
{
    while (itanium_peek(parser) == 'B') {
        parser->at++;
        itanium_append(parser, "[abi:", 5);
        if (!append_source_name(parser))
            return false;
        itanium_append_char(parser, ']');
    }
    return true;
}

/* *CLASS is the name before it, whose constructor it may be, and becomes the name that is parsed. */
static enum itanium_kind parse_unqualified_name(struct itanium_parser *parser, struct class_name *class)
{
    char first = itanium_peek(parser), second = itanium_peek_next(parser);
    bool is_internal = first == 'L' && itanium_is_digit(second);
    struct class_name of = *class;
    enum itanium_kind kind = ITANIUM_GAVE_UP;
    if (itanium_is_digit(first) || is_internal) {
        class->start = parser->size;
        parser->at += is_internal;
        if (!append_source_name(parser) || (is_internal && itanium_peek(parser) == '_'))
            return ITANIUM_GAVE_UP;
        class->size = parser->size - class->start;
        return itanium_peek(parser) != 'B' || append_tags(parser) ? ITANIUM_NAME : ITANIUM_GAVE_UP;
    }
    if (itanium_is_lower(first) && second != 0) {
        kind = append_operator(parser) ? ITANIUM_OPERATOR : ITANIUM_GAVE_UP;
    } else if (of.size > 0 &&
               ((first == 'C' && second >= '1' && second <= '3') || (first == 'D' && second >= '0' && second <= '2'))) {
        parser->at += 2;
        if (first == 'D')
            itanium_append_char(parser, '~');
        itanium_append(parser, parser->text + of.start, of.size);
        kind = ITANIUM_CONSTRUCTOR;
    }
    return itanium_peek(parser) == 'B' ? ITANIUM_GAVE_UP : kind;
}

static struct itanium_part append_abbreviation(struct itanium_parser *parser, bool prefix)
{
    static const struct {
        char code, size, text[18];
    } standard[] = {{'a', 14, "std::allocator"}, {'b', 17, "std::basic_string"}, {'s', 11, "std::string"},
                    {'i', 12, "std::istream"},   {'o', 12, "std::ostream"},      {'d', 13, "std::iostream"}};
    char code = itanium_peek_next(parser);
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++) {
        if (code != standard[i].code)
            continue;
        parser->at += 2;
        char after = itanium_peek(parser);
        if (after == 'B' || (prefix && (after == 'C' || after == 'D')))
            break;
        itanium_append_block(parser, standard[i].text, (size_t)standard[i].size);
        return (struct itanium_part){.kind = ITANIUM_STANDARD};
    }
    return gave_up;
}

struct itanium_part sxt_itanium_substitution(struct itanium_parser *parser, bool prefix)
{
    char next = itanium_peek_next(parser);
    if (next != '_' && !itanium_is_digit(next) && !itanium_is_upper(next))
        return append_abbreviation(parser, prefix);
    /* In base 36; S_ comes before S0_. */
    size_t index = next == '_' ? 0 : 1, digits = 0;
    const char *at = parser->at + 1;
    for (; at < parser->end && (itanium_is_digit(*at) || itanium_is_upper(*at)); at++) {
        digits = digits * 36 + (size_t)(itanium_is_digit(*at) ? *at - '0' : *at - 'A' + 10);
        if (digits > ITANIUM_SUBSTITUTIONS_MAX)
            return gave_up;
    }
    index += digits;
    if (at == parser->end || *at != '_' || index >= parser->substitution_count)
        return gave_up;
    parser->at = at + 1;
    const struct itanium_part *part = &parser->substitutions[index];
    if (part->kind == ITANIUM_EXPANSION)
        return gave_up;
    itanium_repeat(parser, part);
    return *part;
}

/* The start of a nested name that is not a name: std, or what was there before. */
static bool parse_scope(struct itanium_parser *parser)
{
    if (itanium_peek_next(parser) != 't') {
        struct itanium_part part = sxt_itanium_substitution(parser, true);
        return itanium_is_name((enum itanium_kind)part.kind) && !part.is_parameter;
    }
    parser->at += 2;
    itanium_append(parser, "std", 3);
    return true;
}

/* The part of a nested name after N and K, up to and with E. */
static enum itanium_kind parse_prefix(struct itanium_parser *parser, struct itanium_function *function)
{
    const struct itanium_part whole = {.start = (uint16_t)parser->size, .kind = ITANIUM_NAME};
    struct class_name class = {0, 0};
    enum itanium_kind part = ITANIUM_GAVE_UP; /* the last one */
    bool has_arguments = false;               /* template arguments are the last part */
    bool is_empty = itanium_peek(parser) != 'S';
    if (!is_empty && !parse_scope(parser))
        return ITANIUM_GAVE_UP;
    /* std or a substitution alone is not a name. */
    char first = itanium_peek(parser);
    do {
        has_arguments = first == 'I' && !is_empty;
        if (has_arguments) {
            if (!sxt_itanium_arguments(parser, function != NULL))
                return ITANIUM_GAVE_UP;
        } else {
            /* Only template arguments may follow an operator or a constructor. */
            if (part == ITANIUM_OPERATOR || part == ITANIUM_CONSTRUCTOR)
                return ITANIUM_GAVE_UP;
            if (!is_empty)
                itanium_append(parser, "::", 2);
            part = parse_unqualified_name(parser, &class);
            if (part == ITANIUM_GAVE_UP || (is_empty && part != ITANIUM_NAME))
                return ITANIUM_GAVE_UP;
        }
        is_empty = false;
        first = itanium_peek(parser);
        if (first != 'E' && !itanium_substitute_later(parser, whole))
            return ITANIUM_GAVE_UP;
    } while (first != 'E');
    parser->at++;
    if (function != NULL) {
        function->is_template = has_arguments;
        function->is_constructor = part == ITANIUM_CONSTRUCTOR;
    }
    return ITANIUM_NAME;
}

static enum itanium_kind parse_nested_name(struct itanium_parser *parser, struct itanium_function *function)
{
    parser->at++;
    bool is_const = itanium_peek(parser) == 'K';
    parser->at += is_const;
    if (is_const && function == NULL)
        return ITANIUM_GAVE_UP;
    if (function != NULL)
        function->is_const = is_const;
    return parse_prefix(parser, function);
}

enum itanium_kind sxt_itanium_name(struct itanium_parser *parser, struct itanium_function *function)
{
    struct itanium_part part = {.start = (uint16_t)parser->size};
    struct class_name class = {0, 0};
    enum itanium_kind kind;
    bool is_substitution = false;
    char first = itanium_peek(parser);
    if (first == 'N')
        return parse_nested_name(parser, function);
    if (first == 'S' && itanium_peek_next(parser) == 't') {
        parser->at += 2;
        itanium_append(parser, "std::", 5);
        kind = parse_unqualified_name(parser, &class);
        kind = kind == ITANIUM_OPERATOR ? ITANIUM_NAME : kind;
    } else if (first == 'S') {
        struct itanium_part found = sxt_itanium_substitution(parser, false);
        kind = (enum itanium_kind)found.kind;
        if (!itanium_is_name(kind) || found.is_parameter)
            return ITANIUM_GAVE_UP;
        is_substitution = true;
    } else {
        kind = parse_unqualified_name(parser, &class);
    }
    if (kind == ITANIUM_GAVE_UP || itanium_peek(parser) != 'I')
        return kind;
    part.kind = (uint8_t)kind;
    if (!is_substitution && !itanium_substitute_later(parser, part))
        return ITANIUM_GAVE_UP;
    if (function != NULL)
        function->is_template = true;
    return sxt_itanium_arguments(parser, function != NULL) ? ITANIUM_NAME : ITANIUM_GAVE_UP;
}
