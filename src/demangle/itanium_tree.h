/*
 * itanium_tree.h: the tree of a C++ name, which itanium.c parses and itanium_print.c prints. Private to this room.
 */
#ifndef SXT_DEMANGLE_ITANIUM_TREE_H
#define SXT_DEMANGLE_ITANIUM_TREE_H

#include <stdbool.h>
#include <stdint.h>

#define ITANIUM_NODES_MAX         320
#define ITANIUM_SUBSTITUTIONS_MAX 96
#define ITANIUM_TEXT_MAX          4096

enum itanium_kind {
    ITANIUM_NAME,      /* text */
    ITANIUM_QUALIFIED, /* left::right */
    ITANIUM_TEMPLATE,  /* left<right> */
    ITANIUM_LIST,      /* left, then the list on the right */
    ITANIUM_BUILTIN,   /* text; number is how a literal of the type is written */
    ITANIUM_POINTER,   /* left* */
    ITANIUM_REFERENCE,
    ITANIUM_RVALUE_REFERENCE,
    ITANIUM_CONST,
    ITANIUM_PARAMETER,   /* number of the template parameter */
    ITANIUM_STANDARD,    /* text: a name of the standard library that is abbreviated */
    ITANIUM_CONSTRUCTOR, /* text: the name of the class */
    ITANIUM_DESTRUCTOR,
    ITANIUM_OPERATOR, /* text */
    ITANIUM_LITERAL,  /* left is the type, text the digits */
    ITANIUM_NEGATIVE, /* the same below 0 */
};

/* How libiberty writes a literal of a type. */
enum itanium_literal {
    ITANIUM_NONE,
    ITANIUM_CAST,
    ITANIUM_PLAIN,
    ITANIUM_SUFFIX_U,
    ITANIUM_SUFFIX_L,
    ITANIUM_SUFFIX_UL,
    ITANIUM_SUFFIX_LL,
    ITANIUM_SUFFIX_ULL,
    ITANIUM_BOOLEAN
};

struct itanium_node {
    uint8_t kind;
    uint16_t number;
    uint16_t left, right; /* 0: none */
    uint32_t size;
    const char *text;
};

struct itanium_parser {
    const char *at, *end;
    struct itanium_node nodes[ITANIUM_NODES_MAX]; /* the first one is not used */
    unsigned node_count;
    uint16_t substitutions[ITANIUM_SUBSTITUTIONS_MAX];
    unsigned substitution_count;
    uint16_t last_name; /* the class that a constructor belongs to; 0 if unknown */
    unsigned depth;
    /* The printer. */
    char text[ITANIUM_TEXT_MAX];
    unsigned size;
    uint16_t arguments; /* of the template function, for its parameters; 0: none */
    bool gave_up;
};

/* Prints the node NUMBER to the text of PARSER. Sets gave_up if libiberty must decode the name. */
void sxt_itanium_print(struct itanium_parser *parser, uint16_t number);

/* The same for the function NAME whose parameters, and before them what a template returns, are the list TYPES. */
void sxt_itanium_print_function(struct itanium_parser *parser, uint16_t name, uint16_t types, bool is_const);

#endif
