/* text_caller.c: finds the caller of a frame in the next line of text, and the function that it calls. */
#include "profile/text_caller.h"

#include "base/string.h"

/* Sanitizers number the frames of a stack: "    #1 0x55d0c8a01234  (/usr/bin/app+0x1234)". */
static bool is_numbered(const char *line, const struct sxt_text_match *match)
{
    return line[match->start] == '#';
}

static uint64_t frame_number(const char *line, const struct sxt_text_match *match)
{
    uint64_t number = 0;
    for (size_t at = match->start + 1; at < match->end && line[at] >= '0' && line[at] <= '9'; at++)
        number = number * 10 + (uint64_t)(line[at] - '0');
    return number;
}

bool sxt_text_may_have_caller(const char *line, const struct sxt_text_match *match)
{
    switch (match->kind) {
    case SXT_TEXT_MATCH_VIRTUAL:
    case SXT_TEXT_MATCH_ABSOLUTE:
    case SXT_TEXT_MATCH_SYMBOL:
        return match->is_return || is_numbered(line, match);
    case SXT_TEXT_MATCH_PERF:
        return match->start == 0; /* otherwise it is a sample on one line */
    case SXT_TEXT_MATCH_KERNEL:
    case SXT_TEXT_MATCH_ADDRESS:
        return false; /* kernels are not folded, and their stacks contain addresses that are not of frames */
    }
    return false;
}

/* Whether CALLER in the line NEXT is the frame after MATCH in LINE, in the same file. */
static bool is_next_frame(const char *line, const struct sxt_text_match *match, const char *next,
                          const struct sxt_text_match *caller)
{
    if (!sxt_text_may_have_caller(next, caller) || is_numbered(line, match) != is_numbered(next, caller) ||
        (match->kind == SXT_TEXT_MATCH_PERF) != (caller->kind == SXT_TEXT_MATCH_PERF))
        return false;
    if (is_numbered(line, match) && frame_number(next, caller) != frame_number(line, match) + 1)
        return false;
    return sxt_string_equal(match->module, caller->module) && sxt_string_equal(match->build_id, caller->build_id);
}

/*
 * ADDRESS is in the call. Sanitizers print the return address less one byte or one instruction, by architecture: 1 on
 * x86, 2 on RISC-V and Thumb, 4 on Arm and PowerPC. perf has subtracted 1 already where it unwinds with DWARF. No
 * direct call on x86 is short enough that 2 or 4 could mean the call after this one.
 */
static bool find_called(const sxt_archive *archive, const sxt_frame *frame, const struct sxt_text_match *caller,
                        uint64_t address, sxt_string *name)
{
    bool is_exact = caller->is_return, is_perf = caller->kind == SXT_TEXT_MATCH_PERF;
    return sxt_archive_called(archive, frame, address + 1, name) ||
           (!is_exact && sxt_archive_called(archive, frame, address + 2, name)) ||
           (!is_exact && !is_perf && address % 4 == 0 && sxt_archive_called(archive, frame, address + 4, name));
}

bool sxt_text_find_called(struct sxt_text_addresses *addresses, const sxt_archive *archive, const sxt_frame *frame,
                          const char *line, const struct sxt_text_match *match, sxt_string next, sxt_string *name)
{
    struct sxt_text_match caller;
    uint64_t address;
    while (next.size > 0 && (next.data[next.size - 1] == '\n' || next.data[next.size - 1] == '\r'))
        next.size--;
    if (!sxt_text_match_next(next.data, next.size, 0, &caller) || !is_next_frame(line, match, next.data, &caller))
        return false;
    bool is_return = caller.is_return || caller.kind == SXT_TEXT_MATCH_PERF;
    return sxt_text_address(addresses, &caller, is_return, &address) == archive &&
           find_called(archive, frame, &caller, address, name);
}
