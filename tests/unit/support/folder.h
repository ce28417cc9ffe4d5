/* folder.h: a temporary folder for the files of a test. */
#ifndef SXT_TESTS_FOLDER_H
#define SXT_TESTS_FOLDER_H

#include <stddef.h>

enum { SXT_TEST_FOLDER_MAX = 200 };

/* Makes an empty folder, in $TMPDIR if that is set. The path that it returns has no links in it. */
void sxt_test_make_folder(char path[SXT_TEST_FOLDER_MAX]);

/* Removes a folder with everything in it. */
void sxt_test_remove_folder(const char *path);

/* Writes a file. */
void sxt_test_put_file(const char *path, const void *data, size_t size);

#endif
