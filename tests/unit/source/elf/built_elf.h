/* built_elf.h: builds and opens ELF files for tests of elf.c. */
#ifndef SXT_TESTS_BUILT_ELF_H
#define SXT_TESTS_BUILT_ELF_H

#include <elf.h>
#include <stdbool.h>

#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"

#define LIMIT ((uint64_t)64 << 20)

static const struct {
    bool is_64, big_endian;
} kinds[] = {{true, false}, {true, true}, {false, false}, {false, true}};
#define KINDS (sizeof kinds / sizeof *kinds)

static inline void begin(struct sxt_builder *builder, uint16_t type)
{
    sxt_builder_init(builder, true, false, type, EM_X86_64);
}

/* Opens the built file, which must succeed. */
static inline void open_built(struct sxt_builder *builder, struct sxt_elf *elf)
{
    sxt_error error = {0};
    if (builder->data == NULL)
        sxt_builder_finish(builder);
    if (sxt_elf_open(elf, builder->data, builder->size, LIMIT, &error) != SXT_OK)
        fail_msg("%s", error.text);
}

#endif
