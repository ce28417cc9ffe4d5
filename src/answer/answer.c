/* answer.c: an address and its frames, as text or JSON. */
#include "answer/answer.h"

#include <string.h>

/* What only a ksym blob has. */
static void print_symbol(struct sxt_emit *emit, const sxt_archive *blob, uint64_t address)
{
    sxt_named symbol;
    if (blob == NULL || !sxt_archive_symbol_at(blob, address, &symbol))
        return;
    sxt_emit_number(emit, "size", symbol.size);
    sxt_emit_number(emit, "offset", address - symbol.address);
    sxt_emit_string(emit, "type", (sxt_string){&symbol.letter, 1});
    sxt_emit_string(emit, "module", symbol.module);
}

/* The most other names of a function that are printed. */
#define ALIASES_MAX 256

static void print_aliases(struct sxt_emit *emit, const sxt_archive *archive, const sxt_frame *frame)
{
    sxt_string names[ALIASES_MAX];
    bool ambiguous = false;
    size_t count = archive != NULL ? sxt_archive_aliases(archive, frame, names, ALIASES_MAX, &ambiguous) : 0;
    sxt_emit_array(emit, "aliases");
    for (size_t i = 0; i < count && i < ALIASES_MAX; i++)
        sxt_emit_string(emit, NULL, names[i]);
    sxt_emit_array_end(emit);
    sxt_emit_bool(emit, "ambiguous", ambiguous);
}

static void print_json(struct sxt_emit *emit, const struct sxt_answer *answer)
{
    if (answer->is_address)
        sxt_emit_address(emit, "address", answer->asked);
    else
        sxt_emit_string(emit, "address", answer->text);
    sxt_emit_array(emit, "frames");
    for (size_t i = 0; i < answer->count; i++) {
        const sxt_frame *frame = &answer->frames[i];
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "function", frame->function);
        sxt_emit_string(emit, "file", frame->file);
        sxt_emit_known(emit, "line", frame->line);
        if (answer->has_no_starts)
            sxt_emit_null(emit, "start");
        else
            sxt_emit_address(emit, "start", frame->start);
        sxt_emit_bool(emit, "inlined", frame->depth > 0);
        print_symbol(emit, answer->blob, answer->address);
        print_aliases(emit, answer->archive, frame);
        sxt_emit_object_end(emit);
    }
    sxt_emit_array_end(emit);
    if (answer->module != NULL) {
        sxt_emit_cstring(emit, "module", answer->module);
        sxt_emit_address(emit, "module_address", answer->module_address);
    }
}

static void print_text(struct sxt_emit *emit, const struct sxt_answer *answer)
{
    sxt_emit_name(emit, answer->text);
    if (answer->count == 0)
        sxt_emit_text(emit, "  ??");
    for (size_t i = 0; i < answer->count; i++) {
        const sxt_frame *frame = &answer->frames[i];
        if (i > 0)
            sxt_emit_text(emit, "\n%*s", (int)answer->text.size, "");
        sxt_emit_text(emit, "  ");
        sxt_emit_name(emit, frame->function.size > 0 ? frame->function : (sxt_string){"??", 2});
        if (frame->file.data != NULL) {
            sxt_emit_text(emit, "  ");
            sxt_emit_name(emit, frame->file);
            if (frame->line != 0) {
                sxt_emit_text(emit, ":");
                sxt_emit_digits(emit, frame->line);
            }
        }
        if (frame->depth > 0)
            sxt_emit_text(emit, "  [inlined]");
        if (answer->archive != NULL && sxt_archive_is_ambiguous(answer->archive, frame))
            sxt_emit_text(emit, "  [folded]");
    }
    if (answer->module != NULL) {
        sxt_emit_text(emit, "  in ");
        sxt_emit_name(emit, (sxt_string){answer->module, strlen(answer->module)});
    }
    sxt_emit_text(emit, "\n");
}

void sxt_answer_print(struct sxt_emit *emit, const struct sxt_answer *answer)
{
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit))
        print_json(emit, answer);
    else
        print_text(emit, answer);
    if (answer->explanation != NULL)
        sxt_answer_print_explanation(emit, answer->explanation);
    sxt_emit_record_end(emit);
}
