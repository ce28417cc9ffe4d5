/*
 * pyroscope_message.h: the requests of Pyroscope's debug-info service, debuginfo.v1alpha1.DebuginfoService. Private to
 * this room.
 *
 *     ShouldInitiateUpload   file = 1 {gnu_build_id 1, go_build_id 2, otel_file_id 3, name 4, type 5}
 *     UploadFinished, DeleteDebuginfo   gnu_build_id = 1
 *
 * They come as protobuf or as its JSON (gnuBuildId or gnu_build_id; a type by name or number). Unknown members are
 * ignored, as protobuf demands.
 */
#ifndef SXT_SERVICE_PYROSCOPE_MESSAGE_H
#define SXT_SERVICE_PYROSCOPE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/arena.h"

enum sxt_pyroscope_type {
    SXT_PYROSCOPE_UNSPECIFIED = 0,
    SXT_PYROSCOPE_FULL = 1,    /* an executable */
    SXT_PYROSCOPE_NO_TEXT = 2, /* without its code: a debug file */
};

struct sxt_pyroscope_message {
    bool has_file;
    sxt_string build_id; /* of the file, or of the message itself; empty: none */
    sxt_string name;     /* of the file; empty: none */
    sxt_string file_id;  /* of the executable, as OpenTelemetry's profiler computes it; empty: none */
    uint64_t type;
};

/*
 * Reads a request whose file is a message (HAS_FILE) or that has a build ID only. Strings are in DATA or ARENA.
 * SXT_ERROR_FORMAT if it is damaged, or a member has a value of another type.
 */
int sxt_pyroscope_read(const void *data, size_t size, bool is_json, bool has_file, struct sxt_arena *arena,
                       struct sxt_pyroscope_message *out, sxt_error *error);

#endif
