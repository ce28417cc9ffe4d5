/* heap_tree.c: callers and callees, indented. */
#include <inttypes.h>

#include "cli/heap.h"

#define DEPTH_MOST  128 /* levels that are indented further */
#define SHARE_LEAST 0.5 /* per cent of the whole, without --all */

struct printer {
    struct sxt_emit *emit;
    const struct sxt_heap_usage *usage;
    const struct sxt_heap_tree *tree;
    bool all;
};

static void print_name(const struct printer *printer, const struct sxt_heap_node *node)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(printer->usage->trace);
    struct sxt_emit *emit = printer->emit;
    char room[24];
    if (node->is_stack) {
        sxt_emit_text(emit, "stack_%u\n", node->function);
        return;
    }
    sxt_emit_name(emit, sxt_mlyze_function(metadata, node->function, room));
    sxt_string file = sxt_mlyze_file(metadata, node->file, room);
    if (file.size > 0) {
        sxt_emit_text(emit, "  ");
        sxt_emit_name(emit, file);
    }
    sxt_emit_text(emit, "\n");
}

static void emit_node(const struct printer *printer, const struct sxt_heap_node *node, unsigned depth)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(printer->usage->trace);
    struct sxt_emit *emit = printer->emit;
    char room[24];
    sxt_emit_record(emit);
    sxt_emit_number(emit, "depth", depth);
    if (node->is_stack) {
        snprintf(room, sizeof room, "stack_%u", node->function);
        sxt_emit_cstring(emit, "function", room);
        sxt_emit_null(emit, "file");
    } else {
        sxt_emit_string(emit, "function", sxt_mlyze_function(metadata, node->function, room));
        sxt_emit_string(emit, "file", sxt_mlyze_file(metadata, node->file, room));
    }
    sxt_emit_number(emit, "cost", node->cost);
    sxt_emit_number(emit, "allocations", node->count);
    sxt_emit_record_end(emit);
}

static void print_node(const struct printer *printer, const struct sxt_heap_node *node, unsigned depth)
{
    double whole = (double)printer->tree->nodes[0].cost;
    sxt_emit_text(printer->emit, "%15s  %8s  %11s  %*s", cli_thousands((double)node->cost).text,
                  cli_percent((double)node->cost, whole).text, cli_thousands((double)node->count).text,
                  (int)(2 * (depth < DEPTH_MOST ? depth : DEPTH_MOST)), "");
    print_name(printer, node);
}

/* Depth first, without a call for each level: stacks may be as deep as a file can say. */
static void print_nodes(const struct printer *printer)
{
    const struct sxt_heap_node *nodes = printer->tree->nodes;
    double least = printer->all ? 0 : (double)nodes[0].cost * SHARE_LEAST / 100;
    unsigned depth = 0;
    uint32_t at = nodes[0].child;
    while (at != SXT_HEAP_NO_NODE) {
        const struct sxt_heap_node *node = &nodes[at];
        bool is_shown = (double)node->cost >= least;
        if (is_shown && sxt_emit_is_json(printer->emit))
            emit_node(printer, node, depth);
        else if (is_shown)
            print_node(printer, node, depth);
        if (is_shown && node->child != SXT_HEAP_NO_NODE) {
            at = node->child;
            depth++;
            continue;
        }
        while (at != 0 && nodes[at].next == SXT_HEAP_NO_NODE) {
            at = nodes[at].parent;
            depth -= at != 0;
        }
        at = at == 0 ? SXT_HEAP_NO_NODE : nodes[at].next;
    }
}

int cli_heap_print_tree(struct sxt_emit *emit, const struct cli_trace *trace, const struct sxt_heap_usage *usage,
                        enum sxt_heap_cost cost, bool bottom_up, bool all)
{
    struct sxt_heap_tree tree;
    sxt_error error;
    if (sxt_heap_tree(usage, cost, bottom_up, &tree, &error) != SXT_OK)
        return cli_fail(trace->path, &error);
    struct printer printer = {.emit = emit, .usage = usage, .tree = &tree, .all = all || sxt_emit_is_json(emit)};
    sxt_emit_text(emit, "%15s  %8s  %11s  %s\n", cli_heap_cost_name(cost), "%", "blocks",
                  bottom_up ? "function, below it its callers" : "function, below it what it calls");
    print_nodes(&printer);
    sxt_heap_tree_free(&tree);
    return CLI_DONE;
}
