/* ranged.h: what the files share that read an archive by ranges. Private to this room. */
#ifndef SXT_LIDIA_RANGED_H
#define SXT_LIDIA_RANGED_H

#include "base/partial.h"
#include "lidia/lidia.h"

#define SXT_LIDIA_NO_ROW UINT64_MAX

/* Follows a question through what is here. Its functions return false if something is missing. */
struct sxt_lidia_plan {
    const struct sxt_lidia *lidia;
    struct sxt_partial_wants *wants; /* gets what is missing; may be NULL */
    uint64_t rows_ahead;             /* if so few rows have the answer, all of them are wanted at once */
    uint64_t rows_before;            /* how many rows before a row are wanted with it */
    uint64_t parents_before;         /* the same for parents */
    uint64_t text_ahead;             /* how much of a string is wanted before its size is known */
};

/* Are SIZE bytes at AT here? If not, they are wanted, or all between FROM and TO. */
bool sxt_lidia_need(struct sxt_lidia_plan *plan, const uint8_t *at, uint64_t size);
bool sxt_lidia_need_near(struct sxt_lidia_plan *plan, const uint8_t *at, uint64_t size, const uint8_t *from,
                         const uint8_t *to);

/* The last row at or before ADDRESS, SXT_LIDIA_NO_ROW when there is none. */
bool sxt_lidia_plan_row(struct sxt_lidia_plan *plan, uint64_t address, uint64_t *row);

/* The addresses of rows FIRST to END - 1. */
bool sxt_lidia_plan_addresses(struct sxt_lidia_plan *plan, uint64_t first, uint64_t end);

/* Row INDEX; up to BEFORE rows before it are wanted too. */
bool sxt_lidia_plan_fields(struct sxt_lidia_plan *plan, uint64_t index, uint64_t before, struct sxt_lidia_row *row);

/* The parent of row INDEX in the index, which has parents. */
bool sxt_lidia_plan_parent(struct sxt_lidia_plan *plan, uint64_t index, uint64_t *parent);

/* The string at OFFSET of the string table. */
bool sxt_lidia_plan_string(struct sxt_lidia_plan *plan, uint64_t offset);

/* The whole range and the other names of the frame that row INDEX gives. */
bool sxt_lidia_plan_frame(struct sxt_lidia_plan *plan, uint64_t index, const struct sxt_lidia_row *row);

#endif
