/* Tests of service/symbolicate_request.c and module_question.c: what Mozilla's API is asked. */
#include <stdlib.h>
#include <string.h>

#include "base/string.h"
#include "service/module_question.h"
#include "service/symbolicate.h"
#include "support/test.h"

#define ID "627B03B886604653802321DD2256B8AD0"

static const char GOOD[] = "{\"jobs\":[{\"memoryMap\":[[\"a\",\"" ID "\"],[\"b\\u00e9\",\"\"]],"
                           "\"stacks\":[[[0,1],[1,18446744073709551615],[-1,-1]],[]],\"x\":{\"y\":[null]}},"
                           "{\"stacks\":[[[1,7],[0,8]]],\"memoryMap\":[[\"c\",\"0\"],[\"a\",\"" ID "\"]]}]}";

/* Reads text that ends where its memory ends. */
static int read_text(const char *text, size_t size, struct sxt_symbolicate *out, enum sxt_code *code)
{
    sxt_error error;
    char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, text, size);
    int status = sxt_symbolicate_read(out, exact, size, code, &error);
    free(exact); /* nothing in the result refers to it */
    return status;
}

TEST(reads_jobs)
{
    struct sxt_symbolicate asked;
    enum sxt_code code;
    assert_int_equal(read_text(GOOD, strlen(GOOD), &asked, &code), SXT_OK);
    assert_int_equal(asked.job_count, 2);
    assert_int_equal(asked.module_count, 3); /* one is in both jobs */
    assert_true(sxt_string_is(asked.modules[0].name, "a") && sxt_string_is(asked.modules[0].id, ID));
    assert_true(sxt_string_is(asked.modules[1].name, "b\xc3\xa9") && asked.modules[1].id.size == 0);
    assert_int_equal(asked.frame_count, 5);
    const struct sxt_symbolicate_frame *frames = asked.frames;
    assert_true(frames[0].module == 0 && frames[0].offset == 1 && !frames[0].is_negative);
    assert_true(frames[1].module == 1 && frames[1].offset == UINT64_MAX);
    assert_true(frames[2].module == SXT_SYMBOLICATE_NO_MODULE && frames[2].is_negative);
    assert_true(frames[3].module == 0 && frames[3].offset == 7);
    assert_true(frames[4].module == 2 && frames[4].offset == 8);
    assert_int_equal(asked.jobs[0].stack_count, 2);
    assert_int_equal(asked.stacks[asked.jobs[0].first_stack].count, 3);
    assert_int_equal(asked.jobs[1].entry_count, 2);
    sxt_symbolicate_free(&asked);
}

TEST(refuses_every_text_that_is_cut)
{
    for (size_t size = 0; size < strlen(GOOD); size++) {
        struct sxt_symbolicate asked;
        enum sxt_code code = 0;
        assert_int_equal(read_text(GOOD, size, &asked, &code), SXT_ERROR_FORMAT);
        assert_true(code == SXT_CODE_JSON || code == SXT_CODE_ADDRESS);
        sxt_symbolicate_free(&asked);
    }
}

/* Any changed byte gives a request that is refused, or one whose numbers are in bounds. */
TEST(survives_every_changed_byte)
{
    static const char letters[] = "\0[]{},:\"0-9e.nx\\\x80";
    char text[sizeof GOOD];
    for (size_t at = 0; at < strlen(GOOD); at++)
        for (size_t i = 0; i < sizeof letters; i++) {
            struct sxt_symbolicate asked;
            enum sxt_code code;
            memcpy(text, GOOD, sizeof GOOD);
            text[at] = letters[i];
            if (read_text(text, strlen(GOOD), &asked, &code) == SXT_OK)
                for (size_t k = 0; k < asked.frame_count; k++)
                    assert_true(asked.frames[k].module < asked.module_count ||
                                asked.frames[k].module == SXT_SYMBOLICATE_NO_MODULE);
            sxt_symbolicate_free(&asked);
        }
}

TEST(names_are_not_mixed_up_with_ids)
{
    static const char text[] = "{\"memoryMap\":[[\"a/b\",\"c\"],[\"a\",\"b/c\"],[\"a\\u0000b\",\"c\"]],\"stacks\":[]}";
    struct sxt_symbolicate asked;
    enum sxt_code code;
    assert_int_equal(read_text(text, strlen(text), &asked, &code), SXT_OK);
    assert_int_equal(asked.module_count, 3);
    sxt_symbolicate_free(&asked);
}

/* --- questions about one module --- */

static const char QUESTION[] =
    "{\"name\":\"w\",\"codeId\":\"ab12\",\"debugName\":null,\"debugId\":\"" ID "\","
    "\"moduleOffset\":\"0x12\",\"file\":\"/a\\n.c\",\"startAddress\":\"0X3f\",\"size\":\"0x10\","
    "\"continueUntilFunctionEnd\":true,\"more\":[{}]}";

static int read_question(const char *text, size_t size)
{
    struct sxt_module_question question;
    enum sxt_code code = 0;
    sxt_error error;
    char *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, text, size);
    int status = sxt_module_question_read(&question, exact, size, &code, &error);
    if (status == SXT_OK)
        assert_true(!question.has_size || question.size <= UINT64_MAX);
    sxt_module_question_free(&question);
    free(exact);
    return status;
}

TEST(reads_a_question_about_a_module)
{
    struct sxt_module_question question;
    enum sxt_code code;
    sxt_error error;
    assert_int_equal(sxt_module_question_read(&question, QUESTION, strlen(QUESTION), &code, &error), SXT_OK);
    assert_true(sxt_string_is(question.code_id, "ab12") && sxt_string_is(question.debug_id, ID));
    assert_true(sxt_string_is(question.file, "/a\n.c"));
    assert_true(question.has_offset && question.offset == 0x12);
    assert_true(question.has_start && question.start == 0x3f && question.has_size && question.size == 16);
    assert_true(question.continues);
    struct sxt_catalog_id ids[SXT_MODULE_IDS];
    assert_int_equal(sxt_module_ids(question.debug_id, question.code_id, ids), 2);
    assert_string_equal(ids[0].text, "b.ab12");
    assert_string_equal(ids[1].text, "d.627b03b886604653802321dd2256b8ad");
    sxt_module_question_free(&question);
}

TEST(a_damaged_question_is_refused_or_read)
{
    char text[sizeof QUESTION];
    for (size_t size = 0; size < strlen(QUESTION); size++)
        assert_int_equal(read_question(QUESTION, size), SXT_ERROR_FORMAT);
    for (size_t at = 0; at < strlen(QUESTION); at++)
        for (int byte = 0; byte < 256; byte += 5) {
            memcpy(text, QUESTION, sizeof QUESTION);
            text[at] = (char)byte;
            read_question(text, strlen(QUESTION));
        }
}

TEST(ids_of_a_module)
{
    struct sxt_catalog_id ids[SXT_MODULE_IDS];
    const sxt_string none = {NULL, 0};
    assert_int_equal(sxt_module_ids(none, none, ids), 0);
    assert_int_equal(sxt_module_ids(sxt_string_of("x"), sxt_string_of("y"), ids), 0);
    assert_int_equal(sxt_module_ids(sxt_string_of("00112233445566778899aabbccddeeff"), none, ids), 2);
    assert_string_equal(ids[0].text, "d.00112233445566778899aabbccddeeff");
    assert_string_equal(ids[1].text, "b.00112233445566778899aabbccddeeff");
    assert_int_equal(sxt_module_ids(sxt_string_of("00112233445566778899aabbccddeeff00112233"), none, ids), 1);
    assert_string_equal(ids[0].text, "b.00112233445566778899aabbccddeeff00112233");
}
