/*
 * xml.h: reads the XML that S3 servers answer with. Not a general reader: no document types, so no entities but the
 * five of XML and numbers; names, texts and nesting are limited. Prefixes of name spaces are dropped.
 */
#ifndef SXT_STORE_XML_H
#define SXT_STORE_XML_H

#include <stddef.h>

#include <sextant/error.h>

#define SXT_XML_DEPTH_MAX 16
#define SXT_XML_NAME_MAX  64
#define SXT_XML_TEXT_MAX  8192

enum sxt_xml_event {
    SXT_XML_OPEN,  /* TEXT is "" */
    SXT_XML_CLOSE, /* TEXT is what the element has after its last child */
};

/* DEPTH is 0 for the outermost element. Returns SXT_OK to go on; anything else ends the reading, which returns it. */
typedef int sxt_xml_visit(void *data, enum sxt_xml_event event, unsigned depth, const char *name, const char *text);

/* Fails with SXT_ERROR_FORMAT and the offset if the SIZE bytes at TEXT are not one whole element. */
int sxt_xml_read(const char *text, size_t size, sxt_xml_visit *visit, void *data, sxt_error *error);

#endif
