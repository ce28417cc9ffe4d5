/*
 * choose_files.c: which archive, binary and debug file serve a module. modules.h has the order of preference.
 *
 * Candidates come from the index of the user's directories and from this machine, by build ID, FileID and name.
 */
#include "base/string.h"
#include "profile/modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/file_id.h"
#include "base/hex.h"
#include "source/debug_file.h"

#define NAME_MAX_SIZE 4096

/* An archive is named like its binary, or like the build ID, with one of these endings. */
static const char *const archive_endings[] = {".lidia", ".symbfile", ".ksym", ".size"};
#define ARCHIVE_ENDINGS (sizeof archive_endings / sizeof *archive_endings)

/* The module that files are chosen for. */
struct wanted {
    struct sxt_modules *modules;
    struct sxt_module *module;
    char path[NAME_MAX_SIZE]; /* the mapping's name, without " (deleted)" */
    const char *base;
    char hex[SXT_HEX_ROOM(SXT_ELF_SUMMARY_ID_MAX)]; /* the build ID in lower case; "" if it is not hexadecimal */
    uint8_t id[SXT_ELF_SUMMARY_ID_MAX];
    size_t id_size;
    uint8_t file_id[SXT_FILE_ID_SIZE]; /* the build ID taken as a FileID, in hexadecimal or in base64url */
    bool has_file_id;
    bool is_kernel;
    bool binary_has_dwarf, debug_has_dwarf;
    int binary_rank;
};

static void prepare(struct wanted *wanted, struct sxt_modules *modules, struct sxt_module *module);
static void find_by_build_id(struct wanted *wanted);
static void find_by_file_id(struct wanted *wanted);
static void find_by_name(struct wanted *wanted);
static void find_local(struct wanted *wanted);
static void assign_debug_file(struct wanted *wanted);

/* Whether only a file with the build ID is accepted. */
static bool needs_build_id(const struct wanted *wanted)
{
    return wanted->modules->options.exact && wanted->id_size > 0;
}

static bool has_any(const struct sxt_module *module)
{
    return module->archive != NULL || module->binary != NULL || module->debug != NULL;
}

void sxt_module_choose_files(struct sxt_modules *modules, struct sxt_module *module)
{
    struct wanted wanted;
    prepare(&wanted, modules, module);
    bool is_searched = modules->options.directory_count > 0 && sxt_file_index_fill(&modules->index);
    bool is_exact = needs_build_id(&wanted);
    if (is_searched && wanted.id_size > 0)
        find_by_build_id(&wanted);
    if (is_searched && !has_any(module) && !is_exact)
        find_by_file_id(&wanted);
    if (is_searched && !has_any(module))
        find_by_name(&wanted);
    /* Needed even with an archive or a debug file: only the binary has the segments. */
    if (!modules->options.no_local && (module->binary == NULL || (is_exact && !wanted.binary_has_dwarf)))
        find_local(&wanted);
    assign_debug_file(&wanted);
}

static void parse_build_id(struct wanted *wanted, sxt_string text)
{
    if (text.size % 2 != 0 || text.size < 4 || text.size > 2 * SXT_ELF_SUMMARY_ID_MAX)
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

static void prepare(struct wanted *wanted, struct sxt_modules *modules, struct sxt_module *module)
{
    static const char deleted[] = " (deleted)";
    *wanted = (struct wanted){.modules = modules, .module = module};
    size_t size = module->name.size;
    if (size > sizeof deleted - 1 && sxt_string_ends(module->name, deleted))
        size -= sizeof deleted - 1;
    if (size < sizeof wanted->path)
        memcpy(wanted->path, module->name.data, size);
    const char *slash = strrchr(wanted->path, '/');
    wanted->base = slash != NULL ? slash + 1 : wanted->path;
    wanted->is_kernel = sxt_layout_is_kernel(module->name);
    parse_build_id(wanted, module->build_id);
    if (wanted->id_size == SXT_FILE_ID_SIZE)
        memcpy(wanted->file_id, wanted->id, SXT_FILE_ID_SIZE);
    wanted->has_file_id = wanted->id_size == SXT_FILE_ID_SIZE ||
                          (wanted->id_size == 0 && sxt_base64url_decode(wanted->file_id, SXT_FILE_ID_SIZE,
                                                                        module->build_id.data, module->build_id.size));
}

static bool is_same_build(const struct wanted *wanted, const struct sxt_elf_summary *summary)
{
    return (summary->is_elf || summary->is_archive) && summary->build_id_size == wanted->id_size &&
           memcmp(summary->build_id, wanted->id, wanted->id_size) == 0;
}

/* Whether the file is another build than the wanted one. IDs of different lengths are of different kinds. */
static bool is_other_build(const struct wanted *wanted, const struct sxt_elf_summary *summary)
{
    if (needs_build_id(wanted))
        return !is_same_build(wanted, summary);
    return wanted->id_size > 0 && summary->build_id_size == wanted->id_size &&
           memcmp(summary->build_id, wanted->id, wanted->id_size) != 0;
}

static void keep(char **where, const char *path)
{
    free(*where);
    *where = strdup(path);
}

/* Takes a suitable file if it is better than the one chosen so far. */
static void consider(struct wanted *wanted, const char *path, const struct sxt_elf_summary *summary)
{
    struct sxt_module *module = wanted->module;
    int rank = 2 * summary->has_dwarf + summary->has_symbols;
    if (summary->is_archive) {
        if (module->archive == NULL)
            keep(&module->archive, path);
        return;
    }
    if (!summary->has_code) {
        if (module->debug == NULL || (summary->has_dwarf && !wanted->debug_has_dwarf)) {
            keep(&module->debug, path);
            wanted->debug_has_dwarf = summary->has_dwarf;
        }
    } else if (module->binary == NULL || rank > wanted->binary_rank) {
        keep(&module->binary, path);
        wanted->binary_rank = rank;
        wanted->binary_has_dwarf = summary->has_dwarf;
    }
}

/* A debug file completes a binary without DWARF, and replaces a binary that was not found. */
static void assign_debug_file(struct wanted *wanted)
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

/* How many directories, from the file upwards, have the same names in both paths. */
static size_t shared_directories(const char *a, const char *b)
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

static bool has_name(const struct sxt_file_index *index, size_t number, const char *name)
{
    return number < index->count && strcmp(index->files[number].base, name) == 0;
}

/*
 * Whether an archive that was found by name may be used. One that knows its build ID has to be of the wanted build; the
 * wanted ID may be a FileID.
 */
static bool is_right_archive(struct wanted *wanted, size_t number)
{
    const struct sxt_elf_summary *summary = sxt_file_index_summary(&wanted->modules->index, number);
    if (summary == NULL || !summary->is_archive)
        return !needs_build_id(wanted);
    if (wanted->has_file_id && sxt_file_index_has_file_id(&wanted->modules->index, number, wanted->file_id))
        return true;
    if (!is_other_build(wanted, summary))
        return true;
    wanted->module->is_other_build = true;
    return false;
}

/* Takes the archive called NAME with an ending; of several, the one whose directories are most like the mapping's. */
static bool take_archive(struct wanted *wanted, const char *name)
{
    const struct sxt_file_index *index = &wanted->modules->index;
    char base[NAME_MAX_SIZE + 16];
    for (size_t i = 0; i < ARCHIVE_ENDINGS && *name != 0; i++) {
        snprintf(base, sizeof base, "%s%s", name, archive_endings[i]);
        size_t best = 0;
        for (size_t at = sxt_file_index_at(index, base); has_name(index, at, base); at++) {
            size_t same = shared_directories(wanted->path, index->files[at].path);
            if (!is_right_archive(wanted, at))
                continue;
            if (wanted->module->archive == NULL || same > best)
                keep(&wanted->module->archive, index->files[at].path);
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
    struct sxt_file_index *index = &wanted->modules->index;
    for (size_t at = sxt_file_index_at(index, name); *name != 0 && has_name(index, at, name); at++) {
        const struct sxt_elf_summary *summary = sxt_file_index_summary(index, at);
        if (summary != NULL && is_same_build(wanted, summary))
            consider(wanted, index->files[at].path, summary);
    }
}

static void find_by_build_id(struct wanted *wanted)
{
    struct sxt_file_index *index = &wanted->modules->index;
    char name[NAME_MAX_SIZE + 16];
    bool has_archive = take_archive(wanted, wanted->hex);
    /* Likely names, before every file is opened; the last two are those of .build-id/ab/cdef.debug. */
    consider_named(wanted, wanted->base);
    snprintf(name, sizeof name, "%s.debug", wanted->base);
    consider_named(wanted, name);
    consider_named(wanted, wanted->hex);
    snprintf(name, sizeof name, "%s.debug", wanted->hex);
    consider_named(wanted, name);
    consider_named(wanted, wanted->hex + 2);
    snprintf(name, sizeof name, "%s.debug", wanted->hex + 2);
    consider_named(wanted, name);
    /* The debug file of a stripped binary may have any name. */
    bool is_enough = !needs_build_id(wanted) || wanted->binary_has_dwarf || wanted->debug_has_dwarf;
    if (has_archive || (has_any(wanted->module) && is_enough))
        return;
    size_t at = 0;
    for (size_t i; (i = sxt_file_index_next_build_id(index, wanted->id, wanted->id_size, &at)) < index->count;)
        consider(wanted, index->files[i].path, index->files[i].summary);
}

/* A FileID in the place of the build ID, in either form; the name of an archive may have the other. */
static void find_by_file_id(struct wanted *wanted)
{
    struct sxt_file_index *index = &wanted->modules->index;
    char hex[SXT_HEX_ROOM(SXT_FILE_ID_SIZE)], base64url[SXT_BASE64_ROOM(SXT_FILE_ID_SIZE)];
    if (!wanted->has_file_id)
        return;
    sxt_hex_encode(hex, wanted->file_id, SXT_FILE_ID_SIZE);
    sxt_base64url_encode(base64url, wanted->file_id, SXT_FILE_ID_SIZE);
    if (take_archive(wanted, hex) || take_archive(wanted, base64url))
        return;
    for (size_t i = 0; i < index->count && !has_any(wanted->module); i++)
        if (sxt_file_index_has_file_id(index, i, wanted->file_id))
            consider(wanted, index->files[i].path, index->files[i].summary);
}

/*
 * An archive of a binary that was called like the mapping, whatever its own name is. Only if no other build of that
 * binary is there, since nothing else says which one is meant.
 */
static bool take_archive_of(struct wanted *wanted, const char *name)
{
    struct sxt_file_index *index = &wanted->modules->index;
    if (*name == 0 || wanted->id_size > 0)
        return false;
    size_t count;
    const uint32_t *numbers = sxt_file_index_archives_of(index, name, &count);
    for (size_t i = 1; i < count; i++) {
        const struct sxt_elf_summary *first = index->files[numbers[0]].summary;
        const struct sxt_elf_summary *other = index->files[numbers[i]].summary;
        if (first->build_id_size != other->build_id_size || first->has_file_id != other->has_file_id ||
            memcmp(first->build_id, other->build_id, other->build_id_size) != 0 ||
            memcmp(first->file_id, other->file_id, sizeof other->file_id) != 0)
            return false;
    }
    if (count > 0)
        consider(wanted, index->files[numbers[0]].path, index->files[numbers[0]].summary);
    return count > 0;
}

/* Takes the ELF file called NAME whose directories are most like the mapping's. */
static bool take_elf(struct wanted *wanted, const char *name)
{
    struct sxt_file_index *index = &wanted->modules->index;
    size_t best = 0, chosen = index->count;
    for (size_t at = sxt_file_index_at(index, name); *name != 0 && has_name(index, at, name); at++) {
        const struct sxt_elf_summary *summary = sxt_file_index_summary(index, at);
        if (summary == NULL || !summary->is_elf)
            continue;
        if (is_other_build(wanted, summary)) {
            wanted->module->is_other_build = true;
            continue;
        }
        size_t same = shared_directories(wanted->path, index->files[at].path);
        if (chosen == index->count || same > best)
            chosen = at;
        best = same > best ? same : best;
    }
    if (chosen < index->count)
        consider(wanted, index->files[chosen].path, index->files[chosen].summary);
    return chosen < index->count;
}

static bool take_named(struct wanted *wanted, const char *name)
{
    char debug[NAME_MAX_SIZE + 16];
    snprintf(debug, sizeof debug, "%s.debug", name);
    bool found = take_archive(wanted, name);
    found |= take_elf(wanted, name);
    return take_elf(wanted, debug) || found;
}

static bool has_archive_ending(const char *base)
{
    size_t size = strlen(base);
    for (size_t i = 0; i < ARCHIVE_ENDINGS; i++) {
        size_t ending = strlen(archive_endings[i]);
        if (size > ending && strcmp(base + size - ending, archive_endings[i]) == 0)
            return true;
    }
    return false;
}

/* Files whose names begin with BEGINNING: archives, and ELF files. */
static void take_kernel_named(struct wanted *wanted, const char *beginning)
{
    const struct sxt_file_index *index = &wanted->modules->index;
    size_t size = strlen(beginning);
    for (size_t at = sxt_file_index_at(index, beginning); at < index->count && !has_any(wanted->module); at++) {
        const char *base = index->files[at].base;
        if (strncmp(base, beginning, size) != 0)
            break;
        if (has_archive_ending(base) && is_right_archive(wanted, at))
            keep(&wanted->module->archive, index->files[at].path);
        else if (!has_archive_ending(base))
            take_elf(wanted, base);
    }
}

/* Whether an archive may be one of a kernel: it has addresses in the upper half. */
static bool is_kernel_archive(const char *path)
{
    sxt_archive *archive;
    if (sxt_archive_open_path(path, NULL, &archive, NULL) != SXT_OK)
        return false;
    size_t count = sxt_archive_row_count(archive);
    sxt_range row = {.address = 0};
    bool is_kernel = count > 0 && sxt_archive_row(archive, count - 1, &row) == SXT_OK && row.address >> 31 != 0;
    sxt_archive_close(&archive);
    return is_kernel;
}

/* Whether the user gave this very file, not a directory that it is in. */
static bool is_given(const struct wanted *wanted, const char *path)
{
    const sxt_modules_options *options = &wanted->modules->options;
    for (size_t i = 0; i < options->directory_count; i++)
        if (strcmp(options->directories[i], path) == 0)
            return true;
    return false;
}

/*
 * A kernel is called vmlinux or vmlinux-RELEASE; its archive has an ending in addition. Otherwise any file that the
 * user gave, or a ksym blob of any name: those are made for kernels.
 */
static void find_kernel(struct wanted *wanted)
{
    static const char *const beginnings[] = {"vmlinux", "kernel.", "kernel-", "kallsyms.", "System.map"};
    const struct sxt_file_index *index = &wanted->modules->index;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        take_kernel_named(wanted, beginnings[i]);
    for (size_t at = 0; at < index->count && !has_any(wanted->module); at++) {
        const char *path = index->files[at].path;
        size_t size = strlen(path);
        bool is_blob = size > 5 && strcmp(path + size - 5, ".ksym") == 0;
        if (is_blob && is_kernel_archive(path))
            keep(&wanted->module->archive, path);
    }
    for (size_t at = 0; at < index->count && !has_any(wanted->module); at++) {
        const char *path = index->files[at].path;
        const struct sxt_elf_summary *summary =
            is_given(wanted, path) ? sxt_file_index_summary(&wanted->modules->index, at) : NULL;
        if (summary != NULL && summary->is_elf)
            consider(wanted, path, summary);
        else if (summary != NULL)
            keep(&wanted->module->archive, path);
    }
}

/* A kernel module: the kernel prints snd_hda_intel for snd-hda-intel.ko. NAME is as long as the module's name. */
static bool is_same_module(const char *base, const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (base[i] != name[i] && !(base[i] == '-' && name[i] == '_'))
            return false;
    return base[size] == 0 || base[size] == '.';
}

/* NAME has SIZE bytes. */
static void find_kernel_module(struct wanted *wanted, const char *name, size_t size)
{
    static const char *const endings[] = {"", ".ko", ".ko.xz", ".ko.zst", ".ko.gz"};
    const struct sxt_file_index *index = &wanted->modules->index;
    char named[NAME_MAX_SIZE + 16];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        snprintf(named, sizeof named, "%.*s%s", (int)size, name, endings[i]);
        if (take_named(wanted, named))
            return;
    }
    for (size_t at = 0; at < index->count && memchr(name, '_', size) != NULL; at++) {
        const char *base = index->files[at].base;
        if (!is_same_module(base, name, size) || strncmp(base, name, size) == 0)
            continue;
        if (has_archive_ending(base))
            keep(&wanted->module->archive, index->files[at].path);
        else
            take_elf(wanted, base);
        if (has_any(wanted->module))
            return;
    }
}

static void find_by_name(struct wanted *wanted)
{
    static const char *const vdso_names[] = {"vdso", "vdso64.so", "vdso.so", "linux-vdso.so.1", "vdso32.so"};
    size_t size = strlen(wanted->base);
    if (take_named(wanted, wanted->base) || needs_build_id(wanted) || take_archive_of(wanted, wanted->base))
        return;
    if (wanted->is_kernel) {
        find_kernel(wanted);
    } else if (strcmp(wanted->base, "[vdso]") == 0) {
        for (size_t i = 0; i < sizeof vdso_names / sizeof *vdso_names; i++)
            if (take_named(wanted, vdso_names[i]))
                return;
    } else if (size > 2 && wanted->base[0] == '[' && wanted->base[size - 1] == ']') {
        find_kernel_module(wanted, wanted->base + 1, size - 2);
    }
}

static void find_local(struct wanted *wanted)
{
    struct sxt_module *module = wanted->module;
    struct sxt_elf_summary summary;
    if (strchr(wanted->path, '/') != NULL) {
        sxt_elf_summary_read(wanted->path, &summary, NULL);
        bool fits = module->debug != NULL ? is_same_build(wanted, &summary) : !is_other_build(wanted, &summary);
        if (summary.is_elf && fits)
            consider(wanted, wanted->path, &summary);
        else if (summary.is_elf)
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
    sxt_elf_summary_read(path, &summary, NULL);
    if (is_same_build(wanted, &summary))
        consider(wanted, path, &summary);
}
