/*
 * fuzz_gopclntab.c: Go function tables. The first two bytes say what is made of the rest:
 *
 * - the first one below 0x80: the rest is the table, in a small binary of the kind that the bits name
 * - otherwise: the rest is changes {offset in 2 bytes, value} to a good image of the version that the second byte
 * names, which leads deeper than tables that a fuzzer has to find
 *
 * The properties are those of fuzz_elf.
 */
#include <elf.h>
#include <stdlib.h>

#include <sextant/symbols.h>

#include "property.h"
#include "support/elf_builder.h"
#include "support/gopclntab_image.h"

#define TEXT  0x401000
#define FLAGS (SXT_EXTRACT_NO_LINES | SXT_EXTRACT_NO_FILES | SXT_EXTRACT_NO_INLINES)

static void check_table(unsigned kind, unsigned flags, const uint8_t *data, size_t size)
{
    static const char code[4096];
    struct sxt_builder builder;
    sxt_builder_init(&builder, kind & 1, kind & 2, kind & 4 ? ET_DYN : ET_EXEC, kind & 1 ? EM_X86_64 : EM_386);
    unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof code);
    sxt_builder_at(&builder, text)->address = TEXT;
    unsigned table =
        sxt_builder_section(&builder, kind & 8 ? ".rodata" : ".gopclntab", SHT_PROGBITS, SHF_ALLOC, data, size);
    sxt_builder_at(&builder, table)->address = 0x480000;
    sxt_builder_at(&builder, table)->alignment = 32;
    sxt_builder_segment(&builder, PT_LOAD, PF_R | PF_X, text, text);
    sxt_builder_segment(&builder, PT_LOAD, PF_R, table, table);
    if (kind & 16)
        sxt_builder_function(&builder, SHT_SYMTAB, "runtime.text", TEXT, 16, text);
    sxt_builder_finish(&builder);
    sxt_fuzz_check_elf(builder.data, builder.size, flags & FLAGS);
    sxt_fuzz_check_elf(builder.data, builder.size, SXT_EXTRACT_REFERENCE);
    sxt_builder_free(&builder);
}

static void check_changes(unsigned kind, unsigned version, const uint8_t *data, size_t size)
{
    static const int versions[] = {9, 12, 13, 16, 18, 20, 27};
    struct image *image = malloc(sizeof *image);
    if (image == NULL)
        return;
    image_make(image, (struct image_recipe){.go = versions[version % 7],
                                            .is_64 = kind & 1,
                                            .big_endian = kind & 2,
                                            .relocated = (kind & 5) == 5,
                                            .no_header_text = kind & 8,
                                            .no_module = kind & 16,
                                            .symbols = kind & 32,
                                            .sections = kind & 64 ? SECTIONS_RENAMED : SECTIONS_NAMED});
    for (size_t i = 0; i + 3 <= size; i += 3)
        image->bytes[(data[i] | (unsigned)data[i + 1] << 8) % IMAGE_SIZE] = data[i + 2];
    sxt_fuzz_check_elf(image->bytes, IMAGE_SIZE, version & FLAGS);
    sxt_fuzz_check_elf(image->bytes, IMAGE_SIZE, SXT_EXTRACT_REFERENCE);
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)image_set_table_size; /* of no use here */
    if (size < 2)
        return 0;
    if (data[0] < 0x80)
        check_table(data[0], data[1], data + 2, size - 2);
    else
        check_changes(data[0], data[1], data + 2, size - 2);
    return 0;
}
