/* elf_image.c: see elf_image.h. Written with the host's own structures, so for little-endian hosts. */
#include "elf_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

enum { TEXT = 1, SYMTAB, STRTAB, SHSTRTAB, SECTIONS };

static Elf64_Sym make_symbol(const struct sxt_test_symbol *symbol, size_t name)
{
    unsigned type = symbol->type == 'F' ? STT_FUNC : STT_OBJECT;
    unsigned binding = symbol->binding == 'G' ? STB_GLOBAL : symbol->binding == 'W' ? STB_WEAK : STB_LOCAL;
    return (Elf64_Sym){.st_name = (Elf64_Word)name,
                       .st_info = (unsigned char)(binding << 4 | type),
                       .st_shndx = TEXT,
                       .st_value = symbol->address,
                       .st_size = symbol->size};
}

uint8_t *sxt_test_elf_image(const struct sxt_test_symbol *symbols, size_t count, size_t *size)
{
    size_t strings_size = 1;
    for (size_t i = 0; i < count; i++)
        strings_size += strlen(symbols[i].name) + 1;
    const size_t symbols_at = SXT_TEST_CODE_OFFSET + SXT_TEST_CODE_SIZE;
    const size_t strings_at = symbols_at + (count + 1) * sizeof(Elf64_Sym);
    const size_t names_at = strings_at + strings_size;
    const size_t sections_at = (names_at + sizeof section_names + 7) / 8 * 8;
    *size = sections_at + SECTIONS * sizeof(Elf64_Shdr);
    uint8_t *image = calloc(1, *size);
    if (image == NULL)
        abort();

    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_EXEC,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_entry = SXT_TEST_CODE_ADDRESS,
                         .e_phoff = sizeof header,
                         .e_shoff = sections_at,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = SHSTRTAB};
    Elf64_Phdr segment = {.p_type = PT_LOAD,
                          .p_flags = PF_R | PF_X,
                          .p_offset = SXT_TEST_CODE_OFFSET,
                          .p_vaddr = SXT_TEST_CODE_ADDRESS,
                          .p_filesz = SXT_TEST_CODE_SIZE,
                          .p_memsz = SXT_TEST_CODE_SIZE,
                          .p_align = 0x80};
    const Elf64_Shdr sections[SECTIONS] = {
        [TEXT] = {.sh_name = 1,
                  .sh_type = SHT_PROGBITS,
                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                  .sh_addr = SXT_TEST_CODE_ADDRESS,
                  .sh_offset = SXT_TEST_CODE_OFFSET,
                  .sh_size = SXT_TEST_CODE_SIZE,
                  .sh_addralign = 16},
        [SYMTAB] = {.sh_name = 7,
                    .sh_type = SHT_SYMTAB,
                    .sh_offset = symbols_at,
                    .sh_size = (count + 1) * sizeof(Elf64_Sym),
                    .sh_link = STRTAB,
                    .sh_info = 1,
                    .sh_addralign = 8,
                    .sh_entsize = sizeof(Elf64_Sym)},
        [STRTAB] = {.sh_name = 15, .sh_type = SHT_STRTAB, .sh_offset = strings_at, .sh_size = strings_size},
        [SHSTRTAB] = {.sh_name = 23, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof section_names},
    };
    memcpy(image, &header, sizeof header);
    memcpy(image + sizeof header, &segment, sizeof segment);
    memcpy(image + names_at, section_names, sizeof section_names);
    memcpy(image + sections_at, sections, sizeof sections);
    size_t name = 1;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym symbol = make_symbol(&symbols[i], name);
        memcpy(image + symbols_at + (i + 1) * sizeof symbol, &symbol, sizeof symbol);
        strcpy((char *)image + strings_at + name, symbols[i].name);
        name += strlen(symbols[i].name) + 1;
    }
    return image;
}
