/* making.c: makes an archive of one input, and prints what is in it. */
#include "cli/making.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/verbs.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The options of MAKING for one job. */
static sxt_extract_options extract_options(const struct cli_making *making, const struct cli_job *job)
{
    sxt_extract_options extract = making->extract;
    if (job->debug != NULL)
        extract.debug_path = job->debug;
    if (job->threads != 0)
        extract.threads = job->threads;
    /* The function for warnings takes the name of the file, and does not write to it. */
    memcpy(&extract.warning_data, &job->input, sizeof job->input);
    return extract;
}

/* Ranges, return pads, or both, from one reading. */
static int write_symbfiles(const struct cli_making *making, struct cli_job *job, const sxt_symbols *symbols,
                           unsigned threads, sxt_written *written, sxt_error *error)
{
    sxt_symbfile_options symbfile;
    sxt_symbfile_options_init(&symbfile);
    symbfile.mangled = making->lidia.mangled;
    symbfile.path_maps = making->lidia.path_maps;
    symbfile.path_map_count = making->lidia.path_map_count;
    symbfile.threads = threads;
    if (strcmp(making->format, "returnpads") == 0)
        return sxt_symbfile_write_pads_path(symbols, job->input, &symbfile, job->output, written, error);
    if (job->pads == NULL)
        return sxt_symbfile_write_ranges_path(symbols, &symbfile, job->output, written, error);
    int which = 0;
    int status =
        sxt_symbfile_write_both_path(symbols, job->input, &symbfile, job->output, job->pads, written, &which, error);
    job->failed = which == 0 ? job->output : job->pads;
    return status;
}

static int make_ranges(const struct cli_making *making, struct cli_job *job, struct cli_made *made, sxt_error *error)
{
    sxt_extract_options extract = extract_options(making, job);
    sxt_symbols *symbols;
    int status = sxt_symbols_from_path(job->input, &extract, &symbols, error);
    if (status != SXT_OK)
        return status;
    if (sxt_symbols_range_count(symbols) == 0)
        cli_warn(job->input, "no functions found; the archive is empty%s",
                 extract.debug_path == NULL ? " (stripped? --debug FILE names a debug file)" : "");
    made->units = sxt_symbols_units(symbols);
    made->has_ranges = true;
    job->failed = job->output;
    if (strcmp(making->format, "lidia") == 0) {
        sxt_lidia_options lidia = making->lidia;
        lidia.threads = extract.threads;
        status = sxt_lidia_write_path(symbols, &lidia, job->output, &made->written, error);
    } else {
        status = write_symbfiles(making, job, symbols, extract.threads, &made->written, error);
    }
    sxt_symbols_free(&symbols);
    return status;
}

static int make_ksym(const struct cli_making *making, struct cli_job *job, struct cli_made *made, sxt_error *error)
{
    sxt_extract_options extract = extract_options(making, job);
    sxt_ksym_options options = making->ksym;
    options.extract = &extract;
    options.threads = extract.threads;
    sxt_ksym_writer *writer;
    int status = sxt_ksym_writer_new(&options, &writer, error);
    if (status == SXT_OK)
        status = sxt_ksym_writer_add_file(writer, job->input, error);
    if (status == SXT_OK) {
        job->failed = job->output;
        status = sxt_ksym_writer_write_path(writer, job->output, &made->written, error);
    }
    if (status == SXT_OK && options.types == NULL)
        cli_warn_of_functions(job->input, writer);
    sxt_ksym_writer_free(&writer);
    return status;
}

static int make_size(const struct cli_making *making, struct cli_job *job, struct cli_made *made, sxt_error *error)
{
    sxt_extract_options extract = extract_options(making, job);
    sxt_size_make_options options = making->size;
    options.extract = &extract;
    sxt_size_info *info = NULL;
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    int status = sxt_size_make(&job->input, 1, &options, &info, &job->failed, error);
    if (status == SXT_OK) {
        sxt_size_info_summary(info, &summary);
        made->written.symbols = summary.symbols;
        job->failed = job->output;
        status = sxt_size_info_write(info, job->output, &making->size_write, &made->written.size, error);
    }
    sxt_size_info_free(&info);
    return status;
}

int cli_make_one(const struct cli_making *making, struct cli_job *job, struct cli_made *made, sxt_error *error)
{
    double start = now();
    *made = (struct cli_made){.written = {.struct_size = sizeof made->written}};
    job->failed = job->input;
    int status;
    if (strcmp(making->format, "ksym") == 0)
        status = make_ksym(making, job, made, error);
    else if (strcmp(making->format, "size") == 0)
        status = make_size(making, job, made, error);
    else
        status = make_ranges(making, job, made, error);
    made->seconds = now() - start;
    return status;
}

static void print_ranges(const struct cli_made *made)
{
    const sxt_written *written = &made->written;
    cli_print_count(written->functions, "function");
    fputs(", ", stderr);
    cli_print_count(written->inlines, "inlined call");
    fputs(", ", stderr);
    cli_print_count(written->lines, "line");
    if (written->return_pads > 0) {
        fputs(", ", stderr);
        cli_print_count(written->return_pads, "return pad");
    }
}

void cli_print_made(const char *input, const char *output, const struct cli_made *made)
{
    if (input != NULL) {
        cli_print_name(input);
        fputs(": ", stderr);
    }
    cli_print_name(output);
    fputs(": ", stderr);
    if (made->has_ranges)
        print_ranges(made);
    else
        cli_print_count(made->written.symbols, "symbol");
    fprintf(stderr, ", %llu bytes, %.3f s", (unsigned long long)made->written.size, made->seconds);
    if (made->units.damaged > 0 || made->units.missing > 0) {
        fprintf(stderr, "; %llu of ", (unsigned long long)made->units.damaged);
        cli_print_count(made->units.read, "DWARF unit");
        fprintf(stderr, " damaged, %llu missing", (unsigned long long)made->units.missing);
    }
    fputc('\n', stderr);
}

void cli_emit_made(struct sxt_emit *emit, const struct cli_made *made)
{
    if (made->has_ranges) {
        sxt_emit_number(emit, "functions", made->written.functions);
        sxt_emit_number(emit, "inlines", made->written.inlines);
        sxt_emit_number(emit, "lines", made->written.lines);
        sxt_emit_number(emit, "return_pads", made->written.return_pads);
    } else {
        sxt_emit_number(emit, "symbols", made->written.symbols);
    }
    sxt_emit_number(emit, "size", made->written.size);
    if (made->has_ranges) {
        sxt_emit_number(emit, "units", made->units.read);
        sxt_emit_number(emit, "damaged_units", made->units.damaged);
        sxt_emit_number(emit, "missing_units", made->units.missing);
    }
    sxt_emit_number(emit, "milliseconds", (uint64_t)(made->seconds * 1000));
}
