/*
 * names_scan.c: a walk over a demangled name that knows which brackets belong together.
 *
 * Brackets are kept on a stack of bytes, one kind each, so that the walk takes linear time and no more memory than the
 * name. Names come from several demanglers and may be cut off or not be names at all: a closing bracket without an open
 * one is a byte like any other, ")" closes what is still open inside its brackets, and "<" and ">" that an operator's
 * name consists of, or an arrow, are not brackets.
 */
#include "size/names.h"

static size_t after_operator(const struct sxt_size_scan *scan, bool *is_conversion);
static size_t after_symbol(sxt_string text, size_t at);
static size_t after_word(sxt_string text, size_t at, bool *is_conversion);
static void close_bracket(struct sxt_size_scan *scan, char kind);
static bool follows_word(sxt_string text, size_t at, const char *word);

static size_t kind_of(char bracket)
{
    return bracket == '(' ? 0 : bracket == '<' ? 1 : bracket == '[' ? 2 : 3;
}

static bool is_operator(sxt_string text, size_t at)
{
    return sxt_size_starts(text, at, "operator") && (at == 0 || !sxt_size_is_word(text.data[at - 1])) &&
           (at + 8 == text.size || !sxt_size_is_word(text.data[at + 8]));
}

void sxt_size_scan_step(struct sxt_size_scan *scan)
{
    const char *data = scan->text.data;
    size_t at = scan->at;
    char byte = data[at];
    char before = at > 0 ? data[at - 1] : 0, after = at + 1 < scan->text.size ? data[at + 1] : 0;
    switch (byte) {
    case 'o':
        if (is_operator(scan->text, at)) {
            bool is_conversion = false;
            scan->at = after_operator(scan, &is_conversion);
            scan->is_conversion |= is_conversion && scan->depth == 0;
            return;
        }
        break;
    case '<':
        if (before == ' ' && (after == ' ' || after == '='))
            break; /* a comparison */
        /* fall through */
    case '(':
    case '[':
    case '{':
        scan->open[scan->depth++] = byte;
        scan->counts[kind_of(byte)]++;
        break;
    case '>':
        if (before != '-' && scan->depth > 0 && scan->open[scan->depth - 1] == '<')
            close_bracket(scan, '<');
        break;
    case ')':
        close_bracket(scan, '(');
        break;
    case ']':
        close_bracket(scan, '[');
        break;
    case '}':
        close_bracket(scan, '{');
        break;
    default:
        break;
    }
    scan->at++;
}

static void close_bracket(struct sxt_size_scan *scan, char kind)
{
    if (scan->counts[kind_of(kind)] == 0)
        return;
    char closed;
    do {
        closed = scan->open[--scan->depth];
        scan->counts[kind_of(closed)]--;
    } while (closed != kind);
}

/* The position after the name of the operator at `at`. */
static size_t after_operator(const struct sxt_size_scan *scan, bool *is_conversion)
{
    sxt_string text = scan->text;
    size_t at = scan->at + 8;
    if (at == text.size)
        return at;
    if (text.data[at] == ' ')
        return after_word(text, at, is_conversion);
    if (sxt_size_starts(text, at, "()") || sxt_size_starts(text, at, "[]"))
        at += 2;
    else if (text.data[at] == '"')
        return after_word(text, at, is_conversion);
    else
        at = after_symbol(text, at);
    /* "operator<< <int>": the space is a part of the name. */
    return sxt_size_starts(text, at, " <") ? at + 1 : at;
}

/* "operator new[]", `operator"" _km`, or "operator TYPE", where the type is not a part of the token. */
static size_t after_word(sxt_string text, size_t at, bool *is_conversion)
{
    static const char *const words[] = {" new", " delete", " co_await"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t end = at + strlen(words[i]);
        if (sxt_size_starts(text, at, words[i]) && (end == text.size || !sxt_size_is_word(text.data[end])))
            return sxt_size_starts(text, end, "[]") ? end + 2 : end;
    }
    if (text.data[at] == ' ' && !sxt_size_starts(text, at, " \"\"")) {
        *is_conversion = true;
        return at + 1;
    }
    while (at < text.size && (text.data[at] == '"' || text.data[at] == ' '))
        at++;
    while (at < text.size && sxt_size_is_word(text.data[at]))
        at++;
    return at;
}

/* May this follow the name of an operator? */
static bool may_follow(sxt_string text, size_t at)
{
    return at >= text.size || memchr("(< [>,)}:;@.", text.data[at], 12) != NULL;
}

/*
 * The longest operator that something sensible follows: "operator<<int>()" is "<" with template arguments, as some
 * demanglers leave out the space.
 */
static size_t after_symbol(sxt_string text, size_t at)
{
    static const char *const symbols[] = {
        "->*", "<=>", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "<",  ">",  "+",
        "-",   "*",   "/",   "%",   "^",  "&",  "|",  "~",  "!",  "=",  ","};
    size_t longest = at;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (sxt_size_starts(text, at, symbols[i])) {
            size_t end = at + strlen(symbols[i]);
            if (may_follow(text, end))
                return end;
            if (longest == at)
                longest = end;
        }
    return longest;
}

bool sxt_size_scan_is_parameters(const struct sxt_size_scan *scan)
{
    static const char *const no_functions[] = {"decltype", "noexcept", "typeof", "__typeof__", "requires", "sizeof"};
    sxt_string text = scan->text;
    size_t at = scan->at;
    if (at == 0 || text.data[at - 1] == ' ' || sxt_size_starts(text, at, "(anonymous"))
        return false;
    /* A conversion takes nothing: "operator void (*)(int)()". */
    if (scan->is_conversion)
        return sxt_size_starts(text, at, "()") && !sxt_size_starts(text, at + 2, "(");
    /* Go's "package.(*Type).Method". */
    if (text.data[at - 1] == '.' && sxt_size_starts(text, at, "(*"))
        return false;
    /* Clang's "name::'lambda0'(int)::operator()(int) const". */
    if (text.data[at - 1] == '\'' && at >= 2) {
        size_t quote = sxt_size_find_last(text, at - 1, '\'');
        if (quote != SIZE_MAX && sxt_size_starts(text, quote, "'lambda"))
            return false;
    }
    for (size_t i = 0; i < sizeof no_functions / sizeof *no_functions; i++)
        if (follows_word(text, at, no_functions[i]))
            return false;
    return true;
}

static bool follows_word(sxt_string text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return at >= size && text.data[at - size] == word[0] && memcmp(text.data + at - size, word, size) == 0 &&
           (at == size || !sxt_size_is_word(text.data[at - size - 1]));
}
