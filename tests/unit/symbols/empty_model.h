/* empty_model.h: an empty model for each case of a file. */
#ifndef SXT_TESTS_EMPTY_MODEL_H
#define SXT_TESTS_EMPTY_MODEL_H

#include "support/model.h"
#include "support/test.h"

#define DWARF SXT_SOURCE_DWARF

static struct sxt_symbols *model;

SET_UP()
{
    model = sxt_test_model();
}

TEAR_DOWN()
{
    sxt_symbols_free(&model);
}

/* Finishes the model, which must then read as TEXT. */
static inline void expect(const char *text)
{
    sxt_test_finish(model);
    sxt_test_assert_model(model, text);
}

#endif
