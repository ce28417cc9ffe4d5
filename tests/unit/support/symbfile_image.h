/*
 * symbfile_image.h: symbfiles made by hand, byte by byte, without the library's writer; a short way to use that writer;
 * and the records of a file as text, so that a test says what it expects in one line.
 */
#ifndef SXT_TESTS_SYMBFILE_IMAGE_H
#define SXT_TESTS_SYMBFILE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "symbfile/symbfile.h"

/* Appends the bytes that TEXT has in hexadecimal; spaces do not count, and 'word' stands for its letters. */
void sxt_test_put_hex(struct sxt_buffer *out, const char *text);

/* Appends an integer with seven bits a byte. */
void sxt_test_put_varint(struct sxt_buffer *out, uint64_t value);

/* Appends a message of TYPE whose body is TEXT, in hexadecimal. */
void sxt_test_put_message(struct sxt_buffer *out, uint64_t type, const char *text);

/* Empties OUT, and begins a file: magic and header. */
void sxt_test_begin_symbfile(struct sxt_buffer *out);

/* Are the bytes of FILE those of TEXT? On failure both are shown from where they differ. */
void sxt_test_assert_hex(const struct sxt_buffer *file, const char *text);

/*
 * The records of a symbfile, one a line, all numbers but lines in hexadecimal; to be freed:
 *
 *     1000+40 main a.c {0:10 8:11}           address, length, function, file (- when unknown), lines
 *     > 1010+8 inner a.h < a.c:12 {0:3}      depth 1; called from a.c, line 12
 *     1007 main a.c 12, inner a.h 3          a return pad with its frames
 *     ! what is wrong (offset 0x...)         the end, when it is a failure
 *
 * BLOCK is how many bytes a read of a stream gives; 0: the file is in memory.
 */
char *sxt_test_symbfile_text(const uint8_t *data, size_t size, size_t block);

/* Reads the file from memory and as streams of different blocks. All must give EXPECTED. */
void sxt_test_assert_records(const struct sxt_buffer *file, const char *expected);

/* What the test that runs is writing. */
struct sxt_test_writing {
    struct sxt_buffer file;
    struct sxt_symbfile_writer *writer;
};

extern struct sxt_test_writing sxt_test_out;

/* Around each test: a writer at the beginning of an empty file, and its end. */
void sxt_test_open_writer(void);
void sxt_test_close_writer(void);

void sxt_test_begin_again(void);

/* TEXT may be NULL, for what is unknown. */
sxt_string sxt_test_view(const char *text);

/* A range of depth 0 without lines, and a pad of one frame; both must succeed. */
void sxt_test_write_range(uint64_t address, uint64_t length, const char *function, const char *path);
void sxt_test_write_pad(uint64_t address, const char *function, const char *path, uint32_t line);

/* Ends the file, which must be one that a check passes. */
void sxt_test_finish_file(void);

#endif
