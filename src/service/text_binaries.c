/* text_binaries.c: finds the binaries that text mentions. */
#include "service/text_binaries.h"

#include <string.h>
#include <time.h>

#include "base/string.h"
#include "service/find.h"
#include "service/server.h"

#define SEARCHES_MAX 32 /* by name: the whole catalog is listed for each */

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

void sxt_text_binaries_init(struct sxt_text_binaries *binaries, struct sxt_request *request, int64_t seconds)
{
    *binaries = (struct sxt_text_binaries){.request = request, .until = seconds_now() + seconds};
}

bool sxt_text_is_late(struct sxt_text_binaries *binaries)
{
    binaries->is_late |= seconds_now() > binaries->until;
    return binaries->is_late;
}

sxt_string sxt_text_keep(struct sxt_request *request, sxt_string text)
{
    char *copy = sxt_request_alloc(request, text.size + 1);
    if (copy == NULL)
        return (sxt_string){"", 0};
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    return (sxt_string){copy, text.size};
}

/* The kernel is also asked for addresses that have no module. */
static bool is_kernel(sxt_string name)
{
    return name.size > 7 && memcmp(name.data, "[kernel", 7) == 0;
}

/* By its name in the text: "/usr/bin/app" is "app", "[ext4]" is "ext4.ko", the kernel is "vmlinux". */
static void wanted_name(sxt_string name, char out[256])
{
    if (is_kernel(name)) {
        memcpy(out, "vmlinux", 8);
        return;
    }
    bool is_boxed = name.size > 2 && name.data[0] == '[' && name.data[name.size - 1] == ']';
    const char *slash = name.size > 0 ? memrchr(name.data, '/', name.size) : NULL;
    if (slash != NULL)
        name = (sxt_string){slash + 1, name.size - (size_t)(slash + 1 - name.data)};
    if (is_boxed)
        name = (sxt_string){name.data + 1, name.size - 2};
    size_t size = name.size < 240 ? name.size : 240;
    memcpy(out, name.data, size);
    memcpy(out + size, is_boxed ? ".ko" : "", is_boxed ? 4 : 1);
}

/* "app", or "app.debug"; of the kernel also "vmlinux-6.1.0". */
static bool is_named(const char *name, const char *wanted)
{
    size_t size = strlen(wanted);
    if (name == NULL || strncmp(name, wanted, size) != 0)
        return false;
    const char *rest = name + size;
    return *rest == 0 || strcmp(rest, ".debug") == 0 || strcmp(rest, ".xz") == 0 || strcmp(rest, ".zst") == 0 ||
           (strcmp(wanted, "vmlinux") == 0 && *rest == '-');
}

struct search {
    struct sxt_text_binaries *binaries;
    const char *wanted;
    char id[SXT_CATALOG_ID_MAX];
    size_t found;
};

#define ENOUGH (-1)

static int note_named(void *data, const struct sxt_catalog_listed *listed)
{
    struct search *search = data;
    if (sxt_text_is_late(search->binaries))
        return ENOUGH;
    if (!is_named(listed->name, search->wanted) || listed->source == NULL)
        return SXT_OK;
    memcpy(search->id, listed->id, strlen(listed->id) + 1);
    return ++search->found > 1 ? ENOUGH : SXT_OK;
}

static bool find_by_name(struct sxt_text_binaries *binaries, struct sxt_text_module *module, struct sxt_catalog_id *out)
{
    char wanted[256];
    wanted_name(module->name, wanted);
    struct search search = {.binaries = binaries, .wanted = wanted};
    sxt_error error;
    if (binaries->chosen != NULL && is_named(binaries->chosen_name, wanted)) {
        *out = binaries->chosen_ids[0];
        return true;
    }
    if (*wanted == 0 || binaries->searches++ >= SEARCHES_MAX) {
        module->problem = "not searched: too many names without a build ID";
        return false;
    }
    int status = sxt_catalog_list(binaries->request->service->catalog, binaries->request->tenant, wanted, "", SIZE_MAX,
                                  note_named, &search, &error);
    if (search.found == 1 && (status == SXT_OK || status == ENOUGH)) {
        memcpy(out->text, search.id, sizeof out->text);
        return true;
    }
    if (search.found > 1)
        module->problem = "several binaries have this name: the text has no build ID, so choose one";
    else
        module->problem = binaries->is_late ? "there was no time to search" : "nothing is known of the file";
    return false;
}

/* Opens the archive of a binary in a bucket, of which lookups alone would read only a part. */
static const sxt_archive *open_whole(struct sxt_text_binaries *binaries, struct sxt_text_module *module,
                                     const struct sxt_catalog_id *id)
{
    static const enum sxt_catalog_content contents[] = {SXT_CATALOG_LIDIA, SXT_CATALOG_RETURNPADS};
    struct sxt_service *service = binaries->request->service;
    char hash[65];
    sxt_error error;
    for (size_t i = 0; i < 2 && module->object == NULL; i++)
        if (sxt_catalog_open_content(service->catalog, binaries->request->tenant, id, 1, contents[i], NULL,
                                     &module->object, hash, &error) != SXT_OK)
            module->object = NULL;
    if (module->object == NULL || sxt_store_map(module->object, &module->file, &error) != SXT_OK)
        return NULL;
    if (sxt_archive_open_memory(module->file.data, module->file.size, NULL, &module->archive, &error) != SXT_OK)
        module->archive = NULL;
    return module->archive;
}

static int note_ids(void *data, const struct sxt_catalog_listed *listed)
{
    struct sxt_text_module *module = data;
    if (listed->file_id != NULL)
        memcpy(module->file_id, listed->file_id, strlen(listed->file_id) + 1);
    if (listed->build_id != NULL)
        memcpy(module->found_build_id, listed->build_id, strlen(listed->build_id) + 1);
    return SXT_OK;
}

static bool choose_id(struct sxt_text_binaries *binaries, struct sxt_text_module *module, struct sxt_catalog_id *id)
{
    bool is_nameless = module->name.size == 0 || is_kernel(module->name);
    if (module->build_id.size > 0) {
        if (sxt_catalog_parse_build_id(module->build_id, id))
            return true;
        module->problem = "the build ID is malformed";
        return false;
    }
    if (is_nameless && binaries->chosen != NULL) {
        *id = binaries->chosen_ids[0];
        return true;
    }
    return find_by_name(binaries, module, id);
}

const sxt_archive *sxt_text_find_binary(struct sxt_text_binaries *binaries, sxt_string name, sxt_string build_id)
{
    struct sxt_service *service = binaries->request->service;
    struct sxt_catalog_id id;
    bool would_wait = false;
    sxt_error error;
    if (binaries->module_count == SXT_TEXT_MODULES_MAX || sxt_text_is_late(binaries))
        return NULL;
    struct sxt_text_module *module = &binaries->modules[binaries->module_count++];
    *module = (struct sxt_text_module){.name = sxt_text_keep(binaries->request, name),
                                       .build_id = sxt_text_keep(binaries->request, build_id)};
    if (!choose_id(binaries, module, &id))
        return NULL;
    if (sxt_catalog_find(service->catalog, binaries->request->tenant, &id, 1, true, &would_wait, &module->binary,
                         &error) != SXT_OK) {
        module->binary = NULL;
        module->problem = "nothing is known of the file";
        return NULL;
    }
    (void)sxt_catalog_describe(service->catalog, binaries->request->tenant, &id, note_ids, module, NULL);
    const sxt_archive *archive = sxt_catalog_archive(module->binary);
    if (archive == NULL)
        archive = open_whole(binaries, module, &id);
    if (archive == NULL)
        module->problem = "its symbols cannot be read";
    return archive;
}

void sxt_text_binaries_close(struct sxt_text_binaries *binaries)
{
    struct sxt_catalog *catalog = binaries->request->service->catalog;
    for (size_t i = 0; i < binaries->module_count; i++) {
        struct sxt_text_module *module = &binaries->modules[i];
        sxt_archive_close(&module->archive);
        if (module->file.data != NULL)
            sxt_file_close(&module->file);
        sxt_store_close_object(&module->object);
        if (module->binary != NULL)
            sxt_catalog_release(catalog, &module->binary);
    }
    if (binaries->chosen != NULL)
        sxt_catalog_release(catalog, &binaries->chosen);
}

/* --- ?file= --- */

static int note_chosen(void *data, const struct sxt_catalog_listed *listed)
{
    struct sxt_text_binaries *binaries = data;
    size_t size = listed->name != NULL ? strnlen(listed->name, sizeof binaries->chosen_name - 1) : 0;
    memcpy(binaries->chosen_name, listed->name != NULL ? listed->name : "", size);
    binaries->chosen_name[size] = 0;
    return SXT_OK;
}

bool sxt_text_choose(struct sxt_text_binaries *binaries, enum sxt_handled *handled)
{
    struct sxt_request *request = binaries->request;
    const char *file = sxt_request_query(request, "file");
    sxt_error error;
    *handled = SXT_DONE;
    if (file == NULL || *file == 0)
        return true;
    if (!sxt_catalog_parse_id(sxt_string_of(file), binaries->chosen_ids, &binaries->chosen_count)) {
        sxt_reply_failure(request, 400, SXT_CODE_FILE_ID, "not a build ID or FileID: '%.140s'", file);
        return false;
    }
    enum sxt_found found =
        sxt_request_find(request, binaries->chosen_ids, binaries->chosen_count, &binaries->chosen, &error);
    if (found == SXT_FOUND_LATER)
        *handled = SXT_WAIT;
    else if (found == SXT_FOUND_ERROR)
        sxt_reply_error(request, &error);
    else if (found == SXT_FOUND_NOTHING)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "nothing is known of the file");
    if (found != SXT_FOUND)
        return false;
    for (size_t i = 0; i < binaries->chosen_count; i++) /* either may be the one that is known */
        if (sxt_catalog_describe(request->service->catalog, request->tenant, &binaries->chosen_ids[i], note_chosen,
                                 binaries, NULL) == SXT_OK) {
            binaries->chosen_ids[0] = binaries->chosen_ids[i];
            break;
        }
    return true;
}
