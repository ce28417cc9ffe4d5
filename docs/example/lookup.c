/*
 * lookup.c: a complete program with libsextant. It archives the functions of a binary in memory, opens the archive and
 * prints the chain of functions at each address given.
 *
 *     cc lookup.c $(pkg-config --cflags --libs sextant) -o lookup
 *     ./lookup /usr/bin/bash 0x30000
 */
#include <stdio.h>
#include <stdlib.h>

#include <sextant/sextant.h>

static int fail(const char *what, const sxt_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

int main(int argc, char **argv)
{
    sxt_error error;
    sxt_symbols *symbols = NULL;
    sxt_archive *archive = NULL;
    void *image = NULL;
    size_t size;
    int status = 0;

    if (argc < 2) {
        fprintf(stderr, "usage: lookup BINARY ADDRESS...\n");
        return 2;
    }

    /* What the binary knows of its functions; it can be freed as soon as the archive is written. */
    if (sxt_symbols_from_path(argv[1], NULL, &symbols, &error) != SXT_OK)
        return fail(argv[1], &error);
    printf("%zu symbols, %zu ranges\n", sxt_symbols_symbol_count(symbols), sxt_symbols_range_count(symbols));

    if (sxt_lidia_write_memory(symbols, NULL, &image, &size, NULL, &error) != SXT_OK)
        status = fail(argv[1], &error);
    sxt_symbols_free(&symbols);

    /* The archive borrows the image, so the image is freed after it. */
    if (status == 0 && sxt_archive_open_memory(image, size, NULL, &archive, &error) != SXT_OK)
        status = fail(argv[1], &error);

    for (int i = 2; i < argc && status == 0; i++) {
        sxt_frame frames[64];
        uint64_t address = strtoull(argv[i], NULL, 16);
        size_t count = sxt_archive_lookup(archive, address, frames, 64);
        printf("0x%llx:%s\n", (unsigned long long)address, count == 0 ? " unknown" : "");
        for (size_t k = 0; k < count && k < 64; k++)
            printf("    %.*s %.*s:%u\n", (int)frames[k].function.size, frames[k].function.data,
                   (int)frames[k].file.size, frames[k].file.data != NULL ? frames[k].file.data : "", frames[k].line);
    }

    sxt_archive_close(&archive);
    sxt_free(image);
    return status;
}
