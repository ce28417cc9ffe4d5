/* query_parse.h: the parser of queries, and query_test.c, which makes tests of fields, operators and values for it. */
#ifndef SXT_SIZE_QUERY_PARSE_H
#define SXT_SIZE_QUERY_PARSE_H

#include "size/query_private.h"

struct query_parser {
    const char *text;
    size_t size, at;
    size_t value_at; /* where the value began that was taken last */
    struct sxt_size_query *query;
    sxt_error *error;
    int status;
    bool is_limited;
};

struct query_operator {
    const char *text;
    char kind; /* '=', ':', '~', '<', '>', 'l' for <=, 'g' for >= */
    bool is_negated;
};

/* Notes what is wrong in column AT + 1, unless something was wrong before. Returns false. */
bool sxt_size_query_fail(struct query_parser *parser, sxt_status code, size_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* These return NO_NODE when they failed. */
uint32_t sxt_size_query_add_node(struct query_parser *parser, enum node_kind kind, uint32_t left, uint32_t right);
uint32_t sxt_size_query_add_test(struct query_parser *parser, const struct field *field, struct query_operator sign,
                                 sxt_string value);

/* A word without an operator: "padding", "template". */
uint32_t sxt_size_query_add_word(struct query_parser *parser, sxt_string word, size_t at);

/* The field of that name, if it can be asked for in this place; NULL otherwise. */
const struct field *sxt_size_query_check_field(struct query_parser *parser, sxt_string word, size_t at);

#endif
