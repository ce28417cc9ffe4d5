/* heap_tree.c: callers and callees, indented. */
#include <stdio.h>

#include "cli/heap.h"

#define DEPTH_MOST  128 /* levels that are indented further */
#define SHARE_LEAST 0.5 /* per cent of the whole, without --all */
#define PART_LEAST  256 /* the library leaves out nodes with less than 1/256, which is less than that */

struct printer {
    struct sxt_emit *emit;
    const sxt_trace *trace;
    const struct cli_heap_look *look;
    const sxt_heap_tree *tree;
    double whole; /* cost of the root */
    bool all;
};

static sxt_string function_of(const struct printer *printer, const sxt_heap_node *node, char room[24])
{
    if (node->is_stack)
        return (sxt_string){room, (size_t)snprintf(room, 24, "stack_%u", node->function)};
    return cli_heap_name(sxt_trace_function_name(printer->trace, node->function), node->function, "func", room);
}

/* Absent for a stack that is not in the metadata. */
static sxt_string file_of(const struct printer *printer, const sxt_heap_node *node, char room[24])
{
    if (node->is_stack)
        return (sxt_string){NULL, 0};
    return cli_heap_name(sxt_trace_file_name(printer->trace, node->file), node->file, "file", room);
}

static void emit_node(const struct printer *printer, const sxt_heap_node *node, unsigned depth)
{
    struct sxt_emit *emit = printer->emit;
    char room[24];
    sxt_emit_record(emit);
    sxt_emit_number(emit, "depth", depth);
    sxt_emit_string(emit, "function", function_of(printer, node, room));
    sxt_emit_string(emit, "file", file_of(printer, node, room));
    sxt_emit_number(emit, "cost", node->cost);
    sxt_emit_number(emit, "allocations", node->count);
    sxt_emit_record_end(emit);
}

static void print_node(const struct printer *printer, const sxt_heap_node *node, unsigned depth)
{
    struct sxt_emit *emit = printer->emit;
    char room[24], other[24];
    sxt_string function = function_of(printer, node, room), file = file_of(printer, node, other);
    const sxt_trace_frame frame = {.function = function, .file = file};
    int indent = (int)(2 * (depth < DEPTH_MOST ? depth : DEPTH_MOST));
    size_t used = 40 + (size_t)indent, width = printer->look->width;
    sxt_emit_text(emit, "%15s  %8s  %11s  %*s", cli_thousands((double)node->cost).text,
                  cli_percent((double)node->cost, printer->whole).text, cli_thousands((double)node->count).text, indent,
                  "");
    cli_heap_print_function(emit, function, printer->look, width == 0 ? 0 : width > used ? width - used : 1);
    bool is_folded = printer->look->view.folds_library && sxt_trace_is_library_frame(&frame);
    if (file.size > 0 && !is_folded && width == 0) {
        sxt_emit_text(emit, "  ");
        sxt_emit_name(emit, file);
    }
    sxt_emit_text(emit, "\n");
}

/* Depth first, without a call for each level: the file decides how deep stacks are. */
static void print_nodes(const struct printer *printer)
{
    double least = printer->all ? 0 : printer->whole * SHARE_LEAST / 100;
    unsigned depth = 0;
    uint32_t at = sxt_heap_tree_node(printer->tree, 0)->child;
    while (at != SXT_HEAP_NO_NODE) {
        const sxt_heap_node *node = sxt_heap_tree_node(printer->tree, at);
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
        while (at != 0 && node->next == SXT_HEAP_NO_NODE) {
            at = node->parent;
            node = sxt_heap_tree_node(printer->tree, at);
            depth -= at != 0;
        }
        at = at == 0 ? SXT_HEAP_NO_NODE : node->next;
    }
}

int cli_heap_print_tree(struct sxt_emit *emit, const struct cli_heap *heap, sxt_heap_cost cost, bool bottom_up,
                        bool all)
{
    sxt_heap_tree *tree;
    sxt_error error;
    sxt_heap_view view = {0};
    if (!sxt_emit_is_json(emit))
        view = (sxt_heap_view){.folds_library = heap->look.view.folds_library,
                               .shortens_names = heap->look.view.shortens_names,
                               .least_part = all ? 0 : PART_LEAST};
    if (sxt_heap_tree_make_view(heap->usage, cost, bottom_up, &view, &tree, &error) != SXT_OK)
        return cli_fail(heap->path, &error);
    struct printer printer = {
        .emit = emit,
        .trace = heap->trace,
        .look = &heap->look,
        .tree = tree,
        .whole = (double)sxt_heap_tree_node(tree, 0)->cost,
        .all = all || sxt_emit_is_json(emit),
    };
    sxt_emit_text(emit, "%15s  %8s  %11s  %s\n", cli_heap_cost_name(cost), "%", "blocks",
                  bottom_up ? "function, below it its callers" : "function, below it what it calls");
    print_nodes(&printer);
    sxt_heap_tree_free(&tree);
    return CLI_DONE;
}
