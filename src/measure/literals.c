/* literals.c: string literals that a linker has merged. Each ends with a NUL, which separates it from the next one. */
#include <string.h>

#include "measure/private.h"

/* The longest text that is shown, and what is left of one that is longer. */
#define SHOWN_MOST 30
#define SHOWN_CUT  27

static bool is_printable(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool is_blank = bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r';
        if (!is_blank && (bytes[i] < 0x20 || bytes[i] > 0x7e))
            return false;
    }
    return true;
}

/* The name that the reference gives it: in quotes, without line ends and tabs, cut when it is long. */
static uint32_t name_of(struct measure_maker *maker, const uint8_t *bytes, size_t size)
{
    static const char nameless[] = "string literal";
    while (size > 0 && bytes[size - 1] == 0)
        size--;
    if (!is_printable(bytes, size))
        return sxt_measure_maker_name(maker, (sxt_string){nameless, sizeof nameless - 1});
    char text[SHOWN_MOST + 8];
    size_t shown = 0, kept = 0;
    text[shown++] = '"';
    for (size_t i = 0; i < size; i++) {
        bool is_blank = bytes[i] == '\t' || bytes[i] == '\n' || bytes[i] == '\r';
        if (!is_blank && ++kept <= SHOWN_MOST)
            text[shown++] = (char)bytes[i];
    }
    if (kept > SHOWN_MOST)
        shown = 1 + SHOWN_CUT;
    text[shown++] = '"';
    if (kept > SHOWN_MOST) {
        memcpy(text + shown, "...", 3);
        shown += 3;
    }
    return sxt_measure_maker_name(maker, (sxt_string){text, shown});
}

void sxt_measure_add_literals(struct measure_maker *maker, const struct measure_literals *literals)
{
    static const char all[] = "** merge strings";
    uint64_t size = literals->end - literals->start;
    const uint8_t *bytes = sxt_elf_at_address(literals->elf, literals->start, size);
    if (bytes == NULL) {
        sxt_measure_maker_add(maker, literals->segment, literals->start + literals->shift, size,
                              sxt_measure_maker_name(maker, (sxt_string){all, sizeof all - 1}), literals->path, 0,
                              false);
        return;
    }
    for (uint64_t at = 0; at < size && !maker->no_memory;) {
        const uint8_t *nul = memchr(bytes + at, 0, size - at);
        uint64_t end = nul != NULL ? (uint64_t)(nul - bytes) + 1 : size;
        /* NULs after it align the next one. */
        while (end < size && bytes[end] == 0)
            end++;
        sxt_measure_maker_add(maker, literals->segment, literals->start + literals->shift + at, end - at,
                              name_of(maker, bytes + at, (size_t)(end - at)), literals->path, 0, false);
        at = end;
    }
}
