/*
 * rows.c: measures and writes the rows of a Lidia file.
 *
 * The rows are divided into parts that begin with a row of depth 0. Each part is measured alone; the sums say where its
 * lines are in the file, so that each is written alone too.
 */
#include "lidia/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

/* Rows of a part; it has a few more if the next row of depth 0 is further away. */
#define ROWS_A_PART 8192
/* Rows that justify a thread. */
#define WORTH_A_THREAD ((size_t)1 << 14)

struct sxt_lidia_rows_part {
    size_t first, end; /* rows */
    uint64_t functions, lines, largest_field, largest_line;
    uint64_t last_address; /* the highest that a row covers */
    uint64_t first_line;   /* how many lines the parts before it have */
    uint32_t farthest;     /* the largest of its parents */
};

/* State while rows are measured. */
struct measuring {
    struct sxt_lidia_rows *rows;
    const struct sxt_range_list *list;
};

static bool divide(struct sxt_lidia_rows *rows, const struct sxt_range_list *list);
static int measure_part(void *context, unsigned worker, size_t part);
static void add_up(struct sxt_lidia_rows *rows, const struct sxt_range_list *list);
static int write_part(void *context, unsigned worker, size_t part);

unsigned sxt_lidia_threads(const struct sxt_range_list *list, unsigned threads)
{
    size_t worth = list->range_count / WORTH_A_THREAD + 1;
    if (worth == 1)
        return 1;
    threads = sxt_pool_threads(threads);
    return threads < worth ? threads : (unsigned)worth;
}

void sxt_lidia_rows_measure(struct sxt_lidia_rows *rows, const struct sxt_range_list *list, bool wants_parents,
                            unsigned threads)
{
    *rows = (struct sxt_lidia_rows){0};
    if (wants_parents)
        rows->parents = malloc((list->range_count + 1) * sizeof *rows->parents);
    rows->no_memory = (wants_parents && rows->parents == NULL) || !divide(rows, list);
    if (rows->no_memory)
        return;
    struct measuring measuring = {rows, list};
    sxt_pool_run(sxt_lidia_threads(list, threads), rows->part_count, measure_part, &measuring);
    add_up(rows, list);
}

void sxt_lidia_rows_free(struct sxt_lidia_rows *rows)
{
    free(rows->parts);
    free(rows->parents);
    *rows = (struct sxt_lidia_rows){0};
}

static bool divide(struct sxt_lidia_rows *rows, const struct sxt_range_list *list)
{
    size_t count = list->range_count;
    rows->parts = calloc(count / ROWS_A_PART + 1, sizeof *rows->parts);
    if (rows->parts == NULL)
        return false;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + ROWS_A_PART; end < count && list->ranges[end].depth > 0;)
            end++;
        end = end < count ? end : count;
        rows->parts[rows->part_count++] = (struct sxt_lidia_rows_part){.first = first, .end = end};
    }
    return true;
}

/*
 * Is line entry INDEX of RANGE written? Of several at one address only the last is written, and none that repeats LAST,
 * the entry written before it (NULL: none).
 */
static inline bool is_written(const struct sxt_model_line *lines, const struct sxt_model_range *range, uint32_t index,
                              const struct sxt_model_line *last)
{
    if (index + 1 < range->line_count && lines[index + 1].offset == lines[index].offset)
        return false;
    return last == NULL || last->line != lines[index].line;
}

/*
 * Finds the parents of the rows from FIRST to END - 1: the nearest row before each one that covers its address. That is
 * the row before it, or its parent, or the parent of that. Returns the largest distance.
 */
static uint32_t find_parents(const struct sxt_range_list *list, uint32_t *parents, size_t first, size_t end)
{
    const struct sxt_model_range *ranges = list->ranges;
    uint32_t farthest = 0;
    for (size_t i = first; i < end; i++) {
        size_t parent = i;
        parents[i] = 0;
        for (uint32_t back = i > first; back > 0; back = parents[parent]) {
            parent -= back;
            if (ranges[i].address - ranges[parent].address < ranges[parent].length) {
                parents[i] = (uint32_t)(i - parent);
                break;
            }
        }
        farthest = parents[i] > farthest ? parents[i] : farthest;
    }
    return farthest;
}

static int measure_part(void *context, unsigned worker, size_t number)
{
    (void)worker;
    const struct measuring *measuring = context;
    const struct sxt_range_list *list = measuring->list;
    struct sxt_lidia_rows_part *part = &measuring->rows->parts[number];
    for (size_t i = part->first; i < part->end; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        part->functions += range->depth == 0;
        part->largest_field |= range->length | range->depth | range->call_line;
        uint64_t last_address = range->address + (range->length > 0 ? range->length - 1 : 0);
        if (last_address < range->address)
            last_address = UINT64_MAX;
        part->last_address = last_address > part->last_address ? last_address : part->last_address;
        const struct sxt_model_line *lines = sxt_range_list_lines(list, range), *last = NULL;
        for (uint32_t k = 0; k < range->line_count; k++) {
            if (!is_written(lines, range, k, last))
                continue;
            last = &lines[k];
            part->largest_line |= last->offset | last->line;
            part->lines++;
        }
    }
    if (measuring->rows->parents != NULL)
        part->farthest = find_parents(list, measuring->rows->parents, part->first, part->end);
    return SXT_OK;
}

static void add_up(struct sxt_lidia_rows *rows, const struct sxt_range_list *list)
{
    uint64_t last_address = 0;
    bool apart = true; /* no row covers addresses of a later part */
    for (size_t i = 0; i < rows->part_count; i++) {
        struct sxt_lidia_rows_part *part = &rows->parts[i];
        apart = apart && (i == 0 || last_address < list->ranges[part->first].address);
        last_address = part->last_address > last_address ? part->last_address : last_address;
        part->first_line = rows->lines;
        rows->functions += part->functions;
        rows->lines += part->lines;
        rows->largest_field |= part->largest_field;
        rows->largest_line |= part->largest_line;
        rows->farthest = part->farthest > rows->farthest ? part->farthest : rows->farthest;
    }
    /* Archives of other writers may have functions that overlap. */
    if (!apart && rows->parents != NULL)
        rows->farthest = find_parents(list, rows->parents, 0, list->range_count);
}

/* State while rows are written. */
struct writing {
    const struct sxt_lidia_layout *layout;
    uint8_t *file;
};

void sxt_lidia_rows_write(const struct sxt_lidia_layout *layout, uint8_t *file)
{
    struct writing writing = {layout, file};
    sxt_pool_run(sxt_lidia_threads(&layout->list, layout->settings->threads), layout->rows.part_count, write_part,
                 &writing);
    if (layout->indexed)
        sxt_lidia_put(file + layout->index_at + SXT_LIDIA_INDEX_HEADER_SIZE + layout->bucket_count * 4,
                      layout->list.range_count, 4);
}

/* Writes the lines of RANGE, each of two numbers of WIDTH bytes. Returns where they end. */
static inline uint8_t *put_lines(uint8_t *to, const struct sxt_range_list *list, const struct sxt_model_range *range,
                                 unsigned width)
{
    const struct sxt_model_line *lines = sxt_range_list_lines(list, range), *last = NULL;
    for (uint32_t k = 0; k < range->line_count; k++) {
        if (!is_written(lines, range, k, last))
            continue;
        last = &lines[k];
        to = sxt_lidia_put(to, last->offset, width);
        to = sxt_lidia_put(to, last->line, width);
    }
    return to;
}

static inline uint8_t *put_fields(uint8_t *to, const uint64_t fields[SXT_LIDIA_FIELDS], unsigned width)
{
    for (unsigned i = 0; i < SXT_LIDIA_FIELDS; i++)
        to = sxt_lidia_put(to, fields[i], width);
    return to;
}

static void write_rows(const struct sxt_lidia_layout *layout, const struct sxt_lidia_rows_part *part, uint8_t *file)
{
    const struct sxt_range_list *list = &layout->list;
    const struct sxt_lidia_pool *pool = &layout->pool;
    uint8_t *address = file + SXT_LIDIA_HEADER_SIZE + part->first * layout->address_size;
    uint8_t *row = file + layout->rows_at + part->first * SXT_LIDIA_FIELDS * layout->field_size;
    uint8_t *line = file + layout->lines_at + part->first_line * 2 * layout->line_size;
    uint64_t next_line = part->first_line;
    for (size_t i = part->first; i < part->end; i++) {
        const struct sxt_model_range *range = &list->ranges[i];
        /* With the widths known, the compiler makes one store of each number. */
        uint8_t *end = layout->line_size == 2 ? put_lines(line, list, range, 2) : put_lines(line, list, range, 4);
        uint64_t line_count = (uint64_t)(end - line) / (2 * (uint64_t)layout->line_size);
        const uint64_t fields[SXT_LIDIA_FIELDS] = {
            range->length,
            range->depth,
            pool->function_of[range->function],
            pool->path_of[range->file],
            line_count > 0 ? next_line : 0,
            line_count,
            pool->path_of[range->call_file],
            range->call_line,
        };
        address = sxt_lidia_put(address, range->address, layout->address_size);
        row = layout->field_size == 4 ? put_fields(row, fields, 4) : put_fields(row, fields, 8);
        next_line += line_count;
        line = end;
    }
}

/* The strings are written already: a name has its size before it, or a NUL after it. */
static uint16_t name_size(const struct sxt_lidia_layout *layout, const uint8_t *file, uint32_t function)
{
    const uint8_t *name = file + layout->strings_at + layout->pool.function_of[function];
    size_t size = layout->settings->nul_strings ? strlen((const char *)name) : sxt_load_u32le(name);
    return size < SXT_LIDIA_LONG_NAME ? (uint16_t)size : SXT_LIDIA_LONG_NAME;
}

/* A bucket has the first row that is in it or after it. */
static void write_index(const struct sxt_lidia_layout *layout, const struct sxt_lidia_rows_part *part, uint8_t *file)
{
    const struct sxt_model_range *ranges = layout->list.ranges;
    uint8_t *buckets = file + layout->index_at + SXT_LIDIA_INDEX_HEADER_SIZE;
    uint8_t *names = buckets + (layout->bucket_count + 1) * 4;
    uint8_t *parents = names + layout->list.range_count * 2;
    uint64_t next = part->first > 0 ? ((ranges[part->first - 1].address - ranges[0].address) >> layout->shift) + 1 : 0;
    for (size_t i = part->first; i < part->end; i++) {
        for (uint64_t bucket = (ranges[i].address - ranges[0].address) >> layout->shift; next <= bucket; next++)
            sxt_lidia_put(buckets + next * 4, i, 4);
        sxt_lidia_put(names + i * 2, name_size(layout, file, ranges[i].function), 2);
        if (layout->parent_size != 0)
            sxt_lidia_put(parents + i * layout->parent_size, layout->rows.parents[i], layout->parent_size);
    }
}

static int write_part(void *context, unsigned worker, size_t number)
{
    (void)worker;
    const struct writing *writing = context;
    const struct sxt_lidia_rows_part *part = &writing->layout->rows.parts[number];
    write_rows(writing->layout, part, writing->file);
    if (writing->layout->indexed)
        write_index(writing->layout, part, writing->file);
    return SXT_OK;
}
