/* framing.c: refuses headers that are malformed, contradict each other, or are there twice. */
#include "service/framing.h"

#include <string.h>
#include <strings.h>

/* Headers that may be there only once. */
static const char *const single[] = {
    "Content-Length", "Transfer-Encoding", "Host",      "Authorization", "Content-Type", "Content-Encoding",
    "FileID",         "FilePart",          "FileParts", "BuildID",       "Generation",   "Range",
    "Origin",         "X-Scope-OrgID",     "Expect",    "If-Range",
};
enum { SINGLE = sizeof single / sizeof *single };

static bool is_same_name(const char *a, const char *b)
{
    return (*a | 0x20) == (*b | 0x20) && strcasecmp(a, b) == 0;
}

const char *sxt_header_find(const struct sxt_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (is_same_name(headers[i].name, name))
            return headers[i].value;
    return NULL;
}

static bool is_token(const char *name)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    const char *at = name;
    for (; *at != 0; at++) {
        char lower = (char)(*at | 0x20);
        if (!((lower >= 'a' && lower <= 'z') || (*at >= '0' && *at <= '9') || strchr(others, *at) != NULL))
            return false;
    }
    return at > name;
}

static void refuse(struct sxt_framing *framing, unsigned status, const char *problem, const char *header)
{
    framing->status = status;
    framing->problem = problem;
    framing->header = header;
}

static void check_names(const struct sxt_header *headers, size_t count, struct sxt_framing *framing)
{
    uint32_t seen = 0;
    for (size_t i = 0; i < count && framing->status == 0; i++) {
        unsigned which = 0;
        while (which < SINGLE && !is_same_name(single[which], headers[i].name))
            which++;
        if (!is_token(headers[i].name))
            refuse(framing, 400, "a header has a malformed name", NULL);
        else if (which < SINGLE && seen >> which & 1)
            refuse(framing, 400, "a header is there twice", single[which]);
        else if (which < SINGLE)
            seen |= 1u << which;
    }
}

static bool parse_length(const char *text, uint64_t *length)
{
    uint64_t sum = 0;
    size_t size = strspn(text, "0123456789");
    if (size == 0 || text[size] != 0 || size > 18)
        return false;
    for (size_t i = 0; i < size; i++)
        sum = 10 * sum + (uint64_t)(text[i] - '0');
    *length = sum;
    return true;
}

static void check_length(const char *length, const char *encoding, struct sxt_framing *framing)
{
    framing->is_chunked = encoding != NULL;
    framing->has_length = length != NULL;
    if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
        refuse(framing, 400, "Transfer-Encoding is not chunked", NULL);
    else if (encoding != NULL && length != NULL)
        refuse(framing, 400, "both Content-Length and Transfer-Encoding", NULL);
    else if (length != NULL && !parse_length(length, &framing->length))
        refuse(framing, 400, "Content-Length is malformed", NULL);
}

struct sxt_framing sxt_framing_of(const struct sxt_header *headers, size_t count)
{
    struct sxt_framing framing = {.status = 0};
    if (count > SXT_HEADERS_MAX) {
        refuse(&framing, 431, "too many headers", NULL);
        return framing;
    }
    check_names(headers, count, &framing);
    if (framing.status == 0)
        check_length(sxt_header_find(headers, count, "Content-Length"),
                     sxt_header_find(headers, count, "Transfer-Encoding"), &framing);
    return framing;
}
