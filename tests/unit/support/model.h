/* model.h: short ways to fill a model, and the model as text, so that a test says what it expects in one line. */
#ifndef SXT_TESTS_MODEL_H
#define SXT_TESTS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

/* An empty model; to be freed with sxt_symbols_free. */
struct sxt_symbols *sxt_test_model(void);
uint32_t sxt_test_string(struct sxt_symbols *model, const char *text);

/* A function symbol of .symtab. */
void sxt_test_add_function(struct sxt_symbols *model, const char *name, uint64_t address, uint64_t size, char binding);

/* A range of SOURCE; NULL for a file or call file that is unknown. */
void sxt_test_add_range(struct sxt_symbols *model, uint8_t source, uint32_t depth, const char *function,
                        uint64_t address, uint64_t length);
void sxt_test_add_call(struct sxt_symbols *model, uint8_t source, uint32_t depth, const char *function,
                       uint64_t address, uint64_t length, const char *file, const char *call_file, uint32_t call_line);

/* A line of the range that was added last. */
void sxt_test_add_line(struct sxt_symbols *model, uint32_t offset, const char *file, uint32_t line);

void sxt_test_finish(struct sxt_symbols *model);

/* The entry in effect at ADDRESS inside RANGE, or NULL. LINES are those that the range's numbers point into. */
const struct sxt_model_line *sxt_test_line_at(const struct sxt_model_line *lines, const struct sxt_model_range *range,
                                              uint64_t address);

/*
 * The ranges as text, in order: "f@0-10 >g@2-4" is a function of 16 bytes (all numbers are hexadecimal) and 2 bytes
 * inlined into it. Lines follow in braces as offset:file:line. The text is to be freed.
 */
char *sxt_test_ranges_text(const struct sxt_symbols *model, const struct sxt_model_range *ranges, size_t count,
                           const struct sxt_model_line *lines);

/* Does the finished model read as EXPECTED? */
void sxt_test_assert_model(const struct sxt_symbols *model, const char *expected);

#endif
