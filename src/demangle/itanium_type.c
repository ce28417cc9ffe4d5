/* itanium_type.c: the types of the common C++ names, template arguments, and lists of parameters. */
#include <limits.h>

#include "demangle/itanium_parser.h"

/* How libiberty writes a literal of a built-in type. */
enum literal {
    LITERAL_NONE,
    LITERAL_CAST,
    LITERAL_PLAIN, /* this and the next ones: digits and a suffix */
    LITERAL_U,
    LITERAL_L,
    LITERAL_UL,
    LITERAL_LL,
    LITERAL_ULL,
    LITERAL_BOOLEAN
};

struct builtin {
    char text[19];
    uint8_t size, literal;
};

#define BUILTIN(letter, text, literal) [(letter) - 'a'] = {text, sizeof(text) - 1, literal}

static const struct builtin builtins[26] = {
    BUILTIN('a', "signed char", LITERAL_CAST), BUILTIN('b', "bool", LITERAL_BOOLEAN),
    BUILTIN('c', "char", LITERAL_CAST),        BUILTIN('d', "double", LITERAL_NONE),
    BUILTIN('e', "long double", LITERAL_NONE), BUILTIN('f', "float", LITERAL_NONE),
    BUILTIN('g', "__float128", LITERAL_NONE),  BUILTIN('h', "unsigned char", LITERAL_CAST),
    BUILTIN('i', "int", LITERAL_PLAIN),        BUILTIN('j', "unsigned int", LITERAL_U),
    BUILTIN('l', "long", LITERAL_L),           BUILTIN('m', "unsigned long", LITERAL_UL),
    BUILTIN('n', "__int128", LITERAL_NONE),    BUILTIN('o', "unsigned __int128", LITERAL_NONE),
    BUILTIN('s', "short", LITERAL_CAST),       BUILTIN('t', "unsigned short", LITERAL_CAST),
    BUILTIN('v', "void", LITERAL_NONE),        BUILTIN('w', "wchar_t", LITERAL_CAST),
    BUILTIN('x', "long long", LITERAL_LL),     BUILTIN('y', "unsigned long long", LITERAL_ULL),
    BUILTIN('z', "...", LITERAL_NONE),
};

/* The built-in type that begins with that letter; NULL if there is none. */
static const struct builtin *find_builtin(char letter)
{
    const struct builtin *builtin = itanium_is_lower(letter) ? &builtins[letter - 'a'] : NULL;
    return builtin != NULL && builtin->size > 0 ? builtin : NULL;
}

static const struct itanium_part gave_up = {.kind = ITANIUM_GAVE_UP};

/*
 * Appends a pointer, a reference or const after SUBJECT. References to references collapse and const is written once,
 * if a template argument makes them meet. Returns what it is.
 */
static enum itanium_kind append_modifier(struct itanium_parser *parser, char modifier, struct itanium_part subject)
{
    bool is_reference = subject.kind == ITANIUM_REFERENCE || subject.kind == ITANIUM_RVALUE_REFERENCE;
    if (is_reference && (!subject.is_parameter || modifier == 'P' || modifier == 'K'))
        return ITANIUM_GAVE_UP;
    switch (modifier) {
    case 'R':
        if (subject.kind == ITANIUM_RVALUE_REFERENCE)
            parser->size--;
        else if (!is_reference)
            itanium_append_char(parser, '&');
        return ITANIUM_REFERENCE;
    case 'O':
        if (is_reference)
            return (enum itanium_kind)subject.kind;
        itanium_append(parser, "&&", 2);
        return ITANIUM_RVALUE_REFERENCE;
    case 'K':
        if (subject.kind != ITANIUM_CONST)
            itanium_append(parser, " const", 6);
        else if (!subject.is_parameter)
            return ITANIUM_GAVE_UP;
        return ITANIUM_CONST;
    default:
        itanium_append_char(parser, '*');
        return ITANIUM_POINTER;
    }
}

/* Pointers, references and const, and the type that they modify, which is mangled after them. */
static struct itanium_part parse_modified(struct itanium_parser *parser)
{
    const char *first = parser->at, *modifier = first;
    while (modifier < parser->end && (*modifier == 'P' || *modifier == 'R' || *modifier == 'O' || *modifier == 'K'))
        modifier++;
    parser->at = modifier;
    struct itanium_part part = sxt_itanium_type(parser);
    if (part.kind == ITANIUM_EXPANSION)
        return gave_up;
    while (modifier > first && part.kind != ITANIUM_GAVE_UP) {
        part.kind = (uint8_t)append_modifier(parser, *--modifier, part);
        part.is_parameter = false;
        if (!itanium_substitute_later(parser, part))
            return gave_up;
    }
    return part;
}

/* The argument that a parameter of the function's template stands for; NULL if there is none. */
static const struct itanium_part *find_argument(struct itanium_parser *parser, unsigned number)
{
    if (!parser->in_signature || number >= parser->argument_count)
        return NULL;
    const struct itanium_part *argument = &parser->arguments[number];
    if (argument->kind != ITANIUM_PACK)
        return argument;
    /* All packs of an expansion have the same size. */
    if (!parser->expands || (parser->pack_size != UINT_MAX && parser->pack_size != argument->count))
        return NULL;
    parser->pack_size = argument->count;
    static const struct itanium_part nothing = {.kind = ITANIUM_NAME};
    return parser->pack_index < argument->count ? &parser->elements[argument->first + parser->pack_index] : &nothing;
}

static struct itanium_part parse_parameter(struct itanium_parser *parser)
{
    unsigned number = 0;
    parser->at++;
    if (itanium_is_digit(itanium_peek(parser))) {
        number = (unsigned)(*parser->at++ - '0') + 1;
        if (itanium_is_digit(itanium_peek(parser)))
            return gave_up;
    }
    if (itanium_peek(parser) != '_')
        return gave_up;
    parser->at++;
    const struct itanium_part *argument = find_argument(parser, number);
    /* A template as an argument has arguments of its own. */
    if (argument == NULL || itanium_peek(parser) == 'I')
        return gave_up;
    struct itanium_part part = {.start = (uint16_t)parser->size, .kind = argument->kind, .is_parameter = true};
    itanium_repeat(parser, argument);
    return itanium_substitute_later(parser, part) ? part : gave_up;
}

/* S_ and the like, and arguments if it is a template. */
static struct itanium_part parse_substituted(struct itanium_parser *parser)
{
    unsigned start = parser->size;
    struct itanium_part part = sxt_itanium_substitution(parser, false);
    part.start = (uint16_t)start;
    if (itanium_peek(parser) != 'I')
        return part;
    if (!itanium_is_name((enum itanium_kind)part.kind) || part.is_parameter || !sxt_itanium_arguments(parser, false))
        return gave_up;
    part.kind = ITANIUM_NAME;
    return itanium_substitute_later(parser, part) ? part : gave_up;
}

static struct itanium_part parse_named(struct itanium_parser *parser)
{
    struct itanium_part part = {.start = (uint16_t)parser->size};
    part.kind = (uint8_t)sxt_itanium_name(parser, NULL);
    if (part.kind == ITANIUM_GAVE_UP || part.kind == ITANIUM_STANDARD)
        return part;
    return itanium_substitute_later(parser, part) ? part : gave_up;
}

/* A type that is written once for each element of a pack. */
static struct itanium_part parse_expansion(struct itanium_parser *parser)
{
    struct itanium_part part = {.start = (uint16_t)parser->size, .kind = ITANIUM_EXPANSION};
    const char *pattern = parser->at += 2;
    unsigned before = parser->substitution_count;
    if (parser->expands)
        return gave_up;
    parser->expands = true;
    parser->pack_size = UINT_MAX;
    parser->pack_index = 0;
    do {
        parser->at = pattern;
        parser->substitution_count = before;
        if (parser->pack_index > 0)
            itanium_append(parser, ", ", 2);
        if (sxt_itanium_type(parser).kind == ITANIUM_GAVE_UP || parser->pack_size == UINT_MAX)
            return gave_up;
    } while (++parser->pack_index < parser->pack_size);
    if (parser->pack_size == 0)
        parser->size = part.start;
    for (unsigned i = before; i < parser->substitution_count; i++)
        parser->substitutions[i].kind = ITANIUM_EXPANSION;
    parser->expands = false;
    return itanium_substitute_later(parser, part) ? part : gave_up;
}

/* Types whose code has two letters. */
static struct itanium_part parse_d(struct itanium_parser *parser)
{
    static const struct builtin types[] = {
        {"decltype(nullptr)", 17, 'n'}, {"char16_t", 8, 's'}, {"char32_t", 8, 'i'}, {"auto", 4, 'a'}};
    char next = itanium_peek_next(parser);
    if (next == 'p')
        return parse_expansion(parser);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].literal == next) {
            struct itanium_part part = {.start = (uint16_t)parser->size, .kind = ITANIUM_BUILTIN};
            parser->at += 2;
            itanium_append_block(parser, types[i].text, types[i].size);
            return part;
        }
    return gave_up;
}

static struct itanium_part parse_other(struct itanium_parser *parser, char first)
{
    switch (first) {
    case 'P':
    case 'R':
    case 'O':
    case 'K':
        return parse_modified(parser);
    case 'T':
        return parse_parameter(parser);
    case 'D':
        return parse_d(parser);
    case 'S':
        return itanium_is_lower(itanium_peek_next(parser)) ? parse_named(parser) : parse_substituted(parser);
    case 'N':
        return parse_named(parser);
    default:
        return itanium_is_digit(first) ? parse_named(parser) : gave_up;
    }
}

struct itanium_part sxt_itanium_type(struct itanium_parser *parser)
{
    char first = itanium_peek(parser);
    const struct builtin *builtin = find_builtin(first);
    if (builtin != NULL) {
        struct itanium_part part = {.start = (uint16_t)parser->size,
                                    .kind = first == 'v' ? ITANIUM_VOID : ITANIUM_BUILTIN};
        parser->at++;
        itanium_append_block(parser, builtin->text, builtin->size);
        return part;
    }
    if (++parser->depth > ITANIUM_DEPTH_MAX || parser->overflowed)
        return gave_up;
    struct itanium_part part = parse_other(parser, first);
    parser->depth--;
    return part;
}

/* L, a type, digits, E. */
static struct itanium_part parse_literal(struct itanium_parser *parser)
{
    static const char suffixes[][4] = {[LITERAL_PLAIN] = "", [LITERAL_U] = "u",   [LITERAL_L] = "l",
                                       [LITERAL_UL] = "ul",  [LITERAL_LL] = "ll", [LITERAL_ULL] = "ull"};
    const struct itanium_part part = {.start = (uint16_t)parser->size, .kind = ITANIUM_LITERAL};
    parser->at++;
    const struct builtin *builtin = find_builtin(itanium_peek(parser));
    enum literal style = builtin != NULL ? (enum literal)builtin->literal : LITERAL_CAST;
    const char *digits = parser->at + 1;
    if (style == LITERAL_NONE)
        return gave_up;
    if (style == LITERAL_BOOLEAN && parser->end - digits >= 2 && (digits[0] == '0' || digits[0] == '1') &&
        digits[1] == 'E') {
        itanium_append(parser, digits[0] == '1' ? "true" : "false", digits[0] == '1' ? 4 : 5);
        parser->at = digits + 2;
        return part;
    }
    if (style == LITERAL_CAST || style == LITERAL_BOOLEAN) {
        itanium_append_char(parser, '(');
        if (sxt_itanium_type(parser).kind == ITANIUM_GAVE_UP)
            return gave_up;
        itanium_append_char(parser, ')');
    } else {
        parser->at++;
    }
    if (itanium_peek(parser) == 'n') {
        itanium_append_char(parser, '-');
        parser->at++;
    }
    for (digits = parser->at; itanium_is_digit(itanium_peek(parser));)
        parser->at++;
    size_t size = (size_t)(parser->at - digits);
    if (size == 0 || itanium_peek(parser) != 'E')
        return gave_up;
    parser->at++;
    itanium_append(parser, digits, size);
    if (style != LITERAL_CAST && style != LITERAL_BOOLEAN)
        itanium_append(parser, suffixes[style], strlen(suffixes[style]));
    return part;
}

static struct itanium_part parse_pack(struct itanium_parser *parser, bool recorded);

static struct itanium_part parse_argument(struct itanium_parser *parser, bool recorded)
{
    char first = itanium_peek(parser);
    if (first == 'J')
        return parse_pack(parser, recorded);
    return first == 'L' ? parse_literal(parser) : sxt_itanium_type(parser);
}

/*
 * Removes the commas before elements at the end that are empty, up to KEPT. libiberty does so too, but goes on as if
 * they were there.
 */
static void remove_commas(struct itanium_parser *parser, unsigned kept)
{
    if (kept == parser->size)
        return;
    parser->removed += parser->size - kept;
    parser->size = parser->removed_at = kept;
}

/* Copies PART, which ends at the end of the text, to LIST; false if that is full. */
static bool record(const struct itanium_parser *parser, struct itanium_part *list, unsigned *count,
                   struct itanium_part part)
{
    if (*count == ITANIUM_ARGUMENTS_MAX)
        return false;
    part.size = (uint16_t)(parser->size - part.start);
    list[(*count)++] = part;
    return true;
}

/* J, arguments, E. */
static struct itanium_part parse_pack(struct itanium_parser *parser, bool recorded)
{
    struct itanium_part part = {
        .start = (uint16_t)parser->size, .kind = ITANIUM_PACK, .first = (uint8_t)parser->element_count};
    unsigned kept = parser->size;
    parser->at++;
    for (bool first = true; itanium_peek(parser) != 'E'; first = false) {
        if (!first)
            itanium_append(parser, ", ", 2);
        unsigned before = parser->size;
        struct itanium_part element = itanium_peek(parser) != 'J' ? parse_argument(parser, false) : gave_up;
        if (element.kind == ITANIUM_GAVE_UP ||
            (recorded && !record(parser, parser->elements, &parser->element_count, element)))
            return gave_up;
        kept = parser->size != before ? parser->size : kept;
    }
    parser->at++;
    remove_commas(parser, kept);
    part.count = (uint8_t)(parser->element_count - part.first);
    return part;
}

bool sxt_itanium_arguments(struct itanium_parser *parser, bool recorded)
{
    if (++parser->depth > ITANIUM_DEPTH_MAX)
        return false;
    parser->at++;
    if (itanium_last(parser) == '<')
        itanium_append_char(parser, ' ');
    itanium_append_char(parser, '<');
    unsigned kept = parser->size;
    if (recorded)
        parser->argument_count = parser->element_count = 0;
    bool first = true;
    do {
        if (!first)
            itanium_append(parser, ", ", 2);
        first = false;
        unsigned before = parser->size;
        struct itanium_part argument = parse_argument(parser, recorded);
        if (argument.kind == ITANIUM_GAVE_UP ||
            (recorded && !record(parser, parser->arguments, &parser->argument_count, argument)))
            return false;
        kept = parser->size != before ? parser->size : kept;
    } while (itanium_peek(parser) != 'E');
    parser->at++;
    remove_commas(parser, kept);
    if (itanium_last(parser) == '>')
        itanium_append_char(parser, ' ');
    itanium_append_char(parser, '>');
    parser->depth--;
    return true;
}

bool sxt_itanium_parameters(struct itanium_parser *parser)
{
    unsigned start = parser->size, kept = start, count = 0;
    struct itanium_part type = {0};
    while (parser->at < parser->end && *parser->at != '.') {
        if (count++ > 0)
            itanium_append(parser, ", ", 2);
        unsigned before = parser->size;
        type = sxt_itanium_type(parser);
        if (type.kind == ITANIUM_GAVE_UP)
            return false;
        kept = parser->size != before ? parser->size : kept;
    }
    remove_commas(parser, kept);
    /* void alone stands for no parameters, unless a template argument says so. */
    if (count == 1 && type.kind == ITANIUM_VOID && !type.is_parameter)
        parser->size = start;
    return count > 0;
}
