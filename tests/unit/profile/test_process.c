/* test_process.c: run-time addresses, from a saved map and from this very process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "profile/profile.h"
#include "support/elf_image.h"
#include "support/folder.h"
#include "support/test.h"

static const struct sxt_test_symbol symbols[] = {{"f", 0x401000, 0x20, 'F', 'G'}, {"g", 0x401020, 0x20, 'F', 'G'}};

static char folder[SXT_TEST_FOLDER_MAX];
static char binary[SXT_TEST_FOLDER_MAX + 40], maps[SXT_TEST_FOLDER_MAX + 40];
static uint64_t code_offset;
static sxt_process *process;

SET_UP()
{
    sxt_test_make_folder(folder);
    snprintf(binary, sizeof binary, "%s/binary", folder);
    snprintf(maps, sizeof maps, "%s/maps", folder);
    size_t size;
    uint8_t *elf = sxt_test_elf_image(symbols, 2, &size, &code_offset);
    sxt_test_put_file(binary, elf, size);
    free(elf);
    process = NULL;
}

TEAR_DOWN()
{
    sxt_process_close(&process);
    assert_null(process);
    sxt_test_remove_folder(folder);
}

static void put_maps(const char *text)
{
    sxt_test_put_file(maps, text, strlen(text));
}

static int open_maps(const char *text, sxt_error *error)
{
    sxt_process_close(&process);
    put_maps(text);
    return sxt_process_open_maps(maps, NULL, &process, error);
}

/* The function at a run-time ADDRESS; NULL for none. */
static void assert_function(uint64_t address, const char *expected)
{
    sxt_frame frame;
    sxt_process_place place = SXT_PROCESS_PLACE_INIT;
    size_t count = sxt_process_lookup(process, address, &frame, 1, &place);
    assert_int_equal(count, expected != NULL);
    if (expected != NULL)
        sxt_test_assert_text(frame.function, expected);
}

TEST(an_address_leads_through_the_map_to_its_file)
{
    char text[1000];
    /* Out of order on purpose; the path has a space in it. */
    snprintf(text, sizeof text,
             "7f0000010000-7f0000011000 rw-p 00000000 00:00 0 \n"
             "7f0000020000-7f0000021000 r-xp 00000000 fd:01 77                         /no/such/file\n"
             "7f0000000000-7f0000001000 r-xp %08llx fd:01 1234                       %s\n"
             "7f0000030000-7f0000031000 r-xp 00000000 00:00 0                          [vdso]\n"
             "7f0000040000-7f0000041000 rw-p 00000000 00:00 0                          [heap]",
             (unsigned long long)code_offset, binary);
    assert_int_equal(open_maps(text, NULL), SXT_OK);
    assert_function(0x7f0000000000, "f");
    assert_function(0x7f0000000020, "g");
    assert_function(0x7f000000003f, "g");
    assert_function(0x7f0000000040, NULL);

    sxt_frame frame;
    sxt_process_place place = SXT_PROCESS_PLACE_INIT;
    assert_int_equal(sxt_process_lookup(process, 0x7f0000000025, &frame, 1, &place), 1);
    assert_string_equal(place.module, binary);
    assert_int_equal(place.address, 0x401025);
    assert_null(place.problem);
    /* Inside the mapping, but after what the file loads. */
    assert_int_equal(sxt_process_lookup(process, 0x7f0000000fff, &frame, 1, &place), 0);
    assert_string_equal(place.module, binary);
    assert_null(place.problem);
    /* Not mapped, anonymous, and special memory. */
    const uint64_t nowhere[] = {0, 0x7effffffffff, 0x7f0000001000, 0x7f0000010000, 0x7f0000040000, UINT64_MAX};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        assert_int_equal(sxt_process_lookup(process, nowhere[i], &frame, 1, &place), 0);
        assert_null(place.module);
        assert_null(place.problem);
    }
    /* Files that cannot be asked say why, as often as they are asked. */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(sxt_process_lookup(process, 0x7f0000020000, &frame, 1, &place), 0);
        assert_string_equal(place.module, "/no/such/file");
        assert_non_null(strstr(place.problem, "No such file"));
        assert_int_equal(sxt_process_lookup(process, 0x7f0000030000, &frame, 1, &place), 0);
        assert_string_equal(place.module, "[vdso]");
        assert_non_null(place.problem);
    }
}

TEST(an_empty_map_knows_nothing)
{
    assert_int_equal(open_maps("", NULL), SXT_OK);
    assert_function(0, NULL);
    assert_int_equal(open_maps("\n\n", NULL), SXT_OK);
    assert_function(UINT64_MAX, NULL);
}

TEST(what_is_no_map_is_refused_with_its_place)
{
    static const char good[] = "00400000-00401000 r-xp 00000000 fd:01 1 /bin/x\n";
    static const char *const bad[] = {"hello\n", "00400000 r-xp 0 fd:01 1 /bin/x\n", "00400000-\n",
                                      "00401000-00400000 r-xp 00000000 fd:01 1 /bin/x\n", "\177ELF\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, "%s%s%s", good, bad[i], good);
        sxt_error error = {0};
        assert_int_equal(open_maps(text, &error), SXT_ERROR_FORMAT);
        assert_null(process);
        assert_int_equal(error.offset, strlen(good));
    }
    char *longest = malloc(20001);
    assert_non_null(longest);
    memset(longest, 'x', 20000);
    longest[20000] = 0;
    assert_int_equal(open_maps(longest, NULL), SXT_ERROR_FORMAT);
    free(longest);
    unlink(maps);
    assert_int_equal(sxt_process_open_maps(maps, NULL, &process, NULL), SXT_ERROR_IO);
    assert_null(process);
}

TEST(this_process_finds_its_own_function)
{
    sxt_error error;
    if (sxt_process_open_pid(getpid(), NULL, &process, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_function((uint64_t)(uintptr_t)this_process_finds_its_own_function, "this_process_finds_its_own_function");
    assert_function((uint64_t)(uintptr_t)put_maps, "put_maps");
}

TEST(this_process_has_a_vdso_that_can_be_asked)
{
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    assert_int_equal(sxt_process_open_pid(getpid(), NULL, &process, NULL), SXT_OK);
    if (vdso == 0)
        skip();
    unsigned named = 0;
    for (uint64_t offset = 0; offset < 0x2000; offset += 0x10) {
        sxt_frame frame;
        sxt_process_place place = SXT_PROCESS_PLACE_INIT;
        named += sxt_process_lookup(process, vdso + offset, &frame, 1, &place) > 0;
        if (place.module != NULL)
            assert_null(place.problem);
    }
    assert_true(named > 0);
}

TEST(a_process_that_is_not_there_is_refused)
{
    sxt_error error = {0};
    assert_int_equal(sxt_process_open_pid(0x7fffffff, NULL, &process, &error), SXT_ERROR_IO);
    assert_null(process);
    assert_int_equal(error.code, SXT_ERROR_IO);
}
