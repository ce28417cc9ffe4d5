/* test_linker_map.c: lookups in a linker map, and which files are refused. */
#include "reading.h"
#include "support/test.h"

static void assert_refused(const char *text, int status, const char *message)
{
    struct reading reading = read_bytes(text, strlen(text));
    assert_int_equal(reading.status, status);
    assert_string_equal(reading.error.text, message);
    free_reading(&reading);
}

/* Firmware is at 0, and so is debug information. */
TEST(code_at_zero)
{
    struct reading reading = read_map(GNU_HEADING ".text           0x0000000000000000        0x8\n"
                                                  " .text.f        0x0000000000000000        0x8 a.o\n"
                                                  "\n"
                                                  ".debug_info     0x0000000000000000       0x80\n"
                                                  " .debug_info    0x0000000000000000       0x80 b.o\n");
    assert_int_equal(reading.map->located_count, 1);
    const struct sxt_linker_map_piece *piece = sxt_linker_map_piece_at(reading.map, 0);
    assert_non_null(piece);
    sxt_test_assert_text(piece->input_section, ".text.f");
    assert_null(sxt_linker_map_piece_at(reading.map, 8));
    free_reading(&reading);
}

/* The reference's ranking: local labels lose, mangled names win, and of equals the last one. */
TEST(the_best_name_is_preferred)
{
    assert_map(LLD_HEADING "            1000             1000       20     1 .text\n"
                           "            1000             1000       20     1         a.o:(.text)\n"
                           "            1000             1000        8     1                 _ZN1a1bEv\n"
                           "            1000             1000        8     1                 alias\n"
                           "            1000             1000        0     1                 .Ltmp\n"
                           "            1010             1010        0     1                 .hidden\n"
                           "            1010             1010        0     1                 .L1\n"
                           "            1008             1008        4     1                 first\n"
                           "            1008             1008        4     1                 second\n"
                           "            1008             1008        0     1                 $odd\n",
               SXT_LINKER_LLD,
               "1000+20 .text a.o .text\n"
               "  _ZN1a1bEv@1000+8*\n"
               "  alias@1000+8\n"
               "  .Ltmp@1000+0\n"
               "  first@1008+4\n"
               "  second@1008+4*\n"
               "  $odd@1008+0\n"
               "  .hidden@1010+0*\n"
               "  .L1@1010+0\n");
}

TEST(stems_of_input_sections)
{
    static const struct {
        const char *name;
        const char *stem;
    } cases[] = {{".text.f", "f"},
                 {".text", ""},
                 {".text.", ""},
                 {".text.unlikely", ""},
                 {".text.unlikely.f", "f"},
                 {".text.startup.main", "main"},
                 {".text.startupish", "startupish"},
                 {".textual", ""},
                 {".data.rel.ro.local.names", "names"},
                 {".data.rel.local.p", "p"},
                 {".data.relative", "relative"},
                 {".bss.x", "x"},
                 {".rodata.t", "t"},
                 {".rodata.f.str1.1", ""},
                 {".gnu.linkonce.t.f", "f"},
                 {"user", ""},
                 {".", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 LLD_HEADING "            1000             1000        8     1 .x\n"
                             "            1000             1000        8     1         a.o:(%s)\n",
                 cases[i].name);
        struct reading reading = read_map(text);
        const struct sxt_linker_map_piece *piece = &reading.map->pieces[0];
        sxt_string stem = {"", 0};
        if (piece->stem > 0)
            stem = (sxt_string){piece->input_section.data + piece->stem, piece->input_section.size - piece->stem};
        sxt_test_assert_text(stem, cases[i].stem);
        free_reading(&reading);
    }
}

static void assert_piece_at(const struct sxt_linker_map *map, uint64_t address, const char *input_section)
{
    const struct sxt_linker_map_piece *piece = sxt_linker_map_piece_at(map, address);
    assert_int_equal(piece != NULL, input_section != NULL);
    if (piece != NULL)
        sxt_test_assert_text(piece->input_section, input_section);
}

/* A piece inside another hides it, but not what comes after; .tbss hides nothing. */
TEST(addresses_are_looked_up)
{
    struct reading reading =
        read_map(LLD_HEADING "            1000             1000      100     1 .text\n"
                             "            1000             1000      100     1         a.o:(.a)\n"
                             "            1010             1010       20     1         a.o:(.b)\n"
                             "            1018             1018        8     1         a.o:(.c)\n"
                             "            1020             1020       10     1         a.o:(.d)\n"
                             "            1020             1020        4     1         a.o:(.e)\n"
                             "            1100             1100       40     1 .tbss\n"
                             "            1100             1100       40     1         a.o:(.tbss)\n"
                             "            1108             1108        8     1 .data\n"
                             "            1108             1108        8     1         a.o:(.data)\n");
    const struct sxt_linker_map *map = reading.map;
    assert_piece_at(map, 0, NULL);
    assert_piece_at(map, 0xfff, NULL);
    assert_piece_at(map, 0x1000, ".a");
    assert_piece_at(map, 0x100f, ".a");
    assert_piece_at(map, 0x1010, ".b");
    assert_piece_at(map, 0x1017, ".b");
    assert_piece_at(map, 0x1018, ".c");
    assert_piece_at(map, 0x101f, ".c");
    assert_piece_at(map, 0x1020, ".d");
    assert_piece_at(map, 0x102f, ".d");
    assert_piece_at(map, 0x1030, ".a");
    assert_piece_at(map, 0x10ff, ".a");
    assert_piece_at(map, 0x1100, NULL);
    assert_piece_at(map, 0x1108, ".data");
    assert_piece_at(map, 0x1110, NULL);
    assert_piece_at(map, UINT64_MAX, NULL);
    assert_true(map->sections[1].own_space);
    assert_int_equal(map->located_count, 6);
    free_reading(&reading);
}

TEST(pieces_outside_of_their_section_are_cut)
{
    struct reading reading =
        read_map(LLD_HEADING "            1000             1000       10     1 .text\n"
                             "             ff8              ff8       10     1         a.o:(.a)\n"
                             "            100c             100c       10     1         a.o:(.b)\n"
                             "            2000             2000       10     1         a.o:(.c)\n"
                             "             100              100       10     1         a.o:(.d)\n");
    assert_int_equal(reading.map->cut_count, 4);
    char *found = describe(reading.map);
    assert_string_equal(found, "1000+0 .text a.o .d\n"
                               "1000+8 .text a.o .a\n"
                               "1008+4 .text INTERNAL flags 64\n"
                               "100c+4 .text a.o .b\n"
                               "1010+0 .text a.o .c\n");
    free(found);
    free_reading(&reading);
}

TEST(what_is_not_a_map_is_refused)
{
    static const char *const message = "not a linker map of GNU ld, gold, lld or mold";
    assert_refused("", SXT_ERROR_UNSUPPORTED, message);
    assert_refused("\n\n\n", SXT_ERROR_UNSUPPORTED, message);
    assert_refused("int main(void) {}\n", SXT_ERROR_UNSUPPORTED, message);
    assert_refused("OUTPUT(a.out elf64-x86-64)\n", SXT_ERROR_UNSUPPORTED, message);
    assert_refused("LOAD a.o\n", SXT_ERROR_UNSUPPORTED, message);
    assert_refused("VMA LMA Size Align Out In\n", SXT_ERROR_UNSUPPORTED, message);
    assert_refused("VMA LMA Size Align Out In Symbols\n", SXT_ERROR_UNSUPPORTED, message);
    assert_refused(" Memory map\n", SXT_ERROR_UNSUPPORTED, message);
    assert_false(sxt_linker_map_is((const uint8_t *)"\0\nMemory map\n", 13));
    assert_true(sxt_linker_map_is((const uint8_t *)"Memory map", 10));
}

TEST(errors_name_the_line)
{
    assert_refused(LLD_HEADING, SXT_ERROR_FORMAT, "line 1 of the linker map: no sections found");
    assert_refused(GNU_HEADING, SXT_ERROR_FORMAT, "line 2 of the linker map: no sections found");
    assert_refused(LLD_HEADING "            1000             1000       10     1 .text\n"
                               "            1000             1000       1g     1         a.o:(.text)\n",
                   SXT_ERROR_FORMAT, "line 3 of the linker map: not a number in a column of numbers");
    assert_refused(LLD_HEADING "\n1000 1000\n", SXT_ERROR_FORMAT,
                   "line 3 of the linker map: not a number in a column of numbers");
    assert_refused(MOLD_HEADING "0x1000 18446744073709551616 1 .text\n", SXT_ERROR_FORMAT,
                   "line 2 of the linker map: a number does not fit in 64 bits");
    assert_refused(LLD_HEADING "10000000000000000 0 0 1 .text\n", SXT_ERROR_FORMAT,
                   "line 2 of the linker map: a number does not fit in 64 bits");
    assert_refused(LLD_HEADING "ffffffffffffffff 0 1 1 .text\n", SXT_ERROR_FORMAT,
                   "line 2 of the linker map: end of the section does not fit in 64 bits");
    assert_refused(LLD_HEADING "1000 0 1 1 .text\n1000 0 ffffffffffffffff 1         a.o:(.text)\n", SXT_ERROR_FORMAT,
                   "line 3 of the linker map: end of the piece does not fit in 64 bits");
    assert_refused("Memory map\n.text           0x00000000000010000        0x1000000000000000f\n", SXT_ERROR_FORMAT,
                   "line 2 of the linker map: a number does not fit in 64 bits");
    assert_refused(GNU_HEADING ".text           0x0000000000001000        0x8\n"
                               " .text.f        0xffffffffffffffff        0x8 a.o\n",
                   SXT_ERROR_FORMAT, "line 4 of the linker map: end of the piece does not fit in 64 bits");
    assert_refused("common_a            0x10000000000000000 a.o\n" GNU_HEADING, SXT_ERROR_FORMAT,
                   "line 1 of the linker map: a number does not fit in 64 bits");
}

/* The highest address: it has no end, but the bytes before it have. */
TEST(the_end_of_the_address_space)
{
    struct reading reading = read_map(LLD_HEADING "fffffffffffffff0 0 f 1 .text\n"
                                                  "fffffffffffffff0 0 f 1         a.o:(.f)\n");
    assert_piece_at(reading.map, UINT64_MAX - 1, ".f");
    assert_piece_at(reading.map, UINT64_MAX, NULL);
    free_reading(&reading);
}

/* Many lines of each kind, all pieces at one address, and each inside the one before. */
TEST(hostile_maps_take_linear_time)
{
    enum { LINES = 200000 };
    struct sxt_buffer text;
    for (int kind = 0; kind < 4; kind++) {
        sxt_buffer_init(&text, SIZE_MAX);
        sxt_buffer_print(&text, LLD_HEADING "1000 0 %x 1 .text\n1000 0 0 1         a.o:(.text)\n", 2 * LINES);
        for (unsigned i = 0; i < LINES; i++) {
            if (kind == 0)
                sxt_buffer_print(&text, "1000 0 %x 1         a.o:(.text)\n", 2 * LINES - i);
            else if (kind == 1)
                sxt_buffer_print(&text, "%x 0 %x 1         a.o:(.text)\n", 0x1000 + i, 2 * (LINES - i));
            else if (kind == 2)
                sxt_buffer_print(&text, "1000 0 0 1                 s%x\n", i);
            else
                sxt_buffer_print(&text, "%x 0 1 1 s%x\n%x 0 1 1         o%x:(:(:(:()\n", i + 1, i, i + 1, i);
        }
        double start = sxt_test_seconds();
        struct reading reading = read_bytes((const char *)text.data, text.size);
        assert_int_equal(reading.status, SXT_OK);
        for (unsigned i = 0; i < LINES; i++)
            sxt_linker_map_piece_at(reading.map, 0x1000 + i);
        assert_true(sxt_test_seconds() - start < 5);
        free_reading(&reading);
        sxt_buffer_free(&text);
    }
}
