/*
 * options.h: option structs that callers of other versions may pass.
 *
 * A public option struct begins with `size_t struct_size`, which its init function sets. A caller that was compiled
 * against an older header has a smaller struct: the fields that it does not have keep their defaults. A newer caller
 * has a larger one, which is fine as long as the fields unknown here are zero.
 */
#ifndef SXT_BASE_OPTIONS_H
#define SXT_BASE_OPTIONS_H

#include <stddef.h>

#include <sextant/error.h>

/*
 * Copies what GIVEN has over the defaults in OUT, which has SIZE bytes. GIVEN may be NULL. NAME is that of the init
 * function, for the message. SXT_ERROR_USAGE if GIVEN was not initialised or sets a field that is unknown here.
 */
int sxt_options_take(void *out, size_t size, const void *given, const char *name, sxt_error *error);

/*
 * The other direction: copies the SIZE bytes of RESULT into OUT, a struct of the caller's that begins with a
 * struct_size too; what does not fit there is left out, and what the caller has beyond it becomes zero.
 */
void sxt_result_give(void *out, const void *result, size_t size);

#endif
