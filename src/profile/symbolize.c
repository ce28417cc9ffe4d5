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
#include "base/hex.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "demangle/demangle.h"
#include "profile/fill.h"
#include "profile/folded.h"
#include "symbols/symbols.h"

/* With more addresses than this, nearly all of an ELF file has to be read. */
#define FEW_ADDRESSES   10000
#define FRAMES_AT_FIRST 4096
#define NAME_MAX_SIZE   ((size_t)2 << 20)

struct work {
    struct sxt_pprof *pprof;
    struct sxt_modules *modules;
    const struct sxt_otlp_source *source; /* NULL: files */
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

#define IDS 4

/* What a service may know a file by, best first; an ID may be absent. */
struct identity {
    sxt_string ids[IDS];
    const char *binary; /* its FileID is the third one; NULL: see ids */
    char build_id[SXT_HEX_ROOM(SXT_BUILD_ID_MAX)];
    char file_id[SXT_HEX_ROOM(SXT_FILE_ID_SIZE)];
};

static int prepare(struct work *work);
static int symbolize_groups(struct work *work);
static int report_mappings(struct work *work);
static void release(struct work *work);

int sxt_fill_lines(struct sxt_pprof *pprof, struct sxt_modules *modules, const struct sxt_otlp_source *source,
                   const sxt_profile_options *options, sxt_profile_report *report, sxt_error *error)
{
    struct work work = {.pprof = pprof, .modules = modules, .options = options, .report = report, .error = error};
    work.source = source;
    int status = prepare(&work);
    if (status == SXT_OK)
        status = symbolize_groups(&work);
    if (status == SXT_OK)
        status = report_mappings(&work);
    release(&work);
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
    for (size_t i = 0; i < pprof->location_count; i++) {
        const struct sxt_pprof_location *location = &pprof->locations[i];
        if (location->is_null)
            continue;
        work->report->locations++;
        if (location->has_lines && !work->options->force) {
            work->report->kept++;
        } else if (location->is_other) {
            note_unresolved(work, location, SXT_UNRESOLVED_NOT_NATIVE);
        } else if (location->mapping == SXT_PPROF_NONE) {
            note_unresolved(work, location, SXT_UNRESOLVED_MAPPING);
        } else {
            work->results[location->mapping].locations++;
            work->report->leaf_and_caller += location->is_leaf && location->is_return;
            work->items[count++] = (struct sxt_sort_item){0, (uint32_t)i};
        }
    }
    return count;
}

static sxt_string best_id(const struct sxt_pprof_mapping *mapping)
{
    return mapping->build_id.size > 0 ? mapping->build_id : mapping->file_id;
}

/* The module of a mapping: by its build ID or, if no file has that, by its FileID. NULL when out of memory. */
static struct sxt_module *find_module(struct work *work, const struct sxt_pprof_mapping *mapping)
{
    bool is_new;
    if (work->source != NULL)
        return sxt_modules_add(work->modules, mapping->file_id, mapping->build_id, &is_new);
    struct sxt_module *module = sxt_modules_find(work->modules, mapping->name, best_id(mapping));
    if (module == NULL || mapping->file_id.size == 0 || mapping->build_id.size == 0)
        return module;
    module->file_id = mapping->file_id;
    if (sxt_module_is_found(module))
        return module;
    struct sxt_module *other = sxt_modules_find(work->modules, mapping->name, mapping->file_id);
    if (other != NULL && sxt_module_is_found(other))
        other->file_id = mapping->build_id;
    return other == NULL || sxt_module_is_found(other) ? other : module;
}

/* Searches files only for mappings with locations to symbolize. */
static int find_modules(struct work *work)
{
    for (size_t i = 0; i < work->pprof->mapping_count; i++) {
        const struct sxt_pprof_mapping *mapping = &work->pprof->mappings[i];
        if (work->results[i].locations == 0)
            continue;
        work->module_of[i] = find_module(work, mapping);
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

static int ask_source(struct work *work, struct sxt_sort_item *items, size_t count);

/* An archive is opened first, to know its addresses; an ELF file last, when it is known what to read. */
static int symbolize_group(struct work *work, struct sxt_module *module, struct sxt_sort_item *items, size_t count)
{
    if (work->source != NULL)
        return ask_source(work, items, count);
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
    if (work->pprof->is_otlp || !sxt_archive_is_ambiguous(archive, frame))
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
    identity->ids[3] = module->file_id;
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
    sxt_string ids[IDS] = {identity->ids[0], identity->ids[1], identity->ids[2], identity->ids[3]};
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
        sxt_remote_question question;
        sxt_remote_question_init(&question);
        question.file_id = ids[i];
        question.addresses = work->addresses;
        question.count = count;
        question.are_offsets = are_offsets;
        status = sxt_remote_ask(work->modules->remote, &question, take_answer, &asking, &is_known, work->error);
        if (!is_known)
            asking.left = count;
    }
    note_all_unresolved(work, items, asking.left, reason);
    return status;
}

/* Asks the source for addresses; what it has no frames of stays in ITEMS: *COUNT of them. */
static int look_up_in_source(struct work *work, void *binary, struct sxt_sort_item *items, size_t *count,
                             bool are_offsets)
{
    struct asking asking = {work, items, 0};
    int status = SXT_OK;
    list_addresses(work, items, *count);
    if (*count > 0)
        status = work->source->look_up(work->source->data, binary, work->addresses, *count, are_offsets, take_answer,
                                       &asking, work->error);
    *count = asking.left;
    return status;
}

/* Sets the keys of the COUNT items to offsets in the file. */
static void set_offsets(struct work *work, struct sxt_sort_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sxt_pprof_location *location = &work->pprof->locations[items[i].index];
        const struct sxt_pprof_mapping *mapping = &work->pprof->mappings[location->mapping];
        uint64_t address = location->address - (location->is_return && location->address > mapping->start);
        items[i].key = address - mapping->start + mapping->offset;
    }
    sxt_sort(items, work->scratch, count);
}

/*
 * Of a binary in a source. Its segments place offsets; only if the source places none, and the archive has no
 * segments, the rules for files without them are tried. The kernel and its modules have rules of their own.
 */
static int look_up_binary(struct work *work, void *binary, const struct sxt_layout *layout, struct sxt_sort_item *items,
                          size_t count)
{
    size_t offsets, placed = set_virtual_addresses(work, layout, items, count, &offsets);
    count = placed + offsets;
    bool may_retry = !layout->has_offsets && !layout->is_unknown;
    /* What is virtual for certain: mappings that are all zero, and the kernel. */
    size_t sure = 0;
    for (size_t i = 0; i < placed; i++) {
        const struct sxt_pprof_mapping *mapping =
            &work->pprof->mappings[work->pprof->locations[items[i].index].mapping];
        bool is_zero = mapping->start == 0 && mapping->offset == 0 && mapping->limit == 0;
        struct sxt_sort_item item = items[i];
        if (is_zero || layout->has_offsets || layout->is_relocatable ||
            (!layout->is_unknown && sxt_layout_is_kernel(mapping->name))) {
            items[i] = items[sure];
            items[sure++] = item;
        }
    }
    size_t left = sure, others = count - sure;
    sxt_sort(items, work->scratch, sure);
    int status = look_up_in_source(work, binary, items, &left, false);
    note_all_unresolved(work, items, left, SXT_UNRESOLVED_UNKNOWN);
    if (status == SXT_OK) {
        set_offsets(work, items + sure, others);
        left = others;
        status = look_up_in_source(work, binary, items + sure, &left, true);
    }
    if (status == SXT_OK && may_retry && left == others && left > 0) {
        left = set_virtual_addresses(work, layout, items + sure, left, &offsets);
        note_all_unresolved(work, items + sure + left, offsets, SXT_UNRESOLVED_SEGMENTS);
        status = look_up_in_source(work, binary, items + sure, &left, false);
    }
    note_all_unresolved(work, items + sure, left, SXT_UNRESOLVED_UNKNOWN);
    return status;
}

static int ask_source(struct work *work, struct sxt_sort_item *items, size_t count)
{
    const struct sxt_pprof_mapping *mapping = &work->pprof->mappings[work->pprof->locations[items[0].index].mapping];
    const struct sxt_otlp_ids ids = {mapping->build_id, mapping->file_id};
    const sxt_archive *archive = NULL;
    void *binary = NULL;
    int status = work->source->find(work->source->data, &ids, &binary, &archive, work->error);
    if (status == SXT_OK && binary == NULL)
        note_all_unresolved(work, items, count, SXT_UNRESOLVED_FILE);
    if (status != SXT_OK || binary == NULL)
        return status;
    struct sxt_layout layout = {.is_unknown = true};
    if (archive != NULL && !sxt_layout_of_archive(&layout, archive))
        status = sxt_fail_memory(work->error, sizeof layout);
    if (status == SXT_OK)
        status = look_up_binary(work, binary, &layout, items, count);
    sxt_layout_free(&layout);
    work->source->release(work->source->data, binary);
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
    if (sxt_demangle(name, &work->name) &&
        (!work->pprof->is_otlp || sxt_utf8_valid((char *)work->name.data, work->name.size) == work->name.size))
        number = sxt_pprof_name(work->pprof, (const char *)work->name.data, work->name.size);
    if (number != SXT_STRINGS_FULL)
        work->readable[linked] = number + 1;
    return number;
}

/* The number of a name or path of a frame. Bytes that are not UTF-8 become U+FFFD in OTLP. */
static uint32_t frame_text(struct work *work, sxt_string text)
{
    size_t valid = work->pprof->is_otlp ? sxt_utf8_valid(text.data, text.size) : text.size;
    if (valid == text.size)
        return sxt_pprof_name(work->pprof, text.data, text.size);
    sxt_buffer_clear(&work->name);
    for (;; valid = sxt_utf8_valid(text.data, text.size)) {
        sxt_buffer_append(&work->name, text.data, valid);
        if (valid == text.size)
            break;
        sxt_buffer_append(&work->name, "\xef\xbf\xbd", 3);
        text = (sxt_string){text.data + valid + 1, text.size - valid - 1};
    }
    return sxt_pprof_name(work->pprof, (const char *)work->name.data, work->name.size);
}

static int add_chain(struct work *work, size_t location, const sxt_frame *frames, size_t count)
{
    struct sxt_pprof_location *to = &work->pprof->locations[location];
    for (size_t i = 0; i < count; i++) {
        const sxt_frame *frame = &frames[i];
        struct sxt_pprof_function function;
        function.system_name = frame_text(work, frame->function);
        function.file = frame_text(work, frame->file);
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
        result->build_id = best_id(&work->pprof->mappings[i]);
        result->file = sxt_module_path(module);
        if (result->file == NULL && result->symbolized > 0)
            result->file = work->modules->options.url;
        result->problem = module->problem;
        if (!work->options->mapping(work->options->mapping_data, result))
            return sxt_fail(work->error, SXT_ERROR_IO, SXT_NO_OFFSET, "stopped by the caller");
    }
    return SXT_OK;
}
