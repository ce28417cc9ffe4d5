/* elf_image.h: the plainest ELF file, for tests of what comes after reading it: x86-64 code and one symbol table. */
#ifndef SXT_TESTS_ELF_IMAGE_H
#define SXT_TESTS_ELF_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Where the code is loaded. */
#define SXT_TEST_CODE_ADDRESS 0x401000
#define SXT_TEST_CODE_SIZE    0x100

struct sxt_test_symbol {
    const char *name;
    uint64_t address, size;
    char type;    /* 'F' function, 'O' object */
    char binding; /* 'G' global, 'W' weak, 'L' local */
};

/* The file, and where its code begins in it. To be freed. */
uint8_t *sxt_test_elf_image(const struct sxt_test_symbol *symbols, size_t count, size_t *size, uint64_t *code_offset);

#endif
