/*
 * inline.c: the calls that were inlined into a Go function.
 *
 * Every function with inlined calls has a tree of them, an array whose entries name the inlined function and where it
 * was called from. Up to Go 1.19, an entry has the index of the entry that encloses it; since then, only the pc of an
 * instruction that belongs to the line of the call. An entry comes after the one that encloses it.
 */
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "source/go/reader.h"

/* How many functions with inlined calls are tried with a layout, and how many functions are examined to find them. */
#define TRIAL_LIMIT  64
#define SEARCH_LIMIT 20000

struct trial {
    unsigned good, bad;
};

static void collect_layouts(const struct sxt_go_reader *reader, const struct sxt_go_bases *bases,
                            struct sxt_go_layout *layouts, size_t *count);
static bool has_node_table(const struct sxt_go_reader *reader);
static struct trial try_layout(struct sxt_go_reader *reader, const struct sxt_go_layout *layout);
static bool read_node(struct sxt_go_reader *reader, int32_t index, struct sxt_go_node *node);
static bool keep_node(struct sxt_go_reader *reader, int32_t index, const struct sxt_go_node *node);

void sxt_go_reader_choose_layout(struct sxt_go_reader *reader, const struct sxt_go_bases *bases)
{
    struct sxt_go_layout layouts[SXT_GO_BASE_LIMIT + 3];
    size_t count = 0;
    collect_layouts(reader, bases, layouts, &count);
    unsigned best = 0;
    bool has_calls = count == 0 && reader->table->version >= SXT_GO_1_18 && has_node_table(reader);
    struct sxt_go_layout chosen = {.shape = SXT_GO_NO_TREE};
    for (size_t i = 0; i < count; i++) {
        struct trial trial = try_layout(reader, &layouts[i]);
        has_calls |= trial.bad != 0;
        if (trial.good > best && trial.bad * 8 <= trial.good) {
            best = trial.good;
            chosen = layouts[i];
            if (trial.bad == 0)
                break;
        }
    }
    reader->layout = chosen;
    reader->inlines_unreadable = reader->want_inlines && has_calls && chosen.shape == SXT_GO_NO_TREE;
}

/* Says whether any function has inlined calls, without knowing where their names are. */
static bool has_node_table(const struct sxt_go_reader *reader)
{
    const struct sxt_go_table *table = reader->table;
    for (size_t i = 0; i < table->function_count && i < SEARCH_LIMIT; i++) {
        struct sxt_go_record record;
        if (sxt_go_table_record(table, i, &record) && record.pcdata_count > 2 &&
            sxt_go_u32(table, record.pcdata + 2 * 4) != 0)
            return true;
    }
    return false;
}

static void collect_layouts(const struct sxt_go_reader *reader, const struct sxt_go_bases *bases,
                            struct sxt_go_layout *layouts, size_t *count)
{
    switch (reader->table->version) {
    case SXT_GO_1_2:
        layouts[(*count)++] = (struct sxt_go_layout){.shape = SXT_GO_TREE_1_12, .pcdata = 2, .funcdata = 4};
        layouts[(*count)++] = (struct sxt_go_layout){.shape = SXT_GO_TREE_1_12, .pcdata = 1, .funcdata = 2};
        layouts[(*count)++] =
            (struct sxt_go_layout){.shape = SXT_GO_TREE_1_9, .pcdata = 1, .funcdata = 2, .wide_count = true};
        return;
    case SXT_GO_1_16:
        layouts[(*count)++] = (struct sxt_go_layout){.shape = SXT_GO_TREE_1_12, .pcdata = 2, .funcdata = 3};
        return;
    case SXT_GO_1_18:
    case SXT_GO_1_20:
        break;
    }
    for (size_t i = 0; i < bases->count; i++) {
        struct sxt_go_layout layout = {.pcdata = 2, .funcdata = 3};
        layout.shape = reader->table->version == SXT_GO_1_18 ? SXT_GO_TREE_1_12 : SXT_GO_TREE_1_20;
        layout.base_size = sxt_elf_available_at(reader->elf, bases->address[i]);
        layout.base = sxt_elf_at_address(reader->elf, bases->address[i], layout.base_size);
        if (layout.base != NULL && layout.base_size != 0)
            layouts[(*count)++] = layout;
    }
}

static struct trial try_layout(struct sxt_go_reader *reader, const struct sxt_go_layout *layout)
{
    struct trial trial = {0, 0};
    const struct sxt_go_table *table = reader->table;
    reader->layout = *layout;
    for (size_t i = 0; i < table->function_count && i < SEARCH_LIMIT && trial.good + trial.bad < TRIAL_LIMIT; i++) {
        struct sxt_go_record record;
        uint64_t start = sxt_go_table_pc(table, i), end = sxt_go_table_pc(table, i + 1);
        if (start >= end || !sxt_go_table_record(table, i, &record) || layout->pcdata >= record.pcdata_count ||
            sxt_go_u32(table, record.pcdata + layout->pcdata * 4) == 0)
            continue;
        sxt_go_reader_select(reader, &record, end - start);
        bool inlined = false, readable = true;
        for (size_t j = 0; j < reader->span_count && readable; j++) {
            int32_t node = reader->spans[j].node;
            inlined |= node >= 0;
            readable = node < 0 || sxt_go_reader_node(reader, node) != NULL;
        }
        if (inlined && reader->tree != NULL && readable)
            trial.good++;
        else if (inlined && reader->tree != NULL)
            trial.bad++;
    }
    return trial;
}

void sxt_go_reader_open_tree(struct sxt_go_reader *reader)
{
    const struct sxt_go_table *table = reader->table;
    const struct sxt_go_layout *layout = &reader->layout;
    const struct sxt_go_record *record = reader->record;
    reader->tree = NULL;
    reader->tree_size = 0;
    if (layout->shape == SXT_GO_NO_TREE || layout->pcdata >= record->pcdata_count)
        return;
    uint32_t count = layout->wide_count ? sxt_go_u32(table, record->count_word) : table->data[record->count_word + 3];
    if (layout->funcdata >= count)
        return;
    size_t at = record->pcdata + (size_t)record->pcdata_count * 4;
    if (layout->base != NULL) {
        if (!sxt_fits(at, layout->funcdata + 1, 4, table->size))
            return;
        uint32_t offset = sxt_go_u32(table, at + layout->funcdata * 4);
        if (offset == UINT32_MAX || offset >= layout->base_size)
            return;
        reader->tree = layout->base + offset;
        reader->tree_size = layout->base_size - offset;
        return;
    }
    at += -(table->address + at) & (table->pointer_size - 1);
    if (!sxt_fits(at, layout->funcdata + 1, table->pointer_size, table->size))
        return;
    uint64_t address = sxt_go_word(table, at + layout->funcdata * table->pointer_size, table->pointer_size);
    /* A search for the loaded bytes reads all headers, and a hostile file has many. */
    if (address == 0 || !sxt_go_reader_spend(reader, 1 + (reader->elf->segment_count + reader->elf->section_count) / 8))
        return;
    reader->tree_size = sxt_elf_available_at(reader->elf, address);
    reader->tree = sxt_elf_at_address(reader->elf, address, reader->tree_size);
}

const struct sxt_go_node *sxt_go_reader_node(struct sxt_go_reader *reader, int32_t index)
{
    int32_t path[SXT_SYMBOLS_MAX_DEPTH];
    size_t length = 0;
    uint32_t depth = 0;
    bool readable = true;
    for (int32_t at = index; at >= 0 && readable;) {
        if ((size_t)at < reader->node_capacity && reader->nodes[at].serial == reader->serial) {
            depth = reader->nodes[at].depth;
            readable = depth != 0;
            break;
        }
        struct sxt_go_node node = {.serial = 0};
        readable = length < SXT_SYMBOLS_MAX_DEPTH - 1 && read_node(reader, at, &node) && keep_node(reader, at, &node);
        if (readable) {
            path[length++] = at;
            at = node.parent;
        }
    }
    /* Now that the outermost call is known, compute the depths from the outside in. */
    while (length > 0) {
        struct sxt_go_node *node = &reader->nodes[path[--length]];
        readable = readable && depth + 1 < SXT_SYMBOLS_MAX_DEPTH;
        depth = readable ? depth + 1 : 0;
        node->depth = depth;
        node->serial = reader->serial;
    }
    return readable ? &reader->nodes[index] : NULL;
}

static bool keep_node(struct sxt_go_reader *reader, int32_t index, const struct sxt_go_node *node)
{
    size_t before = reader->node_capacity;
    struct sxt_go_node *nodes = sxt_array_grow(reader->nodes, &reader->node_capacity, (size_t)index + 1, sizeof *nodes);
    if (nodes == NULL) {
        reader->failed = true;
        return false;
    }
    memset(nodes + before, 0, (reader->node_capacity - before) * sizeof *nodes);
    reader->nodes = nodes;
    nodes[index] = *node;
    return true;
}

/* Returns the span at offset PC of the function, or NULL. */
static const struct sxt_go_span *span_at(const struct sxt_go_reader *reader, uint32_t pc)
{
    if (pc >= reader->spans_end || reader->span_count == 0)
        return NULL;
    size_t next = SXT_SEARCH_ABOVE(reader->spans, reader->span_count, offset, pc);
    return &reader->spans[next > 0 ? next - 1 : 0];
}

static bool read_node(struct sxt_go_reader *reader, int32_t index, struct sxt_go_node *node)
{
    const bool big_endian = reader->table->big_endian;
    const enum sxt_go_tree_shape shape = reader->layout.shape;
    const unsigned size = shape == SXT_GO_TREE_1_12 ? 20 : 16;
    if (reader->tree == NULL || !sxt_go_reader_spend(reader, 1) ||
        !sxt_fits((uint64_t)index * size, 1, size, reader->tree_size))
        return false;
    const uint8_t *entry = reader->tree + (uint64_t)index * size;
    if (shape == SXT_GO_TREE_1_20) {
        uint32_t pc = sxt_load_u32(entry + 8, big_endian);
        const struct sxt_go_span *call = span_at(reader, pc);
        /* The compiler writes -1 for a call whose own line has no instructions. */
        if (call == NULL && pc != UINT32_MAX)
            return false;
        node->parent = call != NULL ? call->node : -1;
        node->call_file = call != NULL ? call->file : 0;
        node->call_line = call != NULL ? call->line : 0;
        node->name = sxt_go_reader_name(reader, sxt_load_u32(entry + 4, big_endian));
    } else {
        int32_t file = (int32_t)sxt_load_u32(entry + 4, big_endian);
        int32_t line = (int32_t)sxt_load_u32(entry + 8, big_endian);
        node->parent = shape == SXT_GO_TREE_1_12 ? (int16_t)sxt_load_u16(entry, big_endian)
                                                 : (int32_t)sxt_load_u32(entry, big_endian);
        if (file < 0 || line < 0 || node->parent < -1)
            return false;
        if (shape == SXT_GO_TREE_1_12 && sxt_load_u32(entry + 16, big_endian) >= reader->length)
            return false;
        node->call_file = sxt_go_reader_file(reader, file);
        node->call_line = reader->want_lines ? (uint32_t)line : 0;
        node->name = sxt_go_reader_name(reader, sxt_load_u32(entry + 12, big_endian));
    }
    return node->parent < index && node->name != 0;
}
