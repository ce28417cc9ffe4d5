/*
 * ksym_blob.c: makes a ksym blob of a file (a binary, an archive, or text as /proc/kallsyms has it), opens it with the
 * freestanding reader and prints its first symbols.
 *
 *     ./ksym_blob /proc/kallsyms
 */
#include <stdio.h>

#include <sextant/sextant.h>

static sxt_ksym symbols; /* about 10 KiB */

int main(int argc, char **argv)
{
    sxt_ksym_writer *writer;
    sxt_error error;
    void *blob = NULL;
    size_t size, offset = 0;
    const char *wrong;

    if (argc < 2) {
        fprintf(stderr, "usage: ksym_blob FILE\n");
        return 2;
    }
    int status = sxt_ksym_writer_new(NULL, &writer, &error);
    if (status == SXT_OK)
        status = sxt_ksym_writer_add_file(writer, argv[1], &error);
    if (status == SXT_OK)
        status = sxt_ksym_writer_write_memory(writer, &blob, &size, NULL, &error);
    sxt_ksym_writer_free(&writer);
    if (status != SXT_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], error.text);
        return 1;
    }

    wrong = sxt_ksym_open(&symbols, blob, size, 0, 0, &offset);
    if (wrong != NULL)
        fprintf(stderr, "%s (offset %zu)\n", wrong, offset);
    printf("%zu symbols, %zu bytes\n", sxt_ksym_count(&symbols), size);
    for (size_t i = 0; i < sxt_ksym_count(&symbols) && i < 10; i++) {
        char line[128];
        sxt_ksym_format(&symbols, sxt_ksym_address(&symbols, i), line, sizeof line);
        printf("%s\n", line);
    }
    sxt_free(blob);
    return wrong != NULL;
}
