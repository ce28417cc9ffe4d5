/* package_dex.c: the symbols of dex files. */
#include <string.h>

#include "base/error.h"
#include "base/string.h"
#include "measure/literals.h"
#include "measure/package.h"

/* A literal of more classes than this is one symbol, whose path is what their paths have in common. */
#define USERS_MOST 6

/* An entry while it is read. */
struct reading {
    struct package *package;
    const struct sxt_zip_entry *entry;
    uint32_t segment;
};

static sxt_string text_of(const struct sxt_buffer *buffer)
{
    return (sxt_string){buffer->size > 0 ? (const char *)buffer->data : "", buffer->size};
}

/* "$APK/org/a/B" for the class "org.a.B". */
static void put_class_path(struct sxt_buffer *out, const char *prefix, sxt_string class_name)
{
    sxt_buffer_append(out, prefix, strlen(prefix));
    for (size_t i = 0; i < class_name.size; i++)
        sxt_buffer_u8(out, class_name.data[i] == '.' ? '/' : (uint8_t)class_name.data[i]);
}

/* Where a part of a class's name begins that a compiler has made: after "$$". The size of the name for none. */
static size_t synthetic_part(sxt_string name)
{
    const char *found = name.size > 0 ? memmem(name.data, name.size, "$$", 2) : NULL;
    return found != NULL ? (size_t)(found - name.data) + 2 : name.size;
}

static sxt_string part_of(sxt_string name, size_t at)
{
    return (sxt_string){name.data + at, name.size - at};
}

/* Lambdas belong to the class before "$$". Other classes that a compiler has made are shared code. */
static bool is_outlined(sxt_string class_name)
{
    static const char *const own[] = {"InternalSyntheticLambda$", "ExternalSyntheticLambda",
                                      "ExternalSyntheticApiModelOutline", "ExternalSyntheticServiceLoad", "Lambda"};
    size_t part = synthetic_part(class_name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (sxt_string_begins(part_of(class_name, part), own[i]))
            return false;
    return part < class_name.size;
}

/* "A$$InternalSyntheticLambda$0$81073ff6$0" ends with a hash that differs in each build: it is cut. */
static size_t stable_size(sxt_string class_name)
{
    static const char lambda[] = "InternalSyntheticLambda$";
    size_t part = synthetic_part(class_name);
    if (!sxt_string_begins(part_of(class_name, part), lambda))
        return class_name.size;
    size_t at = part + sizeof lambda - 1;
    const char *dollar = at < class_name.size ? memchr(class_name.data + at, '$', class_name.size - at) : NULL;
    return dollar != NULL ? (size_t)(dollar - class_name.data) : class_name.size;
}

/* --- literals --- */

/* What the paths of the users have in common, up to a slash, and how many they are. */
static void put_shared_path(struct sxt_buffer *out, const struct sxt_dex_literal *literal)
{
    size_t count = literal->user_count, common = literal->users[0].size;
    sxt_string first = literal->users[0], last = literal->users[count - 1];
    /* They are sorted: what the first and the last have in common, all have. */
    for (size_t i = 0; i < common; i++)
        if (i >= last.size || first.data[i] != last.data[i])
            common = i;
    while (common > 0 && first.data[common - 1] != '.')
        common--;
    put_class_path(out, "$APK/", (sxt_string){first.data, common > 0 ? common - 1 : 0});
    sxt_buffer_append(out, "/{shared}/", common > 0 ? 10 : 0);
    if (common == 0)
        sxt_buffer_append(out, "{shared}/", 9);
    if (count >= 100)
        sxt_buffer_append(out, "100+", 4);
    else if (count >= 50)
        sxt_buffer_append(out, "50-99", 5);
    else if (count >= 20)
        sxt_buffer_append(out, "20-49", 5);
    else if (count >= 10)
        sxt_buffer_append(out, "10-19", 5);
    else
        sxt_buffer_print(out, "%zu", count);
}

static void add_literal(void *data, const struct sxt_dex_literal *literal)
{
    const struct reading *reading = data;
    struct package *package = reading->package;
    struct measure_maker *maker = package->maker;
    struct sxt_buffer *path = &package->path_text;
    bool is_shared = literal->user_count > USERS_MOST;
    uint32_t name = sxt_measure_literal_name(maker, literal->text, 1);
    sxt_buffer_clear(&package->text);
    sxt_buffer_append(&package->text, "$SYSTEM/", 8);
    sxt_buffer_append(&package->text, package->name.data, package->name.size);
    for (size_t i = 0; i < (is_shared ? 1 : literal->user_count); i++) {
        sxt_string user = literal->users[i];
        sxt_buffer_clear(path);
        if (is_shared)
            put_shared_path(path, literal);
        else
            put_class_path(path, "$APK/", (sxt_string){user.data, stable_size(user)});
        sxt_measure_maker_add(maker, reading->segment, 0, literal->size, name,
                              sxt_measure_maker_path(maker, text_of(&package->text), text_of(path)), 0, i > 0);
    }
    package->dex_literal_bytes += literal->size;
}

/* --- files --- */

static void count_item(void *data, const char *name, uint64_t count, uint64_t bytes)
{
    const struct reading *reading = data;
    struct package *package = reading->package;
    sxt_string file = sxt_measure_entry_name(package, reading->entry);
    sxt_measure_maker_metric(package->maker, package->container, file, "SIZE/", sxt_string_of(name), bytes);
    sxt_measure_maker_metric(package->maker, package->container, file, "COUNT/", sxt_string_of(name), count);
}

static void report_damage(void *data, const sxt_error *problem)
{
    const struct reading *reading = data;
    sxt_measure_package_warn(reading->package, reading->entry, problem);
}

int sxt_measure_add_dex(struct package *package, const struct sxt_zip_entry *entry, const struct sxt_file *file,
                        sxt_error *error)
{
    struct reading reading = {.package = package, .entry = entry};
    struct sxt_dex_reader reader = {
        .tree = &package->dex, .literal = add_literal, .item = count_item, .damage = report_damage, .data = &reading};
    if (!sxt_dex_is(file->data, file->size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "not a dex file");
    reading.segment = sxt_measure_maker_segment(package->maker, package->container, (sxt_string){".dex", 4});
    int status = sxt_dex_read(file->data, file->size, &reader, error);
    if (status != SXT_OK)
        return status;
    package->dex_bytes += file->size;
    for (int i = 0; i < SXT_DEX_STRING_KINDS; i++)
        package->dex_strings[i] += reader.strings[i];
    return SXT_OK;
}

/* --- the tree --- */

static void add_node(struct package *package, const struct sxt_dex_node *node, sxt_string name, uint32_t segment)
{
    struct measure_maker *maker = package->maker;
    sxt_string class_name = {name.data, node->class_size};
    size_t kept = stable_size(class_name);
    sxt_buffer_clear(&package->path_text);
    put_class_path(&package->path_text, is_outlined(class_name) ? "$APK/$OUTLINES/" : "$APK/", class_name);
    sxt_buffer_clear(&package->text);
    sxt_buffer_append(&package->text, name.data, kept);
    sxt_buffer_append(&package->text, name.data + node->class_size, name.size - node->class_size);
    if (package->text.size > 0)
        sxt_measure_make_utf8((char *)package->text.data, package->text.size);
    sxt_measure_maker_add(maker, segment, 0, node->size, sxt_measure_maker_name(maker, text_of(&package->text)),
                          sxt_measure_maker_path(maker, text_of(&package->path_text), (sxt_string){"", 0}), 0, false);
}

static void add_total(struct package *package, uint32_t segment, const char *name, uint64_t size)
{
    struct measure_maker *maker = package->maker;
    if (size > 0)
        sxt_measure_maker_add(maker, segment, 0, size, sxt_measure_maker_name(maker, sxt_string_of(name)),
                              sxt_measure_maker_path(maker, (sxt_string){"", 0}, (sxt_string){"", 0}), 0, false);
}

void sxt_measure_finish_dex(struct package *package)
{
    static const char *const kinds[] = {"** .dex (type strings)", "** .dex (method and field strings)",
                                        "** .dex (prototype strings)"};
    struct measure_maker *maker = package->maker;
    const struct sxt_dex_tree *tree = &package->dex;
    uint64_t methods = 0, rest = package->dex_bytes - package->dex_literal_bytes;
    if (package->dex_bytes == 0)
        return;
    uint32_t dex = sxt_measure_maker_segment(maker, package->container, (sxt_string){".dex", 4});
    uint32_t method = sxt_measure_maker_segment(maker, package->container, (sxt_string){".dex.method", 11});
    for (size_t i = 0; i < tree->count && !maker->no_memory; i++) {
        bool is_method = tree->nodes[i].kind == SXT_DEX_METHOD;
        add_node(package, &tree->nodes[i], sxt_strings_get(&tree->names, (uint32_t)i + 1), is_method ? method : dex);
        methods += is_method ? tree->nodes[i].size : 0;
        rest -= tree->nodes[i].size;
    }
    for (int i = 0; i < SXT_DEX_STRING_KINDS; i++) {
        add_total(package, dex, kinds[i], package->dex_strings[i]);
        rest -= package->dex_strings[i];
    }
    add_total(package, dex, "** .dex (unattributed)", rest);
    sxt_measure_maker_count(maker, package->container, (sxt_string){".dex.method", 11}, methods);
    sxt_measure_maker_count(maker, package->container, (sxt_string){".dex", 4}, package->dex_bytes - methods);
}
