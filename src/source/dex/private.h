/* private.h: a Dalvik executable while it is read. */
#ifndef SXT_SOURCE_DEX_PRIVATE_H
#define SXT_SOURCE_DEX_PRIVATE_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "source/dex/dex.h"

/* A table of items of one size. */
struct dex_table {
    uint32_t count;
    uint64_t offset;
};

enum dex_table_kind { DEX_STRINGS, DEX_TYPES, DEX_PROTOS, DEX_FIELDS, DEX_METHODS, DEX_CLASSES, DEX_TABLES };

/* A string that the code of a class loads. */
struct dex_use {
    uint32_t string, class_number;
};

struct dex_file {
    const uint8_t *data;
    size_t size;
    struct sxt_dex_reader *reader;
    struct dex_table tables[DEX_TABLES];
    uint64_t map;        /* offset of the map list */
    uint8_t *claimed;    /* a bit for each byte of the file */
    uint8_t *defined[2]; /* a byte for each field and each method: is it defined here? */
    struct dex_use *uses;
    size_t use_count, use_capacity;
    struct sxt_buffer name; /* of the class that is read, and what follows */
    uint64_t name_budget;   /* how many bytes of names may still be made */
    sxt_error *error;
    int status;
    bool is_damaged;
};

/* --- dex.c --- */

/*
 * Takes up to SIZE bytes that nothing has taken, from START on to the first that is taken, and returns their number.
 * What was taken before is not looked at again, so that the work is linear in the file, however its items overlap.
 */
uint64_t sxt_dex_claim(struct dex_file *file, uint64_t start, uint64_t size);
bool sxt_dex_is_claimed(const struct dex_file *file, uint64_t at);

/* Reports damage at OFFSET once. */
void sxt_dex_damage(struct dex_file *file, uint64_t offset, const char *what);

/* The item INDEX of a table; NULL (damage) when there is none. */
const uint8_t *sxt_dex_item(struct dex_file *file, enum dex_table_kind kind, uint32_t index);

/* A cursor over the whole file, at OFFSET. */
struct sxt_cursor sxt_dex_cursor(const struct dex_file *file, uint64_t offset);

/* --- names.c --- */

/* Begins a name with that of the class of TYPE. */
void sxt_dex_name_class(struct dex_file *file, uint32_t type);

/* Takes the bytes of the name that was made from the budget. False, and a status, when that is exhausted. */
bool sxt_dex_spend_name(struct dex_file *file);

/* Adds SIZE bytes to the node of the class, field or method. The class is the one that was named before. */
void sxt_dex_add_class(struct dex_file *file, uint64_t size);
void sxt_dex_add_field(struct dex_file *file, uint32_t field, uint64_t size);
void sxt_dex_add_method(struct dex_file *file, uint32_t method, uint64_t size);

/* The string with that number, without its NUL; "" when there is none. */
sxt_string sxt_dex_string(struct dex_file *file, uint32_t number);

/* --- classes.c --- */

void sxt_dex_read_class(struct dex_file *file, uint32_t number);

/* --- code.c --- */

/* The bytes of the code at OFFSET, with its debug information. The strings that it loads are used by CLASS_NUMBER. */
uint64_t sxt_dex_read_code(struct dex_file *file, uint64_t offset, uint32_t class_number);

/* --- strings.c --- */

void sxt_dex_read_strings(struct dex_file *file);

#endif
