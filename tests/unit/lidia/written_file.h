/* written_file.h: for tests of the writer: a model for each case, and the file that is made of it. */
#ifndef SXT_TESTS_WRITTEN_FILE_H
#define SXT_TESTS_WRITTEN_FILE_H

#include <stdlib.h>

#include "lidia/lidia.h"
#include "support/model.h"
#include "support/test.h"

#define DWARF SXT_SOURCE_DWARF

static struct sxt_symbols *model;
static uint8_t *file;
static size_t file_size;

SET_UP()
{
    model = sxt_test_model();
    file = NULL;
}

TEAR_DOWN()
{
    sxt_symbols_free(&model);
    free(file);
}

/* Writes the finished model, and checks the file. */
static inline void encode(struct sxt_lidia_settings settings)
{
    sxt_error error;
    free(file);
    if (sxt_lidia_encode(model, &settings, &file, &file_size, NULL, &error) != SXT_OK)
        fail_msg("%s", error.text);
    if (sxt_lidia_verify(file, file_size, NULL, NULL) != 0)
        fail_msg("what was written is not a good file");
}

#endif
