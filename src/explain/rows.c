/* rows.c: which rows and line entries of an archive gave an answer, or what is around an address without one. */
#include "base/bytes.h"
#include "base/search.h"
#include "base/string.h"
#include "explain/private.h"

static void explain_line_entry(struct sxt_explainer *explainer, uint64_t address, const struct sxt_lidia_row *row);
static void explain_no_row(struct sxt_explainer *explainer, uint64_t address);
static void explain_neighbours(struct sxt_explainer *explainer, uint64_t address, const struct sxt_lidia_row *before,
                               const struct sxt_lidia_row *after);

static uint64_t end_of(const struct sxt_lidia_row *row)
{
    uint64_t end;
    return sxt_add_u64(row->address, row->length, &end) ? end : UINT64_MAX;
}

/* The first row after ADDRESS. */
static uint64_t row_after(const struct sxt_lidia *lidia, uint64_t address)
{
    struct sxt_bisection search = {.high = lidia->count};
    while (sxt_bisect(&search)) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, search.middle, &row);
        sxt_bisect_after(&search, row.address <= address);
    }
    return search.low;
}

static void describe_row(struct sxt_explainer *explainer, uint64_t index, const struct sxt_lidia_row *row,
                         sxt_explained_frame *out)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    *out = (sxt_explained_frame){
        .function = sxt_lidia_string(lidia, row->function),
        .record = SXT_RECORD_ROW,
        .file = sxt_explain_string(explainer->path),
        .section = sxt_explain_string("rows"),
        .entry = (uint64_t)(lidia->rows - lidia->data) + index * SXT_LIDIA_FIELDS * lidia->field_size,
        .index = index,
        .start = row->address,
        .end = end_of(row),
    };
}

/* The other names of the function at the row, if the archive has them. */
static void describe_aliases(struct sxt_explainer *explainer, const struct sxt_lidia_row *row, sxt_explained_frame *out)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    sxt_frame whole = {.start = row->address, .length = row->length, .depth = (uint32_t)row->depth};
    sxt_lidia_whole_range(lidia, &whole);
    struct sxt_lidia_names names = sxt_lidia_names_at(&lidia->aliases, whole.start);
    sxt_string *aliases = sxt_arena_calloc(&explainer->arena, names.count + 1, sizeof *aliases);
    for (uint64_t i = 0; i < names.count && aliases != NULL; i++) {
        sxt_string name = sxt_lidia_alias(&lidia->aliases, names.first + i);
        if (name.data != NULL && !sxt_string_equal(name, out->function))
            aliases[out->alias_count++] = name;
    }
    out->aliases = aliases;
}

void sxt_explain_rows(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    if (explainer->count == 0) {
        explain_no_row(explainer, address);
        return;
    }
    sxt_explained_frame *frames = sxt_explain_frames(explainer, explainer->count);
    size_t found = 0;
    for (uint64_t i = row_after(lidia, address); i > 0 && frames != NULL && found < explainer->count; i--) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i - 1, &row);
        if (row.address <= address && end_of(&row) > address) {
            if (found == 0)
                explain_line_entry(explainer, address, &row);
            describe_row(explainer, i - 1, &row, &frames[found]);
            if (row.depth == 0)
                describe_aliases(explainer, &row, &frames[found]);
            found++;
        }
        if (row.depth == 0)
            break;
    }
    explainer->out.frame_count = found;
}

static void explain_line_entry(struct sxt_explainer *explainer, uint64_t address, const struct sxt_lidia_row *row)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    struct sxt_bisection search = {.high = row->line_count < lidia->line_count ? row->line_count : lidia->line_count};
    uint32_t offset, line;
    while (sxt_bisect(&search))
        sxt_bisect_after(&search,
                         sxt_lidia_line(lidia, row, search.middle, &offset, &line) && offset <= address - row->address);
    if (search.low > 0 && sxt_lidia_line(lidia, row, search.low - 1, &offset, &line)) {
        explainer->out.has_line = true;
        explainer->out.line = (sxt_explained_line){
            .file = sxt_explain_string(explainer->path),
            .section = sxt_explain_string("lines"),
            .table = (uint64_t)(lidia->lines - lidia->data) +
                     (row->first_line + search.low - 1) * 2 * (uint64_t)lidia->line_size,
            .address = row->address + offset,
            .source = sxt_lidia_optional_string(lidia, row->file),
            .line = line,
        };
    }
    if (explainer->frames[0].line != 0)
        return;
    if (explainer->out.has_line)
        sxt_explain_because(explainer, SXT_WHY_LINE_ZERO);
    else if (lidia->line_count > 0)
        sxt_explain_because(explainer, SXT_WHY_NO_LINE_ENTRY);
    else
        sxt_explain_because(explainer, SXT_WHY_NO_LINE_ENTRIES);
    if (lidia->line_count == 0)
        sxt_explain_advise(explainer, SXT_ADVICE_KEEP_LINES);
}

/* Whether the address is before, between or after the rows. Only functions count: inlined calls are inside them. */
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
    if (lidia->count == 0) {
        sxt_explain_because(explainer, SXT_WHY_NO_ROWS);
        sxt_explain_advise(explainer, SXT_ADVICE_MAKE_AGAIN);
        return;
    }
    explain_neighbours(explainer, address, has_before ? &before : NULL, has_after ? &after : NULL);
    sxt_explain_run_time(explainer, address, end);
    if (explainer->out.advice_count == 0)
        sxt_explain_advise(explainer, SXT_ADVICE_EXPLAIN_BINARY);
}

/* BEFORE and AFTER are the functions on both sides of the address, or NULL. */
static void explain_neighbours(struct sxt_explainer *explainer, uint64_t address, const struct sxt_lidia_row *before,
                               const struct sxt_lidia_row *after)
{
    const struct sxt_lidia *lidia = &explainer->lidia;
    sxt_explained_reason left = {.reason =
                                     before != NULL && after == NULL ? SXT_WHY_AFTER_ROWS : SXT_WHY_FUNCTION_BEFORE};
    sxt_explained_reason right = {.reason = before == NULL ? SXT_WHY_BEFORE_ROWS : SXT_WHY_FUNCTION_AFTER};
    if (before != NULL && after != NULL)
        sxt_explain_because(explainer, SXT_WHY_BETWEEN_ROWS);
    if (before != NULL) {
        left.name = sxt_lidia_string(lidia, before->function);
        left.address = end_of(before);
        left.size = address > end_of(before) ? address - end_of(before) : 0;
        sxt_explain_add_reason(explainer, left);
    }
    if (after != NULL) {
        right.name = sxt_lidia_string(lidia, after->function);
        right.address = after->address;
        right.size = after->address - address;
        sxt_explain_add_reason(explainer, right);
    }
}
