/*
 * tokens.c: chooses the prefixes of names that become tokens, so that the blob is as small as possible.
 *
 * A name begins with at most one token, the longest that fits. A token costs its bytes and its start, and saves its
 * length less the marker in every record that begins with it. Only prefixes where names diverge are candidates, and
 * they form a tree. A token v below a token u makes records(v) records shorter by value(v) - value(u) each, where the
 * value is the length less the marker. So a choice saves the sum over its tokens of
 *
 *     records(v) * (value(v) - value(nearest token above v, or 0)) - cost(v)
 *
 * Without limits the best choice comes from one walk up the tree: for every candidate, and for each that could be the
 * nearest token above it, the most that its subtree saves. The two limits (so many tokens, and so many with a marker of
 * three bytes) are prices: every token pays `price`, and one with a short marker pays `short_price` on top. Higher
 * prices make fewer tokens; the right ones are found by search. What is saved at given prices, plus the prices of all
 * tokens that the limits allow, is also a bound: no choice within the limits saves more.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/sort.h"
#include "ksym/private.h"

#define SHORT_MARKERS  256
#define START_SIZE     4 /* bytes of an entry of token_starts */
#define CANDIDATES_MAX 6144
#define STATES_MAX     ((size_t)1 << 21) /* a tree deeper than real names make it gets fewer candidates */
#define ROUNDS         4                 /* of finding the price of a short marker */
#define NOBODY         UINT32_MAX

/*
 * The state of a candidate is the nearest token above it: 0 for none, then two states for each candidate from the top
 * down, 1 + 2 * depth with a short marker and 2 + 2 * depth with a long one. In the last two states the candidate is a
 * token itself; they are for the candidates below.
 */
struct candidate {
    struct sxt_ksym_token token;
    uint32_t records; /* of all names that begin with it */
    uint32_t parent;  /* the nearest candidate above, or NOBODY */
    uint32_t depth;   /* how many are above */
    size_t states;    /* where its states begin */
};

struct solver {
    struct candidate *candidates; /* those above before those below */
    size_t count;
    size_t capacity;
    int64_t left_out_gain; /* the most that one of the prefixes left out saves */
    int64_t *sums;         /* by state: what the candidates right below save at most */
    int32_t *values;       /* by state: of the token above */
    size_t state_count;
    uint32_t *given;   /* by candidate: the state of those below it; one of its own two if it is a token */
    uint32_t *nearest; /* by candidate: the token above it, or NOBODY */
    uint32_t *tokens;  /* the candidates that are tokens */
    size_t token_count;
    struct sxt_ksym_choice *choice; /* the best so far */
    int64_t saved;                  /* by it */
};

static int find_candidates(struct solver *solver, const struct sxt_ksym_order *order, sxt_error *error);
static int keep_best(struct solver *solver, size_t most, sxt_error *error);
static int build_tree(struct solver *solver, sxt_error *error);
static void search(struct solver *solver);
static void free_tree(struct solver *solver);

int sxt_ksym_choose_saving(struct sxt_ksym_choice *choice, const struct sxt_ksym_order *order, sxt_error *error)
{
    choice->count = 0;
    choice->most_saved = INT64_MAX;
    struct solver solver = {.choice = choice};
    int status = find_candidates(&solver, order, error);
    size_t most = CANDIDATES_MAX;
    do {
        free_tree(&solver);
        if (status == SXT_OK)
            status = keep_best(&solver, most, error);
        if (status == SXT_OK)
            status = build_tree(&solver, error);
        most = solver.count / 2;
    } while (status == SXT_OK && solver.state_count > STATES_MAX);
    if (status == SXT_OK)
        search(&solver);
    free_tree(&solver);
    free(solver.candidates);
    return status;
}

/* --- candidates --- */

/* A prefix that all names read so far have, from FIRST on. */
struct prefix {
    uint32_t first;
    uint32_t length;
    uint64_t records_before;
};

static int64_t gain(const struct candidate *candidate)
{
    int64_t length = candidate->token.length;
    return candidate->records * (length - (int64_t)sxt_ksym_marker_size(0)) - length - START_SIZE;
}

static bool consider(struct solver *solver, uint32_t first, uint32_t end, uint32_t length, uint64_t records)
{
    struct candidate candidate = {.token = {first, end, length, 0}, .records = (uint32_t)records};
    if (gain(&candidate) <= 0)
        return true;
    struct candidate *candidates =
        sxt_array_grow(solver->candidates, &solver->capacity, solver->count + 1, sizeof *candidates);
    if (candidates == NULL)
        return false;
    solver->candidates = candidates;
    candidates[solver->count++] = candidate;
    return true;
}

/* The prefixes where names diverge, and the whole names that have several records. */
static int find_candidates(struct solver *solver, const struct sxt_ksym_order *order, sxt_error *error)
{
    struct prefix *open = NULL; /* each longer than the one before */
    size_t open_count = 0, open_capacity = 0;
    uint64_t records = 0;
    bool fits = true;
    for (uint32_t place = 0; fits && place < order->count; place++) {
        uint32_t common = order->common[place + 1];
        uint32_t size = (uint32_t)sxt_ksym_order_name(order, place).size;
        struct prefix begun = {place, common, records};
        records += order->records[place];
        if (size > common && order->records[place] > 1)
            fits = consider(solver, place, place + 1, size, order->records[place]);
        while (fits && open_count > 0 && open[open_count - 1].length > common) {
            struct prefix *done = &open[--open_count];
            fits = consider(solver, done->first, place + 1, done->length, records - done->records_before);
            begun.first = done->first;
            begun.records_before = done->records_before;
        }
        if (common == 0 || (open_count > 0 && open[open_count - 1].length == common))
            continue;
        struct prefix *grown = sxt_array_grow(open, &open_capacity, open_count + 1, sizeof *open);
        fits = fits && grown != NULL;
        if (grown != NULL) {
            open = grown;
            open[open_count++] = begun;
        }
    }
    free(open);
    return fits ? SXT_OK : sxt_fail_memory(error, (solver->count + 1) * sizeof *solver->candidates);
}

/* Leaves the MOST candidates with the highest gains, those above before those below. */
static int keep_best(struct solver *solver, size_t most, sxt_error *error)
{
    size_t count = solver->count;
    struct sxt_sort_item *items = malloc(2 * (count + 1) * sizeof *items);
    size_t kept = count < most ? count : most;
    struct candidate *candidates = malloc((kept + 1) * sizeof *candidates);
    if (items == NULL || candidates == NULL) {
        free(items);
        free(candidates);
        return sxt_fail_memory(error, 2 * (count + 1) * sizeof *items);
    }
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sxt_sort_item){~(uint64_t)gain(&solver->candidates[i]), (uint32_t)i};
    sxt_sort(items, items + count, count);
    if (kept < count && gain(&solver->candidates[items[kept].index]) > solver->left_out_gain)
        solver->left_out_gain = gain(&solver->candidates[items[kept].index]);
    for (size_t i = 0; i < kept; i++) {
        const struct sxt_ksym_token *token = &solver->candidates[items[i].index].token;
        items[i].key = (uint64_t)token->first << 17 | token->length;
    }
    sxt_sort(items, items + count, kept);
    for (size_t i = 0; i < kept; i++)
        candidates[i] = solver->candidates[items[i].index];
    free(items);
    free(solver->candidates);
    solver->candidates = candidates;
    solver->count = solver->capacity = kept;
    return SXT_OK;
}

static size_t state_count(const struct candidate *candidate)
{
    return 2 * (size_t)candidate->depth + 3;
}

static int build_tree(struct solver *solver, sxt_error *error)
{
    solver->state_count = 0;
    for (uint32_t i = 0; i < solver->count; i++) {
        struct candidate *candidate = &solver->candidates[i];
        uint32_t above = i > 0 ? i - 1 : NOBODY;
        while (above != NOBODY && solver->candidates[above].token.end <= candidate->token.first)
            above = solver->candidates[above].parent;
        candidate->parent = above;
        candidate->depth = above == NOBODY ? 0 : solver->candidates[above].depth + 1;
        candidate->states = solver->state_count;
        solver->state_count += state_count(candidate);
    }
    if (solver->state_count > STATES_MAX)
        return SXT_OK;
    solver->sums = malloc((solver->state_count + 1) * sizeof *solver->sums);
    solver->values = malloc((solver->state_count + 1) * sizeof *solver->values);
    solver->given = malloc((solver->count + 1) * sizeof *solver->given);
    solver->nearest = malloc((solver->count + 1) * sizeof *solver->nearest);
    solver->tokens = malloc((solver->count + 1) * sizeof *solver->tokens);
    if (solver->sums == NULL || solver->values == NULL || solver->given == NULL || solver->nearest == NULL ||
        solver->tokens == NULL)
        return sxt_fail_memory(error, solver->state_count * sizeof *solver->sums);
    for (size_t i = 0; i < solver->count; i++) {
        const struct candidate *candidate = &solver->candidates[i];
        int32_t *values = solver->values + candidate->states;
        values[0] = 0;
        if (candidate->parent != NOBODY)
            memcpy(values, solver->values + solver->candidates[candidate->parent].states,
                   (state_count(candidate) - 2) * sizeof *values);
        values[state_count(candidate) - 2] = (int32_t)(candidate->token.length - sxt_ksym_marker_size(0));
        values[state_count(candidate) - 1] = (int32_t)(candidate->token.length - sxt_ksym_marker_size(SHORT_MARKERS));
    }
    return SXT_OK;
}

static void free_tree(struct solver *solver)
{
    free(solver->sums);
    free(solver->values);
    free(solver->given);
    free(solver->nearest);
    free(solver->tokens);
    solver->sums = NULL;
    solver->values = NULL;
    solver->given = solver->nearest = solver->tokens = NULL;
}

/* --- the best choice at given prices --- */

static void pick_tokens(struct solver *solver);

/*
 * Each candidate adds to `sums` of the one above, for each state, the most that its subtree saves. In the first of its
 * own two states it stores what it saves as a token, without the part that depends on the state. Returns the most that
 * all of them save.
 */
static int64_t solve(struct solver *solver, int64_t price, int64_t short_price)
{
    int64_t total = 0;
    memset(solver->sums, 0, solver->state_count * sizeof *solver->sums);
    for (size_t i = solver->count; i-- > 0;) {
        const struct candidate *candidate = &solver->candidates[i];
        int64_t *sums = solver->sums + candidate->states;
        const int32_t *values = solver->values + candidate->states;
        size_t own = state_count(candidate) - 2;
        int64_t records = candidate->records;
        int64_t as_short = sums[own] + records * values[own] - short_price;
        int64_t as_long = sums[own + 1] + records * values[own + 1];
        solver->given[i] = (uint32_t)(as_short >= as_long ? own : own + 1);
        int64_t as_token = (as_short >= as_long ? as_short : as_long) - candidate->token.length - START_SIZE - price;
        int64_t *above =
            candidate->parent == NOBODY ? &total : solver->sums + solver->candidates[candidate->parent].states;
        for (size_t state = 0; state < own; state++) {
            int64_t saved = as_token - records * values[state];
            above[state] += saved > sums[state] ? saved : sums[state];
        }
        sums[own] = as_token;
    }
    pick_tokens(solver);
    return total;
}

/* Walks down the tree, picks the candidates that are worth it, and counts the records that begin with each token. */
static void pick_tokens(struct solver *solver)
{
    solver->token_count = 0;
    for (uint32_t i = 0; i < solver->count; i++) {
        struct candidate *candidate = &solver->candidates[i];
        const int64_t *sums = solver->sums + candidate->states;
        uint32_t parent = candidate->parent;
        uint32_t state = parent == NOBODY ? 0 : solver->given[parent];
        bool below_token = parent != NOBODY && state >= state_count(&solver->candidates[parent]) - 2;
        uint32_t nearest = below_token ? parent : parent == NOBODY ? NOBODY : solver->nearest[parent];
        solver->nearest[i] = nearest;
        int64_t value = solver->values[candidate->states + state];
        if (sums[state_count(candidate) - 2] - candidate->records * value <= sums[state]) {
            solver->given[i] = state;
            continue;
        }
        solver->tokens[solver->token_count++] = i;
        candidate->token.uses = candidate->records;
        if (nearest != NOBODY)
            solver->candidates[nearest].token.uses -= candidate->records;
    }
}

/* --- the prices --- */

static int64_t find_price(struct solver *solver, int64_t short_price);
static void drop_least(struct solver *solver);
static int64_t keep_if_better(struct solver *solver);

/*
 * The price of a short marker is what the first token without one would save with it: its number of uses. Each price
 * comes from a choice made with the price before, so this is repeated until the price stays the same.
 */
static void search(struct solver *solver)
{
    int64_t short_price = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t price = find_price(solver, short_price);
        int64_t saved = solve(solver, price, short_price);
        int64_t bound = saved + price * SXT_KSYM_TOKENS_WRITTEN + short_price * SHORT_MARKERS;
        if (price >= solver->left_out_gain && bound < solver->choice->most_saved)
            solver->choice->most_saved = bound;
        int64_t next_price = keep_if_better(solver);
        if (price > 0) {
            solve(solver, price - 1, short_price);
            while (solver->token_count > SXT_KSYM_TOKENS_WRITTEN)
                drop_least(solver);
            next_price = keep_if_better(solver);
        }
        if (next_price == short_price)
            return;
        short_price = next_price;
    }
}

/* The lowest price at which there are no more tokens than allowed. */
static int64_t find_price(struct solver *solver, int64_t short_price)
{
    solve(solver, 0, short_price);
    if (solver->token_count <= SXT_KSYM_TOKENS_WRITTEN)
        return 0;
    int64_t too_low = 0;
    int64_t high_enough = 0;
    for (size_t i = 0; i < solver->count; i++)
        if (gain(&solver->candidates[i]) > high_enough)
            high_enough = gain(&solver->candidates[i]);
    while (high_enough - too_low > 1) {
        int64_t middle = too_low + (high_enough - too_low) / 2;
        solve(solver, middle, short_price);
        if (solver->token_count <= SXT_KSYM_TOKENS_WRITTEN)
            high_enough = middle;
        else
            too_low = middle;
    }
    return high_enough;
}

/* Drops the token whose loss costs the least. */
static void drop_least(struct solver *solver)
{
    size_t least = 0;
    int64_t least_loss = INT64_MAX;
    for (size_t i = 0; i < solver->token_count; i++) {
        const struct candidate *candidate = &solver->candidates[solver->tokens[i]];
        uint32_t nearest = solver->nearest[solver->tokens[i]];
        int64_t value = solver->values[candidate->states + solver->given[solver->tokens[i]]];
        int64_t value_without =
            nearest == NOBODY ? 0 : solver->values[solver->candidates[nearest].states + solver->given[nearest]];
        int64_t loss = candidate->token.uses * (value - value_without) - candidate->token.length;
        if (loss < least_loss) {
            least = i;
            least_loss = loss;
        }
    }
    uint32_t dropped = solver->tokens[least];
    uint32_t heir = solver->nearest[dropped];
    if (heir != NOBODY)
        solver->candidates[heir].token.uses += solver->candidates[dropped].token.uses;
    solver->token_count--;
    memmove(&solver->tokens[least], &solver->tokens[least + 1], (solver->token_count - least) * sizeof *solver->tokens);
    for (size_t i = 0; i < solver->token_count; i++)
        if (solver->nearest[solver->tokens[i]] == dropped)
            solver->nearest[solver->tokens[i]] = heir;
}

/* The tokens that are used most get the short markers. Returns how much one more short marker would save. */
static int64_t keep_if_better(struct solver *solver)
{
    struct sxt_sort_item items[SXT_KSYM_TOKENS_WRITTEN], scratch[SXT_KSYM_TOKENS_WRITTEN];
    size_t count = solver->token_count;
    int64_t saved = 0;
    for (size_t i = 0; i < count; i++)
        items[i] =
            (struct sxt_sort_item){~(uint64_t)solver->candidates[solver->tokens[i]].token.uses, solver->tokens[i]};
    sxt_sort(items, scratch, count);
    for (size_t id = 0; id < count; id++) {
        const struct sxt_ksym_token *token = &solver->candidates[items[id].index].token;
        saved +=
            (int64_t)token->uses * ((int64_t)token->length - sxt_ksym_marker_size(id)) - token->length - START_SIZE;
    }
    if (saved > solver->saved) {
        solver->saved = saved;
        solver->choice->count = count;
        for (size_t id = 0; id < count; id++)
            solver->choice->tokens[id] = solver->candidates[items[id].index].token;
    }
    return count <= SHORT_MARKERS ? 0 : solver->candidates[items[SHORT_MARKERS].index].token.uses;
}
