/* modules.c: the modules by name and build ID, and opening them. */
#include "profile/modules.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"

/* Archives that stay open for text. An open ELF file holds all its symbols in memory. */
#define OPEN_MAX    32
#define MODULES_MAX ((size_t)1 << 20)

/* Each one of a source may cost it a search. */
#define SOURCE_MODULES_MAX 256

void sxt_modules_options_init(sxt_modules_options *options)
{
    *options = (sxt_modules_options){.struct_size = sizeof *options};
}

/* Copies the caller's options over the defaults. */
static int take_options(struct sxt_modules *modules, const sxt_modules_options *given, sxt_error *error)
{
    sxt_modules_options *options = &modules->options;
    sxt_modules_options_init(options);
    int status = sxt_options_take(options, sizeof *options, given, "sxt_modules_options_init", error);
    return status == SXT_OK ? sxt_opening_take(&modules->opening, options->open, error) : status;
}

static int open_service(struct sxt_modules *modules, sxt_error *error)
{
    sxt_remote_options options;
    sxt_remote_options_init(&options);
    options.url = modules->options.url;
    options.api_key = modules->options.api_key;
    options.ca_file = modules->options.ca_file;
    return sxt_remote_open(&options, &modules->remote, error);
}

int sxt_modules_open(const sxt_modules_options *given, sxt_modules **out, sxt_error *error)
{
    *out = NULL;
    struct sxt_modules *modules = calloc(1, sizeof *modules);
    if (modules == NULL)
        return sxt_fail_memory(error, sizeof *modules);
    modules->most = MODULES_MAX;
    modules->most_open = OPEN_MAX;
    const sxt_modules_options *options = &modules->options;
    int status = take_options(modules, given, error);
    sxt_file_index_init(&modules->index, options->directories, options->directory_count);
    if (status == SXT_OK)
        status = sxt_strings_init(&modules->keys, 0, error);
    if (status == SXT_OK && options->url != NULL)
        status = open_service(modules, error);
    if (status != SXT_OK)
        sxt_modules_close(&modules);
    *out = modules;
    return status;
}

/* Passes on what modules and text warn of. */
static void warn_source(void *data, const char *path, const sxt_error *problem)
{
    const struct sxt_text_source *source = data;
    (void)path;
    if (source->warn != NULL)
        source->warn(source->data, problem->text);
}

int sxt_modules_open_source(const struct sxt_text_source *source, sxt_modules **out, sxt_error *error)
{
    sxt_modules_options options;
    sxt_modules_options_init(&options);
    options.no_local = true;
    options.warning = warn_source;
    options.warning_data = (void *)(uintptr_t)source;
    int status = sxt_modules_open(&options, out, error);
    if (status == SXT_OK) {
        (*out)->source = source;
        (*out)->most = SOURCE_MODULES_MAX;
    }
    return status;
}

static void free_module(struct sxt_module *module)
{
    if (!module->is_borrowed)
        sxt_archive_close(&module->opened);
    sxt_layout_free(&module->layout);
    free(module->archive);
    free(module->binary);
    free(module->debug);
    free(module->image);
    free(module->problem);
    free(module);
}

void sxt_modules_close(struct sxt_modules **modules)
{
    struct sxt_modules *all = *modules;
    if (all == NULL)
        return;
    for (size_t i = 0; i < all->count; i++)
        free_module(all->all[i]);
    free(all->all);
    sxt_strings_free(&all->keys);
    sxt_file_index_free(&all->index);
    sxt_remote_close(&all->remote);
    free(all);
    *modules = NULL;
}

/* The key is "NAME\0BUILD ID\0", so that both are NUL-terminated. NULL when out of memory. */
static char *make_key(sxt_string name, sxt_string build_id)
{
    char *key = calloc(name.size + build_id.size + 2, 1);
    if (key != NULL && name.size > 0)
        memcpy(key, name.data, name.size);
    if (key != NULL && build_id.size > 0)
        memcpy(key + name.size + 1, build_id.data, build_id.size);
    return key;
}

/* A module without files, under a key that is new. */
static struct sxt_module *add_module(struct sxt_modules *modules, const char *key, size_t size, size_t build_id_at)
{
    struct sxt_module *module = calloc(1, sizeof *module);
    void *moved = sxt_array_grow(modules->all, &modules->capacity, modules->count + 1, sizeof(struct sxt_module *));
    if (moved != NULL)
        modules->all = moved;
    uint32_t number = module != NULL && moved != NULL ? sxt_strings_add(&modules->keys, key, size) : SXT_STRINGS_FULL;
    if (number == SXT_STRINGS_FULL) {
        free(module);
        return NULL;
    }
    const char *kept = sxt_strings_get(&modules->keys, number).data;
    module->name = (sxt_string){kept, strlen(kept)};
    module->build_id = (sxt_string){kept + build_id_at, strlen(kept + build_id_at)};
    module->number = modules->count;
    modules->all[modules->count++] = module;
    return module;
}

struct sxt_module *sxt_modules_add(struct sxt_modules *modules, sxt_string name, sxt_string build_id, bool *is_new)
{
    *is_new = false;
    char *key = make_key(name, build_id);
    if (key == NULL)
        return NULL;
    size_t size = name.size + build_id.size + 2;
    uint32_t number = sxt_strings_find(&modules->keys, key, size);
    struct sxt_module *module = NULL;
    if (number != SXT_STRINGS_FULL) {
        module = modules->all[number - 1];
    } else if (modules->count < modules->most) {
        module = add_module(modules, key, size, name.size + 1);
        *is_new = module != NULL;
    }
    free(key);
    return module;
}

struct sxt_module *sxt_modules_find(struct sxt_modules *modules, sxt_string name, sxt_string build_id)
{
    bool is_new;
    struct sxt_module *module = sxt_modules_add(modules, name, build_id, &is_new);
    if (is_new && modules->source != NULL) {
        module->opened = (sxt_archive *)(uintptr_t)modules->source->find(modules->source->data, name, build_id);
        module->is_borrowed = module->opened != NULL;
    } else if (is_new) {
        sxt_module_choose_files(modules, module);
    }
    return module;
}

static void note_problem(struct sxt_module *module, const char *text)
{
    free(module->problem);
    module->problem = strdup(text);
}

void sxt_module_warn_of_segments(const struct sxt_modules *modules, struct sxt_module *module)
{
    const sxt_modules_options *options = &modules->options;
    if (module->lacks_segments)
        return;
    module->lacks_segments = true;
    if (options->warning == NULL)
        return;
    sxt_error problem;
    sxt_fail_reason(&problem, SXT_ERROR_NOT_FOUND, SXT_REASON_NO_SEGMENTS, SXT_NO_OFFSET,
                    "does not say where parts of the binary are loaded, so addresses of '%.*s' get no names",
                    (int)(module->name.size < 150 ? module->name.size : 150), module->name.data);
    options->warning(options->warning_data, sxt_module_path(module), &problem);
}

bool sxt_module_lay_out(const struct sxt_modules *modules, struct sxt_module *module, const sxt_archive *archive)
{
    if (module->has_layout)
        return true;
    struct sxt_elf_summary summary = {0};
    if (module->image != NULL)
        sxt_elf_summary_of_memory(module->image, module->image_size, &summary, &module->layout);
    else if (module->binary != NULL)
        sxt_elf_summary_read(module->binary, &summary, &module->layout);
    bool is_archive = !summary.is_elf && archive != NULL && sxt_layout_of_archive(&module->layout, archive);
    if (!summary.is_elf && !is_archive)
        note_problem(module, archive != NULL ? "out of memory" : "not a readable ELF file");
    module->has_layout = summary.is_elf || is_archive;
    module->layout.assume_linear = modules->options.assume_linear;
    return module->has_layout;
}

struct warning {
    const sxt_modules_options *options;
    const char *path;
};

static void pass_warning(void *data, const sxt_error *problem)
{
    const struct warning *warning = data;
    warning->options->warning(warning->options->warning_data, warning->path, problem);
}

int sxt_module_open(struct sxt_modules *modules, struct sxt_module *module, const uint64_t *addresses, size_t count,
                    bool mangled, sxt_archive **out)
{
    sxt_open_options options = modules->opening.open;
    sxt_extract_options extract = modules->opening.extract;
    options.extract = &extract;
    struct warning warning = {&modules->options, sxt_module_path(module)};
    options.mangled = mangled;
    extract.addresses = count > 0 ? addresses : NULL;
    extract.address_count = count;
    extract.warning = modules->options.warning != NULL ? pass_warning : NULL;
    extract.warning_data = &warning;
    if (module->archive == NULL && module->debug != NULL)
        extract.debug_path = module->debug;
    sxt_error error;
    int status = module->image != NULL
                     ? sxt_archive_open_memory(module->image, module->image_size, &options, out, &error)
                     : sxt_archive_open_path(warning.path, &options, out, &error);
    if (status != SXT_OK)
        note_problem(module, error.text);
    return status;
}

sxt_archive *sxt_modules_archive(struct sxt_modules *modules, sxt_string name, sxt_string build_id,
                                 const uint64_t *addresses, size_t count)
{
    struct sxt_module *module = sxt_modules_find(modules, name, build_id);
    sxt_archive *archive = NULL;
    if (module != NULL && sxt_module_is_found(module))
        (void)sxt_module_open(modules, module, addresses, count, modules->opening.open.mangled, &archive);
    return archive;
}

static void close_oldest(struct sxt_modules *modules)
{
    struct sxt_module *oldest = NULL;
    for (size_t i = 0; i < modules->count; i++)
        if (modules->all[i]->opened != NULL && !modules->all[i]->is_borrowed &&
            (oldest == NULL || modules->all[i]->last_use < oldest->last_use))
            oldest = modules->all[i];
    if (oldest == NULL)
        return;
    sxt_archive_close(&oldest->opened);
    modules->open_count--;
}

const sxt_archive *sxt_module_keep(struct sxt_modules *modules, struct sxt_module *module)
{
    module->last_use = ++modules->clock;
    if (module->opened != NULL || module->problem != NULL || !sxt_module_is_found(module))
        return module->opened;
    if (modules->open_count >= modules->most_open)
        close_oldest(modules);
    if (sxt_module_open(modules, module, NULL, 0, modules->opening.open.mangled, &module->opened) == SXT_OK)
        modules->open_count++;
    return module->opened;
}

void sxt_modules_visit_missing(const sxt_modules *modules, bool (*visit)(void *data, const sxt_missing_module *missing),
                               void *data)
{
    for (size_t i = 0; i < modules->count; i++) {
        const struct sxt_module *module = modules->all[i];
        sxt_missing_module missing = {.name = module->name, .build_id = module->build_id, .problem = module->problem};
        missing.reason = SXT_UNRESOLVED_DAMAGED;
        if (!sxt_module_is_found(module)) {
            missing.reason = module->is_other_build ? SXT_UNRESOLVED_BUILD_ID : SXT_UNRESOLVED_FILE;
            missing.problem = sxt_unresolved_text(missing.reason);
        }
        if (missing.problem != NULL && !visit(data, &missing))
            return;
    }
}
