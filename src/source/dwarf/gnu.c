/* gnu.c: looks up addresses as GNU addr2line does; units are read when needed. */
#include "source/dwarf/gnu.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"

#define THREADS_WANTED 16
/* Bytes of .debug_info that are worth a thread. */
#define WORTH_A_THREAD ((size_t)256 << 10)
#define BUDGET_TIMES   16
#define BUDGET_MORE    ((uint64_t)16 << 20)
/* How many units may have code at one address. In a valid file, there are only a few. */
#define UNITS_MAX 256

/* The name for an invalid file number. */
static const sxt_string unknown_file = {"<unknown>", 9};

int sxt_gnu_dwarf_open(struct sxt_dwarf *dwarf, struct sxt_gnu_dwarf **out, sxt_error *error)
{
    *out = NULL;
    size_t count = dwarf->main.info_unit_count;
    struct sxt_gnu_dwarf *view = calloc(1, sizeof *view);
    if (view == NULL)
        return sxt_fail_memory(error, sizeof *view);
    view->dwarf = dwarf;
    view->units = calloc(count + 1, sizeof *view->units);
    view->is_read = calloc(count + 1, sizeof *view->is_read);
    view->first_user = calloc(count + 1, sizeof *view->first_user);
    view->unknown = calloc(count + 1, sizeof *view->unknown);
    sxt_dwarf_abbrevs_init(&view->abbrevs);
    uint64_t size = dwarf->main.sections[DWARF_INFO].size + dwarf->alternate.dwarf.sections[DWARF_INFO].size;
    int status = SXT_OK;
    if (view->units == NULL || view->is_read == NULL || view->first_user == NULL || view->unknown == NULL)
        status = sxt_fail_memory(error, (count + 1) * sizeof *view->units);
    else if (!sxt_dwarf_names_init(&view->names, true, &view->budget, error))
        status = SXT_ERROR_MEMORY;
    view->budget.left = size * BUDGET_TIMES + BUDGET_MORE;
    if (status != SXT_OK)
        sxt_gnu_dwarf_close(&view);
    *out = view;
    return status;
}

void sxt_gnu_dwarf_close(struct sxt_gnu_dwarf **view)
{
    struct sxt_gnu_dwarf *closing = *view;
    if (closing == NULL)
        return;
    for (size_t i = 0; closing->units != NULL && i < closing->dwarf->main.info_unit_count; i++)
        sxt_gnu_dwarf_unit_free(closing->units[i]);
    free(closing->units);
    free(closing->is_read);
    free(closing->first_user);
    free(closing->unknown);
    free(closing->variables.list);
    sxt_dwarf_names_free(&closing->names);
    sxt_dwarf_abbrevs_free(&closing->abbrevs);
    free(closing);
    *view = NULL;
}

/* State while units are read. */
struct loading {
    struct sxt_gnu_dwarf *view;
    const bool *wanted;
    struct gnu_worker *workers;
    /* The addresses whose names are needed, as a list for each unit. */
    const uint64_t *addresses;
    uint32_t *first; /* by unit: one more than the index of its first address; 0: none */
    uint32_t *next;  /* by address: the same for the next one of the unit */
};

static int load_item(void *context, unsigned worker, size_t item)
{
    struct loading *loading = context;
    struct sxt_gnu_dwarf *view = loading->view;
    if (!loading->wanted[item])
        return SXT_OK;
    if (!sxt_gnu_dwarf_unit_read(&loading->workers[worker], view->dwarf, item, &view->units[item]))
        return SXT_ERROR_MEMORY;
    view->is_read[item] = true;
    for (uint32_t at = loading->first[item]; at != 0 && view->units[item] != NULL; at = loading->next[at - 1])
        sxt_gnu_dwarf_name_frames(&loading->workers[worker], view->units[item], loading->addresses[at - 1]);
    return SXT_OK;
}

/* Reads the WANTED units. */
static int load_units(struct loading *loading, sxt_error *error)
{
    struct sxt_gnu_dwarf *view = loading->view;
    const bool *wanted = loading->wanted;
    size_t count = view->dwarf->main.info_unit_count, bytes = 0;
    for (size_t i = 0; i < count; i++)
        if (wanted[i])
            bytes += (size_t)(view->dwarf->main.units[i].end - view->dwarf->main.units[i].offset);
    if (bytes == 0)
        return SXT_OK;
    size_t worth = bytes / WORTH_A_THREAD + 1;
    unsigned threads = sxt_pool_threads(view->dwarf->settings.options->threads);
    if (threads > THREADS_WANTED)
        threads = THREADS_WANTED;
    threads = threads < worth ? threads : (unsigned)worth;
    loading->workers = calloc(threads, sizeof *loading->workers);
    if (loading->workers == NULL)
        return sxt_fail_memory(error, threads * sizeof *loading->workers);
    for (unsigned i = 0; i < threads; i++)
        sxt_gnu_dwarf_worker_init(&loading->workers[i], view->dwarf);
    int status = sxt_pool_run(threads, count, load_item, loading);
    for (unsigned i = 0; i < threads; i++)
        sxt_gnu_dwarf_worker_free(&loading->workers[i]);
    free(loading->workers);
    return status == SXT_OK ? SXT_OK
                            : sxt_fail(error, SXT_ERROR_MEMORY, SXT_NO_OFFSET, "out of memory while reading DWARF");
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    return first < second ? -1 : first > second;
}

/* Gets the units whose code contains ADDRESS and the units used for their line tables, in file order. */
static size_t units_at(const struct sxt_gnu_dwarf *view, uint64_t address, uint32_t units[UNITS_MAX])
{
    const struct sxt_dwarf *dwarf = view->dwarf;
    size_t count = 0;
    for (size_t k = sxt_dwarf_first_extent_after(dwarf, address);
         k > 0 && dwarf->reach[k - 1] > address && count < UNITS_MAX; k--)
        if (dwarf->extents[k - 1].end > address)
            units[count++] = dwarf->extents[k - 1].unit;
    for (size_t i = count; i > 0 && count < UNITS_MAX; i--)
        if (view->first_user[units[i - 1]] != units[i - 1])
            units[count++] = view->first_user[units[i - 1]];
    if (count > 1)
        qsort(units, count, sizeof *units, compare_numbers);
    return count;
}

/* Reads the root entries of all units. */
static int read_roots(struct sxt_gnu_dwarf *view, bool *scratch, sxt_error *error)
{
    if (view->is_ready)
        return SXT_OK;
    int status = sxt_dwarf_select_units(view->dwarf, NULL, 0, scratch, error);
    if (status != SXT_OK)
        return status;
    if (!sxt_gnu_dwarf_find_first_users(view))
        return sxt_fail_memory(error, view->dwarf->main.info_unit_count);
    for (size_t i = 0; i < view->dwarf->main.info_unit_count; i++)
        if (view->dwarf->unknown[i])
            view->unknown[view->unknown_count++] = (uint32_t)i;
    view->is_ready = true;
    return SXT_OK;
}

/* Finds the units that the addresses need. The first one that may have code at an address also gets it listed. */
static void assign_addresses(struct sxt_gnu_dwarf *view, struct loading *loading, size_t count, bool *wanted)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t units[UNITS_MAX];
        size_t unit_count = units_at(view, loading->addresses[i], units);
        for (size_t k = 0; k < unit_count; k++)
            wanted[units[k]] = !view->is_read[units[k]];
        if (unit_count == 0 || i >= UINT32_MAX - 1)
            continue;
        loading->next[i] = loading->first[units[0]];
        loading->first[units[0]] = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < view->unknown_count; i++)
        wanted[view->unknown[i]] = !view->is_read[view->unknown[i]];
}

int sxt_gnu_dwarf_load(struct sxt_gnu_dwarf *view, const uint64_t *addresses, size_t count, sxt_error *error)
{
    size_t unit_count = view->dwarf->main.info_unit_count;
    bool *wanted = calloc(unit_count + 1, sizeof *wanted);
    struct loading loading = {.view = view, .wanted = wanted, .addresses = addresses};
    loading.first = calloc(unit_count + 1, sizeof *loading.first);
    loading.next = calloc(count + 1, sizeof *loading.next);
    int status = SXT_OK;
    if (wanted == NULL || loading.first == NULL || loading.next == NULL)
        status = sxt_fail_memory(error, (unit_count + count) * sizeof *loading.next);
    if (status == SXT_OK)
        status = read_roots(view, wanted, error);
    if (status == SXT_OK) {
        memset(wanted, 0, unit_count * sizeof *wanted);
        assign_addresses(view, &loading, count, wanted);
        status = load_units(&loading, error);
    }
    free(wanted);
    free(loading.first);
    free(loading.next);
    return status;
}

struct gnu_unit *sxt_gnu_dwarf_unit_at(struct sxt_gnu_dwarf *view, size_t number)
{
    if (!view->is_read[number]) {
        struct gnu_worker worker;
        sxt_gnu_dwarf_worker_init(&worker, view->dwarf);
        view->is_read[number] = sxt_gnu_dwarf_unit_read(&worker, view->dwarf, number, &view->units[number]);
        sxt_gnu_dwarf_worker_free(&worker);
    }
    return view->units[number];
}

bool sxt_gnu_dwarf_enter(struct sxt_gnu_dwarf *view, const struct dwarf_unit *unit)
{
    if (view->entered == unit)
        return true;
    view->entered =
        sxt_dwarf_enter(&view->context, &view->root, &view->abbrevs, &view->dwarf->main, unit, NULL) ? unit : NULL;
    return view->entered != NULL;
}

/* --- lookups --- */

sxt_string sxt_gnu_dwarf_path(struct sxt_gnu_dwarf *view, struct gnu_unit *unit, uint32_t number)
{
    if (number == 0)
        return (sxt_string){NULL, 0};
    if (number > unit->lines.file_count)
        return unknown_file;
    if (unit->paths == NULL)
        unit->paths = calloc(unit->lines.file_count, sizeof *unit->paths);
    if (unit->paths == NULL)
        return unknown_file;
    uint32_t *path = &unit->paths[number - 1];
    if (*path == 0) {
        struct dwarf_root root = {.directory = unit->directory};
        *path = sxt_dwarf_file_name(&view->names, &unit->lines, &root, number - 1) + 1;
    }
    return *path > 1 ? sxt_strings_get(&view->names.strings, *path - 1) : unknown_file;
}

static bool find_in_unit(struct sxt_gnu_dwarf *view, struct gnu_unit *unit, uint64_t address,
                         struct sxt_gnu_dwarf_place *place)
{
    if (unit == NULL)
        return false;
    unit->was_searched = true;
    uint32_t function = sxt_gnu_dwarf_function_at(unit, address);
    const struct dwarf_row *row = dwarf_row_at(&unit->lines, address);
    if (function == DWARF_NONE && row == NULL)
        return false;
    if (function != DWARF_NONE)
        place->function = (struct sxt_gnu_dwarf_function){unit, function};
    if (row != NULL) {
        place->file = sxt_gnu_dwarf_path(view, unit, row->file);
        place->line = row->line;
        place->discriminator = row->discriminator;
    }
    return true;
}

/*
 * After a function there may be padding, which is in the line table but not in the ranges of the unit. GNU addr2line
 * finds it in the line tables that it has read so far: those of units used by earlier lookups.
 */
static bool find_in_padding(struct sxt_gnu_dwarf *view, uint64_t address, struct sxt_gnu_dwarf_place *place)
{
    const struct sxt_dwarf *dwarf = view->dwarf;
    size_t after = sxt_dwarf_first_extent_after(dwarf, address);
    for (size_t k = after; k > 0 && after - k < UNITS_MAX; k--) {
        if (dwarf->extents[k - 1].end != dwarf->reach[after - 1])
            continue;
        struct gnu_unit *unit = view->units[view->first_user[dwarf->extents[k - 1].unit]];
        return unit != NULL && unit->was_searched && find_in_unit(view, unit, address, place);
    }
    return false;
}

bool sxt_gnu_dwarf_find(struct sxt_gnu_dwarf *view, uint64_t address, struct sxt_gnu_dwarf_place *place)
{
    uint32_t units[UNITS_MAX];
    *place = (struct sxt_gnu_dwarf_place){.line = 0};
    size_t count = view->is_ready ? units_at(view, address, units) : 0;
    for (size_t i = 0; i < count; i++)
        if (find_in_unit(view, view->units[units[i]], address, place))
            return true;
    if (count == 0 && view->is_ready && find_in_padding(view, address, place))
        return true;
    for (size_t i = 0; i < view->unknown_count; i++)
        if (find_in_unit(view, view->units[view->unknown[i]], address, place))
            return true;
    return false;
}

/* --- names and frames --- */

sxt_string sxt_gnu_dwarf_name(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_function which, bool *is_linkage)
{
    struct gnu_function *function = &which.unit->functions[which.number];
    if (!function->is_named && sxt_gnu_dwarf_enter(view, which.unit->header)) {
        uint32_t number = sxt_dwarf_function_name(&view->names, &view->context, &view->root, NULL, function->origin,
                                                  function->origin_is_alternate, &function->is_linkage);
        function->name = sxt_strings_get(&view->names.strings, number);
    }
    function->is_named = true;
    *is_linkage = function->is_linkage;
    return function->name.size > 0 ? function->name : (sxt_string){NULL, 0};
}

void sxt_gnu_dwarf_set_name(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_function which, sxt_string name)
{
    struct gnu_function *function = &which.unit->functions[which.number];
    uint32_t number = name.data != NULL ? sxt_strings_add(&view->names.strings, name.data, name.size) : 0;
    function->name = sxt_strings_get(&view->names.strings, number != SXT_STRINGS_FULL ? number : 0);
    function->is_linkage = true;
}

uint64_t sxt_gnu_dwarf_start(struct sxt_gnu_dwarf_function which)
{
    return which.unit->functions[which.number].start;
}

bool sxt_gnu_dwarf_caller(struct sxt_gnu_dwarf *view, struct sxt_gnu_dwarf_place *place)
{
    struct gnu_unit *unit = place->function.unit;
    if (unit == NULL || unit->functions[place->function.number].parent == DWARF_NONE)
        return false;
    const struct gnu_function *function = &unit->functions[place->function.number];
    place->file = sxt_gnu_dwarf_path(view, unit, function->call_file);
    place->line = function->call_line;
    place->function.number = function->parent;
    return true;
}
