/*
 * fixture.h: a catalog over a store in a temporary folder, or in SEXTANT_TEST_STORE (s3://BUCKET/PREFIX), parts of
 * uploads, and answers as text.
 */
#ifndef SXT_TESTS_CATALOG_FIXTURE_H
#define SXT_TESTS_CATALOG_FIXTURE_H

#include "catalog/private.h"
#include "support/folder.h"
#include "support/test.h"

/* What every test has. */
struct sxt_test_catalog {
    char folder[SXT_TEST_FOLDER_MAX], place[2 * SXT_TEST_FOLDER_MAX];
    struct sxt_store *store;
    struct sxt_catalog *catalog;
    sxt_error error;
};

extern struct sxt_test_catalog sxt_test_it;

void sxt_test_open_catalog(void);
void sxt_test_close_catalog(void);

/* Another server over the same store; both are to be closed. */
void sxt_test_another_catalog(struct sxt_store **store, struct sxt_catalog **catalog);

struct sxt_catalog_id sxt_test_file_id(const char *text);
struct sxt_catalog_id sxt_test_build_id(const char *text);

#define FILE_A "00112233445566778899aabbccddeeff"
#define FILE_B "ffeeddccbbaa99887766554433221100"
#define BUILD  "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"

/* A function of a part: [address, address + 16). */
struct sxt_test_function {
    uint64_t address;
    const char *name;
    uint32_t line; /* 0: none */
};

/* What is in a part, and where it goes. */
struct sxt_test_part {
    const char *tenant, *file_id, *build_id, *generation;
    enum sxt_catalog_kind kind;
    uint32_t part, parts;
    struct sxt_test_function functions[4];
    uint64_t segment; /* address of the segment that has offset 0; 0: the part has no facts about the binary */
};

/* Adds the part. NULL and 0 mean: no tenant, FILE_A, none, none, ranges, one part. */
int sxt_test_add_part(struct sxt_catalog *catalog, const struct sxt_test_part *part, bool *is_complete);

/* Adds the part, and merges if its set is complete. */
void sxt_test_push(const struct sxt_test_part *part);

/* The frames at an address, "inner a.c:3 < outer a.c:10"; "?" if there are none; "-" if the binary is not found. */
const char *sxt_test_ask(struct sxt_catalog *catalog, const char *tenant, const struct sxt_catalog_id *id,
                         uint64_t address);

/* The same by FILE_A, without a tenant. */
const char *sxt_test_answer(uint64_t address);

/* How many objects have a key that begins with PREFIX. */
size_t sxt_test_count(const char *prefix);

#endif
