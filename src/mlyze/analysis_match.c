/*
 * analysis_match.c: which stacks of several runs are the same: see analysis_match.h.
 *
 * The frames of all runs are in one tree. A node is a string of three numbers, so that equal ones are found:
 *
 *     caller (number of a node, 0 for none) | function | file, after it was matched
 *
 * A caller has a lower number than what it calls.
 */
#include "mlyze/analysis_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/string.h"

#define NO_ROW  UINT32_MAX
#define NO_FILE UINT32_MAX

/* A run while its stacks are matched. */
struct matching {
    struct sxt_matches *all;
    size_t run;
    const sxt_heap_usage *usage;
    const struct sxt_mlyze_metadata *metadata;
    uint32_t *functions; /* by place in the metadata: number of the name + 1, or 0 */
    uint32_t *files;
    uint32_t *loaded; /* by place of a function: number of the name of its loaded file, or 0 */
    bool *is_used;    /* by number of a file: the run has it */
    size_t used_capacity;
    sxt_string renamed; /* the program, if it has another name than that of the first run */
    uint32_t *nodes;    /* by node of the metadata: number of the node */
    uint32_t *leaves;   /* by site: number of its innermost node */
    struct sxt_buffer path;
};

static bool add_file(struct sxt_matches *all, uint32_t number);
static int match_run(struct sxt_matches *matches, size_t run, sxt_error *error);

int sxt_matches_make(struct sxt_matches *matches, sxt_error *error)
{
    int status = sxt_strings_init(&matches->functions, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&matches->files, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&matches->nodes, 0, error);
    if (status == SXT_OK && !add_file(matches, 0)) /* the empty name */
        status = sxt_fail_memory(error, sizeof *matches->canonical);
    for (size_t run = 0; run < matches->run_count && status == SXT_OK; run++)
        status = match_run(matches, run, error);
    return status;
}

void sxt_matches_free(struct sxt_matches *matches)
{
    sxt_strings_free(&matches->functions);
    sxt_strings_free(&matches->files);
    sxt_strings_free(&matches->nodes);
    free(matches->runs);
    free(matches->canonical);
    free(matches->modules);
    free(matches->row_of);
    free(matches->loaded);
    free(matches->rows);
    free(matches->values);
    *matches = (struct sxt_matches){0};
}

/* --- names --- */

/* "new+0x1234" is an address of a program that is called "old" in the first run: "old+0x1234". */
static sxt_string first_name(const struct matching *matching, sxt_string name, char *room, size_t size)
{
    sxt_string program = matching->renamed;
    if (program.size == 0 || name.size < program.size + 3 || memcmp(name.data, program.data, program.size) != 0 ||
        memcmp(name.data + program.size, "+0x", 3) != 0)
        return name;
    sxt_string first = sxt_strings_get(&matching->all->functions, matching->all->program_names[0]);
    size_t rest = name.size - program.size;
    if (first.size + rest > size)
        return name;
    memcpy(room, first.data, first.size);
    memcpy(room + first.size, name.data + program.size, rest);
    return (sxt_string){room, first.size + rest};
}

/* The number of a function; SXT_STRINGS_FULL if memory is short. */
static uint32_t number_function(struct matching *matching, uint32_t id)
{
    char room[24];
    size_t place = sxt_mlyze_place(matching->metadata->function_ids, matching->metadata->function_count, id);
    if (place != SIZE_MAX && matching->functions[place] != 0)
        return matching->functions[place] - 1;
    char other[300];
    sxt_string name = first_name(matching, sxt_mlyze_function(matching->metadata, id, room), other, sizeof other);
    uint32_t number = sxt_strings_add(&matching->all->functions, name.data, name.size);
    if (place != SIZE_MAX && number != SXT_STRINGS_FULL)
        matching->functions[place] = number + 1;
    return number;
}

/* Entries for a file that is new. */
static bool add_file(struct sxt_matches *all, uint32_t number)
{
    uint32_t *canonical =
        sxt_array_grow(all->canonical, &all->canonical_capacity, (size_t)number + 1, sizeof *canonical);
    all->canonical = canonical != NULL ? canonical : all->canonical;
    uint32_t *modules = sxt_array_grow(all->modules, &all->modules_capacity, (size_t)number + 1, sizeof *modules);
    all->modules = modules != NULL ? modules : all->modules;
    if (canonical == NULL || modules == NULL)
        return false;
    canonical[number] = number;
    modules[number] = 0;
    return true;
}

/* Makes room for files below COUNT, which are not used yet. */
static bool reserve_used(struct matching *matching, size_t count)
{
    size_t before = matching->used_capacity;
    bool *moved = sxt_array_grow(matching->is_used, &matching->used_capacity, count, sizeof *moved);
    if (moved == NULL)
        return false;
    matching->is_used = moved;
    memset(moved + before, 0, matching->used_capacity - before);
    return true;
}

/* NAME after the path maps: a view of it, or of a buffer. */
static sxt_string map_path(struct matching *matching, sxt_string name)
{
    sxt_buffer_clear(&matching->path);
    if (matching->all->maps.count == 0 || !sxt_map_path(&matching->all->maps, name, &matching->path))
        return name;
    return (sxt_string){(const char *)matching->path.data, matching->path.size};
}

/* The number of the file NAME; SXT_STRINGS_FULL if memory is short. */
static uint32_t number_path(struct matching *matching, sxt_string name)
{
    struct sxt_matches *all = matching->all;
    uint32_t known = all->files.count;
    name = map_path(matching, name);
    uint32_t number = matching->path.failed ? SXT_STRINGS_FULL : sxt_strings_add(&all->files, name.data, name.size);
    if (number == SXT_STRINGS_FULL || (all->files.count > known && !add_file(all, number)))
        return SXT_STRINGS_FULL;
    return number;
}

static uint32_t number_file(struct matching *matching, uint32_t id)
{
    char room[24];
    size_t place = sxt_mlyze_place(matching->metadata->file_ids, matching->metadata->file_count, id);
    if (place != SIZE_MAX && matching->files[place] != 0)
        return matching->files[place] - 1;
    uint32_t number = number_path(matching, sxt_mlyze_file(matching->metadata, id, room));
    if (number == SXT_STRINGS_FULL || !reserve_used(matching, (size_t)number + 1))
        return SXT_STRINGS_FULL;
    matching->is_used[number] = true;
    if (place != SIZE_MAX)
        matching->files[place] = number + 1;
    return number;
}

/* All files of the run, so that those in other folders can be found. */
static bool number_files(struct matching *matching)
{
    for (size_t i = 0; i < matching->metadata->tree.frame_count; i++)
        if (number_file(matching, matching->metadata->tree.frames[i].file) == SXT_STRINGS_FULL)
            return false;
    return true;
}

/* "/lib/libx.so.1.2" is libx.so: another version is the same module. */
static sxt_string module_name(sxt_string path)
{
    size_t start = path.size;
    while (start > 0 && path.data[start - 1] != '/')
        start--;
    sxt_string name = {path.data + start, path.size - start};
    for (size_t i = 0; i + 4 <= name.size; i++)
        if (memcmp(name.data + i, ".so.", 4) == 0)
            return (sxt_string){name.data, i + 3};
    return name;
}

/* The path of the program: the first module. Absent if there is none, or if it is a library. */
static sxt_string program_of(const struct sxt_mlyze_metadata *metadata)
{
    const struct sxt_json *list = sxt_json_member(metadata->root, "modules");
    const struct sxt_json *first = list != NULL && list->type == SXT_JSON_ARRAY ? list->child : NULL;
    const struct sxt_json *path =
        first != NULL && first->type == SXT_JSON_OBJECT ? sxt_json_member(first, "path") : NULL;
    bool is_path = path != NULL && path->type == SXT_JSON_STRING && path->string.size > 0;
    return is_path && memmem(path->string.data, path->string.size, ".so", 3) == NULL ? path->string
                                                                                     : (sxt_string){NULL, 0};
}

/* A name of the program counts as that of the first run. */
static uint32_t same_program(const struct sxt_matches *all, uint32_t name)
{
    for (size_t i = 1; i < all->program_count; i++)
        if (all->program_names[i] == name)
            return all->program_names[0];
    return name;
}

/* Builds of one program may have different names: it is taken for that of the first run, unless it is there too. */
static bool match_program(struct matching *matching)
{
    struct sxt_matches *all = matching->all;
    sxt_string path = program_of(matching->metadata);
    if (path.size == 0 || all->program_count >= sizeof all->program_names / sizeof *all->program_names)
        return true;
    sxt_string name = module_name(path);
    uint32_t named = sxt_strings_add(&all->functions, name.data, name.size), number = number_path(matching, path);
    if (named == SXT_STRINGS_FULL || number == SXT_STRINGS_FULL || !reserve_used(matching, (size_t)number + 1))
        return false;
    if (all->program_count == 0)
        all->program = number;
    else if (!matching->is_used[all->program] && all->canonical[number] == number && number != all->program)
        all->canonical[number] = all->program;
    else if (number != all->program && all->canonical[number] != all->program)
        return true;
    all->program_names[all->program_count++] = named;
    if (named != all->program_names[0])
        matching->renamed = name;
    return true;
}

/* Which files in frames are modules that the run had loaded. */
static bool number_modules(struct matching *matching)
{
    struct sxt_matches *all = matching->all;
    const struct sxt_json *list = sxt_json_member(matching->metadata->root, "modules");
    bool is_list = list != NULL && list->type == SXT_JSON_ARRAY;
    for (const struct sxt_json *one = is_list ? list->child : NULL; one != NULL; one = one->next) {
        const struct sxt_json *path = sxt_json_member(one, "path");
        if (path == NULL || path->type != SXT_JSON_STRING || path->string.size == 0)
            continue;
        sxt_string mapped = map_path(matching, path->string);
        uint32_t number =
            matching->path.failed ? SXT_STRINGS_FULL : sxt_strings_find(&all->files, mapped.data, mapped.size);
        if (number == SXT_STRINGS_FULL)
            continue;
        sxt_string name = module_name(path->string);
        uint32_t named = sxt_strings_add(&all->functions, name.data, name.size);
        if (named == SXT_STRINGS_FULL)
            return false;
        all->modules[number] = named;
    }
    return true;
}

/* Which functions are in which of the loaded files. Best effort: what does not fit in memory is unknown. */
static void number_loaded(struct matching *matching)
{
    const struct sxt_mlyze_metadata *metadata = matching->metadata;
    const struct sxt_json *text = sxt_json_member(metadata->root, "function_modules");
    const struct sxt_json *list = sxt_json_member(metadata->root, "modules");
    struct sxt_function_modules modules = {0};
    if (text == NULL || text->type != SXT_JSON_STRING || list == NULL || list->type != SXT_JSON_ARRAY)
        return;
    uint32_t *names = calloc(list->count + 1, sizeof *names), count = 0;
    for (const struct sxt_json *one = list->child; one != NULL && names != NULL; one = one->next, count++) {
        const struct sxt_json *path = one->type == SXT_JSON_OBJECT ? sxt_json_member(one, "path") : NULL;
        if (path == NULL || path->type != SXT_JSON_STRING)
            continue;
        sxt_string name = module_name(path->string);
        names[count] = sxt_strings_add(&matching->all->functions, name.data, name.size);
    }
    sxt_function_modules_read(&modules, text->string, metadata->function_count);
    for (size_t i = 0; i < metadata->function_count && names != NULL; i++) {
        uint32_t module = sxt_function_modules_find(&modules, sxt_mlyze_id_at(metadata->function_ids, i));
        if (module < count && names[module] != SXT_STRINGS_FULL)
            matching->loaded[i] = same_program(matching->all, names[module]);
    }
    sxt_function_modules_free(&modules);
    free(names);
}

/* --- nodes --- */

struct node {
    uint32_t parent, function, file;
};

static struct node get_node(const struct sxt_strings *nodes, uint32_t number)
{
    struct node node;
    memcpy(&node, sxt_strings_get(nodes, number).data, sizeof node);
    return node;
}

/* The number of a node; SXT_STRINGS_FULL if memory is short. A new one is the innermost frame of no stack yet. */
static uint32_t add_node(struct sxt_matches *all, struct node node)
{
    uint32_t known = all->nodes.count, number = sxt_strings_add(&all->nodes, (const char *)&node, sizeof node);
    if (number == SXT_STRINGS_FULL || all->nodes.count == known)
        return number;
    uint32_t *moved = sxt_array_grow(all->row_of, &all->row_of_capacity, all->nodes.count, sizeof *moved);
    all->row_of = moved != NULL ? moved : all->row_of;
    uint32_t *loaded = sxt_array_grow(all->loaded, &all->loaded_capacity, all->nodes.count, sizeof *loaded);
    all->loaded = loaded != NULL ? loaded : all->loaded;
    if (moved == NULL || loaded == NULL)
        return SXT_STRINGS_FULL;
    all->row_of[number] = NO_ROW;
    all->loaded[number] = 0;
    return number;
}

/* Lines are left out: they move when other code changes. */
static bool add_nodes(struct matching *matching)
{
    const struct sxt_mlyze_tree *tree = &matching->metadata->tree;
    for (size_t i = 0; i < tree->count; i++) {
        const struct sxt_mlyze_node *node = &tree->nodes[i];
        const struct sxt_mlyze_frame *frame = &tree->frames[node->frame];
        uint32_t function = number_function(matching, frame->function);
        uint32_t file = number_file(matching, frame->file);
        if (function == SXT_STRINGS_FULL || file == SXT_STRINGS_FULL)
            return false;
        uint32_t parent = node->parent == SXT_MLYZE_NO_NODE ? 0 : matching->nodes[node->parent];
        matching->nodes[i] = add_node(matching->all, (struct node){parent, function, matching->all->canonical[file]});
        if (matching->nodes[i] == SXT_STRINGS_FULL)
            return false;
        size_t place =
            sxt_mlyze_place(matching->metadata->function_ids, matching->metadata->function_count, frame->function);
        if (place != SIZE_MAX && matching->loaded[place] != 0)
            matching->all->loaded[matching->nodes[i]] = matching->loaded[place];
    }
    return true;
}

/* A stack without frames is only the same as one with the same id. */
static uint32_t add_unknown(struct matching *matching, uint32_t id)
{
    char text[24];
    int size = snprintf(text, sizeof text, "stack_%u", id);
    uint32_t number = sxt_strings_add(&matching->all->functions, text, (size_t)size);
    return number == SXT_STRINGS_FULL ? number : add_node(matching->all, (struct node){0, number, NO_FILE});
}

static bool find_leaves(struct matching *matching)
{
    for (size_t i = 0; i < matching->usage->sites.count; i++) {
        uint32_t id = sxt_heap_record(&matching->usage->sites, i)->stack;
        const struct sxt_mlyze_stack *stack = sxt_heap_frames(matching->usage, id);
        bool is_known = stack != NULL && stack->count > 0;
        matching->leaves[i] = is_known ? matching->nodes[stack->node] : add_unknown(matching, id);
        if (matching->leaves[i] == SXT_STRINGS_FULL)
            return false;
    }
    return true;
}

bool *sxt_match_find_functions(const struct sxt_matches *matches, const bool *functions)
{
    bool *found = calloc((size_t)matches->nodes.count + 1, 1);
    for (uint32_t i = 1; found != NULL && i < matches->nodes.count; i++) {
        struct node node = get_node(&matches->nodes, i);
        found[i] = found[node.parent] || functions[node.function];
    }
    return found;
}

/* --- functions and modules, for stacks that are left over --- */

/* "libx.so+0x1234" is an address of libx.so without a name. Another build has it elsewhere. */
static sxt_string without_address(sxt_string name)
{
    size_t size = name.size;
    while (size > 0 && strchr("0123456789abcdef", name.data[size - 1]) != NULL)
        size--;
    if (size == name.size || size <= 3 || memcmp(name.data + size - 3, "+0x", 3) != 0)
        return name;
    name.size = size - 3;
    if (name.data[name.size - 1] == ']')
        for (size = name.size; size > 1; size--)
            if (name.data[size - 1] == '[')
                return module_name((sxt_string){name.data, size - 1});
    return module_name(name);
}

/* Stacks that are left over, in a tree of functions and modules. */
struct leftovers {
    struct sxt_strings names;
    uint32_t *name_of; /* by number of a node: its number here */
    struct leftover {
        uint32_t rows, row;    /* how many rows end here, and one of them */
        uint32_t leaves, leaf; /* how many innermost nodes of this run that have no row, and one of them */
    } * items;                 /* by number of the name */
    bool *is_seen;             /* by row: the run has it; by innermost node, after all rows: it was counted */
};

static bool name_nodes(struct matching *matching, struct leftovers *leftovers)
{
    struct sxt_matches *all = matching->all;
    for (uint32_t i = 1; i < all->nodes.count; i++) {
        struct node node = get_node(&all->nodes, i);
        sxt_string name = without_address(sxt_strings_get(&all->functions, node.function));
        uint32_t function = same_program(all, sxt_strings_add(&all->functions, name.data, name.size));
        uint32_t module = node.file == NO_FILE ? NO_FILE : all->modules[node.file];
        struct node loose = {leftovers->name_of[node.parent], function, module != 0 ? module : all->loaded[i]};
        leftovers->name_of[i] = function == SXT_STRINGS_FULL
                                    ? function
                                    : sxt_strings_add(&leftovers->names, (const char *)&loose, sizeof loose);
        if (leftovers->name_of[i] == SXT_STRINGS_FULL)
            return false;
    }
    return true;
}

static void count_leftovers(struct matching *matching, struct leftovers *leftovers)
{
    struct sxt_matches *all = matching->all;
    bool *has_leaf = leftovers->is_seen + all->row_count;
    for (size_t i = 0; i < matching->usage->sites.count; i++) {
        uint32_t leaf = matching->leaves[i], row = all->row_of[leaf];
        if (row != NO_ROW) {
            leftovers->is_seen[row] = true;
        } else if (!has_leaf[leaf]) {
            struct leftover *one = &leftovers->items[leftovers->name_of[leaf]];
            has_leaf[leaf] = true;
            one->leaves++;
            one->leaf = leaf;
        }
    }
    for (uint32_t row = 0; row < all->row_count; row++) {
        struct leftover *one = &leftovers->items[leftovers->name_of[all->rows[row].node]];
        if (leftovers->is_seen[row])
            continue;
        one->rows++;
        one->row = row;
    }
}

static bool has_leftovers(const struct matching *matching)
{
    for (size_t i = 0; i < matching->usage->sites.count; i++)
        if (matching->all->row_of[matching->leaves[i]] == NO_ROW)
            return true;
    return false;
}

/* Gives stacks without a row the row of a stack that this run does not have otherwise. */
static int match_leftovers(struct matching *matching, sxt_error *error)
{
    struct sxt_matches *all = matching->all;
    struct leftovers leftovers = {0};
    size_t nodes = all->nodes.count;
    leftovers.name_of = calloc(nodes + 1, sizeof *leftovers.name_of);
    leftovers.is_seen = calloc(all->row_count + nodes + 1, 1);
    int status = leftovers.name_of == NULL || leftovers.is_seen == NULL
                     ? sxt_fail_memory(error, nodes * sizeof *leftovers.name_of)
                     : sxt_strings_init(&leftovers.names, 0, error);
    if (status == SXT_OK && name_nodes(matching, &leftovers))
        leftovers.items = calloc((size_t)leftovers.names.count + 1, sizeof *leftovers.items);
    if (status == SXT_OK && leftovers.items == NULL)
        status = sxt_fail_memory(error, leftovers.names.count * sizeof *leftovers.items);
    if (status == SXT_OK)
        count_leftovers(matching, &leftovers);
    for (uint32_t i = 1; status == SXT_OK && i < leftovers.names.count; i++)
        if (leftovers.items[i].rows == 1 && leftovers.items[i].leaves == 1)
            all->row_of[leftovers.items[i].leaf] = leftovers.items[i].row;
    sxt_strings_free(&leftovers.names);
    free(leftovers.name_of);
    free(leftovers.is_seen);
    free(leftovers.items);
    return status;
}

/* --- rows --- */

static bool new_row(struct sxt_matches *all, uint32_t node)
{
    size_t width = all->run_count * SXT_MATCH_FIGURES;
    struct sxt_match_row *rows = sxt_array_grow(all->rows, &all->row_capacity, all->row_count + 1, sizeof *rows);
    all->rows = rows != NULL ? rows : all->rows;
    uint64_t *values = sxt_array_grow(all->values, &all->value_capacity, (all->row_count + 1) * width, sizeof *values);
    all->values = values != NULL ? values : all->values;
    if (rows == NULL || values == NULL || all->row_count >= NO_ROW)
        return false;
    rows[all->row_count] = (struct sxt_match_row){.node = node, .stacks = {SXT_TRACE_NO_ID, SXT_TRACE_NO_ID}};
    memset(values + all->row_count * width, 0, width * sizeof *values);
    all->row_of[node] = (uint32_t)all->row_count++;
    return true;
}

static void add_site(struct matching *matching, size_t site, uint32_t number)
{
    const struct sxt_heap_record *record = sxt_heap_record(&matching->usage->sites, site);
    struct sxt_matches *all = matching->all;
    struct sxt_match_row *row = &all->rows[number];
    int side = matching->run < all->before_count ? 0 : 1;
    if (row->stacks[side] == SXT_TRACE_NO_ID) {
        row->stacks[side] = record->stack;
        row->runs[side] = (uint32_t)matching->run;
    } else if (row->runs[side] == matching->run && record->stack < row->stacks[side]) {
        row->stacks[side] = record->stack;
    }
    sxt_heap_sums sums;
    sxt_heap_sites_get(&matching->usage->sites, site, &sums);
    const uint64_t figures[SXT_MATCH_FIGURES] = {sums.bytes,
                                                 sums.count,
                                                 sums.peak_bytes,
                                                 sums.peak_count,
                                                 sums.live_bytes,
                                                 sums.live_count,
                                                 record->is_suppressed ? 0 : sums.leaked_bytes,
                                                 record->is_suppressed ? 0 : sums.leaked_count};
    uint64_t *values = all->values + ((size_t)number * all->run_count + matching->run) * SXT_MATCH_FIGURES;
    for (int i = 0; i < SXT_MATCH_FIGURES; i++)
        values[i] += figures[i];
}

/* --- runs --- */

static int match_stacks(struct matching *matching, sxt_error *error)
{
    struct sxt_matches *all = matching->all;
    uint32_t first_file = all->files.count;
    bool is_fine = reserve_used(matching, all->files.count) && number_files(matching);
    int status = SXT_OK;
    if (is_fine && matching->run > 0)
        status = sxt_match_files(all, first_file, matching->is_used, error);
    if (status == SXT_OK && is_fine)
        is_fine = match_program(matching) && number_modules(matching);
    if (is_fine)
        number_loaded(matching);
    if (status == SXT_OK && is_fine)
        is_fine = add_nodes(matching) && find_leaves(matching);
    if (status == SXT_OK && is_fine && matching->run > 0 && has_leftovers(matching))
        status = match_leftovers(matching, error);
    for (size_t i = 0; is_fine && status == SXT_OK && i < matching->usage->sites.count; i++) {
        if (all->row_of[matching->leaves[i]] == NO_ROW)
            is_fine = new_row(all, matching->leaves[i]);
        if (is_fine)
            add_site(matching, i, all->row_of[matching->leaves[i]]);
    }
    return status == SXT_OK && !is_fine ? sxt_fail_memory(error, all->value_capacity * sizeof *all->values) : status;
}

static int match_run(struct sxt_matches *matches, size_t run, sxt_error *error)
{
    const sxt_heap_usage *usage = matches->runs[run];
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(usage->trace);
    struct matching matching = {.all = matches, .run = run, .usage = usage, .metadata = metadata};
    matching.functions = calloc(metadata->function_count + 1, sizeof *matching.functions);
    matching.files = calloc(metadata->file_count + 1, sizeof *matching.files);
    matching.nodes = calloc(metadata->tree.count + 1, sizeof *matching.nodes);
    matching.loaded = calloc(metadata->function_count + 1, sizeof *matching.loaded);
    matching.leaves = calloc(usage->sites.count + 1, sizeof *matching.leaves);
    sxt_buffer_init(&matching.path, (size_t)1 << 30);
    bool is_fine = matching.functions != NULL && matching.files != NULL && matching.nodes != NULL &&
                   matching.loaded != NULL && matching.leaves != NULL;
    int status = is_fine ? match_stacks(&matching, error)
                         : sxt_fail_memory(error, metadata->tree.count * sizeof *matching.nodes);
    free(matching.functions);
    free(matching.files);
    free(matching.nodes);
    free(matching.leaves);
    free(matching.loaded);
    free(matching.is_used);
    sxt_buffer_free(&matching.path);
    return status;
}
