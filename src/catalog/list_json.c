/* list_json.c: a binary of a list as JSON, the same for the program and the service. */
#include <stdio.h>
#include <time.h>

#include "base/json_writer.h"
#include "base/string.h"
#include "catalog/private.h"

static void write_text(struct sxt_json_writer *json, const char *key, const char *text)
{
    if (text != NULL && *text != 0)
        sxt_json_write_string(json, key, sxt_string_of(text));
    else
        sxt_json_write_null(json, key);
}

static void write_quality(struct sxt_json_writer *json, const struct sxt_catalog_listed *listed)
{
    const struct {
        const char *key;
        bool value;
    } flags[] = {
        {"symtab", listed->has_symtab},
        {"dwarf", listed->has_dwarf},
        {"lines", listed->has_lines},
        {"inlines", listed->has_inlines},
        {"go", listed->has_go},
        {"returnpads", listed->has_pads},
        {"executable", listed->has_executable},
        {"debuginfo", listed->has_debuginfo},
    };
    sxt_json_write_begin(json, "quality", '{');
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sxt_json_write_bool(json, flags[i].key, flags[i].value);
    sxt_json_write_end(json, '}');
}

/* "2026-11-16T11:05:10Z" */
static void write_time(struct sxt_json_writer *json, const char *key, int64_t microseconds)
{
    time_t seconds = (time_t)(microseconds / 1000000);
    struct tm parts;
    char text[32] = "";
    if (microseconds != 0 && gmtime_r(&seconds, &parts) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    write_text(json, key, text);
}

static void write_incomplete(struct sxt_json_writer *json, const struct sxt_catalog_listed *listed)
{
    if (listed->parts_wanted == 0) {
        sxt_json_write_null(json, "incomplete");
        return;
    }
    sxt_json_write_begin(json, "incomplete", '{');
    sxt_json_write_number(json, "parts", listed->parts_there);
    sxt_json_write_number(json, "of", listed->parts_wanted);
    sxt_json_write_end(json, '}');
}

void sxt_catalog_write_listed(struct sxt_json_writer *json, const struct sxt_catalog_listed *listed)
{
    write_text(json, "tenant", listed->tenant);
    write_text(json, "file_id", listed->file_id);
    write_text(json, "build_id", listed->build_id);
    write_text(json, "name", listed->name);
    write_text(json, "arch", listed->arch);
    write_text(json, "source", listed->source);
    write_quality(json, listed);
    sxt_json_write_number(json, "functions", listed->functions);
    sxt_json_write_number(json, "size", listed->size);
    write_time(json, "created", listed->created_us);
    write_text(json, "missing", listed->missing);
    write_incomplete(json, listed);
}
