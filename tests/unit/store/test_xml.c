/* Tests of store/xml.c: the XML of S3 servers, also damaged. */
#include "store/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static sxt_error error;

static int append(void *data, enum sxt_xml_event event, unsigned depth, const char *name, const char *text)
{
    char *lines = data;
    size_t size = strlen(lines);
    if (event == SXT_XML_OPEN)
        snprintf(lines + size, 1000 - size, "%u<%s ", depth, name);
    else
        snprintf(lines + size, 1000 - size, "%s>%s[%s] ", name, depth == 0 ? "." : "", text);
    return SXT_OK;
}

static void assert_read(const char *text, const char *expected)
{
    char lines[1000] = "";
    if (sxt_xml_read(text, strlen(text), append, lines, &error) != SXT_OK)
        fail_msg("%s", error.text);
    assert_string_equal(lines, expected);
}

static void assert_refused(const char *text, const char *reason)
{
    char lines[1000] = "";
    assert_int_equal(sxt_xml_read(text, strlen(text), append, lines, &error), SXT_ERROR_FORMAT);
    if (strstr(error.text, reason) == NULL)
        fail_msg("%s: %s", text, error.text);
}

TEST(reads_elements_and_texts)
{
    assert_read("<a/>", "0<a a>.[] ");
    assert_read("<a><b>x</b> <c>y</c></a>", "0<a 1<b b>[x] 1<c c>[y] a>.[] ");
    assert_read(
        "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- < & > -->\n<ns:a xmlns:ns='http://x/>'>1<!-- x -->2</ns:a>\n",
        "0<a a>.[12] ");
    assert_read("<a b=\"/>\" c='\"' >t</a >", "0<a a>.[t] ");
    assert_read("<a><![CDATA[<b>&amp;]]></a>", "0<a a>.[<b>&amp;] ");
}

TEST(reads_entities)
{
    assert_read("<a>&lt;&gt;&amp;&quot;&apos;</a>", "0<a a>.[<>&\"'] ");
    assert_read("<a>&#65;&#x41;&#228;&#x20AC;&#x1F600;</a>", "0<a a>.[AA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80] ");
    const char *bad[] = {"&",        "&;",         "&nbsp;",         "&#;", "&#x;",   "&#0;",
                         "&#xd800;", "&#x110000;", "&#99999999999;", "&lt", "&#12a;", "&aaaaaaaaaaaaaaaaaaaaaa;"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[60];
        snprintf(text, sizeof text, "<a>%s</a>", bad[i]);
        assert_refused(text, "not an entity");
    }
}

TEST(refuses_what_is_not_one_whole_element)
{
    assert_refused("", "the end is missing");
    assert_refused("  ", "the end is missing");
    assert_refused("<a>", "the end is missing");
    assert_refused("<a", "the end is missing");
    assert_refused("<a b='", "the end is missing");
    assert_refused("<!-- ", "the end is missing");
    assert_refused("<a><![CDATA[x</a>", "the end is missing");
    assert_refused("<a></b>", "closing tag");
    assert_refused("</a>", "closing tag");
    assert_refused("<a></a></a>", "closing tag");
    assert_refused("<a/><b/>", "more than one");
    assert_refused("<a/>x", "outside");
    assert_refused("x<a/>", "outside");
    assert_refused("<a/>&lt;", "outside");
    assert_refused("<![CDATA[x]]><a/>", "outside");
    assert_refused("<a <b></a>", "does not end");
    assert_refused("<></>", "name");
    assert_refused("< a/>", "name");
    assert_refused("<a></a", "does not end");
}

TEST(refuses_document_types)
{
    assert_refused("<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", "document type");
    assert_refused("<a><!ELEMENT b></a>", "document type");
}

TEST(limits_nesting_names_and_texts)
{
    char *text = calloc(1, 100000);
    for (size_t i = 0; i <= SXT_XML_DEPTH_MAX; i++)
        strcat(text, "<a>");
    assert_refused(text, "nested too deeply");
    strcpy(text, "<");
    memset(text + 1, 'n', SXT_XML_NAME_MAX + 1);
    strcpy(text + SXT_XML_NAME_MAX + 2, "/>");
    assert_refused(text, "name");
    strcpy(text, "<a>");
    memset(text + 3, 't', SXT_XML_TEXT_MAX + 1);
    strcpy(text + SXT_XML_TEXT_MAX + 4, "</a>");
    assert_refused(text, "too long");
    free(text);
}

TEST(refuses_nul_bytes_in_texts)
{
    char lines[1000] = "";
    assert_int_equal(sxt_xml_read("<a>x\0y</a>", 10, append, lines, &error), SXT_ERROR_FORMAT);
    assert_int_equal(error.offset, 3);
}

static int stop(void *data, enum sxt_xml_event event, unsigned depth, const char *name, const char *text)
{
    (void)event;
    (void)depth;
    (void)text;
    ++*(int *)data;
    return *name == 'b' ? SXT_ERROR_LIMIT : SXT_OK;
}

TEST(a_visitor_ends_the_reading)
{
    int count = 0;
    assert_int_equal(sxt_xml_read("<a><b/><c/></a>", 15, stop, &count, &error), SXT_ERROR_LIMIT);
    assert_int_equal(count, 2);
}

/* Every shorter text, and every text with one byte changed, is read or refused without harm. */
TEST(damaged_texts_are_read_or_refused)
{
    static const char text[] = "<?xml?><a x='1'><b>t&amp;&#65;</b><!-- c --><c/><![CDATA[d]]></a>";
    static const char others[] = "<>&;'\"/!-?[]=: a\xff";
    for (size_t size = 0; size < sizeof text - 1; size++) {
        char lines[1000] = "", *copy = malloc(size + 1);
        memcpy(copy, text, size);
        assert_int_equal(sxt_xml_read(copy, size, append, lines, &error), SXT_ERROR_FORMAT);
        free(copy);
    }
    for (size_t i = 0; i < sizeof text - 1; i++)
        for (size_t j = 0; j < sizeof others; j++) {
            char lines[1000] = "", *copy = malloc(sizeof text - 1);
            memcpy(copy, text, sizeof text - 1);
            copy[i] = others[j];
            int status = sxt_xml_read(copy, sizeof text - 1, append, lines, &error);
            assert_true(status == SXT_OK || status == SXT_ERROR_FORMAT);
            free(copy);
        }
}
