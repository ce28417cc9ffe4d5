/* begun_file.h: for each case of a file, a symbfile that has a magic and a header so far. */
#ifndef SXT_TESTS_BEGUN_FILE_H
#define SXT_TESTS_BEGUN_FILE_H

#include "support/symbfile_image.h"
#include "support/test.h"

/* Types of messages. */
enum { HEADER = 1, RANGE, PAD, STRINGS };

static struct sxt_buffer file;

SET_UP()
{
    sxt_buffer_init(&file, SIZE_MAX);
    sxt_test_begin_symbfile(&file);
}

TEAR_DOWN()
{
    sxt_buffer_free(&file);
}

static inline void put_message(uint64_t type, const char *text)
{
    sxt_test_put_message(&file, type, text);
}

#endif
