/* itanium_print.c: prints the tree of a C++ name as libiberty does. */
#include <string.h>

#include "demangle/itanium_tree.h"

static void append(struct itanium_parser *parser, const char *text, size_t size)
{
    if (size > ITANIUM_TEXT_MAX - parser->size) {
        parser->gave_up = true;
        return;
    }
    memcpy(parser->text + parser->size, text, size);
    parser->size += (unsigned)size;
}

static void append_char(struct itanium_parser *parser, char c)
{
    append(parser, &c, 1);
}

static char last_char(const struct itanium_parser *parser)
{
    return parser->size > 0 ? parser->text[parser->size - 1] : 0;
}

static void print_list(struct itanium_parser *parser, uint16_t number)
{
    for (; number != 0 && !parser->gave_up; number = parser->nodes[number].right) {
        sxt_itanium_print(parser, parser->nodes[number].left);
        if (parser->nodes[number].right != 0)
            append(parser, ", ", 2);
    }
}

/* The argument that a parameter of the function's template stands for; 0 if there is none. */
static uint16_t argument_of(const struct itanium_parser *parser, uint16_t parameter)
{
    uint16_t item = parser->arguments;
    for (uint16_t i = parser->nodes[parameter].number; i > 0 && item != 0; i--)
        item = parser->nodes[item].right;
    return item != 0 ? parser->nodes[item].left : 0;
}

static void print_parameter(struct itanium_parser *parser, uint16_t number)
{
    uint16_t argument = argument_of(parser, number), held = parser->arguments;
    if (argument == 0) {
        parser->gave_up = true;
        return;
    }
    /* Parameters in an argument belong to a template around this one. */
    parser->arguments = 0;
    sxt_itanium_print(parser, argument);
    parser->arguments = held;
}

static void print_modified(struct itanium_parser *parser, const struct itanium_node *node)
{
    const struct itanium_node *subject = &parser->nodes[node->left];
    /* References to references, and const twice, have rules of their own. */
    if (subject->kind == ITANIUM_PARAMETER) {
        uint16_t argument = argument_of(parser, node->left);
        uint8_t kind = argument != 0 ? parser->nodes[argument].kind : ITANIUM_PARAMETER;
        parser->gave_up = parser->gave_up || kind == ITANIUM_PARAMETER || kind == ITANIUM_REFERENCE ||
                          kind == ITANIUM_RVALUE_REFERENCE || kind == ITANIUM_CONST;
    } else if (subject->kind == ITANIUM_REFERENCE || subject->kind == ITANIUM_RVALUE_REFERENCE ||
               (subject->kind == ITANIUM_CONST && node->kind == ITANIUM_CONST)) {
        parser->gave_up = true;
    }
    if (parser->gave_up)
        return;
    sxt_itanium_print(parser, node->left);
    if (node->kind == ITANIUM_CONST)
        append(parser, " const", 6);
    else if (node->kind == ITANIUM_RVALUE_REFERENCE)
        append(parser, "&&", 2);
    else
        append_char(parser, node->kind == ITANIUM_POINTER ? '*' : '&');
}

static void print_literal(struct itanium_parser *parser, const struct itanium_node *node)
{
    static const char *const suffixes[] = {
        [ITANIUM_PLAIN] = "",       [ITANIUM_SUFFIX_U] = "u",   [ITANIUM_SUFFIX_L] = "l",
        [ITANIUM_SUFFIX_UL] = "ul", [ITANIUM_SUFFIX_LL] = "ll", [ITANIUM_SUFFIX_ULL] = "ull"};
    const struct itanium_node *type = &parser->nodes[node->left];
    enum itanium_literal style = type->kind == ITANIUM_BUILTIN ? (enum itanium_literal)type->number : ITANIUM_CAST;
    if (style == ITANIUM_BOOLEAN && node->size == 1 && node->kind == ITANIUM_LITERAL && node->text[0] <= '1') {
        append(parser, node->text[0] == '1' ? "true" : "false", node->text[0] == '1' ? 4 : 5);
        return;
    }
    if (style == ITANIUM_BOOLEAN || style == ITANIUM_CAST) {
        append_char(parser, '(');
        sxt_itanium_print(parser, node->left);
        append_char(parser, ')');
    }
    if (node->kind == ITANIUM_NEGATIVE)
        append_char(parser, '-');
    append(parser, node->text, node->size);
    if (style != ITANIUM_BOOLEAN && style != ITANIUM_CAST)
        append(parser, suffixes[style], strlen(suffixes[style]));
}

void sxt_itanium_print(struct itanium_parser *parser, uint16_t number)
{
    const struct itanium_node *node = &parser->nodes[number];
    if (parser->gave_up)
        return;
    switch ((enum itanium_kind)node->kind) {
    case ITANIUM_NAME:
    case ITANIUM_BUILTIN:
    case ITANIUM_STANDARD:
    case ITANIUM_CONSTRUCTOR:
        append(parser, node->text, node->size);
        break;
    case ITANIUM_DESTRUCTOR:
        append_char(parser, '~');
        append(parser, node->text, node->size);
        break;
    case ITANIUM_OPERATOR:
        append(parser, "operator", 8);
        if (node->text[0] >= 'a' && node->text[0] <= 'z')
            append_char(parser, ' ');
        append(parser, node->text, node->size);
        break;
    case ITANIUM_QUALIFIED:
        sxt_itanium_print(parser, node->left);
        append(parser, "::", 2);
        sxt_itanium_print(parser, node->right);
        break;
    case ITANIUM_TEMPLATE:
        sxt_itanium_print(parser, node->left);
        if (last_char(parser) == '<')
            append_char(parser, ' ');
        append_char(parser, '<');
        print_list(parser, node->right);
        if (last_char(parser) == '>')
            append_char(parser, ' ');
        append_char(parser, '>');
        break;
    case ITANIUM_LIST:
        print_list(parser, number);
        break;
    case ITANIUM_POINTER:
    case ITANIUM_REFERENCE:
    case ITANIUM_RVALUE_REFERENCE:
    case ITANIUM_CONST:
        print_modified(parser, node);
        break;
    case ITANIUM_PARAMETER:
        print_parameter(parser, number);
        break;
    case ITANIUM_LITERAL:
    case ITANIUM_NEGATIVE:
        print_literal(parser, node);
        break;
    }
}

/* Says whether the type of what a template function returns comes before the types of its parameters. */
static bool has_return_type(const struct itanium_parser *parser, uint16_t name)
{
    const struct itanium_node *node = &parser->nodes[name];
    if (node->kind != ITANIUM_TEMPLATE)
        return false;
    for (node = &parser->nodes[node->left]; node->kind == ITANIUM_QUALIFIED; node = &parser->nodes[node->right])
        ;
    return node->kind != ITANIUM_CONSTRUCTOR && node->kind != ITANIUM_DESTRUCTOR;
}

void sxt_itanium_print_function(struct itanium_parser *parser, uint16_t name, uint16_t types, bool is_const)
{
    const struct itanium_node *nodes = parser->nodes;
    parser->arguments = nodes[name].kind == ITANIUM_TEMPLATE ? nodes[name].right : 0;
    if (has_return_type(parser, name)) {
        sxt_itanium_print(parser, nodes[types].left);
        append_char(parser, ' ');
        types = nodes[types].right;
    }
    uint16_t arguments = parser->arguments;
    /* libiberty refuses a parameter in the arguments that define it. */
    parser->arguments = 0;
    sxt_itanium_print(parser, name);
    parser->arguments = arguments;
    append_char(parser, '(');
    const struct itanium_node *only = types != 0 && nodes[types].right == 0 ? &nodes[nodes[types].left] : NULL;
    if (types == 0)
        parser->gave_up = true;
    else if (only == NULL || only->kind != ITANIUM_BUILTIN || only->size != 4 || memcmp(only->text, "void", 4) != 0)
        print_list(parser, types);
    append_char(parser, ')');
    if (is_const)
        append(parser, " const", 6);
}
