/* dump_size.c: dump of SuperSize's files: the header, and then one line for each symbol. */
#include "cli/numbers.h"
#include "cli/verbs.h"

struct dumping {
    struct sxt_emit *emit;
    sxt_size_names names;
    const char *side;       /* NULL for a .size file */
    sxt_string disassembly; /* of the symbol; absent for none */
};

/* The header of the file itself; the halves of a diff have their own, which are not printed. */
static bool dump_header(struct dumping *dumping, const sxt_archive *archive)
{
    struct sxt_emit *emit = dumping->emit;
    char *header;
    size_t size;
    if (sxt_archive_size_header(archive, &header, &size, NULL) != SXT_OK)
        return false;
    sxt_emit_record(emit);
    if (sxt_emit_is_json(emit))
        sxt_emit_raw(emit, "header", (sxt_string){header, size});
    sxt_emit_text(emit, "# %.*s\n", (int)(size < 1 << 20 ? size : 1 << 20), header);
    sxt_emit_record_end(emit);
    sxt_free(header);
    return !emit->failed;
}

static void dump_json(struct dumping *dumping, const sxt_size_symbol *symbol)
{
    struct sxt_emit *emit = dumping->emit;
    sxt_size_names *names = &dumping->names;
    if (sxt_size_symbol_names(symbol, names, NULL) != SXT_OK)
        names->template_name = names->name = symbol->full_name;
    sxt_emit_string(emit, "container", symbol->container);
    sxt_emit_string(emit, "section", symbol->section);
    sxt_emit_address(emit, "address", symbol->address);
    cli_emit_signed(emit, "size", symbol->size);
    cli_emit_signed(emit, "padding", symbol->padding);
    sxt_emit_number(emit, "aliases", symbol->aliases);
    sxt_emit_number(emit, "flags", symbol->flags);
    sxt_emit_string(emit, "full_name", symbol->full_name);
    sxt_emit_string(emit, "template_name", names->template_name);
    sxt_emit_string(emit, "name", names->name);
    sxt_emit_string(emit, "object_path", symbol->object_path);
    sxt_emit_string(emit, "source_path", symbol->source_path);
    sxt_emit_string(emit, "component", symbol->component);
    if (dumping->disassembly.data != NULL)
        sxt_emit_string(emit, "disassembly", dumping->disassembly);
    if (dumping->side != NULL)
        sxt_emit_cstring(emit, "side", dumping->side);
}

static void dump_text(struct dumping *dumping, const sxt_size_symbol *symbol)
{
    struct sxt_emit *emit = dumping->emit;
    if (dumping->side != NULL)
        sxt_emit_text(emit, "%s ", dumping->side);
    sxt_emit_name(emit, symbol->section);
    sxt_emit_text(emit, " 0x%llx %lld ", (unsigned long long)symbol->address, (long long)symbol->size);
    sxt_emit_name(emit, symbol->full_name);
    sxt_string path = symbol->source_path.size > 0 ? symbol->source_path : symbol->object_path;
    if (path.size > 0) {
        sxt_emit_text(emit, " in ");
        sxt_emit_name(emit, path);
    }
    sxt_emit_text(emit, "\n");
}

static bool dump_one(struct dumping *dumping, const sxt_size_info *info, const char *side)
{
    if (info == NULL)
        return false;
    sxt_size_symbol symbol = SXT_SIZE_SYMBOL_INIT;
    dumping->side = side;
    bool more = true;
    for (size_t i = 0; more && sxt_size_info_symbol(info, i, &symbol) == SXT_OK; i++) {
        sxt_size_info_disassembly(info, i, &dumping->disassembly);
        sxt_emit_record(dumping->emit);
        if (sxt_emit_is_json(dumping->emit))
            dump_json(dumping, &symbol);
        else
            dump_text(dumping, &symbol);
        sxt_emit_record_end(dumping->emit);
        more = !dumping->emit->failed;
    }
    return more;
}

bool cli_dump_size(const sxt_archive *archive, struct sxt_emit *emit)
{
    const sxt_size_info *whole = sxt_archive_size_info(archive, SXT_SIZE_WHOLE);
    const sxt_size_info *before = sxt_archive_size_info(archive, SXT_SIZE_BEFORE);
    struct dumping dumping = {.emit = emit, .names = SXT_SIZE_NAMES_INIT};
    bool more = dump_header(&dumping, archive);
    if (more)
        dump_one(&dumping, whole, NULL);
    if (more && dump_one(&dumping, before, "before"))
        dump_one(&dumping, sxt_archive_size_info(archive, SXT_SIZE_AFTER), "after");
    sxt_size_names_free(&dumping.names);
    return whole != NULL || before != NULL;
}
