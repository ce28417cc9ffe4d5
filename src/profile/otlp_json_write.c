/*
 * otlp_json_write.c: writes an OTLP message as JSON: the text that was read, with lines, functions and strings where
 * they belong. Keys are spelled as those of the message are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/sort.h"
#include "profile/otlp_message.h"

struct writing {
    const struct sxt_otlp *otlp;
    struct sxt_buffer *out;
};

static const char *spelling(const struct writing *writing, const char *camel, const char *snake)
{
    return writing->otlp->uses_snake ? snake : camel;
}

/* A new value begins at PLACE, an array if the place is not inside of one. */
static struct sxt_json_writer begin(const struct writing *writing, const struct sxt_otlp_place *place, const char *key)
{
    struct sxt_json_writer json = sxt_json_writer_make(writing->out, SXT_JSON_COMPACT);
    json.escapes = SXT_JSON_ESCAPES_NUMBERS;
    if (place->needs_comma)
        sxt_buffer_u8(writing->out, ',');
    if (place->needs_key)
        sxt_buffer_print(writing->out, "\"%s\":", key);
    return json;
}

static void write_lines(const struct writing *writing, const struct sxt_pprof_location *location,
                        const struct sxt_otlp_place *place)
{
    const struct sxt_pprof *profile = &writing->otlp->profile;
    bool is_old = writing->otlp->is_old || writing->otlp->has_line_key;
    struct sxt_json_writer json = begin(writing, place, is_old ? "line" : "lines");
    sxt_json_write_begin(&json, NULL, '[');
    for (uint32_t i = 0; i < location->line_count; i++) {
        const struct sxt_pprof_line *line = &profile->lines[location->first_line + i];
        sxt_json_write_begin(&json, NULL, '{');
        sxt_json_write_number(&json, spelling(writing, "functionIndex", "function_index"), line->function);
        /* 64-bit numbers are in quotes. */
        if (line->line != 0) {
            char text[24];
            int size = snprintf(text, sizeof text, "%lu", (unsigned long)line->line);
            sxt_json_write_string(&json, "line", (sxt_string){text, (size_t)size});
        }
        sxt_json_write_end(&json, '}');
    }
    sxt_json_write_end(&json, ']');
}

static void write_functions(const struct writing *writing)
{
    const struct sxt_otlp *otlp = writing->otlp;
    const struct sxt_pprof *profile = &otlp->profile;
    static const char *const camel[] = {"nameStrindex", "systemNameStrindex", "filenameStrindex"};
    static const char *const snake[] = {"name_strindex", "system_name_strindex", "filename_strindex"};
    struct sxt_json_writer json =
        begin(writing, &otlp->functions, spelling(writing, "functionTable", "function_table"));
    bool is_inside = otlp->functions.at == otlp->functions.end && !otlp->functions.needs_key;
    if (!is_inside)
        sxt_json_write_begin(&json, NULL, '[');
    for (size_t i = otlp->table_functions; i < profile->function_count; i++) {
        const struct sxt_pprof_function *function = &profile->functions[i];
        const uint32_t names[] = {function->name, function->system_name, function->file};
        sxt_json_write_begin(&json, NULL, '{');
        for (unsigned name = 0; name < 3; name++)
            if (names[name] != 0)
                sxt_json_write_number(&json, spelling(writing, camel[name], snake[name]),
                                      profile->table_index[names[name]]);
        sxt_json_write_end(&json, '}');
    }
    if (!is_inside)
        sxt_json_write_end(&json, ']');
}

static void write_strings(const struct writing *writing)
{
    const struct sxt_otlp *otlp = writing->otlp;
    const struct sxt_pprof *profile = &otlp->profile;
    struct sxt_json_writer json = begin(writing, &otlp->strings, spelling(writing, "stringTable", "string_table"));
    bool is_inside = otlp->strings.at == otlp->strings.end && !otlp->strings.needs_key;
    if (!is_inside)
        sxt_json_write_begin(&json, NULL, '[');
    if (profile->string_count == 0)
        sxt_json_write_string(&json, NULL, (sxt_string){"", 0});
    for (size_t i = 0; i < profile->new_string_count; i++)
        sxt_json_write_string(&json, NULL, sxt_strings_get(&profile->names, profile->new_strings[i]));
    if (!is_inside)
        sxt_json_write_end(&json, ']');
}

/* Changes of the text, by place; numbers after those of the locations are the two tables. */
static size_t list_changes(const struct sxt_otlp *otlp, struct sxt_sort_item *items, struct sxt_sort_item *scratch)
{
    const struct sxt_pprof *profile = &otlp->profile;
    size_t count = 0, locations = profile->location_count;
    for (size_t i = 0; i < locations; i++)
        if (profile->locations[i].line_count > 0)
            items[count++] = (struct sxt_sort_item){otlp->places[i].at, (uint32_t)i};
    if (profile->function_count > otlp->table_functions)
        items[count++] = (struct sxt_sort_item){otlp->functions.at, (uint32_t)locations};
    if (profile->new_string_count > 0)
        items[count++] = (struct sxt_sort_item){otlp->strings.at, (uint32_t)locations + 1};
    sxt_sort(items, scratch, count);
    return count;
}

static void write_changes(struct writing *writing, const struct sxt_sort_item *items, size_t count)
{
    const struct sxt_otlp *otlp = writing->otlp;
    const struct sxt_pprof *profile = &otlp->profile;
    size_t copied = 0;
    for (size_t i = 0; i < count && !writing->out->failed; i++) {
        size_t index = items[i].index, locations = profile->location_count;
        const struct sxt_otlp_place *place = index < locations    ? &otlp->places[index]
                                             : index == locations ? &otlp->functions
                                                                  : &otlp->strings;
        sxt_buffer_append(writing->out, profile->data + copied, place->at - copied);
        copied = place->end;
        if (index < locations)
            write_lines(writing, &profile->locations[index], place);
        else if (index == locations)
            write_functions(writing);
        else
            write_strings(writing);
    }
    sxt_buffer_append(writing->out, profile->data + copied, profile->size - copied);
}

int sxt_otlp_write_json(const struct sxt_otlp *otlp, struct sxt_buffer *out, sxt_error *error)
{
    struct writing writing = {otlp, out};
    size_t room = otlp->profile.location_count + 2;
    struct sxt_sort_item *items = malloc(2 * room * sizeof *items);
    if (items == NULL)
        return sxt_fail_memory(error, 2 * room * sizeof *items);
    size_t count = sxt_otlp_is_changed(otlp) ? list_changes(otlp, items, items + room) : 0;
    write_changes(&writing, items, count);
    free(items);
    return sxt_buffer_status(out, error);
}
