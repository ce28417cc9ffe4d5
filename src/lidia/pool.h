/*
 * pool.h: the strings of a Lidia file that is being written: each once, in the order of first use. Private to this
 * room.
 *
 * Nothing is copied until the file is written: the pool notes which string comes next and where it will be.
 */
#ifndef SXT_LIDIA_POOL_H
#define SXT_LIDIA_POOL_H

#include "base/buffer.h"
#include "lidia/lidia.h"

struct sxt_lidia_pool {
    const struct sxt_symbols *symbols;
    const struct sxt_lidia_settings *settings;
    sxt_string *order; /* the strings, as they come in the file */
    size_t count, capacity;
    uint64_t size;              /* bytes that they take */
    uint64_t last;              /* offset of the last one, the highest there is */
    uint64_t *function_of;      /* by number in the model: offset as a function's name, or SXT_LIDIA_NOT_PLACED */
    uint64_t *path_of;          /* the same as the path of a file */
    struct sxt_names names;     /* the readable forms of functions; all zero if they are written as linked */
    bool renames;               /* some strings are written in another form */
    struct sxt_strings renamed; /* if so, all strings that are written: two may have become equal */
    uint64_t *renamed_offset;   /* by number in `renamed` */
    size_t renamed_capacity;
    struct sxt_buffer scratch;
    bool failed;
};

#define SXT_LIDIA_NOT_PLACED UINT64_MAX

/* A pool with the strings that every file begins with. */
int sxt_lidia_pool_open(struct sxt_lidia_pool *pool, const struct sxt_symbols *symbols,
                        const struct sxt_lidia_settings *settings, sxt_error *error);
void sxt_lidia_pool_close(struct sxt_lidia_pool *pool);

/* Makes the readable forms of the functions in LIST, if the settings say so. They live as long as the pool. */
int sxt_lidia_pool_make_names(struct sxt_lidia_pool *pool, const struct sxt_range_list *list, sxt_error *error);

/* Makes sure that a string of the model is in the pool. Afterwards function_of or path_of has its offset. */
void sxt_lidia_pool_add_function(struct sxt_lidia_pool *pool, uint32_t number);
void sxt_lidia_pool_add_path(struct sxt_lidia_pool *pool, uint32_t number);

/* Writes all strings to TO, which has room for `size` bytes. */
void sxt_lidia_pool_write(const struct sxt_lidia_pool *pool, uint8_t *to);

#endif
