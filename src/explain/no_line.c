/* no_line.c: why an answer has no line. */
#include "explain/private.h"

static void explain_units(struct sxt_explainer *explainer);

void sxt_explain_no_line(struct sxt_explainer *explainer, uint64_t address)
{
    const sxt_explanation *out = &explainer->out;
    if (out->frame_count > 0 && out->frames[0].record == SXT_RECORD_PLT_ENTRY) {
        sxt_explain_because(explainer, SXT_WHY_LINKER_CODE);
        return;
    }
    if (out->has_line) {
        sxt_explain_because(explainer, SXT_WHY_LINE_ZERO);
        return;
    }
    if (sxt_explain_excluded(explainer, address, SXT_SOURCE_DWARF))
        return;
    if (explainer->origins.dwarf != NULL) {
        explain_units(explainer);
        return;
    }
    if (explainer->origins.dwarf_problem.code != SXT_OK)
        sxt_explain_add_reason(
            explainer, (sxt_explained_reason){.reason = SXT_WHY_DWARF_UNREADABLE,
                                              .name = sxt_explain_string(explainer->origins.dwarf_problem.text)});
    else
        sxt_explain_because(explainer, SXT_WHY_NO_DWARF);
    sxt_explain_debug_file(explainer);
}

/* What the DWARF has instead of a line. */
static void explain_units(struct sxt_explainer *explainer)
{
    const struct sxt_dwarf_explanation *dwarf = &explainer->of_dwarf;
    sxt_explain_dwarf_files(explainer);
    if (dwarf->missing_split.data != NULL)
        return;
    if (!dwarf->has_unit) {
        sxt_explain_add_reason(explainer,
                               (sxt_explained_reason){.reason = SXT_WHY_NO_UNIT,
                                                      .path = sxt_explain_string(explainer->origins.dwarf_path)});
        sxt_explain_advise(explainer, SXT_ADVICE_COMPILE_WITH_DEBUG);
    } else if (!dwarf->has_lines) {
        sxt_explain_add_reason(explainer,
                               (sxt_explained_reason){.reason = SXT_WHY_NO_LINE_TABLE, .name = dwarf->unit_name});
    } else {
        sxt_explain_add_reason(explainer,
                               (sxt_explained_reason){.reason = SXT_WHY_NO_LINE_ROW, .address = dwarf->lines});
    }
}
