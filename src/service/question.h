/* question.h: what POST /api/symbolize is asked. Private to this room. */
#ifndef SXT_SERVICE_QUESTION_H
#define SXT_SERVICE_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "catalog/catalog.h"
#include "service/codes.h"

/* The addresses of one binary. */
struct sxt_question {
    struct sxt_catalog_id ids[4]; /* any of them */
    size_t id_count;
    size_t first, count; /* of the addresses of all questions */
    bool are_offsets, are_returns;
};

/* A request: {"file_id":…,"addresses":[…]}, or {"files":[…]} with several of those. */
struct sxt_questions {
    struct sxt_question *items;
    size_t count;
    const uint64_t *addresses; /* of all questions */
    bool is_list;              /* it has "files" */
    bool is_compact;
    struct sxt_buffer items_memory, addresses_memory;
    struct sxt_arena arena;
};

/* The most bytes that reading a request of SIZE bytes takes, roughly. */
size_t sxt_questions_memory(size_t size);

/* Reads a request. *CODE says what is wrong with it. The caller frees QUESTIONS even after a failure. */
int sxt_questions_read(struct sxt_questions *questions, const char *text, size_t size, enum sxt_code *code,
                       sxt_error *error);
void sxt_questions_free(struct sxt_questions *questions);

#endif
