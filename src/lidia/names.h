/*
 * names.h: function names in the form in which they go out, made on several threads: decoding a mangled name takes
 * longer than everything else that is done with it. Private to this room.
 */
#ifndef SXT_LIDIA_NAMES_H
#define SXT_LIDIA_NAMES_H

#include "base/buffer.h"
#include "lidia/lidia.h"

struct sxt_lidia_names {
    uint32_t *numbers; /* the names, by their numbers in the model, each once */
    size_t count;
    sxt_string *forms;         /* by place in `numbers`: the other form; absent where there is none */
    uint32_t *place_of;        /* by number in the model: place in `numbers`; only for names that are there */
    struct sxt_buffer *chunks; /* the bytes of the forms */
    size_t chunk_count;
};

/* Makes the other forms of the functions of LIST. Without settings->rename there are none. */
int sxt_lidia_names_make(struct sxt_lidia_names *names, const struct sxt_symbols *symbols,
                         const struct sxt_range_list *list, const struct sxt_lidia_settings *settings,
                         sxt_error *error);
void sxt_lidia_names_free(struct sxt_lidia_names *names);

/* The other form of function NUMBER, which must be one of LIST's; absent when it goes out as it is. */
sxt_string sxt_lidia_names_get(const struct sxt_lidia_names *names, uint32_t number);

#endif
