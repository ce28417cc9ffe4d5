/* folder.c: see folder.h. */
#include "support/folder.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

void sxt_test_make_folder(char path[SXT_TEST_FOLDER_MAX])
{
    const char *place = getenv("TMPDIR");
    char made[SXT_TEST_FOLDER_MAX];
    snprintf(made, sizeof made, "%s/sextant test-XXXXXX", place != NULL ? place : "/tmp");
    assert_non_null(mkdtemp(made));
    char *real = realpath(made, NULL);
    assert_non_null(real);
    assert_true(snprintf(path, SXT_TEST_FOLDER_MAX, "%s", real) < SXT_TEST_FOLDER_MAX);
    free(real);
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *place)
{
    (void)status;
    (void)flag;
    (void)place;
    return remove(path);
}

void sxt_test_remove_folder(const char *path)
{
    assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void sxt_test_put_file(const char *path, const void *data, size_t size)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}
