/*
 * write_archive.c: makes a Lidia archive of a binary and reads its records again.
 *
 *     ./write_archive /usr/bin/bash bash.lidia
 *     ./write_archive /usr/bin/bash
 *
 * Without a second argument, the archive is made in memory only.
 */
#include <stdio.h>

#include <sextant/sextant.h>

static int fail(const char *what, const sxt_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static void show_warning(void *data, const sxt_error *problem)
{
    fprintf(stderr, "%s: warning: %s\n", (const char *)data, problem->text);
}

static bool print_range(void *data, const sxt_range *range, const sxt_line *lines)
{
    unsigned *left = data;
    (void)lines;
    printf("0x%llx %llu %.*s\n", (unsigned long long)range->address, (unsigned long long)range->length,
           (int)range->function.size, range->function.data);
    return --*left > 0;
}

/* Prints the first ten ranges. */
static int print_some(const sxt_archive *archive, sxt_error *error)
{
    unsigned left = 10;
    sxt_record_visitor visitor;
    sxt_record_visitor_init(&visitor);
    visitor.range = print_range;
    visitor.data = &left;
    return sxt_archive_visit(archive, &visitor, error);
}

int main(int argc, char **argv)
{
    sxt_extract_options extract;
    sxt_symbols *symbols;
    sxt_archive *archive = NULL;
    sxt_written written;
    sxt_error error;
    void *image = NULL;
    size_t size;
    int status;

    if (argc < 2) {
        fprintf(stderr, "usage: write_archive BINARY [OUTPUT]\n");
        return 2;
    }
    sxt_extract_options_init(&extract);
    extract.threads = 2;
    extract.warning = show_warning;
    extract.warning_data = argv[1];
    if (sxt_symbols_from_path(argv[1], &extract, &symbols, &error) != SXT_OK)
        return fail(argv[1], &error);

    written.struct_size = sizeof written;
    if (argc > 2)
        status = sxt_lidia_write_path(symbols, NULL, argv[2], &written, &error);
    else
        status = sxt_lidia_write_memory(symbols, NULL, &image, &size, &written, &error);
    sxt_symbols_free(&symbols);

    if (status == SXT_OK)
        printf("%llu functions, %llu lines, %llu bytes\n", (unsigned long long)written.functions,
               (unsigned long long)written.lines, (unsigned long long)written.size);
    if (status == SXT_OK)
        status = argc > 2 ? sxt_archive_open_path(argv[2], NULL, &archive, &error)
                          : sxt_archive_open_memory(image, size, NULL, &archive, &error);
    if (status == SXT_OK)
        status = print_some(archive, &error);

    /* The archive borrows the image, so the image is freed after it. */
    sxt_archive_close(&archive);
    sxt_free(image);
    return status == SXT_OK ? 0 : fail(argv[1], &error);
}
