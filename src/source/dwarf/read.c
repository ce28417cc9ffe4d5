/* read.c: reads all units of a file, on several threads, into the model. */
#include "source/dwarf/dwarf.h"

#include <elf.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/pool.h"
#include "source/dwarf/private.h"

#define THREADS_WANTED 16
/* Bytes of .debug_info that justify a thread. */
#define WORTH_A_THREAD ((size_t)256 << 10)
/* How many damaged units get a warning of their own. */
#define WARNINGS_MAX 5
/* How many bytes of .debug_info stay in memory after they were read, at least. */
#define DROP_STEP ((size_t)8 << 20)
/* Strings ahead of the one that is added whose place in the table is requested from memory. */
#define AHEAD 16
/* Characters of the name of a missing file in a warning. */
#define NAME_SHOWN ((size_t)100)

/* State while units are read. */
struct reading {
    struct sxt_dwarf *dwarf;
    const bool *wanted;
    struct dwarf_worker *workers;
    struct dwarf_outcome *outcomes; /* by unit */
    atomic_size_t done;             /* bytes of .debug_info */
    size_t total;
    atomic_size_t dropped; /* bytes at the start of .debug_info that were removed from memory again */
};

static int read_item(void *context, unsigned worker, size_t item);
static void drop_section(const struct sxt_dwarf *dwarf, enum dwarf_section kind, size_t from, size_t until);
static int join(struct reading *reading, unsigned threads, struct sxt_symbols *symbols, sxt_error *error);
static void report(const struct reading *reading, struct sxt_symbols *symbols);

bool sxt_dwarf_is_in(const struct sxt_elf *elf)
{
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".debug_info");
    if (section == NULL)
        section = sxt_elf_section_named(elf, ".zdebug_info");
    return section != NULL && section->type != SHT_NOBITS;
}

int sxt_dwarf_open(struct sxt_elf *elf, const struct sxt_dwarf_settings *settings, struct sxt_dwarf **out,
                   sxt_error *error)
{
    *out = NULL;
    struct sxt_dwarf *dwarf = calloc(1, sizeof *dwarf);
    if (dwarf == NULL)
        return sxt_fail_memory(error, sizeof *dwarf);
    dwarf->elf = elf;
    dwarf->settings = *settings;
    dwarf->dead = sxt_dwarf_dead_of(elf);
    unsigned threads = sxt_pool_threads(settings->options->threads);
    int status = sxt_dwarf_load_sections(&dwarf->main, elf, false, threads, error);
    if (status == SXT_OK)
        status = sxt_dwarf_find_units(&dwarf->main, error);
    if (status != SXT_OK) {
        sxt_dwarf_close(&dwarf);
        return status;
    }
    sxt_dwarf_open_alternate(dwarf);
    sxt_dwarf_open_package(dwarf);
    if (dwarf->alternate.is_open)
        dwarf->main.alternate = &dwarf->alternate.dwarf;
    *out = dwarf;
    return SXT_OK;
}

void sxt_dwarf_close(struct sxt_dwarf **dwarf)
{
    if (*dwarf == NULL)
        return;
    sxt_dwarf_external_close(&(*dwarf)->alternate);
    sxt_dwarf_external_close(&(*dwarf)->package);
    free((*dwarf)->main.units);
    free((*dwarf)->extents);
    free((*dwarf)->reach);
    free((*dwarf)->unknown);
    free((*dwarf)->line_tables);
    free(*dwarf);
    *dwarf = NULL;
}

void sxt_dwarf_warn(const struct sxt_dwarf *dwarf, const char *format, ...)
{
    const sxt_extract_options *options = dwarf->settings.options;
    if (options->warning == NULL)
        return;
    char text[200];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    sxt_error problem;
    sxt_fail(&problem, SXT_ERROR_FORMAT, SXT_NO_OFFSET, "%s", text);
    options->warning(options->warning_data, &problem);
}

size_t sxt_dwarf_unit_count(const struct sxt_dwarf *dwarf)
{
    return dwarf->main.info_unit_count;
}

int sxt_dwarf_read(struct sxt_dwarf *dwarf, const bool *wanted, struct sxt_symbols *symbols, sxt_error *error)
{
    size_t count = dwarf->main.info_unit_count;
    struct reading reading = {.dwarf = dwarf, .wanted = wanted};
    for (size_t i = 0; i < count; i++)
        if (wanted == NULL || wanted[i])
            reading.total += (size_t)(dwarf->main.units[i].end - dwarf->main.units[i].offset);
    unsigned threads = sxt_pool_threads(dwarf->settings.options->threads);
    size_t worth = reading.total / WORTH_A_THREAD + 1;
    threads = threads < THREADS_WANTED ? threads : THREADS_WANTED;
    threads = dwarf->package.is_open || threads < worth ? threads : (unsigned)worth;
    reading.workers = calloc(threads, sizeof *reading.workers);
    reading.outcomes = calloc(count + 1, sizeof *reading.outcomes);
    int status = SXT_OK;
    if (reading.workers == NULL || reading.outcomes == NULL)
        status = sxt_fail_memory(error, (count + 1) * sizeof *reading.outcomes);
    unsigned ready = 0;
    for (; ready < threads && status == SXT_OK; ready++)
        if (!sxt_dwarf_worker_init(&reading.workers[ready], dwarf, error))
            status = SXT_ERROR_MEMORY;
    if (status == SXT_OK && sxt_pool_run(threads, count, read_item, &reading) != SXT_OK)
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading DWARF");
    if (status == SXT_OK)
        status = join(&reading, threads, symbols, error);
    if (status == SXT_OK)
        report(&reading, symbols);
    for (int kind = 0; kind < DWARF_SECTION_COUNT && wanted == NULL; kind++)
        drop_section(dwarf, (enum dwarf_section)kind, 0, dwarf->main.sections[kind].size);
    for (unsigned i = 0; i < ready; i++)
        sxt_dwarf_worker_free(&reading.workers[i]);
    free(reading.workers);
    free(reading.outcomes);
    return status;
}

/* Removes a section from memory again if it is in a mapped file. */
static void drop_section(const struct sxt_dwarf *dwarf, enum dwarf_section kind, size_t from, size_t until)
{
    const struct sxt_elf *elf = dwarf->elf;
    const struct dwarf_bytes *section = &dwarf->main.sections[kind];
    uintptr_t start = (uintptr_t)section->data, file = (uintptr_t)elf->data;
    /* An inflated or relocated section is elsewhere. */
    if (elf->is_mapped && section->size > 0 && start >= file && start - file < elf->size && from < until)
        sxt_file_drop_pages(section->data + from, until - from);
}

/* Units are read in order, so what is far before OFFSET is not needed again, except for a name now and then. */
static void drop_read_units(struct reading *reading, size_t offset)
{
    size_t dropped = atomic_load(&reading->dropped);
    size_t until = offset > DROP_STEP ? offset - DROP_STEP : 0;
    if (until < dropped + DROP_STEP || !atomic_compare_exchange_strong(&reading->dropped, &dropped, until))
        return;
    drop_section(reading->dwarf, DWARF_INFO, dropped, until);
}

static int read_item(void *context, unsigned worker, size_t item)
{
    struct reading *reading = context;
    const struct sxt_dwarf *dwarf = reading->dwarf;
    const struct dwarf_unit *unit = &dwarf->main.units[item];
    struct dwarf_outcome *outcome = &reading->outcomes[item];
    outcome->worker = worker;
    outcome->broken_at = UINT64_MAX;
    if (reading->wanted != NULL && !reading->wanted[item])
        return SXT_OK;
    if (!sxt_dwarf_read_unit(&reading->workers[worker], unit, outcome))
        return SXT_ERROR_MEMORY;
    if (reading->wanted == NULL)
        drop_read_units(reading, (size_t)unit->offset);
    size_t size = (size_t)(unit->end - unit->offset);
    size_t done = atomic_fetch_add(&reading->done, size) + size;
    /* Worker 0 is the calling thread, so callbacks are called on that thread. */
    const sxt_extract_options *options = dwarf->settings.options;
    if (worker == 0 && options->progress != NULL)
        options->progress(options->progress_data, done, reading->total);
    return SXT_OK;
}

/* State while the results are copied into the model, unit by unit. */
struct joining {
    const struct reading *reading;
    struct sxt_symbols *symbols;
    uint32_t **numbers;  /* by worker: the model's number of each of its strings */
    size_t *first_range; /* by unit */
    size_t *first_line;
};

static int copy_unit(void *context, unsigned worker, size_t item)
{
    (void)worker;
    const struct joining *joining = context;
    const struct dwarf_outcome *outcome = &joining->reading->outcomes[item];
    const struct dwarf_output *output = &joining->reading->workers[outcome->worker].output;
    const uint32_t *numbers = joining->numbers[outcome->worker];
    struct sxt_model_range *ranges = joining->symbols->ranges + joining->first_range[item];
    struct sxt_model_line *lines = joining->symbols->lines + joining->first_line[item];
    for (uint32_t i = 0; i < outcome->range_count; i++) {
        ranges[i] = output->ranges[outcome->first_range + i];
        ranges[i].function = numbers[ranges[i].function];
        ranges[i].file = numbers[ranges[i].file];
        ranges[i].call_file = numbers[ranges[i].call_file];
        ranges[i].first_line = (uint32_t)(ranges[i].first_line - outcome->first_line + joining->first_line[item]);
    }
    for (uint32_t i = 0; i < outcome->line_count; i++) {
        lines[i] = output->lines[outcome->first_line + i];
        lines[i].file = numbers[lines[i].file];
    }
    return SXT_OK;
}

/* Makes room in the model for the results of the workers. Returns false if out of memory. */
static bool make_room(struct joining *joining)
{
    struct sxt_symbols *symbols = joining->symbols;
    size_t count = joining->reading->dwarf->main.info_unit_count;
    size_t ranges = symbols->range_count, lines = symbols->line_count;
    for (size_t i = 0; i < count; i++) {
        joining->first_range[i] = ranges;
        joining->first_line[i] = lines;
        ranges += joining->reading->outcomes[i].range_count;
        lines += joining->reading->outcomes[i].line_count;
    }
    if (ranges >= UINT32_MAX || lines >= UINT32_MAX)
        return false;
    struct sxt_model_range *all_ranges = realloc(symbols->ranges, (ranges + 1) * sizeof *all_ranges);
    if (all_ranges == NULL)
        return false;
    symbols->ranges = all_ranges;
    symbols->range_capacity = ranges + 1;
    struct sxt_model_line *all_lines = realloc(symbols->lines, (lines + 1) * sizeof *all_lines);
    if (all_lines == NULL)
        return false;
    symbols->lines = all_lines;
    symbols->line_capacity = lines + 1;
    symbols->range_count = ranges;
    symbols->line_count = lines;
    return true;
}

/* Unit by unit, so that the numbers do not depend on which thread read which unit. */
static bool join_strings(struct joining *joining, unsigned threads)
{
    const struct reading *reading = joining->reading;
    size_t most = joining->symbols->strings.count;
    for (unsigned i = 0; i < threads; i++) {
        uint32_t count = reading->workers[i].names.strings.count;
        most = count > most ? count : most;
        joining->numbers[i] = calloc((size_t)count + 1, sizeof *joining->numbers[i]);
        if (joining->numbers[i] == NULL)
            return false;
    }
    sxt_strings_reserve(&joining->symbols->strings, most);
    for (size_t unit = 0; unit < reading->dwarf->main.info_unit_count; unit++) {
        const struct dwarf_outcome *outcome = &reading->outcomes[unit];
        const struct sxt_strings *strings = &reading->workers[outcome->worker].names.strings;
        for (uint32_t i = outcome->first_string; i < outcome->string_end; i++) {
            if (i + AHEAD < outcome->string_end)
                sxt_strings_prefetch(&joining->symbols->strings, strings->hashes[i + AHEAD]);
            uint32_t number = sxt_strings_add_from(&joining->symbols->strings, strings, i);
            if (number == SXT_STRINGS_FULL)
                return false;
            joining->numbers[outcome->worker][i] = number;
        }
    }
    return true;
}

/* In any order: users of variables sort them. */
static bool join_variables(struct joining *joining, unsigned threads)
{
    struct sxt_symbols *symbols = joining->symbols;
    for (unsigned i = 0; i < threads; i++) {
        const struct dwarf_output *output = &joining->reading->workers[i].output;
        struct sxt_model_variable *variables =
            sxt_array_grow(symbols->variables, &symbols->variable_capacity,
                           symbols->variable_count + output->variable_count + 1, sizeof *variables);
        if (variables == NULL)
            return false;
        symbols->variables = variables;
        for (size_t k = 0; k < output->variable_count; k++)
            variables[symbols->variable_count++] = (struct sxt_model_variable){
                output->variables[k].address, joining->numbers[i][output->variables[k].file],
                output->variables[k].is_thread_local, joining->numbers[i][output->variables[k].function]};
    }
    return true;
}

/* In any order: the model sorts them. */
static bool join_calls(struct joining *joining, unsigned threads)
{
    struct sxt_symbols *symbols = joining->symbols;
    for (unsigned i = 0; i < threads; i++) {
        const struct dwarf_output *output = &joining->reading->workers[i].output;
        for (size_t k = 0; k < output->call_count; k++)
            sxt_symbols_add_call(symbols, output->calls[k].return_address,
                                 joining->numbers[i][output->calls[k].function]);
    }
    return !symbols->failed;
}

static int join(struct reading *reading, unsigned threads, struct sxt_symbols *symbols, sxt_error *error)
{
    size_t count = reading->dwarf->main.info_unit_count;
    struct joining joining = {.reading = reading, .symbols = symbols};
    joining.numbers = calloc(threads, sizeof *joining.numbers);
    joining.first_range = malloc((count + 1) * sizeof *joining.first_range);
    joining.first_line = malloc((count + 1) * sizeof *joining.first_line);
    int status = SXT_OK;
    if (joining.numbers == NULL || joining.first_range == NULL || joining.first_line == NULL ||
        !join_strings(&joining, threads) || !join_variables(&joining, threads) || !join_calls(&joining, threads) ||
        !make_room(&joining))
        status = sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading DWARF");
    else
        sxt_pool_run(threads, count, copy_unit, &joining);
    for (unsigned i = 0; i < threads && joining.numbers != NULL; i++)
        free(joining.numbers[i]);
    free(joining.numbers);
    free(joining.first_range);
    free(joining.first_line);
    return status;
}

/* Reports the units whose split unit was not found, with the first of their files. Returns how many there are. */
static uint64_t report_missing(const struct reading *reading)
{
    uint64_t missing = 0;
    sxt_string name = {NULL, 0};
    for (size_t i = 0; i < reading->dwarf->main.info_unit_count; i++) {
        const struct dwarf_outcome *outcome = &reading->outcomes[i];
        missing += outcome->missing_split;
        if (outcome->missing_split && name.size == 0)
            name = outcome->split_name;
    }
    /* The end of a long path says more than its start. */
    size_t shown = name.size < NAME_SHOWN ? name.size : NAME_SHOWN;
    if (missing > 0)
        sxt_dwarf_warn(
            reading->dwarf,
            "DWARF: found no matching .dwo or .dwp file for %llu unit%s ('%s%.*s'%s): no inlined calls there",
            (unsigned long long)missing, missing == 1 ? "" : "s", shown < name.size ? "..." : "", (int)shown,
            shown > 0 ? name.data + (name.size - shown) : "", missing == 1 ? "" : " and others");
    return missing;
}

/* Reports the first few damaged units, and how many there are. */
static void report(const struct reading *reading, struct sxt_symbols *symbols)
{
    const struct sxt_dwarf *dwarf = reading->dwarf;
    uint64_t broken = dwarf->main.bad_count;
    unsigned reported = 0;
    if (broken > 0)
        sxt_dwarf_warn(dwarf, "DWARF: the unit at 0x%llx of .debug_info has an invalid header",
                       (unsigned long long)dwarf->main.bad_header);
    for (size_t i = 0; i < dwarf->main.info_unit_count; i++) {
        const struct dwarf_outcome *outcome = &reading->outcomes[i];
        bool is_broken =
            outcome->broken_at != UINT64_MAX || outcome->broken_lines || outcome->broken_ranges || outcome->exhausted;
        if (!is_broken)
            continue;
        broken++;
        if (reported++ >= WARNINGS_MAX)
            continue;
        unsigned long long offset = dwarf->main.units[i].offset;
        if (outcome->exhausted)
            sxt_dwarf_warn(
                dwarf, "DWARF: the unit at 0x%llx of .debug_info refers to too much data; the rest is ignored", offset);
        else if (outcome->broken_at != UINT64_MAX)
            sxt_dwarf_warn(dwarf, "DWARF: the unit at 0x%llx of .debug_info is damaged at 0x%llx; the rest is ignored",
                           offset, (unsigned long long)outcome->broken_at);
        else
            sxt_dwarf_warn(dwarf, "DWARF: the unit at 0x%llx of .debug_info has a damaged %s; the rest is ignored",
                           offset, outcome->broken_lines ? "line table" : "list of ranges");
    }
    if (reported > WARNINGS_MAX || dwarf->main.bad_count > 1)
        sxt_dwarf_warn(dwarf, "DWARF: %llu damaged units in total", (unsigned long long)broken);
    symbols->units.read += dwarf->main.info_unit_count;
    symbols->units.damaged += broken;
    symbols->units.missing += report_missing(reading);
}
