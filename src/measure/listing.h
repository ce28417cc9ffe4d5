/* listing.h: listings of the functions of a binary, with the names that its SuperSize file has for addresses. */
#ifndef SXT_MEASURE_LISTING_H
#define SXT_MEASURE_LISTING_H

#include "base/buffer.h"
#include "base/file.h"
#include "size/size.h"
#include "source/elf/elf.h"
#include "symbols/symbols.h"

/* The most bytes of a function that are listed, as in the reference. */
#define SXT_LISTING_BYTES_MAX 2048

/* Something with a name. */
struct sxt_listing_name {
    uint64_t start, end;
    size_t order; /* of those that start together, the first is shown */
    sxt_string name;
};

struct sxt_listing {
    const char *path;
    const struct sxt_size_info *size;
    uint32_t container; /* of the binary */
    struct sxt_file file;
    struct sxt_elf elf;
    struct sxt_symbols *plt;        /* owns names of PLT entries */
    struct sxt_listing_name *names; /* by address, and then by order */
    size_t name_count;
    uint64_t start, end; /* of the function that is listed now */
};

/*
 * Opens the binary at PATH whose sizes are in SIZE; both must outlive the listing. SXT_ERROR_UNSUPPORTED when it is not
 * a linked ELF file, SXT_ERROR_NOT_FOUND when SIZE is of another binary.
 */
int sxt_listing_open(struct sxt_listing *listing, const char *path, const struct sxt_size_info *size, sxt_error *error);
void sxt_listing_close(struct sxt_listing *listing);

/*
 * Appends the listing of SYMBOL. SXT_ERROR_NOT_FOUND when its bytes are not in the file, SXT_ERROR_UNSUPPORTED when
 * code of the machine cannot be disassembled.
 */
int sxt_listing_make(struct sxt_listing *listing, const struct sxt_size_model_symbol *symbol, struct sxt_buffer *out,
                     sxt_error *error);

#endif
