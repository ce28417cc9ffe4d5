/*
 * listing.h: functions of a binary, disassembled, with the names that its SuperSize file has for what they refer to.
 * Private to this room.
 */
#ifndef SXT_MEASURE_LISTING_H
#define SXT_MEASURE_LISTING_H

#include "archive/private.h"
#include "base/buffer.h"
#include "measure/measure.h"
#include "size/size.h"
#include "source/elf/elf.h"

/* The most bytes of a function that are listed, as the reference has it. */
#define SXT_LISTING_BYTES_MAX 2048

/* Something with a name. */
struct sxt_listing_name {
    uint64_t start, end;
    size_t order; /* of those that start together, the first is told */
    sxt_string name;
};

struct sxt_listing {
    const char *path;
    const char *objdump; /* the program to use; NULL: one that suits the machine */
    const struct sxt_size_info *size;
    uint32_t container; /* that the binary is */
    struct sxt_file file;
    struct sxt_elf elf;
    struct sxt_symbols *plt;        /* owns names of PLT entries */
    struct sxt_listing_name *names; /* by address, and then by order */
    size_t name_count;
    uint64_t start, end; /* of the function that is being listed */
};

/* Opens the binary at PATH whose sizes are in SIZE. SXT_ERROR_UNSUPPORTED when it is none that has a function at an
 * address, SXT_ERROR_NOT_FOUND when SIZE is of another binary. PATH, SIZE and OBJDUMP must stay. */
int sxt_listing_open(struct sxt_listing *listing, const char *path, const struct sxt_size_info *size,
                     const char *objdump, sxt_error *error);
void sxt_listing_close(struct sxt_listing *listing);

/* Appends the listing of SYMBOL. SXT_ERROR_NOT_FOUND when its bytes are not in the file, SXT_ERROR_UNSUPPORTED when
 * nothing here can disassemble them. */
int sxt_listing_make(struct sxt_listing *listing, const struct sxt_size_model_symbol *symbol, struct sxt_buffer *out,
                     sxt_error *error);

/* Appends what is at an address; CONTEXT is the sxt_listing. */
void sxt_listing_put_name(void *context, uint64_t address, struct sxt_buffer *out);

/* --- objdump.c --- */

/* Appends the listing of SIZE bytes from ADDRESS on, as objdump prints it, in the form that all listings have. */
int sxt_objdump_list(struct sxt_listing *listing, uint64_t address, size_t size, struct sxt_buffer *out,
                     sxt_error *error);

#endif
