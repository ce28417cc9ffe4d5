/*
 * symbol_search.c: finds functions by a part of a name, or by a regular expression. The names that count are the
 * readable one, the one it is linked by, and the other names of the function.
 */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/string.h"
#include "size/query.h"
#include "view/symbols.h"

/* See sxt_pool_threads. */
#define THREADS_MAX 64

/* Functions that a thread takes at once; a multiple of the bits in a word, so that threads do not share words. */
#define PART 4096

/* A text that names are searched for. Names are compared without regard to case if `fold` is set. */
struct needle {
    sxt_string text; /* in lower case, if `fold` is set */
    bool fold;
};

/* The most texts that a name must contain to match a regular expression, and the shortest that are used. */
#define LITERALS_MAX 4
#define LITERAL_MIN  2

/* After how many bytes of names a thread looks at how long it takes: of a text, and of a regular expression. */
#define BETWEEN         ((size_t)4 << 20)
#define BETWEEN_MATCHES ((size_t)256 << 10)

/* A search that is running. */
struct search {
    struct sxt_view_functions *functions;
    struct needle needle;
    regex_t *patterns; /* one for each thread: regexec locks it; NULL for a plain text */
    struct needle literals[LITERALS_MAX];
    size_t literal_count;
    unsigned threads;
    struct sxt_view_budget budgets[THREADS_MAX];
    uint64_t *bits;
};

static unsigned char lower(unsigned char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool is_letter(unsigned char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_at(const struct needle *needle, const unsigned char *data)
{
    const unsigned char *text = (const unsigned char *)needle->text.data;
    if (!needle->fold)
        return memcmp(data, text, needle->text.size) == 0;
    size_t i = 0;
    while (i < needle->text.size && lower(data[i]) == text[i])
        i++;
    return i == needle->text.size;
}

/* Sixteen places at once: where the first and the last character are right, the others are compared. */
typedef unsigned char block __attribute__((vector_size(16)));
typedef uint64_t halves __attribute__((vector_size(16)));

static block all(unsigned c)
{
    unsigned char byte = (unsigned char)c;
    return (block){byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte, byte};
}

static bool is_in_block(const struct needle *needle, const unsigned char *data, block hits)
{
    halves any = (halves)hits;
    if ((any[0] | any[1]) == 0)
        return false;
    for (size_t i = 0; i < sizeof hits; i++)
        if (hits[i] != 0 && is_at(needle, data + i))
            return true;
    return false;
}

static bool contains(const struct needle *needle, sxt_string name)
{
    const unsigned char *data = (const unsigned char *)name.data;
    size_t size = needle->text.size;
    if (name.size < size)
        return false;
    size_t places = name.size - size + 1;
    if (places < sizeof(block)) {
        for (size_t i = 0; i < places; i++)
            if (is_at(needle, data + i))
                return true;
        return false;
    }
    unsigned char first = (unsigned char)needle->text.data[0], last = (unsigned char)needle->text.data[size - 1];
    /* Letters of both cases differ in one bit; with it, a few other characters are hits too. */
    const block first_all = all(first), first_bit = all(needle->fold && is_letter(first) ? 0x20 : 0);
    const block last_all = all(last), last_bit = all(needle->fold && is_letter(last) ? 0x20 : 0);
    for (size_t i = 0;; i += sizeof(block)) {
        /* The last block ends with the last place. */
        i = i + sizeof(block) <= places ? i : places - sizeof(block);
        block a, b;
        memcpy(&a, data + i, sizeof a);
        memcpy(&b, data + i + size - 1, sizeof b);
        if (is_in_block(needle, data + i, (block)(((a | first_bit) == first_all) & ((b | last_bit) == last_all))))
            return true;
        if (i + sizeof(block) == places)
            return false;
    }
}

static bool matches(const struct search *search, unsigned worker, sxt_string name)
{
    if (name.data == NULL)
        return false;
    if (search->patterns == NULL)
        return contains(&search->needle, name);
    for (size_t i = 0; i < search->literal_count; i++)
        if (!contains(&search->literals[i], name))
            return false;
    return sxt_size_query_matches(&search->patterns[worker], name);
}

/* Returns 1 if it takes too long. */
static int search_part(void *context, unsigned worker, size_t part)
{
    struct search *search = context;
    const struct sxt_view_functions *functions = search->functions;
    size_t end = (part + 1) * PART < functions->count ? (part + 1) * PART : functions->count;
    size_t alias = sxt_view_first_alias(functions, part * PART);
    size_t between = search->patterns != NULL ? BETWEEN_MATCHES : BETWEEN, seen = between;
    for (size_t i = part * PART; i < end; i++) {
        seen += functions->items[i].name_size + sizeof functions->items[i];
        if (seen > between && sxt_view_is_over(&search->budgets[worker]))
            return 1;
        seen = seen > between ? 0 : seen;
        bool found = matches(search, worker, sxt_view_function_name(functions, i)) ||
                     matches(search, worker, sxt_view_function_linked(functions, i));
        for (; alias < functions->alias_count && functions->aliases[alias].function == i; alias++)
            found = found || matches(search, worker, functions->aliases[alias].name);
        if (found)
            search->bits[i / 64] |= (uint64_t)1 << (i % 64);
    }
    return 0;
}

/* The end of [...]: a "]" that is meant literally comes first. */
static const char *skip_brackets(const char *at)
{
    at += at[1] == '^' ? 2 : 1;
    if (*at == ']')
        at++;
    for (; *at != 0 && *at != ']'; at++) {
        if (*at != '[' || at[1] == 0 || strchr(":.=", at[1]) == NULL)
            continue;
        const char closing[] = {at[1], ']', 0};
        const char *end = strstr(at + 2, closing);
        if (end == NULL)
            break;
        at = end + 1;
    }
    return *at != 0 ? at : at - 1;
}

/*
 * Finds texts that whatever matches a pattern contains: most names do not, and need not be matched. They are outside of
 * groups and brackets, and not repeated. A pattern with alternatives outside of groups has none. PATTERN is a correct
 * one; its characters are in TEXT, folded.
 */
static void find_literals(struct search *search, const char *pattern, char *text)
{
    bool fold = search->needle.fold;
    unsigned depth = 0;
    size_t start = 0, used = 0;
    for (const char *at = pattern;; at++) {
        bool is_escaped = *at == '\\' && at[1] != 0;
        char c = is_escaped ? *++at : *at;
        bool is_plain = c != 0 && depth == 0 &&
                        (is_escaped ? !is_letter((unsigned char)c) && (c < '0' || c > '9') && strchr("<>`'", c) == NULL
                                    : strchr("^$.[]|()*+?{}", c) == NULL);
        if (is_plain && (at[1] == 0 || strchr("*?{", at[1]) == NULL)) {
            text[used++] = (char)(fold ? lower((unsigned char)c) : (unsigned char)c);
            continue;
        }
        if (used - start >= LITERAL_MIN && search->literal_count < LITERALS_MAX)
            search->literals[search->literal_count++] = (struct needle){{text + start, used - start}, fold};
        start = used;
        if (c == 0)
            return;
        if (is_escaped)
            continue;
        if (c == '|' && depth == 0) {
            search->literal_count = 0;
            return;
        }
        depth += c == '(';
        depth -= c == ')' && depth > 0;
        if (c == '[')
            at = skip_brackets(at);
        if (c == '{')
            at += strcspn(at, "}");
    }
}

static int compile(struct search *search, const struct sxt_view_search *wanted, char *literals, sxt_error *error)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, SIZE_MAX);
    sxt_buffer_print(&text, "%s%s", wanted->with_case ? "" : "(?i)", wanted->text);
    int status = sxt_buffer_status(&text, error);
    unsigned threads = search->threads;
    search->threads = 0;
    if (status == SXT_OK && (search->patterns = calloc(threads, sizeof *search->patterns)) == NULL)
        status = sxt_fail_memory(error, threads * sizeof *search->patterns);
    for (; status == SXT_OK && search->threads < threads; search->threads += status == SXT_OK)
        status = sxt_size_query_compile_pattern((sxt_string){(const char *)text.data, text.size},
                                                &search->patterns[search->threads], error);
    sxt_buffer_free(&text);
    if (status == SXT_OK)
        find_literals(search, wanted->text, literals);
    return status;
}

static int run(struct search *search, const struct sxt_view_search *wanted, char *folded, sxt_error *error)
{
    size_t parts = (search->functions->count + PART - 1) / PART;
    int status = SXT_OK;
    for (char *at = folded; *at != 0 && !wanted->with_case; at++)
        *at = (char)lower((unsigned char)*at);
    search->needle = (struct needle){{folded, strlen(folded)}, !wanted->with_case};
    if (wanted->is_pattern)
        status = compile(search, wanted, folded, error);
    if (status == SXT_OK && sxt_pool_run(search->threads, parts, search_part, search) != 0)
        status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                          "the search takes too long; a plain text, or one in a regular expression, makes it faster");
    for (unsigned i = 0; search->patterns != NULL && i < search->threads; i++)
        regfree(&search->patterns[i]);
    free(search->patterns);
    return status;
}

static bool is_answered(const struct sxt_view_found *found, const struct sxt_view_search *search)
{
    return found->text != NULL && strcmp(found->text, search->text) == 0 && found->is_pattern == search->is_pattern &&
           found->with_case == search->with_case;
}

/* Lists what was found in an order. */
static int list(struct sxt_view_functions *functions, enum sxt_view_order order, struct sxt_view_found *found,
                sxt_error *error)
{
    const uint32_t *all = sxt_view_functions_order(functions, order);
    size_t count = 0;
    for (size_t i = 0; i < (functions->count + 63) / 64; i++)
        count += (size_t)__builtin_popcountll(found->bits[i]);
    uint32_t *numbers = all != NULL ? realloc(found->list, count * sizeof *numbers + 1) : NULL;
    if (numbers == NULL)
        return sxt_fail_memory(error, count * sizeof *numbers);
    found->list = numbers;
    found->order = order;
    found->count = 0;
    for (size_t i = 0; i < functions->count; i++)
        if (found->bits[all[i] / 64] >> (all[i] % 64) & 1)
            numbers[found->count++] = all[i];
    return SXT_OK;
}

int sxt_view_search(struct sxt_view_functions *functions, const struct sxt_view_search *search,
                    enum sxt_view_order order, unsigned threads, struct sxt_view_found *found, sxt_error *error)
{
    if (is_answered(found, search))
        return found->order == order ? SXT_OK : list(functions, order, found, error);
    sxt_view_found_free(found);
    struct search running = {.functions = functions, .threads = sxt_pool_threads(threads)};
    size_t words = (functions->count + 63) / 64;
    char *folded = strdup(search->text);
    *found = (struct sxt_view_found){.text = strdup(search->text),
                                     .is_pattern = search->is_pattern,
                                     .with_case = search->with_case,
                                     .bits = calloc(words + 1, sizeof *found->bits)};
    running.bits = found->bits;
    int status = found->text != NULL && found->bits != NULL && folded != NULL
                     ? run(&running, search, folded, error)
                     : sxt_fail_memory(error, words * sizeof *found->bits);
    if (status == SXT_OK)
        status = list(functions, order, found, error);
    if (status != SXT_OK)
        sxt_view_found_free(found);
    free(folded);
    return status;
}

void sxt_view_found_free(struct sxt_view_found *found)
{
    free(found->text);
    free(found->bits);
    free(found->list);
    *found = (struct sxt_view_found){0};
}
