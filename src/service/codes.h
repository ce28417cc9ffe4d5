/* codes.h: the codes of failures. They are part of the service's contract: never renumbered. docs/service.md has them.
 */
#ifndef SXT_SERVICE_CODES_H
#define SXT_SERVICE_CODES_H

enum sxt_code {
    SXT_CODE_INTERNAL = 1000,   /* 500 something went wrong here; the log has it under the uuid */
    SXT_CODE_STORE = 1001,      /* 503 the store does not answer, or refuses to write */
    SXT_CODE_STORE_FULL = 1002, /* 507 no space is left in the store */
    SXT_CODE_BUSY = 1003,       /* 503 too many requests at once; with Retry-After */
    SXT_CODE_DRAINING = 1004,   /* 503 the server is about to end */
    SXT_CODE_UPSTREAM = 1005,   /* 502 a server that was asked failed (--forward) */

    SXT_CODE_NO_KEY = 2000,     /* 401 a key is needed */
    SXT_CODE_WRONG_KEY = 2001,  /* 401 the key is not known */
    SXT_CODE_NO_SCOPE = 2002,   /* 403 the key does not permit this */
    SXT_CODE_KEY_LIMIT = 2003,  /* 429 the key has sent its bytes of the day */
    SXT_CODE_OTHER_SITE = 2004, /* 403 a cookie, and a page of another site may have sent the request */

    SXT_CODE_NO_ROUTE = 3000,       /* 404 no such path */
    SXT_CODE_METHOD = 3001,         /* 405 the path has other methods; with Allow */
    SXT_CODE_UNKNOWN_FILE = 3002,   /* 404 nothing is known of the file */
    SXT_CODE_NO_LENGTH = 3003,      /* 411 Content-Length is missing */
    SXT_CODE_TOO_LARGE = 3004,      /* 413 the body is larger than the limit */
    SXT_CODE_INFLATE_LIMIT = 3005,  /* 413 the body expands to more than the limit */
    SXT_CODE_ENCODING = 3006,       /* 415 a Content-Encoding other than identity, gzip or zstd */
    SXT_CODE_TYPE = 3007,           /* 415 a Content-Type that the path does not take */
    SXT_CODE_TIMEOUT = 3008,        /* 408 the body did not arrive in time */
    SXT_CODE_RANGE = 3009,          /* 416 the range is not in the object */
    SXT_CODE_HEADERS = 3010,        /* 400 a header that is there twice, or two that contradict each other */
    SXT_CODE_PRECONDITION = 3011,   /* 412 something had to come before */
    SXT_CODE_UNKNOWN_REPORT = 3012, /* 404 there is no report with this name */
    SXT_CODE_NO_PAGES = 3013,       /* 501 the program was built without pages */

    SXT_CODE_FILE_ID = 4000,          /* 400 FileID is missing or malformed */
    SXT_CODE_BUILD_ID = 4001,         /* 400 BuildID is malformed */
    SXT_CODE_PART = 4002,             /* 400 FilePart or FileParts is missing, malformed, or not below */
    SXT_CODE_TOO_MANY_PARTS = 4003,   /* 400 FileParts is above the limit */
    SXT_CODE_GENERATION = 4004,       /* 400 Generation is malformed */
    SXT_CODE_NOT_SYMBFILE = 4005,     /* 400 the body is not a symbfile, or is damaged */
    SXT_CODE_DAMAGED_BODY = 4006,     /* 400 the body is cut off, or cannot be expanded */
    SXT_CODE_NOT_ELF = 4007,          /* 400 the body is not an ELF file that can be read */
    SXT_CODE_OTHER_FILE = 4008,       /* 400 the file has another id than the path says */
    SXT_CODE_EXTRACTION_LIMIT = 4009, /* 413 reading the symbols takes more than the limits */
    SXT_CODE_JSON = 4010,             /* 400 the body is not JSON, or not of the shape that the path takes */
    SXT_CODE_ADDRESS = 4011,          /* 400 an address is malformed */
    SXT_CODE_PROTOBUF = 4012,         /* 400 the body is not the protobuf message that the path takes */
    SXT_CODE_PATH = 4013,             /* 400 an id or a path in the URL is malformed */
    SXT_CODE_NOT_REPORT = 4014, /* 400 the body is not a size file, a diff of sizes or a heap trace, or is damaged */
    SXT_CODE_COMPARE = 4015,    /* 400 the two reports cannot be compared */
};

#endif
