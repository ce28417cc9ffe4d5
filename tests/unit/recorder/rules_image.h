/*
 * rules_image.h: the tables of frame rules of a made-up module, written byte by byte. The tables end at a page that
 * cannot be read, so a read after the end of the module ends the test.
 */
#ifndef SXT_TESTS_RULES_IMAGE_H
#define SXT_TESTS_RULES_IMAGE_H

#include "recorder/recorder.h"
#include "support/test.h"

/* Numbers of registers, as in the specifications of the two platforms. */
#if defined(__aarch64__)
enum { FP = 29, RA = 30, SP = 31, OTHER = 19 };
#else
enum { FP = 6, SP = 7, RA = 16, OTHER = 3 };
#endif

enum { PAGE = 4096, RULES_SPACE = 64 * PAGE, FUNCTION_SIZE = 0x400, HEADER = 12 };

/* Encodings of pointers. */
enum { ABSOLUTE = 0x00, UDATA4 = 0x03, SDATA4 = 0x0b, RELATIVE = 0x10, DATA_RELATIVE = 0x30 };

/* Instructions with their operand in the low bits. */
#define ADVANCE(delta)  (0x40 | (delta))
#define OFFSET(number)  (0x80 | (number))
#define RESTORE(number) (0xc0 | (number))
#define CODE(...)       ((struct code){sizeof((uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__}})
#define NO_CODE         ((struct code){0, NULL})
/* What a function begins with on x86-64: the CFA is the stack pointer + 8, the return address is 8 below it. */
#define ENTRY             CODE(0x0c, SP, 8, OFFSET(RA), 1)

#define STACK(cfa)        RULE_MAKE(RULE_FROM_STACK, cfa, 0, 8)
#define assert_rule(a, b) assert_int_equal(a, (frame_rule)(b))

struct code {
    size_t size;
    const uint8_t *bytes;
};

/* What a CIE says, where it is not the usual. */
struct cie_options {
    uint32_t id;
    uint8_t version;         /* 0: 1 */
    const char *letters;     /* NULL: "zR" */
    struct code data;        /* of the letters; without bytes: the encoding below */
    uint8_t encoding;        /* of addresses in FDEs */
    uint8_t code_factor;     /* 0: 1 */
    struct code long_factor; /* in place of code_factor */
    uint8_t return_register; /* 0: RA */
    struct code program;     /* without bytes: ENTRY */
};

/* An image is written from its beginning, and then moved to the end of the space: table, CIE, FDEs. */
struct sxt_image {
    uint8_t *space;
    uint8_t written[RULES_SPACE];
    size_t used;
    struct module module; /* after sxt_image_finish */
};

extern struct sxt_image sxt_image;

/* For SET_UP and TEAR_DOWN. */
void sxt_image_map(void);
void sxt_image_unmap(void);

/* Begins an image with room for a table of COUNT functions. */
void sxt_image_begin(size_t count);
void sxt_image_set_u32(size_t at, uint32_t value);
/* Returns the offset of the CIE in the image. */
size_t sxt_image_add_cie(struct cie_options options);
/* Adds a function of SIZE bytes, START bytes after the beginning of the image. */
void sxt_image_add_fde(size_t cie, uint8_t encoding, bool has_augmentation, size_t start, size_t size,
                       struct code program);
/* Moves the image to the end of the space and fills in the addresses. Returns its beginning. */
uintptr_t sxt_image_finish(void);

/* The rule at OFFSET of a function that has PROGRAM, in an image of one function. */
frame_rule sxt_image_rule_with(struct cie_options options, struct code program, size_t offset);
frame_rule sxt_image_rule(struct code program, size_t offset);

#endif
