/* lookup_by_id.h: what lookups of a binary by its ID share, in a store and through a symbol service. */
#ifndef SXT_CLI_LOOKUP_BY_ID_H
#define SXT_CLI_LOOKUP_BY_ID_H

#include "answer/answer.h"
#include "catalog/catalog.h"
#include "cli/cli.h"

/* Most options say how to read a file. Refuses those that are not among FITTING, a list that ends with NULL. */
int cli_by_id_check_options(const struct cli_arguments *arguments, const char *const *fitting, const char *with);

#define CLI_BY_ID_MAX 3

/* The ids of --file-id and --build-id. WHAT needs one of them. */
int cli_by_id_take(const struct cli_arguments *arguments, const char *what, struct sxt_catalog_id ids[CLI_BY_ID_MAX],
                   size_t *count);

/* A batch of questions whose answers arrive in order. A question that is not an address has no answer to wait for. */
struct cli_by_id_batch {
    struct sxt_emit *emit;
    uint64_t bias;              /* of the addresses that are asked */
    struct sxt_answer *answers; /* of the batch */
    size_t count;
    size_t printed;
};

/* Begins a batch. Fills ADDRESSES, which has room for COUNT, and returns how many there are; warns about the others. */
size_t cli_by_id_begin(struct cli_by_id_batch *batch, struct sxt_answer *answers, size_t count, const char *place,
                       uint64_t *addresses);

/* Prints the answer of the next address; DATA is the batch. Returns SXT_OK. */
int cli_by_id_answer(void *data, size_t index, const sxt_frame *frames, size_t count);

/* Prints what comes after the last address. */
void cli_by_id_end(struct cli_by_id_batch *batch);

#endif
