/*
 * list_frame_rules.c: the rules by which the recorder leaves the frames of a linked ELF file. A test compares them with
 * what readelf makes of the same tables.
 *
 * The file is laid out in memory as the dynamic linker would, but not relocated: the tables have no relocations.
 * Standard input has one address of the file a line, in hexadecimal; standard output has one rule for each.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/recorder.h"

static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0) {
        *size = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*size);
        if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
            exit(1);
        fclose(file);
    }
    return bytes;
}

/* The image of a file whose addresses begin at 0 or higher. */
static struct module lay_out(const uint8_t *bytes)
{
    const Elf64_Ehdr *header = (const void *)bytes;
    const Elf64_Phdr *segments = (const void *)(bytes + header->e_phoff);
    struct module module = {0};
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        low = segments[i].p_vaddr < low ? segments[i].p_vaddr : low;
        high = segments[i].p_vaddr + segments[i].p_memsz > high ? segments[i].p_vaddr + segments[i].p_memsz : high;
    }
    uint8_t *image = mmap(NULL, high - low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (low > high || image == MAP_FAILED)
        exit(1);
    module.start = (uintptr_t)image;
    module.end = module.start + (high - low);
    module.bias = module.start - low;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD)
            memcpy(image + (segments[i].p_vaddr - low), bytes + segments[i].p_offset, segments[i].p_filesz);
        if (segments[i].p_type == PT_GNU_EH_FRAME) {
            module.frame_table = image + (segments[i].p_vaddr - low);
            module.frame_table_size = segments[i].p_memsz;
        }
    }
    return module;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"none", "stack", "frame", "load", "signal", "guess", "outermost"};
    size_t size;
    uint8_t *bytes = argc == 2 ? read_whole(argv[1], &size) : NULL;
    if (bytes == NULL) {
        fprintf(stderr, "usage: list_frame_rules FILE\n");
        return 2;
    }
    struct module module = lay_out(bytes);
    uint64_t address;
    while (scanf("%" SCNx64, &address) == 1) {
        frame_rule rule = sxt_rule_find(&module, module.bias + address, true);
        printf("%s %zu %zu %zu\n", kinds[RULE_KIND(rule)], (size_t)RULE_CFA_OFFSET(rule),
               (size_t)RULE_FRAME_OFFSET(rule), (size_t)RULE_LINK_OFFSET(rule));
    }
    free(bytes);
    return 0;
}
