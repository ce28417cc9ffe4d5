/* fuzz_elf.c: any bytes as an ELF file: extracted in every way, written, verified, looked up. */
#include <string.h>

#include <sextant/sextant.h>

#include "catalog/private.h"
#include "property.h"

/* Opened as a program would, with names made readable. */
static void open_directly(const uint8_t *data, size_t size)
{
    sxt_open_options options;
    sxt_archive *archive;
    uint64_t count;
    sxt_open_options_init(&options);
    sxt_extract_options extract;
    sxt_extract_options_init(&extract);
    options.extract = &extract;
    extract.flags = SXT_EXTRACT_NO_DEBUG_SEARCH;
    extract.inflate_limit = SXT_FUZZ_INFLATE_LIMIT;
    if (sxt_archive_open_memory(data, size, &options, &archive, NULL) == SXT_OK) {
        uint64_t address;
        sxt_string name;
        sxt_fuzz_exercise(archive);
        (void)sxt_archive_address_of_offset(archive, size / 2, &address, NULL);
        (void)sxt_archive_section_base(archive, 0, &name, &address);
        sxt_archive_close(&archive);
    }
    (void)sxt_verify_memory(data, size, NULL, NULL, &count, NULL);
}

/* What the symbol service keeps of it besides its symbols. */
static void read_facts(const uint8_t *data, size_t size)
{
    struct sxt_catalog_facts facts;
    struct sxt_arena arena;
    sxt_arena_init(&arena, (size_t)1 << 20, sxt_arena_separate_default);
    if (sxt_catalog_read_facts(data, size, &arena, &facts, NULL) == SXT_OK)
        SXT_HOLDS(facts.name == NULL || (facts.name[0] != 0 && strchr(facts.name, '/') == NULL));
    sxt_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Nothing is asked of compressed input here: fuzz_inflate does that. */
    if (size < 16 || data[0] != 0x7f)
        return 0;
    /* The last byte, which is usually padding, picks the flags of one extraction; another is the reference's. */
    uint32_t flags = data[size - 1] & (SXT_EXTRACT_NO_LINES | SXT_EXTRACT_NO_FILES | SXT_EXTRACT_NO_INLINES |
                                       SXT_EXTRACT_EXTEND_ZERO_SIZE);
    sxt_fuzz_check_elf(data, size, flags);
    sxt_fuzz_check_elf(data, size, SXT_EXTRACT_REFERENCE);
    open_directly(data, size);
    read_facts(data, size);
    return 0;
}
