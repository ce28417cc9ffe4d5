/*
 * itanium_parser.h: the state of the decoder of common C++ names, and the text that it makes. Private to this room.
 *
 * The text is made in one pass. What may be repeated later (a substitution, a template argument) is remembered as a
 * part of the text, and copied from there. What a function returns is mangled after its name, and put before it at the
 * end.
 */
#ifndef SXT_DEMANGLE_ITANIUM_PARSER_H
#define SXT_DEMANGLE_ITANIUM_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ITANIUM_TEXT_MAX          4096
#define ITANIUM_SUBSTITUTIONS_MAX 96
#define ITANIUM_ARGUMENTS_MAX     32
#define ITANIUM_DEPTH_MAX         64
#define ITANIUM_BLOCK             16 /* short text is copied as a block, which is faster than copying its exact size */

/* What a part of a name is. */
enum itanium_kind {
    ITANIUM_GAVE_UP,  /* libiberty must decode the name */
    ITANIUM_NAME,     /* names can be in it, and template arguments can follow it */
    ITANIUM_STANDARD, /* the same: an abbreviation, which is not a new substitution */
    ITANIUM_OPERATOR,
    ITANIUM_CONSTRUCTOR, /* or a destructor */
    ITANIUM_BUILTIN,
    ITANIUM_VOID,
    ITANIUM_POINTER,
    ITANIUM_REFERENCE,
    ITANIUM_RVALUE_REFERENCE,
    ITANIUM_CONST,
    ITANIUM_LITERAL,
    ITANIUM_PACK,      /* several template arguments that are one */
    ITANIUM_EXPANSION, /* of a pack; a part of the pattern is different for each element */
};

/* A part of the text. */
struct itanium_part {
    uint16_t start, size;
    uint8_t kind;
    bool is_parameter;    /* of a template; the kind is that of the argument */
    uint8_t first, count; /* of a pack: its elements in the parser's `elements` */
};

struct itanium_parser {
    const char *at, *end; /* of the mangled name */
    unsigned size;        /* of the text */
    unsigned removed_at;  /* the size of the text when a comma was removed from its end */
    unsigned removed;     /* bytes of commas that were removed */
    unsigned depth;
    unsigned substitution_count, argument_count, element_count;
    bool in_signature; /* only there template parameters have a meaning */
    bool overflowed;
    bool expands;        /* a pack */
    unsigned pack_index; /* the element that is expanded */
    unsigned pack_size;  /* UINT_MAX until the pattern has named a pack */
    struct itanium_part substitutions[ITANIUM_SUBSTITUTIONS_MAX];
    struct itanium_part arguments[ITANIUM_ARGUMENTS_MAX]; /* of the function, if it is a template */
    struct itanium_part elements[ITANIUM_ARGUMENTS_MAX];  /* of the packs among them */
    char text[ITANIUM_TEXT_MAX + 2 * ITANIUM_BLOCK];
};

/* What is known of the name of a function. */
struct itanium_function {
    bool is_const;
    bool is_template;    /* its last part has template arguments */
    bool is_constructor; /* or a destructor */
};

/* --- itanium.c: names --- */

/* The name of a type, or of *FUNCTION unless that is NULL. Appends it to the text. */
enum itanium_kind sxt_itanium_name(struct itanium_parser *parser, struct itanium_function *function);

/* S_, S0_ ..., or an abbreviation like Sa; not St. In a PREFIX, a constructor would expand an abbreviation. */
struct itanium_part sxt_itanium_substitution(struct itanium_parser *parser, bool prefix);

/* --- itanium_type.c: types, and lists of them --- */

/* Appends a type, and says what it is. */
struct itanium_part sxt_itanium_type(struct itanium_parser *parser);

/* I, arguments, E. RECORDED: they belong to the function, and parameters stand for them. */
bool sxt_itanium_arguments(struct itanium_parser *parser, bool recorded);

/* The types of the parameters, up to the end or to the suffix of a clone. */
bool sxt_itanium_parameters(struct itanium_parser *parser);

/* --- the mangled name --- */

static inline char itanium_peek(const struct itanium_parser *parser)
{
    return parser->at < parser->end ? *parser->at : 0;
}

static inline char itanium_peek_next(const struct itanium_parser *parser)
{
    return parser->end - parser->at > 1 ? parser->at[1] : 0;
}

static inline bool itanium_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool itanium_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool itanium_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Can names be in it, and template arguments follow it? */
static inline bool itanium_is_name(enum itanium_kind kind)
{
    return kind == ITANIUM_NAME || kind == ITANIUM_STANDARD;
}

/* --- the text --- */

static inline bool itanium_has_room(struct itanium_parser *parser, size_t size)
{
    bool has_room = size <= ITANIUM_TEXT_MAX - parser->size;
    parser->overflowed |= !has_room;
    return has_room;
}

/* Appends text of which a whole block can be read. What follows the text may overlap with the place for it. */
static inline void itanium_append_block(struct itanium_parser *parser, const char *text, size_t size)
{
    if (!itanium_has_room(parser, size))
        return;
    memmove(parser->text + parser->size, text, ITANIUM_BLOCK);
    if (size > ITANIUM_BLOCK)
        memcpy(parser->text + parser->size + ITANIUM_BLOCK, text + ITANIUM_BLOCK, size - ITANIUM_BLOCK);
    parser->size += (unsigned)size;
}

static inline void itanium_append(struct itanium_parser *parser, const char *text, size_t size)
{
    if (!itanium_has_room(parser, size))
        return;
    memcpy(parser->text + parser->size, text, size);
    parser->size += (unsigned)size;
}

static inline void itanium_append_char(struct itanium_parser *parser, char c)
{
    if (!itanium_has_room(parser, 1))
        return;
    parser->text[parser->size++] = c;
}

/* Appends a part of the text once more. */
static inline void itanium_repeat(struct itanium_parser *parser, const struct itanium_part *part)
{
    if (part->size <= ITANIUM_BLOCK)
        itanium_append_block(parser, parser->text + part->start, part->size);
    else
        itanium_append(parser, parser->text + part->start, part->size);
}

/* The last letter that was printed; a comma that was removed was followed by a space. */
static inline char itanium_last(const struct itanium_parser *parser)
{
    return parser->size == 0 ? 0 : parser->removed_at == parser->size ? ' ' : parser->text[parser->size - 1];
}

/* Remembers PART, which ends where the text ends; false if there are too many parts. */
static inline bool itanium_substitute_later(struct itanium_parser *parser, struct itanium_part part)
{
    if (parser->substitution_count == ITANIUM_SUBSTITUTIONS_MAX)
        return false;
    part.size = (uint16_t)(parser->size - part.start);
    parser->substitutions[parser->substitution_count++] = part;
    return true;
}

#endif
