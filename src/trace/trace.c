/*
 * trace.c: the one way to open a heap trace, in whatever state it is, and what its header and metadata say.
 *
 *     file ──▶ inflated ──▶ a trace ───────────────────────▶ sxt_mlyze ──▶ events, analyses, copies
 *                     └──▶ a spool ──▶ finished, unnamed ──▶
 */
#include "trace/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "base/error.h"
#include "base/inflate.h"
#include "base/json.h"
#include "base/options.h"
#include "base/search.h"
#include "mlyze/spool.h"

#define BATCH 256

void sxt_trace_options_init(sxt_trace_options *options)
{
    *options = (sxt_trace_options){.struct_size = sizeof *options, .inflate_limit = SXT_MLYZE_INFLATE_LIMIT};
}

static int take_options(const sxt_trace_options *given, sxt_trace_options *out, sxt_error *error)
{
    sxt_trace_options_init(out);
    return sxt_options_take(out, sizeof *out, given, "sxt_trace_options_init", error);
}

/* --- opening --- */

static int check_kind(const struct sxt_file *file, sxt_error *error)
{
    if (file->size == 0)
        return sxt_fail(error, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "empty file: nothing has been recorded yet");
    if (!sxt_mlyze_is(file->data, file->size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a heap trace (.mlyze)");
    return SXT_OK;
}

/* Inflates FILE, and refuses what is not a trace. */
static int inflate(struct sxt_file *file, uint64_t limit, bool *is_compressed, sxt_error *error)
{
    *is_compressed = sxt_compression_of(file->data, file->size) != SXT_COMPRESSION_NONE;
    int status = sxt_file_inflate(file, limit, error);
    return status == SXT_OK ? check_kind(file, error) : status;
}

int sxt_trace_load(const char *path, uint64_t inflate_limit, struct sxt_file *file, bool *is_compressed,
                   sxt_error *error)
{
    int status = sxt_file_open(file, path, error);
    return status == SXT_OK ? inflate(file, inflate_limit, is_compressed, error) : status;
}

/* Fills `whole` if the recording did not end. */
static int recover(sxt_trace *trace, sxt_error *error)
{
    int status = sxt_spool_check(trace->file.data, trace->file.size, error);
    trace->is_growing = status == SXT_OK && sxt_spool_is_growing(trace->file.data);
    return status == SXT_OK ? sxt_spool_finish_unnamed(&trace->file, trace->path, &trace->whole, error) : status;
}

/* The file is read and inflated. */
static int open_loaded(sxt_trace *trace, const sxt_trace_options *options, sxt_error *error)
{
    trace->is_cut_off = sxt_mlyze_is_unclean(trace->file.data, trace->file.size);
    const struct sxt_file *file = &trace->file;
    if (trace->is_cut_off && !options->no_recovery) {
        int status = recover(trace, error);
        if (status != SXT_OK)
            return status;
        file = &trace->whole;
    }
    int status = sxt_mlyze_open(file->data, file->size, &trace->mlyze, error);
    return status == SXT_OK && options->root_first ? sxt_mlyze_set_root_first(trace->mlyze, error) : status;
}

/* Whether a spool that could not be read has become a trace in the meantime; it is then loaded. */
static bool is_finished_now(sxt_trace *trace, const sxt_trace_options *options)
{
    struct sxt_file now;
    bool is_compressed;
    if (sxt_trace_load(trace->path, options->inflate_limit, &now, &is_compressed, NULL) != SXT_OK)
        return false;
    if (sxt_mlyze_is_unclean(now.data, now.size)) {
        sxt_file_close(&now);
        return false;
    }
    sxt_file_close(&trace->file);
    trace->file = now;
    trace->is_compressed = is_compressed;
    return true;
}

sxt_trace *sxt_trace_new(const sxt_trace_options *options, sxt_error *error)
{
    sxt_trace *trace = calloc(1, sizeof *trace);
    if (trace == NULL) {
        sxt_fail_memory(error, sizeof *trace);
        return NULL;
    }
    sxt_file_from_memory(&trace->file, "", 0);
    sxt_file_from_memory(&trace->whole, "", 0);
    sxt_file_from_memory(&trace->ended_file, "", 0);
    trace->no_index = options->no_index;
    return trace;
}

/* Takes the options that were given, and makes a trace without a file. */
static int begin_open(const sxt_trace_options *given, sxt_trace_options *options, sxt_trace **out, sxt_error *error)
{
    *out = NULL;
    int status = take_options(given, options, error);
    if (status != SXT_OK)
        return status;
    *out = sxt_trace_new(options, error);
    return *out != NULL ? SXT_OK : SXT_ERROR_MEMORY;
}

int sxt_trace_open_path(const char *path, const sxt_trace_options *given, sxt_trace **out, sxt_error *error)
{
    sxt_trace_options options;
    sxt_trace *trace;
    *out = NULL;
    int status = begin_open(given, &options, &trace, error);
    if (status != SXT_OK)
        return status;
    if (strcmp(path, "-") != 0 && (trace->path = strdup(path)) == NULL)
        status = sxt_fail_memory(error, strlen(path));
    if (status == SXT_OK)
        status = sxt_trace_load(path, options.inflate_limit, &trace->file, &trace->is_compressed, error);
    if (status == SXT_OK)
        status = open_loaded(trace, &options, error);
    if (status != SXT_OK && trace->is_cut_off && trace->path != NULL && is_finished_now(trace, &options)) {
        trace->is_cut_off = false;
        status = open_loaded(trace, &options, error);
    }
    if (status == SXT_OK)
        *out = trace;
    else
        sxt_trace_close(&trace);
    return status;
}

int sxt_trace_open_memory(const void *data, size_t size, const sxt_trace_options *given, sxt_trace **out,
                          sxt_error *error)
{
    sxt_trace_options options;
    sxt_trace *trace;
    *out = NULL;
    int status = begin_open(given, &options, &trace, error);
    if (status != SXT_OK)
        return status;
    sxt_file_from_memory(&trace->file, data, size);
    status = inflate(&trace->file, options.inflate_limit, &trace->is_compressed, error);
    if (status == SXT_OK)
        status = open_loaded(trace, &options, error);
    if (status == SXT_OK)
        *out = trace;
    else
        sxt_trace_close(&trace);
    return status;
}

void sxt_trace_close(sxt_trace **trace)
{
    if (*trace == NULL)
        return;
    sxt_mlyze_close(&(*trace)->mlyze);
    sxt_trace_free_parts(*trace);
    sxt_file_close(&(*trace)->whole);
    sxt_file_close(&(*trace)->file);
    free((*trace)->path);
    free(*trace);
    *trace = NULL;
}

/* --- header and metadata --- */

static const char *codec_name(const struct sxt_mlyze_header *header)
{
    if ((header->flags & SXT_MLYZE_BLOCKS) == 0)
        return "plain";
    return header->codec >= SXT_MLYZE_COLUMNS ? "columns" : "lz4";
}

#define WORDS_MOST 10000 /* of a command line */

/* The words of the command line, if the metadata has them; otherwise NULL. */
static const struct sxt_json *command_of(const sxt_trace *trace)
{
    const struct sxt_json *command = sxt_json_member(sxt_mlyze_metadata(trace->mlyze)->root, "command");
    return command != NULL && command->type == SXT_JSON_ARRAY ? command : NULL;
}

/* A number of the metadata. False: there is none. */
static bool number_of(const sxt_trace *trace, const char *key, uint64_t *number)
{
    const struct sxt_json *value = sxt_json_member(sxt_mlyze_metadata(trace->mlyze)->root, key);
    bool is_there = value != NULL && value->type == SXT_JSON_NUMBER && value->is_unsigned;
    if (is_there)
        *number = value->unsigned_value;
    return is_there;
}

sxt_string sxt_trace_command_word(const sxt_trace *trace, size_t index)
{
    const struct sxt_json *command = command_of(trace);
    const struct sxt_json *word = command != NULL ? command->child : NULL;
    for (; word != NULL && index > 0; index--)
        word = word->next;
    return word != NULL && word->type == SXT_JSON_STRING ? word->string : (sxt_string){NULL, 0};
}

/* What the metadata says about the process. */
static void take_process(const sxt_trace *trace, sxt_trace_info *info)
{
    uint64_t number;
    const struct sxt_json *command = command_of(trace);
    info->word_count = command == NULL ? 0 : command->count < WORDS_MOST ? command->count : WORDS_MOST;
    if (info->pid == 0 && number_of(trace, "pid", &number))
        info->pid = number;
    info->has_exit_status = number_of(trace, "exit_status", &number) && number <= UINT32_MAX;
    info->exit_status = info->has_exit_status ? (uint32_t)number : 0;
    info->has_signal = number_of(trace, "signal", &number) && number <= UINT32_MAX;
    info->signal = info->has_signal ? (uint32_t)number : 0;
    number_of(trace, "duration_us", &info->duration_us);
    number_of(trace, "anonymous_bytes", &info->anonymous_bytes);
    number_of(trace, "parent", &info->parent);
    const struct sxt_json *stopped = sxt_json_member(sxt_mlyze_metadata(trace->mlyze)->root, "stopped");
    if (stopped != NULL && stopped->type == SXT_JSON_STRING)
        info->stopped = stopped->string;
}

void sxt_trace_get_info(const sxt_trace *trace, sxt_trace_info *out)
{
    const struct sxt_mlyze_header *header = sxt_mlyze_header(trace->mlyze);
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace->mlyze);
    sxt_trace_info info = {
        .version = header->version,
        .flags = header->flags,
        .codec = codec_name(header),
        .start_us = header->start_us,
        .metadata_size = header->metadata_size,
        .sample_period = header->period,
        .dropped = header->dropped,
        .pid = header->pid,
        .size = trace->file.size,
        .is_sampled = (header->flags & SXT_MLYZE_SAMPLED) != 0,
        .is_cut_off = trace->is_cut_off,
        .is_compressed = trace->is_compressed,
    };
    take_process(trace, &info);
    for (size_t i = 0; i < metadata->stack_count; i++)
        info.stacks += metadata->stacks[i].exists;
    sxt_file_id_of(&trace->file, info.file_id);
    sxt_result_give(out, &info, sizeof info);
}

uint32_t sxt_trace_stack_limit(const sxt_trace *trace)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace->mlyze);
    size_t count = metadata->stack_count;
    uint32_t last = count > 0 ? sxt_mlyze_id_at(metadata->stack_ids, count - 1) : 0;
    return count == 0 ? 0 : last < UINT32_MAX ? last + 1 : UINT32_MAX;
}

bool sxt_trace_next_stack(const sxt_trace *trace, uint32_t *id)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace->mlyze);
    size_t count = metadata->stack_count, place = *id;
    if (metadata->stack_ids != NULL)
        place =
            sxt_search_from(metadata->stack_ids, count, sizeof *metadata->stack_ids, sizeof *metadata->stack_ids, *id);
    while (place < count && !metadata->stacks[place].exists)
        place++;
    if (place >= count)
        return false;
    *id = sxt_mlyze_id_at(metadata->stack_ids, place);
    return true;
}

static const struct sxt_mlyze_stack *find_stack(const sxt_trace *trace, uint32_t id)
{
    return sxt_mlyze_find_stack(sxt_mlyze_metadata(trace->mlyze), id);
}

bool sxt_trace_stack(const sxt_trace *trace, uint32_t id, uint32_t *frame_count)
{
    const struct sxt_mlyze_stack *stack = find_stack(trace, id);
    *frame_count = stack != NULL ? stack->count : 0;
    return stack != NULL;
}

bool sxt_trace_get_frame(const sxt_trace *trace, uint32_t id, uint32_t index, sxt_trace_frame *out)
{
    const struct sxt_mlyze_stack *stack = find_stack(trace, id);
    if (stack == NULL || index >= stack->count)
        return false;
    const struct sxt_mlyze_frame *frame = sxt_mlyze_frame_at(sxt_mlyze_metadata(trace->mlyze), stack, index);
    *out = (sxt_trace_frame){
        .function = sxt_trace_function_name(trace, frame->function),
        .file = sxt_trace_file_name(trace, frame->file),
        .function_id = frame->function,
        .file_id = frame->file,
        .line = frame->line,
    };
    return true;
}

uint32_t sxt_trace_same_stack(const sxt_trace *trace, uint32_t stack)
{
    return sxt_mlyze_same_stack(sxt_mlyze_metadata(trace->mlyze), stack);
}

sxt_string sxt_trace_function_name(const sxt_trace *trace, uint32_t id)
{
    return sxt_mlyze_find_function(sxt_mlyze_metadata(trace->mlyze), id);
}

sxt_string sxt_trace_file_name(const sxt_trace *trace, uint32_t id)
{
    return sxt_mlyze_find_file(sxt_mlyze_metadata(trace->mlyze), id);
}

sxt_string sxt_trace_thread_name(const sxt_trace *trace, uint32_t thread)
{
    char key[16];
    snprintf(key, sizeof key, "%u", thread);
    const struct sxt_json *name =
        sxt_json_member(sxt_json_member(sxt_mlyze_metadata(trace->mlyze)->root, "threads"), key);
    return name != NULL && name->type == SXT_JSON_STRING ? name->string : (sxt_string){NULL, 0};
}

sxt_string sxt_trace_metadata(const sxt_trace *trace)
{
    return sxt_mlyze_metadata_text(trace->mlyze);
}

/* --- events --- */

int sxt_trace_visit_events(const sxt_trace *trace,
                           bool (*visit)(void *data, const sxt_trace_event *events, size_t count), void *data,
                           sxt_trace_oddities *oddities, sxt_error *error)
{
    const struct sxt_mlyze_metadata *metadata = sxt_mlyze_metadata(trace->mlyze);
    sxt_trace_event events[BATCH];
    struct sxt_mlyze_cursor *cursor;
    sxt_error again;
    size_t count = 0;
    int status = sxt_mlyze_cursor_open(trace->mlyze, &cursor, error);
    bool goes_on = status == SXT_OK;
    uint64_t time = sxt_mlyze_header(trace->mlyze)->start_us;
    while (goes_on) {
        uint64_t offset = sxt_mlyze_offset(cursor);
        int read = sxt_mlyze_read(cursor, events, BATCH, &count, status == SXT_OK ? error : &again);
        status = status == SXT_OK ? read : status;
        goes_on = read == SXT_OK ? count > 0 : sxt_mlyze_skip_damage(cursor, NULL);
        if (read != SXT_OK || count == 0)
            continue;
        sxt_mlyze_fill_offsets(cursor, offset, time, events, count);
        time = events[count - 1].time;
        if (oddities != NULL)
            sxt_mlyze_count_oddities(metadata, events, count, oddities);
        goes_on = visit(data, events, count);
    }
    if (status == SXT_OK && count == 0)
        status = sxt_mlyze_check_sums(trace->mlyze, error);
    sxt_mlyze_cursor_close(&cursor);
    return status;
}
