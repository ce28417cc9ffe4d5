/* private.h: what the files of this room share. */
#ifndef SXT_CODE_PRIVATE_H
#define SXT_CODE_PRIVATE_H

#include "code/code.h"

/* As sxt_code_find_calls, for one architecture. */
typedef int sxt_call_search(const uint8_t *code, size_t size, uint64_t address, sxt_call_found *found, void *context,
                            sxt_error *error);

sxt_call_search sxt_find_calls_x86_64;
sxt_call_search sxt_find_calls_x86_32;
sxt_call_search sxt_find_calls_aarch64;

/* As sxt_code_list, for x86 and for all other machines. */
int sxt_code_list_x86(const struct sxt_code_piece *piece, sxt_code_name *name, void *context, struct sxt_buffer *out,
                      sxt_error *error);
int sxt_code_list_capstone(const struct sxt_code_piece *piece, sxt_code_name *name, void *context,
                           struct sxt_buffer *out, sxt_error *error);

/* The offset before which instructions begin that are listed. */
static inline size_t sxt_code_stop(const struct sxt_code_piece *piece)
{
    return piece->stop != 0 && piece->stop < piece->size ? piece->stop : piece->size;
}

/* Appends the beginning of a line of a listing. */
void sxt_code_begin_line(uint64_t offset, struct sxt_buffer *out);

/* No instruction of x86 is longer. */
#define SXT_X86_LENGTH_MAX 15

/*
 * The length of the x86-64 instruction at CODE, where SXT_X86_LENGTH_MAX bytes can be read, and in *CALL whether it is
 * a call. 0 when it is not known here: then a complete decoder is needed.
 */
unsigned sxt_x86_quick_length(const uint8_t *code, bool *call);

/*
 * The length of an x86 instruction that the complete decoder does not know, by its form: vector instructions and those
 * in the two long maps, which is where new ones are added. None of them is a call. 0 for anything else.
 */
unsigned sxt_x86_new_length(const uint8_t *code, size_t size);

#endif
