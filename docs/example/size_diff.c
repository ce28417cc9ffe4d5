/* size_diff.c: stores the sizes of NEW in a .size file, and prints the ten largest changes since OLD.
 *     cc size_diff.c $(pkg-config --cflags --libs sextant) -o size_diff
 *     ./size_diff OLD NEW new.size          OLD and NEW are binaries or .size files */
#include <stdio.h>

#include <sextant/sextant.h>

static const char largest[] = "not status:unchanged | sort pss | limit 10";

int main(int argc, char **argv)
{
    sxt_error error = {SXT_OK, SXT_REASON_NONE, 0, ""};
    sxt_size_info *before = NULL, *after = NULL;
    sxt_size_diff *diff = NULL;
    sxt_size_query *query = NULL;
    sxt_size_result *result = NULL;
    if (argc == 4 && sxt_size_load(argv[1], NULL, &before, NULL, &error) == SXT_OK &&
        sxt_size_load(argv[2], NULL, &after, NULL, &error) == SXT_OK &&
        sxt_size_info_write(after, argv[3], NULL, NULL, &error) == SXT_OK &&
        sxt_size_diff_make(before, after, NULL, &diff, &error) == SXT_OK &&
        sxt_size_query_parse(largest, sizeof largest - 1, &query, &error) == SXT_OK)
        sxt_size_diff_query(diff, query, &result, &error);
    sxt_size_row row = SXT_SIZE_ROW_INIT;
    for (size_t i = 0; result != NULL && sxt_size_result_row(result, i, &row) == SXT_OK; i++) {
        sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
        sxt_size_diff_symbol(diff, row.symbol, &symbol);
        printf("%+10.0f  %-9s  %.*s\n", symbol.pss, sxt_size_status_name(symbol.status), (int)symbol.full_name.size,
               symbol.full_name.data);
    }
    int status = result != NULL ? 0 : 1;
    if (status != 0)
        fprintf(stderr, "size_diff: %s\n", argc == 4 ? error.text : "usage: size_diff OLD NEW OUTPUT");
    sxt_size_result_free(&result);
    sxt_size_query_free(&query);
    sxt_size_diff_free(&diff);
    sxt_size_info_free(&before);
    sxt_size_info_free(&after);
    return status;
}
