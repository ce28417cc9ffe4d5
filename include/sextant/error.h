/*
 * sextant/error.h: how functions of libsextant report failures.
 *
 * A function that can fail returns 0 (SXT_OK) or one of the negative codes below, and describes the failure in an
 * sxt_error that the caller provides. Every such parameter may be NULL if only the code matters. The library never
 * prints and never ends the process.
 */
#ifndef SEXTANT_ERROR_H
#define SEXTANT_ERROR_H

#include <stdint.h>

#include <sextant/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What went wrong, by kind. The values are part of the ABI. */
typedef enum sxt_status {
    SXT_OK = 0,
    SXT_ERROR_MEMORY = -1,      /* an allocation failed */
    SXT_ERROR_IO = -2,          /* the system refused to open, read or write something */
    SXT_ERROR_FORMAT = -3,      /* the input is damaged: a count, an offset or a checksum is wrong */
    SXT_ERROR_UNSUPPORTED = -4, /* the input is intact, but this function does not read its kind */
    SXT_ERROR_LIMIT = -5,       /* a stated limit was reached (size of decompressed data, depth, ...) */
    SXT_ERROR_USAGE = -6,       /* the caller's arguments contradict each other */
    SXT_ERROR_NOT_FOUND = -7    /* what was asked for is not there */
} sxt_status;

/*
 * The reason for a failure, if the caller can do something about it. The library does not know the options of the
 * program that calls it; with the reason, the program can suggest one. More may be added; the values are part of the
 * ABI.
 */
typedef enum sxt_reason {
    SXT_REASON_NONE = 0,
    SXT_REASON_INFLATE_LIMIT = 1,  /* compressed data is larger than the limit in the options: raise it */
    SXT_REASON_CUT_OFF = 2,        /* the recording was cut off: recover it */
    SXT_REASON_SYMBOL_TYPES = 3,   /* no symbol has one of the types asked for: ask for others */
    SXT_REASON_UNKNOWN_QUERY = 4,  /* no canned query has that name */
    SXT_REASON_NOT_AUTHORIZED = 5, /* the symbol service refused the API key */
    SXT_REASON_NOT_A_FILE = 6,     /* the input is a stream, but has to be read more than once */
    SXT_REASON_HEAP_TRACE = 7,     /* the input is a heap trace, which has no addresses: see sextant/trace.h */
    SXT_REASON_BINARY = 8,         /* the input is a binary, but a file made from one is needed */
    SXT_REASON_NO_SEGMENTS = 9     /* the archive cannot turn offsets in its binary into addresses: make it again */
} sxt_reason;

/* The value of sxt_error.offset when the failure does not concern a place in a file. */
#define SXT_NO_OFFSET UINT64_MAX

typedef struct sxt_error {
    sxt_status code;   /* SXT_OK when nothing failed */
    sxt_reason reason; /* SXT_REASON_NONE in most cases */
    uint64_t offset;   /* where in the file, or SXT_NO_OFFSET */
    char text[240];    /* one line without a newline, UTF-8; ends with the offset if there is one */
} sxt_error;

/* How bad it is that a check found. The values are part of the ABI. */
typedef enum sxt_severity {
    SXT_SEVERITY_PROBLEM = 0, /* wrong */
    SXT_SEVERITY_NOTE = 1     /* worth knowing, but not wrong: a part that this version does not know; not counted */
} sxt_severity;

/* One thing that a check of a file found. The library passes it by pointer; more fields may be added at the end. */
typedef struct sxt_problem {
    uint64_t offset;     /* of the byte where it is wrong */
    const char *rule;    /* short stable name of the rule that is broken, e.g. "va-order" */
    const char *message; /* one line; valid during the call only */
    sxt_severity severity;
} sxt_problem;

/* A short name for a code ("damaged input"). Never NULL; the text is static. May be called from any thread. */
SXT_API const char *sxt_status_text(sxt_status code);

#ifdef __cplusplus
}
#endif

#endif
