/* routes.c: all paths of the service. Each name is there once: it labels figures. docs/service.md lists them. */
#include "service/handlers.h"

/* clang-format off */
const struct sxt_route sxt_routes[] = {
    {.name = "healthz", .method = "GET", .pattern = "/healthz", .handle = sxt_handle_healthy},
    {.name = "live", .method = "GET", .pattern = "/live", .handle = sxt_handle_healthy},
    {.name = "ready", .method = "GET", .pattern = "/ready", .handle = sxt_handle_ready},
    {.name = "metrics", .method = "GET", .pattern = "/metrics", .handle = sxt_handle_metrics},

    {.name = "symbols-ranges", .method = "POST", .pattern = "/api/symbols-ranges", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .needs_length = true, .begin = sxt_upload_begin_ranges, .piece = sxt_upload_piece,
     .handle = sxt_upload_handle, .finish = sxt_upload_finish},
    {.name = "symbols-returnpads", .method = "POST", .pattern = "/api/symbols-returnpads", .scope = SXT_SCOPE_UPLOAD,
     .body = SXT_BODY_STREAM, .needs_length = true, .begin = sxt_upload_begin_pads, .piece = sxt_upload_piece,
     .handle = sxt_upload_handle, .finish = sxt_upload_finish},

    {.name = "symbolize", .method = "POST", .pattern = "/api/symbolize", .scope = SXT_SCOPE_READ,
     .body = SXT_BODY_MEMORY, .is_public_read = true, .handle = sxt_handle_symbolize},

    {.method = NULL},
};
/* clang-format on */
