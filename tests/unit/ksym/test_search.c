/*
 * test_search.c: searches in blobs that are large enough for every table of the reader, with and without an index in
 * the caller's memory. What is expected comes from going through all symbols.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sextant/ksym_writer.h>

#include "support/random.h"
#include "support/test.h"

#define NAME_SIZE 400

struct list {
    size_t count;
    uint64_t *addresses;
    char (*names)[NAME_SIZE];
    void *data;
    size_t size;
    sxt_ksym ksym;
    void *index;
};

/* Gives name NUMBER of a list; returns its size. */
typedef size_t make_name(size_t number, struct sxt_test_random *random, char *name);

static void open_list(struct list *list, size_t count, make_name *make, uint32_t distance)
{
    sxt_ksym_writer *writer;
    struct sxt_test_random random = {count};
    uint64_t address = distance > 1000000 ? 0x400000 : 0xffffffff81000000;
    void *data;
    list->count = count;
    list->addresses = calloc(count, sizeof *list->addresses);
    list->names = calloc(count, sizeof *list->names);
    assert_int_equal(sxt_ksym_writer_new(NULL, &writer, NULL), SXT_OK);
    for (size_t i = 0; i < count; i++) {
        size_t size = make(i, &random, list->names[i]);
        assert_true(size < NAME_SIZE);
        list->names[i][size] = '\0';
        list->addresses[i] = address;
        assert_int_equal(sxt_ksym_writer_add(writer, address, 't', list->names[i], size, NULL), SXT_OK);
        /* Functions of very different sizes, few and many aliases, and a gap before the modules. */
        address +=
            i % 7 == 3 || i % 500 > 440 ? 0 : 1 + sxt_test_below(&random, i % 50 == 0 ? 100 * distance : distance);
        address += i == count / 2 ? 0x3f000000 : 0;
    }
    assert_int_equal(sxt_ksym_writer_write_memory(writer, &data, &list->size, NULL, NULL), SXT_OK);
    sxt_ksym_writer_free(&writer);
    list->data = malloc(list->size); /* of exactly that size, so that AddressSanitizer sees a step outside */
    memcpy(list->data, data, list->size);
    sxt_free(data);
    assert_null(sxt_ksym_open(&list->ksym, list->data, list->size, 0, 0, NULL));
    assert_int_equal(sxt_ksym_count(&list->ksym), count);
    list->index = NULL;
}

static void add_index(struct list *list)
{
    size_t size = sxt_ksym_index_size(&list->ksym);
    assert_in_range(size, 23 * list->count, 28 * list->count + 1024);
    list->index = malloc(size + 4);
    assert_true(sxt_ksym_use_index(&list->ksym, (char *)list->index + 4, size)); /* not aligned to more than 4 */
}

static void close_list(struct list *list)
{
    free(list->addresses);
    free(list->names);
    free(list->data);
    free(list->index);
}

static void check_name(const struct list *list, const char *name)
{
    sxt_ksym_matches matches;
    size_t index = 0, expected = 0, found = 0, sum = 0, expected_sum = 0, size = strlen(name);
    char *exact = malloc(size + 1); /* nothing after the name may be read */
    memcpy(exact, name, size);
    exact = realloc(exact, size > 0 ? size : 1);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            expected++;
            expected_sum += i;
        }
    }
    sxt_ksym_find(&list->ksym, exact, size, &matches);
    while (sxt_ksym_next(&matches, &index)) {
        assert_true(index < list->count && found < list->count);
        assert_string_equal(list->names[index], name);
        found++;
        sum += index;
    }
    assert_int_equal(found, expected);
    assert_int_equal(sum, expected_sum);
    free(exact);
}

/* Names of the list, and others that differ in one byte, are shorter or longer. */
static void check_names(const struct list *list)
{
    for (size_t i = 0; i < list->count; i += 1 + list->count / 150) {
        char name[NAME_SIZE + 1];
        size_t size = strlen(list->names[i]);
        check_name(list, list->names[i]);
        memcpy(name, list->names[i], size + 1);
        size_t at = i % (size > 0 ? size : 1);
        name[at] = '!';
        check_name(list, name);
        name[at] = '~';
        check_name(list, name);
        name[at] = '\0';
        check_name(list, name);
        memcpy(name, list->names[i], size);
        memcpy(name + size, "0", 2);
        check_name(list, name);
    }
    check_name(list, "");
    check_name(list, "\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f");
}

/* The answer is the same without a buffer, and in one in which the name does not fit. */
static void check_small_buffers(const struct list *list, size_t index, uint64_t address)
{
    char buffer[12];
    sxt_ksym_symbol symbol;
    size_t size = strlen(list->names[index]), fits = size < sizeof buffer ? size : sizeof buffer - 1;
    for (size_t capacity = 0; capacity <= sizeof buffer; capacity += sizeof buffer) {
        assert_true(sxt_ksym_lookup(&list->ksym, address, capacity > 0 ? buffer : NULL, capacity, &symbol));
        assert_int_equal(symbol.index, index);
        assert_int_equal(symbol.offset, address - list->addresses[index]);
        assert_int_equal(symbol.name_size, size);
    }
    assert_memory_equal(buffer, list->names[index], fits);
    assert_int_equal(buffer[fits], 0);
}

static void check_addresses(const struct list *list)
{
    char buffer[NAME_SIZE + 200];
    sxt_ksym_symbol symbol;
    for (size_t i = 0, end; i < list->count; i = end) {
        for (end = i + 1; end < list->count && list->addresses[end] == list->addresses[i];)
            end++;
        uint64_t last = end < list->count ? list->addresses[end] - 1 : list->addresses[i];
        const uint64_t asked[] = {list->addresses[i], last, list->addresses[i] + (last - list->addresses[i]) / 2};
        for (size_t k = 0; k < 3; k++) {
            assert_true(sxt_ksym_lookup(&list->ksym, asked[k], buffer, sizeof buffer, &symbol));
            assert_int_equal(symbol.index, i);
            assert_int_equal(symbol.offset, asked[k] - list->addresses[i]);
            assert_string_equal(buffer, list->names[i]);
        }
        check_small_buffers(list, i, last);
    }
}

static void check_list(size_t count, make_name *make, uint32_t distance)
{
    static struct list list;
    open_list(&list, count, make, distance);
    for (int with_index = 0; with_index < 2; with_index++) {
        if (with_index != 0)
            add_index(&list);
        check_names(&list);
        check_addresses(&list);
    }
    close_list(&list);
}

static size_t numbered(size_t number, struct sxt_test_random *random, char *name)
{
    static const char *const nouns[] = {"inode", "page", "queue", "device"};
    (void)random;
    return (size_t)snprintf(name, NAME_SIZE, "ext4_core_get_%s_%zx", nouns[number % 4], number * 7919);
}

/* Many names begin with the same long text, so that nodes of the tree skip more than 8 bytes. */
static size_t deep(size_t number, struct sxt_test_random *random, char *name)
{
    static const char *const parts[] = {"<alloc::vec::Vec<", "rustc_middle::ty::context::TyCtxt",
                                        "core::fmt::Debug>::", "a", "<&"};
    size_t size = 0;
    (void)number;
    for (uint32_t left = 1 + sxt_test_below(random, 9); left > 0; left--)
        size += (size_t)snprintf(name + size, NAME_SIZE - size, "%s", parts[sxt_test_below(random, 5)]);
    return size;
}

/* More equal names than there are between two samples. */
static size_t repeated(size_t number, struct sxt_test_random *random, char *name)
{
    return (size_t)snprintf(name, NAME_SIZE, "%s", number % 3 != 0 ? "operator()" : "fmt") +
           (number % 5 == 0 ? (size_t)snprintf(name + (number % 3 != 0 ? 10 : 3), 40, "_%u", sxt_test_below(random, 9))
                            : 0);
}

/* Each begins with the one before. */
static size_t growing(size_t number, struct sxt_test_random *random, char *name)
{
    (void)random;
    memset(name, 'x', number % 350 + 1);
    return number % 350 + 1;
}

static size_t of_two_letters(size_t number, struct sxt_test_random *random, char *name)
{
    size_t size = 1 + sxt_test_below(random, 24);
    (void)number;
    for (size_t i = 0; i < size; i++)
        name[i] = (char)('a' + sxt_test_below(random, 2));
    return size;
}

TEST(every_name_and_address_is_found)
{
    static make_name *const makers[] = {numbered, deep, repeated, growing, of_two_letters};
    static const size_t counts[] = {1, 15, 16, 17, 300, 769, 3000};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            check_list(counts[k], makers[i], k % 2 == 0 ? 16 : 3000);
}

TEST(more_symbols_than_parts_are_found)
{
    check_list(20000, numbered, 400);
}

/* A bucket with more symbols than the number of a part can count. */
TEST(crowded_addresses_are_found)
{
    static struct list list;
    open_list(&list, 70000, numbered, 1);
    for (int with_index = 0; with_index < 2; with_index++) {
        if (with_index != 0)
            add_index(&list);
        check_addresses(&list);
        check_name(&list, list.names[69999]);
    }
    close_list(&list);
}

/* The distances do not fit into the 32 bits that the index has for them. */
TEST(addresses_far_from_each_other_are_found)
{
    check_list(1000, numbered, 40000000);
}

TEST(memory_for_an_index_must_fit)
{
    static struct list list;
    static uint32_t memory[4096];
    open_list(&list, 100, numbered, 16);
    size_t size = sxt_ksym_index_size(&list.ksym);
    assert_in_range(size, 1, sizeof memory - 4);
    assert_false(sxt_ksym_use_index(&list.ksym, memory, size - 1));
    assert_false(sxt_ksym_use_index(&list.ksym, (char *)memory + 1, size));
    check_names(&list);
    assert_true(sxt_ksym_use_index(&list.ksym, memory, size));
    check_names(&list);
    /* A blob that is opened in the same place has no index. */
    assert_null(sxt_ksym_open(&list.ksym, list.data, list.size, 0, 0, NULL));
    memset(memory, 0xAB, sizeof memory);
    check_names(&list);
    close_list(&list);
    static const unsigned char empty[32];
    assert_null(sxt_ksym_open(&list.ksym, empty, sizeof empty, 0, 0, NULL));
    assert_int_equal(sxt_ksym_index_size(&list.ksym), 0);
    assert_false(sxt_ksym_use_index(&list.ksym, memory, sizeof memory));
}
