/*
 * reader.c: the freestanding reader of ksym blobs. The contract and the layout are in sextant/ksym.h; nothing else is
 * included, so that the two files can be copied into a kernel.
 *
 * sxt_ksym_open checks everything that could lead outside of the blob, so the other functions need no checks. The
 * exception is the marker of a token, which is checked when its name is read.
 */
#include <sextant/ksym.h>

#define RECORD_HEADER 3
#define MARKER        0xFF
#define PAGE          4096
#define BLOCK         64
#define GUESS         8 /* addresses in a cache line: how far off a guess may be */

#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline /* unoptimised, every inlined call would take stack of its own */
#endif

#if defined(__GNUC__)
#define PREFETCH(place) __builtin_prefetch(place)
/* Keeps compilers from replacing a copying loop by a call of memcpy, which a kernel may not have. */
#define KEEP_LOOP(variable) __asm__("" : "+r"(variable))
#else
#define PREFETCH(place)
#define KEEP_LOOP(variable)
#endif

#if defined(__SSE2__)
/* Two registers of 8 bytes would take twice as long; a kernel that is compiled without SSE does not have this. */
struct unaligned16 {
    long long words __attribute__((vector_size(16)));
} __attribute__((packed, may_alias));
#endif

/* What is searched for: a name, or everything that begins with a name and " [". */
struct query {
    const unsigned char *name;
    size_t size;
    uint64_t last; /* the last 8 bytes of the name, or all of it, as a big-endian number */
    bool bracket;
};

/* Text that is being written to a caller's buffer. SIZE also counts what does not fit. */
struct text {
    char *bytes;
    size_t capacity, size;
};

/* --- numbers, at any alignment and on any host --- */

INLINE uint32_t load16(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8;
}

INLINE uint32_t load32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

INLINE uint64_t load64(const unsigned char *from)
{
    return (uint64_t)from[0] | (uint64_t)from[1] << 8 | (uint64_t)from[2] << 16 | (uint64_t)from[3] << 24 |
           (uint64_t)from[4] << 32 | (uint64_t)from[5] << 40 | (uint64_t)from[6] << 48 | (uint64_t)from[7] << 56;
}

INLINE uint64_t load64_big(const unsigned char *from)
{
    return (uint64_t)from[0] << 56 | (uint64_t)from[1] << 48 | (uint64_t)from[2] << 40 | (uint64_t)from[3] << 32 |
           (uint64_t)from[4] << 24 | (uint64_t)from[5] << 16 | (uint64_t)from[6] << 8 | (uint64_t)from[7];
}

INLINE uint64_t address_at(const sxt_ksym *ksym, size_t index)
{
    return load64(ksym->addresses + 8 * index);
}

INLINE size_t ordered(const sxt_ksym *ksym, size_t position)
{
    return load32(ksym->order + 4 * position);
}

/* --- open --- */

static void clear(sxt_ksym *ksym)
{
    ksym->data = ksym->addresses = ksym->offsets = ksym->order = NULL;
    ksym->names = ksym->tokens = ksym->token_starts = NULL;
    ksym->size = ksym->count = ksym->names_size = ksym->tokens_size = ksym->token_count = ksym->sample_count = 0;
    ksym->text_first = 1;
    ksym->text_last = 0;
    ksym->layout = SXT_KSYM_SEED;
}

/* A part begins at the next multiple of 8 from *AT on, with the number of units that follow. Moves *AT after them. */
static bool read_part(const sxt_ksym *ksym, size_t *at, size_t unit, const unsigned char **part, size_t *count)
{
    size_t padding = (8 - *at % 8) % 8;
    if (ksym->size - *at < padding + 8)
        return false;
    *at += padding;
    uint64_t number = load64(ksym->data + *at);
    if (number > (ksym->size - *at - 8) / unit)
        return false;
    *at += 8;
    *part = ksym->data + *at;
    *count = (size_t)number;
    *at += *count * unit;
    return true;
}

static const char *read_parts(sxt_ksym *ksym, size_t at, size_t *offset)
{
    *offset = at;
    if (!read_part(ksym, &at, 16, &ksym->addresses, &ksym->count))
        return "there are fewer bytes than the symbols need";
    ksym->offsets = ksym->addresses + 8 * ksym->count;
    ksym->order = ksym->offsets + 4 * ksym->count;
    *offset = at;
    if (!read_part(ksym, &at, 1, &ksym->names, &ksym->names_size))
        return "there are fewer bytes than the names need";
    *offset = at;
    if (!read_part(ksym, &at, 1, &ksym->tokens, &ksym->tokens_size))
        return "there are fewer bytes than the tokens need";
    *offset = at;
    if (!read_part(ksym, &at, 4, &ksym->token_starts, &ksym->token_count))
        return "there are fewer bytes than the token index needs";
    ksym->size = at;
    return NULL;
}

static const char *check_symbols(const sxt_ksym *ksym, size_t *offset)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < ksym->count; i++) {
        uint64_t address = address_at(ksym, i);
        size_t name = load32(ksym->offsets + 4 * i);
        *offset = (size_t)(ksym->addresses - ksym->data) + 8 * i;
        if (address < previous)
            return "addresses are not in ascending order";
        previous = address;
        *offset = (size_t)(ksym->offsets - ksym->data) + 4 * i;
        if (ksym->names_size < RECORD_HEADER || name > ksym->names_size - RECORD_HEADER)
            return "the offset of a name is beyond the names";
        *offset = (size_t)(ksym->names - ksym->data) + name;
        if (load16(ksym->names + name + 1) > ksym->names_size - RECORD_HEADER - name)
            return "a name goes beyond the end of the names";
        *offset = (size_t)(ksym->order - ksym->data) + 4 * i;
        if (ordered(ksym, i) >= ksym->count)
            return "the order of names has a symbol that does not exist";
    }
    return NULL;
}

static const char *check_tokens(const sxt_ksym *ksym, size_t *offset)
{
    for (size_t i = 0; i < ksym->token_count; i++) {
        const unsigned char *place = ksym->token_starts + 4 * i;
        size_t start = load32(place);
        size_t end = i + 1 < ksym->token_count ? load32(place + 4) : ksym->tokens_size;
        *offset = (size_t)(place - ksym->data);
        if (start > ksym->tokens_size || end < start)
            return "the token index is not in ascending order, or beyond the tokens";
        if (end - start > SXT_KSYM_TOKEN_SIZE_MOST)
            return "a token is longer than 65535 bytes";
    }
    return NULL;
}

static const char *read_layout(sxt_ksym *ksym, const unsigned char *data, size_t size, sxt_ksym_layout layout,
                               size_t *offset)
{
    clear(ksym);
    ksym->data = data;
    ksym->size = size;
    ksym->layout = layout;
    size_t at = 0;
    *offset = 0;
    if (layout == SXT_KSYM_0_6) {
        uint64_t whole = size < 16 ? 0 : load64(data);
        if (whole < 16 || whole >> 40 != 0 || load64(data + 8) > (whole - 16) / 16)
            return "the first two numbers are not those of a ksym blob";
        if (whole > size) {
            *offset = size;
            return "the end of the blob is missing";
        }
        ksym->size = (size_t)whole;
        at = 8;
    }
    const char *wrong = read_parts(ksym, at, offset);
    wrong = wrong != NULL ? wrong : check_symbols(ksym, offset);
    return wrong != NULL ? wrong : check_tokens(ksym, offset);
}

static void fill_buckets(sxt_ksym *ksym);
static void sample_names(sxt_ksym *ksym);

const char *sxt_ksym_open(sxt_ksym *ksym, const void *data, size_t size, uint64_t text_start, uint64_t text_end,
                          size_t *offset)
{
    /*
     * The seed layout is tried first: a few zeros make a valid seed blob look like an empty 0.6 blob. A 0.6 blob that
     * looks like a seed blob would need 16 bytes for each byte of its size.
     */
    size_t wrong_at = 0, newer_wrong_at = 0;
    const char *wrong = read_layout(ksym, data, size, SXT_KSYM_SEED, &wrong_at);
    if (wrong != NULL) {
        const char *newer_wrong = read_layout(ksym, data, size, SXT_KSYM_0_6, &newer_wrong_at);
        /* The layout that could be read further is probably the right one. */
        if (newer_wrong == NULL || newer_wrong_at > wrong_at) {
            wrong = newer_wrong;
            wrong_at = newer_wrong_at;
        }
    }
    if (wrong != NULL)
        clear(ksym);
    if (wrong != NULL && offset != NULL)
        *offset = wrong_at;
    sxt_ksym_set_text(ksym, text_start, text_end);
    fill_buckets(ksym);
    sample_names(ksym);
    return wrong;
}

void sxt_ksym_set_text(sxt_ksym *ksym, uint64_t text_start, uint64_t text_end)
{
    ksym->text_first = 1;
    ksym->text_last = 0;
    if (text_start == 0 && text_end == 0 && ksym->count > 0) {
        ksym->text_first = address_at(ksym, 0);
        ksym->text_last = address_at(ksym, ksym->count - 1) | (PAGE - 1);
    } else if (text_start < text_end) {
        ksym->text_first = text_start;
        ksym->text_last = text_end - 1;
    }
}

/* --- names where they are stored --- */

/* The size of the marker that PAYLOAD begins with, and the id in it; 0 if the payload is a plain name. */
static size_t read_marker(const sxt_ksym *ksym, const unsigned char *payload, size_t size, size_t *token)
{
    if (size < 3 || payload[0] != MARKER)
        return 0;
    bool four_bytes = size > 3 && payload[3] == MARKER;
    size_t id = (size_t)payload[1] << 8 | payload[2];
    /* An id that ends in FF looks like an id of one byte before a name that begins with FF; no name does. */
    if (payload[2] == MARKER && !(four_bytes && payload[1] != 0 && id < ksym->token_count)) {
        *token = payload[1];
        return 3;
    }
    *token = id;
    return four_bytes ? 4 : 0;
}

INLINE const unsigned char *record_at(const sxt_ksym *ksym, size_t index)
{
    return ksym->names + load32(ksym->offsets + 4 * index);
}

static void find_name(const sxt_ksym *ksym, size_t index, sxt_ksym_stored *stored)
{
    const unsigned char *record = record_at(ksym, index);
    size_t size = load16(record + 1);
    stored->token = 0;
    stored->marker_size = read_marker(ksym, record + RECORD_HEADER, size, &stored->token);
    stored->head = stored->tail = record + RECORD_HEADER + stored->marker_size;
    stored->head_size = 0;
    stored->tail_size = size - stored->marker_size;
    /* A token that does not exist counts as empty. */
    if (stored->marker_size > 0 && stored->token < ksym->token_count) {
        const unsigned char *place = ksym->token_starts + 4 * stored->token;
        size_t start = load32(place);
        stored->head = ksym->tokens + start;
        stored->head_size = (stored->token + 1 < ksym->token_count ? load32(place + 4) : ksym->tokens_size) - start;
    }
}

INLINE size_t stored_size(const sxt_ksym_stored *stored)
{
    return stored->head_size + stored->tail_size;
}

static unsigned char stored_byte(const sxt_ksym_stored *stored, size_t at)
{
    return at < stored->head_size ? stored->head[at] : stored->tail[at - stored->head_size];
}

/* The size of the module at the end of a name, 0 for none. */
static size_t find_module(const sxt_ksym_stored *stored)
{
    size_t size = stored_size(stored);
    if (size < 4 || stored_byte(stored, size - 1) != ']')
        return 0;
    size_t at = size - 1;
    unsigned char byte = 0;
    while (at > 0 && (byte = stored_byte(stored, at - 1)) != ' ' && byte != '[' && byte != ']')
        at--;
    bool opened = at > 1 && byte == '[' && stored_byte(stored, at - 2) == ' ';
    return opened ? size - 1 - at : 0;
}

static size_t bare_size(const sxt_ksym_stored *stored, size_t module_size)
{
    return stored_size(stored) - (module_size > 0 ? module_size + 3 : 0);
}

/* --- text into a caller's buffer --- */

/* One load and one store: compilers join the bytes, but not those of a loop. */
INLINE void copy8(char *to, const unsigned char *from)
{
    uint64_t word = load64(from);
    to[0] = (char)(unsigned char)word;
    to[1] = (char)(unsigned char)(word >> 8);
    to[2] = (char)(unsigned char)(word >> 16);
    to[3] = (char)(unsigned char)(word >> 24);
    to[4] = (char)(unsigned char)(word >> 32);
    to[5] = (char)(unsigned char)(word >> 40);
    to[6] = (char)(unsigned char)(word >> 48);
    to[7] = (char)(unsigned char)(word >> 56);
}

/*
 * The last step may copy some bytes twice. That avoids a loop over the rest, whose length a processor cannot predict.
 */
static void copy(char *to, const unsigned char *from, size_t size)
{
    if (size >= 8) {
        for (size_t i = 0; i + 8 < size; i += 8) {
            copy8(to + i, from + i);
            KEEP_LOOP(i);
        }
        copy8(to + size - 8, from + size - 8);
    } else if (size >= 4) {
        for (unsigned i = 0; i < 4; i++) {
            to[i] = (char)from[i];
            to[size - 4 + i] = (char)from[size - 4 + i];
        }
    } else if (size > 0) {
        to[0] = (char)from[0];
        to[size / 2] = (char)from[size / 2];
        to[size - 1] = (char)from[size - 1];
    }
}

INLINE void copy16(char *to, const unsigned char *from)
{
#if defined(__SSE2__)
    *(struct unaligned16 *)(void *)to = *(const struct unaligned16 *)(const void *)from;
#else
    copy8(to, from);
    copy8(to + 8, from + 8);
#endif
}

INLINE void copy_block(char *to, const unsigned char *from)
{
    copy16(to, from);
    copy16(to + 16, from + 16);
    copy16(to + 32, from + 32);
    copy16(to + 48, from + 48);
}

/*
 * Copies in steps of BLOCK bytes, so it reads and writes up to BLOCK bytes after the end. Most names take one or two
 * steps: a processor predicts that, and begins the next search while this name is still being loaded.
 */
INLINE void copy_blocks(char *to, const unsigned char *from, size_t size)
{
    copy_block(to, from);
    for (size_t i = BLOCK; i < size; i += BLOCK) {
        copy_block(to + i, from + i);
        KEEP_LOOP(i);
    }
}

/* Writes the first SIZE bytes of a stored name in blocks; false if there is not enough room around them. */
INLINE bool put_blocks(const sxt_ksym *ksym, const sxt_ksym_stored *stored, size_t size, char *to, size_t capacity)
{
    const unsigned char *end = ksym->data + ksym->size;
    if (capacity < stored_size(stored) + BLOCK || (size_t)(end - stored->tail) < stored->tail_size + BLOCK ||
        (size_t)(end - stored->head) < stored->head_size + BLOCK)
        return false;
    copy_blocks(to, stored->head, stored->head_size);
    copy_blocks(to + stored->head_size, stored->tail, stored->tail_size);
    to[size] = '\0';
    return true;
}

static void put(struct text *text, const unsigned char *bytes, size_t size)
{
    size_t room = text->capacity > text->size ? text->capacity - text->size : 0;
    if (room > 0)
        copy(text->bytes + text->size, bytes, size < room ? size : room);
    text->size += size;
}

/* The bytes from BEGIN to END of a stored name. */
static void put_stored(struct text *text, const sxt_ksym_stored *stored, size_t begin, size_t end)
{
    size_t middle = stored->head_size < begin ? begin : stored->head_size < end ? stored->head_size : end;
    if (begin < middle)
        put(text, stored->head + begin, middle - begin);
    if (middle < end)
        put(text, stored->tail + (middle - stored->head_size), end - middle);
}

/* Where to cut BYTES that continue after SIZE: not within a UTF-8 character. */
static size_t cut_at(const char *bytes, size_t size)
{
    size_t back = 1;
    while (back < 3 && back < size && ((unsigned char)bytes[size - back] & 0xC0) == 0x80)
        back++;
    unsigned char byte = size > 0 ? (unsigned char)bytes[size - back] : 0;
    size_t need = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return need > back ? size - back : size;
}

/* Ends the text with a NUL, for which the last byte of the capacity is reserved. Returns the size of the whole text. */
static size_t finish(struct text *text)
{
    if (text->capacity > 0) {
        bool fits = text->size < text->capacity;
        text->bytes[fits ? text->size : cut_at(text->bytes, text->capacity - 1)] = '\0';
    }
    return text->size;
}

/* --- by address --- */

/*
 * The distance of an address from the first one, without the largest gap between two symbols: modules are far from the
 * kernel, and most buckets would be in between.
 */
INLINE uint64_t distance_to(const sxt_ksym *ksym, uint64_t address)
{
    uint64_t in_gap = address > ksym->gap_start ? address - ksym->gap_start : 0;
    return address - address_at(ksym, 0) - (in_gap < ksym->gap_size ? in_gap : ksym->gap_size);
}

static void find_gap(sxt_ksym *ksym)
{
    ksym->gap_start = ksym->gap_size = 0;
    for (size_t i = 1; i < ksym->count; i++) {
        uint64_t size = address_at(ksym, i) - address_at(ksym, i - 1);
        if (size <= ksym->gap_size)
            continue;
        ksym->gap_start = address_at(ksym, i - 1);
        ksym->gap_size = size;
    }
}

static void fill_buckets(sxt_ksym *ksym)
{
    ksym->bucket_shift = 0;
    size_t bucket = 0;
    find_gap(ksym);
    if (ksym->count == 0 || ksym->count > UINT32_MAX)
        return;
    while (distance_to(ksym, address_at(ksym, ksym->count - 1)) >> ksym->bucket_shift >= SXT_KSYM_BUCKETS)
        ksym->bucket_shift++;
    for (size_t i = 0; i < ksym->count; i++)
        while (bucket <= distance_to(ksym, address_at(ksym, i)) >> ksym->bucket_shift)
            ksym->buckets[bucket++] = (uint32_t)i;
    while (bucket <= SXT_KSYM_BUCKETS)
        ksym->buckets[bucket++] = (uint32_t)ksym->count;
}

/*
 * How many addresses are at or before ADDRESS: all those before FIRST, and some of the COUNT from FIRST on. Each step
 * loads three addresses at once, which takes little longer than one when memory is slow, and has no branch that depends
 * on them, because a processor could not predict it.
 */
static size_t count_among(const sxt_ksym *ksym, size_t first, size_t count, uint64_t address)
{
    while (count > 3) {
        size_t quarter = count / 4;
        size_t right = (size_t)(address_at(ksym, first + quarter) <= address) +
                       (size_t)(address_at(ksym, first + 2 * quarter) <= address) +
                       (size_t)(address_at(ksym, first + 3 * quarter) <= address);
        first += right * quarter;
        count -= 3 * quarter;
    }
    size_t until = first;
    for (size_t i = 0; i < count; i++)
        until += address_at(ksym, first + i) <= address;
    return until;
}

/*
 * How many addresses are at or before ADDRESS. The bucket gives the range of indices. Addresses inside a bucket are
 * spread about evenly, so the place is guessed, and then searched for from there in growing steps.
 */
static size_t count_until(const sxt_ksym *ksym, uint64_t address)
{
    if (ksym->count == 0 || ksym->count > UINT32_MAX)
        return count_among(ksym, 0, ksym->count, address);
    if (address < address_at(ksym, 0))
        return 0;
    uint64_t distance = distance_to(ksym, address);
    unsigned shift = ksym->bucket_shift;
    if (distance >> shift >= SXT_KSYM_BUCKETS)
        return ksym->count;
    size_t low = ksym->buckets[distance >> shift], high = ksym->buckets[(distance >> shift) + 1], step = GUESS;
    if (high - low > 2 * GUESS) {
        unsigned bits = shift < 20 ? shift : 20;
        uint64_t part = distance >> (shift - bits) & (((uint64_t)1 << bits) - 1);
        size_t guess = low + (size_t)(part * (high - low) >> bits);
        PREFETCH(ksym->offsets + 4 * guess); /* its name will be needed next */
        if (address_at(ksym, guess) <= address) {
            for (low = guess + 1; high - low > step && address_at(ksym, low + step) <= address; step *= 2)
                low += step + 1;
            high = high - low > step ? low + step : high;
        } else {
            for (high = guess; high - low > step && address_at(ksym, high - step) > address; step *= 2)
                high -= step;
            low = high - low > step ? high - step : low;
        }
    }
    return count_among(ksym, low, high - low, address);
}

/* NEXT is the index of the first symbol with an address after this one's. */
static void describe(const sxt_ksym *ksym, size_t index, size_t next, sxt_ksym_stored *stored, sxt_ksym_symbol *symbol)
{
    uint64_t address = address_at(ksym, index);
    bool in_text = address <= ksym->text_last && ksym->text_first <= ksym->text_last;
    uint64_t last = in_text ? ksym->text_last : address | (PAGE - 1);
    if (next < ksym->count) {
        uint64_t before_next = address_at(ksym, next) - 1;
        last = in_text && last < before_next ? last : before_next;
    }
    find_name(ksym, index, stored);
    symbol->address = address;
    symbol->size = last - address == UINT64_MAX ? UINT64_MAX : last - address + 1;
    symbol->offset = 0;
    symbol->index = index;
    symbol->type = (char)record_at(ksym, index)[0];
    symbol->module_size = find_module(stored);
    symbol->name_size = bare_size(stored, symbol->module_size);
}

static bool find_address(const sxt_ksym *ksym, uint64_t address, sxt_ksym_stored *stored, sxt_ksym_symbol *symbol)
{
    size_t next = count_until(ksym, address);
    if (next == 0 || address < ksym->text_first || address > ksym->text_last)
        return false;
    size_t index = next - 1;
    uint64_t start = address_at(ksym, index);
    if (index > 0 && address_at(ksym, index - 1) == start)
        index = start > 0 ? count_until(ksym, start - 1) : 0;
    describe(ksym, index, next, stored, symbol);
    symbol->offset = address - start;
    return true;
}

bool sxt_ksym_lookup(const sxt_ksym *ksym, uint64_t address, char *name, size_t capacity, sxt_ksym_symbol *symbol)
{
    struct text text = {name, capacity, 0};
    sxt_ksym_stored stored;
    bool found = find_address(ksym, address, &stored, symbol);
    if (found && put_blocks(ksym, &stored, symbol->name_size, name, capacity))
        return true;
    if (found)
        put_stored(&text, &stored, 0, symbol->name_size);
    finish(&text);
    return found;
}

/* --- a line of a backtrace --- */

static size_t format_number(char *digits, uint64_t number)
{
    size_t size = 1;
    while (size < 16 && number >> 4 * size != 0)
        size++;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)(number >> 4 * (size - 1 - i) & 15);
        digits[i] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
    return size;
}

static void put_number(struct text *text, const char *before, size_t before_size, uint64_t number)
{
    char digits[16];
    put(text, (const unsigned char *)before, before_size);
    put(text, (const unsigned char *)digits, format_number(digits, number));
}

/* The part after the name. */
static void put_place(struct text *text, const sxt_ksym_stored *stored, const sxt_ksym_symbol *symbol, uint64_t address)
{
    put_number(text, "+0x", 3, address - symbol->address);
    put_number(text, "/0x", 3, symbol->size);
    put_stored(text, stored, symbol->name_size, stored_size(stored));
}

/* LOOKED_UP is the address whose symbol is printed, at most ADDRESS. */
static size_t format_symbol(const sxt_ksym *ksym, uint64_t address, uint64_t looked_up, char *buffer, size_t capacity)
{
    struct text text = {buffer, capacity, 0}, suffix = {buffer, 0, 0};
    sxt_ksym_stored stored;
    sxt_ksym_symbol symbol;
    if (!find_address(ksym, looked_up, &stored, &symbol)) {
        put_number(&text, "0x", 2, address);
        return finish(&text);
    }
    put_place(&suffix, &stored, &symbol, address);
    size_t whole = symbol.name_size + suffix.size;
    size_t room = capacity > suffix.size ? capacity - 1 - suffix.size : 0;
    put_stored(&text, &stored, 0, symbol.name_size);
    if (room > 0 && room < symbol.name_size)
        text.size = cut_at(buffer, room);
    put_place(&text, &stored, &symbol, address);
    finish(&text);
    return whole;
}

size_t sxt_ksym_format(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity)
{
    return format_symbol(ksym, address, address, buffer, capacity);
}

size_t sxt_ksym_format_return(const sxt_ksym *ksym, uint64_t address, char *buffer, size_t capacity)
{
    return format_symbol(ksym, address, address > 0 ? address - 1 : 0, buffer, capacity);
}

/* --- by name --- */

/*
 * Names are compared 8 bytes at a time, as big-endian numbers with zeros after the end. In the blob, names and tokens
 * are each followed by a number of 8 bytes, so 8 bytes can be loaded from any place in them. Nothing may be read after
 * the end of the name that a caller searches for, so its last bytes are loaded beforehand.
 */
INLINE uint64_t keep_bytes(uint64_t key, size_t count)
{
    size_t half = 4 * (count < 8 ? count : 8);
    return key & ~(UINT64_MAX >> half >> half);
}

INLINE uint64_t stored_key(const sxt_ksym_stored *stored, size_t at)
{
    size_t in_head = at < stored->head_size ? at : stored->head_size;
    size_t in_tail = at - in_head < stored->tail_size ? at - in_head : stored->tail_size;
    size_t head_left = stored->head_size - in_head;
    size_t half = 4 * (head_left < 8 ? head_left : 8);
    uint64_t tail = keep_bytes(load64_big(stored->tail + in_tail), stored->tail_size - in_tail);
    return keep_bytes(load64_big(stored->head + in_head), head_left) | tail >> half >> half;
}

static void set_query(struct query *query, const char *name, size_t size, bool bracket)
{
    query->name = (const unsigned char *)name;
    query->size = size;
    query->last = 0;
    for (size_t i = size < 8 ? 0 : size - 8; i < size; i++)
        query->last = query->last << 8 | query->name[i];
    query->bracket = bracket;
}

INLINE size_t query_size(const struct query *query)
{
    return query->size + (query->bracket ? 2 : 0);
}

INLINE uint64_t query_key(const struct query *query, size_t at)
{
    size_t left = at < query->size ? query->size - at : 0;
    if (left >= 8)
        return load64_big(query->name + at);
    uint64_t key = left > 0 ? query->last << (64 - 8 * left) : 0;
    uint64_t bracket = query->bracket ? (uint64_t)0x205B << 48 : 0; /* " [" */
    size_t done = at > query->size ? at - query->size : 0;
    return key | (done < 2 ? bracket << 8 * done : 0) >> 8 * left;
}

/* How many bytes are equal before the first one that differs. At least one must differ. */
INLINE size_t equal_bytes(uint64_t difference)
{
    size_t four = (size_t)(difference >> 32 == 0) * 4;
    difference <<= 8 * four;
    size_t two = (size_t)(difference >> 48 == 0) * 2;
    difference <<= 8 * two;
    return four + two + (difference >> 56 == 0);
}

/* The first of equal bytes from AT to LIMIT, in steps of 8, after which a step differs or does not fit. */
INLINE size_t skip_equal(const unsigned char *a, const unsigned char *b, size_t at, size_t limit)
{
    while (limit - at >= 8 && load64(a + at) == load64(b + at))
        at += 8;
    return at;
}

/* The same for a name and a query, of which AT bytes are equal. Only the 8 bytes across the head's end are left. */
INLINE size_t skip_common(const sxt_ksym_stored *stored, const struct query *query, size_t at)
{
    size_t head = stored->head_size;
    if (at < head && at < query->size)
        return skip_equal(stored->head, query->name, at, head < query->size ? head : query->size);
    if (at < head || at >= query->size || at - head >= stored->tail_size)
        return at;
    size_t left = query->size - head;
    return head +
           skip_equal(stored->tail, query->name + head, at - head, stored->tail_size < left ? stored->tail_size : left);
}

/* Does a name sort before the query? *COMMON is the number of bytes known to be equal, and is updated. */
INLINE bool is_before(const sxt_ksym_stored *stored, const struct query *query, size_t *common)
{
    size_t size = stored_size(stored), wanted_size = query_size(query);
    size_t end = size < wanted_size ? size : wanted_size;
    size_t at = skip_common(stored, query, *common);
    uint64_t key = stored_key(stored, at), wanted = query_key(query, at);
    while (key == wanted && at + 8 <= end) {
        at = skip_common(stored, query, at + 8);
        key = stored_key(stored, at);
        wanted = query_key(query, at);
    }
    bool before = key != wanted ? key < wanted : size < wanted_size;
    size_t equal = key != wanted ? at + equal_bytes(key ^ wanted) : end;
    *common = equal < end ? equal : end;
    return before;
}

/* Stores the first bytes of some names at equal distances, so that a search starts in a small part of the names. */
static void sample_names(sxt_ksym *ksym)
{
    sxt_ksym_stored stored;
    ksym->sample_distance = ksym->count / SXT_KSYM_SAMPLES + 1;
    for (size_t at = 0; at < ksym->count; at += ksym->sample_distance) {
        find_name(ksym, ordered(ksym, at), &stored);
        ksym->samples[ksym->sample_count++] = stored_key(&stored, 0);
    }
}

static size_t samples_before(const sxt_ksym *ksym, uint64_t key)
{
    size_t first = 0;
    for (size_t count = ksym->sample_count; count > 0;) {
        size_t half = count / 2;
        size_t right = ksym->samples[first + half] < key;
        first += (count - half) & (0 - right);
        count = half;
    }
    return first;
}

/*
 * The first position in the order of names that is not before the query. Names between two others share with the query
 * at least the bytes that both of those share with it, so these are not compared again. The names of both possible next
 * steps are prefetched before this step is decided.
 */
static size_t first_not_before(const sxt_ksym *ksym, const struct query *query)
{
    uint64_t key = query_key(query, 0);
    size_t below = samples_before(ksym, key);
    size_t until = key < UINT64_MAX ? samples_before(ksym, key + 1) : ksym->sample_count;
    size_t low = below > 0 ? (below - 1) * ksym->sample_distance + 1 : 0;
    size_t high = until < ksym->sample_count ? until * ksym->sample_distance : ksym->count;
    size_t common_low = 0, common_high = 0;
    while (low < high) {
        sxt_ksym_stored stored;
        size_t middle = low + (high - low) / 2;
        PREFETCH(record_at(ksym, ordered(ksym, low + (middle - low) / 2)));
        PREFETCH(record_at(ksym, ordered(ksym, middle + (high - middle) / 2)));
        size_t common = common_low < common_high ? common_low : common_high;
        find_name(ksym, ordered(ksym, middle), &stored);
        if (is_before(&stored, query, &common)) {
            low = middle + 1;
            common_low = common;
        } else {
            high = middle;
            common_high = common;
        }
    }
    return low;
}

void sxt_ksym_find(const sxt_ksym *ksym, const char *name, size_t size, sxt_ksym_matches *matches)
{
    struct query query;
    set_query(&query, name, size, false);
    matches->ksym = ksym;
    matches->name = name;
    matches->name_size = size;
    matches->next = first_not_before(ksym, &query);
    matches->with_modules = false;
}

bool sxt_ksym_next(sxt_ksym_matches *matches, size_t *index)
{
    const sxt_ksym *ksym = matches->ksym;
    struct query query;
    set_query(&query, matches->name, matches->name_size, matches->with_modules);
    while (matches->next < ksym->count) {
        sxt_ksym_stored stored;
        size_t common = 0;
        *index = ordered(ksym, matches->next);
        find_name(ksym, *index, &stored);
        is_before(&stored, &query, &common);
        bool begins = common == query_size(&query);
        if (begins && bare_size(&stored, query.bracket ? find_module(&stored) : 0) == query.size) {
            matches->next++;
            return true;
        }
        if (begins && query.bracket) {
            matches->next++;
        } else if (!query.bracket) {
            /* Names with a module nearly always follow the equal ones directly; if not, they are searched for. */
            matches->with_modules = query.bracket = true;
            common = 0;
            if (is_before(&stored, &query, &common))
                matches->next = first_not_before(ksym, &query);
        } else {
            break;
        }
    }
    matches->next = ksym->count;
    return false;
}

/* --- one by one --- */

uint64_t sxt_ksym_address(const sxt_ksym *ksym, size_t index)
{
    return index < ksym->count ? address_at(ksym, index) : 0;
}

size_t sxt_ksym_by_name(const sxt_ksym *ksym, size_t position)
{
    return position < ksym->count ? ordered(ksym, position) : ksym->count;
}

bool sxt_ksym_symbol_at(const sxt_ksym *ksym, size_t index, sxt_ksym_symbol *symbol)
{
    sxt_ksym_stored stored;
    if (index >= ksym->count)
        return false;
    describe(ksym, index, count_until(ksym, address_at(ksym, index)), &stored, symbol);
    return true;
}

bool sxt_ksym_stored_at(const sxt_ksym *ksym, size_t index, sxt_ksym_stored *stored)
{
    if (index < ksym->count)
        find_name(ksym, index, stored);
    return index < ksym->count;
}

size_t sxt_ksym_name(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity)
{
    struct text text = {buffer, capacity, 0};
    sxt_ksym_stored stored;
    if (sxt_ksym_stored_at(ksym, index, &stored)) {
        if (put_blocks(ksym, &stored, stored_size(&stored), buffer, capacity))
            return stored_size(&stored);
        put_stored(&text, &stored, 0, stored_size(&stored));
    }
    return finish(&text);
}

size_t sxt_ksym_module(const sxt_ksym *ksym, size_t index, char *buffer, size_t capacity)
{
    struct text text = {buffer, capacity, 0};
    sxt_ksym_stored stored;
    if (sxt_ksym_stored_at(ksym, index, &stored) && find_module(&stored) > 0) {
        size_t end = stored_size(&stored) - 1;
        put_stored(&text, &stored, end - find_module(&stored), end);
    }
    return finish(&text);
}

/* --- everything --- */

void sxt_ksym_dump(const sxt_ksym *ksym, void (*put_bytes)(void *data, const char *bytes, size_t size), void *data)
{
    for (size_t i = 0; i < ksym->count; i++) {
        sxt_ksym_stored stored;
        char line[16 + 3];
        for (size_t k = 0; k < 16; k++)
            format_number(line + k, address_at(ksym, i) >> 4 * (15 - k) & 15);
        line[16] = line[18] = ' ';
        line[17] = (char)record_at(ksym, i)[0];
        put_bytes(data, line, sizeof line);
        find_name(ksym, i, &stored);
        put_bytes(data, (const char *)stored.head, stored.head_size);
        put_bytes(data, (const char *)stored.tail, stored.tail_size);
        put_bytes(data, "\n", 1);
    }
}
