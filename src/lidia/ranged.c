/*
 * ranged.c: which bytes of an archive a question reads, when most of them are somewhere else.
 *
 * A question is followed as a lookup would do it, through what is here. Where something is missing, it is wanted, and
 * that address waits while the others of the batch are followed as far as possible. Then all that is wanted is fetched
 * at once, and so on until nothing is missing. The lookups of lookup.c read the same bytes after that.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "lidia/ranged.h"

/* Rows that are looked through without searching. */
#define SLICE 64
/* Line entries that are fetched together. */
#define LINES 128
/* Before so many bytes were fetched, more is fetched at once than is needed, which saves requests. */
#define CREDIT (UINT64_C(256) << 10)
/* What that takes for an address. */
#define GENEROUS 4096
/* Nothing real takes as many rounds. */
#define ROUNDS_MAX 4096

bool sxt_lidia_need(struct sxt_lidia_plan *plan, const uint8_t *at, uint64_t size)
{
    return sxt_lidia_need_near(plan, at, size, at, at + size);
}

bool sxt_lidia_need_near(struct sxt_lidia_plan *plan, const uint8_t *at, uint64_t size, const uint8_t *from,
                         const uint8_t *to)
{
    const uint8_t *data = plan->lidia->data;
    if (sxt_partial_has(plan->lidia->partial, (uint64_t)(at - data), size))
        return true;
    if (plan->wants != NULL)
        sxt_partial_want(plan->lidia->partial, plan->wants, (uint64_t)(from - data), (uint64_t)(to - from));
    return false;
}

/* --- the row of an address --- */

static uint64_t address_at(const struct sxt_lidia *lidia, uint64_t index)
{
    return lidia->address_size == 4 ? sxt_load_u32le(lidia->addresses + index * 4)
                                    : sxt_load_u64le(lidia->addresses + index * 8);
}

bool sxt_lidia_plan_addresses(struct sxt_lidia_plan *plan, uint64_t first, uint64_t end)
{
    unsigned size = plan->lidia->address_size;
    return sxt_lidia_need(plan, plan->lidia->addresses + first * size, (end - first) * size);
}

/* Where ADDRESS is between rows LOW and HIGH, if addresses are spread evenly. */
static uint64_t guess_row(const struct sxt_lidia *lidia, uint64_t address, uint64_t low, uint64_t high)
{
    uint64_t from = address_at(lidia, low), to = address_at(lidia, high);
    double share = address >= from && address < to ? (double)(address - from) / (double)(to - from) : 0.5;
    return low + (uint64_t)(share * (double)(high - low));
}

/*
 * Narrows [*LOW, *HIGH], whose addresses are here and have ADDRESS between them, to SLICE rows. Every other step halves
 * it, so that this ends soon wherever the addresses are. False if something is missing.
 */
static bool narrow(struct sxt_lidia_plan *plan, uint64_t address, uint64_t *low, uint64_t *high)
{
    const struct sxt_lidia *lidia = plan->lidia;
    for (unsigned step = 0; *high - *low > SLICE; step++) {
        uint64_t row = step % 2 == 0 ? guess_row(lidia, address, *low, *high) : *low + (*high - *low) / 2;
        row = row <= *low ? *low + 1 : row >= *high ? *high - 1 : row;
        /* Neighbours of the row are fetched with it, and used. */
        uint64_t near = 32 / lidia->address_size;
        uint64_t first = row - *low > near ? row - near : *low + 1;
        uint64_t last = *high - row > near ? row + near : *high - 1;
        if (!sxt_lidia_plan_addresses(plan, first, last + 1))
            return false;
        if (address_at(lidia, first) > address)
            *high = first;
        else if (address_at(lidia, last) <= address)
            *low = last;
        else if (address_at(lidia, row) <= address)
            *low = row;
        else
            *high = row;
    }
    return true;
}

/* The rows of the bucket of ADDRESS, as narrow in lookup.c finds them. */
static bool find_bucket(struct sxt_lidia_plan *plan, uint64_t address, uint64_t *low, uint64_t *high)
{
    const struct sxt_lidia *lidia = plan->lidia;
    *low = 0;
    *high = lidia->count;
    if (lidia->buckets == NULL || address < lidia->first_address)
        return true;
    uint64_t bucket = (address - lidia->first_address) >> lidia->shift;
    if (bucket >= lidia->bucket_count)
        bucket = lidia->bucket_count - 1;
    if (!sxt_lidia_need(plan, lidia->buckets + bucket * 4, 8))
        return false;
    uint64_t from = sxt_load_u32le(lidia->buckets + bucket * 4);
    uint64_t to = sxt_load_u32le(lidia->buckets + bucket * 4 + 4);
    if (from <= to && to <= lidia->count) {
        *low = from;
        *high = to;
    }
    return true;
}

static void want_rows(struct sxt_lidia_plan *plan, uint64_t first, uint64_t end)
{
    uint64_t size = (uint64_t)SXT_LIDIA_FIELDS * plan->lidia->field_size;
    sxt_lidia_need(plan, plan->lidia->rows + first * size, (end - first) * size);
}

/* The last row at or before ADDRESS, SXT_LIDIA_NO_ROW when there is none. False if something is missing. */
bool sxt_lidia_plan_row(struct sxt_lidia_plan *plan, uint64_t address, uint64_t *row)
{
    const struct sxt_lidia *lidia = plan->lidia;
    uint64_t low, high;
    *row = SXT_LIDIA_NO_ROW;
    if (lidia->count == 0 || (lidia->buckets != NULL && address < lidia->first_address))
        return true;
    if (!find_bucket(plan, address, &low, &high))
        return false;
    /* The row before a bucket can be the answer too. */
    low -= low > 0;
    high -= high > low;
    if (high - low > SLICE) {
        bool has_low = sxt_lidia_plan_addresses(plan, low, low + 1),
             has_high = sxt_lidia_plan_addresses(plan, high, high + 1);
        if (!has_low || !has_high)
            return false;
        if (address >= address_at(lidia, high))
            low = high;
        else if (address < address_at(lidia, low))
            high = low;
        else if (!narrow(plan, address, &low, &high))
            return false;
    }
    if (!sxt_lidia_plan_addresses(plan, low, high + 1)) {
        if (high - low < plan->rows_ahead)
            want_rows(plan, low, high + 1); /* one of them is the answer */
        return false;
    }
    uint64_t end = high + 1;
    while (end > low && address_at(lidia, end - 1) > address)
        end--;
    *row = end > 0 ? end - 1 : SXT_LIDIA_NO_ROW;
    return true;
}

/* --- the chain of frames --- */

/* Row INDEX and its address; up to BEFORE rows before it are fetched too. */
bool sxt_lidia_plan_fields(struct sxt_lidia_plan *plan, uint64_t index, uint64_t before, struct sxt_lidia_row *row)
{
    const struct sxt_lidia *lidia = plan->lidia;
    uint64_t size = (uint64_t)SXT_LIDIA_FIELDS * lidia->field_size, first = index > before ? index - before : 0;
    const uint8_t *address = lidia->addresses + index * lidia->address_size, *fields = lidia->rows + index * size;
    bool has_address =
        sxt_lidia_need_near(plan, address, lidia->address_size, lidia->addresses + first * lidia->address_size,
                            address + lidia->address_size);
    bool has_fields = sxt_lidia_need_near(plan, fields, size, lidia->rows + first * size, fields + size);
    if (has_address && has_fields)
        sxt_lidia_row(lidia, index, row);
    return has_address && has_fields;
}

bool sxt_lidia_plan_parent(struct sxt_lidia_plan *plan, uint64_t index, uint64_t *parent)
{
    const struct sxt_lidia *lidia = plan->lidia;
    uint64_t size = lidia->parent_size, first = index > plan->parents_before ? index - plan->parents_before : 0;
    const uint8_t *at = lidia->parents + index * size;
    if (!sxt_lidia_need_near(plan, at, size, lidia->parents + first * size, at + size))
        return false;
    *parent = sxt_lidia_parent(lidia, index);
    return true;
}

/* Searches for the NUL through what is here. What is fetched next doubles. */
static bool need_terminated(struct sxt_lidia_plan *plan, uint64_t offset)
{
    const struct sxt_lidia *lidia = plan->lidia;
    uint64_t left = lidia->strings_size - offset, done = 0;
    const uint8_t *at = lidia->strings + offset;
    while (done < left) {
        uint64_t part = left - done < SXT_PARTIAL_GRAIN ? left - done : SXT_PARTIAL_GRAIN;
        uint64_t ahead = done > plan->text_ahead ? done : plan->text_ahead;
        if (!sxt_lidia_need_near(plan, at + done, part, at + done,
                                 at + done + (ahead < left - done ? ahead : left - done)))
            return false;
        if (memchr(at + done, 0, part) != NULL)
            return true;
        done += part;
    }
    return true;
}

bool sxt_lidia_plan_string(struct sxt_lidia_plan *plan, uint64_t offset)
{
    const struct sxt_lidia *lidia = plan->lidia;
    if (offset >= lidia->strings_size)
        return true;
    uint64_t left = lidia->strings_size - offset;
    const uint8_t *at = lidia->strings + offset;
    if (lidia->nul_strings)
        return need_terminated(plan, offset);
    if (left < 4)
        return true;
    if (!sxt_lidia_need_near(plan, at, 4, at, at + (plan->text_ahead < left ? plan->text_ahead : left)))
        return false;
    uint64_t size = sxt_load_u32le(at);
    return size > left - 4 || sxt_lidia_need(plan, at, 4 + size);
}

/* The file of a frame: that of the call, or if it has none, its own. */
static bool plan_file(struct sxt_lidia_plan *plan, uint64_t call_file, uint64_t own_file)
{
    if (call_file != 0) {
        if (!sxt_lidia_plan_string(plan, call_file))
            return false;
        if (sxt_lidia_optional_string(plan->lidia, call_file).data != NULL)
            return true;
    }
    return own_file == 0 || sxt_lidia_plan_string(plan, own_file);
}

/* The line entries that line_at in lookup.c reads. */
static bool plan_lines(struct sxt_lidia_plan *plan, const struct sxt_lidia_row *row, uint64_t offset)
{
    const struct sxt_lidia *lidia = plan->lidia;
    uint64_t count = row->line_count, size = 2 * (uint64_t)lidia->line_size;
    if (count == 0 || row->first_line >= lidia->line_count)
        return true;
    if (count > lidia->line_count - row->first_line)
        count = lidia->line_count - row->first_line;
    const uint8_t *entries = lidia->lines + row->first_line * size;
    for (uint64_t low = 0, high = count; low < high;) {
        uint64_t middle = low + (high - low) / 2;
        bool few = high - low <= LINES;
        const uint8_t *at = entries + middle * size;
        if (!sxt_lidia_need_near(plan, at, size, few ? entries + low * size : at,
                                 few ? entries + high * size : at + size))
            return false;
        uint32_t begins = lidia->line_size == 2 ? sxt_load_u16le(at) : sxt_load_u32le(at);
        if (begins <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return true;
}

/* All that chain_sized in lookup.c reads. */
static bool plan_chain(struct sxt_lidia_plan *plan, uint64_t address, uint64_t index)
{
    const struct sxt_lidia *lidia = plan->lidia;
    struct sxt_lidia_row row;
    uint64_t call_file = 0, steps = 0, back = 1;
    bool has_all = true, is_first = true;
    while (index != SXT_LIDIA_NO_ROW) {
        /* Without parents all rows on the way are read. */
        uint64_t before = lidia->parents == NULL && steps > plan->rows_before ? steps : plan->rows_before;
        if (!sxt_lidia_plan_fields(plan, index, before, &row))
            return false;
        if (address - row.address < row.length && address >= row.address) {
            if (is_first) {
                has_all &= plan_lines(plan, &row, address - row.address);
                call_file = row.file;
            }
            has_all &= sxt_lidia_plan_string(plan, row.function);
            has_all &= plan_file(plan, call_file, row.file);
            call_file = row.call_file;
            is_first = false;
        }
        if (row.depth == 0)
            break;
        if (lidia->parents != NULL && !sxt_lidia_plan_parent(plan, index, &back))
            return false;
        index = back == 0 || back > index ? SXT_LIDIA_NO_ROW : index - back;
        steps++;
    }
    return has_all;
}

static bool plan_address(struct sxt_lidia_plan *plan, uint64_t address)
{
    uint64_t row;
    return sxt_lidia_plan_row(plan, address, &row) && plan_chain(plan, address, row);
}

/* The frames are here. What follows from them is planned. */
static bool plan_frames(struct sxt_lidia_plan *plan, uint64_t address)
{
    const struct sxt_lidia *lidia = plan->lidia;
    struct sxt_lidia_row row;
    uint64_t index, back = 1;
    bool has_all = sxt_lidia_plan_row(plan, address, &index);
    while (index != SXT_LIDIA_NO_ROW && sxt_lidia_plan_fields(plan, index, 0, &row)) {
        if (address - row.address < row.length && address >= row.address)
            has_all &= sxt_lidia_plan_frame(plan, index, &row);
        if (row.depth == 0 || (lidia->parents != NULL && !sxt_lidia_plan_parent(plan, index, &back)))
            break;
        index = back == 0 || back > index ? SXT_LIDIA_NO_ROW : index - back;
    }
    return has_all;
}

static struct sxt_lidia_plan make_plan(const struct sxt_lidia *lidia, size_t count, struct sxt_partial_wants *wants)
{
    bool is_generous =
        count < CREDIT / GENEROUS && lidia->partial->fetched + count * GENEROUS < lidia->opened_bytes + CREDIT;
    return (struct sxt_lidia_plan){
        .lidia = lidia,
        .wants = wants,
        .rows_ahead = is_generous ? SLICE + 1 : 12,
        .rows_before = is_generous ? 64 : 0,
        .parents_before = is_generous ? 128 : 64,
        .text_ahead = is_generous ? 256 : lidia->text_ahead,
    };
}

int sxt_lidia_load(const struct sxt_lidia *lidia, const uint64_t *addresses, size_t count, bool all, sxt_error *error)
{
    bool *is_done = calloc(count + 1, sizeof *is_done);
    if (is_done == NULL)
        return sxt_fail_memory(error, count);
    size_t left = count;
    int status = SXT_OK;
    for (unsigned round = 0; left > 0 && status == SXT_OK; round++) {
        struct sxt_partial_wants wants = {0};
        struct sxt_lidia_plan plan = make_plan(lidia, left, &wants);
        for (size_t i = 0; i < count; i++)
            if (!is_done[i]) {
                is_done[i] = plan_address(&plan, addresses[i]) && (!all || plan_frames(&plan, addresses[i]));
                left -= is_done[i];
            }
        status = sxt_partial_fetch(lidia->partial, &wants, error);
        if (round == ROUNDS_MAX)
            status = sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "the rows around an address do not end");
    }
    free(is_done);
    return status;
}

uint64_t sxt_lidia_search_partial(const struct sxt_lidia *lidia, uint64_t address)
{
    struct sxt_lidia_plan plan = make_plan(lidia, 0, NULL);
    uint64_t row;
    return sxt_lidia_plan_row(&plan, address, &row) ? row : SXT_LIDIA_NO_ROW;
}

bool sxt_lidia_has_row(const struct sxt_lidia *lidia, uint64_t index)
{
    struct sxt_lidia_plan plan = make_plan(lidia, 0, NULL);
    struct sxt_lidia_row row;
    return sxt_lidia_plan_fields(&plan, index, 0, &row);
}
