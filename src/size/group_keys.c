/* group_keys.c: what an item is grouped under: its path to a depth, its namespace, its crate, ... */
#include <string.h>

#include "base/string.h"
#include "size/query_private.h"

static const struct {
    const char *name;
    enum group_key_kind kind;
    bool has_depth, needs_names;
    const char *nameless;
} known_keys[] = {
    {"path", KEY_PATH, true, false, "{no path}"},
    {"directory", KEY_DIRECTORY, true, false, "{no path}"},
    {"source", KEY_SOURCE, true, false, "{no source}"},
    {"object", KEY_OBJECT, true, false, "{no object}"},
    {"component", KEY_COMPONENT, false, false, "{no component}"},
    {"section", KEY_SECTION, false, false, "{no section}"},
    {"container", KEY_CONTAINER, false, false, "{no container}"},
    {"name", KEY_NAME, true, true, "{no name}"},
    {"template", KEY_TEMPLATE, false, true, "{no name}"},
    {"full", KEY_FULL_NAME, false, false, "{no name}"},
    {"namespace", KEY_NAMESPACE, true, true, "{no namespace}"},
    {"aliases", KEY_ALIASES, false, false, "{no name}"},
    {"status", KEY_STATUS, false, false, "{no status}"},
    {"flags", KEY_FLAGS, false, false, "{no flags}"},
    {"crate", KEY_CRATE, false, false, "{no crate}"},
    {"package", KEY_PACKAGE, false, false, "{no package}"},
    {"generated", KEY_GENERATED, false, false, "{not generated}"},
};

static sxt_string directory_of(sxt_string path);
static sxt_string cut_path(sxt_string path, int depth);
static sxt_string cut_name(sxt_string name, int depth);
static sxt_string crate_of(const struct sxt_size_query_item *item);
static sxt_string package_of(sxt_string name);
static sxt_string java_package_of(sxt_string name);
static sxt_string generated_class(const struct sxt_size_query_item *item);

bool sxt_group_find_key(sxt_string name, struct group_key *out)
{
    for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++) {
        if (!sxt_string_is(name, known_keys[i].name))
            continue;
        *out = (struct group_key){.kind = known_keys[i].kind, .name = known_keys[i].name};
        return true;
    }
    return false;
}

bool sxt_group_has_depth(const struct group_key *key)
{
    return known_keys[key->kind].has_depth;
}

bool sxt_group_needs_names(const struct group_key *key)
{
    return known_keys[key->kind].needs_names;
}

const char *sxt_group_nameless(const struct group_key *key)
{
    return known_keys[key->kind].nameless;
}

static sxt_string text_in(const struct sxt_buffer *buffer)
{
    return buffer->failed || buffer->size == 0 ? (sxt_string){"", 0} : (sxt_string){(char *)buffer->data, buffer->size};
}

/* Same names at different addresses are different, so the address is a part of it. */
static sxt_string aliases_label(const struct sxt_size_query_item *item, struct sxt_buffer *buffer)
{
    const struct sxt_size_model_symbol *first = item->symbol;
    if (first == NULL)
        return item->full_name;
    if (first->group != 0)
        first = &item->owner->symbols[item->owner->groups[first->group - 1].first];
    sxt_buffer_clear(buffer);
    sxt_buffer_print(buffer, "0x%llx ", (unsigned long long)first->address);
    sxt_buffer_append(buffer, first->full_name, first->full_name_size);
    return text_in(buffer);
}

static sxt_string flags_label(const struct sxt_size_query_item *item, struct sxt_buffer *buffer)
{
    static const char *const names[] = {"anon",  "startup", "unlikely", "rel",          "rel.loc", "gen",
                                        "clone", "hot",     "covered",  "uncompressed", "feature"};
    uint32_t flags = item->symbol == NULL ? 0
                                          : item->symbol->flags | sxt_size_name_flags(sxt_size_query_segment(item),
                                                                                      item->full_name, buffer);
    sxt_buffer_clear(buffer);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((flags >> i & 1) != 0)
            sxt_buffer_print(buffer, "%s%s", buffer->size > 0 ? "," : "", names[i]);
    return text_in(buffer);
}

sxt_string sxt_group_label(const struct group_key *key, const struct sxt_size_query_item *item,
                           const struct sxt_size_derived_names *names, struct sxt_buffer *buffer)
{
    switch (key->kind) {
    case KEY_PATH:
        return cut_path(sxt_size_query_path(item), key->depth);
    case KEY_DIRECTORY:
        return cut_path(directory_of(sxt_size_query_path(item)), key->depth);
    case KEY_SOURCE:
        return cut_path(sxt_size_query_source(item), key->depth);
    case KEY_OBJECT:
        return cut_path(sxt_size_query_object(item), key->depth);
    case KEY_COMPONENT:
        return sxt_size_query_component(item);
    case KEY_SECTION:
        return item->section;
    case KEY_CONTAINER:
        return item->container;
    case KEY_NAME:
        return cut_name(names->name, key->depth);
    case KEY_TEMPLATE:
        return names->template_name;
    case KEY_FULL_NAME:
        return item->full_name;
    case KEY_NAMESPACE:
        return sxt_group_namespace(item, names->name, key->depth);
    case KEY_ALIASES:
        return aliases_label(item, buffer);
    case KEY_STATUS:
        return (sxt_string){sxt_size_status_name(item->status), strlen(sxt_size_status_name(item->status))};
    case KEY_FLAGS:
        return flags_label(item, buffer);
    case KEY_CRATE:
        return crate_of(item);
    case KEY_PACKAGE:
        return sxt_string_begins(item->section, ".dex") ? java_package_of(item->full_name)
                                                        : package_of(item->full_name);
    case KEY_GENERATED:
        return generated_class(item);
    }
    return (sxt_string){"", 0};
}

/* --- paths --- */

static sxt_string directory_of(sxt_string path)
{
    const char *slash = path.size > 0 ? memrchr(path.data, '/', path.size) : NULL;
    if (slash == NULL)
        return path.size > 0 ? (sxt_string){".", 1} : path;
    return (sxt_string){path.data, slash > path.data ? (size_t)(slash - path.data) : 1};
}

/* The first DEPTH parts, or the last ones when it is negative. The root is not a part. */
static sxt_string cut_path(sxt_string path, int depth)
{
    /* The number after it is how many share it, not a part of the path. */
    const char *shared = path.size > 0 ? memmem(path.data, path.size, "{shared}", 8) : NULL;
    if (shared != NULL)
        path.size = (size_t)(shared - path.data) + 8;
    if (depth > 0) {
        for (size_t i = 1; i < path.size; i++)
            if (path.data[i] == '/' && --depth == 0)
                return (sxt_string){path.data, i};
    } else if (depth < 0) {
        for (size_t i = path.size; i > 0; i--)
            if (path.data[i - 1] == '/' && ++depth == 0)
                return (sxt_string){path.data + i, path.size - i};
    }
    return path;
}

/* --- names with "::" --- */

/* Where the first "::" outside of brackets begins, at or after AT; the end of the name when there is none. */
static size_t next_separator(sxt_string name, size_t at)
{
    size_t open = 0;
    for (; at < name.size; at++) {
        char c = name.data[at];
        if (c == '<' || c == '(' || c == '{' || c == '[')
            open++;
        else if ((c == '>' || c == ')' || c == '}' || c == ']') && open > 0)
            open--;
        else if (c == ':' && open == 0 && at + 1 < name.size && name.data[at + 1] == ':')
            return at;
    }
    return name.size;
}

static size_t count_parts(sxt_string name)
{
    size_t count = 1;
    for (size_t at = next_separator(name, 0); at < name.size; at = next_separator(name, at + 2))
        count++;
    return count;
}

/* The first COUNT parts. */
static sxt_string first_parts(sxt_string name, size_t count)
{
    size_t end = 0;
    for (; count > 0 && end < name.size; count--)
        end = next_separator(name, end == 0 ? 0 : end + 2);
    return (sxt_string){name.data, end};
}

static sxt_string cut_name(sxt_string name, int depth)
{
    if (depth == 0)
        return name;
    size_t parts = count_parts(name);
    if (depth > 0)
        return first_parts(name, (size_t)depth);
    if ((size_t)-depth >= parts)
        return name;
    size_t skipped = first_parts(name, parts - (size_t)-depth).size + 2;
    return (sxt_string){name.data + skipped, name.size - skipped};
}

sxt_string sxt_group_namespace(const struct sxt_size_query_item *item, sxt_string name, int depth)
{
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    if (segment != NULL && segment->is_native && sxt_size_is_rust(segment->letter, item->full_name))
        return cut_name(sxt_size_rust_module(item->full_name), depth);
    size_t parts = count_parts(name);
    if (parts < 2 || sxt_size_query_is_literal(name) || sxt_string_begins(name, "**"))
        return (sxt_string){"", 0};
    return cut_name(first_parts(name, parts - 1), depth);
}

/* --- Rust, Go and Java --- */

/* The first part of a path: "core" of "<&mut core::fmt::Formatter as core::fmt::Write>::write_str". */
static sxt_string crate_of(const struct sxt_size_query_item *item)
{
    sxt_string name = item->full_name;
    const struct sxt_size_segment *segment = sxt_size_query_segment(item);
    if (segment != NULL && sxt_size_is_rust(segment->letter, name)) {
        sxt_string module = sxt_size_rust_module(name), first = first_parts(module, 1);
        const char *hash = first.size > 0 ? memchr(first.data, '[', first.size) : NULL;
        if (first.size > 0)
            return (sxt_string){first.data, hash != NULL ? (size_t)(hash - first.data) : first.size};
    }
    static const char *const before[] = {"<", "&", "*const ", "*mut ", "mut ", "dyn ", "impl ", "[", "("};
    for (bool found = true; found;) {
        found = false;
        for (size_t i = 0; i < sizeof before / sizeof *before && !found; i++) {
            found = sxt_string_begins(name, before[i]);
            if (found)
                name = (sxt_string){name.data + strlen(before[i]), name.size - strlen(before[i])};
        }
    }
    size_t end = 0;
    while (end < name.size && (name.data[end] == '_' || (name.data[end] >= '0' && name.data[end] <= '9') ||
                               ((name.data[end] | 0x20) >= 'a' && (name.data[end] | 0x20) <= 'z')))
        end++;
    size_t after = end;
    if (after < name.size && name.data[after] == '[') /* core[8f4a3...]::fmt */
        while (after < name.size && name.data[after++] != ']')
            continue;
    bool is_path = name.size - after >= 2 && name.data[after] == ':' && name.data[after + 1] == ':';
    return is_path && end > 0 ? (sxt_string){name.data, end} : (sxt_string){"", 0};
}

/* "net/http" of "net/http.(*Server).Serve". */
static sxt_string package_of(sxt_string name)
{
    size_t start = 0, slash = 0;
    for (; start < name.size && strchr("([{ <\"", name.data[start]) == NULL; start++)
        if (name.data[start] == '/')
            slash = start;
    const char *dot = start > slash ? memchr(name.data + slash, '.', start - slash) : NULL;
    return dot != NULL && dot > name.data ? (sxt_string){name.data, (size_t)(dot - name.data)} : (sxt_string){"", 0};
}

/* "org.a" of "org.a.B$C#get(int): org.b.D". */
static sxt_string java_package_of(sxt_string name)
{
    const char *hash = name.size > 0 ? memchr(name.data, '#', name.size) : NULL;
    if (sxt_size_query_is_literal(name) || sxt_string_begins(name, "**"))
        return (sxt_string){"", 0};
    size_t size = hash != NULL ? (size_t)(hash - name.data) : name.size;
    const char *dot = size > 0 ? memrchr(name.data, '.', size) : NULL;
    return (sxt_string){name.data, dot != NULL ? (size_t)(dot - name.data) : 0};
}

/* --- generated code --- */

static sxt_string generated_class(const struct sxt_size_query_item *item)
{
    static const struct {
        const char *in_path, *in_name, *class;
    } classes[] = {
        {".grpc.pb.", NULL, "gRPC"},
        {".pb.", NULL, "Protocol Buffers"},
        {"protoc_java", NULL, "Protocol Buffers"},
        {".mojom", NULL, "Mojo"},
        {NULL, "JNIEnv", "JNI registration"},
        {"gl_bindings", NULL, "GL bindings"},
        {"devtools", NULL, "DevTools"},
        {"/protocol/", NULL, "DevTools"},
        {"/bindings/", NULL, "language bindings"},
        {"blink", NULL, "Blink, other"},
        {NULL, "Builtins_", "V8 builtins"},
        {"metrics", NULL, "metrics"},
        {"policy", NULL, "policy"},
        {"_generated.h", NULL, "FlatBuffers"},
        {"moc_", NULL, "Qt meta objects"},
        {"qrc_", NULL, "Qt resources"},
        {".tab.", NULL, "parsers (bison)"},
        {"lex.yy", NULL, "scanners (flex)"},
    };
    sxt_string path = sxt_size_query_path(item), name = item->full_name;
    if (!sxt_size_query_is_generated(item))
        return (sxt_string){"", 0};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const char *wanted = classes[i].in_path != NULL ? classes[i].in_path : classes[i].in_name;
        sxt_string where = classes[i].in_path != NULL ? path : name;
        if (where.size > 0 && memmem(where.data, where.size, wanted, strlen(wanted)) != NULL)
            return (sxt_string){classes[i].class, strlen(classes[i].class)};
    }
    return (sxt_string){"other", 5};
}
