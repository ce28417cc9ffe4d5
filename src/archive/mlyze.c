/* mlyze.c: heap traces as archives, for dump, info and verify. */
#include "mlyze/mlyze.h"
#include "archive/private.h"
#include "mlyze/spool.h"
#include "trace/trace.h"

const struct sxt_mlyze *sxt_archive_mlyze(const sxt_archive *archive)
{
    return archive->mlyze;
}

bool sxt_archive_is_cut(const sxt_archive *archive)
{
    return archive->is_cut;
}

int sxt_archive_open_mlyze(sxt_archive *archive, sxt_error *error)
{
    archive->is_cut = sxt_spool_is(archive->file.data, archive->file.size);
    if (archive->is_cut)
        return SXT_OK;
    return sxt_mlyze_open(archive->file.data, archive->file.size, &archive->mlyze, error);
}

/* The file itself stays: it is what questions about its size are about. */
int sxt_archive_complete_mlyze(sxt_archive *archive, const char *path, sxt_error *error)
{
    struct sxt_file *whole = &archive->whole;
    sxt_file_from_memory(whole, archive->file.data, archive->file.size);
    int status = sxt_trace_take_cut(path, whole, &archive->is_cut, error);
    return status == SXT_OK ? sxt_mlyze_open(whole->data, whole->size, &archive->mlyze, error) : status;
}

void sxt_archive_close_mlyze(sxt_archive *archive)
{
    sxt_mlyze_close(&archive->mlyze);
    sxt_file_close(&archive->whole);
}
