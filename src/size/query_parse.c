/*
 * query_parse.c: from text to a query.
 *
 *     query   = [filter | @name] { "|" stage }
 *     stage   = "where" filter | "group" ["by"] key {"," key} ["else" (label | "drop")]
 *             | "sort" ["by"] what ["asc" | "desc"] | "limit" number | @name
 *     filter  = and-terms {"or" and-terms}        and-terms = term {["and"] term}
 *     term    = ("not" | "!") term | "(" filter ")" | field operator value | word
 *
 * A value is quoted, or ends at a space, at "|" or at a ")" that it does not open. The parser reads characters
 * directly; there is no list of tokens. query_test.c makes tests from field, operator and value.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_count.h"
#include "base/error.h"
#include "base/string.h"
#include "size/query_parse.h"

static bool parse_query(struct query_parser *parser, bool is_canned);

int sxt_size_query_parse(const char *text, size_t size, struct sxt_size_query **out, sxt_error *error)
{
    *out = NULL;
    sxt_error_clear(error);
    struct sxt_size_query *query = calloc(1, sizeof *query);
    if (query == NULL)
        return sxt_fail_memory(error, sizeof *query);
    sxt_arena_init(&query->arena, (size_t)4 << 20, sxt_arena_separate_default);
    query->items_filter = query->groups_filter = NO_NODE;
    query->limit = UINT64_MAX;
    struct query_parser parser = {.text = text, .size = size, .query = query, .error = error, .status = SXT_OK};
    if (size > QUERY_TEXT_MAX)
        sxt_size_query_fail(&parser, SXT_ERROR_LIMIT, 0, "the query is longer than %d bytes", QUERY_TEXT_MAX);
    else
        parse_query(&parser, false);
    if (parser.status != SXT_OK)
        sxt_size_query_free(&query);
    *out = query;
    return parser.status;
}

void sxt_size_query_free(struct sxt_size_query **query)
{
    if (*query == NULL)
        return;
    for (size_t i = 0; i < (*query)->pattern_count; i++)
        regfree(&(*query)->patterns[i]);
    sxt_arena_free(&(*query)->arena);
    free(*query);
    *query = NULL;
}

bool sxt_size_query_fail(struct query_parser *parser, sxt_status code, size_t at, const char *format, ...)
{
    if (parser->status != SXT_OK)
        return false;
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    parser->status = sxt_fail(parser->error, code, SXT_NO_OFFSET, "column %zu: %s", at + 1, text);
    if (parser->error != NULL)
        parser->error->offset = at;
    return false;
}

/* --- characters --- */

static void skip_space(struct query_parser *parser)
{
    while (parser->at < parser->size && strchr(" \t\r\n", parser->text[parser->at]) != NULL && parser->text[parser->at])
        parser->at++;
}

/* The next character that is not a space; 0 at the end. */
static char peek(struct query_parser *parser)
{
    skip_space(parser);
    return parser->at < parser->size ? parser->text[parser->at] : 0;
}

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* The word that is next, which may be empty; it is not taken. */
static sxt_string peek_word(struct query_parser *parser)
{
    skip_space(parser);
    size_t end = parser->at;
    while (end < parser->size && is_word_character(parser->text[end]))
        end++;
    return (sxt_string){parser->text + parser->at, end - parser->at};
}

static bool take_word(struct query_parser *parser, const char *word)
{
    sxt_string next = peek_word(parser);
    if (!sxt_string_is(next, word))
        return false;
    parser->at += next.size;
    return true;
}

static bool take_character(struct query_parser *parser, char wanted)
{
    if (peek(parser) != wanted)
        return false;
    parser->at++;
    return true;
}

static bool take_quoted(struct query_parser *parser, sxt_string *out)
{
    size_t start = parser->at;
    const char *from = parser->text + start + 1;
    const char *end = memchr(from, parser->text[start], parser->size - start - 1);
    if (end == NULL)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, start, "the quote is not closed");
    *out = (sxt_string){from, (size_t)(end - from)};
    parser->at = start + 2 + out->size;
    return true;
}

/* A value is the rest of a word. It may have parentheses: path~^(a|b)/ needs no quotes. STOP ends it too. */
static bool take_value(struct query_parser *parser, const char *stop, sxt_string *out)
{
    char first = peek(parser);
    parser->value_at = parser->at;
    if (first == '"' || first == '\'')
        return take_quoted(parser, out);
    size_t open = 0, end = parser->at;
    for (; end < parser->size; end++) {
        char c = parser->text[end];
        if (c == 0 || strchr(" \t\r\n", c) != NULL || (open == 0 && strchr(stop, c) != NULL) || (c == ')' && open == 0))
            break;
        if (c == '\\' && end + 1 < parser->size && parser->text[end + 1] != 0)
            end++;
        else if (c == '(')
            open++;
        else if (c == ')')
            open--;
    }
    *out = (sxt_string){parser->text + parser->at, end - parser->at};
    if (out->size == 0)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->at, "the value is missing");
    parser->at = end;
    return true;
}

/* --- filters --- */

static uint32_t parse_or(struct query_parser *parser, unsigned depth);

uint32_t sxt_size_query_add_node(struct query_parser *parser, enum node_kind kind, uint32_t left, uint32_t right)
{
    struct sxt_size_query *query = parser->query;
    if (parser->status != SXT_OK)
        return NO_NODE;
    if (query->node_count == QUERY_NODES_MAX) {
        sxt_size_query_fail(parser, SXT_ERROR_LIMIT, parser->at, "the query has more than %d parts", QUERY_NODES_MAX);
        return NO_NODE;
    }
    query->nodes[query->node_count] = (struct query_node){.kind = kind, .left = left, .right = right};
    return query->node_count++;
}

static bool take_operator(struct query_parser *parser, struct query_operator *out)
{
    static const struct query_operator known[] = {
        {"!=", '=', true},  {"!~", '~', true},  {"!:", ':', true},  {">=", 'g', false},
        {"<=", 'l', false}, {"==", '=', false}, {"=~", '~', false}, {"=", '=', false},
        {"~", '~', false},  {":", ':', false},  {">", '>', false},  {"<", '<', false},
    };
    skip_space(parser);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t size = strlen(known[i].text);
        if (parser->size - parser->at < size || memcmp(parser->text + parser->at, known[i].text, size) != 0)
            continue;
        parser->at += size;
        *out = known[i];
        return true;
    }
    return false;
}

static uint32_t parse_test(struct query_parser *parser)
{
    sxt_string word = peek_word(parser), value;
    size_t at = parser->at;
    struct query_operator sign;
    if (word.size == 0) {
        sxt_size_query_fail(parser, SXT_ERROR_USAGE, at,
                            at == parser->size ? "a condition is missing at the end"
                                               : "expected a condition like size>1k");
        return NO_NODE;
    }
    parser->at += word.size;
    if (!take_operator(parser, &sign))
        return sxt_size_query_add_word(parser, word, at);
    const struct field *field = sxt_size_query_check_field(parser, word, at);
    if (field == NULL || !take_value(parser, "|", &value))
        return NO_NODE;
    uint32_t node = sxt_size_query_add_test(parser, field, sign, value);
    return sign.is_negated && node != NO_NODE ? sxt_size_query_add_node(parser, NODE_NOT, node, NO_NODE) : node;
}

static uint32_t parse_term(struct query_parser *parser, unsigned depth)
{
    size_t at = parser->at;
    if (depth > QUERY_DEPTH_MAX) {
        sxt_size_query_fail(parser, SXT_ERROR_LIMIT, at, "the query nests deeper than %d levels", QUERY_DEPTH_MAX);
        return NO_NODE;
    }
    if (take_character(parser, '!') || take_word(parser, "not")) {
        uint32_t inner = parse_term(parser, depth + 1);
        return sxt_size_query_add_node(parser, NODE_NOT, inner, NO_NODE);
    }
    if (!take_character(parser, '('))
        return parse_test(parser);
    at = parser->at - 1;
    uint32_t inner = parse_or(parser, depth + 1);
    if (parser->status == SXT_OK && !take_character(parser, ')'))
        sxt_size_query_fail(parser, SXT_ERROR_USAGE, at, "the parenthesis is not closed");
    return inner;
}

static bool is_word(sxt_string text, const char *word)
{
    return sxt_string_is(text, word);
}

static uint32_t parse_and(struct query_parser *parser, unsigned depth)
{
    uint32_t left = parse_term(parser, depth);
    while (parser->status == SXT_OK) {
        char next = peek(parser);
        if (parser->at == parser->size || next == ')' || next == '|' || is_word(peek_word(parser), "or"))
            break;
        take_word(parser, "and");
        uint32_t right = parse_term(parser, depth);
        left = sxt_size_query_add_node(parser, NODE_AND, left, right);
    }
    return left;
}

static uint32_t parse_or(struct query_parser *parser, unsigned depth)
{
    uint32_t left = parse_and(parser, depth);
    while (parser->status == SXT_OK && take_word(parser, "or")) {
        uint32_t right = parse_and(parser, depth);
        left = sxt_size_query_add_node(parser, NODE_OR, left, right);
    }
    return left;
}

/* A filter at the beginning or after "where": of items before "group", of groups after it. */
static bool parse_filter(struct query_parser *parser)
{
    struct sxt_size_query *query = parser->query;
    uint32_t *filter = query->key_count > 0 ? &query->groups_filter : &query->items_filter;
    uint32_t node = parse_or(parser, 0);
    if (*filter != NO_NODE)
        node = sxt_size_query_add_node(parser, NODE_AND, *filter, node);
    *filter = node;
    return parser->status == SXT_OK;
}

/* --- stages --- */

static bool parse_depth(struct query_parser *parser, struct group_key *key)
{
    sxt_string value;
    if (!take_character(parser, ':'))
        return true;
    if (!take_value(parser, "|,", &value))
        return false;
    if (!sxt_group_has_depth(key))
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at, "grouping by %s has no depth", key->name);
    double depth;
    if (!sxt_byte_count_parse(value.data, value.size, &depth) || depth < -100 || depth > 100 || depth != (int)depth)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at, "a depth is a whole number, not '%.*s'",
                                   (int)value.size, value.data);
    key->depth = (int)depth;
    return true;
}

static bool parse_key(struct query_parser *parser)
{
    struct sxt_size_query *query = parser->query;
    sxt_string word = peek_word(parser);
    if (query->key_count == SXT_SIZE_QUERY_KEYS)
        return sxt_size_query_fail(parser, SXT_ERROR_LIMIT, parser->at, "a query groups by %d keys at most",
                                   SXT_SIZE_QUERY_KEYS);
    struct group_key *key = &query->keys[query->key_count];
    if (!sxt_group_find_key(word, key))
        return sxt_size_query_fail(
            parser, SXT_ERROR_USAGE, parser->at,
            "cannot group by '%.*s'; keys are path, directory, source, object, component, section, container, "
            "name, template, full, namespace, aliases, status, flags, crate, package, generated",
            (int)word.size, word.data);
    parser->at += word.size;
    query->asks_for_status |= key->kind == KEY_STATUS;
    query->key_count++;
    return parse_depth(parser, key);
}

static bool parse_group(struct query_parser *parser, size_t at)
{
    struct sxt_size_query *query = parser->query;
    if (query->key_count > 0)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, at,
                                   "the query is grouped already; write several keys in one list: group a, b");
    take_word(parser, "by");
    do
        if (!parse_key(parser))
            return false;
    while (take_character(parser, ','));
    sxt_string label;
    if (!take_word(parser, "else"))
        return true;
    char first = peek(parser);
    if (!take_value(parser, "|", &label))
        return false;
    if (first != '"' && first != '\'' && is_word(label, "drop")) {
        query->drops_nameless = true;
        return true;
    }
    const char *copy = sxt_arena_copy(&query->arena, label.data, label.size);
    if (copy == NULL)
        return sxt_size_query_fail(parser, SXT_ERROR_MEMORY, at, "out of memory");
    query->otherwise = (sxt_string){copy, label.size};
    return true;
}

static bool parse_sort(struct query_parser *parser)
{
    static const struct {
        const char *name;
        enum sort_key key;
    } known[] = {{"pss", SORT_PSS},         {"size", SORT_SIZE}, {"padding", SORT_PADDING}, {"count", SORT_COUNT},
                 {"aliases", SORT_ALIASES}, {"name", SORT_NAME}, {"address", SORT_ADDRESS}};
    struct sxt_size_query *query = parser->query;
    take_word(parser, "by");
    sxt_string word = peek_word(parser);
    size_t found = 0, count = sizeof known / sizeof *known;
    while (found < count && !is_word(word, known[found].name))
        found++;
    if (found == count)
        return sxt_size_query_fail(
            parser, SXT_ERROR_USAGE, parser->at,
            "cannot sort by '%.*s'; sort takes pss, size, padding, count, aliases, name, address", (int)word.size,
            word.data);
    parser->at += word.size;
    query->sort = known[found].key;
    query->ascending = query->sort == SORT_NAME || query->sort == SORT_ADDRESS;
    if (take_word(parser, "desc"))
        query->ascending = false;
    else if (take_word(parser, "asc"))
        query->ascending = true;
    return true;
}

static bool parse_limit(struct query_parser *parser)
{
    sxt_string value;
    double limit;
    if (!take_value(parser, "|", &value))
        return false;
    if (!sxt_byte_count_parse(value.data, value.size, &limit) || limit < 0 || limit > 1e15)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at, "a limit is a number of rows, not '%.*s'",
                                   (int)value.size, value.data);
    if ((uint64_t)limit < parser->query->limit)
        parser->query->limit = (uint64_t)limit;
    parser->is_limited = true;
    return true;
}

/* "@name" is replaced by the canned query. */
static bool parse_canned(struct query_parser *parser)
{
    size_t at = parser->at++;
    sxt_string word = peek_word(parser);
    for (const struct sxt_size_canned_query *one = sxt_size_canned_queries; one->name != NULL; one++) {
        if (!is_word(word, one->name))
            continue;
        struct query_parser inside = *parser;
        inside.text = one->text;
        inside.size = strlen(one->text);
        inside.at = 0;
        if (parser->query->key_count > 0)
            return sxt_size_query_fail(parser, SXT_ERROR_USAGE, at,
                                       "the query is grouped already, so @%s cannot follow", one->name);
        parser->at += word.size;
        parse_query(&inside, true);
        parser->status = inside.status;
        return parser->status == SXT_OK;
    }
    sxt_size_query_fail(parser, SXT_ERROR_USAGE, at, "no query named '@%.*s'", (int)word.size, word.data);
    if (parser->error != NULL)
        parser->error->reason = SXT_REASON_UNKNOWN_QUERY;
    return false;
}

static bool parse_stage(struct query_parser *parser)
{
    sxt_string word = peek_word(parser);
    size_t at = parser->at;
    if (take_word(parser, "limit"))
        return parse_limit(parser);
    if (parser->is_limited)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, at, "only another limit can follow a limit");
    if (take_word(parser, "where"))
        return parse_filter(parser);
    if (take_word(parser, "group"))
        return parse_group(parser, at);
    if (take_word(parser, "sort"))
        return parse_sort(parser);
    if (peek(parser) == '@')
        return parse_canned(parser);
    return sxt_size_query_fail(parser, SXT_ERROR_USAGE, at,
                               "expected where, group, sort, limit or @name after '|', not '%.*s'", (int)word.size,
                               word.data);
}

static bool parse_query(struct query_parser *parser, bool is_canned)
{
    char first = peek(parser);
    if (first == '@' && !is_canned && !parse_canned(parser))
        return false;
    if (first != '@' && first != '|' && parser->at < parser->size && !parse_filter(parser))
        return false;
    while (take_character(parser, '|'))
        if (!parse_stage(parser))
            return false;
    if (peek(parser) == ')')
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->at, "the parenthesis is not opened");
    if (parser->at < parser->size)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->at, "expected '|' and a stage, or the end");
    return true;
}
