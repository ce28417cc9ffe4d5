/* info_size.c: what is in a SuperSize file: containers, paths, metadata. */
#include <string.h>

#include "base/json.h"
#include "cli/numbers.h"
#include "cli/verbs.h"

/* A header of a hostile file is parsed within bounds that reading the file has checked already. */
static const struct sxt_json_limits limits = {.depth = 1000, .values = (size_t)1 << 26};

struct printing {
    struct sxt_emit *emit;
    const sxt_size_info *info;
    sxt_size_sections *sections;
    const struct sxt_json *header;
};

/* --- sums --- */

struct sums {
    uint64_t symbols, sections;
    int64_t file, memory;
};

static struct sums add_up(const struct printing *printing, sxt_string container)
{
    struct sums sums = {0};
    sxt_size_section section = SXT_SIZE_SECTION_INIT;
    for (size_t i = 0; sxt_size_sections_get(printing->sections, i, &section) == SXT_OK; i++) {
        bool is_here = section.container.size == container.size &&
                       (container.size == 0 || memcmp(section.container.data, container.data, container.size) == 0);
        if (!is_here)
            continue;
        sums.symbols += section.symbols;
        sums.sections++;
        if (!section.is_in_other && __builtin_add_overflow(sums.file, section.file, &sums.file))
            sums.file = INT64_MAX;
        if (__builtin_add_overflow(sums.memory, section.memory, &sums.memory))
            sums.memory = INT64_MAX;
    }
    return sums;
}

/* --- values of the header --- */

static void print_value_text(struct sxt_emit *emit, const struct sxt_json *value)
{
    switch (value->type) {
    case SXT_JSON_STRING:
    case SXT_JSON_NUMBER:
        sxt_emit_name(emit, value->string);
        break;
    case SXT_JSON_ARRAY:
    case SXT_JSON_OBJECT:
        for (const struct sxt_json *one = value->child; one != NULL; one = one->next) {
            if (one->type == SXT_JSON_STRING || one->type == SXT_JSON_NUMBER)
                sxt_emit_name(emit, one->string);
            sxt_emit_text(emit, one->next != NULL ? ", " : "");
        }
        break;
    default:
        sxt_emit_text(emit, "%s", value->type == SXT_JSON_BOOL ? (value->boolean ? "true" : "false") : "null");
    }
}

static void print_object_text(struct sxt_emit *emit, const struct sxt_json *object)
{
    for (const struct sxt_json *one = object != NULL ? object->child : NULL; one != NULL; one = one->next) {
        sxt_emit_text(emit, "  ");
        cli_print_padded(emit, one->key, 20);
        sxt_emit_text(emit, "  ");
        print_value_text(emit, one);
        sxt_emit_text(emit, "\n");
    }
}

/* Objects and arrays of the header are nested as deep as the reader of the file allows. */
static void write_json(struct sxt_buffer *out, const struct sxt_json *value)
{
    struct sxt_json_writer writer = sxt_json_writer_make(out, SXT_JSON_COMPACT);
    sxt_json_write_tree_sorted(&writer, value);
}

/* JSON as it is in the header. */
static void print_json(struct sxt_emit *emit, const char *key, const struct sxt_json *value)
{
    struct sxt_buffer text;
    sxt_buffer_init(&text, PTRDIFF_MAX);
    if (value != NULL)
        write_json(&text, value);
    if (value != NULL && !text.failed)
        sxt_emit_raw(emit, key, (sxt_string){(const char *)text.data, text.size});
    else
        sxt_emit_null(emit, key);
    sxt_buffer_free(&text);
}

/* --- containers --- */

static void print_container(const struct printing *printing, const struct sxt_json *container)
{
    struct sxt_emit *emit = printing->emit;
    const struct sxt_json *name = sxt_json_member(container, "name");
    sxt_string text = name != NULL && name->type == SXT_JSON_STRING ? name->string : (sxt_string){"", 0};
    struct sums sums = add_up(printing, text);
    if (sxt_emit_is_json(emit)) {
        sxt_emit_object(emit, NULL);
        sxt_emit_string(emit, "name", text);
        sxt_emit_number(emit, "symbols", sums.symbols);
        cli_emit_signed(emit, "file", sums.file);
        cli_emit_signed(emit, "memory", sums.memory);
        print_json(emit, "metadata", sxt_json_member(container, "metadata"));
        print_json(emit, "section_sizes", sxt_json_member(container, "section_sizes"));
        print_json(emit, "metrics_by_file", sxt_json_member(container, "metrics_by_file"));
        sxt_emit_object_end(emit);
        return;
    }
    sxt_emit_text(emit, "container%s", text.size > 0 ? " " : "");
    sxt_emit_name(emit, text);
    sxt_emit_text(emit, ": %s symbols, %s bytes in the file, %s in memory, %llu sections\n",
                  cli_thousands((double)sums.symbols).text, cli_thousands((double)sums.file).text,
                  cli_thousands((double)sums.memory).text, (unsigned long long)sums.sections);
    print_object_text(emit, sxt_json_member(container, "metadata"));
}

/* A file with one container has what is of it in the header itself. */
static void print_containers(const struct printing *printing)
{
    struct sxt_emit *emit = printing->emit;
    const struct sxt_json *list = sxt_json_member(printing->header, "containers");
    if (sxt_emit_is_json(emit))
        sxt_emit_array(emit, "containers");
    if (list == NULL)
        print_container(printing, printing->header);
    for (const struct sxt_json *one = list != NULL ? list->child : NULL; one != NULL; one = one->next)
        print_container(printing, one);
    if (sxt_emit_is_json(emit))
        sxt_emit_array_end(emit);
}

static void print_one(struct sxt_emit *emit, const sxt_size_info *info, const char *side)
{
    struct printing printing = {.emit = emit, .info = info};
    sxt_size_summary summary = SXT_SIZE_SUMMARY_INIT;
    struct sxt_arena arena;
    struct sxt_json *header = NULL;
    char *text = NULL;
    size_t size = 0;
    sxt_arena_init(&arena, 0, sxt_arena_separate_default);
    bool fine = sxt_size_info_header(info, &text, &size, NULL) == SXT_OK &&
                sxt_json_parse(text, size, limits, &arena, &header, NULL) == SXT_OK &&
                sxt_size_sections_make(info, &printing.sections, NULL) == SXT_OK;
    printing.header = header;
    sxt_size_info_summary(info, &summary);
    if (side != NULL && sxt_emit_is_json(emit))
        sxt_emit_object(emit, side);
    else if (side != NULL)
        sxt_emit_text(emit, "%s\n", side);
    sxt_emit_number(emit, "paths", summary.paths);
    sxt_emit_number(emit, "components", summary.components);
    sxt_emit_number(emit, "disassemblies", summary.disassemblies);
    sxt_emit_number(emit, "file_bytes", summary.file_bytes);
    sxt_emit_bool(emit, "sparse", summary.is_sparse);
    const struct sxt_json *build = fine ? sxt_json_member(header, "build_config") : NULL;
    if (sxt_emit_is_json(emit)) {
        print_json(emit, "build_config", build);
    } else if (build != NULL && build->count > 0) {
        sxt_emit_text(emit, "build\n");
        print_object_text(emit, build);
    }
    if (fine)
        print_containers(&printing);
    if (side != NULL && sxt_emit_is_json(emit))
        sxt_emit_object_end(emit);
    sxt_size_sections_free(&printing.sections);
    sxt_free(text);
    sxt_arena_free(&arena);
}

void cli_info_size(const sxt_archive *archive, struct sxt_emit *emit)
{
    const sxt_size_info *whole = sxt_archive_size_info(archive, SXT_SIZE_WHOLE);
    const sxt_size_info *before = sxt_archive_size_info(archive, SXT_SIZE_BEFORE);
    if (whole != NULL)
        print_one(emit, whole, NULL);
    if (before != NULL) {
        print_one(emit, before, "before");
        print_one(emit, sxt_archive_size_info(archive, SXT_SIZE_AFTER), "after");
    }
}
