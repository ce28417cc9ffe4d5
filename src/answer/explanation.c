/*
 * explanation.c: prints explanations as text and as JSON. Reasons and advice name the options that matter.
 *
 *     401136  inner  /src/a.c:2  [inlined]
 *             outer  /src/a.c:4
 *         from   /src/app
 *         frame  inner: inlined call at 0x8d of .debug_info, unit 'a.c' at 0x0, 0x401130-0x401140
 *                name: linkage name of its abstract origin at 0x2a
 *         frame  outer: function at 0x5e of .debug_info, unit 'a.c' at 0x0, 0x401126-0x401150
 *         line   /src/a.c:2:71, row 0x401134 of the table at 0x0 of .debug_line
 */
#include <stdlib.h>
#include <string.h>

#include "answer/answer.h"
#include "base/buffer.h"
#include "base/string.h"

/* All reasons of an explanation. */
#define TEXT_MAX ((size_t)64 << 10)

/* A file that gave answers. */
struct source_file {
    char *path;
    sxt_explainer *explainer; /* NULL if it cannot be opened */
    sxt_error problem;
    struct source_file *next;
};

struct sxt_answer_explain {
    sxt_open_options options;
    const char *pid;
    struct source_file *files; /* the one used last comes first */
    struct sxt_answer_explanation explanation;
};

static const struct source_file *open_source(struct sxt_answer_explain *explain, const char *path);

struct sxt_answer_explain *sxt_answer_explain_new(const sxt_open_options *options, const char *pid)
{
    struct sxt_answer_explain *explain = calloc(1, sizeof *explain);
    if (explain != NULL)
        *explain = (struct sxt_answer_explain){.options = *options, .pid = pid};
    return explain;
}

void sxt_answer_explain_free(struct sxt_answer_explain *explain)
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

static void give_reason(struct sxt_answer_explain *explain, const char *why, const char *advice)
{
    explain->explanation = (struct sxt_answer_explanation){.why = why, .advice = advice};
}

/* Gives the reason why nothing was looked up in a file; false if something was. */
static bool explain_nothing(struct sxt_answer_explain *explain, bool is_process, const struct sxt_answer *answer)
{
    if (!answer->is_address)
        give_reason(explain, "not a hexadecimal address", "addresses are hexadecimal digits, with or without 0x");
    else if (!is_process)
        return false;
    else if (answer->module == NULL)
        give_reason(explain, "no file is mapped at this address",
                    "heap, stack and code made at run time are in no file; a file may have been unmapped");
    else if (answer->problem != NULL)
        give_reason(explain, answer->problem, NULL);
    else if (answer->count == 0 && answer->module_address == 0)
        give_reason(explain, "no segment of the file is loaded in this part of the mapping", NULL);
    else if (answer->module[0] != '/')
        give_reason(explain, "the code is only in the memory of the process, not in a file", NULL);
    else
        return false;
    return true;
}

const struct sxt_answer_explanation *sxt_answer_explain(struct sxt_answer_explain *explain, const char *file,
                                                        const struct sxt_answer *answer)
{
    if (explain_nothing(explain, file == NULL, answer))
        return &explain->explanation;
    const char *path = file != NULL ? file : answer->module;
    uint64_t address = file != NULL ? answer->address : answer->module_address;
    const struct source_file *source = open_source(explain, path);
    sxt_error error = {.text = "out of memory"};
    int status = SXT_ERROR_MEMORY;
    explain->explanation = (struct sxt_answer_explanation){.found = NULL};
    if (source != NULL && source->explainer == NULL)
        error = source->problem;
    else if (source != NULL && answer->is_placed)
        status = sxt_explain_address(source->explainer, address, answer->frames, answer->count,
                                     &explain->explanation.found, &error);
    else if (source != NULL)
        status = sxt_explain_offset(source->explainer, address, &explain->explanation.found, &error);
    if (status != SXT_OK) {
        explain->explanation.failed_file = path;
        snprintf(explain->explanation.failure, sizeof explain->explanation.failure, "cannot explain: %s%s", error.text,
                 error.code == SXT_ERROR_UNSUPPORTED ? "; 'sextant convert' makes a Lidia archive" : "");
    }
    return &explain->explanation;
}

/* Opens a file of a process, as the process sees it. */
static int open_in_process(const struct sxt_answer_explain *explain, struct source_file *file)
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

/* The explainer of PATH, opened when it is first needed. NULL when out of memory. */
static const struct source_file *open_source(struct sxt_answer_explain *explain, const char *path)
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

/* --- reasons and advice, in the words of the command line --- */

/* As --sources names it. */
static const char *source_word(uint32_t source)
{
    return source == SXT_SOURCE_DWARF    ? "dwarf"
           : source == SXT_SOURCE_GO     ? "go"
           : source == SXT_SOURCE_SYMTAB ? "symtab"
                                         : "dynsym";
}

/* Where an option is the reason, the option is named. */
static void describe_reason(const sxt_explanation *found, size_t index, struct sxt_buffer *out)
{
    const sxt_explained_reason *reason = &found->reasons[index];
    char text[2048];
    switch (reason->reason) {
    case SXT_WHY_SOURCE_EXCLUDED:
        sxt_buffer_print(out, "--sources leaves out %s, which has ", source_word(reason->source));
        if (reason->name.data != NULL)
            sxt_buffer_print(out, "'%.*s' here", reason->name.size < 160 ? (int)reason->name.size : 160,
                             reason->name.data);
        else
            sxt_buffer_print(out, "this address");
        return;
    case SXT_WHY_NO_DEBUG_SEARCH:
        sxt_buffer_print(out, "debug files are not searched (--no-debug-search)");
        return;
    default:
        sxt_explain_reason_text(found, index, text, sizeof text);
        sxt_buffer_print(out, "%s", text);
    }
}

/* All reasons as one sentence. */
static void describe_reasons(const struct sxt_answer_explanation *explanation, struct sxt_buffer *out)
{
    const sxt_explanation *found = explanation->found;
    if (found == NULL) {
        if (explanation->why != NULL)
            sxt_buffer_print(out, "%s", explanation->why);
        return;
    }
    if (found->lacks == SXT_LACKS_LINE)
        sxt_buffer_print(out, "no line: ");
    else if (found->lacks == SXT_LACKS_CALLS)
        sxt_buffer_print(out, "inlined calls are unknown: ");
    else if (found->lacks == SXT_LACKS_NAME && found->frame_count > 0)
        sxt_buffer_print(out, "no name: ");
    for (size_t i = 0; i < found->reason_count; i++) {
        if (i > 0)
            sxt_buffer_print(out, "; ");
        describe_reason(found, i, out);
    }
}

/* The reasons in TEXT, absent if there are none. */
static sxt_string reasons_text(const struct sxt_answer_explanation *explanation, struct sxt_buffer *text)
{
    describe_reasons(explanation, text);
    return text->size > 0 ? (sxt_string){(const char *)text->data, text->size} : (sxt_string){NULL, 0};
}

/* Where an option helps, the option is named. */
static void describe_advice(const sxt_explanation *found, size_t index, struct sxt_buffer *out)
{
    static const char process[] = "an address of a running process: give the start of the file's mapping with "
                                  "--load-bias 0x..., or use --pid PID or --maps FILE";
    const sxt_explained_advice *advice = &found->advice[index];
    unsigned long long address = advice->address;
    char text[2048];
    switch (advice->advice) {
    case SXT_ADVICE_RUN_TIME:
    case SXT_ADVICE_MAYBE_RUN_TIME:
        sxt_buffer_print(out, "it %s %s", advice->advice == SXT_ADVICE_RUN_TIME ? "looks like" : "may be", process);
        return;
    case SXT_ADVICE_FILE_OFFSET:
        sxt_buffer_print(out, "if it is an offset in the file, use --file-offset; its address is 0x%llx", address);
        return;
    case SXT_ADVICE_SECTION_BASES:
        sxt_buffer_print(out, "'sextant info' lists where the sections of a relocatable file are placed");
        return;
    case SXT_ADVICE_ADD_SOURCE:
        sxt_buffer_print(out, "remove --sources, or add %s to it", source_word(advice->source));
        return;
    case SXT_ADVICE_EXTEND_ZERO_SIZE:
        sxt_buffer_print(out, "use --zero-size extend to extend symbols of size 0 to the next symbol");
        return;
    case SXT_ADVICE_SEARCH_DEBUG_FILE:
        sxt_buffer_print(out, "remove --no-debug-search, or give the debug file with --debug FILE");
        return;
    case SXT_ADVICE_GIVE_DEBUG_FILE:
        sxt_buffer_print(out,
                         "or give the debug file, or a copy of the binary that is not stripped, with --debug FILE");
        return;
    case SXT_ADVICE_KEEP_LINES:
        sxt_buffer_print(out, "make the archive again from a file with debug information, without --no-lines");
        return;
    case SXT_ADVICE_MAKE_AGAIN:
        sxt_buffer_print(out, "make it again; 'sextant archive' warns if it finds no symbols");
        return;
    case SXT_ADVICE_EXPLAIN_BINARY:
        sxt_buffer_print(out, "use --explain with the ELF file, which has more than the archive");
        return;
    case SXT_ADVICE_IS_ADDRESS:
        sxt_buffer_print(out, "0x%llx is an address of the file: remove --file-offset if it is meant as one", address);
        return;
    case SXT_ADVICE_NOT_AN_OFFSET:
        sxt_buffer_print(out, "if 0x%llx is an address, remove --file-offset", address);
        return;
    default:
        sxt_explain_advice_text(found, index, text, sizeof text);
        sxt_buffer_print(out, "%s", text);
    }
}

static size_t advice_count(const struct sxt_answer_explanation *explanation)
{
    return explanation->found != NULL ? explanation->found->advice_count : explanation->advice != NULL ? 1 : 0;
}

static sxt_string advice_text(const struct sxt_answer_explanation *explanation, size_t index, struct sxt_buffer *out)
{
    sxt_buffer_clear(out);
    if (explanation->found != NULL)
        describe_advice(explanation->found, index, out);
    else
        sxt_buffer_print(out, "%s", explanation->advice);
    return (sxt_string){(const char *)out->data, out->size};
}

static const char *record_word(sxt_record record)
{
    switch (record) {
    case SXT_RECORD_FUNCTION:
        return "function";
    case SXT_RECORD_INLINED_CALL:
        return "inlined call";
    case SXT_RECORD_SYMBOL:
        return "symbol";
    case SXT_RECORD_PLT_ENTRY:
        return "PLT entry";
    default:
        return "row";
    }
}

/* --- JSON --- */

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

static void put_frame(struct sxt_emit *emit, const sxt_explained_frame *frame)
{
    bool has_range = frame->end != 0;
    sxt_emit_object(emit, NULL);
    sxt_emit_string(emit, "function", frame->function);
    sxt_emit_cstring(emit, "record", record_word(frame->record));
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

static void print_json(struct sxt_emit *emit, const struct sxt_answer_explanation *explanation, struct sxt_buffer *text)
{
    static const sxt_explanation nothing;
    const sxt_explanation *found = explanation->found != NULL ? explanation->found : &nothing;
    sxt_emit_object(emit, "explanation");
    sxt_emit_array(emit, "frames");
    for (size_t i = 0; i < found->frame_count; i++)
        put_frame(emit, &found->frames[i]);
    sxt_emit_array_end(emit);
    const sxt_explained_line *line = &found->line;
    if (found->has_line) {
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
    sxt_emit_string(emit, "why", reasons_text(explanation, text));
    put_strings(emit, "tried", found->tried, found->tried_count);
    sxt_emit_array(emit, "todo");
    for (size_t i = 0; i < advice_count(explanation); i++)
        sxt_emit_string(emit, NULL, advice_text(explanation, i, text));
    sxt_emit_array_end(emit);
    sxt_emit_object_end(emit);
}

/* --- text --- */

static void put_label(struct sxt_emit *emit, const char *label)
{
    sxt_emit_text(emit, "    %-5s  ", label);
}

static void print_frame(struct sxt_emit *emit, const sxt_explained_frame *frame, bool is_archive)
{
    put_label(emit, "frame");
    sxt_emit_name(emit, frame->function.size > 0 ? frame->function : (sxt_string){"??", 2});
    sxt_emit_text(emit, ": %s ", record_word(frame->record));
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

static void print_line(struct sxt_emit *emit, const sxt_explained_line *line, bool is_archive)
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

static void print_records(struct sxt_emit *emit, const sxt_explanation *found)
{
    sxt_string file = {NULL, 0};
    for (size_t i = 0; i < found->frame_count; i++) {
        const sxt_explained_frame *frame = &found->frames[i];
        if (!sxt_string_equal(frame->file, file))
            print_labelled(emit, "from", frame->file);
        file = frame->file;
        print_frame(emit, frame, found->is_archive);
    }
    if (found->has_line) {
        if (!sxt_string_equal(found->line.file, file))
            print_labelled(emit, "from", found->line.file);
        print_line(emit, &found->line, found->is_archive);
    }
}

static void print_text(struct sxt_emit *emit, const struct sxt_answer_explanation *explanation, struct sxt_buffer *text)
{
    const sxt_explanation *found = explanation->found;
    if (found != NULL)
        print_records(emit, found);
    print_labelled(emit, "why", reasons_text(explanation, text));
    for (size_t i = 0; found != NULL && i < found->tried_count; i++)
        print_labelled(emit, "tried", found->tried[i]);
    for (size_t i = 0; i < advice_count(explanation); i++)
        print_labelled(emit, "to do", advice_text(explanation, i, text));
}

void sxt_answer_print_explanation(struct sxt_emit *emit, const struct sxt_answer_explanation *explanation)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, TEXT_MAX);
    if (sxt_emit_is_json(emit))
        print_json(emit, explanation, &text);
    else
        print_text(emit, explanation, &text);
    sxt_buffer_free(&text);
}
