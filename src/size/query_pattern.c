/*
 * query_pattern.c: regular expressions of queries: POSIX extended ones, by libc, kept to what it can do in bounded time
 * and memory. Syntax that libc would read differently from what the user means is refused, with what to write instead.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "size/query_private.h"

struct pattern_check {
    sxt_string text;
    size_t at;
    unsigned depth;
    uint64_t repeats[PATTERN_DEPTH_MAX + 1]; /* the product of the {n} in the group that is open at a depth */
    uint64_t most;                           /* of the group that was closed last */
    bool just_closed;
};

static int check(struct pattern_check *check, sxt_error *error);

int sxt_size_query_compile_pattern(sxt_string text, regex_t *out, sxt_error *error)
{
    bool ignore_case = sxt_string_begins(text, "(?i)");
    if (ignore_case)
        text = (sxt_string){text.data + 4, text.size - 4};
    if (text.size > PATTERN_SIZE_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a regular expression has at most %d bytes",
                        PATTERN_SIZE_MAX);
    struct pattern_check state = {.text = text, .repeats = {1}, .most = 1};
    int status = check(&state, error);
    if (status != SXT_OK)
        return status;
    char terminated[PATTERN_SIZE_MAX + 1];
    memcpy(terminated, text.data, text.size);
    terminated[text.size] = 0;
    int reason = regcomp(out, terminated, REG_EXTENDED | REG_NOSUB | (ignore_case ? REG_ICASE : 0));
    if (reason == 0)
        return SXT_OK;
    char message[100];
    regerror(reason, NULL, message, sizeof message);
    return sxt_fail(error, reason == REG_ESPACE ? SXT_ERROR_MEMORY : SXT_ERROR_USAGE, SXT_NO_OFFSET,
                    "bad regular expression: %s", message);
}

bool sxt_size_query_matches(const regex_t *pattern, sxt_string text)
{
    char small[512];
    char *copy = text.size < sizeof small ? small : malloc(text.size + 1);
    if (copy == NULL)
        return false;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    bool found = regexec(pattern, copy, 0, NULL, 0) == 0;
    if (copy != small)
        free(copy);
    return found;
}

static int refuse(sxt_error *error, const char *what)
{
    return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "bad regular expression: %s", what);
}

static int check_escape(struct pattern_check *check, sxt_error *error)
{
    if (check->at + 1 >= check->text.size)
        return refuse(error, "a backslash at the end");
    char c = check->text.data[++check->at];
    if (c >= '0' && c <= '9')
        return refuse(error, "\\1 and the like are not supported");
    if (c == 'd' || c == 'D')
        return refuse(error, c == 'd' ? "\\d is written [0-9]" : "\\D is written [^0-9]");
    if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) && strchr("wWsSbB", c) == NULL)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "bad regular expression: \\%c has no meaning", c);
    check->just_closed = false;
    return SXT_OK;
}

/* Inside [...] only its end is special; a "]" that is meant literally comes first. */
static int skip_brackets(struct pattern_check *check, sxt_error *error)
{
    sxt_string text = check->text;
    size_t at = check->at + 1;
    if (at < text.size && text.data[at] == '^')
        at++;
    if (at < text.size && text.data[at] == ']')
        at++;
    for (; at < text.size && text.data[at] != ']'; at++) {
        if (text.data[at] != '[' || at + 1 >= text.size || strchr(":.=", text.data[at + 1]) == NULL)
            continue;
        char closing = text.data[at + 1];
        for (at += 2; at + 1 < text.size && (text.data[at] != closing || text.data[at + 1] != ']'); at++)
            continue;
        at++;
    }
    if (at >= text.size)
        return refuse(error, "'[' is not closed");
    check->at = at;
    check->just_closed = false;
    return SXT_OK;
}

/* {n}, {n,} or {n,m}: libc unrolls it, so what is repeated and how often multiply. */
static int check_repeat(struct pattern_check *check, sxt_error *error)
{
    uint64_t most = 0, number = 0;
    size_t at = check->at + 1;
    for (; at < check->text.size && check->text.data[at] != '}'; at++) {
        char c = check->text.data[at];
        if (c == ',') {
            number = 0;
            continue;
        }
        if (c < '0' || c > '9')
            return refuse(error, "'{' is followed by numbers as in {2,5}; \\{ is the character itself");
        number = number < 100000 ? number * 10 + (uint64_t)(c - '0') : number;
        most = number > most ? number : most;
    }
    if (at >= check->text.size)
        return refuse(error, "'{' is not closed; \\{ is the character itself");
    uint64_t inside = check->just_closed ? check->most : 1;
    uint64_t product = (most > 0 ? most : 1) * inside;
    if (product > PATTERN_REPEATS_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a regular expression repeats at most %d times in {}",
                        PATTERN_REPEATS_MAX);
    if (product > check->repeats[check->depth])
        check->repeats[check->depth] = product;
    check->most = product;
    check->just_closed = true; /* a{10}{10} nests, too */
    check->at = at;
    return SXT_OK;
}

static int open_group(struct pattern_check *check, sxt_error *error)
{
    if (check->at + 1 < check->text.size && check->text.data[check->at + 1] == '?')
        return refuse(error, "(?...) is not supported, except (?i) at the beginning");
    if (check->depth == PATTERN_DEPTH_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "a regular expression nests at most %d levels deep",
                        PATTERN_DEPTH_MAX);
    check->repeats[++check->depth] = 1;
    check->just_closed = false;
    return SXT_OK;
}

static int close_group(struct pattern_check *check, sxt_error *error)
{
    if (check->depth == 0)
        return refuse(error, "')' is not opened");
    check->most = check->repeats[check->depth--];
    if (check->most > check->repeats[check->depth])
        check->repeats[check->depth] = check->most;
    check->just_closed = true;
    return SXT_OK;
}

static int check(struct pattern_check *check, sxt_error *error)
{
    int status = SXT_OK;
    unsigned in_a_row = 0;
    for (; check->at < check->text.size && status == SXT_OK; check->at++) {
        char c = check->text.data[check->at];
        in_a_row = strchr("*+?", c) != NULL && c != 0 ? in_a_row + 1 : 0;
        if (c == 0)
            status = refuse(error, "it has a NUL in it");
        else if (in_a_row > 3)
            status = refuse(error, "too many of * + ? in a row");
        else if (c == '\\')
            status = check_escape(check, error);
        else if (c == '[')
            status = skip_brackets(check, error);
        else if (c == '{')
            status = check_repeat(check, error);
        else if (c == '(')
            status = open_group(check, error);
        else if (c == ')')
            status = close_group(check, error);
        else if (in_a_row == 0)
            check->just_closed = false;
    }
    return status;
}
