/* aliases.c: several names for one function, and which of them a call meant. */
#include "archive/private.h"
#include "base/string.h"

/* The names at the start of the function that FRAME is in; none for an inlined call. */
static struct sxt_lidia_names names_of(const sxt_archive *archive, const sxt_frame *frame)
{
    const struct sxt_lidia *lidia = &archive->lidia;
    if (frame->depth != 0 || lidia->aliases.group_count == 0)
        return (struct sxt_lidia_names){0};
    return sxt_lidia_names_at(&lidia->aliases, sxt_lidia_whole_start(lidia, frame));
}

size_t sxt_archive_aliases(const sxt_archive *archive, const sxt_frame *frame, sxt_string *names, size_t capacity,
                           bool *ambiguous)
{
    const struct sxt_lidia_aliases *aliases = &archive->lidia.aliases;
    struct sxt_lidia_names all = names_of(archive, frame);
    size_t count = 0;
    for (uint64_t i = 0; i < all.count; i++) {
        sxt_string name = sxt_lidia_alias(aliases, all.first + i);
        if (name.data == NULL || sxt_string_equal(name, frame->function))
            continue;
        /* Different linkage names can have the same readable form. */
        bool known = false;
        for (size_t k = 0; k < count && k < capacity && !known; k++)
            known = sxt_string_equal(names[k], name);
        if (known)
            continue;
        if (count < capacity)
            names[count] = name;
        count++;
    }
    if (ambiguous != NULL)
        *ambiguous = all.ambiguous && count > 0;
    return count;
}

/* Most archives have no folded functions, and say so. */
bool sxt_archive_is_ambiguous(const sxt_archive *archive, const sxt_frame *frame)
{
    const struct sxt_lidia_aliases *aliases = &archive->lidia.aliases;
    if (aliases->ambiguous_groups == 1)
        return false;
    struct sxt_lidia_names all = names_of(archive, frame);
    for (uint64_t i = 0; i < all.count && all.ambiguous; i++) {
        sxt_string name = sxt_lidia_alias(aliases, all.first + i);
        if (name.data != NULL && !sxt_string_equal(name, frame->function))
            return true;
    }
    return false;
}

bool sxt_archive_called(const sxt_archive *archive, const sxt_frame *frame, uint64_t return_address, sxt_string *name)
{
    const struct sxt_lidia_aliases *aliases = &archive->lidia.aliases;
    sxt_string called = aliases->call_count > 0 ? sxt_lidia_called(aliases, return_address) : (sxt_string){NULL, 0};
    if (called.data == NULL)
        return false;
    if (frame == NULL) {
        *name = called;
        return true;
    }
    struct sxt_lidia_names all = names_of(archive, frame);
    for (uint64_t i = 0; i < all.count; i++)
        if (sxt_string_equal(sxt_lidia_alias(aliases, all.first + i), called)) {
            *name = called;
            return true;
        }
    return false;
}
