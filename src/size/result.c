/* result.c: the public view of queries and of what they give. query.c runs them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "size/query.h"

static int run(const struct sxt_size_query_subject *subject, const sxt_size_query *query, sxt_size_result **out,
               sxt_error *error)
{
    sxt_size_result *result = malloc(sizeof *result);
    *out = NULL;
    if (result == NULL)
        return sxt_fail_memory(error, sizeof *result);
    int status = sxt_size_query_run(query, subject, result, error);
    if (status == SXT_OK)
        *out = result;
    else
        free(result);
    return status;
}

int sxt_size_info_query(const sxt_size_info *info, const sxt_size_query *query, sxt_size_result **out, sxt_error *error)
{
    return run(&(struct sxt_size_query_subject){.size = info}, query, out, error);
}

int sxt_size_diff_query(const sxt_size_diff *diff, const sxt_size_query *query, sxt_size_result **out, sxt_error *error)
{
    return run(&(struct sxt_size_query_subject){.delta = &diff->delta}, query, out, error);
}

void sxt_size_result_free(sxt_size_result **result)
{
    if (*result == NULL)
        return;
    sxt_size_result_clear(*result);
    free(*result);
    *result = NULL;
}

static void give_row(const struct sxt_size_result_row *from, sxt_size_row *out)
{
    sxt_size_row row = {.pss = from->pss,
                        .size = from->size,
                        .padding = from->padding,
                        .count = from->count,
                        .symbol = from->item,
                        .status = (sxt_size_status)from->status};
    sxt_result_give(out, &row, sizeof row);
}

size_t sxt_size_result_row_count(const sxt_size_result *result)
{
    return result->row_count;
}

int sxt_size_result_row(const sxt_size_result *result, size_t index, sxt_size_row *out)
{
    if (index >= result->row_count)
        return SXT_ERROR_USAGE;
    give_row(&result->rows[index], out);
    return SXT_OK;
}

size_t sxt_size_result_total(const sxt_size_result *result, sxt_size_row *out)
{
    give_row(&result->total, out);
    return result->all_rows;
}

size_t sxt_size_result_key_count(const sxt_size_result *result)
{
    return result->key_count;
}

const char *sxt_size_result_key(const sxt_size_result *result, size_t key)
{
    return key < result->key_count ? result->keys[key] : NULL;
}

sxt_string sxt_size_result_label(const sxt_size_result *result, size_t index, size_t key)
{
    if (index >= result->row_count || key >= result->key_count)
        return (sxt_string){NULL, 0};
    return sxt_size_row_label(result, &result->rows[index], key);
}

int sxt_size_info_select(const sxt_size_info *info, const sxt_size_result *result, sxt_size_info **out,
                         sxt_error *error)
{
    *out = NULL;
    if (result->key_count > 0)
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "symbols are selected by a query without groups");
    bool *keep = calloc(info->symbol_count + 1, sizeof *keep);
    if (keep == NULL)
        return sxt_fail_memory(error, info->symbol_count + 1);
    int status = SXT_OK;
    for (size_t i = 0; i < result->row_count && status == SXT_OK; i++) {
        if (result->rows[i].item < info->symbol_count)
            keep[result->rows[i].item] = true;
        else
            status = sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET, "the result is of another query");
    }
    if (status == SXT_OK)
        status = sxt_size_make_sparse(info, keep, out, error);
    free(keep);
    return status;
}
