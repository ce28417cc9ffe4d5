/*
 * finish_names.c: names for the addresses of a recording, and the metadata that they make.
 *
 * A return address belongs to the call before it. If nothing is known, the function is named "libx.so+0x1234", its file
 * is the loaded file, and the key "unresolved" keeps the address, so that names.c can find the name later on a machine
 * that has the symbols.
 *
 *     {"stack_traces": {"0": [{"file_id": 0, "line": 42, "func_id": 0}, ...]}, "files": {...}, "functions": {...},
 *      "stack_order": "leaf_first", "threads": {"0": "main"}, "pid": 123,
 *      "modules": [{"path": "/bin/x", "build_id": "ab12...", "base": "0x55..."}],
 *      "unresolved": {"FUNCTION": {"module": 0, "address": "0x1234"}}, "function_modules": "0*12 1*3"}
 */
#include "trace/finish_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hex.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "trace/places.h"

struct unresolved {
    uint32_t function; /* number of its name */
    uint32_t module;
    uint64_t address;
};

/* Frames that are not in the code of the program are places with addresses that no file has. */
#define SIGNAL_PLACE ((uint64_t)1 << 63) /* added to the address of the code by which a signal handler returns */
#define CUT_PLACE    UINT64_MAX

/* A return address that is in stacks, for each generation that it is there. */
struct address {
    uint32_t module;
    uint64_t address; /* of the call before it, in the file */
    const struct sxt_place *place;
};

/* A word of a stack that was looked up lately. */
#define RECENT 4096
struct recent {
    uint64_t word;
    uint32_t generation, number;
};

struct names {
    const struct sxt_spool_facts *facts;
    const sxt_trace_write_options *options;
    uint32_t *first_of;        /* by number of a loaded file: the first one with the same path and build ID */
    struct sxt_strings keys;   /* of addresses: module, address and generation */
    struct address *addresses; /* by number of the key */
    size_t address_capacity;
    struct recent recent[RECENT];
    uint32_t *frames;              /* of all stacks, one after the other: numbers of addresses */
    struct sxt_mlyze_frame *chain; /* of some stacks */
    size_t chain_count, chain_capacity;
    struct sxt_places places;
    struct unresolved *unresolved;
    size_t unresolved_count, unresolved_capacity;
};

static int find_first(struct names *names, sxt_error *error);
static int collect(struct names *names, sxt_error *error);
static int resolve(struct names *names, sxt_error *error);
static int name_marker(struct names *names, sxt_string name, uint32_t *id, sxt_error *error);
static int name_markers(struct names *names, uint32_t **markers, sxt_error *error);
static void write_json(struct names *names, struct sxt_buffer *json);
static int make_tables(struct names *names, struct sxt_spool_metadata *out, sxt_error *error);

int sxt_spool_names(const struct sxt_spool_facts *facts, const sxt_trace_write_options *options,
                    struct sxt_spool_metadata *out, sxt_error *error)
{
    struct names names = {.facts = facts, .options = options};
    memset(out, 0, sizeof *out);
    sxt_buffer_init(&out->rest, UINT32_MAX);
    int status = sxt_places_init(&names.places, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&names.keys, 0, error);
    if (status == SXT_OK)
        status = find_first(&names, error);
    if (status == SXT_OK)
        status = collect(&names, error);
    if (status == SXT_OK)
        status = name_markers(&names, &out->markers, error);
    if (status == SXT_OK)
        status = resolve(&names, error);
    if (status == SXT_OK)
        status = name_marker(&names, (sxt_string){"?", 1}, &out->markers[0], error);
    if (status == SXT_OK) {
        write_json(&names, &out->rest);
        sxt_mlyze_mark_sums((char *)out->rest.data, out->rest.size);
        status = sxt_buffer_status(&out->rest, error);
    }
    if (status == SXT_OK)
        status = make_tables(&names, out, error);
    sxt_places_free(&names.places);
    sxt_strings_free(&names.keys);
    free(names.addresses);
    free(names.frames);
    free(names.first_of);
    free(names.unresolved);
    if (status != SXT_OK)
        sxt_spool_metadata_free(out);
    return status;
}

void sxt_spool_metadata_free(struct sxt_spool_metadata *metadata)
{
    sxt_mlyze_metadata_free(&metadata->tables);
    sxt_buffer_free(&metadata->rest);
    sxt_strings_free(&metadata->files);
    sxt_strings_free(&metadata->functions);
    free(metadata->markers);
    memset(metadata, 0, sizeof *metadata);
}

/* --- addresses --- */

/* A library that is loaded several times is one file. */
static int find_first(struct names *names, sxt_error *error)
{
    const struct sxt_spool_facts *facts = names->facts;
    struct sxt_strings keys;
    struct sxt_buffer key;
    sxt_buffer_init(&key, SIZE_MAX / 2);
    int status = sxt_strings_init(&keys, 0, error);
    names->first_of = calloc(facts->file_count + 1, sizeof *names->first_of);
    uint32_t *by_number = calloc(facts->file_count + 2, sizeof *by_number);
    if (status == SXT_OK && (names->first_of == NULL || by_number == NULL))
        status = sxt_fail_memory(error, facts->file_count * sizeof *by_number);
    for (size_t i = 0; status == SXT_OK && i < facts->file_count; i++) {
        uint32_t before = keys.count, number;
        sxt_buffer_clear(&key);
        sxt_buffer_append(&key, facts->files[i].path.data, facts->files[i].path.size);
        sxt_buffer_u8(&key, 0);
        sxt_buffer_append(&key, facts->files[i].build_id.data, facts->files[i].build_id.size);
        if (key.failed || (number = sxt_strings_add(&keys, (const char *)key.data, key.size)) == SXT_STRINGS_FULL) {
            status = sxt_fail_memory(error, facts->files[i].path.size);
            break;
        }
        if (number == before)
            by_number[number] = (uint32_t)i;
        names->first_of[i] = by_number[number];
    }
    free(by_number);
    sxt_buffer_free(&key);
    sxt_strings_free(&keys);
    return status;
}

static uint32_t module_at(const struct sxt_spool_facts *facts, uint64_t pc, uint32_t generation)
{
    for (size_t i = facts->file_count; i > 0; i--) {
        const struct sxt_spool_file *file = &facts->files[i - 1];
        if (pc >= file->start && pc < file->end && generation >= file->first_generation &&
            generation < file->end_generation)
            return (uint32_t)(i - 1);
    }
    return SXT_NO_MODULE;
}

/* A word of a stack; see SXT_SPOOL_FRAME_INTERRUPTED. */
static struct address find_address(const struct names *names, uint64_t word, uint32_t generation)
{
    struct address found = {.module = SXT_NO_MODULE, .address = CUT_PLACE};
    if (word == SXT_SPOOL_FRAME_CUT)
        return found;
    bool is_signal = (word & SXT_SPOOL_FRAME_SIGNAL) != 0, is_exact = (word & SXT_SPOOL_FRAME_INTERRUPTED) != 0;
    uint64_t pc = word & ~(SXT_SPOOL_FRAME_SIGNAL | SXT_SPOOL_FRAME_INTERRUPTED);
    found.address = is_signal || is_exact || pc == 0 ? pc : pc - 1;
    uint32_t module = module_at(names->facts, found.address, generation);
    if (module != SXT_NO_MODULE) {
        found.address -= names->facts->files[module].bias;
        found.module = names->first_of[module];
    }
    if (is_signal)
        found.address |= SIGNAL_PLACE;
    return found;
}

/* The number of a return address, which is looked for among the loaded files when it is new; 0 when memory is short. */
static uint32_t find_or_add_address(struct names *names, uint64_t pc, uint32_t generation)
{
    uint8_t key[12];
    sxt_store_u64le(key, pc);
    sxt_store_u32le(key + 8, generation);
    uint32_t before = names->keys.count, number = sxt_strings_add(&names->keys, (const char *)key, sizeof key);
    if (number != before)
        return number != SXT_STRINGS_FULL ? number : 0;
    void *moved =
        sxt_array_grow(names->addresses, &names->address_capacity, (size_t)number + 1, sizeof *names->addresses);
    if (moved == NULL)
        return 0;
    names->addresses = moved;
    struct address found = find_address(names, pc, generation);
    names->addresses[number] = found;
    return sxt_places_add(&names->places, found.module, found.address) ? number : 0;
}

/* The same. Almost all addresses were seen a moment ago. */
static uint32_t add_address(struct names *names, uint64_t pc, uint32_t generation)
{
    struct recent *recent = &names->recent[(pc ^ pc >> 12) % RECENT];
    if (recent->number == 0 || recent->word != pc || recent->generation != generation)
        *recent = (struct recent){pc, generation, find_or_add_address(names, pc, generation)};
    return recent->number;
}

/* Stacks share most of their frames, so each address is handled once, and each place once more. */
static int collect(struct names *names, sxt_error *error)
{
    const struct sxt_spool_facts *facts = names->facts;
    size_t count = 0;
    for (size_t i = 0; i < facts->stack_count; i++)
        count += facts->stacks[i].count;
    names->frames = calloc(count + 1, sizeof *names->frames);
    if (names->frames == NULL)
        return sxt_fail_memory(error, count * sizeof *names->frames);
    uint32_t *frame = names->frames;
    for (size_t i = 0; i < facts->stack_count; i++) {
        const struct sxt_spool_stack *stack = &facts->stacks[i];
        for (size_t k = 0; k < stack->count; k++, frame++) {
            *frame = add_address(names, sxt_load_u64le(stack->frames + k * 8), stack->generation);
            if (*frame == 0)
                return sxt_fail_memory(error, names->keys.count * sizeof *names->addresses);
        }
    }
    sxt_places_sort(&names->places);
    for (uint32_t i = 1; i < names->keys.count; i++) {
        struct address *address = &names->addresses[i];
        address->place = sxt_places_find(&names->places, address->module, address->address);
    }
    return SXT_OK;
}

/* --- lookups --- */

static sxt_string last_part(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    size_t skipped = slash != NULL ? (size_t)(slash + 1 - path.data) : 0;
    return (sxt_string){path.data + skipped, path.size - skipped};
}

static sxt_string path_of(void *data, uint32_t module)
{
    static const sxt_string nowhere = {"[anonymous]", 11};
    const struct names *names = data;
    return module == SXT_NO_MODULE ? nowhere : names->facts->files[module].path;
}

/* "libx.so+0x1234"; if two files have the same name, with their number: "libx.so[7]+0x1234". */
static sxt_string name_unresolved(const struct names *names, const struct sxt_place *place, char text[4096])
{
    unsigned long long address = place->address + 1;
    if (place->module == SXT_NO_MODULE)
        return (sxt_string){text, (size_t)snprintf(text, 4096, "0x%llx", address)};
    sxt_string name = last_part(path_of((void *)(uintptr_t)names, place->module));
    int size = (int)(name.size < 4000 ? name.size : 4000);
    int written = snprintf(text, 4096, "%.*s+0x%llx", size, name.data, address);
    if (sxt_strings_find(&names->places.functions, text, (size_t)written) != SXT_STRINGS_FULL)
        written = snprintf(text, 4096, "%.*s[%u]+0x%llx", size, name.data, (unsigned)place->module, address);
    return (sxt_string){text, (size_t)written};
}

/* The address is that of the return, as debuggers show it, and not of the call before it. */
static bool add_unresolved(struct names *names, struct sxt_place *place)
{
    char text[4096];
    sxt_string name = name_unresolved(names, place, text);
    if (!sxt_places_add_frame(&names->places, place, path_of(names, place->module), name, 0))
        return false;
    void *moved = sxt_array_grow(names->unresolved, &names->unresolved_capacity, names->unresolved_count + 1,
                                 sizeof *names->unresolved);
    if (moved == NULL)
        return false;
    names->unresolved = moved;
    names->unresolved[names->unresolved_count++] = (struct unresolved){
        names->places.frames[place->first].function,
        place->module,
        place->address + 1,
    };
    return true;
}

/* A frame that is not in the code of the program; false if memory is short. */
static bool add_special(struct names *names, struct sxt_place *place)
{
    const char *name = place->address == CUT_PLACE ? SXT_TRUNCATED : "<signal handler called>";
    return sxt_places_add_frame(&names->places, place, (sxt_string){NULL, 0}, sxt_string_of(name), 0);
}

static bool add_missing(struct names *names, struct sxt_place *place)
{
    return (place->address & SIGNAL_PLACE) != 0 ? add_special(names, place) : add_unresolved(names, place);
}

/* A file that has changed since it was loaded would give wrong names. */
static bool is_the_same(const sxt_archive *archive, const struct sxt_spool_file *file)
{
    if (file->build_id.size == 0)
        return true;
    return sxt_hex_equals(sxt_string_of(sxt_archive_build_id(archive)), file->build_id.data, file->build_id.size);
}

static void warn(const struct names *names, const char *path, const char *text)
{
    if (names->options->warning != NULL)
        names->options->warning(names->options->data, path, text);
}

/* The archive of a loaded file, for these addresses; NULL if there is none. */
static sxt_archive *open_module(void *data, uint32_t module, const uint64_t *addresses, size_t count)
{
    const struct names *names = data;
    const struct sxt_spool_file *file = &names->facts->files[module];
    char path[4097];
    struct stat status;
    if (names->options->no_symbols || file->path.size == 0 || file->path.size >= sizeof path ||
        file->path.data[0] != '/')
        return NULL;
    memcpy(path, file->path.data, file->path.size);
    path[file->path.size] = 0;
    sxt_open_options options;
    sxt_open_options_init(&options);
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    extract.addresses = addresses;
    extract.address_count = count;
    extract.threads = names->options->threads;
    options.extract = &extract;
    sxt_archive *archive;
    sxt_error error;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        warn(names, path, "no longer exists; its functions have no names");
        return NULL;
    }
    if (sxt_archive_open_path(path, &options, &archive, &error) != SXT_OK) {
        warn(names, path, error.text);
        return NULL;
    }
    if (!is_the_same(archive, file)) {
        warn(names, path, "is not the file that was loaded; its functions have no names");
        sxt_archive_close(&archive);
    }
    return archive;
}

static int resolve(struct names *names, sxt_error *error)
{
    const struct sxt_places_source source = {.open = open_module, .path = path_of, .data = names};
    int status = sxt_places_look_up(&names->places, &source, error);
    for (size_t i = 0; status == SXT_OK && i < names->places.count; i++)
        if (names->places.list[i].count == 0 && !add_missing(names, &names->places.list[i]))
            status = sxt_fail_memory(error, names->places.count * sizeof *names->unresolved);
    return status;
}

/* Ids in the trace are numbers of strings - 1: the empty string is number 0 of any table, and not a name. */
static int name_marker(struct names *names, sxt_string name, uint32_t *id, sxt_error *error)
{
    uint32_t number = sxt_strings_add(&names->places.functions, name.data, name.size);
    *id = number - 1;
    return number != SXT_STRINGS_FULL ? SXT_OK : sxt_fail_memory(error, name.size);
}

/*
 * Markers come before all functions: their ids are known before the names of functions are, so that events can be
 * written while the program runs. Number 0 of the spool's markers is the empty string, which no marker has.
 */
static int name_markers(struct names *names, uint32_t **markers, sxt_error *error)
{
    size_t count = names->facts->marker_count;
    int status = SXT_OK;
    *markers = calloc(count + 1, sizeof **markers);
    if (*markers == NULL)
        return sxt_fail_memory(error, count * sizeof **markers);
    for (size_t i = 1; i < count && status == SXT_OK; i++)
        status = name_marker(names, names->facts->markers[i], &(*markers)[i], error);
    return status;
}

/* --- stacks --- */

/* Which function frame NUMBER is of, if it is in folded code and its caller says so; otherwise 0. */
static uint32_t choose(struct names *names, const uint32_t *frames, size_t count, size_t number)
{
    const struct sxt_place *caller = number + 1 < count ? names->addresses[frames[number + 1]].place : NULL;
    return sxt_places_choose(&names->places, names->addresses[frames[number]].place, caller);
}

/* The frames of a place are added to a list, the innermost first, without the first SKIPPED. */
static bool add_chain(struct names *names, const struct sxt_place *place, uint32_t chosen, size_t skipped)
{
    size_t operators, count = sxt_places_frame_count(&names->places, place, chosen, &operators);
    for (size_t i = skipped; i < count; i++) {
        struct sxt_place_frame frame = sxt_places_frame(&names->places, place, chosen, i);
        void *moved =
            sxt_array_grow(names->chain, &names->chain_capacity, names->chain_count + 1, sizeof *names->chain);
        if (moved == NULL)
            return false;
        names->chain = moved;
        names->chain[names->chain_count++] =
            (struct sxt_mlyze_frame){.file = frame.file - 1, .function = frame.function - 1, .line = frame.line};
    }
    return true;
}

/* Frames that are operator new are left out of the beginning, if there are others after them. */
static bool add_frames(struct names *names, const uint32_t *frames, size_t count)
{
    size_t next = 0, skipped = 0;
    for (size_t first = 0; first < count; first++) {
        const struct sxt_place *place = names->addresses[frames[first]].place;
        uint32_t chosen = choose(names, frames, count, first);
        size_t operators, frame_count = sxt_places_frame_count(&names->places, place, chosen, &operators);
        if (operators < frame_count) {
            next = first;
            skipped = operators;
            break;
        }
    }
    for (size_t i = next; i < count; i++) {
        uint32_t chosen = choose(names, frames, count, i);
        if (!add_chain(names, names->addresses[frames[i]].place, chosen, skipped))
            return false;
        skipped = 0;
    }
    return true;
}

/* Adds COUNT stacks from number FIRST on; their frames begin at FRAMES. */
static bool add_some_stacks(struct names *names, struct sxt_mlyze_metadata *tables, size_t first, size_t count,
                            const uint32_t *frames)
{
    struct sxt_mlyze_new_stack stacks[SXT_MLYZE_STACKS_AT_ONCE];
    names->chain_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t frame_count = names->facts->stacks[first + i].count, before = names->chain_count;
        if (!add_frames(names, frames, frame_count))
            return false;
        stacks[i].count = names->chain_count - before;
        frames += frame_count;
    }
    const struct sxt_mlyze_frame *chain = names->chain;
    for (size_t i = 0; i < count; i++) {
        stacks[i].frames = chain;
        chain += stacks[i].count;
    }
    return sxt_mlyze_add_stacks(tables, (uint32_t)first, stacks, count);
}

static bool add_stacks(struct names *names, struct sxt_mlyze_metadata *tables)
{
    const struct sxt_spool_facts *facts = names->facts;
    const uint32_t *frames = names->frames;
    for (size_t i = 0, count; i < facts->stack_count; i += count) {
        count = facts->stack_count - i;
        if (count > SXT_MLYZE_STACKS_AT_ONCE)
            count = SXT_MLYZE_STACKS_AT_ONCE;
        if (!add_some_stacks(names, tables, i, count, frames))
            return false;
        for (size_t k = 0; k < count; k++)
            frames += facts->stacks[i + k].count;
    }
    return true;
}

/* Ids are numbers of strings - 1. */
static sxt_string *list_strings(const struct sxt_strings *strings, size_t *count)
{
    *count = strings->count - 1;
    sxt_string *list = calloc(*count + 1, sizeof *list);
    if (list != NULL)
        memcpy(list, strings->views + 1, *count * sizeof *list);
    return list;
}

static int make_tables(struct names *names, struct sxt_spool_metadata *out, sxt_error *error)
{
    struct sxt_mlyze_metadata *tables = &out->tables;
    int status = sxt_mlyze_metadata_read((const char *)out->rest.data, out->rest.size, false, tables, error);
    if (status != SXT_OK)
        return status;
    free(tables->files);
    free(tables->functions);
    free(tables->stacks);
    tables->stacks = calloc(names->facts->stack_count + 1, sizeof *tables->stacks);
    tables->stack_count = tables->stacks != NULL ? names->facts->stack_count : 0;
    /* Stacks add names too: those of folded functions, which the callers choose. */
    bool fine = tables->stacks != NULL && add_stacks(names, tables);
    out->files = names->places.files;
    out->functions = names->places.functions;
    memset(&names->places.files, 0, sizeof names->places.files);
    memset(&names->places.functions, 0, sizeof names->places.functions);
    tables->files = list_strings(&out->files, &tables->file_count);
    tables->functions = list_strings(&out->functions, &tables->function_count);
    if (!fine || tables->files == NULL || tables->functions == NULL)
        status = sxt_fail_memory(error, names->facts->stack_count * sizeof *tables->stacks);
    free(names->chain);
    return status;
}

/* --- JSON --- */

static void put_modules(const struct sxt_spool_facts *facts, struct sxt_json_writer *json)
{
    sxt_json_write_begin(json, "modules", '[');
    for (size_t i = 0; i < facts->file_count; i++) {
        const struct sxt_spool_file *file = &facts->files[i];
        sxt_json_write_begin(json, NULL, '{');
        sxt_json_write_string(json, "path", file->path);
        sxt_json_write_hex(json, "build_id", file->build_id.data, file->build_id.size);
        sxt_json_write_address(json, "base", file->bias);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, ']');
}

static int by_number(const void *a, const void *b)
{
    const struct sxt_spool_thread *first = a, *second = b;
    if (first->number != second->number)
        return first->number < second->number ? -1 : 1;
    return first->name.data < second->name.data ? -1 : first->name.data > second->name.data;
}

/* A thread's name may have been noted several times; the last counts. */
static void put_threads(const struct sxt_spool_facts *facts, struct sxt_json_writer *json)
{
    struct sxt_spool_thread *threads = calloc(facts->thread_count + 1, sizeof *threads);
    sxt_json_write_begin(json, "threads", '{');
    if (threads != NULL && facts->thread_count > 0) {
        memcpy(threads, facts->threads, facts->thread_count * sizeof *threads);
        qsort(threads, facts->thread_count, sizeof *threads, by_number);
    }
    for (size_t i = 0; threads != NULL && i < facts->thread_count; i++) {
        if (i + 1 < facts->thread_count && threads[i + 1].number == threads[i].number)
            continue;
        sxt_json_write_key_number(json, threads[i].number);
        sxt_json_write_string(json, NULL, threads[i].number == 0 ? sxt_string_of("main") : threads[i].name);
    }
    sxt_json_write_end(json, '}');
    free(threads);
}

static void put_unresolved(const struct names *names, struct sxt_json_writer *json)
{
    sxt_json_write_begin(json, "unresolved", '{');
    for (size_t i = 0; i < names->unresolved_count; i++) {
        const struct unresolved *one = &names->unresolved[i];
        sxt_json_write_key_number(json, one->function - 1);
        sxt_json_write_begin(json, NULL, '{');
        if (one->module != SXT_NO_MODULE)
            sxt_json_write_number(json, "module", one->module);
        sxt_json_write_address(json, "address", one->address);
        sxt_json_write_end(json, '}');
    }
    sxt_json_write_end(json, '}');
}

/* The words of the command line, as far as they are complete. */
static void put_command(sxt_string command, struct sxt_json_writer *json)
{
    if (command.size == 0)
        return;
    sxt_json_write_begin(json, "command", '[');
    for (size_t at = 0; at < command.size;) {
        size_t size = strnlen(command.data + at, command.size - at);
        sxt_json_write_string(json, NULL, (sxt_string){command.data + at, size});
        at += size + 1;
    }
    sxt_json_write_end(json, ']');
}

/* Why recording stopped before the process ended; NULL if it did not. */
static const char *early_end(enum sxt_spool_state state)
{
    switch (state) {
    case SXT_SPOOL_DISK_FULL:
        return "disk full";
    case SXT_SPOOL_NO_MEMORY:
        return "out of memory";
    case SXT_SPOOL_FILE_GONE:
        return "file closed";
    case SXT_SPOOL_CONFINED:
        return "seccomp";
    default:
        return NULL;
    }
}

/* The process as a whole. docs/record.md lists the keys. */
static void put_process(const struct sxt_spool_facts *facts, struct sxt_json_writer *json)
{
    sxt_json_write_number(json, "pid", facts->pid);
    if (facts->parent != 0)
        sxt_json_write_number(json, "parent", facts->parent);
    if (facts->started_by != 0)
        sxt_json_write_number(json, "started_by", facts->started_by);
    put_command(facts->command, json);
    if (facts->has_status && WIFEXITED(facts->status))
        sxt_json_write_number(json, "exit_status", (uint64_t)WEXITSTATUS(facts->status));
    if (facts->has_status && WIFSIGNALED(facts->status))
        sxt_json_write_number(json, "signal", (uint64_t)WTERMSIG(facts->status));
    if (facts->duration_us != 0)
        sxt_json_write_number(json, "duration_us", facts->duration_us);
    if (facts->anonymous != 0)
        sxt_json_write_number(json, "anonymous_bytes", facts->anonymous);
    if (early_end(facts->state) != NULL)
        sxt_json_write_string(json, "stopped", sxt_string_of(early_end(facts->state)));
}

static void write_json(struct names *names, struct sxt_buffer *out)
{
    const struct sxt_spool_facts *facts = names->facts;
    struct sxt_json_writer json = sxt_json_writer_make(out, SXT_JSON_SPACED);
    json.escapes = SXT_JSON_ESCAPES_NUMBERS;
    char sums[SXT_MLYZE_SUMS_ROOM];
    sxt_mlyze_no_sums(sums);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_string(&json, SXT_MLYZE_SUMS_KEY, sxt_string_of(sums)); /* must be first */
    for (size_t i = 0; i < SXT_MLYZE_TABLES; i++) {
        static const char *const keys[] = {"stack_traces", "files", "functions"};
        sxt_json_write_begin(&json, keys[i], '{'); /* they are tables */
        sxt_json_write_end(&json, '}');
    }
    sxt_json_write_string(&json, "stack_order", sxt_string_of("leaf_first"));
    put_threads(facts, &json);
    put_process(facts, &json);
    if (facts->period != 0)
        sxt_json_write_number(&json, "sample_period", facts->period);
    put_modules(facts, &json);
    put_unresolved(names, &json);
    struct sxt_function_modules modules = {0};
    sxt_places_write_modules(&names->places, NULL, &modules, &json);
    sxt_function_modules_free(&modules);
    sxt_json_write_end(&json, '}');
}
