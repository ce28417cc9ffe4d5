/* test_pieces.c: symbols that overlap, cut into pieces; each piece has the owner that the rule says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/private.h"
#include "support/random.h"
#include "support/test.h"

/* A claim is called by one letter: { 'a', 0, 16 } wants the first 16 bytes. */
struct wanted {
    char name;
    uint64_t start, end;
};

static void cut(const struct wanted *wanted, size_t count, struct measure_pieces *out)
{
    struct measure_claim *claims = malloc((count + 1) * sizeof *claims);
    assert_non_null(claims);
    for (size_t i = 0; i < count; i++)
        claims[i] = (struct measure_claim){wanted[i].start, wanted[i].end, (uint32_t)wanted[i].name, (uint32_t)i};
    *out = (struct measure_pieces){.list = NULL};
    assert_true(sxt_measure_cut(claims, count, out));
    free(claims);
}

/* Pieces as text: "a0-4 b4-6 =c4-6", where '=' has the bytes of the one before too. */
static void check(const char *expected, const struct wanted *wanted, size_t count)
{
    struct measure_pieces pieces;
    char text[1000] = "";
    size_t size = 0;
    cut(wanted, count, &pieces);
    for (size_t i = 0; i < pieces.count; i++) {
        const struct measure_piece *piece = &pieces.list[i];
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s%c%llx-%llx", i > 0 ? " " : "",
                                 piece->joins ? "=" : "", (char)piece->name, (unsigned long long)piece->start,
                                 (unsigned long long)piece->end);
    }
    assert_string_equal(text, expected);
    free(pieces.list);
}

#define CHECK(expected, ...)                                                                                           \
    check(expected, (const struct wanted[]){__VA_ARGS__},                                                              \
          sizeof((const struct wanted[]){__VA_ARGS__}) / sizeof(struct wanted))

TEST(apart_they_stay_as_they_are)
{
    check("", NULL, 0);
    CHECK("a0-4", {'a', 0, 4});
    CHECK("a0-4 b4-8 c10-20", {'c', 16, 32}, {'a', 0, 4}, {'b', 4, 8});
}

TEST(the_inner_one_has_the_bytes)
{
    CHECK("a0-4 b4-8 a8-10", {'a', 0, 16}, {'b', 4, 8});
    CHECK("a0-2 b2-4 c4-6 b6-8 a8-10", {'a', 0, 16}, {'b', 2, 8}, {'c', 4, 6});
    CHECK("a0-2 b2-4 a4-6 c6-8 a8-10", {'a', 0, 16}, {'b', 2, 4}, {'c', 6, 8});
    /* At the edges nothing is left over. */
    CHECK("b0-4 a4-10", {'a', 0, 16}, {'b', 0, 4});
    CHECK("a0-c bc-10", {'a', 0, 16}, {'b', 12, 16});
}

TEST(overlapping_ones_belong_to_the_later)
{
    CHECK("a0-4 b4-c", {'a', 0, 8}, {'b', 4, 12});
    CHECK("a0-4 b4-8 c8-14", {'a', 0, 12}, {'b', 4, 16}, {'c', 8, 20});
    /* What the later one leaves goes back to the one around it. */
    CHECK("a0-4 b4-6 c6-c ac-20", {'a', 0, 32}, {'b', 4, 8}, {'c', 6, 12});
}

TEST(equal_ones_are_aliases)
{
    CHECK("a0-4 =b0-4 =c0-4", {'a', 0, 4}, {'b', 0, 4}, {'c', 0, 4});
    CHECK("b0-4 =a0-4", {'b', 0, 4}, {'a', 0, 4});
    /* Cut by another, they share what is before it; what is after it needs only one name. */
    CHECK("a0-4 =b0-4 c4-8 a8-10", {'a', 0, 16}, {'b', 0, 16}, {'c', 4, 8});
    CHECK("c0-4 =d0-4 a4-8", {'a', 0, 8}, {'b', 0, 8}, {'c', 0, 4}, {'d', 0, 4});
}

TEST(the_end_of_the_address_space_is_an_end)
{
    CHECK("a0-fffffffffffffff0 bfffffffffffffff0-ffffffffffffffff", {'a', 0, UINT64_MAX},
          {'b', UINT64_MAX - 15, UINT64_MAX});
    /* Nothing wants no bytes. */
    CHECK("b4-8", {'a', 4, 4}, {'b', 4, 8});
}

/* Who has a byte, by the rule as it is written down: the claim that begins last, and of those the one that ends first.
 */
static const struct wanted *owner_of(const struct wanted *wanted, size_t count, uint64_t byte)
{
    const struct wanted *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct wanted *one = &wanted[i];
        if (byte < one->start || byte >= one->end)
            continue;
        if (best == NULL || one->start > best->start || (one->start == best->start && one->end < best->end))
            best = one;
    }
    return best;
}

TEST(every_byte_has_the_owner_of_the_rule)
{
    enum { BYTES = 40, MOST = 12 };
    struct sxt_test_random random = {11};
    for (unsigned round = 0; round < 20000; round++) {
        struct wanted wanted[MOST];
        size_t count = sxt_test_below(&random, MOST + 1);
        for (size_t i = 0; i < count; i++) {
            uint64_t start = sxt_test_below(&random, BYTES);
            wanted[i] =
                (struct wanted){(char)('a' + i), start, start + 1 + sxt_test_below(&random, BYTES - (uint32_t)start)};
        }
        struct measure_pieces pieces;
        cut(wanted, count, &pieces);
        char owners[BYTES + 1] = {0};
        uint64_t done = 0;
        for (size_t i = 0; i < pieces.count; i++) {
            const struct measure_piece *piece = &pieces.list[i];
            if (piece->joins) {
                assert_true(piece->start == piece[-1].start && piece->end == piece[-1].end);
                continue;
            }
            assert_true(piece->start >= done && piece->start < piece->end && piece->end <= BYTES + 1);
            for (uint64_t byte = piece->start; byte < piece->end && byte <= BYTES; byte++)
                owners[byte] = (char)piece->name;
            done = piece->end;
        }
        for (uint64_t byte = 0; byte <= BYTES; byte++) {
            const struct wanted *owner = owner_of(wanted, count, byte);
            const struct wanted *found = owners[byte] != 0 ? &wanted[owners[byte] - 'a'] : NULL;
            /* Of equal ones, the first stands for all. */
            assert_true((owner == NULL) == (found == NULL));
            assert_true(owner == NULL || (owner->start == found->start && owner->end == found->end));
        }
        free(pieces.list);
    }
}

/* Deep nesting, steps that all reach to the end, and nothing but aliases: no more time than sorting takes. */
TEST(many_take_little_time)
{
    enum { MANY = 1000000 };
    struct measure_claim *claims = malloc(MANY * sizeof *claims);
    assert_non_null(claims);
    for (unsigned kind = 0; kind < 4; kind++) {
        for (uint32_t i = 0; i < MANY; i++) {
            uint64_t start = kind == 3 ? 0 : i, end = kind == 0 ? 2 * MANY - i : kind == 1 ? 2 * MANY : 3 * MANY + i;
            claims[i] = (struct measure_claim){start, kind == 3 ? 8 : end, i, i};
        }
        struct measure_pieces pieces = {.list = NULL};
        double begun = sxt_test_seconds();
        assert_true(sxt_measure_cut(claims, MANY, &pieces));
        assert_true(sxt_test_seconds() - begun < 5);
        assert_true(pieces.count >= MANY && pieces.count <= 2 * MANY);
        free(pieces.list);
    }
    free(claims);
}
