/*
 * lookup.c: the simplest program with libsextant: it opens a binary or an archive and prints the chain of functions at
 * each address given.
 *
 *     cc lookup.c $(pkg-config --cflags --libs sextant) -o lookup
 *     ./lookup /usr/bin/bash 0x30000
 */
#include <stdio.h>
#include <stdlib.h>

#include <sextant/sextant.h>

int main(int argc, char **argv)
{
    sxt_archive *archive;
    sxt_error error;

    if (argc < 2) {
        fprintf(stderr, "usage: lookup FILE ADDRESS...\n");
        return 2;
    }
    if (sxt_archive_open_path(argv[1], NULL, &archive, &error) != SXT_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], error.text);
        return 1;
    }
    for (int i = 2; i < argc; i++) {
        sxt_frame frames[64];
        uint64_t address = strtoull(argv[i], NULL, 16);
        size_t count = sxt_archive_lookup(archive, address, frames, 64);
        printf("0x%llx:%s\n", (unsigned long long)address, count == 0 ? " unknown" : "");
        for (size_t k = 0; k < count && k < 64; k++)
            printf("    %.*s %.*s:%u\n", (int)frames[k].function.size, frames[k].function.data,
                   (int)frames[k].file.size, frames[k].file.data != NULL ? frames[k].file.data : "", frames[k].line);
    }
    sxt_archive_close(&archive);
    return 0;
}
