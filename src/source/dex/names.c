/*
 * names.c: the names of classes, fields and methods, as Java writes them: "Lorg/a/B;" is "org.a.B", "[[I" is "int[][]".
 * A name that is too long for the buffer is cut: it is made by hand.
 */
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "source/dex/private.h"

/* The most bytes of a string that are looked at for a name, and the most parameters. */
#define NAME_MOST      8192
#define PARAMETER_MOST 256
#define ARRAY_MOST     255

static uint64_t string_offset(struct dex_file *file, uint32_t number)
{
    const uint8_t *item = sxt_dex_item(file, DEX_STRINGS, number);
    return item != NULL ? sxt_load_u32le(item) : UINT64_MAX;
}

sxt_string sxt_dex_string(struct dex_file *file, uint32_t number)
{
    struct sxt_cursor cursor = sxt_dex_cursor(file, string_offset(file, number));
    sxt_cursor_uleb128(&cursor);
    if (cursor.failed)
        return (sxt_string){"", 0};
    const char *text = (const char *)file->data + cursor.at;
    size_t left = sxt_cursor_left(&cursor), most = left < NAME_MOST ? left : NAME_MOST;
    const char *nul = most > 0 ? memchr(text, 0, most) : NULL;
    return (sxt_string){text, nul != NULL ? (size_t)(nul - text) : most};
}

/* Characters that would end a name in a file, or confuse a reader of it, are replaced. */
static void put_text(struct dex_file *file, sxt_string text, bool is_descriptor)
{
    uint8_t *room =
        text.size <= file->name.maximum - file->name.size ? sxt_buffer_extend(&file->name, text.size) : NULL;
    for (size_t i = 0; room != NULL && i < text.size; i++) {
        uint8_t letter = (uint8_t)text.data[i];
        if (letter == '/' && is_descriptor)
            room[i] = '.';
        else
            room[i] = letter <= 0x20 || letter == 0x7f || letter == '#' ? '_' : letter;
    }
}

static void put_word(struct dex_file *file, const char *word)
{
    put_text(file, (sxt_string){word, strlen(word)}, true);
}

static const char *primitive(char letter)
{
    switch (letter) {
    case 'V':
        return "void";
    case 'Z':
        return "boolean";
    case 'B':
        return "byte";
    case 'S':
        return "short";
    case 'C':
        return "char";
    case 'I':
        return "int";
    case 'J':
        return "long";
    case 'F':
        return "float";
    case 'D':
        return "double";
    default:
        return NULL;
    }
}

static void put_type(struct dex_file *file, uint32_t type)
{
    const uint8_t *item = sxt_dex_item(file, DEX_TYPES, type);
    sxt_string text = item != NULL ? sxt_dex_string(file, sxt_load_u32le(item)) : (sxt_string){"", 0};
    size_t arrays = 0;
    for (; arrays < ARRAY_MOST && text.size > 0 && *text.data == '['; arrays++)
        text = (sxt_string){text.data + 1, text.size - 1};
    const char *word = text.size == 1 ? primitive(*text.data) : NULL;
    if (word != NULL)
        put_word(file, word);
    else if (text.size > 2 && text.data[0] == 'L' && text.data[text.size - 1] == ';')
        put_text(file, (sxt_string){text.data + 1, text.size - 2}, true);
    else
        put_text(file, text.size > 0 ? text : (sxt_string){"?", 1}, true);
    while (arrays-- > 0)
        put_word(file, "[]");
}

void sxt_dex_name_class(struct dex_file *file, uint32_t type)
{
    sxt_buffer_clear(&file->name);
    put_type(file, type);
}

bool sxt_dex_spend_name(struct dex_file *file)
{
    if (file->name.size > file->name_budget) {
        file->status = sxt_fail(file->error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                                "the names of the dex file expand to more than 16 times its size");
        return false;
    }
    file->name_budget -= file->name.size;
    return true;
}

/* Adds to the node of the name, which is made when it is new. The name begins with that of a class. */
static void add_node(struct dex_file *file, enum sxt_dex_kind kind, size_t class_size, uint64_t size)
{
    struct sxt_dex_tree *tree = file->reader->tree;
    if (!sxt_dex_spend_name(file))
        return;
    uint32_t number = sxt_strings_add(&tree->names, (const char *)file->name.data, file->name.size);
    struct sxt_dex_node *nodes = number != SXT_STRINGS_FULL
                                     ? sxt_array_grow(tree->nodes, &tree->capacity, tree->names.count, sizeof *nodes)
                                     : NULL;
    if (nodes == NULL) {
        file->status = sxt_fail_memory(file->error, tree->names.count * sizeof *nodes);
        return;
    }
    tree->nodes = nodes;
    if (number > tree->count)
        nodes[tree->count++] = (struct sxt_dex_node){.kind = kind, .class_size = (uint32_t)class_size};
    if (number > 0)
        nodes[number - 1].size += size;
}

void sxt_dex_add_class(struct dex_file *file, uint64_t size)
{
    add_node(file, SXT_DEX_CLASS, file->name.size, size);
}

void sxt_dex_add_field(struct dex_file *file, uint32_t field, uint64_t size)
{
    const uint8_t *item = sxt_dex_item(file, DEX_FIELDS, field);
    size_t class_size = file->name.size;
    if (item == NULL)
        return;
    sxt_buffer_u8(&file->name, '#');
    put_text(file, sxt_dex_string(file, sxt_load_u32le(item + 4)), false);
    sxt_buffer_append(&file->name, ": ", 2);
    put_type(file, sxt_load_u16le(item + 2));
    add_node(file, SXT_DEX_FIELD, class_size, size);
    file->name.size = class_size;
}

static void put_parameters(struct dex_file *file, uint64_t offset)
{
    struct sxt_cursor list = sxt_dex_cursor(file, offset);
    uint32_t count = offset != 0 ? sxt_cursor_u32(&list) : 0;
    sxt_buffer_u8(&file->name, '(');
    for (uint32_t i = 0; i < count && i < PARAMETER_MOST; i++) {
        uint16_t type = sxt_cursor_u16(&list);
        if (list.failed) {
            sxt_dex_damage(file, offset, "a list of parameters reaches beyond the dex file");
            break;
        }
        if (i > 0)
            sxt_buffer_u8(&file->name, ',');
        put_type(file, type);
    }
    sxt_buffer_u8(&file->name, ')');
}

void sxt_dex_add_method(struct dex_file *file, uint32_t method, uint64_t size)
{
    const uint8_t *item = sxt_dex_item(file, DEX_METHODS, method);
    const uint8_t *proto = item != NULL ? sxt_dex_item(file, DEX_PROTOS, sxt_load_u16le(item + 2)) : NULL;
    size_t class_size = file->name.size;
    if (proto == NULL)
        return;
    sxt_string name = sxt_dex_string(file, sxt_load_u32le(item + 4));
    sxt_buffer_u8(&file->name, '#');
    put_text(file, name, false);
    put_parameters(file, sxt_load_u32le(proto + 8));
    bool is_constructor = name.size > 5 && (memcmp(name.data, "<init>", 6) == 0 || memcmp(name.data, "<clini", 6) == 0);
    if (!is_constructor) {
        sxt_buffer_append(&file->name, ": ", 2);
        put_type(file, sxt_load_u32le(proto + 4));
    }
    add_node(file, SXT_DEX_METHOD, class_size, size);
    file->name.size = class_size;
}
