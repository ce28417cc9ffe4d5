/*
 * return_pads.c: writes a return pad for every call: the address after the call, less one, and the inline chain of the
 * call.
 *
 * The calls of each function are found in its code, and their chains by the lookup that everything else uses.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/symbfile.h>

#include "archive/private.h"
#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/string.h"
#include "code/code.h"
#include "source/elf/elf.h"

#define BATCH  256
#define FRAMES 4096

/* The state of writing the pads of one binary. */
struct pads {
    const sxt_symbols *symbols;
    struct sxt_elf elf;
    struct sxt_lidia lidia; /* the model in a form for lookups */
    uint64_t *calls;        /* ascending */
    uint8_t *lengths;       /* of the instructions */
    size_t count, capacity, length_capacity;
    struct sxt_elf_mapping_symbols marks; /* mark data among the code */
    sxt_frame *frames;                    /* of a batch of calls */
    struct sxt_symbfile_frame *turned;
    struct sxt_path_maps path_maps;
    uint64_t written;
    bool no_memory;
};

static int find_calls(struct pads *pads, sxt_error *error);
static int write_pads(void *context, struct sxt_symbfile_writer *writer, sxt_error *error);

static int make_pads(struct pads *pads, const struct sxt_symbfile_target *target, uint64_t *size, sxt_error *error)
{
    pads->frames = malloc(FRAMES * sizeof *pads->frames);
    pads->turned = malloc(FRAMES * sizeof *pads->turned);
    int status = sxt_elf_read_mapping_symbols(&pads->elf, &pads->marks, error);
    if (status == SXT_OK && (pads->frames == NULL || pads->turned == NULL))
        status = sxt_fail_memory(error, FRAMES * sizeof *pads->frames);
    if (status == SXT_OK)
        status = find_calls(pads, error);
    if (status == SXT_OK)
        status = sxt_symbfile_save(target, write_pads, pads, size, error);
    free(pads->calls);
    free(pads->lengths);
    free(pads->marks.list);
    free(pads->frames);
    free(pads->turned);
    return status;
}

/* Turns the model into a form for lookups, and writes the pads. */
static int save_pads(struct pads *pads, const struct sxt_symbfile_settings *settings,
                     const struct sxt_symbfile_target *target, sxt_written *written, sxt_error *error)
{
    const struct sxt_lidia_settings lidia = {
        .demangle = settings->demangle, .path_maps = settings->path_maps, .threads = settings->threads};
    if (!sxt_code_knows(pads->elf.machine, pads->elf.is_64, pads->elf.big_endian))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "return pads are known for x86-64, i386 and AArch64 only");
    uint8_t *image;
    size_t image_size;
    struct sxt_lidia_counts counts = {0};
    int status = sxt_lidia_encode(pads->symbols, &lidia, &image, &image_size, &counts, error);
    written->functions = counts.functions;
    written->inlines = counts.inlines;
    written->lines = counts.lines;
    if (status == SXT_OK)
        status = sxt_lidia_open(&pads->lidia, image, image_size, false, error);
    if (status == SXT_OK)
        status = make_pads(pads, target, &written->size, error);
    free(image);
    return status;
}

int sxt_symbfile_save_pads(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                           const struct sxt_symbfile_target *target, sxt_written *written, sxt_error *error)
{
    struct sxt_symbfile_settings settings;
    struct pads pads = {.symbols = symbols};
    struct sxt_file file;
    sxt_written result = {.struct_size = 0};
    int status = sxt_symbfile_settings_of(options, &settings, error);
    if (status == SXT_OK)
        status = sxt_archive_open_file(&file, binary, error);
    if (status != SXT_OK)
        return status;
    pads.path_maps = settings.path_maps;
    status = sxt_elf_open(&pads.elf, file.data, file.size, SXT_ARCHIVE_INFLATE_LIMIT, error);
    if (status == SXT_OK) {
        status = save_pads(&pads, &settings, target, &result, error);
        sxt_elf_close(&pads.elf);
    }
    sxt_file_close(&file);
    if (status == SXT_OK && written != NULL) {
        result.return_pads = pads.written;
        sxt_result_give(written, &result, sizeof result);
    }
    return status;
}

int sxt_symbfile_write_pads_path(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                                 const char *path, sxt_written *written, sxt_error *error)
{
    return sxt_symbfile_save_pads(symbols, binary, options, &(struct sxt_symbfile_target){.path = path}, written,
                                  error);
}

int sxt_symbfile_write_pads_fd(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                               int fd, sxt_written *written, sxt_error *error)
{
    return sxt_symbfile_save_pads(symbols, binary, options, &(struct sxt_symbfile_target){.fd = fd}, written, error);
}

int sxt_symbfile_write_pads_memory(const sxt_symbols *symbols, const char *binary, const sxt_symbfile_options *options,
                                   void **data, size_t *size, sxt_written *written, sxt_error *error)
{
    *data = NULL;
    *size = 0;
    return sxt_symbfile_save_pads(symbols, binary, options, &(struct sxt_symbfile_target){.data = data, .size = size},
                                  written, error);
}

static bool add_call(void *context, uint64_t address, unsigned length)
{
    struct pads *pads = context;
    uint64_t *calls = sxt_array_grow(pads->calls, &pads->capacity, pads->count + 1, sizeof *calls);
    if (calls != NULL)
        pads->calls = calls;
    uint8_t *lengths = sxt_array_grow(pads->lengths, &pads->length_capacity, pads->count + 1, sizeof *lengths);
    if (lengths != NULL)
        pads->lengths = lengths;
    if (calls == NULL || lengths == NULL) {
        pads->no_memory = true;
        return false;
    }
    calls[pads->count] = address;
    lengths[pads->count++] = (uint8_t)length;
    return true;
}

/* The calls in [start, end), which has no data in it. */
static int find_in(struct pads *pads, uint64_t start, uint64_t end, sxt_error *error)
{
    const struct sxt_elf *elf = &pads->elf;
    uint64_t available = sxt_elf_available_at(elf, start);
    uint64_t size = end - start < available ? end - start : available;
    const uint8_t *code = size > 0 ? sxt_elf_at_address(elf, start, size) : NULL;
    if (code == NULL)
        return SXT_OK;
    int status =
        sxt_code_find_calls(elf->machine, elf->is_64, elf->big_endian, code, size, start, add_call, pads, error);
    if (status == SXT_OK && pads->no_memory)
        status = sxt_fail_memory(error, pads->count * sizeof *pads->calls);
    return status;
}

static bool is_goexit(const struct pads *pads, const struct sxt_model_range *range)
{
    sxt_string name = sxt_symbols_view(pads->symbols, range->function);
    return sxt_string_is(name, "runtime.goexit") || sxt_string_is(name, "runtime.goexit.abi0");
}

/*
 * Go's stacks end in runtime.goexit, as if its first instruction, a no-op, were a call: the address after that
 * instruction is on every stack. BEFORE is the function before it, or NULL: the padding after the function may be a
 * range of its own, with its name.
 */
static bool add_goexit(struct pads *pads, const struct sxt_model_range *range, const struct sxt_model_range *before)
{
    if (!is_goexit(pads, range))
        return true;
    if (before != NULL && range->address - before->address == before->length && is_goexit(pads, before))
        return true;
    return add_call(pads, range->address, pads->elf.machine == EM_AARCH64 ? 4 : 1);
}

static int find_calls(struct pads *pads, sxt_error *error)
{
    size_t mark = 0;
    bool data = false;
    const struct sxt_model_range *before = NULL;
    for (size_t i = 0; i < pads->symbols->range_count; i++) {
        const struct sxt_model_range *range = &pads->symbols->ranges[i];
        if (range->depth != 0)
            continue;
        if (!add_goexit(pads, range, before))
            return sxt_fail_memory(error, pads->count * sizeof *pads->calls);
        before = range;
        uint64_t at = range->address, end = range->address + range->length;
        for (; mark < pads->marks.count && pads->marks.list[mark].address <= at; mark++)
            data = pads->marks.list[mark].is_data;
        while (at < end) {
            uint64_t until =
                mark < pads->marks.count && pads->marks.list[mark].address < end ? pads->marks.list[mark].address : end;
            int status = data ? SXT_OK : find_in(pads, at, until, error);
            if (status != SXT_OK)
                return status;
            for (; mark < pads->marks.count && pads->marks.list[mark].address <= until; mark++)
                data = pads->marks.list[mark].is_data;
            at = until;
        }
    }
    return SXT_OK;
}

static int write_pad(struct pads *pads, size_t index, const sxt_frame *frames, size_t count,
                     struct sxt_symbfile_writer *writer, sxt_error *error)
{
    for (size_t i = 0; i < count; i++)
        pads->turned[i] = (struct sxt_symbfile_frame){frames[count - 1 - i].function, frames[count - 1 - i].file,
                                                      frames[count - 1 - i].line};
    if (count == 0)
        return SXT_OK;
    pads->written++;
    return sxt_symbfile_add_pad(writer,
                                &(struct sxt_symbfile_pad){.address = pads->calls[index] + pads->lengths[index] - 1,
                                                           .frames = pads->turned,
                                                           .frame_count = count},
                                error);
}

/* Calls are in order of address, and so are pads. */
static int write_pads(void *context, struct sxt_symbfile_writer *writer, sxt_error *error)
{
    struct pads *pads = context;
    sxt_frame *frames = pads->frames;
    size_t first[BATCH + 1];
    int status = SXT_OK;
    if (pads->count > 0)
        status = sxt_symbfile_add_module(writer, &pads->symbols->module, &pads->path_maps, error);
    for (size_t at = 0; at < pads->count && status == SXT_OK;) {
        size_t size = pads->count - at < BATCH ? pads->count - at : BATCH;
        size_t answered = sxt_lidia_lookup_batch(&pads->lidia, pads->calls + at, size, frames, FRAMES, first);
        for (size_t i = 0; i < answered && status == SXT_OK; i++)
            status = write_pad(pads, at + i, frames + first[i], first[i + 1] - first[i], writer, error);
        /* A chain always fits into the room for a batch: ranges nest at most 1000 deep. */
        at += answered > 0 ? answered : 1;
    }
    return status;
}
