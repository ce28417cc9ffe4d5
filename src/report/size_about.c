/* size_about.c: what a page about sizes is about, as JSON: names, totals, sections, and the headers of the files. */
#include "report/size_about.h"

#include <stdio.h>

#include "base/json_writer.h"
#include "base/string.h"

/* A sum of proportional sizes, exactly. */
static void write_real(struct sxt_json_writer *json, const char *key, double value)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%.17g", value);
    sxt_json_write_text(json, key, (sxt_string){text, (size_t)size});
}

static void write_signed(struct sxt_json_writer *json, const char *key, int64_t value)
{
    char text[40];
    int size = snprintf(text, sizeof text, "%lld", (long long)value);
    sxt_json_write_text(json, key, (sxt_string){text, (size_t)size});
}

static int write_header(struct sxt_json_writer *json, const char *key, const sxt_size_info *info, sxt_error *error)
{
    char *text;
    size_t size;
    int status = sxt_size_info_header(info, &text, &size, error);
    if (status != SXT_OK)
        return status;
    sxt_json_write_text(json, key, (sxt_string){text, size});
    sxt_free(text);
    return SXT_OK;
}

static void write_section(struct sxt_json_writer *json, const sxt_size_section *section)
{
    sxt_json_write_begin(json, NULL, '{');
    sxt_json_write_string(json, "container", section->container);
    sxt_json_write_string(json, "name", section->name);
    write_signed(json, "file", section->file);
    write_signed(json, "memory", section->memory);
    sxt_json_write_number(json, "symbols", section->symbols);
    sxt_json_write_bool(json, "is_in_other", section->is_in_other);
    sxt_json_write_end(json, '}');
}

/* Sections with their sizes as the header of the file has them, and the header. */
static int write_side(struct sxt_json_writer *json, const char *key, const sxt_size_info *info, sxt_error *error)
{
    sxt_size_sections *sections;
    sxt_size_section section = SXT_SIZE_SECTION_INIT, total = SXT_SIZE_SECTION_INIT;
    int status = sxt_size_sections_make(info, &sections, error);
    if (status != SXT_OK)
        return status;
    sxt_size_sections_total(sections, &total);
    sxt_json_write_begin(json, key, '{');
    write_signed(json, "file_bytes", total.file);
    write_signed(json, "memory_bytes", total.memory);
    sxt_json_write_begin(json, "sections", '[');
    for (size_t i = 0; sxt_size_sections_get(sections, i, &section) == SXT_OK; i++)
        write_section(json, &section);
    sxt_json_write_end(json, ']');
    status = write_header(json, "header", info, error);
    sxt_json_write_end(json, '}');
    sxt_size_sections_free(&sections);
    return status;
}

static int write_change(struct sxt_json_writer *json, const sxt_size_diff *diff, sxt_error *error)
{
    sxt_size_section_changes *changes;
    sxt_size_section_change total = SXT_SIZE_SECTION_CHANGE_INIT;
    int status = sxt_size_section_changes_make(diff, &changes, error);
    if (status != SXT_OK)
        return status;
    sxt_size_section_changes_total(changes, &total);
    sxt_size_section_changes_free(&changes);
    sxt_json_write_begin(json, "change", '{');
    for (int i = SXT_SIZE_UNCHANGED; i <= SXT_SIZE_REMOVED; i++)
        sxt_json_write_number(json, sxt_size_status_name(i), sxt_size_diff_status_count(diff, i));
    write_real(json, "before_bytes", total.before);
    write_real(json, "after_bytes", total.after);
    write_real(json, "bytes", total.change);
    sxt_json_write_end(json, '}');
    return SXT_OK;
}

int sxt_page_write_about(struct sxt_json_writer *json, const struct sxt_page_sizes *sizes, sxt_error *error)
{
    sxt_json_write_string(json, "kind", sxt_string_of(sizes->diff != NULL ? "sizediff" : "size"));
    sxt_json_write_string(json, "name", sxt_string_of(sizes->name));
    if (sizes->before_name != NULL)
        sxt_json_write_string(json, "before_name", sxt_string_of(sizes->before_name));
    if (sizes->inlined != NULL) {
        sxt_json_write_number(json, "inlined", sxt_inlined_list_count(sizes->inlined));
        sxt_json_write_number(json, "code_bytes", sxt_inlined_list_code_size(sizes->inlined));
    }
    if (sizes->diff == NULL)
        return write_side(json, "after", sizes->info, error);
    int status = write_change(json, sizes->diff, error);
    if (status == SXT_OK)
        status = write_side(json, "before", sxt_size_diff_before(sizes->diff), error);
    return status == SXT_OK ? write_side(json, "after", sxt_size_diff_after(sizes->diff), error) : status;
}

void sxt_page_write_inlined(const sxt_inlined_list *list, struct sxt_buffer *table)
{
    struct sxt_column size, total, places;
    struct sxt_string_column names, files;
    sxt_inlined_function function = SXT_INLINED_FUNCTION_INIT;
    sxt_column_init(&size);
    sxt_column_init(&total);
    sxt_column_init(&places);
    sxt_string_column_init(&names);
    sxt_string_column_init(&files);
    for (size_t i = 0; sxt_inlined_list_get(list, i, &function) == SXT_OK; i++) {
        sxt_column_add(&size, function.size);
        sxt_column_add(&total, function.total);
        sxt_column_add(&places, function.places);
        sxt_string_column_add(&names, function.function);
        sxt_string_column_add(&files, function.file);
    }
    sxt_column_finish(&size, table);
    sxt_column_finish(&total, table);
    sxt_column_finish(&places, table);
    sxt_string_column_finish(&names, table);
    sxt_string_column_finish(&files, table);
}
