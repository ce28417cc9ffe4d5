/* ranged.c: archives that are somewhere else and are read by ranges. */
#include <stdlib.h>

#include "archive/private.h"
#include "base/error.h"

int sxt_archive_open_partial(struct sxt_partial *partial, sxt_archive **out, sxt_error *error)
{
    *out = NULL;
    sxt_archive *archive = calloc(1, sizeof *archive);
    if (archive == NULL)
        return sxt_fail_memory(error, sizeof *archive);
    archive->kind = SXT_KIND_LIDIA;
    archive->stored_size = partial->size;
    sxt_file_from_memory(&archive->file, partial->data, (size_t)partial->size);
    int status = sxt_lidia_open_partial(&archive->lidia, partial, error);
    if (status == SXT_OK && sxt_lidia_read_module(&archive->lidia, &archive->stored, NULL) != SXT_OK)
        sxt_module_free(&archive->stored);
    sxt_archive_note_build_id(archive);
    if (status == SXT_OK)
        *out = archive;
    else
        sxt_archive_close(&archive);
    return status;
}

int sxt_archive_load(const sxt_archive *archive, const uint64_t *addresses, size_t count, enum sxt_archive_loaded what,
                     sxt_error *error)
{
    const struct sxt_lidia *lidia = &archive->lidia;
    if (lidia->partial == NULL)
        return SXT_OK;
    /* Most archives have no folded functions, and say so. */
    bool has_folded = lidia->aliases.group_count > 0 && lidia->aliases.ambiguous_groups != 1;
    bool all = what == SXT_LOAD_ALL || (what == SXT_LOAD_FOLDED && has_folded);
    return sxt_lidia_load(lidia, addresses, count, all, error);
}
