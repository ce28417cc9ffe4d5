/*
 * names_java.c: names of Java code: "package.Class#member(arguments): type", or before SuperSize saw them
 * "package.Class type member(arguments)". A class that was merged into another precedes the member, and is the one that
 * counts: "package.New#package.Old.member" is Old's.
 */
#include "size/names.h"

struct member {
    sxt_string class_name;
    sxt_string member; /* with arguments, and the class that was merged */
};

static bool split(sxt_string stored, struct sxt_size_room *room, struct member *out, sxt_string *full_name);

static size_t after_last_dot(sxt_string text)
{
    size_t dot = sxt_size_find_last(text, text.size, '.');
    return dot == SIZE_MAX ? 0 : dot + 1;
}

void sxt_size_java_names(sxt_string stored, struct sxt_size_room *room, struct sxt_size_derived_names *out)
{
    struct member parts;
    *out = (struct sxt_size_derived_names){stored, stored, stored, 0};
    if (!split(stored, room, &parts, &out->full_name)) {
        out->name = sxt_size_slice(stored, after_last_dot(stored), stored.size);
        return;
    }
    sxt_string member = parts.member;
    const char *parenthesis = memchr(member.data, '(', member.size);
    if (parenthesis != NULL)
        member.size = (size_t)(parenthesis - member.data);

    sxt_string owner = parts.class_name;
    size_t own_name = after_last_dot(member);
    if (own_name > 0) {
        owner = sxt_size_slice(member, 0, own_name - 1);
        member = sxt_size_slice(member, own_name, member.size);
    }
    out->template_name = sxt_size_join(room, (sxt_string[]){owner, {"#", 1}, member}, 3);
    size_t package = after_last_dot(owner);
    out->name = sxt_size_slice(out->template_name, package, out->template_name.size);
}

/* False for a class alone. */
static bool split(sxt_string stored, struct sxt_size_room *room, struct member *out, sxt_string *full_name)
{
    size_t hash = sxt_size_find(stored, 0, "#");
    if (hash != SIZE_MAX) {
        size_t colon = sxt_size_find(stored, hash, ":");
        out->class_name = sxt_size_slice(stored, 0, hash);
        out->member = sxt_size_slice(stored, hash + 1, colon == SIZE_MAX ? stored.size : colon);
        return true;
    }
    size_t first = sxt_size_find(stored, 0, " ");
    if (first == SIZE_MAX)
        return false;
    size_t last = sxt_size_find_last(stored, stored.size, ' ');
    out->class_name = sxt_size_slice(stored, 0, first);
    out->member = sxt_size_slice(stored, last + 1, stored.size);
    sxt_string parts[] = {out->class_name, {"#", 1}, out->member, {": ", 2}, {"", 0}};
    if (last != first)
        parts[4] = sxt_size_slice(stored, first + 1, sxt_size_find(stored, first + 1, " "));
    *full_name = sxt_size_join(room, parts, last != first ? 5 : 3);
    return true;
}
