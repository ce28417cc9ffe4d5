/*
 * caches.c: the files beside a trace: FILE.idx, which says where each block begins, and FILE.live, from which the heap
 * at any moment is known without a pass over all events. Both belong to the exact bytes of the trace, and are ignored
 * when they do not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/output.h"
#include "trace/trace.h"

/* "FILE.idx"; to be freed. NULL if memory is short. */
static char *name_beside(const char *path, const char *ending)
{
    char *name = NULL;
    return asprintf(&name, "%s%s", path, ending) < 0 ? NULL : name;
}

/* Opens what is beside a trace. False if it is not there. */
static bool open_beside(const sxt_trace *trace, const char *ending, struct sxt_file *file)
{
    char *name = trace->path != NULL && !trace->no_index ? name_beside(trace->path, ending) : NULL;
    bool is_open = name != NULL && sxt_file_open(file, name, NULL) == SXT_OK;
    free(name);
    return is_open;
}

static int save_beside(const char *path, const char *ending, const struct sxt_buffer *bytes, sxt_error *error)
{
    char *name = name_beside(path, ending);
    if (name == NULL)
        return sxt_fail_memory(error, sizeof *path);
    int status = sxt_output_save(name, bytes->data, bytes->size, error);
    free(name);
    return status;
}

/* Whether the file is what sextant wrote: another one of this name is none of our business. */
static bool begins_with(const char *name, const char *magic)
{
    char found[4] = "";
    FILE *file = fopen(name, "re");
    bool is_same =
        file != NULL && fread(found, 1, sizeof found, file) == sizeof found && memcmp(found, magic, sizeof found) == 0;
    if (file != NULL)
        fclose(file);
    return is_same;
}

void sxt_trace_remove_caches(const char *path)
{
    static const char *const caches[][2] = {{".idx", "MIDX"}, {".live", "MLIV"}};
    for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
        char *name = name_beside(path, caches[i][0]);
        if (name != NULL && begins_with(name, caches[i][1]))
            (void)unlink(name);
        free(name);
    }
}

/* --- FILE.idx --- */

/* The index beside the trace, or a new one, which takes a pass over all events. */
static int get_index(const sxt_trace *trace, struct sxt_mlyze_index *out, sxt_error *error)
{
    struct sxt_file file;
    if (open_beside(trace, ".idx", &file)) {
        int status = sxt_mlyze_index_read(trace->mlyze, file.data, file.size, out, NULL);
        sxt_file_close(&file);
        if (status == SXT_OK)
            return SXT_OK;
    }
    return sxt_mlyze_index_make(trace->mlyze, out, error);
}

static int save_index(const struct sxt_mlyze *mlyze, const struct sxt_mlyze_index *index, const char *path,
                      sxt_error *error)
{
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, SIZE_MAX / 2);
    int status = sxt_mlyze_index_write(mlyze, index, &bytes, error);
    if (status == SXT_OK)
        status = save_beside(path, ".idx", &bytes, error);
    sxt_buffer_free(&bytes);
    return status;
}

void sxt_trace_save_index(const char *path, const struct sxt_mlyze_index *index)
{
    struct sxt_file file;
    struct sxt_mlyze *mlyze;
    if (sxt_file_open(&file, path, NULL) != SXT_OK)
        return;
    if (sxt_mlyze_open_unread(file.data, file.size, &mlyze, NULL) == SXT_OK) {
        (void)save_index(mlyze, index, path, NULL);
        sxt_mlyze_close(&mlyze);
    }
    sxt_file_close(&file);
}

/* --- FILE.live --- */

static int save_live(const sxt_trace *trace, const struct sxt_mlyze_index *index, sxt_error *error)
{
    struct sxt_buffer bytes;
    sxt_buffer_init(&bytes, PTRDIFF_MAX);
    int status = sxt_heap_states_make(trace->mlyze, index, SXT_HEAP_STATE_DISTANCE, &bytes, error);
    if (status == SXT_OK)
        status = save_beside(trace->path, ".live", &bytes, error);
    sxt_buffer_free(&bytes);
    return status;
}

bool sxt_trace_ask_live(const sxt_trace *trace, uint64_t time, sxt_heap_usage *out)
{
    struct sxt_file file;
    if (!open_beside(trace, ".live", &file))
        return false;
    bool is_found = sxt_heap_states_ask(trace->mlyze, file.data, file.size, time, out, NULL) == SXT_OK;
    sxt_file_close(&file);
    return is_found;
}

/* --- both --- */

int sxt_trace_save_caches(const sxt_trace *trace, unsigned caches, sxt_error *error)
{
    struct sxt_mlyze_index index = {0};
    if (trace->is_cut_off)
        return sxt_fail_reason(error, SXT_ERROR_UNSUPPORTED, SXT_REASON_CUT_OFF, SXT_NO_OFFSET,
                               "a recording that was cut off cannot have an index");
    if (trace->path == NULL)
        return sxt_fail_reason(error, SXT_ERROR_USAGE, SXT_REASON_NOT_A_FILE, SXT_NO_OFFSET,
                               "not a file, so an index cannot be written beside it");
    int status = get_index(trace, &index, error);
    if (status == SXT_OK && (caches & SXT_TRACE_IDX) != 0)
        status = save_index(trace->mlyze, &index, trace->path, error);
    if (status == SXT_OK && (caches & SXT_TRACE_LIVE) != 0)
        status = save_live(trace, &index, error);
    sxt_mlyze_index_free(&index);
    return status;
}
