/*
 * fuzz_resources.c: any bytes as a table of Android resources, and as a resource pack. Their parts never add up to more
 * than the file has, and names can be stored.
 */
#include "base/buffer.h"
#include "property.h"
#include "source/arsc.h"
#include "source/pak.h"

static void check_text(sxt_string text)
{
    for (size_t i = 0; i < text.size; i++)
        SXT_HOLDS((uint8_t)text.data[i] >= 0x20 && (uint8_t)text.data[i] < 0x7f);
}

static void add_chunk(void *data, sxt_string path, sxt_string name, uint64_t size, uint64_t placeholders)
{
    uint64_t *total = data;
    check_text(path);
    check_text(name);
    SXT_HOLDS(name.size > 0 && size >= 8 && placeholders < size);
    *total += size;
}

static void add_type(void *data, sxt_string name, uint64_t count)
{
    (void)data;
    check_text(name);
    SXT_HOLDS(count <= UINT32_MAX);
}

static void add_resource(void *data, uint16_t id, const uint8_t *content, uint64_t size, uint64_t entry)
{
    (void)id;
    uint64_t *total = data;
    SXT_HOLDS(content != NULL || size == 0);
    *total += size + entry;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t total = 0;
    sxt_error error;
    struct sxt_arsc_reader table = {add_chunk, add_type, &total};
    int status = sxt_arsc_read(data, size, &table, &error);
    SXT_HOLDS(total <= size && (status == SXT_OK || total == 0));
    total = 0;
    struct sxt_pak_reader pack = {add_resource, &total};
    status = sxt_pak_read(data, size, &pack, &error);
    SXT_HOLDS(total <= size && (status == SXT_OK || total == 0));
    struct sxt_buffer name;
    sxt_buffer_init(&name, 4096);
    sxt_arsc_put_configuration(data, size, &name);
    SXT_HOLDS(!name.failed);
    check_text((sxt_string){(const char *)name.data, name.size});
    sxt_buffer_free(&name);
    return 0;
}
