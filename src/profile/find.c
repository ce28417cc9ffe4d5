/* find.c: candidates by name and by content, and the choice among them. */
#include "profile/find.h"

#include "base/hex.h"
#include "source/debug_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_SIZE 4096

/* How an archive is called behind the name or the build ID of its binary. */
static const char *const archive_endings[] = {".lidia", ".symbfile"};
#define ARCHIVE_ENDINGS (sizeof archive_endings / sizeof *archive_endings)

/* What is searched for. */
struct wanted {
    struct sxt_modules *modules;
    struct sxt_module *module;
    char path[NAME_MAX_SIZE]; /* the mapping's name, without what the kernel adds to it */
    const char *base;
    char hex[SXT_HEX_ROOM(SXT_PROBE_ID_MAX)]; /* the build ID in lower case; "" when it is not hexadecimal */
    uint8_t id[SXT_PROBE_ID_MAX];
    size_t id_size;
    bool is_kernel;
    bool binary_has_dwarf, debug_has_dwarf;
    int binary_rank;
};

static void describe_wanted(struct wanted *wanted, struct sxt_modules *modules, struct sxt_module *module);
static void find_by_build_id(struct wanted *wanted);
static void find_by_file_id(struct wanted *wanted);
static void find_by_name(struct wanted *wanted);
static void find_local(struct wanted *wanted);
static void settle(struct wanted *wanted);

/* Is the build ID all that counts? */
static bool is_exact_about(const struct wanted *wanted)
{
    return wanted->modules->options.exact && wanted->id_size > 0;
}

static bool has_any(const struct sxt_module *module)
{
    return module->archive != NULL || module->binary != NULL || module->debug != NULL;
}

void sxt_find_files(struct sxt_modules *modules, struct sxt_module *module)
{
    struct wanted wanted;
    describe_wanted(&wanted, modules, module);
    bool is_searched = modules->options.directory_count > 0 && sxt_search_walk(&modules->search);
    bool is_exact = is_exact_about(&wanted);
    if (is_searched && wanted.id_size > 0)
        find_by_build_id(&wanted);
    if (is_searched && !has_any(module) && !is_exact)
        find_by_file_id(&wanted);
    if (is_searched && !has_any(module))
        find_by_name(&wanted);
    /* Also when there is an archive or a debug file: the binary knows the segments. */
    if (!modules->options.no_local && (module->binary == NULL || (is_exact && !wanted.binary_has_dwarf)))
        find_local(&wanted);
    settle(&wanted);
}

static void parse_build_id(struct wanted *wanted, sxt_string text)
{
    if (text.size % 2 != 0 || text.size < 4 || text.size > 2 * SXT_PROBE_ID_MAX)
        return;
    for (size_t i = 0; i < text.size; i += 2) {
        int high = sxt_hex_digit(text.data[i]), low = sxt_hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return;
        wanted->id[i / 2] = (uint8_t)(high << 4 | low);
    }
    wanted->id_size = text.size / 2;
    sxt_hex_encode(wanted->hex, wanted->id, wanted->id_size);
}

static void describe_wanted(struct wanted *wanted, struct sxt_modules *modules, struct sxt_module *module)
{
    static const char deleted[] = " (deleted)";
    *wanted = (struct wanted){.modules = modules, .module = module};
    size_t size = module->name.size;
    if (size > sizeof deleted - 1 &&
        memcmp(module->name.data + size - (sizeof deleted - 1), deleted, sizeof deleted - 1) == 0)
        size -= sizeof deleted - 1;
    if (size < sizeof wanted->path)
        memcpy(wanted->path, module->name.data, size);
    const char *slash = strrchr(wanted->path, '/');
    wanted->base = slash != NULL ? slash + 1 : wanted->path;
    wanted->is_kernel = sxt_layout_is_kernel(module->name);
    parse_build_id(wanted, module->build_id);
}

static bool is_same_build(const struct wanted *wanted, const struct sxt_probe *probe)
{
    return probe->is_elf && probe->build_id_size == wanted->id_size &&
           memcmp(probe->build_id, wanted->id, wanted->id_size) == 0;
}

/* Is the file of PROBE another build than the one that is wanted? IDs of other lengths are of another kind. */
static bool is_other_build(const struct wanted *wanted, const struct sxt_probe *probe)
{
    if (is_exact_about(wanted))
        return !is_same_build(wanted, probe);
    return wanted->id_size > 0 && probe->build_id_size == wanted->id_size &&
           memcmp(probe->build_id, wanted->id, wanted->id_size) != 0;
}

static void keep(char **where, const char *path)
{
    free(*where);
    *where = strdup(path);
}

/* Takes an ELF file that fits, if it is better than what is there. */
static void consider(struct wanted *wanted, const char *path, const struct sxt_probe *probe)
{
    struct sxt_module *module = wanted->module;
    int rank = 2 * probe->has_dwarf + probe->has_symbols;
    if (!probe->has_code) {
        if (module->debug == NULL || (probe->has_dwarf && !wanted->debug_has_dwarf)) {
            keep(&module->debug, path);
            wanted->debug_has_dwarf = probe->has_dwarf;
        }
    } else if (module->binary == NULL || rank > wanted->binary_rank) {
        keep(&module->binary, path);
        wanted->binary_rank = rank;
        wanted->binary_has_dwarf = probe->has_dwarf;
    }
}

/* A debug file helps a binary that has less, and stands in for one that is not there. */
static void settle(struct wanted *wanted)
{
    struct sxt_module *module = wanted->module;
    if (module->debug == NULL)
        return;
    if (module->binary == NULL) {
        module->binary = module->debug;
        module->debug = NULL;
    } else if (wanted->binary_has_dwarf) {
        free(module->debug);
        module->debug = NULL;
    }
}

/* How many folders, from the file upwards, have the same names in both paths. */
static size_t likeness(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b), same = 0;
    while (a_size > 0 && b_size > 0 && a[a_size - 1] != '/')
        a_size--;
    while (b_size > 0 && b[b_size - 1] != '/')
        b_size--;
    for (; a_size > 0 && b_size > 0 && a[a_size - 1] == b[b_size - 1]; a_size--, b_size--)
        same += a[a_size - 1] == '/';
    return same;
}

static bool has_name(const struct sxt_search *search, size_t index, const char *name)
{
    return index < search->count && strcmp(search->files[index].base, name) == 0;
}

/* The archive called NAME and an ending, the one that lies most like the mapping's file. */
static bool take_archive(struct wanted *wanted, const char *name)
{
    const struct sxt_search *search = &wanted->modules->search;
    char base[NAME_MAX_SIZE + 16];
    for (size_t i = 0; i < ARCHIVE_ENDINGS && *name != 0; i++) {
        snprintf(base, sizeof base, "%s%s", name, archive_endings[i]);
        size_t best = 0;
        for (size_t at = sxt_search_from(search, base); has_name(search, at, base); at++) {
            size_t same = likeness(wanted->path, search->files[at].path);
            if (wanted->module->archive == NULL || same > best)
                keep(&wanted->module->archive, search->files[at].path);
            best = same > best ? same : best;
        }
        if (wanted->module->archive != NULL)
            return true;
    }
    return false;
}

/* ELF files called NAME that have the build ID. */
static void consider_named(struct wanted *wanted, const char *name)
{
    struct sxt_search *search = &wanted->modules->search;
    for (size_t at = sxt_search_from(search, name); *name != 0 && has_name(search, at, name); at++) {
        const struct sxt_probe *probe = sxt_search_probe(search, at);
        if (probe != NULL && is_same_build(wanted, probe))
            consider(wanted, search->files[at].path, probe);
    }
}

static void find_by_build_id(struct wanted *wanted)
{
    struct sxt_search *search = &wanted->modules->search;
    char name[NAME_MAX_SIZE + 16];
    bool has_archive = take_archive(wanted, wanted->hex);
    /* Names that are worth a look before everything is opened; the last two as in .build-id/ab/cdef.debug. */
    consider_named(wanted, wanted->base);
    snprintf(name, sizeof name, "%s.debug", wanted->base);
    consider_named(wanted, name);
    consider_named(wanted, wanted->hex);
    snprintf(name, sizeof name, "%s.debug", wanted->hex);
    consider_named(wanted, name);
    consider_named(wanted, wanted->hex + 2);
    snprintf(name, sizeof name, "%s.debug", wanted->hex + 2);
    consider_named(wanted, name);
    /* The debug file of a stripped binary may be called anything. */
    bool is_enough = !is_exact_about(wanted) || wanted->binary_has_dwarf || wanted->debug_has_dwarf;
    if (has_archive || (has_any(wanted->module) && is_enough))
        return;
    size_t at = 0;
    for (size_t i; (i = sxt_search_by_build_id(search, wanted->id, wanted->id_size, &at)) < search->count;)
        consider(wanted, search->files[i].path, search->files[i].probe);
}

/* It stands in the place of the build ID, as 32 hexadecimal digits or 22 of base64url. */
static void find_by_file_id(struct wanted *wanted)
{
    struct sxt_search *search = &wanted->modules->search;
    const char *id = wanted->id_size > 0 ? wanted->hex : wanted->module->build_id.data;
    size_t size = strlen(id);
    if ((size != 22 && size != 32) || strchr(id, '/') != NULL || take_archive(wanted, id))
        return;
    for (size_t i = 0; i < search->count; i++)
        if (sxt_search_has_file_id(search, i, id)) {
            consider(wanted, search->files[i].path, search->files[i].probe);
            return;
        }
}

/* The ELF file called NAME that lies most like the mapping's file. */
static bool take_elf(struct wanted *wanted, const char *name)
{
    struct sxt_search *search = &wanted->modules->search;
    size_t best = 0, chosen = search->count;
    for (size_t at = sxt_search_from(search, name); *name != 0 && has_name(search, at, name); at++) {
        const struct sxt_probe *probe = sxt_search_probe(search, at);
        if (probe == NULL || !probe->is_elf)
            continue;
        if (is_other_build(wanted, probe)) {
            wanted->module->is_other_build = true;
            continue;
        }
        size_t same = likeness(wanted->path, search->files[at].path);
        if (chosen == search->count || same > best)
            chosen = at;
        best = same > best ? same : best;
    }
    if (chosen < search->count)
        consider(wanted, search->files[chosen].path, search->files[chosen].probe);
    return chosen < search->count;
}

static bool take_named(struct wanted *wanted, const char *name)
{
    char debug[NAME_MAX_SIZE + 16];
    snprintf(debug, sizeof debug, "%s.debug", name);
    /* An archive does not say of which build it is. */
    bool found = !is_exact_about(wanted) && take_archive(wanted, name);
    found |= take_elf(wanted, name);
    return take_elf(wanted, debug) || found;
}

/* A kernel is called vmlinux, or vmlinux-RELEASE; its archive the same with an ending. */
static void find_kernel(struct wanted *wanted)
{
    const struct sxt_search *search = &wanted->modules->search;
    for (size_t at = sxt_search_from(search, "vmlinux"); at < search->count && !has_any(wanted->module); at++) {
        const char *base = search->files[at].base;
        size_t size = strlen(base);
        if (strncmp(base, "vmlinux", 7) != 0)
            break;
        for (size_t i = 0; i < ARCHIVE_ENDINGS; i++) {
            size_t ending = strlen(archive_endings[i]);
            if (size > ending && strcmp(base + size - ending, archive_endings[i]) == 0)
                keep(&wanted->module->archive, search->files[at].path);
        }
        if (wanted->module->archive == NULL)
            take_elf(wanted, base);
    }
}

static void find_by_name(struct wanted *wanted)
{
    static const char *const vdso_names[] = {"vdso", "vdso64.so", "vdso.so", "linux-vdso.so.1", "vdso32.so"};
    char name[NAME_MAX_SIZE + 16];
    size_t size = strlen(wanted->base);
    if (take_named(wanted, wanted->base) || is_exact_about(wanted))
        return;
    if (wanted->is_kernel) {
        find_kernel(wanted);
    } else if (strcmp(wanted->base, "[vdso]") == 0) {
        for (size_t i = 0; i < sizeof vdso_names / sizeof *vdso_names; i++)
            if (take_named(wanted, vdso_names[i]))
                return;
    } else if (size > 2 && wanted->base[0] == '[' && wanted->base[size - 1] == ']') {
        /* A kernel module. */
        static const char *const endings[] = {"", ".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            snprintf(name, sizeof name, "%.*s%s", (int)size - 2, wanted->base + 1, endings[i]);
            if (take_named(wanted, name))
                return;
        }
    }
}

static void find_local(struct wanted *wanted)
{
    struct sxt_module *module = wanted->module;
    struct sxt_probe probe;
    if (strchr(wanted->path, '/') != NULL) {
        sxt_probe_path(wanted->path, &probe, NULL);
        bool fits = module->debug != NULL ? is_same_build(wanted, &probe) : !is_other_build(wanted, &probe);
        if (probe.is_elf && fits)
            consider(wanted, wanted->path, &probe);
        else if (probe.is_elf)
            module->is_other_build = true;
    }
    if (wanted->id_size == 0 || has_any(module))
        return;
    const char *directory = wanted->modules->opening.extract.debug_directory;
    char path[NAME_MAX_SIZE];
    int size = snprintf(path, sizeof path, "%s/.build-id/%.2s/%s.debug",
                        directory != NULL ? directory : SXT_DEBUG_DIRECTORY, wanted->hex, wanted->hex + 2);
    if (size < 0 || (size_t)size >= sizeof path)
        return;
    sxt_probe_path(path, &probe, NULL);
    if (is_same_build(wanted, &probe))
        consider(wanted, path, &probe);
}
