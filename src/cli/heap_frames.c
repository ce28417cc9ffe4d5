/* heap_frames.c: the frames of stacks, for people and as JSON. */
#include <stdlib.h>
#include <string.h>

#include "cli/heap.h"
#include "cli/terminal.h"

sxt_string cli_heap_name(sxt_string name, uint32_t id, const char *prefix, char room[24])
{
    if (name.data != NULL)
        return name;
    if (id == SXT_TRACE_NO_ID)
        return (sxt_string){"?", 1};
    int size = snprintf(room, 24, "%s_%u", prefix, id);
    return (sxt_string){room, (size_t)size};
}

static sxt_string function_of(const sxt_trace_frame *frame, char room[24])
{
    return cli_heap_name(frame->function, frame->function_id, "func", room);
}

static sxt_string file_of(const sxt_trace_frame *frame, char room[24])
{
    return cli_heap_name(frame->file, frame->file_id, "file", room);
}

/* --- for programs --- */

void cli_heap_emit_cut_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t id, uint32_t depth)
{
    sxt_trace_frame frame;
    sxt_emit_array(emit, "frames");
    for (uint32_t i = 0; (depth == 0 || i < depth) && sxt_trace_get_frame(trace, id, i, &frame); i++) {
        char room[24];
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "file", file_of(&frame, room));
        sxt_emit_number(emit, "line", frame.line);
        sxt_emit_string(emit, "function", function_of(&frame, room));
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
}

void cli_heap_emit_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t id)
{
    cli_heap_emit_cut_frames(emit, trace, id, 0);
}

void cli_heap_print_csv_site(struct sxt_emit *emit, const sxt_trace *trace, uint32_t stack)
{
    sxt_trace_frame frame;
    char room[24];
    if (!sxt_trace_get_frame(trace, stack, 0, &frame)) {
        sxt_emit_text(emit, ",,,");
        return;
    }
    sxt_emit_text(emit, ",");
    cli_csv_text(emit, function_of(&frame, room), ',');
    cli_csv_text(emit, file_of(&frame, room), ',');
    sxt_emit_text(emit, "%u", frame.line);
}

/* --- for people --- */

static sxt_string base_of(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    size_t start = slash != NULL ? (size_t)(slash - path.data) + 1 : 0;
    return (sxt_string){path.data + start, path.size - start};
}

/*
 * What is printed after the function. Code without lines has the loaded file, of which the name is enough, unless the
 * function is "FILE+0x1234".
 */
static sxt_string place_of(const sxt_heap_shown_frame *shown, const struct cli_heap_look *look, char room[24])
{
    const sxt_trace_frame *frame = &shown->frame;
    sxt_string file = file_of(frame, room), nothing = {"", 0};
    if (look->is_wide)
        return file;
    if (shown->is_library)
        return nothing;
    if (frame->line > 0)
        return file;
    sxt_string base = base_of(file);
    bool is_named = frame->function.size > base.size && frame->function.data[base.size] == '+' &&
                    memcmp(frame->function.data, base.data, base.size) == 0;
    return is_named ? nothing : base;
}

void cli_heap_print_function(struct sxt_emit *emit, sxt_string name, const struct cli_heap_look *look, size_t width)
{
    char *shortened = look->is_wide || name.size == 0 ? NULL : malloc(name.size);
    if (shortened != NULL)
        name = (sxt_string){shortened, sxt_trace_shorten_name(name, shortened)};
    cli_print_cut(emit, name.size > 0 ? name : (sxt_string){"?", 1}, width);
    free(shortened);
}

/* How many columns the name takes, shortened. */
static size_t columns_of(sxt_string name, const struct cli_heap_look *look)
{
    char *shortened = look->is_wide || name.size == 0 ? NULL : malloc(name.size);
    size_t columns =
        cli_columns(shortened != NULL ? (sxt_string){shortened, sxt_trace_shorten_name(name, shortened)} : name);
    free(shortened);
    return columns;
}

static void print_frame(struct sxt_emit *emit, const sxt_heap_shown_frame *shown, const struct cli_heap_look *look,
                        size_t indent)
{
    char room[24], file_room[24], line[16] = "";
    sxt_string function = function_of(&shown->frame, room), file = place_of(shown, look, file_room);
    if (shown->frame.line > 0 && file.size > 0)
        snprintf(line, sizeof line, ":%u", shown->frame.line);
    size_t of_file = file.size > 0 ? cli_columns(file) + strlen(line) + 2 : 0, of_function = 0;
    if (look->width > 0) {
        size_t room_for_both = look->width > indent + 20 ? look->width - indent : 20;
        of_function = columns_of(function, look);
        if (of_function + of_file > room_for_both) {
            size_t least = of_file < room_for_both / 2 ? of_file : room_for_both / 2;
            of_file = of_function + least < room_for_both ? room_for_both - of_function : least;
            of_function = room_for_both - of_file;
        }
    }
    cli_heap_print_function(emit, function, look, of_function);
    if (file.size > 1 || (file.size == 1 && file.data[0] != '?')) {
        sxt_emit_text(emit, "  ");
        cli_print_cut_path(emit, file, look->width > 0 ? of_file - strlen(line) - 2 : 0);
        sxt_emit_text(emit, "%s", line);
    }
    sxt_emit_text(emit, "\n");
}

bool cli_heap_is_cut(const sxt_trace *trace, uint32_t id)
{
    sxt_trace_frame last;
    uint32_t count;
    (void)sxt_trace_stack(trace, id, &count);
    return count > 0 && sxt_trace_get_frame(trace, id, count - 1, &last) &&
           last.function.size == strlen(CLI_HEAP_CUT) &&
           memcmp(last.function.data, CLI_HEAP_CUT, last.function.size) == 0;
}

void cli_heap_print_stack_of(struct sxt_emit *emit, const sxt_trace *trace, uint32_t id,
                             const struct cli_heap_look *look, unsigned indent, uint64_t stacks)
{
    uint32_t count, left = 0;
    (void)sxt_trace_stack(trace, id, &count);
    size_t most = look->view.frames > 0 && look->view.frames < count ? look->view.frames : count;
    sxt_heap_shown_frame *frames = most > 0 ? calloc(most, sizeof *frames) : NULL;
    size_t shown = frames != NULL ? sxt_trace_show_stack(trace, id, &look->view, frames, most, &left) : 0;
    if (shown == 0)
        sxt_emit_text(emit, "stack_%u\n", id);
    for (size_t i = 0; i < shown; i++) {
        if (i > 0)
            sxt_emit_text(emit, "%*s", (int)indent, "");
        print_frame(emit, &frames[i], look, indent);
    }
    bool is_last = shown > 0 && frames[shown - 1].index + 1 == count;
    bool was_cut = !is_last && look->view.depth == 0 && cli_heap_is_cut(trace, id);
    left -= was_cut && left > 0;
    if (stacks > 1)
        sxt_emit_text(emit, "%*s... in %s stacks\n", (int)indent, "", cli_thousands((double)stacks).text);
    else if (left > 0)
        sxt_emit_text(emit, "%*s... %u more\n", (int)indent, "", left);
    if (was_cut)
        sxt_emit_text(emit, "%*s%s\n", (int)indent, "", CLI_HEAP_CUT);
    free(frames);
}

void cli_heap_print_frames(struct sxt_emit *emit, const sxt_trace *trace, uint32_t id, unsigned indent, uint32_t most)
{
    const struct cli_heap_look look = {
        .view = {.frames = most == UINT32_MAX ? 0 : most, .folds_library = true, .shortens_names = true}};
    cli_heap_print_stack_of(emit, trace, id, &look, indent + 2, 1);
}
