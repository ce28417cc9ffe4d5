/* sparse.h: choosing symbols of a size and copying them, for sparse.c and diff_store.c. */
#ifndef SXT_SIZE_SPARSE_H
#define SXT_SIZE_SPARSE_H

#include "size/size.h"

/* What is copied: symbols, of which one stands for a whole group of aliases, and paddings that become symbols. */
struct sxt_size_selection {
    const struct sxt_size_info *from;
    uint32_t *symbols;
    size_t count;
    bool *has_group; /* by group: is it in there? */
    const struct sxt_size_padding_change *paddings;
    size_t padding_count;
};

/* An empty selection of FROM. */
int sxt_size_selection_open(struct sxt_size_selection *selection, const struct sxt_size_info *from, sxt_error *error);
void sxt_size_selection_close(struct sxt_size_selection *selection);

/* Puts a symbol that is not in there yet, and its aliases, behind those that are. */
void sxt_size_select(struct sxt_size_selection *selection, uint32_t symbol);

int sxt_size_selection_copy(const struct sxt_size_selection *selection, struct sxt_size_info **out, sxt_error *error);

#endif
