/*
 * reports.c: size files, diffs of sizes and heap traces under names, and their pages.
 *
 * A body goes to a temporary file of the store. It is acknowledged when another process has read all of it and made its
 * page, and both are durable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "service/handlers.h"
#include "service/pages.h"
#include "service/server.h"

#define REPLY_LIMIT ((size_t)16 << 20)
#define LIST_MOST   1000

struct report_upload {
    struct sxt_store_writing *writing;
    bool is_stored;
};

static enum sxt_handled fail(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_NOT_FOUND)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_REPORT, "there is no report with this name");
    else
        sxt_reply_error(request, error);
    return SXT_DONE;
}

static bool check_name(struct sxt_request *request, const char *name)
{
    if (sxt_catalog_is_report_name(name))
        return true;
    sxt_reply_failure(request, 400, SXT_CODE_PATH,
                      "not a name of a report: it has at most %d letters, digits and '._-', with '/' between words; no "
                      "word is empty or begins with '.'",
                      SXT_CATALOG_REPORT_NAME_MAX);
    return false;
}

/* --- receiving --- */

enum sxt_handled sxt_reports_begin(struct sxt_request *request)
{
    sxt_error error;
    if (!check_name(request, request->words[0]))
        return SXT_DONE;
    struct report_upload *upload = request->state = calloc(1, sizeof *upload);
    if (upload == NULL) {
        sxt_fail_memory(&error, sizeof *upload);
        return fail(request, &error);
    }
    if (sxt_store_write_begin(request->service->store, &upload->writing, &error) != SXT_OK)
        return fail(request, &error);
    return SXT_DONE;
}

int sxt_reports_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error)
{
    struct report_upload *upload = request->state;
    return sxt_store_write(upload->writing, data, size, error);
}

/* What is wrong with the file is the client's to know, the rest is not. */
static void refuse(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_FORMAT || error->code == SXT_ERROR_UNSUPPORTED)
        sxt_reply_failure(request, 400, SXT_CODE_NOT_REPORT, "%s", error->text);
    else if (error->code == SXT_ERROR_LIMIT && error->reason == SXT_REASON_INFLATE_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_EXTRACTION_LIMIT, "%s", error->text);
    else
        sxt_reply_error(request, error);
}

/* "2026-11-16T11:05:10Z" */
static void write_time(struct sxt_json_writer *json, const char *key, int64_t microseconds)
{
    time_t seconds = (time_t)(microseconds / 1000000);
    struct tm parts;
    char text[32] = "";
    if (gmtime_r(&seconds, &parts) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    sxt_json_write_string(json, key, sxt_string_of(text));
}

static void write_report(struct sxt_json_writer *json, const struct sxt_catalog_report *report)
{
    char url[SXT_CATALOG_REPORT_NAME_MAX + 16];
    snprintf(url, sizeof url, "/reports/%s", report->name);
    sxt_json_write_string(json, "name", sxt_string_of(report->name));
    sxt_json_write_string(json, "kind", sxt_string_of(sxt_catalog_report_kind_name(report->kind)));
    sxt_json_write_number(json, "size", report->size);
    write_time(json, "created", report->time_us);
    sxt_json_write_string(json, "sha256", sxt_string_of(report->hash));
    sxt_json_write_string(json, "url", sxt_string_of(url));
}

enum sxt_handled sxt_reports_handle(struct sxt_request *request)
{
    struct report_upload *upload = request->state;
    struct sxt_catalog_report report;
    struct sxt_buffer body;
    bool was_there;
    sxt_error error;
    if (sxt_catalog_add_report(request->service->catalog, request->tenant, request->words[0], &upload->writing, &report,
                               &was_there, &error) != SXT_OK) {
        refuse(request, &error);
        return SXT_DONE;
    }
    upload->is_stored = true;
    sxt_buffer_init(&body, REPLY_LIMIT);
    struct sxt_json_writer json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_bool(&json, "success", true);
    sxt_json_write_number(&json, "status", was_there ? 200 : 201);
    write_report(&json, &report);
    sxt_json_write_end(&json, '}');
    sxt_reply_buffer(request, was_there ? 200 : 201, "application/json", &body);
    sxt_buffer_free(&body);
    return SXT_DONE;
}

void sxt_reports_finish(struct sxt_request *request)
{
    struct report_upload *upload = request->state;
    if (upload == NULL)
        return;
    sxt_request_count(request, upload->is_stored ? SXT_METRIC_REPORTS : SXT_METRIC_REPORTS_REFUSED, 1);
    sxt_store_write_abandon(&upload->writing);
    free(upload);
    request->state = NULL;
}

/* --- giving --- */

enum sxt_handled sxt_reports_get(struct sxt_request *request)
{
    struct sxt_catalog_report report;
    struct sxt_store_object *object;
    char disposition[SXT_CATALOG_REPORT_NAME_MAX + 64];
    sxt_error error;
    if (!check_name(request, request->words[0]))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    if (sxt_catalog_open_report(request->service->catalog, request->tenant, request->words[0], &report, &object,
                                &error) != SXT_OK)
        return fail(request, &error);
    const char *slash = strrchr(report.name, '/'), *base = slash != NULL ? slash + 1 : report.name,
               *kind = sxt_catalog_report_kind_name(report.kind), *dot = strrchr(base, '.');
    bool has_ending = dot != NULL && strcmp(dot + 1, kind) == 0;
    snprintf(disposition, sizeof disposition, "attachment; filename=\"%s%s%s\"", base, has_ending ? "" : ".",
             has_ending ? "" : kind);
    sxt_reply_header(request, "Content-Disposition", disposition);
    sxt_reply_header(request, "X-Content-Type-Options", "nosniff");
    sxt_reply_object(request, "application/octet-stream", report.hash, &object);
    return SXT_DONE;
}

enum sxt_handled sxt_reports_delete(struct sxt_request *request)
{
    sxt_error error;
    if (!check_name(request, request->words[0]))
        return SXT_DONE;
    if (!request->may_wait)
        return SXT_WAIT;
    if (sxt_catalog_remove_report(request->service->catalog, request->tenant, request->words[0], &error) != SXT_OK)
        return fail(request, &error);
    sxt_reply_text(request, 200, "application/json", "{\"success\":true,\"status\":200}");
    return SXT_DONE;
}

/* --- pages --- */

static enum sxt_handled fail_page(struct sxt_request *request, const sxt_error *error)
{
    if (error->code == SXT_ERROR_UNSUPPORTED)
        sxt_reply_failure(request, 501, SXT_CODE_NO_PAGES, "%s", error->text);
    else if (error->code == SXT_ERROR_USAGE || error->code == SXT_ERROR_FORMAT)
        sxt_reply_failure(request, 400, SXT_CODE_COMPARE, "%s", error->text);
    else if (error->code == SXT_ERROR_LIMIT && error->reason == SXT_REASON_INFLATE_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_EXTRACTION_LIMIT, "%s", error->text);
    else
        return fail(request, error);
    return SXT_DONE;
}

static bool find(struct sxt_request *request, const char *name, struct sxt_catalog_report *out)
{
    sxt_error error;
    if (!check_name(request, name))
        return false;
    int status = sxt_catalog_find_report(request->service->catalog, request->tenant, name, out, &error);
    if (status == SXT_ERROR_NOT_FOUND)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_REPORT, "there is no report with the name '%s'", name);
    else if (status != SXT_OK)
        fail(request, &error);
    return status == SXT_OK;
}

enum sxt_handled sxt_reports_page(struct sxt_request *request)
{
    const char *before_name = sxt_request_query(request, "before");
    struct sxt_catalog_report report, before;
    struct sxt_store_object *object;
    char hash[65];
    sxt_error error;
    if (!request->may_wait)
        return SXT_WAIT;
    if (!find(request, request->words[0], &report) || (before_name != NULL && !find(request, before_name, &before)))
        return SXT_DONE;
    int status = sxt_catalog_open_page(request->service->catalog, request->tenant, &report,
                                       before_name != NULL ? &before : NULL, request->is_long, &object, hash, &error);
    if (status == SXT_ERROR_NOT_FOUND && !request->is_long) {
        request->wants_long = true;
        return SXT_WAIT;
    }
    if (status != SXT_OK)
        return fail_page(request, &error);
    sxt_pages_add_headers(request, report.kind == SXT_CATALOG_REPORT_TRACE ? SXT_PAGE_HEAP : SXT_PAGE_SIZE);
    sxt_reply_header(request, "Cache-Control", "private, no-cache");
    sxt_reply_object(request, "text/html; charset=utf-8", hash, &object);
    return SXT_DONE;
}

/* --- the list --- */

struct list {
    struct sxt_json_writer json;
    char next[SXT_CATALOG_REPORT_NAME_MAX + 1];
    size_t count;
};

static int write_listed(void *data, const struct sxt_catalog_report *report)
{
    struct list *list = data;
    sxt_json_write_begin(&list->json, NULL, '{');
    write_report(&list->json, report);
    sxt_json_write_end(&list->json, '}');
    memcpy(list->next, report->name, sizeof list->next);
    list->count++;
    return SXT_OK;
}

enum sxt_handled sxt_reports_list(struct sxt_request *request)
{
    const char *limit = sxt_request_query(request, "limit");
    struct list list = {.count = 0};
    struct sxt_buffer body;
    sxt_error error;
    size_t most = limit != NULL ? sxt_files_read_limit(limit) : LIST_MOST;
    if (!request->may_wait)
        return SXT_WAIT;
    if (most == 0) {
        sxt_reply_failure(request, 400, SXT_CODE_PATH, "limit is not a number from 1 to %d", LIST_MOST);
        return SXT_DONE;
    }
    sxt_buffer_init(&body, REPLY_LIMIT);
    list.json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&list.json, NULL, '{');
    sxt_json_write_begin(&list.json, "reports", '[');
    int status =
        sxt_catalog_list_reports(request->service->catalog, request->tenant, sxt_request_query(request, "search"),
                                 sxt_request_query(request, "after"), most, write_listed, &list, &error);
    sxt_json_write_end(&list.json, ']');
    if (list.count == most)
        sxt_json_write_string(&list.json, "next", sxt_string_of(list.next));
    else
        sxt_json_write_null(&list.json, "next");
    sxt_json_write_end(&list.json, '}');
    if (status == SXT_OK)
        sxt_reply_buffer(request, 200, "application/json", &body);
    sxt_buffer_free(&body);
    return status == SXT_OK ? SXT_DONE : fail(request, &error);
}
