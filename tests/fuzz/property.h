/*
 * property.h: what must hold for every ELF file, whatever is in it. A harness hands in bytes; what does not hold ends
 * the process, which is how a fuzzer notices.
 */
#ifndef SXT_FUZZ_PROPERTY_H
#define SXT_FUZZ_PROPERTY_H

#include <stddef.h>
#include <stdint.h>

/* Both have an end of their own for each harness; libFuzzer calls it, and so does run_files.c. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process with what does not hold, unless it does. */
#define SXT_HOLDS(condition) sxt_fuzz_holds((condition), #condition, __FILE__, __LINE__)
void sxt_fuzz_holds(int holds, const char *condition, const char *file, int line);

/* What a compressed input or section may expand to: enough for anything that a fuzzer comes up with. */
#define SXT_FUZZ_INFLATE_LIMIT ((uint64_t)4 << 20)

/*
 * Extracts symbols with FLAGS (of sxt_extract_flags), writes them as a Lidia file with and without index, and checks:
 *
 * - what was written passes verify, and is the same when it is written again;
 * - it can be opened with its checksums compared, and every row and line can be read;
 * - lookups with the index, without it, in batches and one by one agree, at the edges of every range and elsewhere;
 * - and they say what the model says.
 */
void sxt_fuzz_check_elf(const uint8_t *data, size_t size, uint32_t flags);

/* Looks up, iterates and asks for names in an open archive; nothing but the absence of crashes is checked. */
struct sxt_archive;
void sxt_fuzz_exercise(const struct sxt_archive *archive);

#endif
