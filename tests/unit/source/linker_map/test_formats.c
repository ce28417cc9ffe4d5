/* test_formats.c: what is read from the maps of GNU ld, gold, lld and mold. */
#include "reading.h"
#include "support/test.h"

TEST(gnu_pieces_and_symbols)
{
    assert_map(GNU_HEADING "LOAD a.o\n"
                           "                [!provide]                        PROVIDE (__executable_start = 0x0)\n"
                           "                0x0000000000000318                . = (0x0 + SIZEOF_HEADERS)\n"
                           "\n"
                           ".hash\n"
                           " *(.hash)\n"
                           "\n"
                           ".text           0x0000000000001080       0x50\n"
                           " *(.text.unlikely .text.*_unlikely .text.unlikely.*)\n"
                           " .text.unlikely.never_called\n"
                           "                0x0000000000001080        0xc dir/a.o\n"
                           "                0x0000000000001080                never_called\n"
                           "                0x0000000000001084                ns::T::operator=(ns::T const&)\n"
                           " *fill*         0x000000000000108c        0x4 90\n"
                           " .text.g        0x0000000000001090        0xe lib dir/liba.a(b c.o)\n"
                           " *fill*         0x000000000000109e        0x2 \n"
                           " .text.startup  0x00000000000010a0       0x30 a.o\n"
                           "                0x00000000000010d0                _etext = .\n"
                           "                0x00000000000010d0                PROVIDE (etext = .)\n"
                           "                0x00000000000010d0                . += 0x10\n"
                           "                0x0000000000000001                ASSERT (0x1, x)\n"
                           " *crtbegin.o(.ctors)\n"
                           "OUTPUT(a.out elf64-x86-64)\n",
               SXT_LINKER_GNU_LD,
               "1080+c .text dir/a.o .text.unlikely.never_called flags 2\n"
               "  never_called@1080+0*\n"
               "  ns::T::operator=(ns::T const&)@1084+0*\n"
               "108c+4 .text FILL\n"
               "1090+e .text lib dir/liba.a(b c.o) .text.g\n"
               "109e+2 .text FILL\n"
               "10a0+30 .text a.o .text.startup flags 1\n");
}

TEST(gnu_long_section_names_and_load_addresses)
{
    assert_map(GNU_HEADING ".a_section_with_a_name\n"
                           "                0x08001000        0x8 load address 0x00000800\n"
                           " .a_section_with_a_name\n"
                           "                0x08001000        0x8 a.o\n"
                           "                0x08001000                x\n"
                           "\n"
                           ".data           0x20000000        0x4 load address 0x08001008\n"
                           " .data.rel.local.p\n"
                           "                0x20000000        0x4 a.o\n",
               SXT_LINKER_GNU_LD,
               "8001000+8 .a_section_with_a_name a.o .a_section_with_a_name\n"
               "  x@8001000+0*\n"
               "20000000+4 .data a.o .data.rel.local.p flags 16\n");
}

/* Merged strings keep their old size in the map, here those of m2.o and m4.o. */
TEST(gnu_merged_strings_do_not_overlap)
{
    assert_map(GNU_HEADING ".rodata         0x0000000000002000       0x3a\n"
                           " .rodata.cst4   0x0000000000002000        0x4 crt1.o\n"
                           " .rodata.str1.1\n"
                           "                0x0000000000002004       0x21 m1.o\n"
                           " .rodata.str1.1\n"
                           "                0x0000000000002025       0x15 m2.o\n"
                           " .rodata.f.str1.8\n"
                           "                0x0000000000002025       0x15 m3.o\n"
                           "                                         0x21 (size before relaxing)\n"
                           " .rodata.str1.1\n"
                           "                0x000000000000203a       0x15 m4.o\n",
               SXT_LINKER_GNU_LD,
               "2000+4 .rodata crt1.o .rodata.cst4 CONSTANTS\n"
               "2004+21 .rodata m1.o .rodata.str1.1 STRINGS\n"
               "2025+0 .rodata m2.o .rodata.str1.1 STRINGS\n"
               "2025+15 .rodata m3.o .rodata.f.str1.8 STRINGS\n"
               "203a+0 .rodata m4.o .rodata.str1.1 STRINGS\n");
}

TEST(gnu_sections_of_the_linker_have_no_object)
{
    assert_map(GNU_HEADING ".plt            0x0000000000001000       0x10\n"
                           " .plt           0x0000000000001000       0x10 crt1.o\n"
                           "                0x0000000000001000                puts@@GLIBC_2.2.5\n"
                           "\n"
                           ".rela.dyn       0x0000000000002000       0x18\n"
                           " .rela.data.rel.ro\n"
                           "                0x0000000000002000       0x18 crt1.o\n"
                           "\n"
                           ".text           0x0000000000003000       0x10\n"
                           " .text          0x0000000000003000        0x7 linker stubs\n"
                           "                0x0000000000003007        0x1 BYTE 0x1\n"
                           " FILL mask 0x90\n"
                           "                0x0000000000003008        0x8 QUAD 0x0 start\n",
               SXT_LINKER_GNU_LD,
               "1000+10 .plt .plt INTERNAL\n"
               "  puts@@GLIBC_2.2.5@1000+0*\n"
               "2000+18 .rela.dyn .rela.data.rel.ro INTERNAL\n"
               "3000+7 .text .text INTERNAL\n"
               "3007+1 .text BYTE INTERNAL\n"
               "3008+8 .text QUAD INTERNAL\n");
}

static const char GNU_WITH_EVERYTHING_AROUND[] = "Archive member included to satisfy reference by file (symbol)\n"
                                                 "\n"
                                                 "libb.a(b.o)                   a.o (text)\n"
                                                 "\n"
                                                 "Allocating common symbols\n"
                                                 "Common symbol       size              file\n"
                                                 "\n"
                                                 "common_a            0x190             dir/a.o\n"
                                                 "a_common_symbol_with_a_name\n"
                                                 "                    0x4               libb.a(b.o)\n"
                                                 "\n"
                                                 "Discarded input sections\n"
                                                 "\n"
                                                 " .text          0x0000000000000000       0x99 gone.o\n"
                                                 "                0x0000000000000000                gone\n"
                                                 "\n"
                                                 "Memory Configuration\n"
                                                 "\n"
                                                 "Name             Origin             Length             Attributes\n"
                                                 "FLASH            0x0000000000000000 0x0000000000010000 xr\n"
                                                 "*default*        0x0000000000000000 0xffffffffffffffff\n"
                                                 "\n"
                                                 "Linker script and memory map\n"
                                                 "\n"
                                                 ".bss            0x0000000000004000      0x194\n"
                                                 " COMMON         0x0000000000004000      0x194 dir/a.o\n"
                                                 "                0x0000000000004000                common_a\n"
                                                 "\n"
                                                 ".comment        0x0000000000000000       0x27\n"
                                                 " .comment       0x0000000000000000       0x27 dir/a.o\n"
                                                 "\n"
                                                 "/DISCARD/\n"
                                                 " *(.note.GNU-stack)\n"
                                                 "LOAD dir/a.o\n"
                                                 "OUTPUT(a.out elf64-x86-64)\n"
                                                 "\n"
                                                 "Cross Reference Table\n"
                                                 "\n"
                                                 "Symbol                                            File\n"
                                                 ".text           0x0000000000000000       0x99\n";

TEST(gnu_text_between_sections_is_ignored)
{
    assert_map(GNU_WITH_EVERYTHING_AROUND, SXT_LINKER_GNU_LD,
               "4000+194 .bss dir/a.o COMMON COMMON\n"
               "  common_a@4000+0*\n"
               "0+27 .comment dir/a.o .comment STRINGS\n");
    struct reading reading = read_map(GNU_WITH_EVERYTHING_AROUND);
    const struct sxt_linker_map *map = reading.map;
    assert_int_equal(map->section_count, 2);
    assert_int_equal(map->located_count, 1);
    assert_true(map->sections[0].allocated);
    assert_false(map->sections[1].allocated);
    assert_int_equal(map->common_count, 2);
    const char *long_name = "a_common_symbol_with_a_name";
    const struct sxt_linker_map_common *common = sxt_linker_map_common_named(map, long_name, strlen(long_name));
    assert_non_null(common);
    assert_int_equal(common->size, 4);
    assert_string_equal(sxt_linker_map_string(map, common->object).data, "libb.a(b.o)");
    common = sxt_linker_map_common_named(map, "common_a", 8);
    assert_non_null(common);
    assert_int_equal(common->size, 0x190);
    assert_null(sxt_linker_map_common_named(map, "common_b", 8));
    assert_null(sxt_linker_map_common_named(map, ".bss", 4));
    free_reading(&reading);
}

/* One of them has the name of an earlier object. */
TEST(commons_are_found_whatever_their_order)
{
    struct reading reading = read_map("a                   0x1               c\n"
                                      "b                   0x2               c\n"
                                      "c                   0x3               d\n"
                                      "b                   0x4               e\n" GNU_HEADING
                                      ".bss            0x0000000000004000        0x8\n");
    for (unsigned i = 0; i < 3; i++) {
        const struct sxt_linker_map_common *common = sxt_linker_map_common_named(reading.map, &"abc"[i], 1);
        assert_non_null(common);
        assert_int_equal(common->size, i + 1);
    }
    free_reading(&reading);
}

TEST(gnu_in_another_language)
{
    assert_map("Linker-Skript und Speicherzuordnung\r\n\r\nLOAD a.o\r\n\r\n"
               ".text           0x0000000000001000        0x8\r\n"
               " .text.f        0x0000000000001000        0x8 a.o\r\n"
               "                0x0000000000001000                f\r\n"
               "OUTPUT(a.out elf64-x86-64)\r\n",
               SXT_LINKER_GNU_LD, "1000+8 .text a.o .text.f\n  f@1000+0*\n");
}

TEST(gold_pieces)
{
    assert_map("Archive member included because of file (symbol)\n\n"
               "Allocating common symbols\nCommon symbol       size              file\n\n"
               "common_a            0x190             a.o\n\n"
               "Discarded input sections\n\n"
               " .text.same2    0x0000000000000000        0xe a.o\n\n"
               "Memory map\n\n"
               " ** file header\n                0x0000000000000000       0x40\n\n"
               ".interp         0x0000000000000270       0x1c\n"
               " ** fill        0x0000000000000270       0x1c\n\n"
               ".text           0x0000000000000700       0x30 load address 0x700             \n"
               " .text.hot.f    0x0000000000000700        0xc a.o\n"
               "                0x0000000000000700                f\n"
               " ** fill        0x000000000000070c        0x4\n"
               " .text.g        0x0000000000000720       0x10 libb.a(b.o)\n\n"
               ".rodata         0x0000000000000968       0x48\n"
               " ** merge strings\n                0x0000000000000968       0x34\n"
               " ** merge constants\n                0x00000000000009a0       0x10\n\n"
               ".bss            0x0000000000002060       0xa0\n"
               " ** GOT IRELATIVE PLT\n                0x0000000000002060        0x0\n"
               " ** zero fill   0x0000000000002060       0x10\n"
               " ** common      0x0000000000002070       0x90\n",
               SXT_LINKER_GOLD,
               "270+1c .interp fill INTERNAL\n"
               "700+c .text a.o .text.hot.f flags 4\n"
               "  f@700+0*\n"
               "70c+4 .text FILL\n"
               "710+10 .text FILL flags 64\n"
               "720+10 .text libb.a(b.o) .text.g\n"
               "968+34 .rodata merge strings STRINGS\n"
               "99c+4 .rodata FILL flags 64\n"
               "9a0+10 .rodata merge constants CONSTANTS\n"
               "2060+0 .bss GOT IRELATIVE PLT INTERNAL\n"
               "2060+10 .bss FILL\n"
               "2070+90 .bss common COMMON\n");
}

TEST(lld_pieces_and_symbols)
{
    assert_map(LLD_HEADING
               "             670              670       48     8 .rodata\n"
               "             670              670       34     1         <internal>:(.rodata)\n"
               "             6a8              6a8       10     8         <internal>:(.rodata)\n"
               "            1840             1840       40    64 .text\n"
               "            1840             1840       22    16         dir:(x)/libb.a(b.o):(.text.startup.main)\n"
               "            1840             1840       22     1                 main\n"
               "            1840             1840        0     1                 $x.1\n"
               "            1862             1862        0     1         crti.o:(.text)\n"
               "            1870             1870       10    16         lto.tmp:(.text.f)\n"
               "            1880             1880        0     1         a.o:(.eh_frame+0x2c)\n"
               "            1880             1880        0     1 . = ALIGN ( 16 )\n"
               "            1880             1880        0     1 PROVIDE_HIDDEN(x = .)\n"
               "            1880             1880        0     1 \n"
               "            2a90             2a90       10    16 .plt\n"
               "            2a90             2a90       10    16         <internal>:(.plt)\n"
               "            3000             3000        8     8 .bss\n"
               "            3000             3000        8     8         a.o:(COMMON)\n"
               "               0                0       42     1 .comment\n"
               "               0                0       42     1         <internal>:(.comment)\n",
               SXT_LINKER_LLD,
               "670+34 .rodata .rodata STRINGS\n"
               "6a4+4 .rodata FILL flags 64\n"
               "6a8+10 .rodata .rodata CONSTANTS flags 128\n"
               "1840+22 .text dir:(x)/libb.a(b.o) .text.startup.main flags 1\n"
               "  main@1840+22*\n"
               "1862+0 .text crti.o .text\n"
               "1862+e .text FILL flags 64\n"
               "1870+10 .text lto.tmp .text.f flags 32\n"
               "1880+0 .text a.o .eh_frame\n"
               "2a90+10 .plt .plt INTERNAL\n"
               "3000+8 .bss a.o COMMON COMMON\n"
               "0+42 .comment .comment STRINGS\n");
}

TEST(lld_objects_and_strings_that_look_alike)
{
    assert_map(LLD_HEADING "            1000             1000       20     1 .text\n"
                           "            1000             1000       10     1         ab:(.x)\n"
                           "            1010             1010        8     1         a:(.y)\n"
                           "            1018             1018        8     1         ac:(.z)\n"
                           "            1020             1020        0     1 start_of_strings = .\n"
                           "            2000             2000       19     8 .rodata\n"
                           "            2000             2000       19     8         <internal>:(.rodata)\n"
                           "            3000             3000       20     8 .rodata\n"
                           "            3000             3000       10     8         <internal>:(.rodata.str1.8)\n"
                           "            3010             3010       10     8         <internal>:(.rodata.cst8)\n",
               SXT_LINKER_LLD,
               "1000+10 .text ab .x\n"
               "1010+8 .text a .y\n"
               "1018+8 .text ac .z\n"
               "2000+19 .rodata .rodata STRINGS\n"
               "3000+10 .rodata .rodata.str1.8 STRINGS\n"
               "3010+10 .rodata .rodata.cst8 CONSTANTS\n");
    struct reading reading = read_map(LLD_HEADING "1000 1000 4 1 .text\n1004 1004 0 1 start_of_strings = .\n");
    assert_int_equal(reading.map->section_count, 1);
    free_reading(&reading);
}

TEST(lld_expressions_of_a_script)
{
    assert_map(LLD_HEADING "               0                0       80     1 .text\n"
                           "               0                0        0     1         start_sym = .\n"
                           "               0                0       1f     1         d.o:(.text)\n"
                           "              1f               1f        1     1         BYTE ( 1 )\n"
                           "              20               20       60     1         . = ALIGN ( 32 )\n",
               SXT_LINKER_LLD,
               "0+1f .text d.o .text\n"
               "1f+1 .text BYTE INTERNAL\n"
               "20+60 .text FILL\n");
}

/* lld, like gold, prints thread-local variables relative to the start of .tdata. .tbss is never looked up. */
TEST(lld_variables_of_threads)
{
    assert_map(LLD_HEADING "            2000             2000        8     4 .tdata\n"
                           "            2000             2000        4     4         a.o:(.tdata)\n"
                           "               0                0        4     1                 first\n"
                           "            2004             2004        4     4         b.o:(.tdata)\n"
                           "               4                4        4     1                 second\n"
                           "            2008             2008        4     4 .tbss\n"
                           "            2008             2008        4     4         b.o:(.tbss)\n"
                           "               8                8        4     1                 third\n",
               SXT_LINKER_LLD,
               "2000+4 .tdata a.o .tdata\n"
               "  first@2000+4*\n"
               "2004+4 .tdata b.o .tdata\n"
               "  second@2004+4*\n"
               "2008+4 .tbss b.o .tbss\n"
               "  third@2008+4*\n");
}

TEST(lld_before_there_were_load_addresses)
{
    assert_map(OLD_HEADING "0000000000201000 0000000000000015     4 .text\n"
                           "0000000000201000 000000000000000e     4         /tmp/a.o:(.text)\n"
                           "0000000000201000 0000000000000000     0                 _start\n"
                           "0000000000201005 0000000000000000     0                 f(int)\n"
                           "0000000000201010 0000000000000005    16         libb.a(b.o):(.text.g)\n",
               SXT_LINKER_LLD,
               "201000+e .text /tmp/a.o .text\n"
               "  _start@201000+0*\n"
               "  f(int)@201005+0*\n"
               "20100e+2 .text FILL flags 64\n"
               "201010+5 .text libb.a(b.o) .text.g\n");
}

TEST(mold_pieces)
{
    assert_map(MOLD_HEADING "                 0         64     8 EHDR\n"
                            "              0x40        616     8 PHDR\n"
                            "             0x6e8         16     8 .rodata.cst\n"
                            "             0x6f8         52     1 .rodata.str\n"
                            "            0x1730         80    16 .plt\n"
                            "            0x17c0         84    64 .text\n"
                            "            0x17c0         10    16         /usr/lib/crt1.o:(.text)\n"
                            "            0x17c0          0     0                 _start\n"
                            "            0x1740          0     0                 by_its_plt_entry\n"
                            "            0x17d0         20    16         libb.a(b.o):(.text.unlikely.text)\n"
                            "            0x1800         16    16         /tmp/cc1.ltrans0.ltrans.o:(.text)\n"
                            "                 0       2816     8 SHDR\n",
               SXT_LINKER_MOLD,
               "6e8+10 .rodata.cst .rodata.cst CONSTANTS flags 64\n"
               "6f8+34 .rodata.str .rodata.str STRINGS flags 64\n"
               "1730+50 .plt .plt INTERNAL flags 64\n"
               "17c0+a .text /usr/lib/crt1.o .text\n"
               "  _start@17c0+0*\n"
               "17ca+6 .text FILL flags 64\n"
               "17d0+14 .text libb.a(b.o) .text.unlikely.text flags 2\n"
               "17e4+1c .text INTERNAL flags 64\n"
               "1800+10 .text /tmp/cc1.ltrans0.ltrans.o .text flags 32\n"
               "1810+4 .text FILL flags 64\n");
}

/* Every truncated map is read or refused, without reads beyond its end. */
TEST(accepts_or_refuses_every_truncation)
{
    size_t size = strlen(GNU_WITH_EVERYTHING_AROUND);
    for (size_t cut = 0; cut < size; cut++) {
        struct reading reading = read_bytes(GNU_WITH_EVERYTHING_AROUND, cut);
        free_reading(&reading);
    }
}
