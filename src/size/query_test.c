/* query_test.c: the fields that a query knows, and the tests that are made of field, operator and value. */
#include <math.h>
#include <string.h>

#include "base/byte_count.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "size/query_parse.h"

static const struct field_word flag_words[] = {
    {"anon", SXT_SIZE_ANONYMOUS},
    {"startup", SXT_SIZE_STARTUP},
    {"unlikely", SXT_SIZE_UNLIKELY},
    {"rel", SXT_SIZE_REL},
    {"rel.loc", SXT_SIZE_REL_LOCAL},
    {"gen", SXT_SIZE_GENERATED},
    {"generated", SXT_SIZE_GENERATED},
    {"clone", SXT_SIZE_CLONE},
    {"hot", SXT_SIZE_HOT},
    {"covered", SXT_SIZE_COVERED},
    {"uncompressed", SXT_SIZE_UNCOMPRESSED},
    {"feature", SXT_SIZE_FEATURE},
    {NULL, 0},
};

static const struct field_word status_words[] = {
    {"unchanged", 1U << SXT_SIZE_UNCHANGED},
    {"changed", 1U << SXT_SIZE_CHANGED},
    {"added", 1U << SXT_SIZE_ADDED},
    {"removed", 1U << SXT_SIZE_REMOVED},
    {NULL, 0},
};

static const struct field_word is_words[] = {
    {"template", IS_TEMPLATE},
    {"overhead", IS_OVERHEAD},
    {"padding-only", IS_PADDING_ONLY},
    {"literal", IS_LITERAL},
    {"generated", IS_GENERATED},
    {"placeholder", IS_PLACEHOLDER},
    {"bss", IS_BSS},
    {"native", IS_NATIVE},
    {"dex", IS_DEX},
    {"pak", IS_PAK},
    {"aliased", IS_ALIASED},
    {"toolchain", IS_TOOLCHAIN},
    {"on-demand", IS_ON_DEMAND},
    {"clone", IS_CLONE},
    {"attributed", IS_ATTRIBUTED},
    {NULL, 0},
};

static const struct field_word has_words[] = {
    {"path", HAS_PATH},           {"source", HAS_SOURCE},           {"object", HAS_OBJECT},
    {"component", HAS_COMPONENT}, {"address", HAS_ADDRESS},         {"padding", HAS_PADDING},
    {"flags", HAS_FLAGS},         {"disassembly", HAS_DISASSEMBLY}, {NULL, 0},
};

const struct field sxt_size_query_fields[] = {
    {"size", FIELD_SIZE, FIELD_NUMBER, true, true, NULL},
    {"pss", FIELD_PSS, FIELD_NUMBER, true, true, NULL},
    {"padding", FIELD_PADDING, FIELD_NUMBER, true, true, NULL},
    {"change", FIELD_CHANGE, FIELD_NUMBER, true, true, NULL},
    {"aliases", FIELD_ALIASES, FIELD_NUMBER, true, false, NULL},
    {"address", FIELD_ADDRESS, FIELD_NUMBER, true, false, NULL},
    {"count", FIELD_COUNT, FIELD_NUMBER, false, true, NULL},
    {"section", FIELD_SECTION, FIELD_TEXT, true, false, NULL},
    {"container", FIELD_CONTAINER, FIELD_TEXT, true, false, NULL},
    {"component", FIELD_COMPONENT, FIELD_TEXT, true, false, NULL},
    {"path", FIELD_PATH, FIELD_TEXT, true, false, NULL},
    {"source", FIELD_SOURCE, FIELD_TEXT, true, false, NULL},
    {"object", FIELD_OBJECT, FIELD_TEXT, true, false, NULL},
    {"full", FIELD_FULL_NAME, FIELD_TEXT, true, false, NULL},
    {"template", FIELD_TEMPLATE_NAME, FIELD_TEXT, true, false, NULL},
    {"name", FIELD_NAME, FIELD_TEXT, true, true, NULL},
    {"namespace", FIELD_NAMESPACE, FIELD_TEXT, true, false, NULL},
    {"flags", FIELD_FLAGS, FIELD_WORDS, true, false, flag_words},
    {"status", FIELD_STATUS, FIELD_WORDS, true, true, status_words},
    {"is", FIELD_IS, FIELD_WORDS, true, false, is_words},
    {"has", FIELD_HAS, FIELD_WORDS, true, false, has_words},
    {NULL, FIELD_NONE, FIELD_NUMBER, false, false, NULL},
};

const struct field *sxt_size_query_find_field(sxt_string name)
{
    for (const struct field *field = sxt_size_query_fields; field->name != NULL; field++)
        if (sxt_string_is(name, field->name))
            return field;
    return NULL;
}

uint32_t sxt_size_query_find_word(const struct field_word *words, sxt_string name)
{
    for (; words->name != NULL; words++)
        if (sxt_string_is(name, words->name))
            return words->bit;
    return 0;
}

const struct field *sxt_size_query_check_field(struct query_parser *parser, sxt_string word, size_t at)
{
    const struct field *field = sxt_size_query_find_field(word);
    bool of_groups = parser->query->key_count > 0;
    if (field == NULL)
        sxt_size_query_fail(
            parser, SXT_ERROR_USAGE, at,
            "no field named '%.*s'; fields are size, pss, padding, change, aliases, address, section, container, "
            "component, path, source, object, full, template, name, namespace, flags, status, is, has",
            (int)word.size, word.data);
    else if (of_groups && !field->of_groups)
        sxt_size_query_fail(
            parser, SXT_ERROR_USAGE, at,
            "a group has no %s; where after group takes size, pss, padding, change, count, name and status",
            field->name);
    else if (!of_groups && !field->of_items)
        sxt_size_query_fail(parser, SXT_ERROR_USAGE, at, "only groups have a %s, so it belongs after group",
                            field->name);
    else
        return field;
    return NULL;
}

/* --- numbers --- */

static bool fail_number(struct query_parser *parser, const struct field *field, sxt_string value)
{
    return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at,
                               "%s takes a number like 4k or a range like 1k-4k, not '%.*s'", field->name,
                               (int)(value.size < 60 ? value.size : 60), value.data);
}

/* Where the '-' between two numbers is; not one that is a sign. */
static size_t find_dash(sxt_string value)
{
    const char *dash = value.size > 1 ? memchr(value.data + 1, '-', value.size - 1) : NULL;
    return dash != NULL ? (size_t)(dash - value.data) : value.size;
}

/* A number for each operator becomes a range, whose ends are part of it. */
static bool set_range(struct query_parser *parser, const struct field *field, char sign, sxt_string value,
                      struct query_test *test)
{
    size_t dash = sign == ':' ? find_dash(value) : value.size;
    double low, high;
    if (!sxt_byte_count_parse(value.data, dash, &low))
        return fail_number(parser, field, value);
    high = low;
    if (dash < value.size && !sxt_byte_count_parse(value.data + dash + 1, value.size - dash - 1, &high))
        return fail_number(parser, field, value);
    test->low = sign == '<' || sign == 'l' ? -INFINITY : low;
    test->high = sign == '>' || sign == 'g' ? INFINITY : high;
    test->is_open = sign == '<' || sign == '>';
    return true;
}

/* Addresses need all of their 64 bits. The end of a range is exclusive, as with all addresses. */
static bool set_addresses(struct query_parser *parser, char sign, sxt_string value, struct query_test *test)
{
    size_t dash = sign == ':' ? find_dash(value) : value.size;
    uint64_t low, high;
    bool good = sxt_byte_count_parse_hexadecimal(value.data, dash, &low);
    high = low;
    if (good && dash < value.size)
        good = sxt_byte_count_parse_hexadecimal(value.data + dash + 1, value.size - dash - 1, &high);
    if (!good)
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at,
                                   "address takes a hexadecimal number or a range like 0x1000-0x2000, not '%.*s'",
                                   (int)(value.size < 60 ? value.size : 60), value.data);
    test->first = sign == '<' || sign == 'l' ? 0 : low;
    test->last = sign == '>' || sign == 'g' ? UINT64_MAX : high;
    test->is_inside = sign == ':' && dash == value.size;
    bool nothing = (sign == '>' && low == UINT64_MAX) || ((sign == '<' || dash < value.size) && high == 0);
    if (sign == '>')
        test->first++;
    if (sign == '<' || dash < value.size)
        test->last--;
    if (nothing) {
        test->first = 1;
        test->last = 0;
    }
    return true;
}

static bool set_number(struct query_parser *parser, const struct field *field, char sign, sxt_string value,
                       struct query_test *test)
{
    test->kind = TEST_RANGE;
    if (sign == '~')
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at,
                                   "%s is a number, which cannot match a pattern", field->name);
    if (field->field == FIELD_ADDRESS)
        return set_addresses(parser, sign, value, test);
    return set_range(parser, field, sign, value, test);
}

/* --- texts and words --- */

static bool set_pattern(struct query_parser *parser, sxt_string value, struct query_test *test)
{
    struct sxt_size_query *query = parser->query;
    sxt_error error;
    test->kind = TEST_MATCHES;
    if (query->pattern_count == QUERY_PATTERNS_MAX)
        return sxt_size_query_fail(parser, SXT_ERROR_LIMIT, parser->value_at,
                                   "the query has more than %d regular expressions", QUERY_PATTERNS_MAX);
    int status = sxt_size_query_compile_pattern(value, &query->patterns[query->pattern_count], &error);
    if (status != SXT_OK)
        return sxt_size_query_fail(parser, status, parser->value_at, "%s", error.text);
    test->pattern = &query->patterns[query->pattern_count++];
    return true;
}

static bool set_text(struct query_parser *parser, const struct field *field, char sign, sxt_string value,
                     struct query_test *test)
{
    if (sign == '~')
        return set_pattern(parser, value, test);
    if (sign != '=' && sign != ':')
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at,
                                   "%s is a text: it takes =, : (contains) and ~ (matches)", field->name);
    test->kind = sign == '=' ? TEST_EQUAL : TEST_CONTAINS;
    const char *copy = sxt_arena_copy(&parser->query->arena, value.data, value.size);
    if (copy == NULL)
        return sxt_size_query_fail(parser, SXT_ERROR_MEMORY, parser->value_at, "out of memory");
    test->text = (sxt_string){copy, value.size};
    return true;
}

/* "hot,startup": any of them. */
static bool set_words(struct query_parser *parser, const struct field *field, char sign, sxt_string value,
                      struct query_test *test)
{
    test->kind = TEST_WORDS;
    if (sign != '=' && sign != ':')
        return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at, "%s takes words, as in %s:%s",
                                   field->name, field->name, field->words[0].name);
    for (size_t start = 0; start <= value.size;) {
        const char *comma = start < value.size ? memchr(value.data + start, ',', value.size - start) : NULL;
        size_t end = comma != NULL ? (size_t)(comma - value.data) : value.size;
        sxt_string word = {value.data + start, end - start};
        uint32_t bit = sxt_size_query_find_word(field->words, word);
        if (bit == 0)
            return sxt_size_query_fail(parser, SXT_ERROR_USAGE, parser->value_at + start,
                                       "%s does not take '%.*s'; docs/query.md lists its words", field->name,
                                       (int)(word.size < 60 ? word.size : 60), word.data);
        test->bits |= bit;
        start = end + 1;
    }
    parser->query->asks_for_status |= field->field == FIELD_STATUS;
    return true;
}

static uint32_t add(struct query_parser *parser, const struct query_test *test)
{
    uint32_t node = sxt_size_query_add_node(parser, NODE_TEST, NO_NODE, NO_NODE);
    if (node != NO_NODE)
        parser->query->nodes[node].test = *test;
    return node;
}

uint32_t sxt_size_query_add_test(struct query_parser *parser, const struct field *field, struct query_operator sign,
                                 sxt_string value)
{
    struct query_test test = {.field = field->field};
    bool good = field->type == FIELD_NUMBER ? set_number(parser, field, sign.kind, value, &test)
                : field->type == FIELD_TEXT ? set_text(parser, field, sign.kind, value, &test)
                                            : set_words(parser, field, sign.kind, value, &test);
    return good ? add(parser, &test) : NO_NODE;
}

static bool is_exactly(sxt_string word, const char *text)
{
    return sxt_string_is(word, text);
}

uint32_t sxt_size_query_add_word(struct query_parser *parser, sxt_string word, size_t at)
{
    bool of_groups = parser->query->key_count > 0;
    if (is_exactly(word, "all"))
        return add(parser,
                   &(struct query_test){.field = FIELD_PSS, .kind = TEST_RANGE, .low = -INFINITY, .high = INFINITY});
    if (is_exactly(word, "padding"))
        return add(parser,
                   &(struct query_test){.field = FIELD_PADDING, .kind = TEST_RANGE, .high = INFINITY, .is_open = true});
    uint32_t bit = of_groups ? 0 : sxt_size_query_find_word(is_words, word);
    if (bit != 0)
        return add(parser, &(struct query_test){.field = FIELD_IS, .kind = TEST_WORDS, .bits = bit});
    sxt_size_query_fail(
        parser, SXT_ERROR_USAGE, at, "not a condition: '%.*s'; for names that contain it write name:%.*s",
        (int)(word.size < 60 ? word.size : 60), word.data, (int)(word.size < 60 ? word.size : 60), word.data);
    return NO_NODE;
}
