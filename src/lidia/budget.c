/* budget.c: limits on what the rows of a file may repeat. */
#include "base/error.h"
#include "lidia/lidia.h"

/* Writers give each row line entries of its own, and names are repeated for some tens of inlined calls. */
#define LINES_TIMES 16
#define LINES_MORE  ((uint64_t)1 << 16)
#define TEXT_TIMES  64
#define TEXT_MORE   ((uint64_t)16 << 20)

struct sxt_lidia_budget sxt_lidia_budget(const struct sxt_lidia *lidia)
{
    /* Tables fit in the file, so that nothing overflows. */
    return (struct sxt_lidia_budget){.lines = lidia->line_count * LINES_TIMES + LINES_MORE,
                                     .text = (uint64_t)lidia->size * TEXT_TIMES + TEXT_MORE};
}

/* Takes AMOUNT from what is left; false if that is less. */
static bool take(uint64_t *left, uint64_t amount)
{
    if (amount > *left)
        return false;
    *left -= amount;
    return true;
}

int sxt_lidia_budget_use(struct sxt_lidia_budget *budget, const struct sxt_lidia *lidia, uint64_t index,
                         const struct sxt_lidia_row *row, sxt_error *error)
{
    uint64_t row_at = (uint64_t)(lidia->rows - lidia->data) + index * SXT_LIDIA_FIELDS * lidia->field_size;
    uint64_t lines = row->first_line < lidia->line_count ? lidia->line_count - row->first_line : 0;
    if (!take(&budget->lines, row->line_count < lines ? row->line_count : lines))
        return sxt_fail(error, SXT_ERROR_LIMIT, row_at + (uint64_t)4 * lidia->field_size,
                        "range table: rows share line entries too often");
    uint64_t text = sxt_lidia_string(lidia, row->function).size + sxt_lidia_optional_string(lidia, row->file).size +
                    sxt_lidia_optional_string(lidia, row->call_file).size;
    if (!take(&budget->text, text))
        return sxt_fail(error, SXT_ERROR_LIMIT, row_at + (uint64_t)2 * lidia->field_size,
                        "range table: rows share long strings too often");
    return SXT_OK;
}
