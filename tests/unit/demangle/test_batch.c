/* Many names at once give what each name gives alone, with any number of threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/demangle.h"
#include "support/test.h"

#define NAMES 9000

static char *names[NAMES];

/* Some are not mangled, and every 500th is longer than what a thread takes from the common memory. */
static void make_names(void)
{
    for (unsigned i = 0; i < NAMES; i++) {
        char short_name[64];
        if (i % 500 == 0) {
            size_t size = 40000;
            names[i] = malloc(size + 32);
            assert_non_null(names[i]);
            int digits = snprintf(names[i], 32, "_Z%zu", size);
            memset(names[i] + digits, 'a' + (int)(i / 500 % 26), size);
            strcpy(names[i] + digits + size, "PKci");
        } else {
            if (i % 7 == 0)
                snprintf(short_name, sizeof short_name, "plain_%u", i);
            else
                snprintf(short_name, sizeof short_name, "_ZN2ns6name%02u1fERKSt6vectorIiSaIiEE", i % 90 + 10);
            names[i] = strdup(short_name);
            assert_non_null(names[i]);
        }
    }
}

static void free_names(void)
{
    for (unsigned i = 0; i < NAMES; i++)
        free(names[i]);
}

static sxt_string name_at(const void *context, size_t index)
{
    (void)context;
    return (sxt_string){names[index], strlen(names[index])};
}

static void compare(size_t count, unsigned threads, const struct sxt_strings *table)
{
    struct sxt_demangled all;
    struct sxt_buffer alone;
    sxt_buffer_init(&alone, (size_t)2 << 20);
    assert_int_equal(sxt_demangle_all(&all, count, name_at, NULL, table, threads, NULL), SXT_OK);
    assert_int_equal(all.count, count);
    assert_int_equal(all.hashes != NULL, table != NULL);
    for (size_t i = 0; i < count; i++) {
        sxt_buffer_clear(&alone);
        if (!sxt_demangle(name_at(NULL, i), &alone)) {
            assert_null(all.forms[i].data);
            continue;
        }
        assert_int_equal(all.forms[i].size, alone.size);
        assert_memory_equal(all.forms[i].data, alone.data, alone.size);
        if (table != NULL)
            assert_int_equal(all.hashes[i], sxt_strings_hash(table, all.forms[i].data, all.forms[i].size));
    }
    sxt_demangled_free(&all);
    sxt_buffer_free(&alone);
}

TEST(gives_what_each_name_gives_alone)
{
    struct sxt_strings table;
    assert_int_equal(sxt_strings_init(&table, 0, NULL), SXT_OK);
    make_names();
    for (unsigned threads = 1; threads <= 3; threads++) {
        compare(NAMES, threads, &table);
        compare(NAMES, threads, NULL);
    }
    compare(1, 1, &table);
    compare(0, 1, &table);
    free_names();
    sxt_strings_free(&table);
}
