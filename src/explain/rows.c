/* rows.c: answers of an archive: which rows and line entries gave them, and what is around an address. */
#include <string.h>

#include "base/bytes.h"
#include "explain/private.h"

static void explain_line_entry(struct sxt_explainer *explainer, uint64_t address, const struct sxt_lidia_row *row);
static void explain_no_row(struct sxt_explainer *explainer, uint64_t address);

static uint64_t end_of(const struct sxt_lidia_row *row)
{
    uint64_t end;
    return sxt_add_u64(row->address, row->length, &end) ? end : UINT64_MAX;
}

/* The first row behind ADDRESS. */
static uint64_t row_behind(const struct sxt_lidia *lidia, uint64_t address)
{
    uint64_t low = 0, high = lidia->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, middle, &row);
        if (row.address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void describe_row(struct sxt_explainer *explainer, uint64_t index, const struct sxt_lidia_row *row,
                         struct sxt_explained_frame *out)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    static const char section[] = "rows";
    *out = (struct sxt_explained_frame){
        .function = sxt_lidia_string(lidia, row->function),
        .record = "row",
        .file = {explainer->path, strlen(explainer->path)},
        .section = {section, sizeof section - 1},
        .entry = (uint64_t)(lidia->rows - lidia->data) + index * SXT_LIDIA_FIELDS * lidia->field_size,
        .index = index,
        .start = row->address,
        .end = end_of(row),
    };
}

void sxt_explain_rows(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    if (explainer->count == 0) {
        explain_no_row(explainer, address);
        return;
    }
    struct sxt_explained_frame *frames = sxt_explain_frames(explainer, explainer->count);
    size_t found = 0;
    for (uint64_t i = row_behind(lidia, address); i > 0 && frames != NULL && found < explainer->count; i--) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i - 1, &row);
        if (row.address <= address && end_of(&row) > address) {
            if (found == 0)
                explain_line_entry(explainer, address, &row);
            describe_row(explainer, i - 1, &row, &frames[found++]);
        }
        if (row.depth == 0)
            break;
    }
    explainer->out->frame_count = found;
}

static void explain_line_entry(struct sxt_explainer *explainer, uint64_t address, const struct sxt_lidia_row *row)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    static const char section[] = "lines";
    uint64_t low = 0, high = row->line_count < lidia->line_count ? row->line_count : lidia->line_count;
    uint32_t offset, line;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (sxt_lidia_line(lidia, row, middle, &offset, &line) && offset <= address - row->address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0 && sxt_lidia_line(lidia, row, low - 1, &offset, &line)) {
        explainer->out->has_line = true;
        explainer->out->line = (struct sxt_explained_line){
            .file = {explainer->path, strlen(explainer->path)},
            .section = {section, sizeof section - 1},
            .table =
                (uint64_t)(lidia->lines - lidia->data) + (row->first_line + low - 1) * 2 * (uint64_t)lidia->line_size,
            .address = row->address + offset,
            .source = sxt_lidia_optional_string(lidia, row->file),
            .line = line,
        };
    }
    if (explainer->frames[0].line != 0)
        return;
    if (explainer->out->has_line)
        sxt_explain_why(explainer,
                        "no line: the line entry says 0, which is code that no line of the source stands for");
    else if (lidia->line_count == 0)
        sxt_explain_why(explainer, "no line: the archive has no line entries at all");
    else
        sxt_explain_why(explainer, "no line: the row has no line entry for this address");
    if (lidia->line_count == 0)
        sxt_explain_todo(explainer, "make the archive anew from a file with debug information, and without --no-lines");
}

/* What is before, between or behind the rows. Only functions count; what is inlined lies inside them. */
static void explain_no_row(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    struct sxt_lidia_row row, before = {0}, after = {0};
    bool has_before = false, has_after = false;
    uint64_t end = 0;
    for (uint64_t i = 0; i < lidia->count; i++) {
        sxt_lidia_row(lidia, i, &row);
        if (end_of(&row) > end)
            end = end_of(&row);
        if (row.depth != 0)
            continue;
        if (row.address <= address && (!has_before || end_of(&row) >= end_of(&before))) {
            before = row;
            has_before = true;
        }
        if (row.address > address && (!has_after || row.address < after.address)) {
            after = row;
            has_after = true;
        }
    }
    unsigned long long asked = address;
    if (lidia->count == 0) {
        sxt_explain_why(explainer, "the archive has no rows");
        sxt_explain_todo(explainer, "make it anew; 'sextant archive' says when it finds no symbols");
        return;
    }
    sxt_string left = sxt_lidia_string(lidia, before.function), right = sxt_lidia_string(lidia, after.function);
    if (!has_before)
        sxt_explain_why(explainer, "0x%llx is before the first row, which is at 0x%llx ('%.*s')", asked,
                        (unsigned long long)after.address, EXPLAIN_NAME(right));
    else if (!has_after)
        sxt_explain_why(explainer, "0x%llx is behind the last row, which ends at 0x%llx ('%.*s')", asked,
                        (unsigned long long)end_of(&before), EXPLAIN_NAME(left));
    else
        sxt_explain_why(
            explainer,
            "0x%llx is between two rows: 0x%llx bytes behind the end of '%.*s', and 0x%llx bytes before '%.*s'", asked,
            (unsigned long long)(address > end_of(&before) ? address - end_of(&before) : 0), EXPLAIN_NAME(left),
            (unsigned long long)(after.address - address), EXPLAIN_NAME(right));
    sxt_explain_run_time(explainer, address, end);
    if (explainer->out->todo_count == 0)
        sxt_explain_todo(explainer, "ask the ELF file itself with --explain: it knows what the archive does not have");
}
