/* routing.c: decodes paths and compares them with patterns. */
#include "service/routing.h"

#include <string.h>

#include "base/hex.h"
#include "base/string.h"

bool sxt_route_decode(const char *text, size_t size, char *to, size_t *decoded)
{
    char *at = to;
    for (size_t i = 0; i < size; i++) {
        if (text[i] != '%') {
            *at++ = text[i];
            continue;
        }
        if (size - i < 3)
            return false;
        int high = sxt_hex_digit(text[i + 1]), low = sxt_hex_digit(text[i + 2]);
        if (high < 0 || low < 0)
            return false;
        *at++ = (char)(high << 4 | low);
        i += 2;
    }
    *at = 0;
    *decoded = (size_t)(at - to);
    return true;
}

static bool has_control(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
            return true;
    return false;
}

/* A word that may become part of a name of something. */
static bool is_word(const char *word, size_t size)
{
    return size > 0 && strchr(word, '/') == NULL && strcmp(word, ".") != 0 && strcmp(word, "..") != 0;
}

enum fit { FITS, DIFFERS, BROKEN };

/* Compares PATH, which is not decoded, with a pattern that has colons. Words go to ROOM. */
static enum fit fit_words(const char *pattern, sxt_string path, char *room, struct sxt_route_match *match)
{
    const char *at = path.data, *end = at + path.size;
    size_t count = 0, size;
    enum fit fit = FITS;
    for (; *pattern != 0; pattern++) {
        if (*pattern != ':') {
            if (at == end || *at++ != *pattern)
                return DIFFERS;
            continue;
        }
        bool is_rest = pattern[1] == ':';
        const char *stop = is_rest ? end : memchr(at, '/', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        if (count == SXT_ROUTE_WORDS || !sxt_route_decode(at, (size_t)(stop - at), room, &size))
            return DIFFERS;
        if (stop == at && !is_rest)
            return DIFFERS;
        if (!is_rest && !is_word(room, size))
            fit = BROKEN;
        match->words[count++] = room;
        room += size + 1;
        at = stop;
        pattern += is_rest;
    }
    return at == end ? fit : DIFFERS;
}

static enum fit fit_route(const struct sxt_route *route, sxt_string path, char *room, struct sxt_route_match *match)
{
    size_t size = strlen(route->pattern);
    if (size == path.size && memcmp(route->pattern, path.data, size) == 0)
        return memchr(route->pattern, ':', size) == NULL ? FITS : BROKEN;
    /* All that comes before the first colon. */
    size_t fixed = strcspn(route->pattern, ":");
    if (fixed == size || path.size < fixed || memcmp(route->pattern, path.data, fixed) != 0)
        return DIFFERS;
    return fit_words(route->pattern, path, room, match);
}

static void add_method(struct sxt_route_match *match, const char *method)
{
    size_t used = strlen(match->methods), size = strlen(method);
    if (strstr(match->methods, method) != NULL || used + size + 3 > sizeof match->methods)
        return;
    memcpy(match->methods + used, ", ", 2);
    used += used > 0 ? 2 : 0;
    memcpy(match->methods + used, method, size + 1);
}

/* "GET" answers HEAD too. */
static bool has_method(const struct sxt_route *route, const char *method)
{
    return strcmp(route->method, method) == 0 || (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* Decodes the escapes of letters, digits and "-._~", which mean the same as the characters (RFC 3986, 6.2.2.2). */
static sxt_string decode_unreserved(sxt_string path, char **room)
{
    static const char others[] = "-._~";
    char *start = *room, *at = start;
    for (size_t i = 0; i < path.size; i++) {
        char letter = path.data[i];
        if (letter == '%') { /* it is well-formed */
            char meant = (char)(sxt_hex_digit(path.data[i + 1]) << 4 | sxt_hex_digit(path.data[i + 2]));
            char lower = (char)(meant | 0x20);
            if ((lower >= 'a' && lower <= 'z') || (meant >= '0' && meant <= '9') || strchr(others, meant) != NULL) {
                letter = meant;
                i += 2;
            }
        }
        *at++ = letter;
    }
    *at = 0;
    *room = at + 1;
    return (sxt_string){start, (size_t)(at - start)};
}

enum sxt_route_found sxt_route_find(const struct sxt_route *routes, const char *method, sxt_string path, char *room,
                                    struct sxt_route_match *match)
{
    size_t size;
    *match->methods = 0;
    match->route = NULL;
    match->path = room;
    if (!sxt_route_decode(path.data, path.size, room, &size) || has_control(room, size) || *path.data != '/')
        return SXT_ROUTE_MALFORMED;
    room += size + 1;
    if (size != path.size) /* something was escaped */
        path = decode_unreserved(path, &room);
    bool is_broken = false;
    for (const struct sxt_route *route = routes; route->method != NULL; route++) {
        enum fit fit = fit_route(route, path, room, match);
        is_broken |= fit == BROKEN;
        if (fit != FITS)
            continue;
        match->route = route;
        if (has_method(route, method))
            return SXT_ROUTE_FOUND;
        add_method(match, route->method);
        if (strcmp(route->method, "GET") == 0)
            add_method(match, "HEAD");
    }
    if (match->route != NULL) {
        add_method(match, "OPTIONS");
        return SXT_ROUTE_METHOD;
    }
    return is_broken ? SXT_ROUTE_MALFORMED : SXT_ROUTE_NONE;
}
