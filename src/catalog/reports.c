/*
 * reports.c: files that people look at, and their pages.
 *
 * A report is an object that is never changed: another one of the same name has a later time, and counts from the
 * moment that it is there. Its page is made by a worker when it arrives; if that succeeds, the file can be read. Other
 * pages (by a newer program, of two reports) are made when somebody asks for them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/string.h"
#include "catalog/private.h"

#define INPUT  "/proc/self/fd/3"
#define BEFORE "/proc/self/fd/4"
#define SPLIT  '~' /* in place of '/' in the names of objects */

static const char *const kind_names[] = {
    [SXT_CATALOG_REPORT_SIZE] = "size",
    [SXT_CATALOG_REPORT_SIZEDIFF] = "sizediff",
    [SXT_CATALOG_REPORT_TRACE] = "mlyze",
};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

const char *sxt_catalog_report_kind_name(enum sxt_catalog_report_kind kind)
{
    return kind_names[kind];
}

/* --- names --- */

static bool is_letter(char letter)
{
    char lower = (char)(letter | 0x20);
    return (lower >= 'a' && lower <= 'z') || (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' ||
           letter == '-';
}

bool sxt_catalog_is_report_name(const char *name)
{
    size_t size = strlen(name);
    for (size_t i = 0; i < size; i++) {
        bool begins_word = i == 0 || name[i - 1] == '/';
        if (name[i] == '/' ? begins_word || i + 1 == size : !is_letter(name[i]) || (begins_word && name[i] == '.'))
            return false;
    }
    return size > 0 && size <= SXT_CATALOG_REPORT_NAME_MAX;
}

/* "t/TENANT/FOLDER/NAME/", or without the name if that is NULL. */
static int make_prefix(char out[SXT_CATALOG_KEY_ROOM], const char *tenant, const char *folder, const char *name,
                       sxt_error *error)
{
    if (name != NULL && !sxt_catalog_is_report_name(name))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "not a name of a report: it has at most %d letters, digits and '._-/', and no word that is "
                        "empty or begins with '.'",
                        SXT_CATALOG_REPORT_NAME_MAX);
    int status = sxt_catalog_tenant_prefix(out, tenant, error);
    if (status != SXT_OK)
        return status;
    size_t size = strlen(out), room = SXT_CATALOG_KEY_ROOM - size;
    if (name == NULL) {
        snprintf(out + size, room, "%s/", folder);
        return SXT_OK;
    }
    snprintf(out + size, room, "%s/%s/", folder, name);
    for (char *at = out + size + strlen(folder) + 1; at[1] != 0; at++)
        if (*at == '/')
            *at = SPLIT;
    return SXT_OK;
}

/* TIME-SHA256-KIND */
static void print_object(char *out, size_t room, const struct sxt_catalog_report *report)
{
    snprintf(out, room, "%016" PRIx64 "-%s-%s", (uint64_t)report->time_us, report->hash, kind_names[report->kind]);
}

static bool parse_object(sxt_string text, struct sxt_catalog_report *out)
{
    uint64_t time;
    if (text.size < 83 || text.data[16] != '-' || text.data[81] != '-' ||
        !sxt_hex_parse((sxt_string){text.data, 16}, &time) || time > INT64_MAX)
        return false;
    for (size_t i = 17; i < 81; i++)
        if (sxt_hex_digit(text.data[i]) < 0)
            return false;
    int kind = 0;
    while (kind < KINDS && !sxt_string_is((sxt_string){text.data + 82, text.size - 82}, kind_names[kind]))
        kind++;
    if (kind == KINDS)
        return false;
    memcpy(out->hash, text.data + 17, 64);
    out->hash[64] = 0;
    out->time_us = (int64_t)time;
    out->kind = (enum sxt_catalog_report_kind)kind;
    return true;
}

/* WORD/TIME-SHA256-KIND, which follows "t/TENANT/report/". */
static bool parse_key(const char *text, struct sxt_catalog_report *out)
{
    size_t size = strcspn(text, "/");
    if (size == 0 || size > SXT_CATALOG_REPORT_NAME_MAX || text[size] == 0)
        return false;
    memcpy(out->name, text, size);
    out->name[size] = 0;
    for (char *at = out->name; *at != 0; at++)
        if (*at == SPLIT)
            *at = '/';
    return sxt_catalog_is_report_name(out->name) && parse_object(sxt_string_of(text + size + 1), out);
}

bool sxt_catalog_parse_report(const char *text, struct sxt_catalog_report *out)
{
    return parse_key(text, out);
}

/* --- finding --- */

struct finding {
    struct sxt_catalog_report newest;
    size_t skipped; /* bytes of the prefix up to the name */
    bool is_found;
};

static int note_newest(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)modified_us;
    struct finding *finding = data;
    struct sxt_catalog_report report = {.size = size};
    if (parse_key(key + finding->skipped, &report)) { /* in the order of time */
        finding->newest = report;
        finding->is_found = true;
    }
    return SXT_OK;
}

int sxt_catalog_find_report(struct sxt_catalog *catalog, const char *tenant, const char *name,
                            struct sxt_catalog_report *out, sxt_error *error)
{
    char prefix[SXT_CATALOG_KEY_ROOM];
    struct finding finding = {.is_found = false};
    int status = make_prefix(prefix, tenant, "report", name, error);
    if (status != SXT_OK)
        return status;
    finding.skipped = strlen(prefix) - strlen(name) - 1;
    status = sxt_store_list(catalog->store, prefix, note_newest, &finding, error);
    if (status == SXT_OK && !finding.is_found)
        status = sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "there is no report with this name");
    *out = finding.newest;
    return status;
}

static int open_object(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                       struct sxt_store_object **out, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    *out = NULL;
    int status = make_prefix(key, tenant, "report", report->name, error);
    if (status != SXT_OK)
        return status;
    size_t size = strlen(key);
    print_object(key + size, sizeof key - size, report);
    return sxt_store_open_object(catalog->store, key, out, error);
}

int sxt_catalog_open_report(struct sxt_catalog *catalog, const char *tenant, const char *name,
                            struct sxt_catalog_report *report, struct sxt_store_object **out, sxt_error *error)
{
    *out = NULL;
    int status = SXT_ERROR_NOT_FOUND;
    /* It may be replaced between the listing and the opening. */
    for (int i = 0; i < 3 && status == SXT_ERROR_NOT_FOUND; i++) {
        status = sxt_catalog_find_report(catalog, tenant, name, report, error);
        if (status != SXT_OK)
            return status;
        status = open_object(catalog, tenant, report, out, error);
    }
    return status;
}

/* --- listing --- */

struct listing {
    const char *search, *after;
    size_t skipped, left;
    struct sxt_catalog_report last; /* the newest of its name so far */
    bool has_last;
    sxt_catalog_report_visit *visit;
    void *data;
};

#define ENOUGH (-1)

/* Names in the order in which a store lists them. */
static int compare_names(const char *left, const char *right)
{
    size_t at = 0;
    while (left[at] != 0 && left[at] == right[at])
        at++;
    const char letters[2] = {left[at], right[at]};
    int order[2];
    for (int i = 0; i < 2; i++)
        order[i] = letters[i] == 0 ? '/' : letters[i] == '/' ? SPLIT : letters[i];
    return order[0] - order[1];
}

static bool is_wanted(const struct listing *listing, const struct sxt_catalog_report *report)
{
    return (listing->search == NULL || strcasestr(report->name, listing->search) != NULL) &&
           (listing->after == NULL || compare_names(report->name, listing->after) > 0);
}

static int give_last(struct listing *listing)
{
    if (!listing->has_last || !is_wanted(listing, &listing->last))
        return SXT_OK;
    if (listing->left == 0)
        return ENOUGH;
    listing->left--;
    return listing->visit(listing->data, &listing->last);
}

static int note_listed(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)modified_us;
    struct listing *listing = data;
    struct sxt_catalog_report report = {.size = size};
    int status = SXT_OK;
    if (!parse_key(key + listing->skipped, &report))
        return SXT_OK;
    if (listing->has_last && strcmp(listing->last.name, report.name) != 0)
        status = give_last(listing);
    listing->last = report;
    listing->has_last = true;
    return status;
}

int sxt_catalog_list_reports(struct sxt_catalog *catalog, const char *tenant, const char *search, const char *after,
                             size_t limit, sxt_catalog_report_visit *visit, void *data, sxt_error *error)
{
    char prefix[SXT_CATALOG_KEY_ROOM];
    struct listing listing = {.search = search, .after = after, .left = limit, .visit = visit, .data = data};
    int status = make_prefix(prefix, tenant, "report", NULL, error);
    if (status != SXT_OK)
        return status;
    listing.skipped = strlen(prefix);
    status = sxt_store_list(catalog->store, prefix, note_listed, &listing, error);
    if (status == SXT_OK)
        status = give_last(&listing);
    return status == ENOUGH ? SXT_OK : status;
}

/* --- pages --- */

static void add_text(struct sxt_sha256 *hash, const char *text)
{
    sxt_sha256_add(hash, text, strlen(text) + 1);
}

/* A page is named after all that it was made of. */
static int page_key(const struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                    const struct sxt_catalog_report *before, char key[SXT_CATALOG_KEY_ROOM], char digits[65],
                    sxt_error *error)
{
    struct sxt_sha256 hash;
    uint8_t digest[SXT_SHA256_SIZE];
    sxt_sha256_init(&hash);
    add_text(&hash, catalog->options.page_version);
    add_text(&hash, report->name);
    add_text(&hash, report->hash);
    add_text(&hash, before != NULL ? before->name : "");
    add_text(&hash, before != NULL ? before->hash : "");
    sxt_sha256_end(&hash, digest);
    sxt_hex_encode(digits, digest, sizeof digest);
    int status = make_prefix(key, tenant, "page", report->name, error);
    if (status == SXT_OK)
        memcpy(key + strlen(key), digits, 65);
    return status;
}

/* Makes the page of one file, or of two, with a worker. Without pages, it only reads them. */
static int make_page(struct sxt_catalog *catalog, const int *inputs, const char *const names[2],
                     struct sxt_store_writing **out, sxt_error *error)
{
    const char *const one[] = {"report", "--title", names[0], "-o", "-", INPUT, NULL};
    const char *const two[] = {"report", "--title", names[1], "--title", names[0], "-o", "-", BEFORE, INPUT, NULL};
    static const char *const text[] = {"report", "--json", INPUT, NULL};
    bool has_pages = catalog->options.page_version != NULL;
    int status = sxt_store_write_begin(catalog->store, out, error);
    if (status != SXT_OK)
        return status;
    const struct sxt_catalog_work work = {
        .arguments = !has_pages         ? text
                     : names[1] != NULL ? two
                                        : one,
        .inputs = inputs,
        .input_count = names[1] != NULL ? 2 : 1,
        .output = sxt_store_write_descriptor(*out),
    };
    pthread_mutex_lock(&catalog->paging);
    status = sxt_catalog_run(&catalog->options, &work, error);
    pthread_mutex_unlock(&catalog->paging);
    if (status != SXT_OK)
        sxt_store_write_abandon(out);
    return status;
}

/* A report that is open, and a local file of it. */
struct opened {
    struct sxt_store_object *object;
    struct sxt_store_writing *copy;
    int fd;
};

static int open_local(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                      struct opened *out, sxt_error *error)
{
    *out = (struct opened){.fd = -1};
    int status = open_object(catalog, tenant, report, &out->object, error);
    return status == SXT_OK ? sxt_catalog_local_file(catalog, out->object, &out->copy, &out->fd, error) : status;
}

static void close_local(struct opened *opened)
{
    sxt_store_write_abandon(&opened->copy);
    sxt_store_close_object(&opened->object);
}

static int make_kept_page(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                          const struct sxt_catalog_report *before, const char *key, sxt_error *error)
{
    struct opened opened[2] = {{.fd = -1}, {.fd = -1}};
    struct sxt_store_writing *page = NULL;
    int status = open_local(catalog, tenant, report, &opened[0], error);
    if (status == SXT_OK && before != NULL)
        status = open_local(catalog, tenant, before, &opened[1], error);
    const int inputs[2] = {opened[0].fd, opened[1].fd};
    const char *const names[2] = {report->name, before != NULL ? before->name : NULL};
    if (status == SXT_OK)
        status = make_page(catalog, inputs, names, &page, error);
    close_local(&opened[0]);
    close_local(&opened[1]);
    return status == SXT_OK ? sxt_store_write_commit(&page, key, error) : status;
}

int sxt_catalog_open_page(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                          const struct sxt_catalog_report *before, bool may_make, struct sxt_store_object **out,
                          char hash[65], sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM];
    *out = NULL;
    if (catalog->options.page_version == NULL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "this program was built without pages");
    if (before != NULL && (before->kind != report->kind || report->kind == SXT_CATALOG_REPORT_SIZEDIFF))
        return sxt_fail(error, SXT_ERROR_USAGE, SXT_NO_OFFSET,
                        "two size files or two heap traces can be compared, not %s and %s", kind_names[before->kind],
                        kind_names[report->kind]);
    int status = page_key(catalog, tenant, report, before, key, hash, error);
    if (status == SXT_OK)
        status = sxt_store_open_object(catalog->store, key, out, error);
    if (status != SXT_ERROR_NOT_FOUND || !may_make)
        return status;
    status = make_kept_page(catalog, tenant, report, before, key, error);
    return status == SXT_OK ? sxt_store_open_object(catalog->store, key, out, error) : status;
}

/* --- adding and removing --- */

struct removing {
    struct sxt_catalog_words keys;
    const char *kept;
    bool older_only;
};

static int note_removed(void *data, const char *key, uint64_t size, int64_t modified_us)
{
    (void)size;
    (void)modified_us;
    struct removing *removing = data;
    int order = removing->kept != NULL ? strcmp(key, removing->kept) : 1;
    if (removing->kept != NULL && (removing->older_only ? order >= 0 : order == 0))
        return SXT_OK;
    return sxt_catalog_words_add(&removing->keys, key) ? SXT_OK : SXT_ERROR_MEMORY;
}

/* Removes the objects below PREFIX but KEPT, or only those that come before it. */
static int remove_others(struct sxt_catalog *catalog, const char *prefix, const char *kept, bool older_only,
                         sxt_error *error)
{
    struct removing removing = {.kept = kept, .older_only = older_only};
    int status = sxt_store_list(catalog->store, prefix, note_removed, &removing, error);
    if (status == SXT_ERROR_MEMORY)
        status = sxt_fail_memory(error, sizeof removing);
    for (size_t i = 0; i < removing.keys.count && status == SXT_OK; i++)
        status = sxt_store_remove(catalog->store, removing.keys.list[i], error);
    sxt_catalog_words_free(&removing.keys);
    return status;
}

static int identify(struct sxt_store_writing *writing, enum sxt_catalog_report_kind *out, sxt_error *error)
{
    sxt_kind kind;
    int status = sxt_identify_path(sxt_store_write_path(writing), &kind, error);
    if (status != SXT_OK)
        return status;
    *out = kind == SXT_KIND_SIZE       ? SXT_CATALOG_REPORT_SIZE
           : kind == SXT_KIND_SIZEDIFF ? SXT_CATALOG_REPORT_SIZEDIFF
                                       : SXT_CATALOG_REPORT_TRACE;
    if (kind != SXT_KIND_SIZE && kind != SXT_KIND_SIZEDIFF && kind != SXT_KIND_TRACE)
        return sxt_fail(error, SXT_ERROR_FORMAT, 0, "not a size file, a diff of sizes or a heap trace");
    return SXT_OK;
}

/* Gives the content and its page their names. What was there before goes last. */
static int commit(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_report *report,
                  struct sxt_store_writing **writing, struct sxt_store_writing **page, sxt_error *error)
{
    char key[SXT_CATALOG_KEY_ROOM], page_name[SXT_CATALOG_KEY_ROOM] = "", prefix[SXT_CATALOG_KEY_ROOM], digits[65];
    int status = make_prefix(prefix, tenant, "report", report->name, error);
    if (status == SXT_OK && catalog->options.page_version != NULL)
        status = page_key(catalog, tenant, report, NULL, page_name, digits, error);
    if (status == SXT_OK && page_name[0] != 0)
        status = sxt_store_write_commit(page, page_name, error);
    if (status != SXT_OK)
        return status;
    memcpy(key, prefix, sizeof key);
    size_t size = strlen(key);
    print_object(key + size, sizeof key - size, report);
    status = sxt_store_write_commit(writing, key, error);
    if (status != SXT_OK)
        return status;
    /* The report is there. What is left of earlier ones does not count, and a sweep removes it. */
    (void)remove_others(catalog, prefix, key, true, NULL);
    if (make_prefix(prefix, tenant, "page", report->name, NULL) == SXT_OK)
        (void)remove_others(catalog, prefix, page_name, false, NULL);
    return SXT_OK;
}

int sxt_catalog_add_report(struct sxt_catalog *catalog, const char *tenant, const char *name,
                           struct sxt_store_writing **writing, struct sxt_catalog_report *out, bool *was_there,
                           sxt_error *error)
{
    struct sxt_catalog_report before = {.time_us = 0};
    struct sxt_store_writing *page = NULL;
    uint8_t digest[SXT_SHA256_SIZE];
    *out = (struct sxt_catalog_report){.size = 0};
    int status = sxt_catalog_find_report(catalog, tenant, name, &before, error);
    *was_there = status == SXT_OK;
    if (status == SXT_OK || status == SXT_ERROR_NOT_FOUND)
        status = identify(*writing, &out->kind, error);
    if (status == SXT_OK) {
        const char *const names[2] = {name, NULL};
        status = make_page(catalog, &(const int){sxt_store_write_descriptor(*writing)}, names, &page, error);
    }
    if (status == SXT_OK)
        status = sxt_catalog_hash_writing(*writing, digest, &out->size, error);
    if (status == SXT_OK) {
        snprintf(out->name, sizeof out->name, "%s", name);
        sxt_hex_encode(out->hash, digest, sizeof digest);
        out->time_us = sxt_catalog_new_time(catalog, before.time_us);
        status = commit(catalog, tenant, out, writing, &page, error);
    }
    sxt_store_write_abandon(&page);
    sxt_store_write_abandon(writing);
    return status;
}

int sxt_catalog_remove_report(struct sxt_catalog *catalog, const char *tenant, const char *name, sxt_error *error)
{
    char prefix[SXT_CATALOG_KEY_ROOM];
    struct sxt_catalog_report report;
    int status = sxt_catalog_find_report(catalog, tenant, name, &report, error);
    if (status == SXT_OK)
        status = make_prefix(prefix, tenant, "report", name, error);
    if (status == SXT_OK)
        status = remove_others(catalog, prefix, NULL, false, error);
    if (status == SXT_OK)
        status = make_prefix(prefix, tenant, "page", name, error);
    return status == SXT_OK ? remove_others(catalog, prefix, NULL, false, error) : status;
}
