/*
 * query_private.h: a query, as its files share it. query_parse.c makes it, query_filter.c answers its filters, group.c
 * and group_keys.c group, and query.c runs the whole.
 */
#ifndef SXT_SIZE_QUERY_PRIVATE_H
#define SXT_SIZE_QUERY_PRIVATE_H

#include <regex.h>

#include "base/string.h"
#include "size/query.h"

/* What a query may cost at most; all are far above what people write. */
enum {
    QUERY_TEXT_MAX = 64 << 10,
    QUERY_NODES_MAX = 1000, /* tests, and, or, not */
    QUERY_DEPTH_MAX = 100,  /* of parentheses and "not" */
    QUERY_PATTERNS_MAX = 64,
    PATTERN_SIZE_MAX = 1000,
    PATTERN_DEPTH_MAX = 30,
    PATTERN_REPEATS_MAX = 1000 /* the product of nested {n} */
};

/* --- fields: what a test asks for --- */

enum query_field {
    FIELD_SIZE,
    FIELD_PSS,
    FIELD_PADDING,
    FIELD_CHANGE,
    FIELD_ALIASES,
    FIELD_ADDRESS,
    FIELD_COUNT,
    FIELD_SECTION,
    FIELD_CONTAINER,
    FIELD_COMPONENT,
    FIELD_PATH,
    FIELD_SOURCE,
    FIELD_OBJECT,
    FIELD_FULL_NAME,
    FIELD_TEMPLATE_NAME,
    FIELD_NAME,
    FIELD_NAMESPACE,
    FIELD_FLAGS,
    FIELD_STATUS,
    FIELD_IS,
    FIELD_HAS,
    FIELD_NONE
};

enum field_type { FIELD_NUMBER, FIELD_TEXT, FIELD_WORDS };

struct field_word {
    const char *name;
    uint32_t bit;
};

struct field {
    const char *name;
    enum query_field field;
    enum field_type type;
    bool of_items, of_groups;
    const struct field_word *words; /* that a field of words has; ends with name == NULL */
};
extern const struct field sxt_size_query_fields[]; /* ends with name == NULL */

const struct field *sxt_size_query_find_field(sxt_string name);

/* The bit of a word; 0 for none. */
uint32_t sxt_size_query_find_word(const struct field_word *words, sxt_string name);

enum is_bit {
    IS_TEMPLATE = 1 << 0,
    IS_OVERHEAD = 1 << 1,
    IS_PADDING_ONLY = 1 << 2,
    IS_LITERAL = 1 << 3,
    IS_GENERATED = 1 << 4,
    IS_PLACEHOLDER = 1 << 5,
    IS_BSS = 1 << 6,
    IS_NATIVE = 1 << 7,
    IS_DEX = 1 << 8,
    IS_PAK = 1 << 9,
    IS_ALIASED = 1 << 10,
    IS_TOOLCHAIN = 1 << 11,
    IS_ON_DEMAND = 1 << 12,
    IS_CLONE = 1 << 13,
    IS_ATTRIBUTED = 1 << 14
};

enum has_bit {
    HAS_PATH = 1 << 0,
    HAS_SOURCE = 1 << 1,
    HAS_OBJECT = 1 << 2,
    HAS_COMPONENT = 1 << 3,
    HAS_ADDRESS = 1 << 4,
    HAS_PADDING = 1 << 5,
    HAS_FLAGS = 1 << 6,
    HAS_DISASSEMBLY = 1 << 7
};

/* --- filters --- */

enum test_kind { TEST_EQUAL, TEST_CONTAINS, TEST_MATCHES, TEST_RANGE, TEST_WORDS };

/* Numbers are always a range: "size>4k" is one without an upper end. */
struct query_test {
    enum query_field field;
    enum test_kind kind;
    double low, high;
    bool is_open;         /* low and high themselves do not belong to it */
    uint64_t first, last; /* both belong to it; in place of low and high, of an address */
    bool is_inside;       /* does the symbol hold the address `first`? */
    sxt_string text;      /* of a section: a list with commas */
    uint32_t bits;
    const regex_t *pattern;
};

enum node_kind { NODE_TEST, NODE_AND, NODE_OR, NODE_NOT };
#define NO_NODE UINT32_MAX

struct query_node {
    enum node_kind kind;
    uint32_t left, right; /* nodes */
    struct query_test test;
};

enum sort_key { SORT_PSS, SORT_SIZE, SORT_PADDING, SORT_COUNT, SORT_ALIASES, SORT_NAME, SORT_ADDRESS };

enum group_key_kind {
    KEY_PATH,
    KEY_DIRECTORY,
    KEY_SOURCE,
    KEY_OBJECT,
    KEY_COMPONENT,
    KEY_SECTION,
    KEY_CONTAINER,
    KEY_NAME,
    KEY_TEMPLATE,
    KEY_FULL_NAME,
    KEY_NAMESPACE,
    KEY_ALIASES,
    KEY_STATUS,
    KEY_FLAGS,
    KEY_CRATE,
    KEY_PACKAGE,
    KEY_GENERATED
};

struct group_key {
    enum group_key_kind kind;
    const char *name;
    int depth; /* parts from the start, or from the end when negative; 0: all */
};

struct sxt_size_query {
    struct query_node nodes[QUERY_NODES_MAX];
    uint32_t node_count;
    uint32_t items_filter, groups_filter; /* nodes, or NO_NODE */
    struct group_key keys[SXT_SIZE_QUERY_KEYS];
    size_t key_count;
    sxt_string otherwise; /* the label of what has none; .data is NULL for the usual ones */
    bool drops_nameless;  /* leave it out instead */
    enum sort_key sort;
    bool ascending;
    uint64_t limit;
    bool asks_for_status;
    regex_t patterns[QUERY_PATTERNS_MAX];
    size_t pattern_count;
    struct sxt_arena arena; /* texts */
};

/* --- query_filter.c --- */

/* Answers that many items share are kept: by path, by component, by segment. Each run of a query has one. */
struct filter {
    const struct sxt_size_query *query;
    const struct sxt_size_query_subject *subject;
    uint8_t *answers[QUERY_NODES_MAX][2]; /* by node; of the earlier and of the later file */
    struct sxt_buffer buffer;             /* of derived names */
    struct sxt_size_derived_names names;  /* of the item that is asked for */
    bool has_names;
    bool failed; /* memory was short */
};

void sxt_filter_init(struct filter *filter, const struct sxt_size_query *query,
                     const struct sxt_size_query_subject *subject);
void sxt_filter_free(struct filter *filter);
bool sxt_filter_item(struct filter *filter, const struct sxt_size_query_item *item);
bool sxt_filter_group(struct filter *filter, const struct sxt_size_result_row *row, sxt_string label);

/* --- items, for the files of the language --- */

sxt_string sxt_size_query_source(const struct sxt_size_query_item *item);
sxt_string sxt_size_query_object(const struct sxt_size_query_item *item);
sxt_string
sxt_size_query_path(const struct sxt_size_query_item *item); /* the source, or the object when there is none */
sxt_string sxt_size_query_component(const struct sxt_size_query_item *item);
const struct sxt_size_segment *sxt_size_query_segment(const struct sxt_size_query_item *item); /* NULL for none */
bool sxt_size_query_is_literal(sxt_string full_name);
bool sxt_size_query_is_generated(const struct sxt_size_query_item *item);

/* --- group_keys.c --- */

/* A group key by its name; false for none. */
bool sxt_group_find_key(sxt_string name, struct group_key *out);

/* Does it take a depth? */
bool sxt_group_has_depth(const struct group_key *key);

/* The label of an item: a view into its texts, into NAMES or into BUFFER. Empty when it has none. */
sxt_string sxt_group_label(const struct group_key *key, const struct sxt_size_query_item *item,
                           const struct sxt_size_derived_names *names, struct sxt_buffer *buffer);
bool sxt_group_needs_names(const struct group_key *key);

/* What is shown for items that have none. */
const char *sxt_group_nameless(const struct group_key *key);

/* Everything before the last "::" of a name, by depth. */
sxt_string sxt_group_namespace(const struct sxt_size_query_item *item, sxt_string name, int depth);

/* --- rust_module.c --- */

/* Is it the name of a function of Rust, or of something else that only Rust has? LETTER is that of the section. */
bool sxt_size_is_rust(char letter, sxt_string full_name);

/* The crate and modules of a name of Rust, as a part of it; "" if it has none. */
sxt_string sxt_size_rust_module(sxt_string full_name);

/* --- group.c --- */

struct groups {
    const struct sxt_size_query *query;
    const struct sxt_size_query_subject *subject;
    struct sxt_strings *texts; /* labels */
    struct sxt_strings keys;   /* the labels of a group, as bytes: its number is that of the group, plus 1 */
    struct group_sum *sums;
    size_t count, capacity;
    struct sxt_buffer buffer, names_buffer;
};

/* The sums of a row, while items are added. */
struct group_sum {
    struct sxt_size_result_row row; /* without items that are in memory only */
    double bss_pss;
    int64_t bss_size, bss_padding;
    uint64_t bss_count;
    uint32_t last_aliases; /* the list of aliases that was added last, which count once */
};

void sxt_group_start_sum(struct group_sum *sum);
void sxt_group_add_to_sum(struct group_sum *sum, const struct sxt_size_query_item *item, size_t index);

/* The row of a sum: what is in memory only counts when there is nothing else. */
struct sxt_size_result_row sxt_group_finish_sum(const struct group_sum *sum);

int sxt_groups_init(struct groups *groups, const struct sxt_size_query *query,
                    const struct sxt_size_query_subject *subject, struct sxt_strings *texts, sxt_error *error);
int sxt_groups_add(struct groups *groups, const struct sxt_size_query_item *item, size_t index, sxt_error *error);
void sxt_groups_free(struct groups *groups);

#endif
