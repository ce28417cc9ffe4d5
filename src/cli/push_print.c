/* push_print.c: what push did with a file, as a line of text or of JSON. */
#include "base/string.h"
#include "cli/numbers.h"
#include "cli/push.h"

static uint64_t sent_bytes(const struct sxt_push_binary *binary)
{
    return binary->sets[0].sent_bytes + binary->sets[1].sent_bytes;
}

/* {"parts":3,"sent":2,"there":1,"bytes":123456,"sent_bytes":12345,"generation":"…"} */
static void emit_set(struct sxt_emit *emit, const char *key, const struct sxt_push_set *set)
{
    if (set->count == 0) {
        sxt_emit_null(emit, key);
        return;
    }
    sxt_emit_object(emit, key);
    sxt_emit_number(emit, "parts", set->count);
    sxt_emit_number(emit, "sent", set->sent);
    sxt_emit_number(emit, "there", set->there);
    sxt_emit_number(emit, "bytes", set->size);
    sxt_emit_number(emit, "sent_bytes", set->sent_bytes);
    sxt_emit_cstring(emit, "generation", set->generation);
    sxt_emit_object_end(emit);
}

static const char *or_null(const char *text)
{
    return text != NULL && *text != 0 ? text : NULL;
}

static void print_json(struct sxt_emit *emit, const struct cli_push_result *result)
{
    const struct sxt_push_binary *binary = result->binary;
    const struct sxt_push_outcome *outcome = result->outcome;
    sxt_emit_record(emit);
    sxt_emit_cstring(emit, "file", result->input->path);
    sxt_emit_cstring(emit, "file_id", or_null(result->input->file_id));
    sxt_emit_cstring(emit, "build_id", or_null(result->input->build_id));
    sxt_emit_cstring(emit, "state", result->state);
    sxt_emit_cstring(emit, "reason", or_null(result->reason));
    if (binary != NULL) {
        sxt_emit_number(emit, "functions", binary->functions);
        sxt_emit_number(emit, "inlines", binary->inlines);
        sxt_emit_number(emit, "lines", binary->lines);
        sxt_emit_number(emit, "return_pads", binary->pads);
        emit_set(emit, "ranges", &binary->sets[SXT_PUSH_RANGES]);
        emit_set(emit, "returnpads", &binary->sets[SXT_PUSH_PADS]);
    }
    if (result->error != NULL) {
        sxt_emit_cstring(emit, "error", result->error->text);
        if (outcome != NULL && outcome->refusal.status != 0)
            sxt_emit_number(emit, "status", (uint64_t)outcome->refusal.status);
        sxt_emit_cstring(emit, "code", outcome != NULL ? or_null(outcome->refusal.code) : NULL);
        sxt_emit_cstring(emit, "uuid", outcome != NULL ? or_null(outcome->refusal.uuid) : NULL);
    }
    sxt_emit_record_end(emit);
}

/* "5 parts (3 were there), 12,345 functions, 6,789 return pads, 1.2 MB" */
static void print_counts(struct sxt_emit *emit, const struct sxt_push_binary *binary, bool is_dry)
{
    size_t parts = binary->sets[0].count + binary->sets[1].count;
    size_t there = binary->sets[0].there + binary->sets[1].there;
    sxt_emit_text(emit, "%zu part%s", parts, parts == 1 ? "" : "s");
    if (there > 0)
        sxt_emit_text(emit, " (%zu of them %s there)", there, there == 1 ? "was" : "were");
    if (binary->functions > 0)
        sxt_emit_text(emit, ", %s functions", cli_thousands((double)binary->functions).text);
    if (binary->pads > 0)
        sxt_emit_text(emit, ", %s return pads", cli_thousands((double)binary->pads).text);
    uint64_t bytes = is_dry ? binary->sets[0].size + binary->sets[1].size : sent_bytes(binary);
    sxt_emit_text(emit, ", %s%s\n", cli_bytes((double)bytes).text, is_dry ? " before compression" : " sent");
}

void cli_push_print(struct sxt_emit *emit, const struct cli_push_result *result)
{
    if (sxt_emit_is_json(emit)) {
        print_json(emit, result);
    } else if (result->error == NULL) {
        sxt_emit_record(emit);
        sxt_emit_name(emit, sxt_string_of(result->input->path));
        sxt_emit_text(emit, ": %s: ", result->state);
        if (result->binary != NULL && or_null(result->reason) == NULL)
            print_counts(emit, result->binary, result->outcome == NULL);
        else {
            sxt_emit_name(emit, sxt_string_of(or_null(result->reason) != NULL ? result->reason : "it is there"));
            sxt_emit_text(emit, "\n");
        }
        sxt_emit_record_end(emit);
    }
    /* Whoever watches sees it at once; a failure to write is reported at the end. */
    sxt_emit_finish(emit, NULL);
}
