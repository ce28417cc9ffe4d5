/*
 * check.c: finds what is wrong with a ksym blob that can be opened. It is a separate file because a kernel has no use
 * for it. It uses only sextant/ksym.h, and is as freestanding as the reader.
 */
#include <sextant/ksym.h>

/* Where problems are reported to, and how many there were. */
struct check {
    void (*problem)(void *data, const sxt_ksym_problem *problem);
    void *data;
    size_t count;
};

static void report(struct check *check, const char *rule, bool harmless, const char *what, size_t offset)
{
    sxt_ksym_problem problem;
    problem.rule = rule;
    problem.text = what;
    problem.offset = offset;
    problem.harmless = harmless;
    check->count += !harmless;
    if (check->problem != NULL)
        check->problem(check->data, &problem);
}

static size_t offset_of(const sxt_ksym *ksym, const unsigned char *place)
{
    return (size_t)(place - ksym->data);
}

static size_t size_of(const sxt_ksym_stored *name)
{
    return name->head_size + name->tail_size;
}

static unsigned char byte_of(const sxt_ksym_stored *name, size_t at)
{
    return at < name->head_size ? name->head[at] : name->tail[at - name->head_size];
}

static bool is_after(const sxt_ksym_stored *a, const sxt_ksym_stored *b)
{
    size_t at = a->head == b->head && a->head_size == b->head_size ? a->head_size : 0;
    size_t a_size = size_of(a), b_size = size_of(b);
    while (at < a_size && at < b_size && byte_of(a, at) == byte_of(b, at))
        at++;
    return at < a_size && (at == b_size || byte_of(a, at) > byte_of(b, at));
}

static uint64_t mix(uint64_t number)
{
    number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return number ^ number >> 29;
}

/*
 * Every symbol must occur once. There is no memory to mark them, so the sums of numbers made from the indices must
 * agree.
 */
static void check_name_order(const sxt_ksym *ksym, struct check *check)
{
    sxt_ksym_stored names[2];
    uint64_t sum = 0;
    for (size_t i = 0; i < ksym->count; i++) {
        size_t index = sxt_ksym_by_name(ksym, i);
        sum += mix(index) - mix(i);
        sxt_ksym_stored_at(ksym, index, &names[i % 2]);
        if (i > 0 && is_after(&names[(i + 1) % 2], &names[i % 2]))
            report(check, "name-order", false, "names are not in ascending order",
                   offset_of(ksym, ksym->order) + 4 * i);
    }
    if (sum != 0)
        report(check, "name-index", false, "the order of names has a symbol twice and lacks another",
               offset_of(ksym, ksym->order));
}

static void check_name(const sxt_ksym *ksym, size_t index, struct check *check, unsigned char *used)
{
    sxt_ksym_stored name;
    sxt_ksym_stored_at(ksym, index, &name);
    size_t offset = offset_of(ksym, name.tail - name.marker_size);
    if (name.marker_size == 0 && name.tail_size > 0 && name.tail[0] == 0xFF)
        report(check, "marker", false, "the marker of a token does not end", offset);
    else if (name.marker_size > 0 && name.token >= ksym->token_count)
        report(check, "token", false, "a name begins with a token that does not exist", offset);
    else if (name.marker_size == 4 && name.token % 256 == 255)
        report(check, "token", false, "a name begins with a token that other readers cannot find", offset);
    if (name.marker_size > 0 && name.token < SXT_KSYM_TOKENS_MOST)
        used[name.token / 8] |= (unsigned char)(1 << name.token % 8);
    if (size_of(&name) == 0)
        report(check, "empty-name", false, "a symbol has no name", offset);
    if (size_of(&name) > SXT_KSYM_NAME_SIZE_MOST)
        report(check, "long-name", true, "a name is so long that other readers cut it", offset);
}

size_t sxt_ksym_check(const sxt_ksym *ksym, void (*problem)(void *data, const sxt_ksym_problem *problem), void *data)
{
    struct check check;
    unsigned char used[SXT_KSYM_TOKENS_MOST / 8];
    check.problem = problem;
    check.data = data;
    check.count = 0;
    for (size_t i = 0; i < sizeof used; i++)
        used[i] = 0;

    check_name_order(ksym, &check);
    for (size_t i = 0; i < ksym->count; i++)
        check_name(ksym, i, &check, used);
    if (ksym->token_count > SXT_KSYM_TOKENS_MOST)
        report(&check, "tokens", false, "there are more than 512 tokens", offset_of(ksym, ksym->token_starts) - 8);
    for (size_t i = 0; i < ksym->token_count && i < SXT_KSYM_TOKENS_MOST; i++)
        if ((used[i / 8] >> i % 8 & 1) == 0)
            report(&check, "unused-token", true, "no name begins with a token",
                   offset_of(ksym, ksym->token_starts) + 4 * i);
    return check.count;
}
