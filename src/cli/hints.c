/* hints.c: what a user of the program can do about a failure of the library, by its reason. */
#include "cli/cli.h"

const char *cli_hint(sxt_reason reason)
{
    static const struct {
        sxt_reason reason;
        const char *text;
    } hints[] = {
        {SXT_REASON_INFLATE_LIMIT, "--max-size raises the limit (in size, query, diff, convert and symbolize)"},
        {SXT_REASON_CUT_OFF, "'sextant convert --recover' makes a complete trace from it"},
        {SXT_REASON_NOT_AUTHORIZED, "see --api-key"},
        {SXT_REASON_SYMBOL_TYPES, "--types all includes symbols of every type"},
        {SXT_REASON_UNKNOWN_QUERY, "'sextant query --list' prints the names"},
        {SXT_REASON_NOT_A_FILE, "give it as a file"},
        {SXT_REASON_HEAP_TRACE, "'sextant heap' shows what is in it"},
        {SXT_REASON_BINARY, "'sextant archive' makes an archive from a binary"},
        {SXT_REASON_NO_SEGMENTS, "make the archive again from the binary, or use --assume-linear"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (hints[i].reason == reason)
            return hints[i].text;
    return NULL;
}
