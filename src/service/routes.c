/* routes.c: all paths of the service. Each name is there once: it labels figures. docs/service.md lists them,
 * and docs/openapi.json describes them. */
#include "service/handlers.h"

#define PYROSCOPE "/debuginfo.v1alpha1.DebuginfoService/"

/* clang-format off */
const struct sxt_route sxt_routes[] = {
    {.name = "healthz", .method = "GET", .pattern = "/healthz", .handle = sxt_handle_healthy},
    {.name = "live", .method = "GET", .pattern = "/live", .handle = sxt_handle_healthy},
    {.name = "ready", .method = "GET", .pattern = "/ready", .handle = sxt_handle_ready},
    {.name = "metrics", .method = "GET", .pattern = "/metrics", .handle = sxt_handle_metrics},
    {.name = "home", .method = "GET", .pattern = "/", .scope = SXT_SCOPE_READ, .is_public_read = true, .is_page = true,
     .handle = sxt_pages_home},
    {.name = "login-form", .method = "GET", .pattern = "/login", .is_page = true, .handle = sxt_login_form},
    {.name = "login", .method = "POST", .pattern = "/login", .body = SXT_BODY_MEMORY, .is_page = true,
     .handle = sxt_login},
    {.name = "logout", .method = "POST", .pattern = "/logout", .is_page = true, .handle = sxt_logout},
    {.name = "reports-home", .method = "GET", .pattern = "/reports", .is_page = true, .handle = sxt_pages_reports},
    {.name = "report-page", .method = "GET", .pattern = "/reports/::", .scope = SXT_SCOPE_READ, .is_public_read = true,
     .is_page = true, .handle = sxt_reports_page},

    {.name = "openapi", .method = "GET", .pattern = "/openapi.json", .handle = sxt_handle_openapi},

    {.name = "symbols-ranges", .method = "POST", .pattern = "/api/symbols-ranges", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .needs_length = true, .begin = sxt_upload_begin_ranges, .piece = sxt_upload_piece,
     .handle = sxt_upload_handle, .finish = sxt_upload_finish},
    {.name = "symbols-returnpads", .method = "POST", .pattern = "/api/symbols-returnpads", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .needs_length = true, .begin = sxt_upload_begin_pads, .piece = sxt_upload_piece,
     .handle = sxt_upload_handle, .finish = sxt_upload_finish},

    {.name = "symbolize", .method = "POST", .pattern = "/api/symbolize", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .handle = sxt_handle_symbolize},

    {.name = "symbolize-text", .method = "POST", .pattern = "/api/v1/symbolize-text", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .handle = sxt_handle_symbolize_text},

    {.name = "symbolicate", .method = "POST", .pattern = "/symbolicate/v5", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .has_cors = true, .print_failure = sxt_symbolicate_print_failure,
     .handle = sxt_handle_symbolicate},
    {.name = "source-code", .method = "POST", .pattern = "/source/v1", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .has_cors = true, .print_failure = sxt_symbolicate_print_failure,
     .handle = sxt_handle_source_code},
    {.name = "assembly", .method = "POST", .pattern = "/asm/v1", .scope = SXT_SCOPE_READ, .body = SXT_BODY_MEMORY,
     .is_public_read = true, .has_cors = true, .print_failure = sxt_symbolicate_print_failure,
     .handle = sxt_handle_assembly},

    {.name = "files", .method = "GET", .pattern = "/api/v1/files", .scope = SXT_SCOPE_READ, .is_public_read = true,
     .handle = sxt_files_list},
    {.name = "file", .method = "GET", .pattern = "/api/v1/files/:", .scope = SXT_SCOPE_READ, .is_public_read = true,
     .handle = sxt_files_describe},
    {.name = "file-content", .method = "GET", .pattern = "/api/v1/files/:/:", .scope = SXT_SCOPE_READ,
     .is_public_read = true, .handle = sxt_files_get},
    {.name = "file-put", .method = "PUT", .pattern = "/api/v1/files/:", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .begin = sxt_files_begin, .piece = sxt_files_piece, .handle = sxt_files_handle,
     .finish = sxt_files_finish},
    {.name = "source-put", .method = "PUT", .pattern = "/api/v1/files/:/source/::", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .begin = sxt_files_begin, .piece = sxt_files_piece, .handle = sxt_files_handle_source,
     .finish = sxt_files_finish},
    {.name = "have", .method = "POST", .pattern = "/api/v1/have", .scope = SXT_SCOPE_UPLOAD, .body = SXT_BODY_MEMORY,
     .handle = sxt_handle_have},

    {.name = "reports", .method = "GET", .pattern = "/api/v1/reports", .scope = SXT_SCOPE_READ, .is_public_read = true,
     .handle = sxt_reports_list},
    {.name = "report", .method = "GET", .pattern = "/api/v1/reports/::", .scope = SXT_SCOPE_READ,
     .is_public_read = true, .handle = sxt_reports_get},
    {.name = "report-put", .method = "PUT", .pattern = "/api/v1/reports/::", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .begin = sxt_reports_begin, .piece = sxt_reports_piece, .handle = sxt_reports_handle,
     .finish = sxt_reports_finish},
    {.name = "report-delete", .method = "DELETE", .pattern = "/api/v1/reports/::", .scope = SXT_SCOPE_UPLOAD,
     .handle = sxt_reports_delete},

    {.name = "debuginfo", .method = "GET", .pattern = "/buildid/:/debuginfo", .scope = SXT_SCOPE_READ,
     .is_public_read = true, .handle = sxt_debuginfod_debuginfo},
    {.name = "executable", .method = "GET", .pattern = "/buildid/:/executable", .scope = SXT_SCOPE_READ,
     .is_public_read = true, .handle = sxt_debuginfod_executable},
    {.name = "section", .method = "GET", .pattern = "/buildid/:/section/:", .scope = SXT_SCOPE_READ,
     .is_public_read = true, .handle = sxt_debuginfod_section},
    {.name = "source", .method = "GET", .pattern = "/buildid/:/source/::", .scope = SXT_SCOPE_READ,
     .is_public_read = true, .handle = sxt_debuginfod_source},
    {.name = "metadata", .method = "GET", .pattern = "/metadata", .scope = SXT_SCOPE_READ, .is_public_read = true,
     .handle = sxt_debuginfod_metadata},

    {.name = "pyroscope-should-upload", .method = "POST", .pattern = PYROSCOPE "ShouldInitiateUpload",
     .scope = SXT_SCOPE_UPLOAD, .body = SXT_BODY_MEMORY, .handle = sxt_pyroscope_should_upload,
     .print_failure = sxt_pyroscope_print_failure},
    {.name = "pyroscope-upload", .method = "POST", .pattern = PYROSCOPE "Upload/:", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .begin = sxt_pyroscope_begin, .piece = sxt_files_piece, .handle = sxt_pyroscope_upload,
     .finish = sxt_files_finish},
    {.name = "pyroscope-finished", .method = "POST", .pattern = PYROSCOPE "UploadFinished", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_MEMORY, .handle = sxt_pyroscope_finished, .print_failure = sxt_pyroscope_print_failure},
    {.name = "pyroscope-list", .method = "POST", .pattern = PYROSCOPE "ListDebuginfo", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .handle = sxt_pyroscope_list,
     .print_failure = sxt_pyroscope_print_failure},
    {.name = "pyroscope-delete", .method = "POST", .pattern = PYROSCOPE "DeleteDebuginfo", .scope = SXT_SCOPE_ADMIN,
     .body = SXT_BODY_MEMORY, .handle = sxt_pyroscope_delete, .print_failure = sxt_pyroscope_print_failure},

    {.name = "otlp-profiles", .method = "POST", .pattern = "/v1development/profiles", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .handle = sxt_handle_otlp},

    {.method = NULL},
};
/* clang-format on */
