/* escape.h: untrusted strings, escaped for a terminal or for JSON. */
#ifndef SXT_BASE_ESCAPE_H
#define SXT_BASE_ESCAPE_H

#include <sextant/string.h>

#include "base/buffer.h"

/* How many bytes from the start need no escape: printable ASCII other than '"' and '\\'. */
size_t sxt_escape_plain_size(const char *data, size_t size);

/* For a terminal: control characters, and bytes that are not UTF-8, become \xNN. */
void sxt_escape_text(struct sxt_buffer *out, sxt_string text);

/* For JSON in UTF-8: escapes control characters, DEL and U+0080 to U+009F. Bytes that are not UTF-8 become U+FFFD. */
void sxt_escape_json(struct sxt_buffer *out, sxt_string text);

/* For JSON in ASCII, as Python's json.dumps writes it. Bytes that are not UTF-8 become U+0080 to U+00FF. */
void sxt_escape_json_ascii(struct sxt_buffer *out, sxt_string text);

/*
 * For JSON in UTF-8: characters below U+0020, and U+007F WITH_DELETE, become \u00NN. '"' and '\\' are escaped, and
 * nothing else. Bytes that are not UTF-8 become U+FFFD.
 */
void sxt_escape_json_numbers(struct sxt_buffer *out, sxt_string text, bool with_delete);

#endif
