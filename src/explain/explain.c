/*
 * explain.c: opens the files of an answer, and assembles the explanation of an address.
 *
 * The answer is taken as given: the record that gave it is looked for in the sources, best first, by the same rules
 * that merge them.
 */
#include "explain/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "demangle/demangle.h"

/* An explanation is small, except for a hostile file. */
#define ARENA_LIMIT ((size_t)64 << 20)

static int open_elf(struct sxt_explainer *explainer, sxt_error *error);
static void begin(struct sxt_explainer *explainer, uint64_t address);
static int finish(struct sxt_explainer *explainer, const sxt_explanation **out, sxt_error *error);
static void explain_answer(struct sxt_explainer *explainer, uint64_t address);
static void add_dwarf_frames(struct sxt_explainer *explainer, uint64_t address);
static void add_dwarf_line(struct sxt_explainer *explainer);

int sxt_explainer_open(const char *path, const sxt_open_options *options, struct sxt_explainer **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_explainer *explainer = calloc(1, sizeof *explainer);
    if (explainer == NULL)
        return sxt_fail_memory(error, sizeof *explainer);
    int status = sxt_opening_take(&explainer->options, options, error);
    sxt_extract_options *extract = &explainer->options.extract;
    extract->warning = NULL;
    extract->progress = NULL;
    extract->addresses = NULL;
    extract->address_count = 0;
    sxt_arena_init(&explainer->arena, ARENA_LIMIT, sxt_arena_separate_default);
    explainer->path = strdup(path);
    if (status == SXT_OK && explainer->path == NULL)
        status = sxt_fail_memory(error, strlen(path));
    if (status == SXT_OK)
        status = sxt_file_open(&explainer->file, path, error);
    if (status == SXT_OK)
        status = sxt_file_inflate(&explainer->file, extract->inflate_limit, error);
    if (status == SXT_OK) {
        explainer->kind = sxt_kind_of(explainer->file.data, explainer->file.size, &explainer->ksym);
        if (explainer->kind == SXT_KIND_LIDIA)
            status = sxt_lidia_open(&explainer->lidia, explainer->file.data, explainer->file.size, false, error);
        else if (explainer->kind == SXT_KIND_ELF)
            status = open_elf(explainer, error);
        else if (explainer->kind == SXT_KIND_KSYM)
            sxt_ksym_set_text(&explainer->ksym, explainer->options.open.text_start, explainer->options.open.text_end);
        else if (explainer->kind == SXT_KIND_UNKNOWN)
            status = sxt_fail_unknown_kind(&explainer->file, error);
        else
            status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                              "only answers from ELF files, Lidia archives and ksym blobs can be explained");
    }
    if (status != SXT_OK)
        sxt_explainer_close(&explainer);
    *out = explainer;
    return status;
}

void sxt_explainer_close(struct sxt_explainer **explainer)
{
    struct sxt_explainer *all = *explainer;
    if (all == NULL)
        return;
    sxt_explain_close_tables(all);
    sxt_origins_close(&all->origins);
    sxt_elf_close(&all->elf);
    sxt_file_close(&all->file);
    sxt_arena_free(&all->arena);
    free(all->path);
    free(all);
    *explainer = NULL;
}

static int open_elf(struct sxt_explainer *explainer, sxt_error *error)
{
    const sxt_extract_options *extract = &explainer->options.extract;
    struct sxt_elf *elf = &explainer->elf;
    int status = sxt_elf_open(elf, explainer->file.data, explainer->file.size, extract->inflate_limit, error);
    if (status == SXT_OK)
        status = sxt_origins_open(elf, explainer->path, extract, &explainer->origins, error);
    if (status == SXT_OK)
        sxt_explain_open_tables(explainer);
    return status;
}

int sxt_explain_address(struct sxt_explainer *explainer, uint64_t address, const sxt_frame *frames, size_t count,
                        const sxt_explanation **out, sxt_error *error)
{
    *out = NULL;
    begin(explainer, address);
    explainer->frames = frames;
    explainer->count = count;
    if (explainer->kind == SXT_KIND_LIDIA) {
        sxt_explain_rows(explainer, address);
        return finish(explainer, out, error);
    }
    if (explainer->kind == SXT_KIND_KSYM) {
        sxt_explain_ksym(explainer, address);
        return finish(explainer, out, error);
    }
    if (explainer->origins.dwarf != NULL) {
        int status =
            sxt_dwarf_explain(explainer->origins.dwarf, address, &explainer->arena, &explainer->of_dwarf, error);
        if (status != SXT_OK)
            return status;
    }
    if (count == 0)
        sxt_explain_no_name(explainer, address);
    else
        explain_answer(explainer, address);
    return finish(explainer, out, error);
}

int sxt_explain_offset(struct sxt_explainer *explainer, uint64_t offset, const sxt_explanation **out, sxt_error *error)
{
    *out = NULL;
    begin(explainer, offset);
    if (explainer->kind == SXT_KIND_ELF)
        sxt_explain_no_address(explainer, offset);
    return finish(explainer, out, error);
}

static void begin(struct sxt_explainer *explainer, uint64_t address)
{
    sxt_arena_free(&explainer->arena);
    explainer->no_memory = false;
    explainer->frames = NULL;
    explainer->count = 0;
    explainer->of_dwarf = (struct sxt_dwarf_explanation){.damaged_at = UINT64_MAX};
    explainer->out = (sxt_explanation){
        .address = address,
        .is_archive = explainer->kind != SXT_KIND_ELF,
        .reasons = explainer->reasons,
        .advice = explainer->advice,
        .tried = explainer->tried,
    };
}

/* What the reasons of the explanation are about. */
static sxt_explain_lack what_is_missing(const struct sxt_explainer *explainer)
{
    if (explainer->count == 0)
        return SXT_LACKS_NAME;
    if (explainer->frames[0].line == 0)
        return SXT_LACKS_LINE;
    return explainer->of_dwarf.missing_split.data != NULL ? SXT_LACKS_CALLS : SXT_LACKS_NAME;
}

static int finish(struct sxt_explainer *explainer, const sxt_explanation **out, sxt_error *error)
{
    if (explainer->no_memory)
        return sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while explaining an address");
    if (explainer->out.reason_count > 0)
        explainer->out.lacks = what_is_missing(explainer);
    *out = &explainer->out;
    return SXT_OK;
}

/* Says whether a file is missing that would have inlined calls at the address, or their names. */
static bool lacks_a_file(const struct sxt_dwarf_explanation *dwarf)
{
    for (size_t i = 0; i < dwarf->frame_count; i++)
        if (dwarf->frames[i].needs_alternate && (dwarf->frames[i].inlined || !dwarf->has_nameless))
            return true;
    return dwarf->missing_split.data != NULL;
}

static void explain_answer(struct sxt_explainer *explainer, uint64_t address)
{
    bool is_dwarf = sxt_explain_wants(explainer, SXT_SOURCE_DWARF) && explainer->of_dwarf.frame_count > 0;
    bool is_named = is_dwarf && !explainer->of_dwarf.has_nameless;
    if (is_named) {
        add_dwarf_frames(explainer, address);
    } else if (sxt_explain_wants(explainer, SXT_SOURCE_GO) && sxt_explain_go(explainer, address)) {
        /* Go comes before symbols. */
    } else if (is_dwarf) {
        add_dwarf_frames(explainer, address);
    } else {
        sxt_explained_frame *frame = sxt_explain_frames(explainer, 1);
        if (frame != NULL && !sxt_explain_symbol(explainer, address, frame))
            explainer->out.frame_count = 0;
    }
    if (sxt_explain_wants(explainer, SXT_SOURCE_DWARF) && !explainer->out.has_line)
        add_dwarf_line(explainer);
    if (explainer->frames[0].line == 0)
        sxt_explain_no_line(explainer, address);
    else if (sxt_explain_wants(explainer, SXT_SOURCE_DWARF) && lacks_a_file(&explainer->of_dwarf))
        sxt_explain_dwarf_files(explainer);
}

/* "linkage name of the specification at 0x11 of its abstract origin at 0x2a" */
static sxt_string describe_naming(struct sxt_explainer *explainer, const struct sxt_dwarf_frame *frame)
{
    if (frame->name.size == 0)
        return sxt_explain_print(explainer, "%s",
                                 frame->needs_alternate ? "the name is in the alternate file, which was not found"
                                                        : "no name was found");
    if (frame->reference_count == 0 && !frame->qualified)
        return (sxt_string){NULL, 0};
    sxt_string text = sxt_explain_print(explainer, "%s", frame->reference_count == 0 ? " of the entry itself" : "");
    for (size_t i = 0; i < frame->reference_count && text.data != NULL; i++) {
        const struct sxt_dwarf_reference *reference = &frame->references[i];
        text = sxt_explain_print(explainer, " of %s%s at 0x%llx%s%s", i == 0 ? "its " : "the ",
                                 reference->specification ? "specification" : "abstract origin",
                                 (unsigned long long)reference->entry,
                                 reference->alternate ? " of the alternate file" : "", text.data);
    }
    return sxt_explain_print(explainer, "%s%s%s", frame->linkage ? "linkage name" : "name",
                             text.data != NULL ? text.data : "", frame->qualified ? ", with the scopes around it" : "");
}

static void add_dwarf_frames(struct sxt_explainer *explainer, uint64_t address)
{
    const struct sxt_dwarf_explanation *from = &explainer->of_dwarf;
    sxt_explained_frame *frames = sxt_explain_frames(explainer, from->frame_count);
    for (size_t i = 0; i < from->frame_count && frames != NULL; i++) {
        const struct sxt_dwarf_frame *frame = &from->frames[i];
        frames[i] = (sxt_explained_frame){
            .function = sxt_explain_readable(explainer, frame->name),
            .record = frame->inlined ? SXT_RECORD_INLINED_CALL : SXT_RECORD_FUNCTION,
            .file = from->file,
            .section = sxt_explain_string(from->section),
            .unit = from->unit_name.data != NULL ? from->unit_name : (sxt_string){"", 0},
            .unit_offset = from->unit,
            .entry = frame->entry,
            .index = SXT_NO_INDEX,
            .start = frame->start,
            .end = frame->end,
            .name_from = describe_naming(explainer, frame),
        };
    }
    if (frames == NULL)
        return;
    sxt_explained_frame *outermost = &frames[from->frame_count - 1];
    /* A symbol gives the name of a function that has none in DWARF. */
    if (from->has_nameless) {
        sxt_explain_symbol(explainer, address, outermost);
        return;
    }
    sxt_string answer = explainer->frames[explainer->count - 1].function;
    if (!sxt_string_equal(answer, outermost->function)) {
        outermost->function = answer;
        outermost->name_from = sxt_explain_entry_symbol(explainer, outermost->start, answer);
    }
    if (outermost->end != 0)
        sxt_explain_aliases(explainer, outermost->start, outermost->function, outermost);
}

/* Code that no function of DWARF has may have lines too; then the line must be that of the answer. */
static void add_dwarf_line(struct sxt_explainer *explainer)
{
    const struct sxt_dwarf_explanation *from = &explainer->of_dwarf;
    if (!from->has_row || from->row_line != explainer->frames[0].line)
        return;
    explainer->out.has_line = true;
    explainer->out.line = (sxt_explained_line){
        .file = sxt_explain_string(explainer->origins.dwarf_path),
        .section = sxt_explain_string(".debug_line"),
        .table = from->lines,
        .address = from->row,
        .source = from->row_file,
        .line = from->row_line,
        .column = from->row_column,
    };
}

sxt_string sxt_explain_print(struct sxt_explainer *explainer, const char *format, ...)
{
    char text[4096];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    size_t size = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    char *copy = sxt_arena_copy(&explainer->arena, text, size);
    if (copy == NULL)
        explainer->no_memory = true;
    return (sxt_string){copy, copy != NULL ? size : 0};
}

sxt_string sxt_explain_readable(struct sxt_explainer *explainer, sxt_string name)
{
    struct sxt_buffer readable;
    sxt_buffer_init(&readable, (size_t)2 << 20);
    if (!explainer->options.open.mangled && name.size > 0 && sxt_demangle(name, &readable)) {
        char *copy = sxt_arena_copy(&explainer->arena, readable.data, readable.size);
        if (copy == NULL)
            explainer->no_memory = true;
        name = (sxt_string){copy, copy != NULL ? readable.size : 0};
    }
    sxt_buffer_free(&readable);
    return name;
}

void sxt_explain_add_reason(struct sxt_explainer *explainer, sxt_explained_reason reason)
{
    if (explainer->out.reason_count < EXPLAIN_REASONS_MAX)
        explainer->reasons[explainer->out.reason_count++] = reason;
}

void sxt_explain_because(struct sxt_explainer *explainer, sxt_explain_reason reason)
{
    sxt_explain_add_reason(explainer, (sxt_explained_reason){.reason = reason});
}

void sxt_explain_add_advice(struct sxt_explainer *explainer, sxt_explained_advice advice)
{
    if (explainer->out.advice_count < EXPLAIN_ADVICE_MAX)
        explainer->advice[explainer->out.advice_count++] = advice;
}

void sxt_explain_advise(struct sxt_explainer *explainer, sxt_explain_advice advice)
{
    sxt_explain_add_advice(explainer, (sxt_explained_advice){.advice = advice});
}

void sxt_explain_add_tried(struct sxt_explainer *explainer, sxt_string path)
{
    if (explainer->out.tried_count < EXPLAIN_TRIED_MAX)
        explainer->tried[explainer->out.tried_count++] = path;
}

sxt_explained_frame *sxt_explain_frames(struct sxt_explainer *explainer, size_t count)
{
    sxt_explained_frame *frames = sxt_arena_calloc(&explainer->arena, count, sizeof *frames);
    explainer->out.frames = frames;
    explainer->out.frame_count = frames != NULL ? count : 0;
    if (frames == NULL)
        explainer->no_memory = true;
    return frames;
}
