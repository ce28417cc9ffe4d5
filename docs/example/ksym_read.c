/*
 * ksym_read.c: looks up addresses and names in a ksym blob, with nothing but the freestanding reader.
 *
 *     ./ksym_read kernel.ksym 0xffffffff81234567 do_fork
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/ksym.h>

static sxt_ksym symbols; /* about 10 KiB */

/* A kernel has its blob in memory already. */
static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = malloc((size_t)64 << 20);
    if (file == NULL || bytes == NULL) {
        free(bytes);
        return NULL;
    }
    *size = fread(bytes, 1, (size_t)64 << 20, file);
    fclose(file);
    return bytes;
}

static void print_name(const char *name)
{
    sxt_ksym_matches matches;
    size_t index;
    sxt_ksym_find(&symbols, name, strlen(name), &matches);
    while (sxt_ksym_next(&matches, &index))
        printf("%s is at 0x%llx\n", name, (unsigned long long)sxt_ksym_address(&symbols, index));
}

int main(int argc, char **argv)
{
    size_t size = 0, offset = 0;
    unsigned char *blob = argc > 1 ? read_file(argv[1], &size) : NULL;
    if (blob == NULL) {
        fprintf(stderr, "usage: ksym_read BLOB [0xADDRESS | NAME]...\n");
        return 2;
    }
    /* The blob says nothing about the bounds of the text; 0 and 0 mean the first and the last symbol. */
    const char *wrong = sxt_ksym_open(&symbols, blob, size, 0, 0, &offset);
    if (wrong != NULL)
        fprintf(stderr, "%s: %s (offset %zu)\n", argv[1], wrong, offset);
    for (int i = 2; i < argc && wrong == NULL; i++) {
        char line[256];
        if (strncmp(argv[i], "0x", 2) != 0) {
            print_name(argv[i]);
            continue;
        }
        sxt_ksym_format(&symbols, strtoull(argv[i], NULL, 16), line, sizeof line);
        printf("%s %s\n", argv[i], line);
    }
    free(blob);
    return wrong != NULL;
}
