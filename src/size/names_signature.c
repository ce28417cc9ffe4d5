/*
 * names_signature.c: what a function or variable is called, from its demangled name.
 *
 *     bool  foo::Bar<unsigned, int>::Do<int>  (char const*, Baz<int>)   const
 *     type  head                              parameters                tail
 *
 * The full name lacks the type, the template name the parameters too, and in the short name template arguments are
 * emptied. The rules are those of SuperSize, which looks at characters one by one where this knows operators, braces
 * and other languages than C++; docs/formats/size-names.md lists where the results differ.
 */
#include "base/string.h"
#include "size/names.h"

/* The parts of a signature, as places in its text. */
struct signature {
    size_t head, head_end;
    size_t tail;  /* after the parameters */
    size_t brace; /* the last "{" of the head outside of brackets, or SIZE_MAX */
    bool is_function;
};

static bool find_parameters(struct sxt_size_scan *scan, struct signature *signature);
static void find_tail(struct sxt_size_scan *scan, struct signature *signature);
static size_t skip_qualifiers(sxt_string text, size_t at);
static sxt_string lambda_head(sxt_string text, const struct signature *signature, struct sxt_size_room *room);
static sxt_string without_abi_tags(sxt_string text, struct sxt_size_room *room);
static sxt_string without_arguments(sxt_string text, char *open, struct sxt_size_room *room);

void sxt_size_signature_names(sxt_string text, bool full_only, struct sxt_size_room *room,
                              struct sxt_size_derived_names *out)
{
    char *open = room->next;
    room->next += text.size;
    struct sxt_size_scan scan = {.text = text, .open = open};
    struct signature signature = {.brace = SIZE_MAX};
    out->full_name = text;
    sxt_string head = text, tail = {text.data, 0};
    if (memchr(text.data, '(', text.size) != NULL && find_parameters(&scan, &signature)) {
        head = lambda_head(text, &signature, room);
        sxt_string parameters = sxt_size_slice(text, signature.head_end, text.size);
        if (head.data == text.data + signature.head)
            out->full_name = sxt_size_slice(text, signature.head, text.size);
        else
            out->full_name = sxt_size_join(room, (sxt_string[]){head, parameters}, 2);
        if (!full_only) {
            find_tail(&scan, &signature);
            tail = sxt_size_slice(text, signature.tail, text.size);
        }
    }
    if (full_only)
        return;
    if (tail.size > 0)
        head = sxt_size_join(room, (sxt_string[]){head, tail}, 2);
    out->template_name = without_abi_tags(head, room);
    out->name = without_arguments(out->template_name, open, room);
}

/* The first parameters outside of brackets are those of the outermost function, where functions are nested. */
static bool find_parameters(struct sxt_size_scan *scan, struct signature *signature)
{
    while (sxt_size_scan_skip(scan), scan->at < scan->text.size) {
        char byte = scan->text.data[scan->at];
        if (scan->depth == 0) {
            if (byte == '(' && sxt_size_scan_is_parameters(scan)) {
                signature->head_end = scan->at;
                return true;
            }
            if (byte == ' ' && !scan->is_conversion)
                signature->head = scan->at + 1;
            else if (byte == '{')
                signature->brace = scan->at;
        }
        sxt_size_scan_step(scan);
    }
    return false;
}

/*
 * What follows the parameters stays: " const", "::variable", " [vtable]". When it has parameters itself, it is a
 * function inside the function, whose name and qualifiers do not belong to the outer one.
 */
static void find_tail(struct sxt_size_scan *scan, struct signature *signature)
{
    sxt_string text = scan->text;
    bool is_nested = false, in_parameters = true;
    scan->is_conversion = false;
    while (sxt_size_scan_skip(scan), scan->at < text.size) {
        if (scan->depth == 0 && text.data[scan->at] == '(' && sxt_size_scan_is_parameters(scan)) {
            is_nested |= !in_parameters;
            scan->is_conversion = false;
            in_parameters = true;
        }
        sxt_size_scan_step(scan);
        if (in_parameters && scan->depth == 0) {
            in_parameters = false;
            signature->tail = scan->at;
        }
    }
    if (in_parameters)
        signature->tail = text.size;
    if (is_nested)
        signature->tail = skip_qualifiers(text, signature->tail);
}

static size_t skip_qualifiers(sxt_string text, size_t at)
{
    static const char *const qualifiers[] = {" const", " volatile", " &&", " &", " noexcept"};
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; !found && i < sizeof qualifiers / sizeof *qualifiers; i++)
            if (sxt_size_starts(text, at, qualifiers[i])) {
                at += strlen(qualifiers[i]);
                found = true;
            }
    }
    return at;
}

/*
 * The head of a signature. That of a lambda without captures, called through a pointer, is rewritten so that it is the
 * same from GCC ("{lambda(int)#3}::_FUN") and from Clang ("$_3::__invoke"): "$lambda#3".
 */
static sxt_string lambda_head(sxt_string text, const struct signature *signature, struct sxt_size_room *room)
{
    sxt_string head = sxt_size_slice(text, signature->head, signature->head_end);
    size_t end = head.size, from = 0, number = 0;
    if (sxt_string_ends(head, "}::_FUN") && signature->brace != SIZE_MAX && signature->brace >= signature->head) {
        end -= strlen("}::_FUN");
        from = signature->brace - signature->head;
        number = sxt_size_find_last(head, end, '#');
        if (number == SIZE_MAX || number < from || !sxt_size_starts(head, from, "{lambda("))
            return head;
        number++;
    } else if (sxt_string_ends(head, "::__invoke")) {
        end -= strlen("::__invoke");
        for (number = end; number > 0 && sxt_size_is_digit(head.data[number - 1]);)
            number--;
        if (number < 2 || number == end || !sxt_size_starts(head, number - 2, "$_"))
            return head;
        from = number - 2;
    } else {
        return head;
    }
    return sxt_size_join(
        room, (sxt_string[]){sxt_size_slice(head, 0, from), {"$lambda#", 8}, sxt_size_slice(head, number, end)}, 3);
}

/* Without "[abi:...]". */
static sxt_string without_abi_tags(sxt_string text, struct sxt_size_room *room)
{
    size_t tag = sxt_size_find(text, 0, "[abi:");
    if (tag == SIZE_MAX)
        return text;
    sxt_string result = {room->next, 0};
    size_t copied = 0;
    while (tag != SIZE_MAX) {
        const char *end = memchr(text.data + tag, ']', text.size - tag);
        if (end == NULL)
            break;
        sxt_string part = sxt_size_slice(text, copied, tag);
        result.size += sxt_size_join(room, &part, 1).size;
        copied = (size_t)(end - text.data) + 1;
        tag = sxt_size_find(text, copied, "[abi:");
    }
    sxt_string rest = sxt_size_slice(text, copied, text.size);
    result.size += sxt_size_join(room, &rest, 1).size;
    return result;
}

/*
 * Are the brackets at `at` kept as they are, because what is in them is a name and not an argument? Rust's
 * "<Type as Trait>::f" and "<impl Trait for Type>::f", and "<lambda(int)>".
 */
static bool is_kept(const struct sxt_size_scan *scan)
{
    sxt_string text = scan->text;
    size_t at = scan->at;
    return at == 0 || (text.data[at - 1] == ':' && sxt_size_starts(text, at, "<impl ")) ||
           sxt_size_starts(text, at, "<lambda(");
}

static bool begins_arguments(const struct sxt_size_scan *scan)
{
    if (scan->text.data[scan->at] == '<')
        return !is_kept(scan);
    /* Go's "package.Function[go.shape.int]". */
    return scan->at > 0 &&
           (sxt_size_starts(scan->text, scan->at, "[go.shape.") || sxt_size_starts(scan->text, scan->at, "[...]"));
}

/* With empty brackets in place of template arguments: they still show that it is a template. */
static sxt_string without_arguments(sxt_string text, char *open, struct sxt_size_room *room)
{
    if (memchr(text.data, '<', text.size) == NULL && memchr(text.data, '[', text.size) == NULL)
        return text;
    struct sxt_size_scan scan = {.text = text, .open = open};
    char *out = room->next;
    size_t level = SIZE_MAX; /* brackets that are open inside arguments, while in some */
    size_t begin = 0;        /* of what is inside */
    while (scan.at < text.size) {
        size_t at = scan.at, depth = scan.depth;
        bool is_candidate = level == SIZE_MAX && begins_arguments(&scan);
        sxt_size_scan_step(&scan);
        if (is_candidate && scan.depth > depth) {
            *out++ = text.data[at];
            level = scan.depth;
            begin = scan.at;
        } else if (level == SIZE_MAX) {
            memcpy(out, text.data + at, scan.at - at);
            out += scan.at - at;
        } else if (scan.depth < level) {
            /* Closed by a bracket of another kind, it was not a bracket. */
            if (text.data[at] != '>' && text.data[at] != ']')
                at = begin;
            memcpy(out, text.data + at, scan.at - at);
            out += scan.at - at;
            level = SIZE_MAX;
        }
    }
    if (level != SIZE_MAX) {
        memcpy(out, text.data + begin, text.size - begin);
        out += text.size - begin;
    }
    sxt_string result = {room->next, (size_t)(out - room->next)};
    room->next = out;
    return result;
}
