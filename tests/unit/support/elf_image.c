/* elf_image.c: see elf_image.h. */
#include "support/elf_image.h"

#include <stdlib.h>
#include <string.h>

#include "support/elf_builder.h"

uint8_t *sxt_test_elf_image(const struct sxt_test_symbol *symbols, size_t count, size_t *size, uint64_t *code_offset)
{
    static const uint8_t code[SXT_TEST_CODE_SIZE];
    struct sxt_builder builder;
    sxt_builder_init(&builder, true, false, ET_EXEC, EM_X86_64);
    unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(&builder, text)->address = SXT_TEST_CODE_ADDRESS;
    sxt_builder_segment(&builder, PT_LOAD, PF_R | PF_X, text, text);
    for (size_t i = 0; i < count; i++) {
        char binding = symbols[i].binding;
        sxt_builder_symbol(&builder, SHT_SYMTAB,
                           &(struct sxt_builder_symbol){.name = symbols[i].name,
                                                        .value = symbols[i].address,
                                                        .size = symbols[i].size,
                                                        .type = symbols[i].type == 'F' ? STT_FUNC : STT_OBJECT,
                                                        .binding = binding == 'G'   ? STB_GLOBAL
                                                                   : binding == 'W' ? STB_WEAK
                                                                                    : STB_LOCAL,
                                                        .section = text});
    }
    sxt_builder_finish(&builder);
    uint8_t *image = malloc(builder.size);
    if (image == NULL)
        abort();
    memcpy(image, builder.data, builder.size);
    *size = builder.size;
    *code_offset = sxt_builder_at(&builder, text)->offset;
    sxt_builder_free(&builder);
    return image;
}
