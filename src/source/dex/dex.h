/*
 * dex.h: what the classes, methods, fields and strings of Dalvik executables take.
 *
 *     header_item   112 bytes: "dex\n039\0", checksum, sizes and offsets of the tables
 *     string_ids    4 bytes each: offset of string_data (length as ULEB128, modified UTF-8, NUL)
 *     type_ids      4 bytes each: number of the string that describes it ("Lorg/a/B;", "[I")
 *     proto_ids    12 bytes each: short form, return type, offset of the list of parameters
 *     field_ids     8 bytes each: class, type, name
 *     method_ids    8 bytes each: class, prototype, name
 *     class_defs   32 bytes each: type, flags, superclass, interfaces, source, annotations, class_data, static values
 *     data          class_data, code, debug information, annotations, ...
 *     map_list      4 + 12 bytes each: what kinds of item there are, how many, and where
 *
 * Sizes are those of Android's apkanalyzer, on which SuperSize relies, except that bytes that several items share are
 * counted once, for the first of them. So they never add up to more than the file has.
 */
#ifndef SXT_SOURCE_DEX_DEX_H
#define SXT_SOURCE_DEX_DEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sextant/error.h>
#include <sextant/string.h>

#include "base/strings.h"

enum sxt_dex_kind { SXT_DEX_CLASS, SXT_DEX_FIELD, SXT_DEX_METHOD };

/*
 * A class ("org.a.B"), field ("org.a.B#count: int") or method ("org.a.B#get(int,byte[]): java.lang.String"). Those that
 * are only used, and defined elsewhere, have the size of their entry in the table.
 */
struct sxt_dex_node {
    enum sxt_dex_kind kind;
    uint32_t class_size; /* of the name of the class, with which its name begins */
    uint64_t size;
};

/* The nodes of any number of files. What has the same name in several of them is one node. */
struct sxt_dex_tree {
    struct sxt_strings names; /* number N + 1 is the name of node N */
    struct sxt_dex_node *nodes;
    size_t count, capacity;
};

int sxt_dex_tree_init(struct sxt_dex_tree *tree, sxt_error *error);
void sxt_dex_tree_free(struct sxt_dex_tree *tree);

/* A string that code loads. */
struct sxt_dex_literal {
    sxt_string text; /* modified UTF-8 */
    uint64_t size;   /* with its entry in the table */
    const sxt_string *users;
    size_t user_count; /* the names of the classes, in their order; at least 1 */
};

enum sxt_dex_strings { SXT_DEX_TYPE_STRINGS, SXT_DEX_MEMBER_STRINGS, SXT_DEX_PROTOTYPE_STRINGS };
#define SXT_DEX_STRING_KINDS 3

struct sxt_dex_reader {
    struct sxt_dex_tree *tree;
    /* Called for each literal. Its strings are valid until the callback returns. */
    void (*literal)(void *data, const struct sxt_dex_literal *literal);
    /* Called for each kind of item in the map of the file: how many there are, and the bytes up to the next kind. */
    void (*item)(void *data, const char *name, uint64_t count, uint64_t bytes);
    /* Called at most once: a part of the file cannot be read, and is not in the nodes. */
    void (*damage)(void *data, const sxt_error *problem);
    void *data;
    uint64_t strings[SXT_DEX_STRING_KINDS]; /* by sxt_dex_strings: bytes of the names that no literal is equal to */
};

bool sxt_dex_is(const uint8_t *data, size_t size);

/* Reads a file into the tree of READER, and adds to its strings. Fails before any callback if it cannot be read. */
int sxt_dex_read(const uint8_t *data, size_t size, struct sxt_dex_reader *reader, sxt_error *error);

#endif
