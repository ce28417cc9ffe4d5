/*
 * record_names.c: names for the addresses of a recording, and the metadata that they make.
 *
 * All addresses of one loaded file are looked up together: the file is opened once, with the addresses it is asked for,
 * and closed again. A return address belongs to the call before it. Where nothing is known, the function is called
 * "libx.so+0x1234" and its file is the loaded file, and the key "unresolved" keeps the address, so that a machine that
 * has the symbols can finish the work.
 *
 *     {"stack_traces": {"0": [{"file_id": 0, "line": 42, "func_id": 0}, ...]}, "files": {...}, "functions": {...},
 *      "stack_order": "leaf_first", "threads": {"0": "main"}, "pid": 123,
 *      "modules": [{"path": "/bin/x", "build_id": "ab12...", "base": "0x55..."}],
 *      "unresolved": {"FUNCTION": {"module": 0, "address": "0x1234"}}}
 */
#include "archive/record_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/strings.h"
#include "base/utf8.h"

#define CHAIN_MOST 64 /* inlined calls at one address */
#define NO_FILE    UINT32_MAX

struct frame {
    uint32_t file, function, line;
};

/* An address of a loaded file, and the frames that it stands for. */
struct place {
    uint32_t module; /* NO_FILE: code that is in no file */
    uint64_t address;
    size_t first, count;
};

struct unresolved {
    uint32_t function;
    uint32_t module;
    uint64_t address;
};

struct names {
    const struct sxt_spool_facts *facts;
    const struct sxt_recover_options *options;
    struct place *places; /* by module and address */
    size_t place_count, place_capacity;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    struct unresolved *unresolved;
    size_t unresolved_count, unresolved_capacity;
    struct sxt_strings files, functions; /* ids are numbers of strings - 1 */
};

static int collect(struct names *names, sxt_error *error);
static int resolve(struct names *names, sxt_error *error);
static int name_markers(struct names *names, uint32_t **markers, sxt_error *error);
static void write_json(struct names *names, struct sxt_buffer *json);

static void names_free(struct names *names)
{
    sxt_strings_free(&names->files);
    sxt_strings_free(&names->functions);
    free(names->places);
    free(names->frames);
    free(names->unresolved);
}

int sxt_record_names(const struct sxt_spool_facts *facts, const struct sxt_recover_options *options,
                     struct sxt_buffer *json, uint64_t *functions, uint32_t **markers, sxt_error *error)
{
    struct names names = {.facts = facts, .options = options};
    *markers = NULL;
    int status = sxt_strings_init(&names.files, 0, error);
    if (status == SXT_OK)
        status = sxt_strings_init(&names.functions, 0, error);
    if (status == SXT_OK)
        status = collect(&names, error);
    if (status == SXT_OK)
        status = resolve(&names, error);
    if (status == SXT_OK)
        status = name_markers(&names, markers, error);
    if (status == SXT_OK) {
        write_json(&names, json);
        status = sxt_buffer_status(json, error);
    }
    *functions = names.functions.count - (names.functions.count > 0);
    names_free(&names);
    return status;
}

/* --- addresses --- */

static uint32_t module_at(const struct sxt_spool_facts *facts, uint64_t pc, uint32_t generation)
{
    for (size_t i = facts->file_count; i > 0; i--) {
        const struct sxt_spool_file *file = &facts->files[i - 1];
        if (pc >= file->start && pc < file->end && generation >= file->first_generation &&
            generation < file->end_generation)
            return (uint32_t)(i - 1);
    }
    return NO_FILE;
}

/* The place that frame INDEX of a stack is: of the call before the return address. */
static struct place place_of(const struct sxt_spool_facts *facts, const struct sxt_spool_stack *stack, size_t index)
{
    uint64_t pc = sxt_load_u64le(stack->frames + index * 8);
    uint64_t call = pc > 0 ? pc - 1 : 0;
    uint32_t module = module_at(facts, call, stack->generation);
    return (struct place){module, module != NO_FILE ? call - facts->files[module].bias : call, 0, 0};
}

static int by_module(const void *a, const void *b)
{
    const struct place *first = a, *second = b;
    if (first->module != second->module)
        return first->module < second->module ? -1 : 1;
    return first->address < second->address ? -1 : first->address > second->address;
}

static int collect(struct names *names, sxt_error *error)
{
    const struct sxt_spool_facts *facts = names->facts;
    for (size_t i = 0; i < facts->stack_count; i++) {
        const struct sxt_spool_stack *stack = &facts->stacks[i];
        void *moved = sxt_array_grow(names->places, &names->place_capacity, names->place_count + stack->count,
                                     sizeof *names->places);
        if (moved == NULL && stack->count > 0)
            return sxt_fail_memory(error, stack->count * sizeof *names->places);
        names->places = moved;
        for (size_t k = 0; k < stack->count; k++)
            names->places[names->place_count++] = place_of(facts, stack, k);
    }
    if (names->place_count == 0)
        return SXT_OK;
    qsort(names->places, names->place_count, sizeof *names->places, by_module);
    size_t kept = 1;
    for (size_t i = 1; i < names->place_count; i++)
        if (by_module(&names->places[i], &names->places[kept - 1]) != 0)
            names->places[kept++] = names->places[i];
    names->place_count = kept;
    return SXT_OK;
}

/* --- lookups --- */

static bool add_name(struct sxt_strings *strings, sxt_string name, uint32_t *number)
{
    /* The empty string is number 0 of any table, and is no name. */
    if (name.size == 0)
        name = (sxt_string){"?", 1};
    uint32_t added = sxt_strings_add(strings, name.data, name.size);
    *number = added - 1;
    return added != SXT_STRINGS_FULL;
}

static bool add_frame(struct names *names, struct frame frame)
{
    void *moved = sxt_array_grow(names->frames, &names->frame_capacity, names->frame_count + 1, sizeof *names->frames);
    if (moved == NULL)
        return false;
    names->frames = moved;
    names->frames[names->frame_count++] = frame;
    return true;
}

static sxt_string last_part(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    size_t skipped = slash != NULL ? (size_t)(slash + 1 - path.data) : 0;
    return (sxt_string){path.data + skipped, path.size - skipped};
}

/* The loaded file, in place of a source file that is not known. */
static bool add_module_file(struct names *names, const struct place *place, uint32_t *file)
{
    static const sxt_string nowhere = {"[anonymous]", 11};
    return add_name(&names->files, place->module == NO_FILE ? nowhere : names->facts->files[place->module].path, file);
}

/* The address is that of the return, as debuggers show it, and not of the call before it. */
static bool add_unresolved(struct names *names, const struct place *place)
{
    char text[4096];
    struct frame frame = {0};
    unsigned long long address = place->address + 1;
    if (place->module == NO_FILE) {
        snprintf(text, sizeof text, "0x%llx", address);
    } else {
        sxt_string name = last_part(names->facts->files[place->module].path);
        snprintf(text, sizeof text, "%.*s+0x%llx", (int)(name.size < 4000 ? name.size : 4000), name.data, address);
    }
    if (!add_module_file(names, place, &frame.file) ||
        !add_name(&names->functions, (sxt_string){text, strlen(text)}, &frame.function) || !add_frame(names, frame))
        return false;
    void *moved = sxt_array_grow(names->unresolved, &names->unresolved_capacity, names->unresolved_count + 1,
                                 sizeof *names->unresolved);
    if (moved == NULL)
        return false;
    names->unresolved = moved;
    names->unresolved[names->unresolved_count++] =
        (struct unresolved){frame.function, place->module, place->address + 1};
    return true;
}

static bool add_resolved(struct names *names, const struct place *place, const sxt_frame *chain, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct frame frame = {.line = chain[i].line};
        bool named = chain[i].file.size > 0 ? add_name(&names->files, chain[i].file, &frame.file)
                                            : add_module_file(names, place, &frame.file);
        if (!named || !add_name(&names->functions, chain[i].function, &frame.function) || !add_frame(names, frame))
            return false;
    }
    return true;
}

/* A file that has changed since it was loaded would give wrong names. */
static bool is_the_same(const sxt_archive *archive, const struct sxt_spool_file *file)
{
    static const char digits[] = "0123456789abcdef";
    sxt_info info;
    sxt_archive_info(archive, &info);
    if (file->build_id.size == 0)
        return true;
    if (strlen(info.build_id) != file->build_id.size * 2)
        return false;
    for (size_t i = 0; i < file->build_id.size; i++) {
        uint8_t byte = (uint8_t)file->build_id.data[i];
        if (info.build_id[2 * i] != digits[byte >> 4] || info.build_id[2 * i + 1] != digits[byte & 15])
            return false;
    }
    return true;
}

static void warn(const struct names *names, const char *path, const char *text)
{
    if (names->options->warning != NULL)
        names->options->warning(names->options->data, path, text);
}

/* The archive of a loaded file, for these places; NULL when it is not to be had. */
static sxt_archive *open_module(const struct names *names, const struct sxt_spool_file *file, const uint64_t *addresses,
                                size_t count)
{
    char path[4097];
    struct stat status;
    if (names->options->no_symbols || file->path.size == 0 || file->path.size >= sizeof path ||
        file->path.data[0] != '/')
        return NULL;
    memcpy(path, file->path.data, file->path.size);
    path[file->path.size] = 0;
    sxt_open_options options;
    sxt_open_options_init(&options);
    options.extract.addresses = addresses;
    options.extract.address_count = count;
    sxt_archive *archive;
    sxt_error error;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        warn(names, path, "is not there any more; its functions have no names");
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

static bool name_places(struct names *names, struct place *places, size_t count, const sxt_archive *archive)
{
    for (size_t i = 0; i < count; i++) {
        sxt_frame chain[CHAIN_MOST];
        size_t found = archive != NULL ? sxt_archive_lookup(archive, places[i].address, chain, CHAIN_MOST) : 0;
        if (found > CHAIN_MOST)
            found = CHAIN_MOST;
        places[i].first = names->frame_count;
        if (found > 0 ? !add_resolved(names, &places[i], chain, found) : !add_unresolved(names, &places[i]))
            return false;
        places[i].count = names->frame_count - places[i].first;
    }
    return true;
}

static int resolve(struct names *names, sxt_error *error)
{
    uint64_t *addresses = calloc(names->place_count + 1, sizeof *addresses);
    bool done = addresses != NULL;
    for (size_t i = 0; i < names->place_count && done;) {
        size_t end = i;
        for (; end < names->place_count && names->places[end].module == names->places[i].module; end++)
            addresses[end - i] = names->places[end].address;
        sxt_archive *archive = NULL;
        if (names->places[i].module != NO_FILE)
            archive = open_module(names, &names->facts->files[names->places[i].module], addresses, end - i);
        done = name_places(names, &names->places[i], end - i, archive);
        sxt_archive_close(&archive);
        i = end;
    }
    free(addresses);
    return done ? SXT_OK : sxt_fail_memory(error, names->place_count * sizeof *addresses);
}

static int name_markers(struct names *names, uint32_t **markers, sxt_error *error)
{
    size_t count = names->facts->marker_count;
    *markers = calloc(count + 1, sizeof **markers);
    if (*markers == NULL)
        return sxt_fail_memory(error, count * sizeof **markers);
    /* Of the spool's markers, number 0 is the empty string that every table has. */
    for (size_t i = 1; i < count; i++)
        if (!add_name(&names->functions, names->facts->markers[i], &(*markers)[i]))
            return sxt_fail_memory(error, names->facts->markers[i].size);
    return SXT_OK;
}

/* --- JSON --- */

static void put_text(struct sxt_buffer *json, const char *text)
{
    sxt_buffer_append(json, text, strlen(text));
}

static void put_string(struct sxt_buffer *json, sxt_string text)
{
    sxt_buffer_u8(json, '"');
    for (size_t at = 0; at < text.size;) {
        size_t valid = sxt_utf8_valid(text.data + at, text.size - at);
        for (size_t end = at + valid; at < end; at++) {
            uint8_t byte = (uint8_t)text.data[at];
            if (byte == '"' || byte == '\\')
                sxt_buffer_u8(json, '\\');
            if (byte < 0x20)
                sxt_buffer_print(json, "\\u%04x", byte);
            else
                sxt_buffer_u8(json, byte);
        }
        if (at < text.size) {
            put_text(json, "\xef\xbf\xbd");
            at++;
        }
    }
    sxt_buffer_u8(json, '"');
}

static void put_frames(const struct names *names, const struct sxt_spool_stack *stack, struct sxt_buffer *json)
{
    const char *comma = "";
    for (size_t i = 0; i < stack->count; i++) {
        struct place wanted = place_of(names->facts, stack, i);
        const struct place *place =
            bsearch(&wanted, names->places, names->place_count, sizeof *names->places, by_module);
        for (size_t k = 0; place != NULL && k < place->count; k++) {
            const struct frame *frame = &names->frames[place->first + k];
            sxt_buffer_print(json, "%s{\"file_id\": %u, \"line\": %u, \"func_id\": %u}", comma, (unsigned)frame->file,
                             (unsigned)frame->line, (unsigned)frame->function);
            comma = ", ";
        }
    }
}

static void put_strings(const struct sxt_strings *strings, struct sxt_buffer *json)
{
    for (uint32_t i = 1; i < strings->count; i++) {
        sxt_buffer_print(json, "%s\"%u\": ", i > 1 ? ", " : "", (unsigned)(i - 1));
        put_string(json, sxt_strings_get(strings, i));
    }
}

static void put_modules(const struct sxt_spool_facts *facts, struct sxt_buffer *json)
{
    for (size_t i = 0; i < facts->file_count; i++) {
        const struct sxt_spool_file *file = &facts->files[i];
        put_text(json, i > 0 ? ", {\"path\": " : "{\"path\": ");
        put_string(json, file->path);
        put_text(json, ", \"build_id\": \"");
        for (size_t k = 0; k < file->build_id.size; k++)
            sxt_buffer_print(json, "%02x", (uint8_t)file->build_id.data[k]);
        sxt_buffer_print(json, "\", \"base\": \"0x%llx\"}", (unsigned long long)file->bias);
    }
}

static int by_number(const void *a, const void *b)
{
    const struct sxt_spool_thread *first = a, *second = b;
    if (first->number != second->number)
        return first->number < second->number ? -1 : 1;
    return first->name.data < second->name.data ? -1 : first->name.data > second->name.data;
}

/* A thread's name may have been noted several times; the last counts. */
static void put_threads(const struct sxt_spool_facts *facts, struct sxt_buffer *json)
{
    struct sxt_spool_thread *threads = calloc(facts->thread_count + 1, sizeof *threads);
    if (threads == NULL)
        return;
    if (facts->thread_count > 0) {
        memcpy(threads, facts->threads, facts->thread_count * sizeof *threads);
        qsort(threads, facts->thread_count, sizeof *threads, by_number);
    }
    const char *comma = "";
    for (size_t i = 0; i < facts->thread_count; i++) {
        if (i + 1 < facts->thread_count && threads[i + 1].number == threads[i].number)
            continue;
        sxt_buffer_print(json, "%s\"%u\": ", comma, (unsigned)threads[i].number);
        put_string(json, threads[i].number == 0 ? (sxt_string){"main", 4} : threads[i].name);
        comma = ", ";
    }
    free(threads);
}

static void put_unresolved(const struct names *names, struct sxt_buffer *json)
{
    for (size_t i = 0; i < names->unresolved_count; i++) {
        const struct unresolved *one = &names->unresolved[i];
        sxt_buffer_print(json, "%s\"%u\": {", i > 0 ? ", " : "", (unsigned)one->function);
        if (one->module != NO_FILE)
            sxt_buffer_print(json, "\"module\": %u, ", (unsigned)one->module);
        sxt_buffer_print(json, "\"address\": \"0x%llx\"}", (unsigned long long)one->address);
    }
}

static void write_json(struct names *names, struct sxt_buffer *json)
{
    const struct sxt_spool_facts *facts = names->facts;
    put_text(json, "{\"stack_traces\": {");
    for (size_t i = 0; i < facts->stack_count; i++) {
        sxt_buffer_print(json, "%s\"%zu\": [", i > 0 ? ", " : "", i);
        put_frames(names, &facts->stacks[i], json);
        put_text(json, "]");
    }
    put_text(json, "}, \"files\": {");
    put_strings(&names->files, json);
    put_text(json, "}, \"functions\": {");
    put_strings(&names->functions, json);
    put_text(json, "}, \"stack_order\": \"leaf_first\", \"threads\": {");
    put_threads(facts, json);
    sxt_buffer_print(json, "}, \"pid\": %u", (unsigned)facts->pid);
    if (facts->parent != 0)
        sxt_buffer_print(json, ", \"parent\": %u", (unsigned)facts->parent);
    if (facts->period != 0)
        sxt_buffer_print(json, ", \"sample_period\": %llu", (unsigned long long)facts->period);
    put_text(json, ", \"modules\": [");
    put_modules(facts, json);
    put_text(json, "], \"unresolved\": {");
    put_unresolved(names, json);
    put_text(json, "}}");
}
