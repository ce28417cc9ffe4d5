/* rules_image.c: writes the tables of frame rules of a made-up module. */
#include "rules_image.h"

#include <string.h>
#include <sys/mman.h>

struct sxt_image sxt_image;

static struct {
    size_t start, size, entry; /* offsets in the image */
    size_t address_at;         /* of the address in the FDE */
    uint8_t encoding;
} functions[128];
static size_t table_count;

void sxt_image_map(void)
{
    sxt_image.space = mmap(NULL, RULES_SPACE + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(sxt_image.space != MAP_FAILED && mprotect(sxt_image.space + RULES_SPACE, PAGE, PROT_NONE) == 0);
}

void sxt_image_unmap(void)
{
    munmap(sxt_image.space, RULES_SPACE + PAGE);
}

static void put(const void *bytes, size_t size)
{
    assert_true(size <= sizeof sxt_image.written - sxt_image.used);
    if (size > 0)
        memcpy(sxt_image.written + sxt_image.used, bytes, size);
    sxt_image.used += size;
}

static void put_byte(uint8_t byte)
{
    put(&byte, 1);
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

void sxt_image_set_u32(size_t at, uint32_t value)
{
    memcpy(sxt_image.written + at, &value, sizeof value);
}

/* Room for a table of COUNT functions. */
void sxt_image_begin(size_t count)
{
    memset(sxt_image.written, 0, sizeof sxt_image.written);
    table_count = 0;
    sxt_image.used = HEADER + count * 8;
    const uint8_t header[4] = {1, RELATIVE | SDATA4, UDATA4, DATA_RELATIVE | SDATA4};
    memcpy(sxt_image.written, header, sizeof header);
}

static size_t begin_entry(void)
{
    size_t start = sxt_image.used;
    put_u32(0);
    return start;
}

static void end_entry(size_t start)
{
    sxt_image_set_u32(start, (uint32_t)(sxt_image.used - start - 4));
}

size_t sxt_image_add_cie(struct cie_options options)
{
    size_t start = begin_entry();
    const char *letters = options.letters != NULL ? options.letters : "zR";
    struct code data = options.data.bytes != NULL ? options.data : CODE(options.encoding);
    struct code program = options.program.bytes != NULL ? options.program : ENTRY;
    put_u32(options.id);
    put_byte(options.version != 0 ? options.version : 1);
    put(letters, strlen(letters) + 1);
    if (options.long_factor.bytes != NULL)
        put(options.long_factor.bytes, options.long_factor.size);
    else
        put_byte(options.code_factor != 0 ? options.code_factor : 1);
    put_byte(0x78); /* data factor -8 */
    put_byte(options.return_register != 0 ? options.return_register : RA);
    if (letters[0] == 'z') {
        put_byte((uint8_t)data.size);
        put(data.bytes, data.size);
    }
    put(program.bytes, program.size);
    end_entry(start);
    return start;
}

static size_t width_of(uint8_t encoding)
{
    return (encoding & 0x0f) == UDATA4 || (encoding & 0x0f) == SDATA4 ? 4 : 8;
}

/* A function of SIZE bytes, START bytes after the beginning of the image. */
void sxt_image_add_fde(size_t cie, uint8_t encoding, bool has_augmentation, size_t start, size_t size,
                       struct code program)
{
    size_t entry = begin_entry();
    size_t width = width_of(encoding);
    uint64_t both[2] = {0, size};
    put_u32((uint32_t)(sxt_image.used - cie));
    functions[table_count].start = start;
    functions[table_count].size = size;
    functions[table_count].entry = entry;
    functions[table_count].address_at = sxt_image.used;
    functions[table_count++].encoding = encoding;
    put(&both[0], width);
    put(&both[1], width);
    if (has_augmentation)
        put_byte(0);
    put(program.bytes, program.size);
    end_entry(entry);
}

/* Moves the image to the end of the sxt_image.space and fills in the addresses. Returns its beginning. */
uintptr_t sxt_image_finish(void)
{
    sxt_image.used = (sxt_image.used + 7) & ~(size_t)7;
    uint8_t *image = sxt_image.space + RULES_SPACE - sxt_image.used;
    sxt_image_set_u32(8, (uint32_t)table_count);
    for (size_t i = 0; i < table_count; i++) {
        sxt_image_set_u32(HEADER + i * 8, (uint32_t)functions[i].start);
        sxt_image_set_u32(HEADER + i * 8 + 4, (uint32_t)functions[i].entry);
        size_t at = functions[i].address_at;
        uint64_t address = (uint64_t)(uintptr_t)image + functions[i].start;
        if ((functions[i].encoding & 0x70) == RELATIVE)
            address -= (uint64_t)(uintptr_t)image + at;
        memcpy(sxt_image.written + at, &address, width_of(functions[i].encoding));
    }
    memcpy(image, sxt_image.written, sxt_image.used);
    sxt_image.module = (struct module){.start = (uintptr_t)image, .end = (uintptr_t)image + sxt_image.used};
    sxt_image.module.frame_table = image;
    sxt_image.module.frame_table_size = HEADER + table_count * 8;
    return (uintptr_t)image;
}

/* The rule at OFFSET of a function that has PROGRAM. */
frame_rule sxt_image_rule_with(struct cie_options options, struct code program, size_t offset)
{
    if (options.encoding == 0 && options.letters == NULL)
        options.encoding = RELATIVE | SDATA4;
    sxt_image_begin(1);
    size_t cie = sxt_image_add_cie(options);
    bool has_augmentation = options.letters == NULL || options.letters[0] == 'z';
    sxt_image_add_fde(cie, options.encoding, has_augmentation, 0x100000, FUNCTION_SIZE, program);
    return sxt_rule_find(&sxt_image.module, sxt_image_finish() + 0x100000 + offset, true);
}

frame_rule sxt_image_rule(struct code program, size_t offset)
{
    return sxt_image_rule_with((struct cie_options){0}, program, offset);
}
