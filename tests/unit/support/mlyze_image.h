/* mlyze_image.h: heap traces in memory, for the tests of them. */
#ifndef SXT_TESTS_MLYZE_IMAGE_H
#define SXT_TESTS_MLYZE_IMAGE_H

#include "mlyze/mlyze.h"

#define SXT_TEST_START 1700000000000000u

/* The worked example of the format's description, 583 bytes; to be freed. */
uint8_t *sxt_test_mlyze_example(size_t *size);

/* COUNT events of a program that allocates and frees, the same for the same SEED; to be freed. */
sxt_trace_event *sxt_test_mlyze_events(uint64_t seed, size_t count);

/* A file of EVENTS, by the library's writer; to be freed. */
uint8_t *sxt_test_mlyze_file(const sxt_trace_event *events, size_t count, enum sxt_mlyze_codec codec, size_t *size);

/* Are they the same, but for the place of a payload? */
void sxt_test_mlyze_same(const sxt_trace_event *found, const sxt_trace_event *expected);

#endif
