/* fuzz_inflate.c: any bytes as a compressed stream; the first one says of which kind. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/inflate.h"
#include "property.h"

#define LIMIT ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    enum sxt_compression kind = (enum sxt_compression)(data[0] % 5);
    uint8_t *out;
    size_t out_size;
    sxt_error error;
    int status = sxt_inflate(kind, data + 1, size - 1, LIMIT, &out, &out_size, &error);
    if (status != SXT_OK) {
        SXT_HOLDS(out == NULL && error.text[0] != 0);
    } else {
        SXT_HOLDS(out_size <= LIMIT);
        /* The same comes out into exactly the room it needs, and nothing into other room. */
        uint8_t *exact = malloc(out_size + 1);
        if (exact != NULL) {
            SXT_HOLDS(sxt_inflate_exactly(kind, data + 1, size - 1, exact, out_size, NULL) == SXT_OK);
            SXT_HOLDS(out_size == 0 || memcmp(exact, out, out_size) == 0);
            SXT_HOLDS(sxt_inflate_exactly(kind, data + 1, size - 1, exact, out_size + 1, NULL) != SXT_OK);
            if (out_size > 0)
                SXT_HOLDS(sxt_inflate_exactly(kind, data + 1, size - 1, exact, out_size - 1, NULL) != SXT_OK);
        }
        free(exact);
    }
    free(out);

    struct sxt_file file;
    sxt_file_from_memory(&file, data + 1, size - 1);
    (void)sxt_file_inflate(&file, LIMIT, NULL);
    sxt_file_close(&file);
    return 0;
}
