/*
 * explain.c: explanations as text and as JSON.
 *
 *     401136  inner  /src/a.c:2  [inlined]
 *             outer  /src/a.c:4
 *         from   /src/app
 *         frame  inner: inlined call at 0x8d of .debug_info, unit 'a.c' at 0x0, 0x401130-0x401140
 *                name: linkage name of its abstract origin at 0x2a
 *         frame  outer: function at 0x5e of .debug_info, unit 'a.c' at 0x0, 0x401126-0x401150
 *         line   /src/a.c:2:71, row 0x401134 of the table at 0x0 of .debug_line
 */
#include "cli/explain.h"
#include "base/string.h"

#include <stdlib.h>
#include <string.h>

/* A file that answers came from. */
struct source_file {
    char *path;
    struct sxt_explainer *explainer; /* NULL when it cannot be opened */
    sxt_error problem;
    struct source_file *next;
};

struct cli_explain {
    sxt_open_options options;
    const char *pid;
    struct source_file *files; /* the last one used comes first */
    struct sxt_explanation explanation;
    sxt_string todo;
};

static const struct source_file *open_source(struct cli_explain *explain, const char *path);

struct cli_explain *cli_explain_new(const sxt_open_options *options, const char *pid)
{
    struct cli_explain *explain = calloc(1, sizeof *explain);
    if (explain != NULL)
        *explain = (struct cli_explain){.options = *options, .pid = pid};
    return explain;
}

void cli_explain_free(struct cli_explain *explain)
{
    if (explain == NULL)
        return;
    while (explain->files != NULL) {
        struct source_file *file = explain->files;
        explain->files = file->next;
        sxt_explainer_close(&file->explainer);
        free(file->path);
        free(file);
    }
    free(explain);
}

/* Nothing but a reason. */
static void give_reason(struct cli_explain *explain, const char *why, const char *todo)
{
    explain->todo = (sxt_string){todo, todo != NULL ? strlen(todo) : 0};
    explain->explanation =
        (struct sxt_explanation){.why = {why, strlen(why)}, .todo = &explain->todo, .todo_count = todo != NULL ? 1 : 0};
}

/* Why nothing was looked up at all, or not in a file; false when it was. */
static bool explain_nothing(struct cli_explain *explain, bool is_process, const struct cli_answer *answer)
{
    if (!answer->is_address)
        give_reason(explain, "that is no address", "addresses are hexadecimal digits, with or without 0x before them");
    else if (!is_process)
        return false;
    else if (answer->module == NULL)
        give_reason(explain, "no file is mapped at this address",
                    "heap, stack and code made at run time are in no file; anything else may be unmapped by now");
    else if (answer->problem != NULL)
        give_reason(explain, answer->problem, NULL);
    else if (answer->count == 0 && answer->module_address == 0)
        give_reason(explain, "this part of the mapping is in none of the file's segments", NULL);
    else if (answer->module[0] != '/')
        give_reason(explain, "the code is in the memory of the process only; there is no file to name", NULL);
    else
        return false;
    return true;
}

const struct sxt_explanation *cli_explain(struct cli_explain *explain, const char *file,
                                          const struct cli_answer *answer)
{
    if (explain_nothing(explain, file == NULL, answer))
        return &explain->explanation;
    const char *path = file != NULL ? file : answer->module;
    uint64_t address = file != NULL ? answer->address : answer->module_address;
    const struct source_file *source = open_source(explain, path);
    sxt_error error = {.text = "out of memory"};
    int status = SXT_ERROR_MEMORY;
    if (source != NULL && source->explainer == NULL)
        error = source->problem;
    else if (source != NULL && answer->is_placed)
        status = sxt_explain(source->explainer, address, answer->frames, answer->count, &explain->explanation, &error);
    else if (source != NULL)
        status = sxt_explain_offset(source->explainer, address, &explain->explanation, &error);
    if (status != SXT_OK) {
        cli_warn(path, "cannot explain: %s", error.text);
        explain->explanation = (struct sxt_explanation){.frame_count = 0};
    }
    return &explain->explanation;
}

/* A file of a process, as the process sees it. */
static int open_in_process(const struct cli_explain *explain, struct source_file *file)
{
    size_t size = strlen(explain->pid) + strlen(file->path) + 16;
    char *path = malloc(size);
    int status = SXT_ERROR_MEMORY;
    if (path != NULL) {
        snprintf(path, size, "/proc/%s/root%s", explain->pid, file->path);
        status = sxt_explainer_open(path, &explain->options, &file->explainer, &file->problem);
    }
    free(path);
    return status;
}

/* The explainer of PATH, opened when it is first needed. NULL when memory is short. */
static const struct source_file *open_source(struct cli_explain *explain, const char *path)
{
    struct source_file **link = &explain->files;
    while (*link != NULL && strcmp((*link)->path, path) != 0)
        link = &(*link)->next;
    struct source_file *file = *link;
    if (file != NULL) {
        *link = file->next;
    } else {
        file = calloc(1, sizeof *file);
        if (file == NULL || (file->path = strdup(path)) == NULL) {
            free(file);
            return NULL;
        }
        if (explain->pid == NULL || open_in_process(explain, file) != SXT_OK)
            (void)sxt_explainer_open(path, &explain->options, &file->explainer, &file->problem);
    }
    file->next = explain->files;
    explain->files = file;
    return file;
}

static void put_optional_address(struct sxt_emit *emit, const char *key, bool has, uint64_t value)
{
    if (has)
        sxt_emit_address(emit, key, value);
    else
        sxt_emit_null(emit, key);
}

static void put_optional_number(struct sxt_emit *emit, const char *key, bool has, uint64_t value)
{
    if (has)
        sxt_emit_number(emit, key, value);
    else
        sxt_emit_null(emit, key);
}

static void put_strings(struct sxt_emit *emit, const char *key, const sxt_string *strings, size_t count)
{
    sxt_emit_array(emit, key);
    for (size_t i = 0; i < count; i++)
        sxt_emit_string(emit, NULL, strings[i]);
    sxt_emit_array_end(emit);
}

static void put_frame(struct sxt_emit *emit, const struct sxt_explained_frame *frame)
{
    bool has_range = frame->end != 0;
    sxt_emit_object(emit, NULL);
    sxt_emit_string(emit, "function", frame->function);
    sxt_emit_cstring(emit, "record", frame->record);
    sxt_emit_string(emit, "file", frame->file);
    sxt_emit_string(emit, "section", frame->section);
    sxt_emit_string(emit, "unit", frame->unit);
    put_optional_address(emit, "unit_offset", frame->unit.data != NULL, frame->unit_offset);
    sxt_emit_address(emit, "entry", frame->entry);
    put_optional_number(emit, "index", frame->index != SXT_NO_INDEX, frame->index);
    put_optional_address(emit, "start", has_range, frame->start);
    put_optional_address(emit, "end", has_range, frame->end);
    sxt_emit_string(emit, "name_from", frame->name_from);
    put_strings(emit, "aliases", frame->aliases, frame->alias_count);
    sxt_emit_object_end(emit);
}

static void print_json(struct sxt_emit *emit, const struct sxt_explanation *explanation)
{
    sxt_emit_object(emit, "explanation");
    sxt_emit_array(emit, "frames");
    for (size_t i = 0; i < explanation->frame_count; i++)
        put_frame(emit, &explanation->frames[i]);
    sxt_emit_array_end(emit);
    const struct sxt_explained_line *line = &explanation->line;
    if (explanation->has_line) {
        sxt_emit_object(emit, "line");
        sxt_emit_string(emit, "file", line->file);
        sxt_emit_string(emit, "section", line->section);
        sxt_emit_address(emit, "table", line->table);
        put_optional_address(emit, "address", line->address != SXT_NO_INDEX, line->address);
        sxt_emit_string(emit, "source", line->source);
        put_optional_number(emit, "line", line->line != 0, line->line);
        put_optional_number(emit, "column", line->column != 0, line->column);
        sxt_emit_object_end(emit);
    } else {
        sxt_emit_null(emit, "line");
    }
    sxt_emit_string(emit, "why", explanation->why);
    put_strings(emit, "tried", explanation->tried, explanation->tried_count);
    put_strings(emit, "todo", explanation->todo, explanation->todo_count);
    sxt_emit_object_end(emit);
}

static void put_label(struct sxt_emit *emit, const char *label)
{
    sxt_emit_text(emit, "    %-5s  ", label);
}

static void print_frame(struct sxt_emit *emit, const struct sxt_explained_frame *frame, bool is_archive)
{
    put_label(emit, "frame");
    sxt_emit_name(emit, frame->function);
    sxt_emit_text(emit, ": %s ", frame->record);
    if (frame->index != SXT_NO_INDEX)
        sxt_emit_text(emit, "%llu ", (unsigned long long)frame->index);
    sxt_emit_text(emit, "at 0x%llx of ", (unsigned long long)frame->entry);
    if (!is_archive && frame->section.size > 0)
        sxt_emit_name(emit, frame->section);
    else
        sxt_emit_text(emit, "the file");
    if (frame->unit.data != NULL) {
        sxt_emit_text(emit, ", unit '");
        sxt_emit_name(emit, frame->unit);
        sxt_emit_text(emit, "' at 0x%llx", (unsigned long long)frame->unit_offset);
    }
    if (frame->end != 0)
        sxt_emit_text(emit, ", 0x%llx-0x%llx", (unsigned long long)frame->start, (unsigned long long)frame->end);
    sxt_emit_text(emit, "\n");
    if (frame->name_from.data != NULL) {
        put_label(emit, "");
        sxt_emit_text(emit, "name: ");
        sxt_emit_name(emit, frame->name_from);
        sxt_emit_text(emit, "\n");
    }
    for (size_t i = 0; i < frame->alias_count; i++) {
        if (i == 0)
            put_label(emit, "also");
        sxt_emit_text(emit, i == 0 ? "" : ", ");
        sxt_emit_name(emit, frame->aliases[i]);
        sxt_emit_text(emit, i + 1 == frame->alias_count ? "\n" : "");
    }
}

static void print_line(struct sxt_emit *emit, const struct sxt_explained_line *line, bool is_archive)
{
    put_label(emit, "line");
    if (line->source.data != NULL)
        sxt_emit_name(emit, line->source);
    else
        sxt_emit_text(emit, "(no file)");
    sxt_emit_text(emit, ":%u", line->line);
    if (line->column != 0)
        sxt_emit_text(emit, ":%u", line->column);
    if (is_archive)
        sxt_emit_text(emit, ", from 0x%llx on, by the line entry at 0x%llx of the file",
                      (unsigned long long)line->address, (unsigned long long)line->table);
    else if (line->address != SXT_NO_INDEX)
        sxt_emit_text(emit, ", row 0x%llx of the table at 0x%llx of ", (unsigned long long)line->address,
                      (unsigned long long)line->table);
    else
        sxt_emit_text(emit, ", by the table at 0x%llx of ", (unsigned long long)line->table);
    if (!is_archive && line->section.size > 0)
        sxt_emit_name(emit, line->section);
    else if (!is_archive)
        sxt_emit_text(emit, "the file");
    sxt_emit_text(emit, "\n");
}

static void print_labelled(struct sxt_emit *emit, const char *label, sxt_string text)
{
    if (text.data == NULL)
        return;
    put_label(emit, label);
    sxt_emit_name(emit, text);
    sxt_emit_text(emit, "\n");
}

static void print_text(struct sxt_emit *emit, const struct sxt_explanation *explanation)
{
    sxt_string file = {NULL, 0};
    for (size_t i = 0; i < explanation->frame_count; i++) {
        const struct sxt_explained_frame *frame = &explanation->frames[i];
        if (!sxt_string_equal(frame->file, file))
            print_labelled(emit, "from", frame->file);
        file = frame->file;
        print_frame(emit, frame, explanation->is_archive);
    }
    if (explanation->has_line) {
        if (!sxt_string_equal(explanation->line.file, file))
            print_labelled(emit, "from", explanation->line.file);
        print_line(emit, &explanation->line, explanation->is_archive);
    }
    print_labelled(emit, "why", explanation->why);
    for (size_t i = 0; i < explanation->tried_count; i++)
        print_labelled(emit, "tried", explanation->tried[i]);
    for (size_t i = 0; i < explanation->todo_count; i++)
        print_labelled(emit, "to do", explanation->todo[i]);
}

void cli_print_explanation(struct sxt_emit *emit, const struct sxt_explanation *explanation)
{
    if (sxt_emit_is_json(emit))
        print_json(emit, explanation);
    else
        print_text(emit, explanation);
}
