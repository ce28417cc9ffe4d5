/*
 * extract.c: makes the model of an ELF file: which sources exist, and in which order they are read.
 *
 * A source that cannot be read gives a warning, and the others are still used. It is an error only if no source gave
 * anything; then it is the error of the first source that failed.
 */
#include "source/extract.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file_id.h"
#include "base/inflate.h"
#include "base/options.h"
#include "base/task.h"
#include "source/debug_file.h"
#include "source/dwarf/dwarf.h"
#include "source/elf/elf.h"
#include "source/go/go.h"
#include "source/lidia_reference.h"

#define DEFAULT_INFLATE_LIMIT ((uint64_t)4 << 30)
#define MINI_DEBUG_INFO_TIMES 64
#define MINI_DEBUG_INFO_MORE  ((uint64_t)64 << 20)

/* A symbol table that is worth a thread has at least as many bytes. */
#define WORTH_A_THREAD ((uint64_t)256 << 10)
/* Symbol tables (three and those of MiniDebugInfo), and the table of Go. */
#define FAILURES_MAX 8

/* What is read besides DWARF, at the same time. */
struct tables {
    struct sxt_task task;
    bool is_started;
    struct sxt_symbols *symbols;
    sxt_error failures[FAILURES_MAX];
    size_t failure_count;
};

/* State of one extraction. */
struct extraction {
    const sxt_extract_options *options;
    struct sxt_elf *elf;
    struct sxt_debug_file debug;
    struct sxt_symbols *symbols;
    struct tables tables;
    sxt_error first_failure; /* of a source; its code is SXT_OK if none failed */
};

static int read_all(struct extraction *extraction, const char *path, sxt_error *error);
static void describe_file(struct extraction *extraction, const char *path);
static bool wants_debug_file(const struct extraction *extraction);
static int read_dwarf(struct extraction *extraction, const char *path, sxt_error *error);
static int start_tables(struct extraction *extraction, unsigned threads, sxt_error *error);
static int take_tables(struct extraction *extraction, sxt_error *error);
static void free_tables(struct extraction *extraction);
static void read_symbol_tables(struct extraction *extraction);
static void read_mini_debug_info(struct extraction *extraction);
static void read_go(struct extraction *extraction);

void sxt_extract_options_init(sxt_extract_options *options)
{
    memset(options, 0, sizeof *options);
    options->struct_size = sizeof *options;
    options->sources = SXT_SOURCE_ALL;
    options->inflate_limit = DEFAULT_INFLATE_LIMIT;
}

int sxt_extract_options_take(sxt_extract_options *out, const sxt_extract_options *given, sxt_error *error)
{
    sxt_extract_options_init(out);
    return sxt_options_take(out, sizeof *out, given, "sxt_extract_options_init", error);
}

int sxt_extract(const struct sxt_file *file, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                sxt_error *error)
{
    *out = NULL;
    struct sxt_elf elf;
    int status = sxt_elf_open(&elf, file->data, file->size, options->inflate_limit, error);
    if (status != SXT_OK)
        return status;
    elf.is_mapped = file->owner == SXT_FILE_MAPPED;
    status = sxt_extract_elf(&elf, path, options, out, error);
    sxt_elf_close(&elf);
    return status;
}

int sxt_extract_elf(struct sxt_elf *elf, const char *path, const sxt_extract_options *options, sxt_symbols **out,
                    sxt_error *error)
{
    *out = NULL;
    struct extraction extraction = {.options = options, .elf = elf};
    int status = sxt_symbols_new(&extraction.symbols, error);
    if (status == SXT_OK) {
        status = read_all(&extraction, path, error);
        free_tables(&extraction);
        sxt_debug_file_close(&extraction.debug);
    }
    if (status == SXT_OK)
        *out = extraction.symbols;
    else
        sxt_symbols_free(&extraction.symbols);
    return status;
}

static int extract_and_close(struct sxt_file *file, const char *path, const sxt_extract_options *given,
                             sxt_symbols **out, sxt_error *error)
{
    sxt_extract_options options;
    int status = sxt_extract_options_take(&options, given, error);
    if (status == SXT_OK)
        status = sxt_file_inflate(file, options.inflate_limit, error);
    if (status == SXT_OK)
        status = sxt_extract(file, path, &options, out, error);
    sxt_file_close(file);
    return status;
}

int sxt_symbols_from_path(const char *path, const sxt_extract_options *options, sxt_symbols **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_file file;
    int status = sxt_file_open(&file, path, error);
    return status == SXT_OK ? extract_and_close(&file, path, options, out, error) : status;
}

int sxt_symbols_from_fd(int fd, const sxt_extract_options *options, sxt_symbols **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_file file;
    int status = sxt_file_open_fd(&file, fd, error);
    return status == SXT_OK ? extract_and_close(&file, NULL, options, out, error) : status;
}

int sxt_symbols_from_memory(const void *data, size_t size, const sxt_extract_options *options, sxt_symbols **out,
                            sxt_error *error)
{
    *out = NULL;
    struct sxt_file file;
    sxt_file_from_memory(&file, data, size);
    return extract_and_close(&file, NULL, options, out, error);
}

static int read_all(struct extraction *extraction, const char *path, sxt_error *error)
{
    const sxt_extract_options *options = extraction->options;
    struct sxt_symbols *symbols = extraction->symbols;
    describe_file(extraction, path);
    symbols->threads = options->threads;
    symbols->may_be_folded = sxt_elf_may_be_folded(extraction->elf);
    symbols->cannot_be_folded = sxt_elf_cannot_be_folded(extraction->elf);
    if (options->flags & SXT_EXTRACT_REFERENCE) {
        int status = sxt_lidia_reference_read(extraction->elf, options->sources, symbols, error);
        return status == SXT_OK ? sxt_symbols_finish_raw(symbols, error) : status;
    }
    int status = SXT_OK;
    if (wants_debug_file(extraction))
        status = sxt_debug_file_open(extraction->elf, path, options, &extraction->debug, error);
    if (status == SXT_OK && (options->sources & SXT_SOURCE_DWARF))
        status = read_dwarf(extraction, path, error);
    if (status == SXT_OK)
        status = take_tables(extraction, error);
    if (status != SXT_OK)
        return status;
    if (symbols->symbol_count == 0 && symbols->range_count == 0 && extraction->first_failure.code != SXT_OK) {
        if (error != NULL)
            *error = extraction->first_failure;
        return extraction->first_failure.code;
    }
    symbols->extend_zero_size = (options->flags & SXT_EXTRACT_EXTEND_ZERO_SIZE) != 0;
    return sxt_symbols_finish(symbols, error);
}

/* The identity of the file. Lookups, which know their addresses, do not need it. */
static void identify_file(struct extraction *extraction, const char *path)
{
    const struct sxt_elf *elf = extraction->elf;
    struct sxt_symbols *symbols = extraction->symbols;
    struct sxt_model_module *module = &symbols->module;
    const char *arch = sxt_elf_arch(elf);
    if (arch != NULL)
        memcpy(module->arch, arch, strlen(arch));
    module->build_id_size = sxt_elf_build_id(elf, module->build_id, sizeof module->build_id);
    module->is_relocatable = elf->type == ET_REL;
    const struct sxt_elf_section *text = sxt_elf_section_named(elf, ".text");
    if (module->is_relocatable && text != NULL)
        module->text = text->address;
    /* A debug file has no bytes of code. Its offsets and its FileID are not those of the binary. */
    module->no_offsets = text != NULL && text->type == SHT_NOBITS;
    if (extraction->options->addresses != NULL)
        return;
    if (!module->no_offsets) {
        sxt_file_id_compute(elf->data, elf->size, module->file_id);
        module->has_file_id = true;
    }
    bool has_path = path != NULL && path[0] != '\0' && strcmp(path, "-") != 0;
    if (has_path && (module->path = strdup(path)) == NULL)
        symbols->failed = true;
}

/* The flags of a segment with this section. */
static uint32_t flags_of(const struct sxt_elf_section *section)
{
    return PF_R | (section->flags & SHF_WRITE ? PF_W : 0) | (section->flags & SHF_EXECINSTR ? PF_X : 0);
}

static void describe_file(struct extraction *extraction, const char *path)
{
    struct sxt_elf *elf = extraction->elf;
    struct sxt_symbols *symbols = extraction->symbols;
    identify_file(extraction, path);
    if (sxt_dwarf_is_in(elf))
        symbols->sources |= SXT_SOURCE_DWARF;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct sxt_elf_segment *segment = &elf->segments[i];
        if (segment->type == PT_LOAD)
            sxt_symbols_add_segment(symbols, &(struct sxt_model_segment){.offset = segment->offset,
                                                                         .file_size = segment->file_size,
                                                                         .address = segment->address,
                                                                         .memory_size = segment->memory_size,
                                                                         .flags = segment->flags});
    }
    if (elf->type != ET_REL)
        return;
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) == 0)
            continue;
        sxt_symbols_add_base(symbols, sxt_symbols_string(symbols, section->name.data, section->name.size),
                             section->address);
        /* A relocatable file has no segments; its sections take their place. */
        if (section->type != SHT_NOBITS)
            sxt_symbols_add_segment(symbols, &(struct sxt_model_segment){.offset = section->offset,
                                                                         .file_size = section->size,
                                                                         .address = section->address,
                                                                         .memory_size = section->size,
                                                                         .flags = flags_of(section)});
    }
}

/* A debug file is not needed for a binary that still has everything requested. */
static bool wants_debug_file(const struct extraction *extraction)
{
    uint32_t sources = extraction->options->sources;
    return extraction->options->debug_path != NULL ||
           ((sources & SXT_SOURCE_SYMTAB) && sxt_elf_section_typed(extraction->elf, SHT_SYMTAB) == NULL) ||
           ((sources & SXT_SOURCE_DWARF) && !sxt_dwarf_is_in(extraction->elf));
}

/* Reads DWARF from the file itself, otherwise from its debug file. A debug file given by the caller comes first. */
static int read_dwarf(struct extraction *extraction, const char *path, sxt_error *error)
{
    const sxt_extract_options *options = extraction->options;
    struct sxt_elf *elf = extraction->elf;
    bool elsewhere = extraction->debug.found && sxt_dwarf_is_in(&extraction->debug.elf);
    if (elsewhere && (options->debug_path != NULL || !sxt_dwarf_is_in(elf))) {
        elf = &extraction->debug.elf;
        path = extraction->debug.path;
    }
    if (!sxt_dwarf_is_in(elf))
        return SXT_OK;
    struct sxt_dwarf_settings settings = {.path = path,
                                          .options = options,
                                          .details = (options->flags & SXT_EXTRACT_DETAILS) != 0,
                                          .calls = extraction->symbols->may_be_folded};
    struct sxt_dwarf *dwarf;
    int status = sxt_dwarf_open(elf, &settings, &dwarf, error);
    if (status != SXT_OK)
        return status;
    bool *wanted = NULL;
    if (options->addresses != NULL) {
        wanted = malloc(sxt_dwarf_unit_count(dwarf) + 1);
        status = wanted == NULL
                     ? sxt_fail_memory(error, sxt_dwarf_unit_count(dwarf))
                     : sxt_dwarf_select_units(dwarf, options->addresses, options->address_count, wanted, error);
    }
    if (status == SXT_OK)
        status = start_tables(extraction, options->threads, error);
    if (status == SXT_OK)
        status = sxt_dwarf_read(dwarf, wanted, extraction->symbols, error);
    free(wanted);
    sxt_dwarf_close(&dwarf);
    return status;
}

/* Everything besides DWARF. This may be on another thread, so problems are noted and reported later. */
static void read_tables(void *context)
{
    struct extraction *extraction = context;
    read_symbol_tables(extraction);
    if (extraction->options->sources & SXT_SOURCE_GO)
        read_go(extraction);
    if (!extraction->tables.symbols->failed && sxt_symbols_order(extraction->tables.symbols, NULL) != SXT_OK)
        extraction->tables.symbols->failed = true;
}

/* DWARF is open: from here on its reader does not get sections of the same file. */
static int start_tables(struct extraction *extraction, unsigned threads, sxt_error *error)
{
    struct tables *tables = &extraction->tables;
    int status = sxt_symbols_new(&tables->symbols, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_elf_section *section = sxt_elf_section_typed(extraction->elf, SHT_SYMTAB);
    if (section == NULL && extraction->debug.found)
        section = sxt_elf_section_typed(&extraction->debug.elf, SHT_SYMTAB);
    bool is_large = section != NULL && section->size >= WORTH_A_THREAD;
    sxt_task_start(&tables->task, is_large ? threads : 1, read_tables, extraction);
    tables->is_started = true;
    return SXT_OK;
}

static void report(struct extraction *extraction, const sxt_error *problem)
{
    if (extraction->first_failure.code == SXT_OK)
        extraction->first_failure = *problem;
    if (extraction->options->warning != NULL)
        extraction->options->warning(extraction->options->warning_data, problem);
}

/* Adds what the tables have to what DWARF has. */
static int take_tables(struct extraction *extraction, sxt_error *error)
{
    struct tables *tables = &extraction->tables;
    int status = tables->is_started ? SXT_OK : start_tables(extraction, 1, error);
    if (status != SXT_OK)
        return status;
    sxt_task_finish(&tables->task);
    tables->is_started = false;
    for (size_t i = 0; i < tables->failure_count; i++)
        report(extraction, &tables->failures[i]);
    sxt_symbols_append(extraction->symbols, tables->symbols);
    sxt_symbols_free(&tables->symbols);
    return SXT_OK;
}

static void free_tables(struct extraction *extraction)
{
    if (extraction->tables.is_started)
        sxt_task_drop(&extraction->tables.task);
    sxt_symbols_free(&extraction->tables.symbols);
}

static void note_failure(struct extraction *extraction, const sxt_error *problem)
{
    struct tables *tables = &extraction->tables;
    if (tables->failure_count < FAILURES_MAX)
        tables->failures[tables->failure_count++] = *problem;
}

/* A valid file has at most one table of each type; more would waste time and memory. */
static void read_table_of(struct extraction *extraction, struct sxt_elf *elf, uint32_t type, uint8_t source)
{
    const struct sxt_elf_section *section = sxt_elf_section_typed(elf, type);
    sxt_error problem;
    if (section != NULL && sxt_elf_add_symbols(elf, section, source, extraction->tables.symbols, &problem) != SXT_OK)
        note_failure(extraction, &problem);
}

/* The order matters for aliases: .symtab before .dynsym. */
static void read_symbol_tables(struct extraction *extraction)
{
    uint32_t sources = extraction->options->sources;
    struct sxt_elf *elf = extraction->elf;
    if (sources & SXT_SOURCE_SYMTAB) {
        read_table_of(extraction, elf, SHT_SYMTAB, SXT_SOURCE_SYMTAB);
        if (extraction->debug.found)
            read_table_of(extraction, &extraction->debug.elf, SHT_SYMTAB, SXT_SOURCE_SYMTAB);
        read_mini_debug_info(extraction);
    }
    if (sources & SXT_SOURCE_DYNSYM) {
        read_table_of(extraction, elf, SHT_DYNSYM, SXT_SOURCE_DYNSYM);
        /* A damaged .dynsym was just reported. */
        (void)sxt_elf_add_plt(elf, extraction->tables.symbols, NULL);
    }
}

/* .gnu_debugdata is an xz-compressed ELF file with the function symbols that .dynsym lacks. */
static void read_mini_debug_info(struct extraction *extraction)
{
    struct sxt_elf *elf = extraction->elf;
    const struct sxt_elf_section *section = sxt_elf_section_named(elf, ".gnu_debugdata");
    if (section == NULL)
        return;
    sxt_error problem;
    struct sxt_elf_bytes bytes;
    uint8_t *inside = NULL;
    size_t size = 0;
    int status = sxt_elf_section_bytes(elf, section, &bytes, &problem);
    /* Symbol tables compress to about a fifth; data that expands much more than that is not a symbol table. */
    uint64_t limit = (uint64_t)bytes.size * MINI_DEBUG_INFO_TIMES + MINI_DEBUG_INFO_MORE;
    if (limit > extraction->options->inflate_limit)
        limit = extraction->options->inflate_limit;
    if (status == SXT_OK)
        status = sxt_inflate(SXT_COMPRESSION_XZ, bytes.data, bytes.size, limit, &inside, &size, &problem);
    struct sxt_elf mini;
    if (status == SXT_OK)
        status = sxt_elf_open(&mini, inside, size, extraction->options->inflate_limit, &problem);
    if (status == SXT_OK) {
        read_table_of(extraction, &mini, SHT_SYMTAB, SXT_SOURCE_SYMTAB);
        sxt_elf_close(&mini);
    } else {
        sxt_error whole;
        sxt_fail(&whole, (sxt_status)status, section->offset, "cannot read MiniDebugInfo: %.150s", problem.text);
        note_failure(extraction, &whole);
    }
    free(inside);
}

static void read_go(struct extraction *extraction)
{
    sxt_error problem;
    bool found = false;
    if (sxt_go_read(extraction->elf, extraction->options, extraction->tables.symbols, &found, &problem) != SXT_OK)
        note_failure(extraction, &problem);
}
