/*
 * text_caller.h: which of several folded functions a frame in text is of.
 *
 * Programs print a stack from the innermost frame outwards, a frame on each line. So the caller of a frame is in the
 * next line, and debug information may say which function it calls.
 */
#ifndef SXT_PROFILE_TEXT_CALLER_H
#define SXT_PROFILE_TEXT_CALLER_H

#include "profile/text_address.h"

/* Whether MATCH, the first of LINE, is a frame whose caller is in the next line, if it has one. */
bool sxt_text_may_have_caller(const char *line, const struct sxt_text_match *match);

/*
 * The function of ARCHIVE that the caller in the line NEXT calls, if it is one of those at FRAME, which is the
 * outermost frame of MATCH, the first of LINE. False if that is unknown.
 */
bool sxt_text_find_called(struct sxt_text_addresses *addresses, const sxt_archive *archive, const sxt_frame *frame,
                          const char *line, const struct sxt_text_match *match, sxt_string next, sxt_string *name);

#endif
