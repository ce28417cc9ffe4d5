/*
 * verify.c: finds everything that is wrong in a Lidia file, with the offset of each problem.
 *
 * Stricter than opening: the parts must follow each other as the format says, unused words must be zero, and every
 * reference must point to the start of something. Files of the reference writer pass.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/problems.h"
#include "lidia/lidia.h"

struct check {
    struct sxt_lidia lidia;
    struct sxt_problems problems;
    uint8_t *string_starts; /* a bit for each offset where a string begins; NULL if strings were not checked */
    uint64_t *line_breaks;  /* see find_line_breaks */
    bool unordered;         /* addresses are not ascending */
};

static bool check_header(struct check *check, const uint8_t *data, size_t size);
static void check_layout(struct check *check);
static void check_sums(struct check *check);
static void check_strings(struct check *check);
static void find_line_breaks(struct check *check);
static void check_rows(struct check *check);
static void check_index(struct check *check);
static void check_chunks(struct check *check);

uint64_t sxt_lidia_verify(const uint8_t *data, size_t size, void (*problem)(void *context, const sxt_problem *problem),
                          void *context)
{
    struct check check = {.problems = {.found = problem, .context = context}};
    if (check_header(&check, data, size)) {
        check_layout(&check);
        check_sums(&check);
        check_strings(&check);
        find_line_breaks(&check);
        check_rows(&check);
        check_index(&check);
        check_chunks(&check);
        free(check.string_starts);
        free(check.line_breaks);
    }
    return check.problems.count;
}

/* If opening fails, the check ends, because the places of the parts are unknown. */
static bool check_header(struct check *check, const uint8_t *data, size_t size)
{
    sxt_error error;
    if (sxt_lidia_open(&check->lidia, data, size, false, &error) == SXT_OK)
        return true;
    sxt_problems_add_error(&check->problems, "header", &error);
    return false;
}

static uint64_t header_word(const struct check *check, unsigned at)
{
    return sxt_load_u64le(check->lidia.data + at);
}

static void check_layout(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    static const unsigned reserved[] = {0x24, 0x44, 0x5c, 0x7c};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (sxt_load_u32le(lidia->data + reserved[i]) != 0)
            sxt_problems_add(&check->problems, reserved[i], "reserved", "reserved word is 0x%x, not 0",
                             sxt_load_u32le(lidia->data + reserved[i]));
    uint64_t line_size = header_word(check, 0x60);
    if (line_size != 2 && line_size != 4)
        sxt_problems_add(&check->problems, 0x60, "line-size", "line table: field size %llu is neither 2 nor 4",
                         (unsigned long long)line_size);

    const struct {
        const char *what;
        unsigned field;
        uint64_t size;
    } parts[] = {
        {"va table", 0x18, lidia->count * lidia->address_size},
        {"range table", 0x38, lidia->count * SXT_LIDIA_FIELDS * lidia->field_size},
        {"strings", 0x50, lidia->strings_size},
        {"line table", 0x70, lidia->line_count * 2 * lidia->line_size},
    };
    uint64_t expected = SXT_LIDIA_HEADER_SIZE;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        uint64_t offset = header_word(check, parts[i].field);
        if (offset < expected)
            sxt_problems_add(&check->problems, parts[i].field, "overlap",
                             "%s begins at 0x%llx, inside what ends at 0x%llx", parts[i].what,
                             (unsigned long long)offset, (unsigned long long)expected);
        else if (offset > expected)
            sxt_problems_add(&check->problems, parts[i].field, "gap",
                             "%s begins at 0x%llx, not at 0x%llx where the part before it ends", parts[i].what,
                             (unsigned long long)offset, (unsigned long long)expected);
        /* Continue from where the part is, so that one wrong offset is one problem. */
        if (!sxt_add_u64(offset, parts[i].size, &expected) || expected > lidia->size)
            expected = lidia->size;
    }
}

static void check_sums(struct check *check)
{
    struct sxt_lidia_table tables[SXT_LIDIA_TABLES];
    uint32_t found, wanted;
    sxt_lidia_tables(&check->lidia, tables);
    for (size_t i = 0; i < SXT_LIDIA_TABLES; i++)
        if (!sxt_lidia_table_is_whole(&check->lidia, &tables[i], &found, &wanted))
            sxt_problems_add(&check->problems, tables[i].crc_at, "crc", "%s: CRC32C is %08x, the header says %08x",
                             tables[i].name, found, wanted);
}

static void note_start(struct check *check, uint64_t offset)
{
    if (check->string_starts != NULL)
        check->string_starts[offset / 8] |= (uint8_t)(1u << offset % 8);
}

/* Walks all strings and notes where each begins. */
static void check_strings(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    uint64_t base = (uint64_t)(lidia->strings - lidia->data);
    check->string_starts = calloc(lidia->strings_size / 8 + 1, 1);
    for (uint64_t at = 0; at < lidia->strings_size;) {
        uint64_t left = lidia->strings_size - at;
        note_start(check, at);
        if (lidia->nul_strings) {
            const uint8_t *end = memchr(lidia->strings + at, 0, left);
            if (end == NULL) {
                sxt_problems_add(&check->problems, base + at, "strings", "the last string has no NUL after it");
                return;
            }
            at = (uint64_t)(end - lidia->strings) + 1;
            continue;
        }
        if (left < 4 || sxt_load_u32le(lidia->strings + at) > left - 4) {
            sxt_problems_add(
                &check->problems, base + at, "strings", "string of %llu bytes does not fit in the %llu that are left",
                left < 4 ? 4ull : (unsigned long long)sxt_load_u32le(lidia->strings + at), (unsigned long long)left);
            return;
        }
        at += 4 + (uint64_t)sxt_load_u32le(lidia->strings + at);
    }
}

static bool string_begins_at(const struct check *check, uint64_t offset)
{
    return offset < check->lidia.strings_size &&
           (check->string_starts == NULL || (check->string_starts[offset / 8] >> offset % 8 & 1) != 0);
}

static void check_reference(struct check *check, uint64_t row_at, unsigned field, const char *what, uint64_t offset)
{
    const struct sxt_lidia *lidia = &check->lidia;
    if (offset == 0)
        return;
    uint64_t at = row_at + (uint64_t)field * lidia->field_size;
    if (offset >= lidia->strings_size)
        sxt_problems_add(&check->problems, at, "string-reference", "%s: string at %llu of %llu", what,
                         (unsigned long long)offset, (unsigned long long)lidia->strings_size);
    else if (!string_begins_at(check, offset))
        sxt_problems_add(&check->problems, at, "string-reference", "%s: no string begins at %llu", what,
                         (unsigned long long)offset);
}

/*
 * For every line entry, the first one from it on that does not come after its predecessor. Rows may share entries, so
 * checking the entries of each row one by one could take forever.
 */
static void find_line_breaks(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    uint64_t count = lidia->line_count;
    check->line_breaks = count > 0 ? malloc(count * sizeof *check->line_breaks) : NULL;
    if (check->line_breaks == NULL)
        return;
    const struct sxt_lidia_row all = {.first_line = 0, .line_count = count};
    uint64_t next = UINT64_MAX;
    uint32_t line, offset = 0, later = 0;
    for (uint64_t i = count; i-- > 0; later = offset) {
        sxt_lidia_line(lidia, &all, i, &offset, &line);
        if (i + 1 < count && later <= offset)
            next = i + 1;
        check->line_breaks[i] = next;
    }
}

static void check_lines(struct check *check, uint64_t row_at, const struct sxt_lidia_row *row)
{
    const struct sxt_lidia *lidia = &check->lidia;
    if (row->line_count == 0)
        return;
    if (row->first_line > lidia->line_count || row->line_count > lidia->line_count - row->first_line) {
        sxt_problems_add(&check->problems, row_at + 4ull * lidia->field_size, "line-reference",
                         "%llu line entries from %llu on, of %llu", (unsigned long long)row->line_count,
                         (unsigned long long)row->first_line, (unsigned long long)lidia->line_count);
        return;
    }
    uint64_t lines_at = (uint64_t)(lidia->lines - lidia->data);
    uint64_t last = row->first_line + row->line_count - 1;
    uint64_t next = check->line_breaks != NULL ? check->line_breaks[row->first_line] : UINT64_MAX;
    uint32_t offset = 0, before = 0, line = 0;
    if (next <= last) {
        sxt_lidia_line(lidia, row, next - row->first_line, &offset, &line);
        sxt_lidia_line(lidia, row, next - row->first_line - 1, &before, &line);
        sxt_problems_add(&check->problems, lines_at + next * 2 * lidia->line_size, "line-order",
                         "line entry at offset %u comes after one at offset %u", offset, before);
        return;
    }
    sxt_lidia_line(lidia, row, row->line_count - 1, &offset, &line);
    if (offset >= row->length)
        sxt_problems_add(&check->problems, lines_at + last * 2 * lidia->line_size, "line-offset",
                         "line entry at offset %u of a range of %llu bytes", offset, (unsigned long long)row->length);
}

/*
 * The innermost range that is open at each depth, to check that inlined ranges lie inside the range that they are
 * inlined into.
 */
struct nesting {
    uint64_t *ends; /* by depth; grows as needed, by at most one level per row */
    uint64_t levels, capacity;
};

static void check_nesting(struct check *check, struct nesting *nesting, uint64_t at, const struct sxt_lidia_row *row,
                          uint64_t end)
{
    if (row->depth > nesting->levels) {
        sxt_problems_add(&check->problems, at + check->lidia.field_size, "nesting",
                         "depth %llu without a range of depth %llu around it", (unsigned long long)row->depth,
                         (unsigned long long)row->depth - 1);
        return;
    }
    if (row->depth > 0 && end > nesting->ends[row->depth - 1])
        sxt_problems_add(&check->problems, at, "nesting",
                         "range ends at 0x%llx, after the range it is inlined into (0x%llx)", (unsigned long long)end,
                         (unsigned long long)nesting->ends[row->depth - 1]);
    if (row->depth == nesting->capacity) {
        uint64_t capacity = nesting->capacity == 0 ? 64 : nesting->capacity * 2;
        uint64_t *moved = realloc(nesting->ends, capacity * sizeof *moved);
        if (moved == NULL)
            return;
        nesting->ends = moved;
        nesting->capacity = capacity;
    }
    nesting->ends[row->depth] = end;
    nesting->levels = row->depth + 1;
}

/* Do the rows up to this one share so much that readers refuse the file? */
static bool check_sharing(struct check *check, struct sxt_lidia_budget *budget, uint64_t index,
                          const struct sxt_lidia_row *row)
{
    sxt_error error;
    if (sxt_lidia_budget_use(budget, &check->lidia, index, row, &error) == SXT_OK)
        return true;
    sxt_problems_add_note(&check->problems, error.offset, "sharing", "%s", error.text);
    return false;
}

static void check_rows(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    struct nesting nesting = {0};
    struct sxt_lidia_row before = {0};
    struct sxt_lidia_budget budget = sxt_lidia_budget(lidia);
    bool within_budget = true;
    for (uint64_t i = 0; i < lidia->count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i, &row);
        uint64_t address_at = (uint64_t)(lidia->addresses - lidia->data) + i * lidia->address_size;
        uint64_t row_at = (uint64_t)(lidia->rows - lidia->data) + i * SXT_LIDIA_FIELDS * lidia->field_size;
        check->unordered |= i > 0 && row.address < before.address;
        if (i > 0 && row.address < before.address)
            sxt_problems_add(&check->problems, address_at, "va-order", "address 0x%llx comes after 0x%llx",
                             (unsigned long long)row.address, (unsigned long long)before.address);
        else if (i > 0 && row.address == before.address && row.depth < before.depth)
            sxt_problems_add(&check->problems, row_at + lidia->field_size, "depth-order",
                             "depth %llu comes after depth %llu at the same address", (unsigned long long)row.depth,
                             (unsigned long long)before.depth);
        uint64_t end;
        if (!sxt_add_u64(row.address, row.length, &end)) {
            /* The last byte may be the last of all addresses. */
            if (row.address + row.length != 0)
                sxt_problems_add(&check->problems, row_at, "length",
                                 "range of %llu bytes at 0x%llx goes beyond the last address",
                                 (unsigned long long)row.length, (unsigned long long)row.address);
            end = UINT64_MAX;
        }
        check_nesting(check, &nesting, row_at, &row, end);
        check_reference(check, row_at, 2, "function", row.function);
        check_reference(check, row_at, 3, "file", row.file);
        check_reference(check, row_at, 6, "call file", row.call_file);
        check_lines(check, row_at, &row);
        within_budget = within_budget && check_sharing(check, &budget, i, &row);
        before = row;
    }
    free(nesting.ends);
}

/* The rows that may still cover an address, the last one on top. */
struct open_rows {
    uint64_t *rows; /* NULL when memory is short */
    uint64_t count;
};

/*
 * How many rows before row INDEX the nearest row is that covers its address; 0 if there is none, and for a row of depth
 * 0, where every walk ends. Adds row INDEX to the open rows.
 */
static uint64_t nearest_around(const struct sxt_lidia *lidia, struct open_rows *open, uint64_t index,
                               const struct sxt_lidia_row *row)
{
    if (row->depth == 0)
        open->count = 0;
    uint64_t back = 0;
    /* Addresses ascend, so a row that has ended stays ended. */
    while (open->count > 0 && back == 0) {
        uint64_t top = open->rows[open->count - 1];
        struct sxt_lidia_row other;
        sxt_lidia_row(lidia, top, &other);
        if (row->address - other.address < other.length)
            back = index - top;
        else
            open->count--;
    }
    open->rows[open->count++] = index;
    return back;
}

/* Is the row BACK rows before row INDEX the one around it? Rows of depth 0 have none. */
static bool parent_is_right(const struct sxt_lidia *lidia, struct open_rows *open, uint64_t index,
                            const struct sxt_lidia_row *row, uint64_t back)
{
    struct sxt_lidia_row other;
    if (open->rows != NULL && nearest_around(lidia, open, index, row) != back)
        return false;
    if (back > index)
        return false;
    if (back == 0)
        return row->depth == 0;
    sxt_lidia_row(lidia, index - back, &other);
    return other.depth + 1 == row->depth && row->address - other.address < other.length;
}

/* A missing name was reported already. */
static bool name_size_is_right(const struct check *check, const struct sxt_lidia_row *row, uint16_t size)
{
    if (!string_begins_at(check, row->function))
        return true;
    uint64_t found;
    if (check->lidia.nul_strings) {
        /* Many rows may share a long name, so no more of it is read than the index can describe. */
        uint64_t left = check->lidia.strings_size - row->function;
        found = strnlen((const char *)check->lidia.strings + row->function,
                        left < SXT_LIDIA_LONG_NAME ? left : SXT_LIDIA_LONG_NAME);
    } else {
        found = sxt_lidia_string(&check->lidia, row->function).size;
    }
    return size == (found < SXT_LIDIA_LONG_NAME ? found : SXT_LIDIA_LONG_NAME);
}

/* Each bucket says how many rows begin before it; the one after the last says how many there are. */
static void check_buckets(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    uint64_t before = 0;
    for (uint64_t i = 0; i <= lidia->bucket_count; i++) {
        struct sxt_lidia_row row;
        const uint8_t *at = lidia->buckets + i * 4;
        for (; before < lidia->count; before++) {
            sxt_lidia_row(lidia, before, &row);
            if (i < lidia->bucket_count && (row.address - lidia->first_address) >> lidia->shift >= i)
                break;
        }
        if (sxt_load_u32le(at) != before)
            sxt_problems_add(&check->problems, (uint64_t)(at - lidia->data), "index",
                             "bucket %llu comes after %u rows, not %llu", (unsigned long long)i, sxt_load_u32le(at),
                             (unsigned long long)before);
    }
}

static void check_index_rows(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    struct open_rows open = {.rows = malloc(lidia->count * sizeof *open.rows)};
    for (uint64_t i = 0; i < lidia->count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i, &row);
        const uint8_t *size_at = lidia->name_sizes + i * 2;
        if (!name_size_is_right(check, &row, sxt_load_u16le(size_at)))
            sxt_problems_add(&check->problems, (uint64_t)(size_at - lidia->data), "index",
                             "the name of row %llu does not have %u bytes", (unsigned long long)i,
                             sxt_load_u16le(size_at));
        uint64_t back = lidia->parents != NULL ? sxt_lidia_parent(lidia, i) : 0;
        if (!parent_is_right(lidia, &open, i, &row, back)) {
            const uint8_t *at = lidia->parents != NULL ? lidia->parents + i * lidia->parent_size : size_at;
            sxt_problems_add(&check->problems, (uint64_t)(at - lidia->data), "index",
                             "row %llu is not enclosed by the row %llu before it", (unsigned long long)i,
                             (unsigned long long)back);
        }
    }
    free(open.rows);
}

/* Where the index begins, if there is one; the size of the file if nothing comes after the lines. */
static uint64_t end_of_lines(const struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    uint64_t end;
    bool fits = sxt_add_u64(header_word(check, 0x70), lidia->line_count * 2 * lidia->line_size, &end);
    return fits && end < lidia->size ? end : lidia->size;
}

static void check_index(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    uint64_t end = end_of_lines(check);
    /* An index of addresses that are in no order can only be wrong. */
    if (check->unordered || lidia->size - end < 4 || memcmp(lidia->data + end, "sxti", 4) != 0)
        return;
    const uint8_t *header = lidia->data + end;
    if (lidia->buckets == NULL) {
        sxt_problems_add(&check->problems, end, "index", "the header of the index is damaged (%llu bytes)",
                         (unsigned long long)(lidia->size - end));
        return;
    }
    uint32_t found =
        sxt_crc32c(0, lidia->buckets, sxt_lidia_index_size(lidia->count, lidia->bucket_count, lidia->parent_size));
    if (found != sxt_load_u32le(header + 0x18))
        sxt_problems_add(&check->problems, end + 0x18, "crc", "index: CRC32C is %08x, its header says %08x", found,
                         sxt_load_u32le(header + 0x18));
    check_buckets(check);
    check_index_rows(check);
}

/* The tag of a chunk as text: the bytes of an unknown one may be anything. */
static const char *tag_text(const struct sxt_lidia_chunk *chunk, char text[5])
{
    for (unsigned i = 0; i < 4; i++)
        text[i] = chunk->tag[i] > ' ' && chunk->tag[i] < 0x7f ? chunk->tag[i] : '?';
    text[4] = '\0';
    return text;
}

static void check_module(struct check *check, const struct sxt_lidia_chunk *chunk)
{
    struct sxt_model_module module;
    sxt_error error;
    if (sxt_module_decode(chunk->data, chunk->size, chunk->offset + SXT_LIDIA_CHUNK_HEADER_SIZE, &module, &error) !=
        SXT_OK)
        sxt_problems_add_error(&check->problems, "module", &error);
    sxt_module_free(&module);
}

/* The numbers of rows that continue another one. */
static void check_cuts(struct check *check, const struct sxt_lidia_chunk *chunk)
{
    uint64_t content = chunk->offset + SXT_LIDIA_CHUNK_HEADER_SIZE;
    if (chunk->size % SXT_LIDIA_CUT_SIZE != 0)
        sxt_problems_add(&check->problems, content, "cuts", "%llu bytes of row numbers, not a multiple of %d",
                         (unsigned long long)chunk->size, SXT_LIDIA_CUT_SIZE);
    uint64_t before = 0; /* row 0 has no row before it */
    for (uint64_t i = 0; i + SXT_LIDIA_CUT_SIZE <= chunk->size; i += SXT_LIDIA_CUT_SIZE) {
        uint64_t row = sxt_load_u32le(chunk->data + i);
        if (row <= before || row >= check->lidia.count)
            sxt_problems_add(&check->problems, content + i, "cuts", "row %llu cannot continue another row here",
                             (unsigned long long)row);
        before = row > before ? row : before;
    }
}

/* Names of functions that have several, and calls. */
static void check_aliases(struct check *check, const struct sxt_lidia_chunk *chunk)
{
    struct sxt_lidia_aliases aliases;
    uint64_t content = chunk->offset + SXT_LIDIA_CHUNK_HEADER_SIZE, before = 0, address = 0, entries = 0, ambiguous = 0;
    if (!sxt_lidia_aliases_open(&aliases, chunk->data, chunk->size)) {
        sxt_problems_add(&check->problems, content, "aliases", "the tables do not fit in %llu bytes",
                         (unsigned long long)chunk->size);
        return;
    }
    for (uint64_t i = 0; i < aliases.group_count; i++) {
        struct sxt_lidia_names names = sxt_lidia_names_of(&aliases, i);
        if (names.count < 2 || names.first != entries || (i > 0 && names.address <= before))
            sxt_problems_add(&check->problems, content + 16 + i * 16, "aliases", "group %llu of names is wrong",
                             (unsigned long long)i);
        before = names.address;
        entries = names.first + names.count;
        ambiguous += names.ambiguous;
    }
    if (aliases.ambiguous_groups != 0 && aliases.ambiguous_groups != ambiguous + 1)
        sxt_problems_add(&check->problems, content + 12, "aliases", "%u ambiguous groups are counted, there are %llu",
                         aliases.ambiguous_groups - 1, (unsigned long long)ambiguous);
    for (uint64_t i = 0; i < aliases.entry_count; i++)
        if (sxt_lidia_alias(&aliases, i).data == NULL)
            sxt_problems_add(&check->problems, content + (uint64_t)(aliases.entries - chunk->data) + i * 4, "aliases",
                             "name %llu is outside of the strings", (unsigned long long)i);
    before = 0;
    for (uint64_t i = 0; i < aliases.call_count; i++, before = address)
        if (sxt_lidia_call(&aliases, i, &address).data == NULL || address < before)
            sxt_problems_add(&check->problems, content + (uint64_t)(aliases.calls - chunk->data) + i * 16, "aliases",
                             "call %llu is wrong", (unsigned long long)i);
}

static void check_opening(struct check *check, const struct sxt_lidia_chunk *chunk)
{
    uint64_t offset;
    if (!sxt_lidia_opening_is_right(&check->lidia, chunk, &offset))
        sxt_problems_add(&check->problems, offset, "opening", "chunk 'open' is not a copy of the bytes that it names");
}

static void check_chunks(struct check *check)
{
    const struct sxt_lidia *lidia = &check->lidia;
    struct sxt_lidia_chunk chunk;
    char tag[5];
    uint64_t at = lidia->chunks_at;
    while (sxt_lidia_next_chunk(lidia, &at, &chunk)) {
        tag_text(&chunk, tag);
        if (sxt_load_u32le(lidia->data + chunk.offset + 0x0c) != 0)
            sxt_problems_add(&check->problems, chunk.offset + 0x0c, "reserved", "reserved word of chunk '%s' is not 0",
                             tag);
        if (!sxt_lidia_chunk_is_whole(&chunk))
            sxt_problems_add(&check->problems, chunk.offset + 0x18, "crc",
                             "chunk '%s': CRC32C is not %08x as its header says", tag, chunk.crc);
        else if (memcmp(chunk.tag, SXT_LIDIA_MODULE, 4) == 0 && chunk.version == SXT_LIDIA_MODULE_VERSION)
            check_module(check, &chunk);
        else if (memcmp(chunk.tag, SXT_LIDIA_CUTS, 4) == 0 && chunk.version == SXT_LIDIA_CUTS_VERSION)
            check_cuts(check, &chunk);
        else if (memcmp(chunk.tag, SXT_LIDIA_ALIASES, 4) == 0 && chunk.version == SXT_LIDIA_ALIASES_VERSION)
            check_aliases(check, &chunk);
        else if (memcmp(chunk.tag, SXT_LIDIA_OPENING, 4) == 0 && chunk.version == SXT_LIDIA_OPENING_VERSION)
            check_opening(check, &chunk);
        else
            sxt_problems_add_note(&check->problems, chunk.offset + 4, "unknown-chunk",
                                  "chunk '%s' of version %u is unknown and is skipped", tag, chunk.version);
    }
    uint64_t left = lidia->size - at;
    if (left == 0 || check->unordered)
        return;
    if (left >= 4 && memcmp(lidia->data + at, "sxtc", 4) == 0)
        sxt_problems_add(&check->problems, at, "chunk", "the header of a chunk is damaged (%llu bytes)",
                         (unsigned long long)left);
    else
        sxt_problems_add(&check->problems, at, "trailing-bytes", "%llu bytes of unknown content at the end",
                         (unsigned long long)left);
}
