/* The fast decoder of C++ names: its text is that of libiberty, or it gives up. */
#include "demangle/itanium.h"

#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle/decoder.h"
#include "support/random.h"
#include "support/test.h"

/* Names that it must decode itself. */
static const char *const common[] = {
    "_Z4mainv",
    "_Z1fi",
    "_ZL8internalPKc",
    "_ZN5bench8module0115component0000017processERKNSt6vectorIiSaIiEEE",
    "_ZN12_GLOBAL__N_16hiddenEv",
    "_ZNK6icu_7813UnicodeString6equalsERKS0_",
    "_ZN6icu_7814MessagePatternC1ERKS0_",
    "_ZN6icu_7814MessagePatternD0Ev",
    "_ZNSt6vectorIiSaIiEE9push_backERKi",
    "_ZNSt6vectorIiSaIiEEC2Ev",
    "_ZNSt6vectorIiSaIiEED1Ev",
    "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc",
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm",
    "_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv",
    "_ZNSo5writeEPKcl",
    "_ZNSsaSERKSs",
    "_ZNKSs4findERKSsm",
    "_ZN1AaSERKS_",
    "_ZN1AaSEOS_",
    "_ZN1AclEv",
    "_ZN1AixEm",
    "_ZN1AnwEm",
    "_ZN1AdaEPv",
    "_ZeqRK1AS1_",
    "_Z3maxIiET_S0_S0_",
    "_Z3maxIidET0_T_S0_",
    "_ZN1A1fIiEEvRKT_",
    "_ZN1AIiE1gIcEEiT_PS2_",
    "_ZN1AIiEC1IcEET_",
    "_Z1fILi3EEvv",
    "_Z1fILin3EEvv",
    "_Z1fILj3ELl4ELm5ELx6ELy7EEvv",
    "_Z1fILb0ELb1EEvv",
    "_Z1fILc65ELs3ELh4EEvv",
    "_Z1fILN2ns4EnumE2EEvv",
    "_Z1fPPKcRKPKiS3_",
    "_Z1fPvKPKv",
    "_Z6printfPKcz",
    "_ZNK4llvm8ArrayRefINS_5ValueEE5sliceEmm",
    "_ZN5clang4SemaC2ERNS_12PreprocessorERNS_10ASTContextE",
    "_ZNSt8_Rb_treeIiSt4pairIKiSsESt10_Select1stIS2_ESt4lessIiESaIS2_EE8_M_eraseEPSt13_Rb_tree_nodeIS2_E",
    "_ZltIcSt11char_traitsIcESaIcEEbRKSbIT_T0_T1_ES8_",
    "_ZN9variablesE",
    "_ZN2ns8variableE",
    "_ZSt4moveIRKiEONSt16remove_referenceIT_E4typeEOS3_",
    "_Z1fB5cxx11v",
    "_ZN1A1fB5cxx11Ev",
    "_ZN1AB5cxx11C2Ev",
    "_ZN1A1fEv.cold",
    "_ZN1A1fEv.isra.0.cold",
    "_ZN1A1fEv.part.0.constprop.1",
    "_Z1fv.llvm.1234",
    "_ZTV1A",
    "_ZTTN2ns1AIiEE",
    "_ZTI1A",
    "_ZTSN2ns1AE",
    "_ZGVN2ns8variableE",
    "_ZThn8_N1A1fEv",
    "_ZTv0_n24_NK1A1fEi",
    "_Z1fIRiEvOT_",
    "_Z1fIOiEvRT_",
    "_Z1fIOiEvOT_",
    "_Z1fIKiEvRKT_",
    "_Z1fIKiEvPT_",
    "_Z1fPKDsDnDi",
    "_Z1fIJicEEvDpT_",
    "_Z1fIJRiOcKlEEvDpOT_",
    "_Z1fIJEEvDpT_",
    "_Z1fIiJEEvT_DpT0_",
    "_Z1fIJESaIiEEvDpT_",
    "_Z1fISaIiEJEEvT_DpT0_",
    "_ZNSt6vectorIiSaIiEE12emplace_backIJRKiEEEvDpOT_",
    "_ZN4llvm12PointerUnionIJPNS_1AEPNS_1BEEE3getEv",
    "_Z1fSt5tupleIJiN2ns1AIcEEEE",
    "_ZN1BC1ERN4llvm11SmallVectorIiLj3EEENS1_IcLj8EEE",
};

/* Names that libiberty must decode, or that are not valid. */
static const char *const others[] = {
    "_ZZ4mainE1x",
    "_ZZ4mainENKUlvE_clEv",
    "_Z1fPFviE",
    "_Z1fRA3_i",
    "_Z1fM1Ai",
    "_Z1fIXadL_Z1gvEEEvv",
    "_ZN1AcviEv",
    "_ZNSsC1Ev",
    "_ZNKR1A1fEv",
    "_ZNV1A1fEv",
    "_Z1fVi",
    "_Z1fILd3EEvv",
    "_ZN2ns8variableE.cold",
    "_ZN1A1fEv.Cold",
    "_ZThn9999999999_N1A1fEv",
    "_ZThn8N1A1fEv",
    "_Z1fIJEEDpT_i",
    "_Z1fIJiEEvPDpT_",
    "_Z1fIJiEEvT_",
    "_Z1fIJiEJicEEvDp4pairIT_T0_E",
    "_Z1fIiEvDpT_",
    "_Z1fIJicEEvDp1AIT_ES1_",
    "_Z1fPPKKcS0_",
    "_Z1fRRi",
    "_ZNSt1AC1B5cxx11Ev",
    "_ZNStE",
    "_ZNS_E",
    "_ZN4core3ops8function6FnOnce9call_once17h0123456789abcdefE",
    "_ZNSiEm",
    "_ZNrsERb",
    "_ZN1A",
    "_Z",
    "_Zi",
    "_ZN1AEi1",
    "_ZN9999999999999999999999A1fEv",
    "_Z1fS_",
    "_Z1fiS0_",
    "_Z1fIiET1_",
};

/* Decodes NAME both ways. Returns whether the fast decoder did it. */
static bool compare(const char *name, size_t size)
{
    struct sxt_buffer fast, slow;
    sxt_buffer_init(&fast, (size_t)4 << 20);
    sxt_buffer_init(&slow, (size_t)4 << 20);
    bool too_long, decoded = sxt_itanium_demangle(name, size, &fast);
    const int options = DMGL_PARAMS | DMGL_ANSI;
    if (!decoded) {
        assert_int_equal(fast.size, 0);
    } else {
        assert_false(sxt_decode(SXT_DECODE_RUST, name, options, &slow, &too_long));
        bool known = sxt_decode(SXT_DECODE_CPLUSPLUS, name, options, &slow, &too_long);
        if (!known || fast.size != slow.size || memcmp(fast.data, slow.data, fast.size) != 0)
            fail_msg("%s: \"%.*s\", libiberty: \"%.*s\"", name, (int)fast.size, fast.data, (int)slow.size, slow.data);
    }
    sxt_buffer_free(&fast);
    sxt_buffer_free(&slow);
    return decoded;
}

TEST(decodes_common_names_as_libiberty_does)
{
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (!compare(common[i], strlen(common[i])))
            fail_msg("%s was given up", common[i]);
}

TEST(gives_up_on_other_names)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (compare(others[i], strlen(others[i])))
            fail_msg("%s was decoded", others[i]);
}

/* Changes, removes or inserts up to three letters. */
static size_t change(struct sxt_test_random *random, char *name, size_t size)
{
    static const char letters[] = "_0123456789EISTKPRNOvijklmbcC1D2LaswZtAFMJXUBrVndhyxqz";
    for (uint32_t left = 1 + sxt_test_below(random, 3); left > 0 && size > 4; left--) {
        size_t at = 2 + sxt_test_below(random, (uint32_t)size - 2);
        char letter = letters[sxt_test_below(random, sizeof letters - 1)];
        switch (sxt_test_below(random, 3)) {
        case 0:
            name[at] = letter;
            break;
        case 1:
            memmove(name + at, name + at + 1, size - at);
            size--;
            break;
        default:
            memmove(name + at + 1, name + at, size - at + 1);
            name[at] = letter;
            size++;
        }
    }
    return size;
}

TEST(never_differs_on_names_that_are_almost_valid)
{
    struct sxt_test_random random = {1};
    size_t decoded = 0;
    for (unsigned round = 0; round < 2000; round++)
        for (size_t i = 0; i < sizeof common / sizeof *common + sizeof others / sizeof *others; i++) {
            const char *name =
                i < sizeof common / sizeof *common ? common[i] : others[i - sizeof common / sizeof *common];
            char changed[256];
            strcpy(changed, name);
            decoded += compare(changed, change(&random, changed, strlen(changed)));
        }
    assert_true(decoded > 10000);
}

/* libiberty prints through a buffer of 256 bytes, and removes a comma only if that is still in it. */
TEST(removes_commas_as_libiberty_does_at_the_end_of_its_buffer)
{
    static const char *const forms[] = {"_ZN%d%s1fIiJEEEvT_DpT0_", "_Z1fISaIiEJEJEEv%d%siDpT0_DpT1_",
                                        "_Z1fIiJEE%d%sIT_JDpT0_EEi", "_Z%d%sIiJEJEJEJEJEJEEvv"};
    char letters[300] = "", name[400];
    size_t decoded = 0;
    for (int size = 1; size < 290; size++) {
        letters[size - 1] = 'x';
        for (size_t i = 0; i < sizeof forms / sizeof *forms && size > 150; i++) {
            char *percent = strchr(forms[i], '%');
            int before = (int)(percent - forms[i]);
            int written = snprintf(name, sizeof name, "%.*s%d%s%s", before, forms[i], size, letters, percent + 4);
            decoded += compare(name, (size_t)written);
        }
    }
    assert_true(decoded > 100);
}

/* Every prefix of a name, without anything after it in memory. */
TEST(never_reads_past_the_end)
{
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        for (size_t size = 1; size <= strlen(common[i]); size++) {
            char *exact = malloc(size);
            struct sxt_buffer out;
            sxt_buffer_init(&out, (size_t)4 << 20);
            assert_non_null(exact);
            memcpy(exact, common[i], size);
            (void)sxt_itanium_demangle(exact, size, &out);
            free(exact);
            sxt_buffer_free(&out);
        }
}

/* Substitutions that double the text again and again. */
TEST(gives_up_on_text_that_explodes)
{
    char name[2000] = "_Z1f1A";
    for (unsigned i = 0; i < 30; i++) {
        char part[40];
        snprintf(part, sizeof part, "1BI%s%sE", i == 0 ? "S_" : i == 1 ? "S1_" : "S3_", i == 0 ? "S_" : "S1_");
        strcat(name, part);
    }
    (void)compare(name, strlen(name));
}
