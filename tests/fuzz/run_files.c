/*
 * run_files.c: gives files to a harness, one after the other, for compilers that have no fuzzer. Prints TAP. A folder
 * stands for the files in it.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "property.h"

static unsigned cases;

static int run_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    long size = -1;
    if (in != NULL && fseek(in, 0, SEEK_END) == 0)
        size = ftell(in);
    if (size < 0) {
        printf("not ok %u - %s cannot be read\n", ++cases, path);
        if (in != NULL)
            fclose(in);
        return 1;
    }
    rewind(in);
    /* Exactly as large as the file, so that AddressSanitizer sees every step too far. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    size_t got = data != NULL ? fread(data, 1, (size_t)size, in) : 0;
    fclose(in);
    /* A harness that finds something ends the process, so the case that is missing is the one that failed. */
    fprintf(stderr, "# %s\n", path);
    (void)LLVMFuzzerTestOneInput(data, got);
    free(data);
    printf("ok %u - %s\n", ++cases, path);
    fflush(stdout);
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int run_folder(const char *path)
{
    struct dirent **entries;
    int failed = 0, count = scandir(path, &entries, NULL, by_name);
    for (int i = 0; i < count; i++) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            failed |= run_file(file);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return count >= 0 ? failed : run_file(path);
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= run_folder(argv[i]);
    printf("1..%u\n", cases);
    return failed != 0 || cases == 0;
}
