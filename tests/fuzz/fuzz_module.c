/*
 * fuzz_module.c: any bytes as facts about a binary, as they are in a Lidia file and in a symbfile. What is read is
 * written and read again without a change, and merging it with itself changes nothing.
 */
#include <string.h>

#include "property.h"
#include "symbfile/module.h"
#include "symbols/module.h"
#include "symbols/symbols.h"

static void check_facts(const uint8_t *data, size_t size)
{
    struct sxt_model_module module, again;
    struct sxt_buffer bytes, second;
    if (sxt_module_decode(data, size, 0, &module, NULL) == SXT_OK) {
        sxt_buffer_init(&bytes, SIZE_MAX);
        sxt_buffer_init(&second, SIZE_MAX);
        sxt_module_encode(&module, module.path, &bytes);
        SXT_HOLDS(sxt_module_decode(bytes.data, bytes.size, 0, &again, NULL) == SXT_OK);
        SXT_HOLDS(sxt_module_merge(&again, &module) && !again.is_ambiguous);
        sxt_module_encode(&again, again.path, &second);
        SXT_HOLDS(bytes.size == second.size && memcmp(bytes.data, second.data, bytes.size) == 0);
        uint64_t address;
        for (size_t i = 0; i < module.segment_count; i++)
            if (module.segments[i].file_size > 0)
                SXT_HOLDS(sxt_module_address_of(&module, module.segments[i].offset, &address));
        sxt_buffer_free(&bytes);
        sxt_buffer_free(&second);
        sxt_module_free(&again);
    }
    sxt_module_free(&module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_facts(data, size);
    const struct sxt_symbfile_message message = {.body = data, .size = size};
    struct sxt_symbfile_failure failure;
    struct sxt_model_module module;
    bool is_known;
    (void)sxt_symbfile_decode_module(&message, &module, &is_known, &failure);
    sxt_module_free(&module);
    return 0;
}
