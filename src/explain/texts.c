/*
 * texts.c: reasons and advice in words. They never name options of a program: a program that has options adds its own
 * words for them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "explain/private.h"

#define RANGES_SHOWN 6

/* For %.*s. At most 160 bytes of a name go into a sentence. */
#define NAME(name) ((name).size < 160 ? (int)(name).size : 160), (name).data != NULL ? (name).data : ""

static const char *source_name(uint32_t source)
{
    switch (source) {
    case SXT_SOURCE_DWARF:
        return "DWARF";
    case SXT_SOURCE_GO:
        return "the Go function table";
    case SXT_SOURCE_SYMTAB:
        return ".symtab";
    default:
        return ".dynsym";
    }
}

static int outside_text(const sxt_explanation *all, char *text, size_t size)
{
    char list[RANGES_SHOWN * 48 + 64];
    size_t at = 0, shown = all->loaded_count < RANGES_SHOWN ? all->loaded_count : RANGES_SHOWN;
    uint64_t last = 0;
    for (size_t i = 0; i < all->loaded_count; i++)
        last = all->loaded[i].end > last ? all->loaded[i].end : last;
    for (size_t i = 0; i < shown; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s0x%" PRIx64 "-0x%" PRIx64, i > 0 ? ", " : "",
                               all->loaded[i].start, all->loaded[i].end);
    if (shown < all->loaded_count)
        snprintf(list + at, sizeof list - at, ", and %zu more up to 0x%" PRIx64, all->loaded_count - shown, last);
    return snprintf(text, size, "0x%" PRIx64 " is outside of every %s that the file loads: %s", all->address,
                    all->loads_sections ? "section" : "segment", list);
}

/* Where the address is, or what is around it. */
static int place_text(const sxt_explanation *all, const sxt_explained_reason *reason, char *text, size_t size)
{
    switch (reason->reason) {
    case SXT_WHY_NOTHING_LOADED:
        return snprintf(text, size, "the file has no %s that is loaded, so it has no addresses",
                        all->loads_sections ? "section" : "segment");
    case SXT_WHY_OUTSIDE:
        return outside_text(all, text, size);
    case SXT_WHY_NOT_CODE:
        return snprintf(text, size, "0x%" PRIx64 " is in %.*s, which is not code", all->address, NAME(reason->section));
    case SXT_WHY_BETWEEN_SECTIONS:
        return snprintf(text, size, "0x%" PRIx64 " is loaded but in no section: headers, or padding between sections",
                        all->address);
    case SXT_WHY_NOT_EXECUTABLE:
        return snprintf(text, size, "0x%" PRIx64 " is in a segment that is not executable", all->address);
    case SXT_WHY_IN_VARIABLE:
        return snprintf(text, size, "it is 0x%" PRIx64 " bytes into the variable '%.*s' (%.*s)", reason->size,
                        NAME(reason->name), NAME(reason->section));
    case SXT_WHY_IN_NO_FUNCTION:
        return reason->section.data != NULL
                   ? snprintf(text, size, "0x%" PRIx64 " is in %.*s, but in no known function", all->address,
                              NAME(reason->section))
                   : snprintf(text, size, "0x%" PRIx64 " is code, but in no known function", all->address);
    case SXT_WHY_FUNCTION_BEFORE:
        return snprintf(text, size, "'%.*s' ends 0x%" PRIx64 " bytes before it, at 0x%" PRIx64, NAME(reason->name),
                        reason->size, reason->address);
    case SXT_WHY_FUNCTION_AFTER:
        return snprintf(text, size, "'%.*s' starts 0x%" PRIx64 " bytes after it, at 0x%" PRIx64, NAME(reason->name),
                        reason->size, reason->address);
    case SXT_WHY_ZERO_SIZE:
        return snprintf(text, size, "the symbol '%.*s' at 0x%" PRIx64 " has size 0, so it owns no bytes",
                        NAME(reason->name), reason->address);
    case SXT_WHY_PADDING:
        return snprintf(text, size, "the bytes there are padding");
    default:
        return snprintf(text, size, "unknown reason %d", (int)reason->reason);
    }
}

/* Files that are missing, stripped or damaged. */
static int file_text(const sxt_explanation *all, const sxt_explained_reason *reason, char *text, size_t size)
{
    switch (reason->reason) {
    case SXT_WHY_SOURCE_EXCLUDED:
        return reason->name.data != NULL
                   ? snprintf(text, size, "%s is not used, and has '%.*s' here", source_name(reason->source),
                              NAME(reason->name))
                   : snprintf(text, size, "%s is not used, and has this address", source_name(reason->source));
    case SXT_WHY_DWARF_UNREADABLE:
        return snprintf(text, size, "the DWARF cannot be read: %.*s", NAME(reason->name));
    case SXT_WHY_FUNCTION_UNNAMED:
        return snprintf(text, size, "the function at 0x%" PRIx64 " of %.*s has the address, but no name",
                        reason->address, NAME(reason->section));
    case SXT_WHY_LINE_WITHOUT_NAME:
        return snprintf(text, size, "the line table of the unit '%.*s' has the address, but no function has it",
                        NAME(reason->name));
    case SXT_WHY_UNIT_DAMAGED:
        return snprintf(text, size, "the unit '%.*s' is damaged at 0x%" PRIx64, NAME(reason->name), reason->address);
    case SXT_WHY_STRIPPED:
        if (reason->size == 0)
            return snprintf(text, size, "the file is stripped: it has no symbols");
        return snprintf(text, size, "the file is stripped: it has only %" PRIu64 " exported function%s and PLT entries",
                        reason->size, reason->size == 1 ? "" : "s");
    case SXT_WHY_NO_DEBUG_FILE:
        return snprintf(text, size, "no debug file was found");
    case SXT_WHY_NO_DEBUG_LINK:
        return snprintf(text, size, "no debug file can be found: it has neither a build ID nor a .gnu_debuglink");
    case SXT_WHY_NO_DEBUG_SEARCH:
        return snprintf(text, size, "debug files were not searched");
    case SXT_WHY_OTHER_DEBUG_FILE:
        return snprintf(text, size, "'%.*s' exists, but is not the debug file of this binary", NAME(reason->path));
    case SXT_WHY_NOT_IN_DEBUG_FILE:
        return snprintf(text, size, "its debug file '%.*s' does not have it either", NAME(reason->path));
    case SXT_WHY_NO_SPLIT_FILE:
        return snprintf(text, size,
                        "the unit at 0x%" PRIx64 " has this address, but its split file '%.*s' was not found",
                        reason->address, NAME(reason->path));
    case SXT_WHY_NO_ALTERNATE_FILE:
        return snprintf(text, size, "the alternate file '%.*s', which may have the name, was not found",
                        NAME(reason->path));
    default:
        return place_text(all, reason, text, size);
    }
}

static int line_text(const sxt_explanation *all, const sxt_explained_reason *reason, char *text, size_t size)
{
    switch (reason->reason) {
    case SXT_WHY_LINKER_CODE:
        return snprintf(text, size, "the linker made this code");
    case SXT_WHY_LINE_ZERO:
        return snprintf(text, size, "the %s has line 0: the code belongs to no line of the source",
                        all->is_archive ? "line entry" : "line table");
    case SXT_WHY_NO_DWARF:
        return snprintf(text, size, "the file has no DWARF");
    case SXT_WHY_NO_UNIT:
        return snprintf(text, size, "no unit of the DWARF in '%.*s' has this address", NAME(reason->path));
    case SXT_WHY_NO_LINE_TABLE:
        return snprintf(text, size, "the unit '%.*s' has no line table", NAME(reason->name));
    case SXT_WHY_NO_LINE_ROW:
        return snprintf(text, size, "the line table at 0x%" PRIx64 " of .debug_line has no row for this address",
                        reason->address);
    case SXT_WHY_NO_LINE_ENTRIES:
        return snprintf(text, size, "the archive has no line entries");
    case SXT_WHY_NO_LINE_ENTRY:
        return snprintf(text, size, "the row has no line entry for this address");
    default:
        return file_text(all, reason, text, size);
    }
}

size_t sxt_explain_reason_text(const sxt_explanation *explanation, size_t index, char *text, size_t size)
{
    const sxt_explained_reason *reason = &explanation->reasons[index];
    uint64_t asked = explanation->address;
    int length;
    switch (reason->reason) {
    case SXT_WHY_NO_ROWS:
        length = snprintf(text, size, "the archive has no rows");
        break;
    case SXT_WHY_BEFORE_ROWS:
        length = snprintf(text, size, "0x%" PRIx64 " is before the first row, which starts at 0x%" PRIx64 " ('%.*s')",
                          asked, reason->address, NAME(reason->name));
        break;
    case SXT_WHY_AFTER_ROWS:
        length = snprintf(text, size, "0x%" PRIx64 " is after the last row, which ends at 0x%" PRIx64 " ('%.*s')",
                          asked, reason->address, NAME(reason->name));
        break;
    case SXT_WHY_BETWEEN_ROWS:
        length = snprintf(text, size, "0x%" PRIx64 " is between two rows", asked);
        break;
    case SXT_WHY_AFTER_FILE:
        length = snprintf(text, size, "the file has only 0x%" PRIx64 " bytes", reason->size);
        break;
    case SXT_WHY_OFFSET_NOT_LOADED:
        length = snprintf(text, size, "nothing is loaded from offset 0x%" PRIx64 " of the file", asked);
        break;
    case SXT_WHY_NAMES_ONLY:
        length = snprintf(text, size, "a ksym blob has names and addresses only");
        break;
    case SXT_WHY_OUTSIDE_TEXT:
        length = snprintf(text, size, "0x%" PRIx64 " is outside of the text of the blob, 0x%" PRIx64 "-0x%" PRIx64,
                          asked, reason->address, reason->address + reason->size);
        break;
    case SXT_WHY_OFFSET_SECTION:
        length = snprintf(text, size, "it is in the section %.*s", NAME(reason->section));
        break;
    default:
        length = line_text(explanation, reason, text, size);
    }
    return length > 0 ? (size_t)length : 0;
}

static int address_advice(const sxt_explained_advice *advice, char *text, size_t size)
{
    switch (advice->advice) {
    case SXT_ADVICE_RUN_TIME:
        return snprintf(text, size,
                        "it looks like an address of a running process: subtract the load bias, or use the "
                        "map of the process");
    case SXT_ADVICE_MAYBE_RUN_TIME:
        return snprintf(text, size,
                        "it may be an address of a running process: subtract the load bias, or use the map "
                        "of the process");
    case SXT_ADVICE_ADD_BASE:
        return snprintf(text, size, "if it counts from the start of the image, look up 0x%" PRIx64, advice->address);
    case SXT_ADVICE_SUBTRACT_BASE:
        return snprintf(text, size, "if the base was added twice, look up 0x%" PRIx64, advice->address);
    case SXT_ADVICE_FILE_OFFSET:
        return snprintf(text, size, "if it is an offset in the file, look up 0x%" PRIx64, advice->address);
    case SXT_ADVICE_SECTION_BASES:
        return snprintf(text, size, "check where the sections of the relocatable file were placed");
    case SXT_ADVICE_CHECK_FILE:
        return snprintf(text, size, "check that the address belongs to this file");
    case SXT_ADVICE_CHECK_ADDRESS:
        return snprintf(text, size, "check the address: most code is in .text, 0x%" PRIx64 "-0x%" PRIx64,
                        advice->address, advice->address + advice->size);
    case SXT_ADVICE_IS_ADDRESS:
        return snprintf(text, size, "0x%" PRIx64 " is an address of the file: look it up as one", advice->address);
    case SXT_ADVICE_NOT_AN_OFFSET:
        return snprintf(text, size, "if 0x%" PRIx64 " is an address, look it up as one", advice->address);
    default:
        return snprintf(text, size, "unknown advice %d", (int)advice->advice);
    }
}

size_t sxt_explain_advice_text(const sxt_explanation *explanation, size_t index, char *text, size_t size)
{
    static const char *const plain[] = {
        [SXT_ADVICE_EXTEND_ZERO_SIZE] = "extend symbols of size 0 to the next symbol",
        [SXT_ADVICE_SEARCH_DEBUG_FILE] = "search for debug files, or give one",
        [SXT_ADVICE_INSTALL_SYMBOLS] = "install the package with its debug symbols (Debian: NAME-dbgsym or NAME-dbg)",
        [SXT_ADVICE_GIVE_DEBUG_FILE] = "or give the debug file, or a copy of the binary that is not stripped",
        [SXT_ADVICE_INSTALL_ALTERNATE] =
            "install the alternate file (Debian: it is in the -dbgsym package, under .dwz/)",
        [SXT_ADVICE_COMPILE_WITH_DEBUG] = "this code was compiled without debug information: compile it with -g",
        [SXT_ADVICE_KEEP_LINES] = "make the archive again, with lines, from a file with debug information",
        [SXT_ADVICE_MAKE_AGAIN] = "make the archive again",
        [SXT_ADVICE_EXPLAIN_BINARY] = "explain the address with the ELF file, which has more than the archive",
    };
    const sxt_explained_advice *advice = &explanation->advice[index];
    size_t number = (size_t)advice->advice;
    int length;
    if (number < sizeof plain / sizeof *plain && plain[number] != NULL)
        length = snprintf(text, size, "%s", plain[number]);
    else if (advice->advice == SXT_ADVICE_ADD_SOURCE)
        length = snprintf(text, size, "use %s too", source_name(advice->source));
    else if (advice->advice == SXT_ADVICE_FETCH_DEBUG_FILE)
        length = snprintf(text, size, "or fetch the debug file by the build ID, which is %.*s", NAME(advice->name));
    else if (advice->advice == SXT_ADVICE_RESTORE_SPLIT_FILE)
        length =
            snprintf(text, size, "restore the .dwo file, or put a package made with dwp at '%.*s'", NAME(advice->path));
    else
        length = address_advice(advice, text, size);
    return length > 0 ? (size_t)length : 0;
}
