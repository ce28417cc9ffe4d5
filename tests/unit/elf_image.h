/* elf_image.h: a small ELF file made by hand: x86-64, one loaded section of code, one symbol table. */
#ifndef SXT_TESTS_ELF_IMAGE_H
#define SXT_TESTS_ELF_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* The code is loaded from here in the file, to here in memory. */
#define SXT_TEST_CODE_OFFSET  0x80
#define SXT_TEST_CODE_ADDRESS 0x401000
#define SXT_TEST_CODE_SIZE    0x100

struct sxt_test_symbol {
    const char *name;
    uint64_t address, size;
    char type;    /* 'F' function, 'O' object */
    char binding; /* 'G' global, 'W' weak, 'L' local */
};

/* The file; to be freed. */
uint8_t *sxt_test_elf_image(const struct sxt_test_symbol *symbols, size_t count, size_t *size);

#endif
