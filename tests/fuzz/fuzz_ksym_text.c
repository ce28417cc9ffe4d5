/*
 * fuzz_ksym_text.c: any bytes as a list of symbols. Every line counts as something, and what is kept comes back out of
 * the blob, in either layout and with either choice of tokens. The first byte picks the way.
 */
#include <stdlib.h>
#include <string.h>

#include "ksym/ksym.h"
#include "property.h"

static void check_counts(const struct sxt_ksym_text_report *report)
{
    SXT_HOLDS(report->lines == report->blank + report->kept + report->other_types + report->undefined +
                                   report->markers + report->malformed.count + report->nameless.count +
                                   report->not_utf8.count + report->too_long.count);
}

static sxt_string name_of(const struct sxt_ksym_list *list, size_t symbol)
{
    return sxt_strings_get(&list->strings, list->symbols[symbol].name);
}

/* The symbols of a blob are those of the list, by address and then in the order of the list. */
static void check_symbols(const struct sxt_ksym_list *list, const sxt_ksym *blob)
{
    static char name[SXT_KSYM_RECORD_MOST + 1];
    bool *seen = calloc(list->count + 1, sizeof *seen);
    SXT_HOLDS(seen != NULL && sxt_ksym_count(blob) == list->count);
    for (size_t i = 0; i < list->count; i++) {
        size_t size = sxt_ksym_name(blob, i, name, sizeof name);
        uint64_t address = sxt_ksym_address(blob, i);
        sxt_ksym_symbol symbol;
        SXT_HOLDS(sxt_ksym_symbol_at(blob, i, &symbol));
        size_t found = 0;
        while (found < list->count && (seen[found] || list->symbols[found].address != address))
            found++;
        SXT_HOLDS(found < list->count && list->symbols[found].type == symbol.type);
        SXT_HOLDS(name_of(list, found).size == size && memcmp(name_of(list, found).data, name, size) == 0);
        seen[found] = true;
    }
    free(seen);
}

static void check_blob(const struct sxt_ksym_list *list, const struct sxt_ksym_encode_options *options)
{
    struct sxt_ksym_encode_report report;
    uint8_t *data;
    size_t size;
    sxt_ksym blob;
    SXT_HOLDS(sxt_ksym_encode(list, options, &data, &size, &report, NULL) == SXT_OK);
    SXT_HOLDS(options->tokens == SXT_KSYM_TOKENS_REFERENCE || size <= report.plain_size);
    SXT_HOLDS(report.tokens <= SXT_KSYM_TOKENS_WRITTEN);
    SXT_HOLDS(sxt_ksym_open(&blob, data, size, 0, 0, NULL) == NULL);
    SXT_HOLDS(blob.layout == options->layout);
    check_symbols(list, &blob);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    uint8_t way = data[0];
    struct sxt_ksym_text_options options = {.types = way & 1 ? "all" : "TtDd", .demangle = (way & 2) != 0};
    struct sxt_ksym_encode_options encode = {
        .layout = way & 4 ? SXT_KSYM_0_6 : SXT_KSYM_SEED,
        .tokens = way & 8 ? SXT_KSYM_TOKENS_REFERENCE : SXT_KSYM_TOKENS_SAVING,
        .share_records = (way & 16) != 0,
    };
    struct sxt_ksym_text_report report;
    struct sxt_ksym_list list;
    SXT_HOLDS(sxt_ksym_list_init(&list, NULL) == SXT_OK);
    int status = sxt_ksym_read_text(&list, data + 1, size - 1, &options, &report, NULL);
    check_counts(&report);
    SXT_HOLDS(list.count == report.kept);
    if (status == SXT_OK && list.count < 2000)
        check_blob(&list, &encode);
    sxt_ksym_list_free(&list);
    return 0;
}
