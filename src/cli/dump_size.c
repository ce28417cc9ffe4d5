/* dump_size.c: every symbol of a SuperSize file, one a line, behind its header. */
#include "archive/archive.h"
#include "cli/sizes.h"
#include "cli/verbs.h"
#include "explain/explain.h"
#include "measure/measure.h"
#include "profile/profile.h"
#include "trace/trace.h"

/* Names may be long; no file has one of this size. */
#define TEXT_MAX ((size_t)1 << 30)

struct dumping {
    struct sxt_emit *emit;
    struct sxt_buffer text;
    const char *side; /* NULL when there is but one */
};

/* Line ends in JSON are followed by blanks, and both are there for people only. */
static void put_on_one_line(struct sxt_buffer *text)
{
    size_t out = 0;
    for (size_t i = 0; i < text->size; i++) {
        if (text->data[i] != '\n') {
            text->data[out++] = text->data[i];
            continue;
        }
        while (i + 1 < text->size && text->data[i + 1] == ' ')
            i++;
    }
    text->size = out;
}

/* The file's own header, on one line. */
static bool dump_header(struct dumping *dumping, const struct sxt_size_info *size)
{
    struct sxt_emit *emit = dumping->emit;
    sxt_buffer_clear(&dumping->text);
    if (sxt_size_print_header(size, &dumping->text, NULL) != SXT_OK)
        return false;
    put_on_one_line(&dumping->text);
    sxt_string text = {(const char *)dumping->text.data, dumping->text.size};
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_raw(emit, "header", text);
        if (dumping->side != NULL)
            sxt_emit_cstring(emit, "side", dumping->side);
    }
    sxt_emit_text(emit, "# %.*s\n", (int)(text.size < 1 << 20 ? text.size : 1 << 20), text.data);
    sxt_emit_record_end(emit);
    return !emit->failed;
}

static void dump_json(struct sxt_emit *emit, const struct sxt_size_info *size,
                      const struct sxt_size_model_symbol *symbol, const struct sxt_size_names *names)
{
    const struct sxt_size_segment *segment = &size->segments[symbol->segment];
    const struct sxt_size_path *path = &size->paths[symbol->path];
    sxt_emit_string(emit, "container", size->containers[segment->container].name);
    sxt_emit_string(emit, "section", segment->section);
    sxt_emit_address(emit, "address", symbol->address);
    cli_emit_signed(emit, "size", symbol->size);
    cli_emit_signed(emit, "padding", symbol->padding);
    sxt_emit_number(emit, "aliases", sxt_size_alias_count(size, symbol));
    sxt_emit_number(emit, "flags", symbol->flags);
    sxt_emit_string(emit, "full_name", sxt_size_full_name(symbol));
    sxt_emit_string(emit, "template_name", names->template_name);
    sxt_emit_string(emit, "name", names->name);
    sxt_emit_string(emit, "object_path", path->object);
    sxt_emit_string(emit, "source_path", path->source);
    sxt_emit_string(emit, "component",
                    symbol->component < size->component_count ? size->components[symbol->component]
                                                              : (sxt_string){"", 0});
}

static bool dump_symbol(struct dumping *dumping, const struct sxt_size_info *size,
                        const struct sxt_size_model_symbol *symbol)
{
    struct sxt_emit *emit = dumping->emit;
    const struct sxt_size_segment *segment = &size->segments[symbol->segment];
    struct sxt_size_names names;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit)) {
        sxt_size_derive_names(segment, sxt_size_full_name(symbol), &dumping->text, &names);
        dump_json(emit, size, symbol, &names);
        if (dumping->side != NULL)
            sxt_emit_cstring(emit, "side", dumping->side);
    }
    if (dumping->side != NULL)
        sxt_emit_text(emit, "%s ", dumping->side);
    sxt_emit_name(emit, segment->section);
    sxt_emit_text(emit, " 0x%llx %lld ", (unsigned long long)symbol->address, (long long)symbol->size);
    sxt_emit_name(emit, sxt_size_full_name(symbol));
    const struct sxt_size_path *path = &size->paths[symbol->path];
    if (path->source.size > 0 || path->object.size > 0) {
        sxt_emit_text(emit, " in ");
        sxt_emit_name(emit, path->source.size > 0 ? path->source : path->object);
    }
    sxt_emit_text(emit, "\n");
    sxt_emit_record_end(emit);
    return !emit->failed;
}

static bool dump_one(struct dumping *dumping, const struct sxt_size_info *size)
{
    bool more = dump_header(dumping, size);
    for (size_t i = 0; more && i < size->symbol_count; i++)
        more = dump_symbol(dumping, size, &size->symbols[i]);
    return more;
}

bool cli_dump_size(const sxt_archive *archive, struct sxt_emit *emit)
{
    const struct sxt_size_info *size = sxt_archive_size(archive);
    const struct sxt_sizediff *diff = sxt_archive_sizediff(archive);
    struct dumping dumping = {.emit = emit};
    sxt_buffer_init(&dumping.text, TEXT_MAX);
    if (size != NULL)
        dump_one(&dumping, size);
    dumping.side = "before";
    if (diff != NULL && dump_one(&dumping, diff->before)) {
        dumping.side = "after";
        dump_one(&dumping, diff->after);
    }
    sxt_buffer_free(&dumping.text);
    return size != NULL || diff != NULL;
}
