/* private.h: what the parts of the writer share: the names in order, and the tokens chosen for them. */
#ifndef SXT_KSYM_PRIVATE_H
#define SXT_KSYM_PRIVATE_H

#include "ksym/ksym.h"

/* The names of a list, each once, in the order of their bytes. A place is a number in that order. */
struct sxt_ksym_order {
    const sxt_string *views; /* the list's, by the number of the string */
    size_t count;
    uint32_t *numbers;  /* by place: the string */
    uint32_t *place_of; /* by the number of a string: its place; only for those that are names */
    uint32_t *common;   /* by place: bytes shared with the name before; count + 1 items, the last is 0 */
    uint32_t *records;  /* by place: how many records have this name */
    uint32_t *sequence; /* the symbols of the list by name, equal names in the order of the list */
    uint32_t *starts;   /* by place: where its symbols begin in the sequence; count + 1 items */
};

/* There is one record per symbol, or with SHARED one for each type that a name has. */
int sxt_ksym_order_make(struct sxt_ksym_order *order, const struct sxt_ksym_list *list, bool shared, sxt_error *error);
void sxt_ksym_order_free(struct sxt_ksym_order *order);

static inline sxt_string sxt_ksym_order_name(const struct sxt_ksym_order *order, size_t place)
{
    return order->views[order->numbers[place]];
}

/* A token is the first LENGTH bytes of the names at the places from FIRST to END - 1. */
struct sxt_ksym_token {
    uint32_t first;
    uint32_t end;
    uint32_t length;
    uint32_t uses; /* records that begin with it */
};

#define SXT_KSYM_NO_TOKEN UINT16_MAX

struct sxt_ksym_choice {
    struct sxt_ksym_token tokens[SXT_KSYM_TOKENS_WRITTEN]; /* by id */
    size_t count;
    int64_t most_saved; /* an upper bound of what any choice saves */
};

/* The tokens that save the most, or nearly so. */
int sxt_ksym_choose_saving(struct sxt_ksym_choice *choice, const struct sxt_ksym_order *order, sxt_error *error);

/*
 * The tokens that the reference generator chooses. Among equal ones it picks at random; here the first in the list
 * wins.
 */
int sxt_ksym_choose_reference(struct sxt_ksym_choice *choice, const struct sxt_ksym_order *order, sxt_error *error);

/* The smallest length of a token that the reference generator tries when it encodes. */
#define SXT_KSYM_REFERENCE_SHORTEST 10

/* The number of bytes that refer to a token in a record. */
static inline uint32_t sxt_ksym_marker_size(size_t id)
{
    return id < 256 ? 3 : 4;
}

#endif
