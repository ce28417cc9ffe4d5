/* test_content.c: the content that the tables of elf.c refer to: compressed sections, bytes at addresses, notes. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "built_elf.h"
#include "source/elf/elf.h"
#include "support/elf_builder.h"
#include "support/test.h"

/* --- compression --- */

TEST(inflates_compressed_sections)
{
    static const uint32_t methods[] = {ELFCOMPRESS_ZLIB, 2};
    char content[5000];
    for (size_t i = 0; i < sizeof content; i++)
        content[i] = (char)(i / 7);
    for (size_t kind = 0; kind < KINDS; kind++)
        for (size_t method = 0; method < 2; method++) {
            struct sxt_builder builder;
            struct sxt_elf elf;
            sxt_builder_init(&builder, kinds[kind].is_64, kinds[kind].big_endian, ET_EXEC, EM_MIPS);
            unsigned number = sxt_builder_section(&builder, ".debug_line", SHT_PROGBITS, 0, content, sizeof content);
            sxt_builder_compress(&builder, number, methods[method]);
            open_built(&builder, &elf);
            struct sxt_elf_bytes bytes;
            sxt_error error = {0};
            if (sxt_elf_section_bytes(&elf, &elf.sections[number], &bytes, &error) != SXT_OK)
                fail_msg("%s", error.text);
            assert_true(bytes.inflated);
            assert_int_equal(bytes.size, sizeof content);
            assert_memory_equal(bytes.data, content, sizeof content);
            sxt_elf_close(&elf);
            sxt_builder_free(&builder);
        }
}

/* "ZLIB", the size in eight big-endian bytes for any byte order, a zlib stream. */
TEST(inflates_the_older_form_of_compressed_sections)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct sxt_builder builder;
        struct sxt_elf elf;
        sxt_builder_init(&builder, kinds[kind].is_64, kinds[kind].big_endian, ET_EXEC, EM_MIPS);
        unsigned other = sxt_builder_section(&builder, ".other", SHT_PROGBITS, 0, "hello hello hello hello", 23);
        sxt_builder_compress(&builder, other, ELFCOMPRESS_ZLIB);
        const struct sxt_buffer *packed = &sxt_builder_at(&builder, other)->bytes;
        size_t header = kinds[kind].is_64 ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
        struct sxt_buffer old;
        sxt_buffer_init(&old, 4096);
        sxt_buffer_append(&old, "ZLIB\0\0\0\0\0\0\0\x17", 12);
        sxt_buffer_append(&old, packed->data + header, packed->size - header);
        unsigned number = sxt_builder_section(&builder, ".zdebug_line", SHT_PROGBITS, 0, old.data, old.size);
        unsigned plain = sxt_builder_section(&builder, ".zdebug_plain", SHT_PROGBITS, 0, "not compressed", 14);
        sxt_buffer_free(&old);
        open_built(&builder, &elf);
        struct sxt_elf_bytes bytes;
        assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[number], &bytes, NULL), SXT_OK);
        assert_int_equal(bytes.size, 23);
        assert_memory_equal(bytes.data, "hello hello hello hello", 23);
        assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[plain], &bytes, NULL), SXT_OK);
        assert_int_equal(bytes.size, 14);
        sxt_elf_close(&elf);
        sxt_builder_free(&builder);
    }
}

/* Makes a file with one compressed section of 1000 bytes, lets SPOIL change it, and expects an error. */
static void expect_bad_compression(uint32_t method, void (*spoil)(struct sxt_builder *builder, uint64_t header),
                                   sxt_status code, const char *words)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    char content[1000];
    memset(content, 'x', sizeof content);
    begin(&builder, ET_EXEC);
    unsigned number = sxt_builder_section(&builder, ".debug_line", SHT_PROGBITS, 0, content, sizeof content);
    sxt_builder_compress(&builder, number, method);
    sxt_builder_finish(&builder);
    spoil(&builder, sxt_builder_at(&builder, number)->offset);
    open_built(&builder, &elf);
    struct sxt_elf_bytes bytes;
    sxt_error error = {0};
    assert_int_equal(sxt_elf_section_bytes(&elf, &elf.sections[number], &bytes, &error), code);
    if (strstr(error.text, words) == NULL)
        fail_msg("'%s' does not contain '%s'", error.text, words);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

static void say_one_byte_more(struct sxt_builder *builder, uint64_t header)
{
    sxt_builder_poke(builder, header + 8, 1001, 8);
}

static void say_one_byte_less(struct sxt_builder *builder, uint64_t header)
{
    sxt_builder_poke(builder, header + 8, 999, 8);
}

static void say_more_than_deflate_can(struct sxt_builder *builder, uint64_t header)
{
    sxt_builder_poke(builder, header + 8, (uint64_t)60 << 20, 8);
}

static void say_more_than_the_limit(struct sxt_builder *builder, uint64_t header)
{
    sxt_builder_poke(builder, header + 8, UINT64_MAX, 8);
}

static void say_another_method(struct sxt_builder *builder, uint64_t header)
{
    sxt_builder_poke(builder, header, 7, 4);
}

static void damage_the_stream(struct sxt_builder *builder, uint64_t header)
{
    builder->data[header + sizeof(Elf64_Chdr)] ^= 0x55;
}

static void cut_the_header(struct sxt_builder *builder, uint64_t header)
{
    (void)header;
    sxt_builder_lie_section(builder, 1, SXT_SECTION_SIZE, 23);
}

static void cut_the_stream_away(struct sxt_builder *builder, uint64_t header)
{
    (void)header;
    sxt_builder_lie_section(builder, 1, SXT_SECTION_SIZE, 24);
}

TEST(damaged_compressed_sections_are_refused)
{
    static const uint32_t methods[] = {ELFCOMPRESS_ZLIB, 2};
    for (size_t i = 0; i < 2; i++) {
        expect_bad_compression(methods[i], say_one_byte_more, SXT_ERROR_FORMAT, "compressed section");
        expect_bad_compression(methods[i], say_one_byte_less, SXT_ERROR_FORMAT, "compressed section");
        expect_bad_compression(methods[i], say_more_than_the_limit, SXT_ERROR_LIMIT, "exceeds the limit");
        expect_bad_compression(methods[i], say_another_method, SXT_ERROR_UNSUPPORTED, "unknown compression 7");
        expect_bad_compression(methods[i], damage_the_stream, SXT_ERROR_FORMAT, "compressed section");
        expect_bad_compression(methods[i], cut_the_header, SXT_ERROR_FORMAT, "cut off");
        expect_bad_compression(methods[i], cut_the_stream_away, SXT_ERROR_FORMAT, "compressed section");
    }
    expect_bad_compression(ELFCOMPRESS_ZLIB, say_more_than_deflate_can, SXT_ERROR_FORMAT, "cannot hold");
}

/* --- bytes at addresses --- */

TEST(finds_bytes_by_address_through_segments)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_EXEC);
    unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
    sxt_builder_at(&builder, text)->address = 0x400000;
    unsigned bss = sxt_builder_section(&builder, ".bss", SHT_NOBITS, SHF_ALLOC, NULL, 100);
    unsigned lost = sxt_builder_section(&builder, ".lost", SHT_PROGBITS, SHF_ALLOC, "abc", 3);
    sxt_builder_at(&builder, lost)->address = 0x500000;
    sxt_builder_segment(&builder, PT_NOTE, PF_R, lost, lost);
    sxt_builder_segment(&builder, PT_LOAD, PF_R, text, bss);
    open_built(&builder, &elf);
    assert_memory_equal(sxt_elf_at_address(&elf, 0x400000, 10), "0123456789", 10);
    assert_memory_equal(sxt_elf_at_address(&elf, 0x400009, 1), "9", 1);
    assert_null(sxt_elf_at_address(&elf, 0x400009, 2));
    assert_null(sxt_elf_at_address(&elf, 0x40000a, 0));
    assert_null(sxt_elf_at_address(&elf, 0x3fffff, 1));
    assert_null(sxt_elf_at_address(&elf, 0x400001, UINT64_MAX));
    assert_null(sxt_elf_at_address(&elf, 0x500000, 1));
    assert_int_equal(sxt_elf_available_at(&elf, 0x400003), 7);
    assert_int_equal(sxt_elf_available_at(&elf, 0x40000a), 0);
    assert_int_equal(sxt_elf_available_at(&elf, 0x500000), 0);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(finds_bytes_by_address_through_sections_if_there_are_no_segments)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_REL);
    sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
    sxt_builder_section(&builder, ".bss", SHT_NOBITS, SHF_ALLOC, NULL, 6);
    sxt_builder_section(&builder, ".note", SHT_PROGBITS, 0, "xyz", 3);
    sxt_builder_section(&builder, ".data", SHT_PROGBITS, SHF_ALLOC, "abc", 3);
    open_built(&builder, &elf);
    assert_memory_equal(sxt_elf_at_address(&elf, 9, 1), "9", 1);
    assert_null(sxt_elf_at_address(&elf, 9, 2));
    assert_null(sxt_elf_at_address(&elf, 10, 1));
    assert_memory_equal(sxt_elf_at_address(&elf, 16, 3), "abc", 3);
    assert_null(sxt_elf_at_address(&elf, 19, 1));
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(a_segment_outside_the_file_has_no_bytes)
{
    const struct sxt_builder_segment lies[] = {
        {.type = PT_LOAD, .offset = 0, .address = 0x1000, .file_size = UINT64_MAX},
        {.type = PT_LOAD, .offset = UINT64_MAX, .address = 0x1000, .file_size = 16},
        {.type = PT_LOAD, .offset = UINT64_MAX - 15, .address = 0x1000, .file_size = 32},
        {.type = PT_LOAD, .offset = 64, .address = UINT64_MAX - 3, .file_size = UINT64_MAX},
        {.type = PT_LOAD, .offset = 1 << 20, .address = 0x1000, .file_size = 16},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct sxt_builder builder;
        struct sxt_elf elf;
        begin(&builder, ET_EXEC);
        sxt_builder_segment(&builder, PT_LOAD, PF_R, 0, 0);
        builder.segments[0] = lies[i];
        open_built(&builder, &elf);
        const uint64_t addresses[] = {0, 0x1000, 0x1001, UINT64_MAX - 3, UINT64_MAX};
        for (size_t k = 0; k < sizeof addresses / sizeof *addresses; k++) {
            assert_null(sxt_elf_at_address(&elf, addresses[k], 1));
            assert_int_equal(sxt_elf_available_at(&elf, addresses[k]), 0);
        }
        sxt_elf_close(&elf);
        sxt_builder_free(&builder);
    }
}

/* The end of a segment at the end of the address space is not an address. */
TEST(a_segment_at_the_end_of_the_address_space_is_read_to_its_end)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_EXEC);
    unsigned text = sxt_builder_section(&builder, ".text", SHT_PROGBITS, SHF_ALLOC, "0123456789", 10);
    sxt_builder_at(&builder, text)->address = UINT64_MAX - 9;
    sxt_builder_segment(&builder, PT_LOAD, PF_R, text, text);
    open_built(&builder, &elf);
    assert_memory_equal(sxt_elf_at_address(&elf, UINT64_MAX, 1), "9", 1);
    assert_null(sxt_elf_at_address(&elf, UINT64_MAX, 2));
    assert_null(sxt_elf_at_address(&elf, 0, 1));
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

/* --- notes --- */

static void expect_build_id(struct sxt_builder *builder, const char *wanted, size_t size)
{
    struct sxt_elf elf;
    uint8_t id[64];
    open_built(builder, &elf);
    assert_int_equal(sxt_elf_build_id(&elf, id, sizeof id), size);
    assert_memory_equal(id, wanted, size);
    sxt_elf_close(&elf);
    sxt_builder_free(builder);
}

TEST(reads_the_build_id_of_a_section)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct sxt_builder builder;
        sxt_builder_init(&builder, kinds[i].is_64, kinds[i].big_endian, ET_DYN, EM_S390);
        sxt_builder_build_id(&builder, "twenty bytes of hash", 20);
        expect_build_id(&builder, "twenty bytes of hash", 20);
    }
}

TEST(reads_the_build_id_of_a_segment_if_there_are_no_sections)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct sxt_builder builder;
        sxt_builder_init(&builder, kinds[i].is_64, kinds[i].big_endian, ET_DYN, EM_S390);
        unsigned note = sxt_builder_build_id(&builder, "hash", 4);
        sxt_builder_segment(&builder, PT_NOTE, PF_R, note, note);
        sxt_builder_finish(&builder);
        sxt_builder_lie_header(&builder, SXT_HEADER_SECTIONS, 0);
        sxt_builder_lie_header(&builder, SXT_HEADER_SECTION_COUNT, 0);
        expect_build_id(&builder, "hash", 4);
    }
}

TEST(finds_the_build_id_after_other_notes)
{
    struct sxt_builder builder;
    begin(&builder, ET_DYN);
    unsigned first = sxt_builder_section(&builder, ".note.gnu.property", SHT_NOTE, SHF_ALLOC, NULL, 0);
    sxt_builder_note(&builder, first, 5, "GNU", "0123456789abcdef", 16, 8);
    unsigned second = sxt_builder_section(&builder, ".note", SHT_NOTE, SHF_ALLOC, NULL, 0);
    sxt_builder_note(&builder, second, NT_GNU_BUILD_ID, "Go", "not this one", 12, 4);
    sxt_builder_note(&builder, second, 1, "GNU", "an ABI tag..", 12, 4);
    sxt_builder_note(&builder, second, 7, "a longer name", "x", 1, 4);
    sxt_builder_note(&builder, second, NT_GNU_BUILD_ID, "GNU", "", 0, 4);
    sxt_builder_note(&builder, second, NT_GNU_BUILD_ID, "GNU", "this one", 8, 4);
    sxt_builder_note(&builder, second, NT_GNU_BUILD_ID, "GNU", "not that", 8, 4);
    expect_build_id(&builder, "this one", 8);
}

TEST(pads_notes_to_eight_bytes_where_the_section_is_aligned_so)
{
    struct sxt_builder builder;
    begin(&builder, ET_DYN);
    unsigned note = sxt_builder_section(&builder, ".note", SHT_NOTE, SHF_ALLOC, NULL, 0);
    sxt_builder_note(&builder, note, 5, "GNU", "0123456789ab", 12, 8);
    sxt_builder_note(&builder, note, 5, "longer than", "0123", 4, 8);
    sxt_builder_note(&builder, note, NT_GNU_BUILD_ID, "GNU", "id", 2, 8);
    expect_build_id(&builder, "id", 2);
}

TEST(the_last_note_needs_no_padding)
{
    struct sxt_builder builder;
    begin(&builder, ET_DYN);
    unsigned note = sxt_builder_build_id(&builder, "abcde", 5);
    sxt_builder_at(&builder, note)->bytes.size -= 3;
    expect_build_id(&builder, "abcde", 5);
}

TEST(cuts_a_build_id_to_the_room_there_is)
{
    char long_id[200];
    memset(long_id, 'i', sizeof long_id);
    struct sxt_builder builder;
    struct sxt_elf elf;
    uint8_t id[8] = {0};
    begin(&builder, ET_DYN);
    sxt_builder_build_id(&builder, long_id, sizeof long_id);
    open_built(&builder, &elf);
    assert_int_equal(sxt_elf_build_id(&elf, id, 4), 4);
    assert_memory_equal(id, "iiii\0\0\0\0", 8);
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}

TEST(hostile_notes_give_no_build_id)
{
    const uint32_t lies[][2] = {{UINT32_MAX, 4}, {4, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}, {0, UINT32_MAX - 3},
                                {5, 4},          {0x80000000, 4}, {4, 0x7fffffff},          {UINT32_MAX - 3, 0}};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
        for (unsigned alignment = 4; alignment <= 8; alignment += 4) {
            struct sxt_builder builder;
            begin(&builder, ET_DYN);
            unsigned note = sxt_builder_section(&builder, ".note", SHT_NOTE, SHF_ALLOC, NULL, 0);
            sxt_builder_note(&builder, note, NT_GNU_BUILD_ID, "GNU", "abcd", 4, alignment);
            sxt_builder_finish(&builder);
            sxt_builder_poke(&builder, sxt_builder_at(&builder, note)->offset, lies[i][0], 4);
            sxt_builder_poke(&builder, sxt_builder_at(&builder, note)->offset + 4, lies[i][1], 4);
            expect_build_id(&builder, "", 0);
        }
    for (size_t cut = 0; cut < 20; cut++) {
        struct sxt_builder builder;
        begin(&builder, ET_DYN);
        unsigned note = sxt_builder_build_id(&builder, "abcd", 4);
        sxt_builder_finish(&builder);
        sxt_builder_lie_section(&builder, note, SXT_SECTION_SIZE, cut);
        expect_build_id(&builder, "", 0);
    }
}

/* Each of many sections contains the same megabytes of notes. */
TEST(overlapping_notes_cost_little_time)
{
    struct sxt_builder builder;
    struct sxt_elf elf;
    begin(&builder, ET_DYN);
    uint8_t *zeros = calloc(1, (size_t)2 << 20);
    unsigned first = sxt_builder_section(&builder, ".note", SHT_NOTE, 0, zeros, (size_t)2 << 20);
    free(zeros);
    for (unsigned i = 0; i < 4000; i++)
        sxt_builder_section(&builder, "", SHT_NOTE, 0, NULL, 0);
    sxt_builder_finish(&builder);
    for (unsigned i = 0; i < 4000; i++) {
        sxt_builder_lie_section(&builder, first + 1 + i, SXT_SECTION_OFFSET, sxt_builder_at(&builder, first)->offset);
        sxt_builder_lie_section(&builder, first + 1 + i, SXT_SECTION_SIZE, (uint64_t)2 << 20);
    }
    open_built(&builder, &elf);
    double start = sxt_test_seconds();
    uint8_t id[20];
    assert_int_equal(sxt_elf_build_id(&elf, id, sizeof id), 0);
    double taken = sxt_test_seconds() - start;
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
    if (taken > 2)
        fail_msg("%.1f s for one build ID", taken);
}

TEST(names_architectures)
{
    const struct {
        bool is_64, big_endian;
        uint16_t machine;
        const char *name;
    } cases[] = {
        {true, false, EM_X86_64, "x86_64"},   {false, false, EM_X86_64, "x32"},   {false, false, EM_386, "i386"},
        {true, false, EM_AARCH64, "aarch64"}, {false, false, EM_ARM, "arm"},      {true, false, EM_RISCV, "riscv64"},
        {true, true, EM_PPC64, "ppc64"},      {true, false, EM_PPC64, "ppc64le"}, {true, true, EM_S390, "s390x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sxt_builder builder;
        struct sxt_elf elf;
        sxt_builder_init(&builder, cases[i].is_64, cases[i].big_endian, ET_DYN, cases[i].machine);
        open_built(&builder, &elf);
        assert_string_equal(sxt_elf_arch(&elf), cases[i].name);
        sxt_elf_close(&elf);
        sxt_builder_free(&builder);
    }
    struct sxt_builder builder;
    struct sxt_elf elf;
    sxt_builder_init(&builder, true, false, ET_DYN, 0xbeef);
    open_built(&builder, &elf);
    assert_null(sxt_elf_arch(&elf));
    sxt_elf_close(&elf);
    sxt_builder_free(&builder);
}
