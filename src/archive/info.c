/* info.c: facts and figures about an archive. */
#include <stdio.h>
#include <string.h>

#include "archive/private.h"
#include "base/base64.h"
#include "base/file_id.h"
#include "base/hex.h"
#include "base/options.h"
#include "size/size.h"

void sxt_file_id_of(const struct sxt_file *file, char hex[33])
{
    uint8_t id[SXT_FILE_ID_SIZE];
    sxt_file_id_compute(file->data, file->size, id);
    sxt_hex_encode(hex, id, sizeof id);
}

int sxt_file_id(const char *path, char hex[33], char base64url[23], sxt_error *error)
{
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    if (status != SXT_OK)
        return status;
    uint8_t id[SXT_FILE_ID_SIZE];
    sxt_file_id_compute(file.data, file.size, id);
    sxt_hex_encode(hex, id, sizeof id);
    sxt_base64url_encode(base64url, id, sizeof id);
    sxt_file_close(&file);
    return SXT_OK;
}

const struct sxt_symbols *sxt_archive_model(const sxt_archive *archive)
{
    return archive->symbols;
}

sxt_kind sxt_archive_kind(const sxt_archive *archive)
{
    return archive->kind;
}

const char *sxt_archive_format(const sxt_archive *archive)
{
    return archive->kind == SXT_KIND_SYMBFILE && archive->pads > 0 ? "returnpads" : sxt_kind_name(archive->kind);
}

const char *sxt_archive_build_id(const sxt_archive *archive)
{
    return archive->build_id;
}

void sxt_archive_note_build_id(sxt_archive *archive)
{
    const struct sxt_model_module *module = sxt_archive_module(archive);
    sxt_hex_encode(archive->build_id, module->build_id, module->build_id_size);
}

/* The identity of the binary: of the file itself, or as an archive that was made from it says. */
static void describe_module(const sxt_archive *archive, sxt_info *out)
{
    const struct sxt_model_module *module = sxt_archive_module(archive);
    if (archive->kind == SXT_KIND_ELF || archive->kind == SXT_KIND_SIZE || archive->kind == SXT_KIND_SIZEDIFF)
        sxt_file_id_of(&archive->file, out->file_id);
    else if (module->has_file_id)
        sxt_hex_encode(out->file_id, module->file_id, SXT_FILE_ID_SIZE);
    out->arch = module->arch[0] != '\0' ? module->arch : NULL;
    memcpy(out->build_id, archive->build_id, sizeof archive->build_id);
    out->path = module->path;
    out->segment_count = module->segment_count < UINT32_MAX ? (uint32_t)module->segment_count : UINT32_MAX;
    out->has_offsets = sxt_archive_has_offsets(archive);
}

static void fill_info(const sxt_archive *archive, sxt_info *out)
{
    const struct sxt_lidia *lidia = &archive->lidia;
    const struct sxt_symbols *symbols = archive->symbols;
    out->format = sxt_archive_format(archive);
    out->version = symbols != NULL ? 0 : 1;
    out->return_pads = archive->pads;
    bool is_size = archive->kind == SXT_KIND_SIZE || archive->kind == SXT_KIND_SIZEDIFF;
    out->size = is_size ? archive->stored_size : archive->file.size;
    describe_module(archive, out);
    for (uint64_t i = 0; i < lidia->count; i++) {
        struct sxt_lidia_row row;
        sxt_lidia_row(lidia, i, &row);
        if (row.depth == 0)
            out->functions++;
        else
            out->inlines++;
    }
    out->symbols = out->functions;
    out->lines = lidia->line_count;
    out->strings_size = lidia->strings_size;
    if (archive->kind == SXT_KIND_SIZE || archive->kind == SXT_KIND_SIZEDIFF) {
        out->symbols = archive->size != NULL
                           ? archive->size->symbol_count
                           : archive->sizediff->before->symbol_count + archive->sizediff->after->symbol_count;
        return;
    }
    if (archive->kind == SXT_KIND_SYMBFILE || archive->kind == SXT_KIND_TRACE)
        return;
    if (archive->kind == SXT_KIND_KSYM) {
        out->symbols = sxt_ksym_count(&archive->ksym);
        out->strings_size = archive->ksym.names_size + archive->ksym.tokens_size;
        out->tokens = archive->ksym.token_count;
        out->layout = archive->ksym.layout == SXT_KSYM_SEED ? "seed" : "0.6";
        return;
    }
    if (symbols == NULL) {
        out->indexed = lidia->buckets != NULL;
        out->nul_strings = lidia->nul_strings;
        out->address_size = lidia->address_size;
        out->field_size = lidia->field_size;
        out->line_field_size = lidia->line_size;
        return;
    }
    out->symbols = symbols->symbol_count;
    out->sources = symbols->sources;
    out->units = symbols->units;
    out->section_base_count = (uint32_t)symbols->base_count;
}

void sxt_archive_info(const sxt_archive *archive, sxt_info *out)
{
    sxt_info info = {.struct_size = sizeof info};
    fill_info(archive, &info);
    sxt_result_give(out, &info, sizeof info);
}

int sxt_archive_section_base(const sxt_archive *archive, size_t index, sxt_string *name, uint64_t *base)
{
    if (archive->symbols == NULL || index >= archive->symbols->base_count)
        return SXT_ERROR_USAGE;
    *name = sxt_symbols_view(archive->symbols, archive->symbols->bases[index].name);
    *base = archive->symbols->bases[index].base;
    return SXT_OK;
}
