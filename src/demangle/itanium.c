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

#include <stdint.h>
#include <string.h>

#define NODES_MAX         320
#define SUBSTITUTIONS_MAX 96
#define TEXT_MAX          4096
#define DEPTH_MAX         64

enum kind {
    NAME,      /* text */
    QUALIFIED, /* left::right */
    TEMPLATE,  /* left<right> */
    LIST,      /* left, then the list on the right */
    BUILTIN,   /* text; number is how a literal of the type is written */
    POINTER,   /* left* */
    REFERENCE,
    RVALUE_REFERENCE,
    CONST,
    PARAMETER,   /* number of the template parameter */
    STANDARD,    /* text: a name of the standard library that is abbreviated */
    CONSTRUCTOR, /* text: the name of the class */
    DESTRUCTOR,
    OPERATOR, /* text */
    LITERAL,  /* left is the type, text the digits */
    NEGATIVE, /* the same below 0 */
};

/* How libiberty writes a literal of a type. */
enum literal { NONE, CAST, PLAIN, SUFFIX_U, SUFFIX_L, SUFFIX_UL, SUFFIX_LL, SUFFIX_ULL, BOOLEAN };

struct node {
    uint8_t kind;
    uint16_t number;
    uint16_t left, right; /* 0: none */
    uint32_t size;
    const char *text;
};

struct parser {
    const char *at, *end;
    struct node nodes[NODES_MAX]; /* the first one is not used */
    unsigned node_count;
    uint16_t substitutions[SUBSTITUTIONS_MAX];
    unsigned substitution_count;
    uint16_t last_name; /* the class that a constructor belongs to; 0 if unknown */
    unsigned depth;
    /* The printer. */
    char text[TEXT_MAX];
    unsigned size;
    uint16_t arguments; /* of the template function, for its parameters; 0: none */
    bool gave_up;
};

static uint16_t parse_name(struct parser *parser, bool *is_const);
static uint16_t parse_type(struct parser *parser);
static uint16_t parse_arguments(struct parser *parser);
static void print(struct parser *parser, uint16_t number);

/* --- the tree --- */

static uint16_t add(struct parser *parser, struct node node)
{
    if (parser->node_count == NODES_MAX)
        return 0;
    parser->nodes[parser->node_count] = node;
    return (uint16_t)parser->node_count++;
}

static uint16_t add_text(struct parser *parser, enum kind kind, const char *text, size_t size)
{
    return add(parser, (struct node){.kind = (uint8_t)kind, .text = text, .size = (uint32_t)size});
}

static uint16_t add_pair(struct parser *parser, enum kind kind, uint16_t left, uint16_t right)
{
    return left != 0 && right != 0 ? add(parser, (struct node){.kind = (uint8_t)kind, .left = left, .right = right})
                                   : 0;
}

static bool substitute_later(struct parser *parser, uint16_t number)
{
    if (number == 0 || parser->substitution_count == SUBSTITUTIONS_MAX)
        return false;
    parser->substitutions[parser->substitution_count++] = number;
    return true;
}

/* --- the parser; every function returns 0 when it gives up --- */

static char peek(const struct parser *parser)
{
    return parser->at < parser->end ? *parser->at : 0;
}

static char peek_next(const struct parser *parser)
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

static uint16_t parse_source_name(struct parser *parser)
{
    size_t size = 0;
    if (peek(parser) == '0')
        return 0;
    while (is_digit(peek(parser)) && size < TEXT_MAX)
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
        return parser->last_name = add_text(parser, NAME, anonymous, sizeof anonymous - 1);
    return parser->last_name = add_text(parser, NAME, text, size);
}

static uint16_t parse_operator(struct parser *parser)
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
            return add_text(parser, OPERATOR, operators[i].text, strlen(operators[i].text));
        }
    return 0;
}

/* CLASS is the name before it, whose constructor it may be; 0 if that is not a plain name. */
static uint16_t parse_unqualified_name(struct parser *parser, uint16_t class)
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
        const struct node *of = &parser->nodes[class];
        parser->at += 2;
        name = add_text(parser, first == 'C' ? CONSTRUCTOR : DESTRUCTOR, of->text, of->size);
    }
    /* An ABI tag. */
    return peek(parser) == 'B' ? 0 : name;
}

/* S_, S0_ ..., or an abbreviation like Sa; not St. In a PREFIX, a constructor would expand an abbreviation. */
static uint16_t parse_substitution(struct parser *parser, bool prefix)
{
    char next = peek_next(parser);
    if (next == '_' || is_digit(next) || is_upper(next)) {
        /* In base 36; S_ comes before S0_. */
        size_t index = next == '_' ? 0 : 1, digits = 0;
        for (parser->at++; is_digit(peek(parser)) || is_upper(peek(parser)); parser->at++) {
            digits = digits * 36 + (size_t)(is_digit(*parser->at) ? *parser->at - '0' : *parser->at - 'A' + 10);
            if (digits > SUBSTITUTIONS_MAX)
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
        return add_text(parser, STANDARD, standard[i].text, strlen(standard[i].text));
    }
    return 0;
}

/* Says whether other names can be in it, or template arguments can follow it: that it is not a pointer or the like. */
static bool is_name(const struct parser *parser, uint16_t number)
{
    uint8_t kind = parser->nodes[number].kind;
    return number != 0 && (kind == NAME || kind == QUALIFIED || kind == TEMPLATE || kind == STANDARD);
}

static uint16_t add_std(struct parser *parser)
{
    return add_text(parser, STANDARD, "std", 3);
}

/* The part of a nested name after N and K, up to E. */
static uint16_t parse_prefix(struct parser *parser)
{
    uint16_t name = 0, class = 0;
    bool is_function = false; /* an operator or a constructor, which only template arguments may follow */
    for (;;) {
        char first = peek(parser);
        uint16_t part = 0;
        enum kind kind = QUALIFIED;
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
            kind = TEMPLATE;
            part = parse_arguments(parser);
        } else if (is_digit(first) || is_lower(first) || first == 'C' || first == 'D' || first == 'L') {
            part = parse_unqualified_name(parser, class);
            class = part != 0 && parser->nodes[part].kind == NAME ? part : 0;
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

static uint16_t parse_nested_name(struct parser *parser, bool *is_const)
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
static uint16_t parse_name(struct parser *parser, bool *is_const)
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
        name = add_pair(parser, QUALIFIED, scope, parse_unqualified_name(parser, 0));
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
    return add_pair(parser, TEMPLATE, name, parse_arguments(parser));
}

static uint16_t parse_builtin(struct parser *parser)
{
    static const struct {
        const char *text;
        enum literal literal;
    } types[26] = {
        ['a' - 'a'] = {"signed char", CAST},
        ['b' - 'a'] = {"bool", BOOLEAN},
        ['c' - 'a'] = {"char", CAST},
        ['d' - 'a'] = {"double", NONE},
        ['e' - 'a'] = {"long double", NONE},
        ['f' - 'a'] = {"float", NONE},
        ['g' - 'a'] = {"__float128", NONE},
        ['h' - 'a'] = {"unsigned char", CAST},
        ['i' - 'a'] = {"int", PLAIN},
        ['j' - 'a'] = {"unsigned int", SUFFIX_U},
        ['l' - 'a'] = {"long", SUFFIX_L},
        ['m' - 'a'] = {"unsigned long", SUFFIX_UL},
        ['n' - 'a'] = {"__int128", NONE},
        ['o' - 'a'] = {"unsigned __int128", NONE},
        ['s' - 'a'] = {"short", CAST},
        ['t' - 'a'] = {"unsigned short", CAST},
        ['v' - 'a'] = {"void", NONE},
        ['w' - 'a'] = {"wchar_t", CAST},
        ['x' - 'a'] = {"long long", SUFFIX_LL},
        ['y' - 'a'] = {"unsigned long long", SUFFIX_ULL},
        ['z' - 'a'] = {"...", NONE},
    };
    char first = peek(parser);
    if (!is_lower(first) || types[first - 'a'].text == NULL)
        return 0;
    parser->at++;
    return add(parser, (struct node){.kind = BUILTIN,
                                     .number = (uint16_t)types[first - 'a'].literal,
                                     .text = types[first - 'a'].text,
                                     .size = (uint32_t)strlen(types[first - 'a'].text)});
}

static uint16_t parse_parameter(struct parser *parser)
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
    return add(parser, (struct node){.kind = PARAMETER, .number = number});
}

/* A pointer, a reference or const. */
static uint16_t parse_modified(struct parser *parser)
{
    char first = *parser->at++;
    enum kind kind = first == 'P' ? POINTER : first == 'R' ? REFERENCE : first == 'O' ? RVALUE_REFERENCE : CONST;
    uint16_t subject = parse_type(parser);
    return subject != 0 ? add(parser, (struct node){.kind = (uint8_t)kind, .left = subject}) : 0;
}

static uint16_t parse_named_type(struct parser *parser, bool *is_new)
{
    char next = peek_next(parser);
    bool is_const;
    if (peek(parser) != 'S' || !(next == '_' || is_digit(next) || is_upper(next))) {
        uint16_t name = parse_name(parser, &is_const);
        *is_new = name != 0 && parser->nodes[name].kind != STANDARD;
        return is_const ? 0 : name;
    }
    uint16_t type = parse_substitution(parser, false);
    *is_new = peek(parser) == 'I';
    if (*is_new && !is_name(parser, type))
        return 0;
    return *is_new ? add_pair(parser, TEMPLATE, type, parse_arguments(parser)) : type;
}

static uint16_t parse_type(struct parser *parser)
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

static uint16_t parse_literal(struct parser *parser)
{
    parser->at++;
    /* An address or another expression. */
    if (peek(parser) == '_')
        return 0;
    uint16_t type = parse_type(parser);
    if (type == 0 || (parser->nodes[type].kind == BUILTIN && parser->nodes[type].number == NONE))
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
    return add(parser, (struct node){
                           .kind = negative ? NEGATIVE : LITERAL, .left = type, .text = text, .size = (uint32_t)size});
}

/* I, types and literals, E. */
static uint16_t parse_arguments(struct parser *parser)
{
    uint16_t held = parser->last_name, first = 0, last = 0;
    if (++parser->depth > DEPTH_MAX)
        return 0;
    parser->at++;
    do {
        uint16_t argument = peek(parser) == 'L' ? parse_literal(parser) : parse_type(parser);
        uint16_t item = argument != 0 ? add(parser, (struct node){.kind = LIST, .left = argument}) : 0;
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

/* --- the printer --- */

static void append(struct parser *parser, const char *text, size_t size)
{
    if (size > TEXT_MAX - parser->size) {
        parser->gave_up = true;
        return;
    }
    memcpy(parser->text + parser->size, text, size);
    parser->size += (unsigned)size;
}

static void append_char(struct parser *parser, char c)
{
    append(parser, &c, 1);
}

static char last_char(const struct parser *parser)
{
    return parser->size > 0 ? parser->text[parser->size - 1] : 0;
}

static void print_list(struct parser *parser, uint16_t number)
{
    for (; number != 0 && !parser->gave_up; number = parser->nodes[number].right) {
        print(parser, parser->nodes[number].left);
        if (parser->nodes[number].right != 0)
            append(parser, ", ", 2);
    }
}

/* The argument that a parameter of the function's template stands for; 0 if there is none. */
static uint16_t argument_of(const struct parser *parser, uint16_t parameter)
{
    uint16_t item = parser->arguments;
    for (uint16_t i = parser->nodes[parameter].number; i > 0 && item != 0; i--)
        item = parser->nodes[item].right;
    return item != 0 ? parser->nodes[item].left : 0;
}

static void print_parameter(struct parser *parser, uint16_t number)
{
    uint16_t argument = argument_of(parser, number), held = parser->arguments;
    if (argument == 0) {
        parser->gave_up = true;
        return;
    }
    /* Parameters in an argument belong to a template around this one. */
    parser->arguments = 0;
    print(parser, argument);
    parser->arguments = held;
}

static void print_modified(struct parser *parser, const struct node *node)
{
    const struct node *subject = &parser->nodes[node->left];
    /* References to references, and const twice, have rules of their own. */
    if (subject->kind == PARAMETER) {
        uint16_t argument = argument_of(parser, node->left);
        uint8_t kind = argument != 0 ? parser->nodes[argument].kind : PARAMETER;
        parser->gave_up =
            parser->gave_up || kind == PARAMETER || kind == REFERENCE || kind == RVALUE_REFERENCE || kind == CONST;
    } else if (subject->kind == REFERENCE || subject->kind == RVALUE_REFERENCE ||
               (subject->kind == CONST && node->kind == CONST)) {
        parser->gave_up = true;
    }
    if (parser->gave_up)
        return;
    print(parser, node->left);
    if (node->kind == CONST)
        append(parser, " const", 6);
    else if (node->kind == RVALUE_REFERENCE)
        append(parser, "&&", 2);
    else
        append_char(parser, node->kind == POINTER ? '*' : '&');
}

static void print_literal(struct parser *parser, const struct node *node)
{
    static const char *const suffixes[] = {
        [PLAIN] = "", [SUFFIX_U] = "u", [SUFFIX_L] = "l", [SUFFIX_UL] = "ul", [SUFFIX_LL] = "ll", [SUFFIX_ULL] = "ull"};
    const struct node *type = &parser->nodes[node->left];
    enum literal style = type->kind == BUILTIN ? (enum literal)type->number : CAST;
    if (style == BOOLEAN && node->size == 1 && node->kind == LITERAL && node->text[0] <= '1') {
        append(parser, node->text[0] == '1' ? "true" : "false", node->text[0] == '1' ? 4 : 5);
        return;
    }
    if (style == BOOLEAN || style == CAST) {
        append_char(parser, '(');
        print(parser, node->left);
        append_char(parser, ')');
    }
    if (node->kind == NEGATIVE)
        append_char(parser, '-');
    append(parser, node->text, node->size);
    if (style != BOOLEAN && style != CAST)
        append(parser, suffixes[style], strlen(suffixes[style]));
}

static void print(struct parser *parser, uint16_t number)
{
    const struct node *node = &parser->nodes[number];
    if (parser->gave_up)
        return;
    switch ((enum kind)node->kind) {
    case NAME:
    case BUILTIN:
    case STANDARD:
    case CONSTRUCTOR:
        append(parser, node->text, node->size);
        break;
    case DESTRUCTOR:
        append_char(parser, '~');
        append(parser, node->text, node->size);
        break;
    case OPERATOR:
        append(parser, "operator", 8);
        if (is_lower(node->text[0]))
            append_char(parser, ' ');
        append(parser, node->text, node->size);
        break;
    case QUALIFIED:
        print(parser, node->left);
        append(parser, "::", 2);
        print(parser, node->right);
        break;
    case TEMPLATE:
        print(parser, node->left);
        if (last_char(parser) == '<')
            append_char(parser, ' ');
        append_char(parser, '<');
        print_list(parser, node->right);
        if (last_char(parser) == '>')
            append_char(parser, ' ');
        append_char(parser, '>');
        break;
    case LIST:
        print_list(parser, number);
        break;
    case POINTER:
    case REFERENCE:
    case RVALUE_REFERENCE:
    case CONST:
        print_modified(parser, node);
        break;
    case PARAMETER:
        print_parameter(parser, number);
        break;
    case LITERAL:
    case NEGATIVE:
        print_literal(parser, node);
        break;
    }
}

/* --- the whole name --- */

/* Says whether the type of what a template function returns comes before the types of its parameters. */
static bool has_return_type(const struct parser *parser, uint16_t name)
{
    const struct node *node = &parser->nodes[name];
    if (node->kind != TEMPLATE)
        return false;
    for (node = &parser->nodes[node->left]; node->kind == QUALIFIED; node = &parser->nodes[node->right])
        ;
    return node->kind != CONSTRUCTOR && node->kind != DESTRUCTOR;
}

/* The types after the name, as a list. */
static uint16_t parse_signature(struct parser *parser)
{
    uint16_t first = 0, last = 0;
    while (parser->at < parser->end) {
        uint16_t type = parse_type(parser);
        uint16_t item = type != 0 ? add(parser, (struct node){.kind = LIST, .left = type}) : 0;
        if (item == 0)
            return 0;
        if (last != 0)
            parser->nodes[last].right = item;
        first = first != 0 ? first : item;
        last = item;
    }
    return first;
}

static void print_function(struct parser *parser, uint16_t name, uint16_t types, bool is_const)
{
    const struct node *nodes = parser->nodes;
    parser->arguments = nodes[name].kind == TEMPLATE ? nodes[name].right : 0;
    if (has_return_type(parser, name)) {
        print(parser, nodes[types].left);
        append_char(parser, ' ');
        types = nodes[types].right;
    }
    uint16_t arguments = parser->arguments;
    /* libiberty refuses a parameter in the arguments that define it. */
    parser->arguments = 0;
    print(parser, name);
    parser->arguments = arguments;
    append_char(parser, '(');
    const struct node *only = types != 0 && nodes[types].right == 0 ? &nodes[nodes[types].left] : NULL;
    if (types == 0)
        parser->gave_up = true;
    else if (only == NULL || only->kind != BUILTIN || only->size != 4 || memcmp(only->text, "void", 4) != 0)
        print_list(parser, types);
    append_char(parser, ')');
    if (is_const)
        append(parser, " const", 6);
}

bool sxt_itanium_demangle(const char *name, size_t size, struct sxt_buffer *out)
{
    if (size < 4 || size > TEXT_MAX || name[0] != '_' || name[1] != 'Z' || memchr(name, '.', size) != NULL)
        return false;
    struct parser parser;
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
        print_function(&parser, function, types, is_const);
    } else if (!is_const) {
        print(&parser, function);
    } else {
        return false;
    }
    if (parser.gave_up)
        return false;
    sxt_buffer_append(out, parser.text, parser.size);
    return true;
}
