/* arsc.c: reads a table of Android resources, chunk by chunk. */
#include "source/arsc.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cursor.h"
#include "base/error.h"

enum chunk_type { STRING_POOL = 0x0001, TABLE = 0x0002, PACKAGE = 0x0200, TYPE = 0x0201, TYPE_SPECIFICATION = 0x0202 };

/* Flags of a string pool, and of a type. */
enum { POOL_IS_UTF8 = 1 << 8, TYPE_IS_SPARSE = 1, TYPE_HAS_NARROW_OFFSETS = 2 };

#define PACKAGE_NAME 256
#define NAME_MOST    ((size_t)4096)

struct chunk {
    uint16_t type;
    struct sxt_cursor bytes; /* the whole chunk, after the 8 bytes that all have */
    uint16_t header;
    uint64_t offset;
};

struct table {
    const struct sxt_arsc_reader *reader; /* NULL in the first pass, which only checks */
    struct sxt_buffer path;               /* the package, and what follows */
    struct sxt_buffer name;
    struct sxt_cursor types; /* the pool with the names of types; failed when there is none */
    sxt_error *error;
};

static int read_table(struct table *table, const uint8_t *data, size_t size);
static int read_package(struct table *table, const struct chunk *package);
static const char *generic_name(uint16_t type, char *room, size_t size);

bool sxt_arsc_is(const uint8_t *data, size_t size)
{
    return size >= 12 && sxt_load_u16le(data) == TABLE;
}

int sxt_arsc_read(const uint8_t *data, size_t size, const struct sxt_arsc_reader *reader, sxt_error *error)
{
    struct table table = {.error = error};
    sxt_buffer_init(&table.path, NAME_MOST * 4);
    sxt_buffer_init(&table.name, NAME_MOST * 4);
    int status = read_table(&table, data, size);
    table.reader = reader;
    if (status == SXT_OK)
        status = read_table(&table, data, size);
    if (status == SXT_OK && (table.path.memory_was_short || table.name.memory_was_short))
        status = sxt_fail_memory(error, NAME_MOST);
    sxt_buffer_free(&table.path);
    sxt_buffer_free(&table.name);
    return status;
}

/* The next chunk of a parent, whose cursor moves after it. */
static int next_chunk(struct table *table, struct sxt_cursor *parent, struct chunk *out)
{
    uint64_t offset = sxt_cursor_offset(parent);
    struct sxt_cursor head = *parent;
    out->type = sxt_cursor_u16(&head);
    out->header = sxt_cursor_u16(&head);
    uint32_t size = sxt_cursor_u32(&head);
    out->bytes = sxt_cursor_slice(parent, parent->at, size);
    if (head.failed || out->header < 8 || out->header > size || out->bytes.failed)
        return sxt_fail(table->error, SXT_ERROR_FORMAT, offset, "a chunk of the resource table does not fit");
    out->offset = offset;
    sxt_cursor_skip(&out->bytes, 8);
    sxt_cursor_skip(parent, size);
    return SXT_OK;
}

static void report(struct table *table, const struct chunk *chunk, const char *name, uint64_t placeholders)
{
    sxt_string path = {table->path.size > 0 ? (const char *)table->path.data : "", table->path.size};
    if (table->reader != NULL)
        table->reader->chunk(table->reader->data, path, (sxt_string){name, strlen(name)}, chunk->bytes.size,
                             placeholders);
}

static int read_table(struct table *table, const uint8_t *data, size_t size)
{
    struct sxt_cursor file = sxt_cursor_make(data, size, 0, false);
    struct chunk root, chunk;
    int status = next_chunk(table, &file, &root);
    if (status == SXT_OK && (root.type != TABLE || root.header < 12))
        return sxt_fail(table->error, SXT_ERROR_UNSUPPORTED, 0, "not a table of Android resources");
    if (status == SXT_OK)
        sxt_cursor_seek(&root.bytes, root.header);
    for (bool is_first = true; status == SXT_OK && sxt_cursor_left(&root.bytes) > 0; is_first = false) {
        status = next_chunk(table, &root.bytes, &chunk);
        if (status != SXT_OK)
            break;
        char room[32];
        sxt_buffer_clear(&table->path);
        if (chunk.type == PACKAGE)
            status = read_package(table, &chunk);
        else
            report(table, &chunk,
                   chunk.type == STRING_POOL && is_first ? "STRING_POOL: root"
                                                         : generic_name(chunk.type, room, sizeof room),
                   0);
    }
    return status;
}

/* --- names --- */

/* Appends UTF-16 that ends with 0, or after COUNT units. What is not ASCII is '?': names of packages and types are. */
static void put_wide(struct sxt_buffer *out, struct sxt_cursor *text, uint64_t count)
{
    for (; count > 0; count--) {
        uint16_t unit = sxt_cursor_u16(text);
        if (text->failed || unit == 0)
            return;
        sxt_buffer_u8(out, unit > 0x20 && unit < 0x7f ? (uint8_t)unit : '?');
    }
}

static void put_narrow(struct sxt_buffer *out, struct sxt_cursor *text, uint64_t count)
{
    for (; count > 0; count--) {
        uint8_t letter = sxt_cursor_u8(text);
        if (text->failed || letter == 0)
            return;
        sxt_buffer_u8(out, letter > 0x20 && letter < 0x7f ? letter : '?');
    }
}

/* A length is one unit, or two when the first one has its highest bit set. */
static uint64_t narrow_length(struct sxt_cursor *text)
{
    uint8_t first = sxt_cursor_u8(text);
    return first & 0x80 ? (uint64_t)(first & 0x7f) << 8 | sxt_cursor_u8(text) : first;
}

static uint64_t wide_length(struct sxt_cursor *text)
{
    uint16_t first = sxt_cursor_u16(text);
    return first & 0x8000 ? (uint64_t)(first & 0x7fff) << 16 | sxt_cursor_u16(text) : first;
}

/* Appends string NUMBER of a pool. False when it has none. */
static bool put_string(struct sxt_buffer *out, struct sxt_cursor pool, uint32_t number)
{
    sxt_cursor_seek(&pool, 8);
    uint32_t count = sxt_cursor_u32(&pool);
    sxt_cursor_skip(&pool, 4);
    uint32_t flags = sxt_cursor_u32(&pool), start = sxt_cursor_u32(&pool);
    sxt_cursor_seek(&pool, 28 + (uint64_t)number * 4);
    uint32_t offset = sxt_cursor_u32(&pool);
    sxt_cursor_seek(&pool, (uint64_t)start + offset);
    if (pool.failed || number >= count)
        return false;
    if (flags & POOL_IS_UTF8) {
        narrow_length(&pool);
        uint64_t length = narrow_length(&pool);
        put_narrow(out, &pool, length < NAME_MOST ? length : NAME_MOST);
    } else {
        uint64_t length = wide_length(&pool);
        put_wide(out, &pool, length < NAME_MOST ? length : NAME_MOST);
    }
    return !pool.failed;
}

static const char *generic_name(uint16_t type, char *room, size_t size)
{
    static const struct {
        uint16_t type;
        const char *name;
    } names[] = {
        {0x0001, "STRING_POOL"},         {0x0003, "XML"},
        {0x0100, "XML_START_NAMESPACE"}, {0x0101, "XML_END_NAMESPACE"},
        {0x0102, "XML_START_ELEMENT"},   {0x0103, "XML_END_ELEMENT"},
        {0x0104, "XML_CDATA"},           {0x017f, "XML_LAST_CHUNK"},
        {0x0180, "XML_RESOURCE_MAP"},    {0x0203, "LIBRARY"},
        {0x0204, "OVERLAYABLE"},         {0x0205, "OVERLAYABLE_POLICY"},
        {0x0206, "STAGED_ALIAS"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type)
            return names[i].name;
    snprintf(room, size, "GENERIC: type=%u", type);
    return room;
}

/* --- types --- */

/* How many bytes of the offsets of a type are for resources that it does not have. */
static uint64_t count_placeholders(struct sxt_cursor offsets, uint64_t count, unsigned width)
{
    uint64_t missing = width == 2 ? 0xffff : 0xffffffff, bytes = 0;
    for (; count > 0; count--)
        bytes += sxt_cursor_uint(&offsets, width) == missing ? width : 0;
    return bytes;
}

static int read_type(struct table *table, const struct chunk *chunk)
{
    struct sxt_cursor bytes = chunk->bytes;
    uint8_t id = sxt_cursor_u8(&bytes), flags = sxt_cursor_u8(&bytes);
    sxt_cursor_skip(&bytes, 2);
    uint32_t count = sxt_cursor_u32(&bytes);
    size_t package_size = table->path.size;
    sxt_buffer_u8(&table->path, '/');
    if (bytes.failed || id == 0 || !put_string(&table->path, table->types, id - 1u))
        return sxt_fail(table->error, SXT_ERROR_FORMAT, chunk->offset, "a type of resources has no name");
    if (chunk->type == TYPE_SPECIFICATION) {
        sxt_string name = {(const char *)table->path.data + package_size + 1, table->path.size - package_size - 1};
        report(table, chunk, "TYPE_SPEC", 0);
        if (table->reader != NULL)
            table->reader->type(table->reader->data, name, count);
    } else {
        unsigned width = flags & TYPE_HAS_NARROW_OFFSETS ? 2 : 4;
        sxt_cursor_skip(&bytes, 4);
        uint32_t config_size = sxt_cursor_u32(&bytes);
        const uint8_t *config = sxt_cursor_bytes(&bytes, config_size >= 4 ? config_size - 4u : 0);
        if (bytes.failed || config_size < 4 || !sxt_fits(chunk->header, count, width, chunk->bytes.size))
            return sxt_fail(table->error, SXT_ERROR_FORMAT, chunk->offset, "a type of resources is cut off");
        sxt_buffer_clear(&table->name);
        sxt_arsc_put_configuration(config, config_size - 4u, &table->name);
        if (table->name.size == 0)
            sxt_buffer_append(&table->name, "default", 7);
        sxt_buffer_u8(&table->name, 0);
        sxt_cursor_seek(&bytes, chunk->header);
        report(table, chunk, table->name.failed ? "?" : (const char *)table->name.data,
               flags & TYPE_IS_SPARSE ? 0 : count_placeholders(bytes, count, width));
    }
    table->path.size = package_size;
    return SXT_OK;
}

static int read_package(struct table *table, const struct chunk *package)
{
    struct sxt_cursor bytes = package->bytes;
    unsigned pools = 0;
    sxt_cursor_skip(&bytes, 4);
    put_wide(&table->path, &bytes, PACKAGE_NAME / 2);
    sxt_cursor_seek(&bytes, package->header);
    if (bytes.failed || package->header < 12 + PACKAGE_NAME)
        return sxt_fail(table->error, SXT_ERROR_FORMAT, package->offset, "a package of resources is cut off");
    table->types = sxt_cursor_make("", 0, 0, false);
    table->types.failed = true;
    int status = SXT_OK;
    if (sxt_cursor_left(&bytes) == 0)
        report(table, package, "package", 0);
    while (status == SXT_OK && sxt_cursor_left(&bytes) > 0) {
        struct chunk chunk;
        char room[32];
        status = next_chunk(table, &bytes, &chunk);
        if (status != SXT_OK)
            break;
        if (chunk.type == TYPE || chunk.type == TYPE_SPECIFICATION) {
            status = read_type(table, &chunk);
        } else if (chunk.type == STRING_POOL && pools < 2) {
            if (pools == 0)
                table->types = chunk.bytes;
            report(table, &chunk, pools++ == 0 ? "STRING_POOL: types" : "STRING_POOL: keys", 0);
        } else {
            report(table, &chunk, generic_name(chunk.type, room, sizeof room), 0);
        }
    }
    return status;
}
