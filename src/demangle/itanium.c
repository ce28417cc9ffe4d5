/*
 * itanium.c: the common C++ names, decoded into the same text as libiberty in a tenth of its time.
 *
 *     _ZN 1A 1f I i E E  v  RK T_          the name is parsed into a tree, and the tree is printed
 *         └─prefix─┘args   └─types─┘       void A::f<int>(int const&)
 *
 * The parser knows names, template arguments that are types or numbers, substitutions, constructors, operators, and the
 * types that are written after their subject (pointers, references, const). It gives up on everything else: local
 * names, lambdas, packs, expressions, pointers to functions and members, arrays, special names, clones, Rust. libiberty
 * decodes those. Rules that libiberty has beyond the specification are followed, or given up on.
 */
#include "demangle/itanium.h"

#include <string.h>

#include "demangle/itanium_tree.h"

#define DEPTH_MAX 64

static uint16_t parse_name(struct itanium_parser *parser, bool *is_const);
static uint16_t parse_type(struct itanium_parser *parser);
static uint16_t parse_arguments(struct itanium_parser *parser);

/* --- the tree --- */

static uint16_t add(struct itanium_parser *parser, struct itanium_node node)
{
    if (parser->node_count == ITANIUM_NODES_MAX)
        return 0;
    parser->nodes[parser->node_count] = node;
    return (uint16_t)parser->node_count++;
}

static uint16_t add_text(struct itanium_parser *parser, enum itanium_kind kind, const char *text, size_t size)
{
    return add(parser, (struct itanium_node){.kind = (uint8_t)kind, .text = text, .size = (uint32_t)size});
}

static uint16_t add_pair(struct itanium_parser *parser, enum itanium_kind kind, uint16_t left, uint16_t right)
{
    return left != 0 && right != 0
               ? add(parser, (struct itanium_node){.kind = (uint8_t)kind, .left = left, .right = right})
               : 0;
}

static bool substitute_later(struct itanium_parser *parser, uint16_t number)
{
    if (number == 0 || parser->substitution_count == ITANIUM_SUBSTITUTIONS_MAX)
        return false;
    parser->substitutions[parser->substitution_count++] = number;
    return true;
}

/* --- the parser; every function returns 0 when it gives up --- */

static char peek(const struct itanium_parser *parser)
{
    return parser->at < parser->end ? *parser->at : 0;
}

static char peek_next(const struct itanium_parser *parser)
{
    return parser->end - parser->at > 1 ? parser->at[1] : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static uint16_t parse_source_name(struct itanium_parser *parser)
{
    size_t size = 0;
    if (peek(parser) == '0')
        return 0;
    while (is_digit(peek(parser)) && size < ITANIUM_TEXT_MAX)
        size = size * 10 + (size_t)(*parser->at++ - '0');
    if (size == 0 || size > (size_t)(parser->end - parser->at))
        return 0;
    const char *text = parser->at;
    parser->at += size;
    /* The last part of a Rust name is a hash like this. */
    if (size == 17 && text[0] == 'h')
        return 0;
    static const char anonymous[] = "(anonymous namespace)";
    if (size >= 10 && memcmp(text, "_GLOBAL_", 8) == 0 && (text[8] == '_' || text[8] == '.' || text[8] == '$') &&
        text[9] == 'N')
        return parser->last_name = add_text(parser, ITANIUM_NAME, anonymous, sizeof anonymous - 1);
    return parser->last_name = add_text(parser, ITANIUM_NAME, text, size);
}

static uint16_t parse_operator(struct itanium_parser *parser)
{
    static const struct {
        char code[2];
        const char *text;
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
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (parser->at[0] == operators[i].code[0] && parser->at[1] == operators[i].code[1]) {
            parser->at += 2;
            return add_text(parser, ITANIUM_OPERATOR, operators[i].text, strlen(operators[i].text));
        }
    return 0;
}

/* CLASS is the name before it, whose constructor it may be; 0 if that is not a plain name. */
static uint16_t parse_unqualified_name(struct itanium_parser *parser, uint16_t class)
{
    char first = peek(parser), second = peek_next(parser);
    uint16_t name = 0;
    if (is_digit(first)) {
        name = parse_source_name(parser);
    } else if (first == 'L' && is_digit(second)) {
        /* Of internal linkage. */
        parser->at++;
        name = parse_source_name(parser);
        if (peek(parser) == '_')
            return 0;
    } else if (is_lower(first) && second != 0) {
        name = parse_operator(parser);
    } else if ((first == 'C' && second >= '1' && second <= '3') || (first == 'D' && second >= '0' && second <= '2')) {
        if (class == 0)
            return 0;
        const struct itanium_node *of = &parser->nodes[class];
        parser->at += 2;
        name = add_text(parser, first == 'C' ? ITANIUM_CONSTRUCTOR : ITANIUM_DESTRUCTOR, of->text, of->size);
    }
    /* An ABI tag. */
    return peek(parser) == 'B' ? 0 : name;
}

/* S_, S0_ ..., or an abbreviation like Sa; not St. In a PREFIX, a constructor would expand an abbreviation. */
static uint16_t parse_substitution(struct itanium_parser *parser, bool prefix)
{
    char next = peek_next(parser);
    if (next == '_' || is_digit(next) || is_upper(next)) {
        /* In base 36; S_ comes before S0_. */
        size_t index = next == '_' ? 0 : 1, digits = 0;
        for (parser->at++; is_digit(peek(parser)) || is_upper(peek(parser)); parser->at++) {
            digits = digits * 36 + (size_t)(is_digit(*parser->at) ? *parser->at - '0' : *parser->at - 'A' + 10);
            if (digits > ITANIUM_SUBSTITUTIONS_MAX)
                return 0;
        }
        index += digits;
        if (peek(parser) != '_' || index >= parser->substitution_count)
            return 0;
        parser->at++;
        return parser->substitutions[index];
    }
    static const struct {
        char code;
        const char *text;
    } standard[] = {{'a', "std::allocator"}, {'b', "std::basic_string"}, {'s', "std::string"},
                    {'i', "std::istream"},   {'o', "std::ostream"},      {'d', "std::iostream"}};
    for (size_t i = 0; i < sizeof standard / sizeof *standard; i++) {
        if (next != standard[i].code)
            continue;
        parser->at += 2;
        char after = peek(parser);
        if (after == 'B' || (prefix && (after == 'C' || after == 'D')))
            return 0;
        return add_text(parser, ITANIUM_STANDARD, standard[i].text, strlen(standard[i].text));
    }
    return 0;
}

/* Says whether other names can be in it, or template arguments can follow it: that it is not a pointer or the like. */
static bool is_name(const struct itanium_parser *parser, uint16_t number)
{
    uint8_t kind = parser->nodes[number].kind;
    return number != 0 &&
           (kind == ITANIUM_NAME || kind == ITANIUM_QUALIFIED || kind == ITANIUM_TEMPLATE || kind == ITANIUM_STANDARD);
}

static uint16_t add_std(struct itanium_parser *parser)
{
    return add_text(parser, ITANIUM_STANDARD, "std", 3);
}

/* The part of a nested name after N and K, up to E. */
static uint16_t parse_prefix(struct itanium_parser *parser)
{
    uint16_t name = 0, class = 0;
    bool is_function = false; /* an operator or a constructor, which only template arguments may follow */
    for (;;) {
        char first = peek(parser);
        uint16_t part = 0;
        enum itanium_kind kind = ITANIUM_QUALIFIED;
        /* A substitution alone is not a name. */
        if (first == 'E')
            return class != 0 || is_function ? name : 0;
        if (is_function && first != 'I')
            return 0;
        if (first == 'S' && name == 0) {
            bool is_std = peek_next(parser) == 't';
            part = is_std ? add_std(parser) : parse_substitution(parser, true);
            part = is_name(parser, part) ? part : 0;
            parser->at += is_std ? 2 : 0;
        } else if (first == 'I' && name != 0) {
            kind = ITANIUM_TEMPLATE;
            part = parse_arguments(parser);
        } else if (is_digit(first) || is_lower(first) || first == 'C' || first == 'D' || first == 'L') {
            part = parse_unqualified_name(parser, class);
            class = part != 0 && parser->nodes[part].kind == ITANIUM_NAME ? part : 0;
            is_function = class == 0;
            if (is_function && name == 0)
                return 0;
        }
        if (part == 0)
            return 0;
        name = name == 0 ? part : add_pair(parser, kind, name, part);
        if (name == 0 || (first != 'S' && peek(parser) != 'E' && !substitute_later(parser, name)))
            return 0;
    }
}

static uint16_t parse_nested_name(struct itanium_parser *parser, bool *is_const)
{
    parser->at++;
    *is_const = peek(parser) == 'K';
    if (*is_const)
        parser->at++;
    uint16_t name = parse_prefix(parser);
    if (name == 0 || peek(parser) != 'E')
        return 0;
    parser->at++;
    return name;
}

/* IS_CONST is set for the name of a member function that is const. */
static uint16_t parse_name(struct itanium_parser *parser, bool *is_const)
{
    char first = peek(parser);
    bool is_substitution = false;
    uint16_t name;
    *is_const = false;
    if (first == 'N')
        return parse_nested_name(parser, is_const);
    if (first == 'S' && peek_next(parser) == 't') {
        parser->at += 2;
        uint16_t scope = add_std(parser);
        name = add_pair(parser, ITANIUM_QUALIFIED, scope, parse_unqualified_name(parser, 0));
    } else if (first == 'S') {
        name = parse_substitution(parser, false);
        name = is_name(parser, name) ? name : 0;
        is_substitution = true;
    } else {
        name = parse_unqualified_name(parser, 0);
    }
    if (name == 0 || peek(parser) != 'I')
        return name;
    if (!is_substitution && !substitute_later(parser, name))
        return 0;
    return add_pair(parser, ITANIUM_TEMPLATE, name, parse_arguments(parser));
}

static uint16_t parse_builtin(struct itanium_parser *parser)
{
    static const struct {
        const char *text;
        enum itanium_literal literal;
    } types[26] = {
        ['a' - 'a'] = {"signed char", ITANIUM_CAST},
        ['b' - 'a'] = {"bool", ITANIUM_BOOLEAN},
        ['c' - 'a'] = {"char", ITANIUM_CAST},
        ['d' - 'a'] = {"double", ITANIUM_NONE},
        ['e' - 'a'] = {"long double", ITANIUM_NONE},
        ['f' - 'a'] = {"float", ITANIUM_NONE},
        ['g' - 'a'] = {"__float128", ITANIUM_NONE},
        ['h' - 'a'] = {"unsigned char", ITANIUM_CAST},
        ['i' - 'a'] = {"int", ITANIUM_PLAIN},
        ['j' - 'a'] = {"unsigned int", ITANIUM_SUFFIX_U},
        ['l' - 'a'] = {"long", ITANIUM_SUFFIX_L},
        ['m' - 'a'] = {"unsigned long", ITANIUM_SUFFIX_UL},
        ['n' - 'a'] = {"__int128", ITANIUM_NONE},
        ['o' - 'a'] = {"unsigned __int128", ITANIUM_NONE},
        ['s' - 'a'] = {"short", ITANIUM_CAST},
        ['t' - 'a'] = {"unsigned short", ITANIUM_CAST},
        ['v' - 'a'] = {"void", ITANIUM_NONE},
        ['w' - 'a'] = {"wchar_t", ITANIUM_CAST},
        ['x' - 'a'] = {"long long", ITANIUM_SUFFIX_LL},
        ['y' - 'a'] = {"unsigned long long", ITANIUM_SUFFIX_ULL},
        ['z' - 'a'] = {"...", ITANIUM_NONE},
    };
    char first = peek(parser);
    if (!is_lower(first) || types[first - 'a'].text == NULL)
        return 0;
    parser->at++;
    return add(parser, (struct itanium_node){.kind = ITANIUM_BUILTIN,
                                             .number = (uint16_t)types[first - 'a'].literal,
                                             .text = types[first - 'a'].text,
                                             .size = (uint32_t)strlen(types[first - 'a'].text)});
}

static uint16_t parse_parameter(struct itanium_parser *parser)
{
    uint16_t number = 0;
    parser->at++;
    if (is_digit(peek(parser))) {
        number = (uint16_t)(*parser->at++ - '0' + 1);
        if (is_digit(peek(parser)))
            return 0;
    }
    if (peek(parser) != '_')
        return 0;
    parser->at++;
    /* A template as an argument. */
    if (peek(parser) == 'I')
        return 0;
    return add(parser, (struct itanium_node){.kind = ITANIUM_PARAMETER, .number = number});
}

/* A pointer, a reference or const. */
static uint16_t parse_modified(struct itanium_parser *parser)
{
    char first = *parser->at++;
    enum itanium_kind kind = first == 'P'   ? ITANIUM_POINTER
                             : first == 'R' ? ITANIUM_REFERENCE
                             : first == 'O' ? ITANIUM_RVALUE_REFERENCE
                                            : ITANIUM_CONST;
    uint16_t subject = parse_type(parser);
    return subject != 0 ? add(parser, (struct itanium_node){.kind = (uint8_t)kind, .left = subject}) : 0;
}

static uint16_t parse_named_type(struct itanium_parser *parser, bool *is_new)
{
    char next = peek_next(parser);
    bool is_const;
    if (peek(parser) != 'S' || !(next == '_' || is_digit(next) || is_upper(next))) {
        uint16_t name = parse_name(parser, &is_const);
        *is_new = name != 0 && parser->nodes[name].kind != ITANIUM_STANDARD;
        return is_const ? 0 : name;
    }
    uint16_t type = parse_substitution(parser, false);
    *is_new = peek(parser) == 'I';
    if (*is_new && !is_name(parser, type))
        return 0;
    return *is_new ? add_pair(parser, ITANIUM_TEMPLATE, type, parse_arguments(parser)) : type;
}

static uint16_t parse_type(struct itanium_parser *parser)
{
    uint16_t type = 0;
    bool is_new = true;
    if (++parser->depth > DEPTH_MAX)
        return 0;
    switch (peek(parser)) {
    case 'P':
    case 'R':
    case 'O':
    case 'K':
        type = parse_modified(parser);
        break;
    case 'T':
        type = parse_parameter(parser);
        break;
    case 'N':
    case 'S':
        type = parse_named_type(parser, &is_new);
        break;
    default:
        if (is_digit(peek(parser))) {
            type = parse_named_type(parser, &is_new);
        } else {
            type = parse_builtin(parser);
            is_new = false;
        }
    }
    parser->depth--;
    return type != 0 && (!is_new || substitute_later(parser, type)) ? type : 0;
}

static uint16_t parse_literal(struct itanium_parser *parser)
{
    parser->at++;
    /* An address or another expression. */
    if (peek(parser) == '_')
        return 0;
    uint16_t type = parse_type(parser);
    if (type == 0 || (parser->nodes[type].kind == ITANIUM_BUILTIN && parser->nodes[type].number == ITANIUM_NONE))
        return 0;
    bool negative = peek(parser) == 'n';
    parser->at += negative;
    const char *text = parser->at;
    while (is_digit(peek(parser)))
        parser->at++;
    size_t size = (size_t)(parser->at - text);
    if (size == 0 || peek(parser) != 'E')
        return 0;
    parser->at++;
    return add(parser, (struct itanium_node){.kind = negative ? ITANIUM_NEGATIVE : ITANIUM_LITERAL,
                                             .left = type,
                                             .text = text,
                                             .size = (uint32_t)size});
}

/* I, types and literals, E. */
static uint16_t parse_arguments(struct itanium_parser *parser)
{
    uint16_t held = parser->last_name, first = 0, last = 0;
    if (++parser->depth > DEPTH_MAX)
        return 0;
    parser->at++;
    do {
        uint16_t argument = peek(parser) == 'L' ? parse_literal(parser) : parse_type(parser);
        uint16_t item = argument != 0 ? add(parser, (struct itanium_node){.kind = ITANIUM_LIST, .left = argument}) : 0;
        if (item == 0)
            return 0;
        if (last != 0)
            parser->nodes[last].right = item;
        first = first != 0 ? first : item;
        last = item;
    } while (peek(parser) != 'E');
    parser->at++;
    parser->last_name = held;
    parser->depth--;
    return first;
}

/* --- the whole name --- */

/* The types after the name, as a list. */
static uint16_t parse_signature(struct itanium_parser *parser)
{
    uint16_t first = 0, last = 0;
    while (parser->at < parser->end) {
        uint16_t type = parse_type(parser);
        uint16_t item = type != 0 ? add(parser, (struct itanium_node){.kind = ITANIUM_LIST, .left = type}) : 0;
        if (item == 0)
            return 0;
        if (last != 0)
            parser->nodes[last].right = item;
        first = first != 0 ? first : item;
        last = item;
    }
    return first;
}

bool sxt_itanium_demangle(const char *name, size_t size, struct sxt_buffer *out)
{
    if (size < 4 || size > ITANIUM_TEXT_MAX || name[0] != '_' || name[1] != 'Z' || memchr(name, '.', size) != NULL)
        return false;
    struct itanium_parser parser;
    parser.at = name + 2;
    parser.end = name + size;
    parser.node_count = 1;
    parser.substitution_count = parser.depth = parser.size = 0;
    parser.last_name = parser.arguments = 0;
    parser.gave_up = false;
    bool is_const;
    uint16_t function = parse_name(&parser, &is_const);
    if (function == 0)
        return false;
    if (parser.at < parser.end) {
        uint16_t types = parse_signature(&parser);
        if (types == 0)
            return false;
        sxt_itanium_print_function(&parser, function, types, is_const);
    } else if (!is_const) {
        sxt_itanium_print(&parser, function);
    } else {
        return false;
    }
    if (parser.gave_up)
        return false;
    sxt_buffer_append(out, parser.text, parser.size);
    return true;
}
