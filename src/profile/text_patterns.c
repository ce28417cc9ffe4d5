/*
 * text_patterns.c: the formats in which programs print addresses, as a table, and a matcher for them.
 *
 * A pattern is text with these signs:
 *
 *     blank  one or more blanks            ~   zero or more blanks
 *     ^ $    start and end of the line     |   start of a word
 *     %d     decimal digits                %x  address    %o  offset    %z  size, all hexadecimal
 *     %X     an address of at least 8 digits
 *     %m     module, without parentheses   %w  the same without blanks and brackets
 *     %s     symbol, as short as the rest allows          %i  the same, only letters, digits and . _ $
 *     %b     optional "+0x", offset         %B  optional " (BuildId: ...)"    %K  optional " [module]"
 *     %l     the name of a program counter or return address, ":" or "=", and 0x unless 8 digits or more follow
 *     { }    the answer goes here, in place of the text between them
 */
#include "profile/text_patterns.h"

#include "base/hex.h"

#include <string.h>

/* Texts without which a pattern cannot match. Most lines have few of them, so most patterns need not be tried. */
enum needed { PLAIN, PLUS, SIZE, BARE, EMPTY, BOX, UNKNOWN, NEEDED };
static const char *const needed_texts[NEEDED] = {
    [PLAIN] = "", [PLUS] = "+0x", [SIZE] = "/0x", [BARE] = "[<", [EMPTY] = "()", [BOX] = "[0x", [UNKNOWN] = "<null>",
};

struct pattern {
    enum needed needed;
    const char *text;
    enum sxt_text_match_kind kind;
    bool is_return;
    const char *separator;
};

/* Of several that match at the same place, the first is used. */
static const struct pattern patterns[] = {
    /* perf script: a frame on its own line, and a sample on one line. */
    {PLAIN, "^ %x %s%b (%m){}$", SXT_TEXT_MATCH_PERF, false, " "},
    {PLAIN, ": %x %s%b (%m){}$", SXT_TEXT_MATCH_PERF, false, " "},

    /* Sanitizers print addresses inside the call, not after it. */
    {PLUS, "#%d 0x%x{} (%m+0x%o)%B", SXT_TEXT_MATCH_VIRTUAL, false, " in "},
    {PLUS, "#%d 0x%x in %s (%m+0x%o)%B{}", SXT_TEXT_MATCH_VIRTUAL, false, " "},
    {UNKNOWN, "#%d {<null> <null>} (%m+0x%o)%B", SXT_TEXT_MATCH_VIRTUAL, false, ""},
    {UNKNOWN, "#%d %s <null> (%m+0x%o)%B{}", SXT_TEXT_MATCH_VIRTUAL, false, " "},
    {PLUS, "(%m+0x%o)%B{}", SXT_TEXT_MATCH_VIRTUAL, false, " "},

    /* backtrace_symbols and backtrace_symbols_fd. */
    {PLUS, "|%w(+0x%o)~[0x%x]{}", SXT_TEXT_MATCH_VIRTUAL, true, " "},
    {PLUS, "|%w(%i+0x%o)~[0x%x]{}", SXT_TEXT_MATCH_SYMBOL, true, " "},
    {EMPTY, "|%w()~[0x%x]{}", SXT_TEXT_MATCH_ABSOLUTE, true, " "},
    {BOX, "|%w[0x%x]{}", SXT_TEXT_MATCH_ABSOLUTE, true, " "},
    {PLUS, "|%w(+0x%o){}", SXT_TEXT_MATCH_VIRTUAL, true, " "},
    {PLUS, "|%w(%i+0x%o){}", SXT_TEXT_MATCH_SYMBOL, true, " "},

    /* The kernel's oopses and stack traces. In "[<address>] symbol+0x1/0x2" the address is that of the symbol. */
    {SIZE, "RIP: %d:%i+0x%o/0x%z%K{}", SXT_TEXT_MATCH_KERNEL, false, " "},
    {PLAIN, "RIP: %d:0x%x{}", SXT_TEXT_MATCH_ADDRESS, false, " "},
    {SIZE, "EIP: %i+0x%o/0x%z%K{}", SXT_TEXT_MATCH_KERNEL, false, " "},
    {SIZE, "pc : %i+0x%o/0x%z%K{}", SXT_TEXT_MATCH_KERNEL, false, " "},
    {SIZE, "[<%x>]~%i+0x%o/0x%z%K{}", SXT_TEXT_MATCH_KERNEL, true, " "},
    {SIZE, "[<%x>] ? %i+0x%o/0x%z%K{}", SXT_TEXT_MATCH_KERNEL, true, " "},
    {SIZE, "[<%x>] (%i+0x%o/0x%z%K){}", SXT_TEXT_MATCH_KERNEL, true, " "},
    {BARE, "[<%X>]{}", SXT_TEXT_MATCH_ADDRESS, true, " "},
    {SIZE, "(%i+0x%o/0x%z%K){}", SXT_TEXT_MATCH_KERNEL, true, " "},
    {SIZE, "|%i+0x%o/0x%z%K{}", SXT_TEXT_MATCH_KERNEL, true, " "},
    {PLAIN, "|%l%x{}", SXT_TEXT_MATCH_ADDRESS, true, " "},
    /* A kernel that knows no symbol for an address. */
    {PLAIN, "|0x%X{}$", SXT_TEXT_MATCH_ADDRESS, true, " "},
};

/* What kernels, debuggers and runtimes call the address of an instruction; the rest is where a call returns to. */
static const char *const counters[] = {"pc",  "PC",  "epc", "sepc", "mepc", "rip",
                                       "RIP", "eip", "EIP", "ip",   "IP",   "NIP"};
static const char *const returns[] = {"lr", "LR", "ra", "RA"};

/* Limits keep the time small for a line full of partial matches. */
#define MODULE_MAX 4096
#define SYMBOL_MAX 4096

struct matcher {
    const char *line;
    size_t size;
    size_t begin; /* of this attempt */
    struct sxt_text_match *match;
};

static bool follows_counter(const char *line, size_t at);
static bool match_from(struct matcher *matcher, const char *pattern, size_t at);
static bool match_sign(struct matcher *matcher, const char *pattern, size_t at);

/* A quick test that rules out most positions: whether a match of PATTERN could start at AT. */
static bool may_begin(const struct pattern *pattern, const char *line, size_t at)
{
    char first = pattern->text[0];
    if (first == '^')
        return at == 0;
    if (first == '|')
        return (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t') &&
               (pattern->text[1] == '%' || line[at] == pattern->text[1]);
    return line[at] == first;
}

/* The same for any pattern. */
static bool may_any_begin(const char *line, size_t at)
{
    if (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t')
        return true;
    switch (line[at]) {
    case ':':
    case '#':
    case '(':
    case '[':
    case 'R':
    case 'E':
    case 'p':
        return true;
    default:
        return false;
    }
}

/* Every pattern contains one of these. Registers have no 0x: "epc : ffffffff80002a3c", "NIP:  c000000000123456". */
static bool may_match(const char *line, size_t size)
{
    static const char *const parts[] = {"0x", "[<", " : ", "IP:", "PC:", "pc:"};
    if (size == 0 || memchr(line, '(', size) != NULL)
        return size > 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (memmem(line, size, parts[i], strlen(parts[i])) != NULL)
            return true;
    return false;
}

bool sxt_text_match_next(const char *line, size_t size, size_t begin, struct sxt_text_match *match)
{
    struct matcher matcher = {.line = line, .size = size, .match = match};
    bool has[NEEDED] = {[PLAIN] = true};
    if (!may_match(line, size))
        return false;
    for (size_t i = PLAIN + 1; i < NEEDED; i++)
        has[i] = memmem(line, size, needed_texts[i], strlen(needed_texts[i])) != NULL;
    for (size_t at = begin; at < size; at++)
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns && may_any_begin(line, at); i++) {
            if (!has[patterns[i].needed] || !may_begin(&patterns[i], line, at))
                continue;
            *match = (struct sxt_text_match){.kind = patterns[i].kind, .is_return = patterns[i].is_return};
            match->separator = patterns[i].separator;
            match->start = matcher.begin = at;
            if (match_from(&matcher, patterns[i].text, at)) {
                match->is_return &= !follows_counter(line, at);
                return true;
            }
        }
    return false;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* 16 or more for what is not a digit. */
static unsigned digit_value(char digit)
{
    return (unsigned)sxt_hex_digit(digit);
}

static bool is_in(const char *const *words, size_t count, const char *word, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == size && memcmp(words[i], word, size) == 0)
            return true;
    return false;
}

#define IS_IN(words, word, size) is_in(words, sizeof(words) / sizeof *(words), word, size)

/* "[<ffffffff81234567>]", "[c000000000123456]", "0010:", "0704c00180000000": what is between a name and a symbol. */
static bool is_number_word(const char *word, size_t size)
{
    bool has_digit = false;
    for (size_t i = 0; i < size; i++) {
        if (strchr("[]<>:()", word[i]) == NULL && digit_value(word[i]) >= 16)
            return false;
        has_digit |= word[i] >= '0' && word[i] <= '9';
    }
    return has_digit || size == 1;
}

/* "kernel/fork.c:123": a warning says where it is. */
static bool is_place_word(const char *word, size_t size)
{
    const char *colon = memchr(word, ':', size);
    return colon != NULL && memchr(word, '.', (size_t)(colon - word)) != NULL && colon + 1 < word + size &&
           digit_value(colon[1]) < 10;
}

/*
 * Whether the text before AT says that the address of an instruction follows: "RIP: 0010:[<...>] ", "PC is at ",
 * "NIP [...] ", "Krnl PSW : ... (", "WARNING: ... at kernel/fork.c:123 ".
 */
static bool follows_counter(const char *line, size_t at)
{
    for (unsigned words = 0; words < 6; words++) {
        while (at > 0 && (is_blank(line[at - 1]) || line[at - 1] == ':' || line[at - 1] == '='))
            at--;
        size_t end = at;
        while (at > 0 && !is_blank(line[at - 1]))
            at--;
        const char *word = line + at;
        size_t size = end - at;
        if (size == 0)
            return false;
        /* "0010:[<ffffffff81234567>]" begins with the number of the segment. */
        if (is_number_word(word, size))
            continue;
        if (size == 2 && memcmp(word, "at", 2) == 0)
            return at >= 6 && memcmp(line + at - 6, "PC is ", 6) == 0;
        return IS_IN(counters, word, size) || (size == 3 && memcmp(word, "PSW", 3) == 0) || is_place_word(word, size);
    }
    return false;
}

static size_t skip_blanks(const struct matcher *matcher, size_t at)
{
    while (at < matcher->size && is_blank(matcher->line[at]))
        at++;
    return at;
}

/* The recursion is as deep as the pattern has signs. */
static bool match_from(struct matcher *matcher, const char *pattern, size_t at)
{
    for (; *pattern != 0; pattern++) {
        switch (*pattern) {
        case '^':
        case '|':
            break;
        case '$':
            at = skip_blanks(matcher, at);
            at += at < matcher->size && matcher->line[at] == '\r';
            if (at != matcher->size)
                return false;
            break;
        case ' ':
            if (at == matcher->size || !is_blank(matcher->line[at]))
                return false;
            at = skip_blanks(matcher, at);
            break;
        case '~':
            at = skip_blanks(matcher, at);
            break;
        case '{':
            matcher->match->from = at;
            break;
        case '}':
            matcher->match->to = at;
            break;
        case '%':
            return match_sign(matcher, pattern + 1, at);
        default:
            if (at == matcher->size || matcher->line[at] != *pattern)
                return false;
            at++;
        }
    }
    matcher->match->end = at;
    return true;
}

/* The number of at most 16 digits at AT, and its end; AT when there is none. */
static size_t read_number(const struct matcher *matcher, size_t at, unsigned base, uint64_t *value)
{
    size_t end = at;
    *value = 0;
    while (end < matcher->size && end - at < 17 && digit_value(matcher->line[end]) < base)
        *value = *value * base + digit_value(matcher->line[end++]);
    return end - at < 17 ? end : at;
}

static bool is_identifier(char byte)
{
    return digit_value(byte) < 16 || (byte >= 'g' && byte <= 'z') || (byte >= 'G' && byte <= 'Z') || byte == '_' ||
           byte == '.' || byte == '$';
}

static bool begins(const struct matcher *matcher, size_t at, const char *text)
{
    size_t size = strlen(text);
    return matcher->size - at >= size && memcmp(matcher->line + at, text, size) == 0;
}

/* The bytes from AT to END in a field, and then the rest of the pattern. */
static bool take(struct matcher *matcher, sxt_string *field, size_t at, size_t end, const char *rest)
{
    *field = (sxt_string){matcher->line + at, end - at};
    return match_from(matcher, rest, end);
}

static bool match_number(struct matcher *matcher, const char *pattern, size_t at)
{
    struct sxt_text_match *match = matcher->match;
    uint64_t value;
    size_t end = read_number(matcher, at, *pattern == 'd' ? 10 : 16, &value);
    if (end == at || (*pattern == 'X' && end - at < 8))
        return false;
    if (*pattern == 'x' || *pattern == 'X') {
        match->address = value;
        match->has_address = true;
    } else if (*pattern == 'o') {
        match->offset = value;
        match->has_offset = true;
    } else if (*pattern == 'z') {
        match->size = value;
        match->has_size = true;
    }
    return match_from(matcher, pattern + 1, end);
}

/* Whether BYTE may follow BEFORE in a module (%m, %w) or a symbol (%s). ": " ends the name of a perf event. */
static bool may_continue(char sign, char before, char byte)
{
    if (sign == 's')
        return before != ':' || !is_blank(byte);
    return byte != '(' && byte != ')' && (sign == 'm' || (!is_blank(byte) && byte != '[' && byte != ']'));
}

/* As short as the rest of the pattern allows. */
static bool match_text(struct matcher *matcher, const char *pattern, size_t at)
{
    struct sxt_text_match *match = matcher->match;
    sxt_string *field = *pattern == 's' ? &match->symbol : &match->module;
    size_t most = *pattern == 's' ? SYMBOL_MAX : MODULE_MAX;
    for (size_t end = at + 1; end <= matcher->size && end - at <= most; end++) {
        if (!may_continue(*pattern, end - 1 > at ? matcher->line[end - 2] : 0, matcher->line[end - 1]))
            return false;
        if (take(matcher, field, at, end, pattern + 1))
            return true;
    }
    return false;
}

static bool match_identifier(struct matcher *matcher, const char *pattern, size_t at)
{
    size_t end = at;
    while (end < matcher->size && is_identifier(matcher->line[end]))
        end++;
    return end > at && take(matcher, &matcher->match->symbol, at, end, pattern + 1);
}

/* "pc=0x", "epc : 0x", "NIP:  " */
static bool match_label(struct matcher *matcher, const char *pattern, size_t at)
{
    const char *line = matcher->line;
    size_t end = at;
    if (at == matcher->size || strchr("pPesmrRiIeEnNlL", line[at]) == NULL)
        return false;
    while (end < matcher->size && end - at < 5 && is_identifier(line[end]))
        end++;
    bool is_counter = IS_IN(counters, line + at, end - at);
    if (!is_counter && !IS_IN(returns, line + at, end - at))
        return false;
    end = skip_blanks(matcher, end);
    if (end == matcher->size || (line[end] != ':' && line[end] != '='))
        return false;
    end = skip_blanks(matcher, end + 1);
    uint64_t value;
    if (begins(matcher, end, "0x"))
        end += 2;
    else if (read_number(matcher, end, 16, &value) < end + 8)
        return false;
    matcher->match->is_return = !is_counter;
    return match_from(matcher, pattern + 1, end);
}

/* An optional "+0x12" after a symbol. */
static bool match_offset(struct matcher *matcher, const char *pattern, size_t at)
{
    struct sxt_text_match *match = matcher->match;
    match->has_offset = false;
    if (begins(matcher, at, "+0x")) {
        size_t end = read_number(matcher, at + 3, 16, &match->offset);
        match->has_offset = end > at + 3;
        if (match->has_offset && match_from(matcher, pattern + 1, end))
            return true;
        match->has_offset = false;
    }
    return match_from(matcher, pattern + 1, at);
}

/* An optional " (BuildId: 0123abcd)". */
static bool match_build_id(struct matcher *matcher, const char *pattern, size_t at)
{
    static const char before[] = " (BuildId: ";
    if (begins(matcher, at, before)) {
        size_t start = at + sizeof before - 1, end = start;
        while (end < matcher->size && digit_value(matcher->line[end]) < 16)
            end++;
        if (end > start && end < matcher->size && matcher->line[end] == ')') {
            matcher->match->build_id = (sxt_string){matcher->line + start, end - start};
            at = end + 1;
        }
    }
    return match_from(matcher, pattern + 1, at);
}

/* An optional " [ext4]", " [nvidia(OE)]" or " [xfs 0123abcd...]". */
static bool match_kernel_module(struct matcher *matcher, const char *pattern, size_t at)
{
    if (begins(matcher, at, " [")) {
        size_t start = at + 2, end = start;
        while (end < matcher->size && (is_identifier(matcher->line[end]) || matcher->line[end] == '-'))
            end++;
        const char *close = end > start ? memchr(matcher->line + end, ']', matcher->size - end) : NULL;
        if (close != NULL) {
            matcher->match->module = (sxt_string){matcher->line + start, end - start};
            at = (size_t)(close - matcher->line) + 1;
            /* The build ID is at the end, after flags such as (OE). */
            size_t id = at - 1;
            while (id > end && digit_value(matcher->line[id - 1]) < 16)
                id--;
            if (is_blank(matcher->line[id - 1]) && id + 1 < at)
                matcher->match->build_id = (sxt_string){matcher->line + id, at - 1 - id};
        }
    }
    return match_from(matcher, pattern + 1, at);
}

static bool match_sign(struct matcher *matcher, const char *pattern, size_t at)
{
    switch (*pattern) {
    case 'm':
    case 'w':
    case 's':
        return match_text(matcher, pattern, at);
    case 'i':
        return match_identifier(matcher, pattern, at);
    case 'l':
        return match_label(matcher, pattern, at);
    case 'b':
        return match_offset(matcher, pattern, at);
    case 'B':
        return match_build_id(matcher, pattern, at);
    case 'K':
        return match_kernel_module(matcher, pattern, at);
    default:
        return match_number(matcher, pattern, at);
    }
}
