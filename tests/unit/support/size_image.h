/* size_image.h: texts of .size files for tests, put together from a header and what comes after it. */
#ifndef SXT_TESTS_SIZE_IMAGE_H
#define SXT_TESTS_SIZE_IMAGE_H

#include "size/size.h"

/* The header of a full file with one container, as it is printed. */
#define SXT_TEST_SIZE_JSON                                                                                             \
    "{\n  \"has_components\": true,\n  \"has_disassembly\": true,\n  \"has_padding\": false,\n"                        \
    "  \"metadata\": {},\n  \"metrics_by_file\": {},\n"                                                                \
    "  \"section_sizes\": {\n    \".bss\": 999,\n    \".other\": 50,\n    \".text\": 36\n  }\n}"

/* A body for it that has one of everything: padding, aliases, flags, memory only, overhead, disassembly. */
#define SXT_TEST_SIZE_BODY                                                                                             \
    "3\n\tb.cc\na.o\ta.cc\nb.o\tb.cc\n"                                                                                \
    "2\n\nBlink\n"                                                                                                     \
    ".text\t.bss\t.other\n4\t1\t1\n"                                                                                   \
    "4096 24 0 8\n36864\n0\n"                                                                                          \
    "16 8 8 4\n100\n50\n"                                                                                              \
    "1 0 1 0\n0\n0\n"                                                                                                  \
    "1 0 -1 1\n0\n0\n"                                                                                                 \
    "first\ng\t02\t1\nh\nlast\t7ff\ncounter\nOverhead: ELF file\n"                                                     \
    "3\n5\nmov\n\n"

/* Version "1" or "1.1"; to be freed. */
char *sxt_test_size_text(const char *version, const char *json, const char *body);

/* The plain one, of the two texts above. */
char *sxt_test_size_plain(void);

/* The text with the first OLD in it replaced by NEW; TEXT is freed. */
char *sxt_test_size_replace(char *text, const char *old, const char *new);

/* Opens a text that must be good. */
struct sxt_size_info *sxt_test_size_open(const char *text);

/* The text of a model that can be stored; to be freed. */
char *sxt_test_size_written(const struct sxt_size_info *size);

#endif
