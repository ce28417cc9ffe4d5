/* write.c: writes a list of symbols as a blob. Every part is measured first, so that the blob is allocated once. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sort.h"
#include "ksym/private.h"

#define TOKEN_MARK       0xff
#define RECORD_HEAD_SIZE 3 /* type and size */
#define TYPES            256

struct encoder {
    const struct sxt_ksym_list *list;
    const struct sxt_ksym_encode_options *options;
    struct sxt_ksym_order order;
    struct sxt_ksym_choice *choice;
    uint16_t *token_of;   /* by place of a name: the token that it begins with, or SXT_KSYM_NO_TOKEN */
    uint32_t *by_address; /* the symbols of the list */
    uint32_t *index_of;   /* by symbol of the list: where it is in the order of addresses */
    uint32_t *leader_of;  /* by symbol of the list: the symbol whose record it shares */
    uint64_t names_size;
    uint64_t plain_names_size;
    uint64_t tokens_size;
};

static int check_names(const struct encoder *encoder, sxt_error *error);
static int allocate(struct encoder *encoder, sxt_error *error);
static int sort_addresses(struct encoder *encoder, sxt_error *error);
static void choose_records(struct encoder *encoder);
static int choose_tokens(struct encoder *encoder, sxt_error *error);
static void measure(struct encoder *encoder);
static void drop_tokens_in_vain(struct encoder *encoder);
static int check_size(const struct encoder *encoder, sxt_error *error);
static int write_blob(const struct encoder *encoder, uint8_t **data, size_t *size, sxt_error *error);
static void fill_report(const struct encoder *encoder, uint64_t size, struct sxt_ksym_encode_report *report);
static void free_encoder(struct encoder *encoder);

int sxt_ksym_encode(const struct sxt_ksym_list *list, const struct sxt_ksym_encode_options *options, uint8_t **data,
                    size_t *size, struct sxt_ksym_encode_report *report, sxt_error *error)
{
    static const struct sxt_ksym_encode_options defaults = {.layout = SXT_KSYM_SEED};
    struct encoder encoder = {.list = list, .options = options != NULL ? options : &defaults};
    *data = NULL;
    *size = 0;
    int status = sxt_ksym_order_make(&encoder.order, list, encoder.options->share_records, error);
    if (status == SXT_OK)
        status = check_names(&encoder, error);
    if (status == SXT_OK)
        status = allocate(&encoder, error);
    if (status == SXT_OK)
        status = sort_addresses(&encoder, error);
    if (status == SXT_OK)
        status = choose_tokens(&encoder, error);
    if (status == SXT_OK) {
        choose_records(&encoder);
        measure(&encoder);
        drop_tokens_in_vain(&encoder);
        status = check_size(&encoder, error);
    }
    if (status == SXT_OK)
        status = write_blob(&encoder, data, size, error);
    if (status == SXT_OK && report != NULL)
        fill_report(&encoder, *size, report);
    free_encoder(&encoder);
    return status;
}

static int check_names(const struct encoder *encoder, sxt_error *error)
{
    for (size_t place = 0; place < encoder->order.count; place++) {
        enum sxt_ksym_fit fit = sxt_ksym_name_fit(sxt_ksym_order_name(&encoder->order, place));
        if (fit == SXT_KSYM_FITS)
            continue;
        uint64_t address = encoder->list->symbols[encoder->order.sequence[encoder->order.starts[place]]].address;
        if (fit == SXT_KSYM_TOO_LONG)
            return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                            "the name of the symbol at 0x%" PRIx64
                            " is longer than the %d bytes that a ksym record holds",
                            address, SXT_KSYM_RECORD_MOST);
        return sxt_fail(error, SXT_ERROR_UNSUPPORTED, SXT_NO_OFFSET, "the symbol at 0x%" PRIx64 " has %s", address,
                        fit == SXT_KSYM_EMPTY ? "no name" : "a name that is not UTF-8");
    }
    return SXT_OK;
}

static int allocate(struct encoder *encoder, sxt_error *error)
{
    size_t room = encoder->list->count + 1;
    encoder->choice = malloc(sizeof *encoder->choice);
    encoder->token_of = malloc((encoder->order.count + 1) * sizeof *encoder->token_of);
    encoder->by_address = malloc(room * sizeof *encoder->by_address);
    encoder->index_of = malloc(room * sizeof *encoder->index_of);
    encoder->leader_of = malloc(room * sizeof *encoder->leader_of);
    if (encoder->choice == NULL || encoder->token_of == NULL || encoder->by_address == NULL ||
        encoder->index_of == NULL || encoder->leader_of == NULL)
        return sxt_fail_memory(error, room * sizeof *encoder->by_address);
    return SXT_OK;
}

static void free_encoder(struct encoder *encoder)
{
    sxt_ksym_order_free(&encoder->order);
    free(encoder->choice);
    free(encoder->token_of);
    free(encoder->by_address);
    free(encoder->index_of);
    free(encoder->leader_of);
}

static int sort_addresses(struct encoder *encoder, sxt_error *error)
{
    size_t count = encoder->list->count;
    struct sxt_sort_item *items = malloc(2 * (count + 1) * sizeof *items);
    if (items == NULL)
        return sxt_fail_memory(error, 2 * (count + 1) * sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = (struct sxt_sort_item){encoder->list->symbols[i].address, (uint32_t)i};
    sxt_sort(items, items + count, count);
    for (size_t i = 0; i < count; i++) {
        encoder->by_address[i] = items[i].index;
        encoder->index_of[items[i].index] = (uint32_t)i;
    }
    free(items);
    return SXT_OK;
}

/* Of the symbols that share a record, the first by address writes it. */
static void choose_records(struct encoder *encoder)
{
    const struct sxt_ksym_order *order = &encoder->order;
    uint32_t leaders[TYPES];
    for (size_t i = 0; i < encoder->list->count; i++)
        encoder->leader_of[i] = (uint32_t)i;
    for (size_t place = 0; encoder->options->share_records && place < order->count; place++) {
        const uint32_t *symbols = order->sequence + order->starts[place];
        size_t count = order->starts[place + 1] - order->starts[place];
        if (count < 2)
            continue;
        for (size_t i = 0; i < count; i++)
            leaders[(uint8_t)encoder->list->symbols[symbols[i]].type] = symbols[i];
        for (size_t i = 0; i < count; i++) {
            uint32_t *leader = &leaders[(uint8_t)encoder->list->symbols[symbols[i]].type];
            if (encoder->index_of[symbols[i]] < encoder->index_of[*leader])
                *leader = symbols[i];
        }
        for (size_t i = 0; i < count; i++)
            encoder->leader_of[symbols[i]] = leaders[(uint8_t)encoder->list->symbols[symbols[i]].type];
    }
}

/* Longer tokens come after shorter ones, so that a name ends up with the longest. */
static int choose_tokens(struct encoder *encoder, sxt_error *error)
{
    struct sxt_sort_item items[SXT_KSYM_TOKENS_WRITTEN], scratch[SXT_KSYM_TOKENS_WRITTEN];
    struct sxt_ksym_choice *choice = encoder->choice;
    bool is_reference = encoder->options->tokens == SXT_KSYM_TOKENS_REFERENCE;
    int status = is_reference ? sxt_ksym_choose_reference(choice, &encoder->order, error)
                              : sxt_ksym_choose_saving(choice, &encoder->order, error);
    if (status != SXT_OK)
        return status;
    for (size_t place = 0; place < encoder->order.count; place++)
        encoder->token_of[place] = SXT_KSYM_NO_TOKEN;
    for (size_t id = 0; id < choice->count; id++)
        items[id] = (struct sxt_sort_item){choice->tokens[id].length, (uint32_t)id};
    sxt_sort(items, scratch, choice->count);
    for (size_t i = 0; i < choice->count; i++) {
        const struct sxt_ksym_token *token = &choice->tokens[items[i].index];
        if (is_reference && token->length < SXT_KSYM_REFERENCE_SHORTEST)
            continue;
        for (size_t place = token->first; place < token->end; place++)
            encoder->token_of[place] = (uint16_t)items[i].index;
    }
    return SXT_OK;
}

/* What a record holds after its head. */
static size_t payload_size(const struct encoder *encoder, size_t place)
{
    size_t size = sxt_ksym_order_name(&encoder->order, place).size;
    uint16_t id = encoder->token_of[place];
    if (id == SXT_KSYM_NO_TOKEN)
        return size;
    return sxt_ksym_marker_size(id) + size - encoder->choice->tokens[id].length;
}

static void measure(struct encoder *encoder)
{
    for (size_t place = 0; place < encoder->order.count; place++) {
        uint64_t records = encoder->order.records[place];
        encoder->names_size += records * (RECORD_HEAD_SIZE + payload_size(encoder, place));
        encoder->plain_names_size += records * (RECORD_HEAD_SIZE + sxt_ksym_order_name(&encoder->order, place).size);
    }
    for (size_t id = 0; id < encoder->choice->count; id++)
        encoder->tokens_size += encoder->choice->tokens[id].length;
}

static uint64_t aligned(uint64_t size)
{
    return (size + 7) & ~UINT64_C(7);
}

static uint64_t blob_size(const struct encoder *encoder, uint64_t names_size, uint64_t tokens_size, size_t token_count)
{
    uint64_t head = encoder->options->layout == SXT_KSYM_0_6 ? 16 : 8;
    uint64_t tables = (uint64_t)encoder->list->count * (8 + 4 + 4);
    return aligned(head + tables + 8 + names_size) + aligned(8 + tokens_size) + 8 + (uint64_t)token_count * 4;
}

static uint64_t size_with_tokens(const struct encoder *encoder)
{
    return blob_size(encoder, encoder->names_size, encoder->tokens_size, encoder->choice->count);
}

static uint64_t size_without_tokens(const struct encoder *encoder)
{
    return blob_size(encoder, encoder->plain_names_size, 0, 0);
}

/* The choice does not take padding into account, which can take more than a few tokens save. */
static void drop_tokens_in_vain(struct encoder *encoder)
{
    bool is_reference = encoder->options->tokens == SXT_KSYM_TOKENS_REFERENCE;
    if (is_reference || size_with_tokens(encoder) < size_without_tokens(encoder))
        return;
    encoder->choice->count = 0;
    encoder->names_size = encoder->plain_names_size;
    encoder->tokens_size = 0;
    for (size_t place = 0; place < encoder->order.count; place++)
        encoder->token_of[place] = SXT_KSYM_NO_TOKEN;
}

static int check_size(const struct encoder *encoder, sxt_error *error)
{
    if (encoder->names_size > UINT32_MAX)
        return sxt_fail(error, SXT_ERROR_LIMIT, SXT_NO_OFFSET,
                        "the names take %" PRIu64 " bytes; a ksym blob holds less than 4 GiB", encoder->names_size);
    return SXT_OK;
}

/* --- bytes --- */

static uint8_t *write_addresses(const struct encoder *encoder, uint8_t *at);
static uint8_t *write_names(const struct encoder *encoder, uint8_t *at, uint8_t *offsets);
static uint8_t *write_record(const struct encoder *encoder, const struct sxt_ksym_input *symbol, uint8_t *at);
static void write_tokens(const struct encoder *encoder, uint8_t *at);

static int write_blob(const struct encoder *encoder, uint8_t **data, size_t *size, sxt_error *error)
{
    uint64_t needed = size_with_tokens(encoder);
    uint8_t *blob = needed <= SIZE_MAX ? calloc(1, (size_t)needed) : NULL;
    if (blob == NULL)
        return sxt_fail_memory(error, needed);
    uint8_t *at = blob;
    if (encoder->options->layout == SXT_KSYM_0_6) {
        sxt_store_u64le(at, needed);
        at += 8;
    }
    at = write_addresses(encoder, at);
    uint8_t *offsets = at;
    at += encoder->list->count * 4;
    for (size_t i = 0; i < encoder->list->count; i++, at += 4)
        sxt_store_u32le(at, encoder->index_of[encoder->order.sequence[i]]);
    at = write_names(encoder, at, offsets);
    write_tokens(encoder, blob + aligned((uint64_t)(at - blob)));
    *data = blob;
    *size = (size_t)needed;
    return SXT_OK;
}

static uint8_t *write_addresses(const struct encoder *encoder, uint8_t *at)
{
    size_t count = encoder->list->count;
    sxt_store_u64le(at, count);
    at += 8;
    for (size_t i = 0; i < count; i++, at += 8)
        sxt_store_u64le(at, encoder->list->symbols[encoder->by_address[i]].address);
    return at;
}

static uint8_t *write_names(const struct encoder *encoder, uint8_t *at, uint8_t *offsets)
{
    sxt_store_u64le(at, encoder->names_size);
    at += 8;
    const uint8_t *names = at;
    for (size_t i = 0; i < encoder->list->count; i++) {
        uint32_t symbol = encoder->by_address[i];
        uint32_t leader = encoder->leader_of[symbol];
        if (leader != symbol) {
            memcpy(offsets + 4 * i, offsets + 4 * (size_t)encoder->index_of[leader], 4);
            continue;
        }
        sxt_store_u32le(offsets + 4 * i, (uint32_t)(at - names));
        at = write_record(encoder, &encoder->list->symbols[symbol], at);
    }
    return at;
}

static uint8_t *write_record(const struct encoder *encoder, const struct sxt_ksym_input *symbol, uint8_t *at)
{
    size_t place = encoder->order.place_of[symbol->name];
    sxt_string name = encoder->order.views[symbol->name];
    uint16_t id = encoder->token_of[place];
    *at++ = (uint8_t)symbol->type;
    sxt_store_u16le(at, (uint16_t)payload_size(encoder, place));
    at += 2;
    if (id != SXT_KSYM_NO_TOKEN) {
        uint32_t length = encoder->choice->tokens[id].length;
        *at++ = TOKEN_MARK;
        if (sxt_ksym_marker_size(id) == 4)
            *at++ = (uint8_t)(id >> 8);
        *at++ = (uint8_t)id;
        *at++ = TOKEN_MARK;
        name.data += length;
        name.size -= length;
    }
    memcpy(at, name.data, name.size);
    return at + name.size;
}

static void write_tokens(const struct encoder *encoder, uint8_t *at)
{
    const struct sxt_ksym_choice *choice = encoder->choice;
    sxt_store_u64le(at, encoder->tokens_size);
    uint8_t *text = at + 8;
    uint8_t *starts = at + aligned(8 + encoder->tokens_size);
    sxt_store_u64le(starts, choice->count);
    starts += 8;
    uint32_t start = 0;
    for (size_t id = 0; id < choice->count; id++) {
        const struct sxt_ksym_token *token = &choice->tokens[id];
        sxt_store_u32le(starts + 4 * id, start);
        memcpy(text + start, sxt_ksym_order_name(&encoder->order, token->first).data, token->length);
        start += token->length;
    }
}

static void fill_report(const struct encoder *encoder, uint64_t size, struct sxt_ksym_encode_report *report)
{
    const struct sxt_ksym_choice *choice = encoder->choice;
    report->tokens = choice->count;
    report->plain_size = size_without_tokens(encoder);
    report->saved = size < report->plain_size ? report->plain_size - size : 0;
    bool has_bound = choice->most_saved >= 0 && (uint64_t)choice->most_saved <= report->plain_size;
    report->long_names = 0;
    for (size_t place = 0; place < encoder->order.count; place++)
        if (sxt_ksym_order_name(&encoder->order, place).size > SXT_KSYM_NAME_SIZE_MOST)
            report->long_names += encoder->order.starts[place + 1] - encoder->order.starts[place];
    report->size_bound = has_bound ? report->plain_size - (uint64_t)choice->most_saved : 0;
}
