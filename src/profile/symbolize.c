/*
 * symbolize.c: fills lines into the locations of a profile, module by module.
 *
 * All locations of a file are looked up together, sorted by address: an archive answers a sorted batch fastest, only
 * the units of an ELF file that the addresses need are read, and one file is open at a time.
 *
 * A return address belongs to the instruction after the call, which may be on another line or, after a call that never
 * returns, in another function. So the address minus one is looked up. A profiler may store one location for an address
 * that is a leaf in one sample and a return address in another; then minus one is at most one instruction off for the
 * leaf. An address that the profiler already moved into the call stays in the call.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/hex.h"
#include "base/inflate.h"
#include "base/options.h"
#include "base/output.h"
#include "base/sort.h"
#include "demangle/demangle.h"
#include "profile/folded.h"
#include "profile/modules.h"
#include "profile/pprof.h"
#include "symbols/symbols.h"

/* With more addresses than this, nearly all of an ELF file has to be read. */
#define FEW_ADDRESSES   10000
#define FRAMES_AT_FIRST 4096
#define NAME_MAX_SIZE   ((size_t)2 << 20)
#define INFLATE_LIMIT   ((uint64_t)512 << 20)
/* Names may make a profile several times as large. */
#define OUTPUT_MAX ((size_t)4 << 30)

struct work {
    struct sxt_pprof *pprof;
    struct sxt_modules *modules;
    const sxt_profile_options *options;
    sxt_profile_report *report;
    struct sxt_module **module_of; /* by mapping */
    sxt_profile_mapping *results;  /* by mapping */
    struct sxt_sort_item *items;   /* locations to symbolize; later those of one file by virtual address */
    struct sxt_sort_item *scratch;
    uint64_t *virtual_of;      /* by location: its virtual address; 0 if it is unknown */
    struct sxt_folded *folded; /* locations of the current file with several functions */
    size_t folded_count, folded_capacity;
    uint64_t *addresses;
    size_t *first;
    sxt_frame *frames;
    size_t frame_capacity;
    uint32_t *readable; /* by number of a mangled name: that of the demangled one + 1; 0 if not known yet */
    size_t readable_count;
    struct sxt_buffer name;
    sxt_error *error;
};

#define IDS 3

/* What a service may know a file by, best first; an ID may be absent. */
struct identity {
    sxt_string ids[IDS];
    const char *binary; /* its FileID is the last one; NULL: see ids */
    char build_id[SXT_HEX_ROOM(SXT_BUILD_ID_MAX)];
    char file_id[SXT_HEX_ROOM(SXT_FILE_ID_SIZE)];
};

static int prepare(struct work *work);
static int symbolize_groups(struct work *work);
static int report_mappings(struct work *work);
static void release(struct work *work);

const char *sxt_unresolved_text(sxt_unresolved reason)
{
    static const char *const texts[SXT_UNRESOLVED_KINDS] = {
        [SXT_UNRESOLVED_MAPPING] = "without a mapping",
        [SXT_UNRESOLVED_FILE] = "no file found",
        [SXT_UNRESOLVED_BUILD_ID] = "only a file with another build ID found",
        [SXT_UNRESOLVED_DAMAGED] = "file cannot be read",
        [SXT_UNRESOLVED_OUTSIDE] = "not loaded from the file",
        [SXT_UNRESOLVED_UNKNOWN] = "no symbol there",
        [SXT_UNRESOLVED_SEGMENTS] = "segments of the file unknown",
    };
    return (size_t)reason < SXT_UNRESOLVED_KINDS ? texts[reason] : "unknown reason";
}

void sxt_profile_options_init(sxt_profile_options *options)
{
    *options = (sxt_profile_options){.struct_size = sizeof *options, .inflate_limit = INFLATE_LIMIT};
}

/* Appends the plain profile in DATA to OUT, with lines in its locations. */
static int symbolize(sxt_modules *modules, const struct sxt_file *file, const sxt_profile_options *options,
                     struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_pprof pprof;
    int status = sxt_pprof_read(&pprof, file->data, file->size, error);
    if (status != SXT_OK)
        return status;
    struct work work = {.pprof = &pprof, .modules = modules, .options = options, .report = report, .error = error};
    status = prepare(&work);
    if (status == SXT_OK)
        status = symbolize_groups(&work);
    if (status == SXT_OK)
        status = report_mappings(&work);
    if (status == SXT_OK) {
        report->functions = pprof.function_count;
        sxt_pprof_order_choices(&pprof);
        status = sxt_pprof_write(&pprof, out, error);
    }
    release(&work);
    sxt_pprof_free(&pprof);
    return status;
}

static int compress(struct sxt_buffer *plain, sxt_error *error)
{
    struct sxt_buffer packed;
    sxt_buffer_init(&packed, OUTPUT_MAX);
    int status = sxt_gzip_fast(plain->data, plain->size, &packed, error);
    sxt_buffer_free(plain);
    *plain = packed;
    return status;
}

/* Inflates, symbolizes and compresses DATA into OUT. */
static int symbolize_memory(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *given,
                            struct sxt_buffer *out, sxt_profile_report *report, sxt_error *error)
{
    sxt_profile_options options;
    sxt_profile_report found = {.struct_size = sizeof found};
    struct sxt_file file;
    sxt_profile_options_init(&options);
    int status = sxt_options_take(&options, sizeof options, given, "sxt_profile_options_init", error);
    if (status != SXT_OK)
        return status;
    bool is_gzip = sxt_compression_of(data, size) == SXT_COMPRESSION_GZIP;
    sxt_file_from_memory(&file, data, size);
    sxt_error problem;
    status = sxt_file_inflate(&file, options.inflate_limit, &problem);
    if (status == SXT_ERROR_LIMIT)
        status = sxt_fail_reason(error, SXT_ERROR_LIMIT, SXT_REASON_INFLATE_LIMIT, SXT_NO_OFFSET,
                                 "expands to more than %llu MiB", (unsigned long long)(options.inflate_limit >> 20));
    else if (status != SXT_OK && error != NULL)
        *error = problem;
    if (status == SXT_OK)
        status = symbolize(modules, &file, &options, out, &found, error);
    if (status == SXT_OK && (options.form == SXT_PROFILE_GZIP || (options.form == SXT_PROFILE_AS_INPUT && is_gzip)))
        status = compress(out, error);
    sxt_file_close(&file);
    if (report != NULL)
        sxt_result_give(report, &found, sizeof found);
    return status;
}

int sxt_profile_symbolize(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *options,
                          void **out, size_t *out_size, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_buffer profile;
    sxt_buffer_init(&profile, OUTPUT_MAX);
    int status = symbolize_memory(modules, data, size, options, &profile, report, error);
    if (status != SXT_OK)
        sxt_buffer_free(&profile);
    *out = sxt_buffer_take(&profile, out_size);
    return status;
}

int sxt_profile_symbolize_fd(sxt_modules *modules, const void *data, size_t size, const sxt_profile_options *options,
                             int fd, sxt_profile_report *report, sxt_error *error)
{
    struct sxt_buffer profile;
    sxt_buffer_init(&profile, OUTPUT_MAX);
    int status = symbolize_memory(modules, data, size, options, &profile, report, error);
    if (status == SXT_OK)
        status = sxt_write_all(fd, profile.data, profile.size, error);
    sxt_buffer_free(&profile);
    return status;
}

static int prepare(struct work *work)
{
    const struct sxt_pprof *pprof = work->pprof;
    size_t locations = pprof->location_count + 1, mappings = pprof->mapping_count + 1;
    sxt_buffer_init(&work->name, NAME_MAX_SIZE);
    work->frame_capacity = FRAMES_AT_FIRST;
    work->module_of = calloc(mappings, sizeof(struct sxt_module *));
    work->results = calloc(mappings, sizeof *work->results);
    work->items = malloc(locations * sizeof *work->items);
    work->scratch = malloc(locations * sizeof *work->scratch);
    work->addresses = malloc(locations * sizeof *work->addresses);
    work->virtual_of = calloc(locations, sizeof *work->virtual_of);
    work->first = malloc((locations + 1) * sizeof *work->first);
    work->frames = malloc(work->frame_capacity * sizeof *work->frames);
    if (work->module_of == NULL || work->results == NULL || work->items == NULL || work->scratch == NULL ||
        work->addresses == NULL || work->virtual_of == NULL || work->first == NULL || work->frames == NULL)
        return sxt_fail_memory(work->error, locations * sizeof *work->items);
    return SXT_OK;
}

static void release(struct work *work)
{
    sxt_buffer_free(&work->name);
    free(work->module_of);
    free(work->results);
    free(work->items);
    free(work->scratch);
    free(work->addresses);
    free(work->first);
    free(work->virtual_of);
    free(work->folded);
    free(work->frames);
    free(work->readable);
}

static void note_unresolved(struct work *work, const struct sxt_pprof_location *location, sxt_unresolved reason)
{
    work->report->unresolved[reason]++;
    if (location->mapping != SXT_PPROF_NONE)
        work->results[location->mapping].unresolved[reason]++;
}

/* Collects the locations to symbolize that have a mapping. Returns how many. */
static size_t collect(struct work *work)
{
    const struct sxt_pprof *pprof = work->pprof;
    size_t count = 0;
    work->report->locations = pprof->location_count;
    for (size_t i = 0; i < pprof->location_count; i++) {
        const struct sxt_pprof_location *location = &pprof->locations[i];
        if (location->has_lines && !work->options->force) {
            work->report->kept++;
        } else if (location->mapping == SXT_PPROF_NONE) {
            note_unresolved(work, location, SXT_UNRESOLVED_MAPPING);
        } else {
            work->results[location->mapping].locations++;
            work->items[count++] = (struct sxt_sort_item){0, (uint32_t)i};
        }
    }
    return count;
}

/* Searches files only for mappings with locations to symbolize. */
static int find_modules(struct work *work)
{
    for (size_t i = 0; i < work->pprof->mapping_count; i++) {
        const struct sxt_pprof_mapping *mapping = &work->pprof->mappings[i];
        if (work->results[i].locations == 0)
            continue;
        work->module_of[i] = sxt_modules_find(work->modules, mapping->name, mapping->build_id);
        if (work->module_of[i] == NULL)
            return sxt_fail_memory(work->error, sizeof(struct sxt_module));
    }
    return SXT_OK;
}

static int symbolize_group(struct work *work, struct sxt_module *module, struct sxt_sort_item *items, size_t count);

static int symbolize_groups(struct work *work)
{
    size_t count = collect(work);
    int status = find_modules(work);
    if (status != SXT_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        work->items[i].key = work->module_of[work->pprof->locations[work->items[i].index].mapping]->number;
    sxt_sort(work->items, work->scratch, count);
    for (size_t begin = 0, end; begin < count && status == SXT_OK; begin = end) {
        for (end = begin + 1; end < count && work->items[end].key == work->items[begin].key;)
            end++;
        uint32_t mapping = work->pprof->locations[work->items[begin].index].mapping;
        status = symbolize_group(work, work->module_of[mapping], work->items + begin, end - begin);
    }
    return status;
}

static void note_all_unresolved(struct work *work, const struct sxt_sort_item *items, size_t count,
                                sxt_unresolved reason)
{
    for (size_t i = 0; i < count; i++)
        note_unresolved(work, &work->pprof->locations[items[i].index], reason);
}

/*
 * Sets the keys of ITEMS to virtual addresses, and sorts. Returns how many have one. After them come *OFFSETS items of
 * which only the offset in the file is known; the others are removed.
 */
static size_t set_virtual_addresses(struct work *work, const struct sxt_layout *layout, struct sxt_sort_item *items,
                                    size_t count, size_t *offsets)
{
    size_t placed = 0, unplaced = 0;
    for (size_t i = 0; i < count; i++) {
        const struct sxt_pprof_location *location = &work->pprof->locations[items[i].index];
        const struct sxt_pprof_mapping *mapping = &work->pprof->mappings[location->mapping];
        struct sxt_layout_mapping from = {mapping->start, mapping->limit, mapping->offset, mapping->name};
        uint64_t address = location->address, limit = mapping->limit != 0 ? mapping->limit : UINT64_MAX;
        bool is_inside = address >= mapping->start && address <= limit;
        if (location->is_return && address > mapping->start)
            address--;
        struct sxt_sort_item item = {0, items[i].index};
        enum sxt_layout_answer answer = SXT_LAYOUT_NOT_LOADED;
        if (is_inside && address < limit)
            answer = sxt_layout_place(layout, &from, address, &item.key);
        if (answer == SXT_LAYOUT_PLACED) {
            work->virtual_of[item.index] = item.key;
            items[placed++] = item;
        } else if (answer == SXT_LAYOUT_NO_SEGMENTS)
            work->scratch[unplaced++] = item;
        else
            note_unresolved(work, location, SXT_UNRESOLVED_OUTSIDE);
    }
    if (unplaced > 0)
        memcpy(items + placed, work->scratch, unplaced * sizeof *items);
    sxt_sort(items, work->scratch, placed);
    sxt_sort(items + placed, work->scratch, unplaced);
    *offsets = unplaced;
    return placed;
}

static void list_addresses(struct work *work, const struct sxt_sort_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        work->addresses[i] = items[i].key;
}

static int look_up(struct work *work, const sxt_archive *archive, struct sxt_sort_item *items, size_t count,
                   size_t *left);
static void identify(struct identity *identity, const struct sxt_module *module, const sxt_archive *archive);
static int ask_service(struct work *work, const struct identity *identity, struct sxt_sort_item *items, size_t count,
                       bool are_offsets, sxt_unresolved reason);

/* Asks the service for locations of which only the offset in the file is known, and warns of what stays unknown. */
static int ask_for_offsets(struct work *work, struct sxt_module *module, const struct identity *identity,
                           struct sxt_sort_item *items, size_t count)
{
    uint64_t before = work->report->unresolved[SXT_UNRESOLVED_SEGMENTS];
    int status = ask_service(work, identity, items, count, true, SXT_UNRESOLVED_SEGMENTS);
    if (work->report->unresolved[SXT_UNRESOLVED_SEGMENTS] > before)
        sxt_module_warn_of_segments(work->modules, module);
    return status;
}

static int symbolize_unknown(struct work *work, const struct sxt_module *module, struct sxt_sort_item *items,
                             size_t count)
{
    const struct sxt_layout unknown = {.is_unknown = true, .assume_linear = work->modules->options.assume_linear};
    sxt_unresolved reason = module->is_other_build ? SXT_UNRESOLVED_BUILD_ID : SXT_UNRESOLVED_FILE;
    struct identity identity;
    size_t offsets = 0;
    identify(&identity, module, NULL);
    if (work->modules->remote != NULL)
        count = set_virtual_addresses(work, &unknown, items, count, &offsets);
    int status = ask_service(work, &identity, items, count, false, reason);
    return status == SXT_OK ? ask_service(work, &identity, items + count, offsets, true, reason) : status;
}

/* An archive is opened first, to know its addresses; an ELF file last, when it is known what to read. */
static int symbolize_group(struct work *work, struct sxt_module *module, struct sxt_sort_item *items, size_t count)
{
    if (!sxt_module_is_found(module))
        return symbolize_unknown(work, module, items, count);
    sxt_archive *archive = NULL;
    bool fine = module->archive == NULL || sxt_module_open(work->modules, module, NULL, 0, true, &archive) == SXT_OK;
    if (!fine || !sxt_module_lay_out(work->modules, module, archive)) {
        sxt_archive_close(&archive);
        note_all_unresolved(work, items, count, SXT_UNRESOLVED_DAMAGED);
        return SXT_OK;
    }
    size_t left = 0, offsets;
    count = set_virtual_addresses(work, &module->layout, items, count, &offsets);
    list_addresses(work, items, count);
    if (archive == NULL && count > 0)
        fine = sxt_module_open(work->modules, module, work->addresses, count <= FEW_ADDRESSES ? count : 0, true,
                               &archive) == SXT_OK;
    int status = SXT_OK;
    if (!fine)
        note_all_unresolved(work, items, count, SXT_UNRESOLVED_DAMAGED);
    else if (count > 0)
        status = look_up(work, archive, items, count, &left);
    struct identity identity;
    identify(&identity, module, archive);
    if (status == SXT_OK && work->folded_count > 0)
        status = sxt_choose_folded(work->pprof, archive, work->virtual_of, work->folded, work->folded_count,
                                   work->options->mangled, work->error);
    work->folded_count = 0;
    sxt_archive_close(&archive);
    if (status == SXT_OK)
        status = ask_service(work, &identity, items, left, false, SXT_UNRESOLVED_UNKNOWN);
    return status == SXT_OK ? ask_for_offsets(work, module, &identity, items + count, offsets) : status;
}

static int add_chain(struct work *work, size_t location, const sxt_frame *frames, size_t count);

static bool make_room(struct work *work, size_t wanted)
{
    sxt_frame *moved = realloc(work->frames, wanted * sizeof *moved);
    if (moved == NULL)
        return false;
    work->frames = moved;
    work->frame_capacity = wanted;
    return true;
}

/* Notes that the function of a location, in the outermost FRAME, may be another one. */
static int note_folded(struct work *work, const sxt_archive *archive, uint32_t location, const sxt_frame *frame)
{
    if (!sxt_archive_is_ambiguous(archive, frame))
        return SXT_OK;
    struct sxt_folded *folded =
        sxt_array_grow(work->folded, &work->folded_capacity, work->folded_count + 1, sizeof *folded);
    if (folded == NULL)
        return sxt_fail_memory(work->error, work->folded_count * sizeof *folded);
    work->folded = folded;
    work->folded[work->folded_count++] = (struct sxt_folded){location, *frame};
    work->pprof->locations[location].is_folded = true;
    return SXT_OK;
}

/* Unknown addresses stay in ITEMS: the first *LEFT. */
static int look_up(struct work *work, const sxt_archive *archive, struct sxt_sort_item *items, size_t count,
                   size_t *left)
{
    int status = SXT_OK;
    *left = 0;
    for (size_t done = 0; done < count && status == SXT_OK;) {
        size_t answered = sxt_archive_lookup_batch(archive, work->addresses + done, count - done, work->frames,
                                                   work->frame_capacity, work->first);
        for (size_t i = 0; i < answered && status == SXT_OK; i++) {
            size_t frames = work->first[i + 1] - work->first[i];
            if (frames == 0)
                items[(*left)++] = items[done + i];
            else
                status = add_chain(work, items[done + i].index, work->frames + work->first[i], frames);
            if (frames > 0 && status == SXT_OK)
                status = note_folded(work, archive, items[done + i].index, &work->frames[work->first[i + 1] - 1]);
        }
        done += answered;
        if (answered > 0)
            continue;
        size_t wanted = sxt_archive_lookup(archive, work->addresses[done], NULL, 0);
        if (wanted <= work->frame_capacity || !make_room(work, wanted))
            status = sxt_fail_memory(work->error, wanted * sizeof *work->frames);
    }
    return status;
}

/* A request to a service. */
struct asking {
    struct work *work;
    struct sxt_sort_item *items;
    size_t left; /* the first ones of ITEMS are unknown */
};

static int take_answer(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct asking *asking = data;
    if (count > 0)
        return add_chain(asking->work, asking->items[index].index, frames, count);
    asking->items[asking->left++] = asking->items[index];
    return SXT_OK;
}

/*
 * The service knows the file by its build ID in the profile (which may be a FileID), by that in the archive, or by its
 * FileID, if the file or an archive of it is here.
 */
static void identify(struct identity *identity, const struct sxt_module *module, const sxt_archive *archive)
{
    const struct sxt_model_module *facts = archive != NULL ? sxt_archive_module(archive) : NULL;
    *identity = (struct identity){.ids = {module->build_id}, .binary = module->binary};
    if (facts != NULL && facts->build_id_size > 0) {
        sxt_hex_encode(identity->build_id, facts->build_id, facts->build_id_size);
        if (!sxt_hex_equals(module->build_id, facts->build_id, facts->build_id_size))
            identity->ids[1] = (sxt_string){identity->build_id, 2 * facts->build_id_size};
    }
    if (facts != NULL && facts->has_file_id && module->binary == NULL)
        identity->ids[2] =
            (sxt_string){identity->file_id, sxt_hex_encode(identity->file_id, facts->file_id, SXT_FILE_ID_SIZE)};
}

/* Asks the service for what no file has. REASON is for what stays unknown. */
static int ask_service(struct work *work, const struct identity *identity, struct sxt_sort_item *items, size_t count,
                       bool are_offsets, sxt_unresolved reason)
{
    char hex[33], base64url[23];
    sxt_string ids[IDS] = {identity->ids[0], identity->ids[1], identity->ids[2]};
    if (count > 0 && work->modules->remote != NULL && identity->binary != NULL &&
        sxt_file_id(identity->binary, hex, base64url, NULL) == SXT_OK)
        ids[2] = (sxt_string){hex, sizeof hex - 1};
    struct asking asking = {work, items, count};
    int status = SXT_OK;
    list_addresses(work, items, count);
    for (size_t i = 0; i < IDS && asking.left == count && count > 0 && status == SXT_OK; i++) {
        bool is_known = false;
        if (work->modules->remote == NULL || ids[i].size == 0)
            continue;
        asking.left = 0;
        const struct sxt_remote_question question = {ids[i], work->addresses, count, are_offsets};
        status = sxt_remote_ask(work->modules->remote, &question, take_answer, &asking, &is_known, work->error);
        if (!is_known)
            asking.left = count;
    }
    note_all_unresolved(work, items, asking.left, reason);
    return status;
}

/* The number of the demangled form of a name; SXT_STRINGS_FULL when out of memory. Each name is demangled once. */
static uint32_t readable_name(struct work *work, uint32_t linked, sxt_string name)
{
    if (work->options->mangled)
        return linked;
    if (linked >= work->readable_count) {
        size_t wanted = 2 * (size_t)linked + 1024;
        uint32_t *moved = realloc(work->readable, wanted * sizeof *moved);
        if (moved == NULL)
            return SXT_STRINGS_FULL;
        memset(moved + work->readable_count, 0, (wanted - work->readable_count) * sizeof *moved);
        work->readable = moved;
        work->readable_count = wanted;
    }
    if (work->readable[linked] != 0)
        return work->readable[linked] - 1;
    sxt_buffer_clear(&work->name);
    uint32_t number = linked;
    if (sxt_demangle(name, &work->name))
        number = sxt_pprof_name(work->pprof, (const char *)work->name.data, work->name.size);
    if (number != SXT_STRINGS_FULL)
        work->readable[linked] = number + 1;
    return number;
}

static int add_chain(struct work *work, size_t location, const sxt_frame *frames, size_t count)
{
    struct sxt_pprof_location *to = &work->pprof->locations[location];
    for (size_t i = 0; i < count; i++) {
        const sxt_frame *frame = &frames[i];
        struct sxt_pprof_function function;
        function.system_name = sxt_pprof_name(work->pprof, frame->function.data, frame->function.size);
        function.file = sxt_pprof_name(work->pprof, frame->file.data, frame->file.size);
        if (function.system_name == SXT_STRINGS_FULL || function.file == SXT_STRINGS_FULL)
            return sxt_fail_memory(work->error, frame->function.size);
        function.name = readable_name(work, function.system_name, frame->function);
        if (function.name == SXT_STRINGS_FULL || !sxt_pprof_add_line(work->pprof, location, &function, frame->line))
            return sxt_fail_memory(work->error, sizeof function);
    }
    work->report->symbolized++;
    work->results[to->mapping].symbolized++;
    work->pprof->mappings[to->mapping].resolved = true;
    return SXT_OK;
}

static int report_mappings(struct work *work)
{
    for (size_t i = 0; i < work->pprof->mapping_count && work->options->mapping != NULL; i++) {
        sxt_profile_mapping *result = &work->results[i];
        const struct sxt_module *module = work->module_of[i];
        if (result->locations == 0)
            continue;
        result->name = work->pprof->mappings[i].name;
        result->build_id = work->pprof->mappings[i].build_id;
        result->file = sxt_module_path(module);
        if (result->file == NULL && result->symbolized > 0)
            result->file = work->modules->options.url;
        result->problem = module->problem;
        if (!work->options->mapping(work->options->mapping_data, result))
            return sxt_fail(work->error, SXT_ERROR_IO, SXT_NO_OFFSET, "stopped by the caller");
    }
    return SXT_OK;
}
