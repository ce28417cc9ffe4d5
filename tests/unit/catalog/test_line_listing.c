/* Tests of catalog/line_listing.c: listings of a line that several threads share. */
#include "fixture.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/backend.h"

enum { THREADS = 8, CALLS = 20 };

static struct sxt_store_backend slow;
static int (*list_at_once)(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                           sxt_error *error);
static _Atomic unsigned written, listings, at_once, failures;
static _Atomic bool is_broken;

/* Lists as many parts as were written when it began, and takes some time. */
static int list_slowly(struct sxt_store *store, const char *prefix, bool words, sxt_store_visit *visit, void *data,
                       sxt_error *error)
{
    if (strstr(prefix, "/part/") == NULL)
        return list_at_once(store, prefix, words, visit, data, error);
    unsigned count = written;
    int status = SXT_OK;
    listings++;
    failures += at_once++ > 0;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    for (unsigned i = 0; i < count && status == SXT_OK; i++) {
        char key[SXT_CATALOG_KEY_ROOM];
        snprintf(key, sizeof key, "%s%016x-%u-%016x", prefix, i, i, i);
        status = visit(data, key, 0, 0);
    }
    at_once--;
    if (is_broken) {
        snprintf(error->text, sizeof error->text, "broken");
        return error->code = SXT_ERROR_IO;
    }
    return status;
}

SET_UP()
{
    sxt_test_open_catalog();
    slow = *sxt_test_it.store->backend;
    list_at_once = slow.list;
    slow.list = list_slowly;
    sxt_test_it.store->backend = &slow;
    written = listings = at_once = failures = 0;
    is_broken = false;
}

TEAR_DOWN()
{
    sxt_test_close_catalog();
}

static const struct sxt_catalog_part_name line = {.kind = SXT_CATALOG_RANGES, .parts = THREADS * CALLS};

static void *share(void *data)
{
    (void)data;
    for (int i = 0; i < CALLS; i++) {
        struct sxt_catalog_line_listing *shared;
        const struct sxt_catalog_listing *listing;
        sxt_error error = {0};
        unsigned mine = ++written;
        int status = sxt_catalog_share_line(sxt_test_it.catalog, "", "f." FILE_A, &line, &shared, &listing, &error);
        if (is_broken)
            failures += status != SXT_ERROR_IO || strcmp(error.text, "broken") != 0;
        else
            failures += status != SXT_OK || listing->part_count < mine;
        sxt_catalog_release_line(sxt_test_it.catalog, &shared);
    }
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, share, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failures, 0);
    assert_null(sxt_test_it.catalog->lines);
}

TEST(a_listing_begins_after_all_who_share_it_came)
{
    run_threads();
    assert_true(listings >= 2 && listings < THREADS * CALLS);
}

TEST(all_who_share_a_listing_get_its_error)
{
    is_broken = true;
    run_threads();
}

TEST(lines_are_listed_separately)
{
    struct sxt_catalog_part_name other = line;
    struct sxt_catalog_line_listing *first, *second;
    const struct sxt_catalog_listing *listing;
    sxt_error error;
    other.generation = 7;
    written = 3;
    assert_int_equal(sxt_catalog_share_line(sxt_test_it.catalog, "", "f." FILE_A, &line, &first, &listing, &error), 0);
    assert_int_equal(listing->part_count, 3);
    assert_int_equal(sxt_catalog_share_line(sxt_test_it.catalog, "", "f." FILE_A, &other, &second, &listing, &error),
                     0);
    assert_int_equal(listing->parts[0].generation, 7);
    assert_int_equal(listings, 2);
    sxt_catalog_release_line(sxt_test_it.catalog, &first);
    sxt_catalog_release_line(sxt_test_it.catalog, &second);
    assert_int_equal(sxt_catalog_share_line(sxt_test_it.catalog, "", "wrong", &line, &first, &listing, &error),
                     SXT_ERROR_USAGE);
    assert_null(first);
}
