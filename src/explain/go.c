/* go.c: which function of the Go runtime's table gave an answer. */
#include <string.h>

#include "explain/private.h"

bool sxt_explain_go_index(struct sxt_explainer *explainer, uint64_t address, size_t *index)
{
    struct sxt_go_bases bases;
    if (!explainer->go_tried) {
        bool found = false;
        explainer->has_go = sxt_go_table_find(&explainer->elf, &explainer->go, &bases, &found, NULL) == SXT_OK && found;
        explainer->go_tried = true;
    }
    bool has = false;
    uint64_t best = 0;
    for (size_t i = 0; explainer->has_go && i < explainer->go.function_count; i++) {
        uint64_t start = sxt_go_table_pc(&explainer->go, i);
        if (start > address || sxt_go_table_pc(&explainer->go, i + 1) <= address || (has && start <= best))
            continue;
        *index = i;
        best = start;
        has = true;
    }
    return has;
}

/* The section that the table is in; NULL when it is in none. */
static const struct sxt_elf_section *section_of(const struct sxt_explainer *explainer)
{
    for (size_t i = 0; i < explainer->elf.section_count; i++) {
        const struct sxt_elf_section *section = &explainer->elf.sections[i];
        if (section->type != 0 && section->type != 8 /* SHT_NOBITS */ && explainer->go.offset >= section->offset &&
            explainer->go.offset - section->offset < section->size)
            return section;
    }
    return NULL;
}

bool sxt_explain_go(struct sxt_explainer *explainer, uint64_t address)
{
    size_t index;
    if (!sxt_explain_go_index(explainer, address, &index))
        return false;
    const struct sxt_elf_section *section = section_of(explainer);
    uint64_t table = explainer->go.offset - (section != NULL ? section->offset : 0);
    struct sxt_explained_frame *frames = sxt_explain_frames(explainer, explainer->count);
    for (size_t i = 0; i < explainer->count && frames != NULL; i++) {
        const sxt_frame *frame = &explainer->frames[i];
        frames[i] = (struct sxt_explained_frame){
            .function = frame->function,
            .record = frame->depth > 0 ? "inlined call" : "function",
            .file = {explainer->path, strlen(explainer->path)},
            .section = section != NULL ? section->name : (sxt_string){"", 0},
            .entry = table + explainer->go.functions + (uint64_t)index * 2 * explainer->go.field_size,
            .index = frame->depth > 0 ? SXT_NO_INDEX : index,
            .start = frame->start,
            .end = frame->start + frame->length,
        };
        if (frame->depth > 0)
            frames[i].name_from = sxt_explain_print(explainer, "the table of inlined calls of function %zu", index);
    }
    struct sxt_go_record record;
    if (explainer->frames[0].line != 0 && sxt_go_table_record(&explainer->go, index, &record)) {
        explainer->out->has_line = true;
        explainer->out->line = (struct sxt_explained_line){
            .file = {explainer->path, strlen(explainer->path)},
            .section = section != NULL ? section->name : (sxt_string){"", 0},
            .table = table + explainer->go.pc_values + record.pc_line,
            .address = SXT_NO_INDEX,
            .source = explainer->frames[0].file,
            .line = explainer->frames[0].line,
        };
    }
    return true;
}
