/* test_layout.c: from addresses of a process to addresses of a file, rule by rule of layout.h. */
#include <string.h>

#include "profile/layout.h"
#include "support/test.h"

#define NOWHERE  UINT64_MAX
#define UNPLACED (UINT64_MAX - 1)

static uint64_t place(const struct sxt_layout *layout, const char *name, uint64_t start, uint64_t limit,
                      uint64_t offset, uint64_t address)
{
    struct sxt_layout_mapping mapping = {start, limit, offset, {name, strlen(name)}};
    uint64_t out;
    switch (sxt_layout_place(layout, &mapping, address, &out)) {
    case SXT_LAYOUT_PLACED:
        return out;
    case SXT_LAYOUT_NO_SEGMENTS:
        return UNPLACED;
    default:
        return NOWHERE;
    }
}

static struct sxt_layout_segment segments[] = {
    {.offset = 0x1000, .file_size = 0x800, .address = 0x2000, .memory_size = 0x800},
    {.offset = 0, .file_size = 0x600, .address = 0, .memory_size = 0x600},
};
static const struct sxt_layout elf = {
    .segments = segments, .segment_count = 2, .code_count = 1, .has_offsets = true, .first = 0x2000, .end = 0x2800};
static const struct sxt_layout archive = {.first = 0x401000, .end = 0x402000};

TEST(addresses_that_are_file_relative_stay)
{
    assert_int_equal(place(&elf, "/bin/app", 0, 0, 0, 0x2345), 0x2345);
    assert_int_equal(place(&elf, "/bin/app", 0, UINT64_MAX, 0, 0x2345), 0x2345);
    assert_int_equal(place(&archive, "/bin/app", 0, 0, 0, 0x2345), 0x2345);
}

TEST(segments_give_the_address_of_an_offset)
{
    uint64_t start = 0x555500001000;
    assert_int_equal(place(&elf, "/bin/app", start, start + 0x1000, 0x1000, start + 0x234), 0x2234);
    /* One mapping of everything, from the first byte on. */
    assert_int_equal(place(&elf, "/bin/app", start, start + 0x4000, 0, start + 0x1234), 0x2234);
    assert_int_equal(place(&elf, "/bin/app", start, start + 0x4000, 0, start + 0x500), 0x500);
    assert_int_equal(place(&elf, "/bin/app", start, start + 0x4000, 0, start + 0x700), NOWHERE);
    assert_int_equal(place(&elf, "/bin/app", start, start + 0x4000, 0, start + 0x1800), NOWHERE);
}

TEST(an_archive_without_segments_is_where_it_is_linked)
{
    assert_int_equal(place(&archive, "/bin/app", 0x401000, 0x403000, 0x1000, 0x401234), 0x401234);
    assert_int_equal(place(&archive, "/bin/app", 0x400000, 0x401001, 0, 0x400500), 0x400500);
    /* Elsewhere, only a mapping of everything is known to be in memory as in the file. */
    uint64_t start = 0x555500001000;
    assert_int_equal(place(&archive, "/bin/app", start, start + 0x402000, 0, start + 0x401034), 0x401034);
    assert_int_equal(place(&archive, "/bin/app", start, start + 0x401000, 0, start + 0x34), UNPLACED);
    assert_int_equal(place(&archive, "/bin/app", start, start + 0x1000, 0x401000, start + 0x34), UNPLACED);
    assert_int_equal(place(&archive, "/bin/app", 0x402000, 0x403000, 0x5000, 0x402010), UNPLACED);
}

TEST(the_user_may_say_that_an_archive_is_in_memory_as_in_the_file)
{
    struct sxt_layout linear = archive;
    linear.assume_linear = true;
    uint64_t start = 0x555500001000;
    assert_int_equal(place(&linear, "/bin/app", start, start + 0x1000, 0x401000, start + 0x34), 0x401034);
    assert_int_equal(place(&linear, "/bin/app", 0x402000, 0x403000, 0x5000, 0x402010), 0x5010);
}

TEST(a_debug_file_knows_how_large_its_code_is)
{
    struct sxt_layout_segment code = {.address = 0x2340, .memory_size = 0x1cc1};
    struct sxt_layout debug = {.segments = &code, .segment_count = 1, .code_count = 1, .first = 0x2340, .end = 0x4001};
    uint64_t start = 0x555500001000;
    assert_int_equal(place(&debug, "/bin/app", start, start + 0x3000, 0x1000, start + 0x345), 0x2345);
    assert_int_equal(place(&debug, "/bin/app", start, start + 0x4000, 0x1000, start + 0x345), UNPLACED);
}

TEST(a_debug_file_knows_where_its_code_would_be_if_all_is_as_in_the_file)
{
    struct sxt_layout_segment parts[] = {{.address = 0x3000002340, .memory_size = 0x1cc1},
                                         {.address = 0x3000000000, .memory_size = 0x1000}};
    struct sxt_layout debug = {
        .segments = parts, .segment_count = 2, .code_count = 1, .first = 0x3000002340, .end = 0x3000004001};
    uint64_t start = 0x555500001000;
    assert_int_equal(place(&debug, "/bin/app", start, start + 0x1000, 0x2000, start + 0x345), 0x3000002345);
    assert_int_equal(place(&debug, "/bin/app", start, start + 0x1000, 0x1000, start + 0x345), UNPLACED);
    assert_int_equal(place(&debug, "/bin/app", start, start + 0x9000, 0, start + 0x2345), 0x3000002345);
    debug.assume_linear = true;
    assert_int_equal(place(&debug, "/bin/app", start, start + 0x1000, 0x1000, start + 0x345), 0x3000001345);
}

TEST(a_relocatable_file_begins_with_its_text)
{
    struct sxt_layout module = {.is_relocatable = true, .text = 0x40};
    uint64_t start = 0xffffffffc0100000;
    assert_int_equal(place(&module, "[ext4]", start, start + 0x1000, 0, start + 0x10), 0x50);
}

TEST(a_kernel_moves_in_large_steps)
{
    uint64_t text = 0xffffffff81000000, moved = 0x12600000;
    const struct sxt_layout kernels[] = {
        {.has_offsets = true, .first = text, .end = text + 0x1000000},
        {.first = text + 0x40, .end = text + 0x1000000},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const struct sxt_layout *kernel = &kernels[i];
        assert_int_equal(place(kernel, "[kernel.kallsyms]", text, UINT64_MAX, 0, text + 0x99), text + 0x99);
        assert_int_equal(place(kernel, "[kernel.kallsyms]", text + moved, UINT64_MAX, 0, text + moved + 0x99),
                         text + 0x99);
        assert_int_equal(place(kernel, "[kernel.kallsyms]", 0xffffffff80000000, UINT64_MAX, 1, text + 0x99),
                         text + 0x99);
        /* What perf writes: the address of a symbol where an offset belongs. */
        assert_int_equal(
            place(kernel, "[kernel.kallsyms]_stext", 1, UINT64_MAX, text + moved + 0x2000, text + moved + 0x99),
            text + 0x99);
        assert_int_equal(place(kernel, "/boot/vmlinux-6.1", text, UINT64_MAX, 0x200000, text + 0x99), text + 0x99);
    }
}

TEST(kernels_are_known_by_name)
{
    static const char *const yes[] = {"[kernel.kallsyms]", "[kernel.kallsyms]_text", "[guest.kernel.kallsyms.12]",
                                      "vmlinux", "/usr/lib/debug/boot/vmlinux-6.1.0"};
    static const char *const no[] = {"", "/", "[vdso]", "kernel", "/boot/vmlinuz-6.1", "/vmlinux/app", "[ext4]"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        assert_true(sxt_layout_is_kernel((sxt_string){yes[i], strlen(yes[i])}));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        assert_false(sxt_layout_is_kernel((sxt_string){no[i], strlen(no[i])}));
}
