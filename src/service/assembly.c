/*
 * assembly.c: POST /asm/v1.
 *
 *     {"debugName":"a","debugId":"…","startAddress":"0x1139","size":"0x10"}
 *     {"startAddress":"0x1139","size":"0x10","arch":"x86_64","syntax":["Intel"],"instructions":[[0,"push rbp"], …]}
 *
 * The executable must be stored. Addresses are relative to its first segment, those in the text too.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json_writer.h"
#include "base/string.h"
#include "code/code.h"
#include "service/find.h"
#include "service/handlers.h"
#include "service/module_question.h"
#include "service/server.h"
#include "source/elf/elf.h"

#define CODE_LIMIT    ((uint64_t)1 << 20)
#define TEXT_LIMIT    ((size_t)128 << 20)
#define REPLY_LIMIT   ((size_t)256 << 20)
#define INFLATE_LIMIT ((uint64_t)1 << 30)
#define NAME_LIMIT    1000
#define LONGEST       15 /* bytes of an instruction */

struct listing {
    struct sxt_request *request;
    const struct sxt_module_question *question;
    struct sxt_catalog_binary *binary;
    struct sxt_elf elf;
    uint64_t base;  /* of the binary */
    uint64_t start; /* the address where the code begins */
    uint64_t size;  /* of the code that is asked for */
    size_t end;     /* of the last instruction, from the start */
    struct sxt_buffer text;
};

/* --- names --- */

struct named {
    struct listing *listing;
    uint64_t address;
    struct sxt_buffer *out;
};

static void put_name(struct sxt_buffer *out, sxt_string name)
{
    for (size_t i = 0; i < name.size && i < NAME_LIMIT; i++)
        sxt_buffer_u8(out, (unsigned char)name.data[i] < ' ' ? '?' : (uint8_t)name.data[i]);
}

static int take_name(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    const struct named *named = data;
    uint64_t start, size;
    (void)index;
    if (count == 0)
        return SXT_OK;
    const sxt_frame *outer = &frames[count - 1];
    sxt_buffer_append(named->out, " <", 2);
    put_name(named->out, outer->function);
    if (sxt_catalog_function_range(named->listing->binary, named->address, outer, &start, &size) &&
        start < named->address)
        sxt_buffer_print(named->out, "+0x%llx", (unsigned long long)(named->address - start));
    sxt_buffer_u8(named->out, '>');
    return SXT_OK;
}

/* A name that cannot be looked up is left out. */
static void put_target(void *context, uint64_t address, struct sxt_buffer *out)
{
    struct listing *listing = context;
    struct named named = {.listing = listing, .address = address, .out = out};
    struct sxt_catalog_question question = {.addresses = &address, .count = 1};
    sxt_buffer_print(out, "0x%llx", (unsigned long long)(address - listing->base));
    sxt_catalog_lookup(listing->binary, &question, take_name, &named, NULL);
}

/* --- the code --- */

static uint64_t first_address(const struct sxt_elf *elf)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < elf->segment_count; i++)
        if (elf->segments[i].type == PT_LOAD && elf->segments[i].address < first)
            first = elf->segments[i].address;
    return first != UINT64_MAX ? first : 0;
}

static void take_range(const struct listing *listing, const sxt_frame *outer, uint64_t *size)
{
    uint64_t start, length;
    if (sxt_catalog_function_range(listing->binary, listing->start, outer, &start, &length) &&
        start <= listing->start && length > listing->start - start && length - (listing->start - start) > *size)
        *size = length - (listing->start - start);
}

static int take_end(void *data, size_t index, const sxt_frame *frames, size_t count)
{
    struct listing *listing = data;
    (void)index;
    if (count > 0)
        take_range(listing, &frames[count - 1], &listing->size);
    return SXT_OK;
}

/* The address of a Thumb function is odd. If no symbol says it, code is taken for Thumb, as most of it is. */
static bool is_thumb(struct sxt_elf *elf, uint64_t address)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < 2; i++) {
        struct sxt_elf_symbol_table table;
        const struct sxt_elf_section *section = sxt_elf_section_typed(elf, types[i]);
        if (section == NULL || sxt_elf_symbol_table_open(elf, section, &table, NULL) != SXT_OK)
            continue;
        for (size_t k = 0; k < table.count; k++) {
            struct sxt_elf_symbol symbol = sxt_elf_symbol_at(&table, k);
            uint64_t start = symbol.value & ~(uint64_t)1;
            if (ELF64_ST_TYPE(symbol.info) == STT_FUNC && address >= start && address - start < symbol.size)
                return symbol.value & 1;
        }
    }
    return true;
}

static int list_code(struct listing *listing, sxt_error *error)
{
    struct sxt_elf *elf = &listing->elf;
    uint64_t there = sxt_elf_available_at(elf, listing->start), most = listing->size + LONGEST;
    struct sxt_code_piece piece = {.machine = elf->machine,
                                   .is_64 = elf->is_64,
                                   .big_endian = elf->big_endian,
                                   .size = (size_t)(there < most ? there : most),
                                   .address = listing->start,
                                   .is_thumb = elf->machine == EM_ARM && is_thumb(elf, listing->start),
                                   .is_intel = true,
                                   .stop = (size_t)listing->size,
                                   .end = &listing->end};
    piece.bytes = there > 0 ? sxt_elf_at_address(elf, listing->start, piece.size) : NULL;
    if (piece.bytes == NULL)
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the executable has no bytes at this address");
    return listing->size > 0 ? sxt_code_list(&piece, put_target, listing, &listing->text, error) : SXT_OK;
}

/* --- the reply --- */

static const char *arch_of(const struct sxt_elf *elf)
{
    const char *arch = sxt_elf_arch(elf);
    return elf->machine == EM_386 ? "i686" : arch != NULL ? arch : "unknown";
}

static const char *syntax_of(const struct sxt_elf *elf)
{
    bool is_x86 = elf->machine == EM_386 || elf->machine == EM_X86_64;
    return is_x86 ? "Intel" : elf->machine == EM_ARM || elf->machine == EM_AARCH64 ? "ARM" : arch_of(elf);
}

/* A line of the listing is the offset in hexadecimal, a colon, a tab, and the instruction. */
static void write_instructions(struct sxt_json_writer *json, struct sxt_buffer *text)
{
    char *at = (char *)text->data, *limit = at + text->size;
    while (at < limit) {
        char *end = memchr(at, '\n', (size_t)(limit - at)), *colon;
        uint64_t offset = strtoull(at, &colon, 16);
        char *instruction = colon + 2;
        for (char *tab = instruction; (tab = memchr(tab, '\t', (size_t)(end - tab))) != NULL;)
            *tab = ' ';
        sxt_json_write_begin(json, NULL, '[');
        sxt_json_write_number(json, NULL, offset);
        sxt_json_write_string(json, NULL, (sxt_string){instruction, (size_t)(end - instruction)});
        sxt_json_write_end(json, ']');
        at = end + 1;
    }
}

static void reply_listing(struct listing *listing)
{
    struct sxt_buffer body;
    sxt_buffer_init(&body, REPLY_LIMIT);
    struct sxt_json_writer json = sxt_json_writer_make(&body, SXT_JSON_COMPACT);
    sxt_json_write_begin(&json, NULL, '{');
    sxt_json_write_address(&json, "startAddress", listing->start - listing->base);
    sxt_json_write_address(&json, "size", listing->end);
    sxt_json_write_string(&json, "arch", sxt_string_of(arch_of(&listing->elf)));
    sxt_json_write_begin(&json, "syntax", '[');
    sxt_json_write_string(&json, NULL, sxt_string_of(syntax_of(&listing->elf)));
    sxt_json_write_end(&json, ']');
    sxt_json_write_begin(&json, "instructions", '[');
    if (listing->text.size > 0)
        write_instructions(&json, &listing->text);
    sxt_json_write_end(&json, ']');
    sxt_json_write_end(&json, '}');
    sxt_reply_buffer(listing->request, 200, "application/json", &body);
    sxt_buffer_free(&body);
}

/* --- the request --- */

static int place_code(struct listing *listing, sxt_error *error)
{
    const struct sxt_module_question *question = listing->question;
    struct sxt_catalog_question asked = {.addresses = &listing->start, .count = 1};
    unsigned alignment = listing->elf.machine == EM_AARCH64 ? 4 : listing->elf.machine == EM_ARM ? 2 : 1;
    listing->base = first_address(&listing->elf);
    listing->size = question->size;
    if (__builtin_add_overflow(listing->base, question->start, &listing->start))
        return sxt_fail(error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the executable has no bytes at this address");
    listing->start -= listing->start % alignment;
    return question->continues ? sxt_catalog_lookup(listing->binary, &asked, take_end, listing, error) : SXT_OK;
}

static int disassemble(struct listing *listing, const struct sxt_file *file, sxt_error *error)
{
    int status = sxt_elf_open(&listing->elf, file->data, file->size, INFLATE_LIMIT, error);
    if (status != SXT_OK)
        return status;
    if (listing->elf.type == ET_REL)
        status = sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "object files are not disassembled");
    if (status == SXT_OK)
        status = place_code(listing, error);
    if (status == SXT_OK && listing->size > CODE_LIMIT)
        status = sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET, "more than %llu bytes of code",
                          (unsigned long long)CODE_LIMIT);
    if (status == SXT_OK)
        status = list_code(listing, error);
    /* The text is there twice: as it is, and in the reply. */
    if (status == SXT_OK && sxt_request_count_memory(listing->request, 2 * listing->text.size))
        reply_listing(listing);
    sxt_elf_close(&listing->elf);
    return status;
}

static void refuse(struct sxt_request *request, int status, const sxt_error *error)
{
    if (status == SXT_ERROR_NOT_FOUND || status == SXT_ERROR_UNSUPPORTED || status == SXT_ERROR_FORMAT)
        sxt_reply_failure(request, 404, SXT_CODE_UNKNOWN_FILE, "%s", error->text);
    else if (status == SXT_ERROR_LIMIT)
        sxt_reply_failure(request, 413, SXT_CODE_TOO_LARGE, "%s", error->text);
    else
        sxt_reply_error(request, error);
}

static void answer(struct sxt_request *request, const struct sxt_module_question *question,
                   const struct sxt_catalog_id *ids, size_t id_count, struct sxt_catalog_binary *binary)
{
    struct listing listing = {.request = request, .question = question, .binary = binary};
    struct sxt_store_object *object = NULL;
    struct sxt_file file;
    char hash[65];
    sxt_error error;
    int status = sxt_catalog_open_content(request->service->catalog, request->tenant, ids, id_count,
                                          SXT_CATALOG_EXECUTABLE, NULL, &object, hash, &error);
    if (status == SXT_ERROR_NOT_FOUND)
        sxt_fail(&error, SXT_ERROR_NOT_FOUND, SXT_NO_OFFSET, "the executable is not stored");
    if (status == SXT_OK && (status = sxt_store_map(object, &file, &error)) == SXT_OK) {
        sxt_buffer_init(&listing.text, TEXT_LIMIT);
        status = disassemble(&listing, &file, &error);
        sxt_buffer_free(&listing.text);
        sxt_file_close(&file);
    }
    sxt_store_close_object(&object);
    if (status != SXT_OK)
        refuse(request, status, &error);
}

static bool is_complete(const struct sxt_module_question *question)
{
    return question->has_start && question->has_size;
}

enum sxt_handled sxt_handle_assembly(struct sxt_request *request)
{
    static const struct sxt_module_handler handler = {
        is_complete, "the request lacks debugId or codeId, startAddress or size", answer};
    return sxt_module_question_handle(request, &handler);
}
