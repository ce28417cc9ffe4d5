/* sparse.h: choosing symbols of a size and copying them, for sparse.c and diff_store.c. */
#ifndef SXT_SIZE_SPARSE_H
#define SXT_SIZE_SPARSE_H

#include "size/size.h"

/* What is copied: symbols, each with its group of aliases, and paddings that become symbols. */
struct sxt_size_selection {
    const struct sxt_size_info *from;
    uint32_t *symbols;
    size_t count;
    bool *has_group; /* by group: is it selected? */
    const struct sxt_size_padding_change *paddings;
    size_t padding_count;
    const struct sxt_size_model_disassembly
        *disassemblies; /* of symbols of FROM; those it has itself, unless changed */
    size_t disassembly_count;
};

/* An empty selection of FROM. */
int sxt_size_selection_open(struct sxt_size_selection *selection, const struct sxt_size_info *from, sxt_error *error);
void sxt_size_selection_close(struct sxt_size_selection *selection);

/* Appends a symbol and its aliases, unless they are in the selection. */
void sxt_size_select(struct sxt_size_selection *selection, uint32_t symbol);

int sxt_size_selection_copy(const struct sxt_size_selection *selection, struct sxt_size_info **out, sxt_error *error);

#endif
