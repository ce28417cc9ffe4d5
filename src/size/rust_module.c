/*
 * rust_module.c: the crate and modules of a name of Rust.
 *
 *     shop::cart::add                                    shop::cart
 *     shop::cart::Cart::total                            shop::cart         types begin with a capital
 *     shop::cart::{impl#0}::total                        shop::cart
 *     shop::main::{{closure}}, shop::main::{closure#0}   shop               closures are in a function
 *     <shop::cart::Cart as core::fmt::Debug>::fmt        shop::cart         the type decides
 *     <u32 as shop::Price>::price                        shop               or the trait, of a type without a path
 *     core::fmt::num::<impl core::fmt::Debug for u8>::fmt   core::fmt::num
 *     core::ptr::drop_in_place::<shop::cart::Cart>       core::ptr
 */
#include <string.h>

#include "base/string.h"
#include "size/query_private.h"

/* How deep types are nested that decide on the modules; each takes a look at the whole name. */
#define NESTED_MOST 64

static sxt_string cut(sxt_string text, size_t count)
{
    return (sxt_string){text.data + count, text.size - count};
}

/* Goes over the byte at AT and returns the depth of brackets after it. "->" is not a bracket. */
static size_t depth_after(sxt_string text, size_t at, size_t depth)
{
    char byte = text.data[at];
    if (byte == '<' || byte == '(' || byte == '[' || byte == '{')
        return depth + 1;
    bool closes = byte == ')' || byte == ']' || byte == '}' || (byte == '>' && (at == 0 || text.data[at - 1] != '-'));
    return closes && depth > 0 ? depth - 1 : depth;
}

/* Where WORD begins outside of brackets; the size of TEXT if it does not. */
static size_t find_outside(sxt_string text, const char *word)
{
    size_t depth = 0;
    for (size_t at = 0; at < text.size; at++) {
        if (depth == 0 && sxt_string_begins(cut(text, at), word))
            return at;
        depth = depth_after(text, at, depth);
    }
    return text.size;
}

bool sxt_size_is_rust(char letter, sxt_string full_name)
{
    size_t separator = find_outside(full_name, "::");
    if (separator == full_name.size || sxt_string_begins(full_name, "**") || full_name.data[0] == '"')
        return false;
    if (sxt_string_begins(full_name, "<"))
        return true;
    /* Functions of C++ have parameters. Other symbols of C++ may look like those of Rust. */
    bool has_parts = memmem(full_name.data, full_name.size, "::{", 3) != NULL ||
                     memmem(full_name.data, full_name.size, "::<", 3) != NULL;
    return (letter == 't' || has_parts) && find_outside(full_name, "(") == full_name.size &&
           find_outside(full_name, "{lambda") == full_name.size;
}

/* Removes what may precede the path of a type: "&mut [shop::Item]" is of shop. */
static sxt_string without_prefixes(sxt_string type)
{
    static const char *const prefixes[] = {"&", "*const ", "*mut ", "mut ", "dyn ", "[", "(", "'_ ", "for<'a> "};
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !found; i++) {
            found = sxt_string_begins(type, prefixes[i]);
            if (found)
                type = cut(type, strlen(prefixes[i]));
        }
    }
    return type;
}

static bool is_letter(char byte)
{
    return byte == '_' || (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') ||
           (unsigned char)byte >= 0x80;
}

/* The size of the identifier at the beginning, with the hash of a crate: "core[8f4a3]". */
static size_t identifier_size(sxt_string text)
{
    size_t size = 0;
    while (size < text.size && is_letter(text.data[size]))
        size++;
    const char *end =
        size > 0 && size < text.size && text.data[size] == '[' ? memchr(text.data + size, ']', text.size - size) : NULL;
    return end != NULL ? (size_t)(end - text.data) + 1 : size;
}

static bool is_path(sxt_string text)
{
    size_t size = identifier_size(text);
    return size > 0 && sxt_string_begins(cut(text, size), "::");
}

/* The type, or else the trait, of "<TYPE as TRAIT>..." or "<impl TRAIT for TYPE>...". */
static sxt_string inside(sxt_string name)
{
    size_t depth = 0, end = 0;
    do
        depth = depth_after(name, end, depth);
    while (++end < name.size && depth > 0);
    sxt_string whole = {name.data + 1, end >= 2 ? end - 2 : 0};
    bool is_implementation = sxt_string_begins(whole, "impl ");
    whole = is_implementation ? cut(whole, 5) : whole;
    const char *word = is_implementation ? " for " : " as ";
    size_t at = find_outside(whole, word);
    if (at == whole.size)
        return without_prefixes(whole);
    sxt_string first = {whole.data, at}, second = cut(whole, at + strlen(word));
    sxt_string type = without_prefixes(is_implementation ? second : first);
    return is_path(type) || sxt_string_begins(type, "<") ? type : is_implementation ? first : second;
}

/* The parts of a path that are modules. */
static sxt_string modules_of(sxt_string path)
{
    size_t end = 0, before = 0; /* the ends of the parts so far, and of those but the last */
    for (size_t at = 0; at < path.size;) {
        sxt_string rest = cut(path, at);
        size_t size = identifier_size(rest);
        if (size == 0) /* a closure, or arguments of the function before it; but an implementation is in a module */
            return (sxt_string){path.data,
                                sxt_string_begins(rest, "{impl") || sxt_string_begins(rest, "<impl") ? end : before};
        if (rest.data[0] >= 'A' && rest.data[0] <= 'Z')
            return (sxt_string){path.data, end};
        before = end;
        end = at + size;
        /* Arguments, or what a compiler adds to a name, end in a separator too. */
        size_t next = find_outside(cut(path, end), "::");
        at = end + next + 2;
    }
    return (sxt_string){path.data, before};
}

sxt_string sxt_size_rust_module(sxt_string full_name)
{
    sxt_string path = full_name;
    for (int round = 0; round < NESTED_MOST && sxt_string_begins(path, "<"); round++)
        path = inside(path);
    return is_path(path) ? modules_of(path) : (sxt_string){"", 0};
}
