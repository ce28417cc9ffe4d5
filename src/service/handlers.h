/* handlers.h: what the table of routes refers to, by file. Private to this room. */
#ifndef SXT_SERVICE_HANDLERS_H
#define SXT_SERVICE_HANDLERS_H

#include "service/request.h"

/* health.c */
enum sxt_handled sxt_handle_healthy(struct sxt_request *request);
enum sxt_handled sxt_handle_ready(struct sxt_request *request);
enum sxt_handled sxt_handle_metrics(struct sxt_request *request);

/* openapi.c */
enum sxt_handled sxt_handle_openapi(struct sxt_request *request);

/* upload.c: parts of symbfiles */
enum sxt_handled sxt_upload_begin_ranges(struct sxt_request *request);
enum sxt_handled sxt_upload_begin_pads(struct sxt_request *request);
int sxt_upload_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error);
enum sxt_handled sxt_upload_handle(struct sxt_request *request);
void sxt_upload_finish(struct sxt_request *request);

/* Is this a value of the header Generation? */
bool sxt_upload_is_generation(sxt_string text);

/* files.c: ELF files, sources, and what was made of them */
enum sxt_handled sxt_files_begin(struct sxt_request *request);
int sxt_files_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error);
enum sxt_handled sxt_files_handle(struct sxt_request *request);
enum sxt_handled sxt_files_handle_source(struct sxt_request *request);
void sxt_files_finish(struct sxt_request *request);
enum sxt_handled sxt_files_get(struct sxt_request *request);
enum sxt_handled sxt_files_list(struct sxt_request *request);
enum sxt_handled sxt_files_describe(struct sxt_request *request);

/* The value of ?limit=: digits and nothing else; 0 if it is not a number from 1 to 1000. */
size_t sxt_files_read_limit(const char *text);

/* have.c: what is worth uploading */
enum sxt_handled sxt_handle_have(struct sxt_request *request);

/* pyroscope.c: the upload of Pyroscope's clients */
enum sxt_handled sxt_pyroscope_should_upload(struct sxt_request *request);
enum sxt_handled sxt_pyroscope_begin(struct sxt_request *request);
enum sxt_handled sxt_pyroscope_upload(struct sxt_request *request);
enum sxt_handled sxt_pyroscope_finished(struct sxt_request *request);
enum sxt_handled sxt_pyroscope_list(struct sxt_request *request);
enum sxt_handled sxt_pyroscope_delete(struct sxt_request *request);
sxt_print_failure sxt_pyroscope_print_failure;

/* debuginfod.c */
enum sxt_handled sxt_debuginfod_debuginfo(struct sxt_request *request);
enum sxt_handled sxt_debuginfod_executable(struct sxt_request *request);
enum sxt_handled sxt_debuginfod_section(struct sxt_request *request);
enum sxt_handled sxt_debuginfod_source(struct sxt_request *request);
enum sxt_handled sxt_debuginfod_metadata(struct sxt_request *request);

/* symbolize.c: addresses to functions, files and lines */
enum sxt_handled sxt_handle_symbolize(struct sxt_request *request);

/* symbolize_text.c: the same for addresses in text */
enum sxt_handled sxt_handle_symbolize_text(struct sxt_request *request);

/* pages.c, login.c: for browsers */
enum sxt_handled sxt_pages_home(struct sxt_request *request);
enum sxt_handled sxt_pages_reports(struct sxt_request *request);
enum sxt_handled sxt_login_form(struct sxt_request *request);
enum sxt_handled sxt_login(struct sxt_request *request);
enum sxt_handled sxt_logout(struct sxt_request *request);

/* reports.c: files that people look at, and their pages */
enum sxt_handled sxt_reports_begin(struct sxt_request *request);
int sxt_reports_piece(struct sxt_request *request, const void *data, size_t size, sxt_error *error);
enum sxt_handled sxt_reports_handle(struct sxt_request *request);
void sxt_reports_finish(struct sxt_request *request);
enum sxt_handled sxt_reports_list(struct sxt_request *request);
enum sxt_handled sxt_reports_get(struct sxt_request *request);
enum sxt_handled sxt_reports_delete(struct sxt_request *request);
enum sxt_handled sxt_reports_page(struct sxt_request *request);

/* symbolicate.c, source_code.c, assembly.c: Mozilla's symbolication API */
enum sxt_handled sxt_handle_symbolicate(struct sxt_request *request);
enum sxt_handled sxt_handle_source_code(struct sxt_request *request);
enum sxt_handled sxt_handle_assembly(struct sxt_request *request);
sxt_print_failure sxt_symbolicate_print_failure;

/* otlp.c: profiles of OpenTelemetry */
enum sxt_handled sxt_handle_otlp(struct sxt_request *request);

#endif
