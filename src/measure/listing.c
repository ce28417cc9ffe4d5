/* listing.c: names for the addresses of a binary, and listings of its functions. */
#include "measure/listing.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hex.h"
#include "base/search.h"
#include "base/string.h"
#include "code/code.h"
#include "source/elf/elf.h"

/* Longer names are cut: there may be two thousand of them in a listing. */
#define NAME_MAX_BYTES 1000

/* The most that a section may expand to; nothing that is needed here is compressed. */
#define INFLATE_LIMIT ((uint64_t)1 << 30)

static int open_binary(struct sxt_listing *listing, sxt_error *error);
static int find_container(struct sxt_listing *listing, sxt_error *error);
static int collect_names(struct sxt_listing *listing, sxt_error *error);

int sxt_listing_open(struct sxt_listing *listing, const char *path, const struct sxt_size_info *size, sxt_error *error)
{
    *listing = (struct sxt_listing){.path = path, .size = size};
    int status = sxt_file_open(&listing->file, path, error);
    if (status != SXT_OK)
        return status;
    status = open_binary(listing, error);
    if (status == SXT_OK)
        status = find_container(listing, error);
    if (status == SXT_OK)
        status = collect_names(listing, error);
    if (status != SXT_OK)
        sxt_listing_close(listing);
    return status;
}

void sxt_listing_close(struct sxt_listing *listing)
{
    sxt_elf_close(&listing->elf);
    sxt_file_close(&listing->file);
    sxt_symbols_free(&listing->plt);
    free(listing->names);
    *listing = (struct sxt_listing){.path = NULL};
}

static int open_binary(struct sxt_listing *listing, sxt_error *error)
{
    const struct sxt_file *file = &listing->file;
    if (sxt_size_is(file->data, file->size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "a .size file has no code to disassemble; its binary is needed");
    if (!sxt_elf_is(file->data, file->size))
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "only ELF files are disassembled");
    int status = sxt_elf_open(&listing->elf, file->data, file->size, INFLATE_LIMIT, error);
    if (status == SXT_OK && listing->elf.type == ET_REL)
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET,
                        "object files are not disassembled, only linked files");
    return status;
}

/* The build ID that is stored for a container, or NULL. */
static const struct sxt_json *id_of(const struct sxt_size_container *container)
{
    const struct sxt_json *id = sxt_json_member(container->metadata, "elf_build_id");
    return id != NULL && id->type == SXT_JSON_STRING && id->string.size > 0 ? id : NULL;
}

/* The container of the binary: the one with its build ID; without one, the only container. */
static int find_container(struct sxt_listing *listing, sxt_error *error)
{
    const struct sxt_size_info *size = listing->size;
    uint8_t id[SXT_BUILD_ID_MAX];
    char text[SXT_HEX_ROOM(SXT_BUILD_ID_MAX)];
    size_t id_size = sxt_elf_build_id(&listing->elf, id, sizeof id);
    sxt_hex_encode(text, id, id_size);
    for (size_t i = 0; i < size->container_count; i++) {
        const struct sxt_json *stated = id_of(&size->containers[i]);
        listing->container = (uint32_t)i;
        if (stated != NULL && sxt_string_is(stated->string, text))
            return SXT_OK;
    }
    if (size->container_count == 1 && (id_size == 0 || id_of(&size->containers[0]) == NULL))
        return SXT_OK;
    return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET,
                    "the sizes are of another binary: no container has the build ID '%s'", text);
}

/* --- names --- */

static int by_address(const void *left, const void *right)
{
    const struct sxt_listing_name *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* The address of a Thumb function is odd, and its code begins a byte before. */
static uint64_t without_thumb_bit(const struct sxt_listing *listing, uint64_t address)
{
    return listing->elf.machine == EM_ARM ? address & ~(uint64_t)1 : address;
}

static void add_name(struct sxt_listing *listing, uint64_t start, uint64_t size, sxt_string name)
{
    uint64_t end;
    start = without_thumb_bit(listing, start);
    if (size == 0 || name.size == 0 || __builtin_add_overflow(start, size, &end))
        return;
    listing->names[listing->name_count] = (struct sxt_listing_name){start, end, listing->name_count, name};
    listing->name_count++;
}

/* A note on the origin of bytes ("** symbol gap 3") is not a name, and changes from build to build. */
static void add_symbol_names(struct sxt_listing *listing)
{
    for (size_t i = 0; i < listing->size->symbol_count; i++) {
        const struct sxt_size_model_symbol *symbol = &listing->size->symbols[i];
        const struct sxt_size_segment *segment = &listing->size->segments[symbol->segment];
        sxt_string name = sxt_size_full_name(symbol);
        bool is_remark = sxt_string_begins(name, "**") || sxt_size_is_overhead(symbol);
        int64_t size;
        if (segment->container != listing->container || !segment->is_native || symbol->address == 0 || is_remark ||
            __builtin_sub_overflow(symbol->size, symbol->padding, &size) || size <= 0)
            continue;
        add_name(listing, symbol->address, (uint64_t)size, name);
    }
}

static int collect_names(struct sxt_listing *listing, sxt_error *error)
{
    int status = sxt_symbols_new(&listing->plt, error);
    if (status != SXT_OK)
        return status;
    /* If the PLT cannot be read, its entries have no names. */
    status = sxt_elf_add_plt(&listing->elf, listing->plt, error);
    if (status == SXT_ERROR_MEMORY || listing->plt->failed)
        return sxt_fail_memory(error, listing->elf.size);
    size_t room = listing->size->symbol_count + listing->plt->symbol_count + 1;
    listing->names = malloc(room * sizeof *listing->names);
    if (listing->names == NULL)
        return sxt_fail_memory(error, room * sizeof *listing->names);
    add_symbol_names(listing);
    for (size_t i = 0; i < listing->plt->symbol_count; i++) {
        const struct sxt_model_symbol *symbol = &listing->plt->symbols[i];
        add_name(listing, symbol->address, symbol->size, sxt_symbols_view(listing->plt, symbol->name));
    }
    qsort(listing->names, listing->name_count, sizeof *listing->names, by_address);
    return SXT_OK;
}

/* The last name that begins at or before ADDRESS and ends after it; NULL if there is none. */
static const struct sxt_listing_name *find_name(const struct sxt_listing *listing, uint64_t address)
{
    size_t low = SXT_SEARCH_ABOVE(listing->names, listing->name_count, start, address);
    if (low == 0 || listing->names[low - 1].end <= address)
        return NULL;
    while (low > 1 && listing->names[low - 2].start == listing->names[low - 1].start &&
           listing->names[low - 2].end > address)
        low--;
    return &listing->names[low - 1];
}

static const struct sxt_elf_section *find_section(const struct sxt_elf *elf, uint64_t address)
{
    for (size_t i = 1; i < elf->section_count; i++) {
        const struct sxt_elf_section *section = &elf->sections[i];
        if ((section->flags & SHF_ALLOC) != 0 && (section->flags & SHF_TLS) == 0 && address >= section->address &&
            address - section->address < section->size && section->name.size > 0)
            return section;
    }
    return NULL;
}

static void put_text(sxt_string name, struct sxt_buffer *out)
{
    size_t size = name.size;
    if (size > NAME_MAX_BYTES)
        for (size = NAME_MAX_BYTES; size > 0 && ((uint8_t)name.data[size] & 0xc0) == 0x80;)
            size--;
    sxt_buffer_append(out, name.data, size);
    if (size < name.size)
        sxt_buffer_append(out, "...", 3);
}

/* Where no name is known, the name of the section; an offset in it would change with everything before it. */
static void put_name(void *context, uint64_t address, struct sxt_buffer *out)
{
    const struct sxt_listing *listing = context;
    if (address >= listing->start && address < listing->end) {
        sxt_buffer_print(out, "<+0x%llx>", (unsigned long long)(address - listing->start));
        return;
    }
    const struct sxt_listing_name *found = find_name(listing, address);
    const struct sxt_elf_section *section = found == NULL ? find_section(&listing->elf, address) : NULL;
    if (found == NULL && section == NULL) {
        sxt_buffer_print(out, "0x%llx", (unsigned long long)address);
        return;
    }
    sxt_buffer_u8(out, '<');
    put_text(found != NULL ? found->name : section->name, out);
    if (found != NULL && address > found->start)
        sxt_buffer_print(out, "+0x%llx", (unsigned long long)(address - found->start));
    sxt_buffer_u8(out, '>');
}

/* --- a function --- */

int sxt_listing_make(struct sxt_listing *listing, const struct sxt_size_model_symbol *symbol, struct sxt_buffer *out,
                     sxt_error *error)
{
    const struct sxt_elf *elf = &listing->elf;
    int64_t size;
    if (symbol->address == 0 || __builtin_sub_overflow(symbol->size, symbol->padding, &size) || size <= 0 ||
        (uint64_t)size > UINT64_MAX - symbol->address)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "a symbol without bytes");
    listing->start = without_thumb_bit(listing, symbol->address);
    listing->end = listing->start + (uint64_t)size;
    bool is_cut = size > SXT_LISTING_BYTES_MAX;
    struct sxt_code_piece piece = {.machine = elf->machine,
                                   .is_64 = elf->is_64,
                                   .big_endian = elf->big_endian,
                                   .is_thumb = listing->start != symbol->address,
                                   .size = is_cut ? SXT_LISTING_BYTES_MAX : (size_t)size,
                                   .address = listing->start};
    piece.bytes = sxt_elf_at_address(elf, piece.address, piece.size);
    if (piece.bytes == NULL)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "no bytes at address 0x%llx",
                        (unsigned long long)piece.address);
    int status = sxt_code_list(&piece, put_name, listing, out, error);
    if (status == SXT_OK && is_cut)
        sxt_buffer_print(out, "\t(cut after %d bytes)\n", SXT_LISTING_BYTES_MAX);
    return status == SXT_OK ? sxt_buffer_status(out, error) : status;
}
