/* go.c: which function of the Go runtime's table gave an answer. */
#include <elf.h>

#include "explain/private.h"

bool sxt_explain_go_find(struct sxt_explainer *explainer, uint64_t address, struct sxt_go_position *position)
{
    if (!explainer->go_tried)
        explainer->go = sxt_go_open(&explainer->elf);
    explainer->go_tried = true;
    return explainer->go != NULL && sxt_go_find_function(explainer->go, address, position);
}

const struct sxt_elf_section *sxt_explain_section_of_offset(const struct sxt_explainer *explainer, uint64_t offset)
{
    for (size_t i = 0; i < explainer->elf.section_count; i++) {
        const struct sxt_elf_section *section = &explainer->elf.sections[i];
        if (section->type != SHT_NULL && section->type != SHT_NOBITS && offset >= section->offset &&
            offset - section->offset < section->size)
            return section;
    }
    return NULL;
}

bool sxt_explain_go(struct sxt_explainer *explainer, uint64_t address)
{
    struct sxt_go_position position;
    if (!sxt_explain_go_find(explainer, address, &position))
        return false;
    const struct sxt_elf_section *section = sxt_explain_section_of_offset(explainer, position.table);
    uint64_t section_offset = section != NULL ? section->offset : 0;
    sxt_explained_frame *frames = sxt_explain_frames(explainer, explainer->count);
    for (size_t i = 0; i < explainer->count && frames != NULL; i++) {
        const sxt_frame *frame = &explainer->frames[i];
        frames[i] = (sxt_explained_frame){
            .function = frame->function,
            .record = frame->depth > 0 ? SXT_RECORD_INLINED_CALL : SXT_RECORD_FUNCTION,
            .file = sxt_explain_string(explainer->path),
            .section = section != NULL ? section->name : (sxt_string){"", 0},
            .entry = position.entry - section_offset,
            .index = frame->depth > 0 ? SXT_NO_INDEX : position.index,
            .start = frame->start,
            .end = frame->start + frame->length,
        };
        if (frame->depth > 0)
            frames[i].name_from =
                sxt_explain_print(explainer, "the table of inlined calls of function %zu", position.index);
    }
    if (explainer->frames[0].line != 0 && position.has_lines) {
        explainer->out.has_line = true;
        explainer->out.line = (sxt_explained_line){
            .file = sxt_explain_string(explainer->path),
            .section = section != NULL ? section->name : (sxt_string){"", 0},
            .table = position.lines - section_offset,
            .address = SXT_NO_INDEX,
            .source = explainer->frames[0].file,
            .line = explainer->frames[0].line,
        };
    }
    return true;
}
